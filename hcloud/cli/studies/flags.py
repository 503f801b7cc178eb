"""What the verbs that simulate are told about the workload and where it would run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from hcloud.cli.flags import (
    Admissions,
    Audit,
    CloudModel,
    Configuration,
    Divisible,
    DropUnplaceable,
    Families,
    FirstSeed,
    HarvestKeys,
    Interference,
    LargeVcpus,
    OneProvider,
    OneRegion,
    Picture,
    Placements,
    Pool,
    PriceRatio,
    Profiles,
    Sizings,
    Strategies,
    TraceColumns,
    TraceDecimal,
    TraceFormat,
    TraceKeys,
    TraceWindow,
    Unprofiled,
    Watchings,
    reader_keys,
)
from hcloud.cli.options import draw, tell_first_use
from hcloud.units import machines
from hcloud.usecases.asked import provider_named

if TYPE_CHECKING:
    from hcloud.model.running.strategy import Strategy
    from hcloud.planning.strategies.own_fleet import PlannedFleet
    from hcloud.sim.outcomes.comparison import StrategyComparison
    from hcloud.usecases.deciding.own_fleet import OpenedPlan
    from hcloud.usecases.harvesting.idle import AskIdle
    from hcloud.usecases.studies.simulation import Study
    from hcloud.views.console import Terminal
    from hcloud.views.page.drawn import Drawn


class SimulatedWorkload(NamedTuple):
    """What is simulated, with how many reserved servers (None: each strategy's own rule); the fleet of a plan; the
    loads of a scenario's own cluster (none: its own), the first of which the study has."""

    study: Study
    pool: int | None
    fleet: PlannedFleet | None
    loads: tuple[float, ...] = ()

    @property
    def usual(self) -> list[str]:
        """The strategies where none is named: those that need nothing but what there is."""
        from hcloud.usecases.studies.simulation import RESERVED_ONLY

        if self.fleet is not None:
            return [self.fleet.strategy]
        return ["all"] if self.study.cluster is None else [RESERVED_ONLY]


@dataclass(frozen=True)
class StrategyFlags:
    """Which strategies, and with which parts in place of their own."""

    strategy: Strategies = None
    placement: Placements = None
    sizing: Sizings = None
    admission: Admissions = None
    watching: Watchings = None

    def named(self, usual: Sequence[str]) -> tuple[Strategy, ...]:
        """The strategies that are named, else the usual ones, with those parts."""
        from hcloud.usecases.studies.simulate import strategies_named

        parts = self.placement or (), self.sizing or (), self.admission or (), self.watching or ()
        return strategies_named(self.strategy or usual, *parts)


@dataclass(frozen=True)
class IdleFlags:
    """Whether batch runs in idle hours of the reserve, and what says how idle services are."""

    harvest: Annotated[
        str | None, typer.Option(metavar="ON,OFF", help="Run batch in idle hours of the reserve: on, off or on,off.")
    ] = None
    util: Annotated[str | None, typer.Option(help="With --harvest: the use of services, server,time,cpu.")] = None
    servers: Annotated[
        Path | None,
        typer.Option("--servers", help="With --harvest: the servers of --util and their tenants (servers.csv)."),
    ] = None
    harvest_set: HarvestKeys = None

    def asked(self, *, planned: bool) -> tuple[AskIdle, tuple[str, ...]] | None:
        """What is asked for, with the histories read; UsageError where that is not whole."""
        if self.harvest is None and not (self.util or self.servers or self.harvest_set):
            return None
        from hcloud.usecases.harvesting.compared import idle_hours_asked

        keys = tuple(self.harvest_set or ())
        return idle_hours_asked(self.harvest, self.util, self.servers, keys, planned=planned)


@dataclass(frozen=True)
class SimulationFlags:
    """Where a workload would run, under which prices and with what information."""

    file: Configuration = None
    workload_format: TraceFormat = None
    keys: TraceKeys = None
    columns: TraceColumns = None
    decimal: TraceDecimal = None
    window: TraceWindow = None
    provider: OneProvider = None
    region: OneRegion = None
    family: Families = None
    vcpus: LargeVcpus = None
    divisible: Divisible = None
    cloud: CloudModel = None
    pool: Pool = None
    price_ratio: PriceRatio = None
    unprofiled: Unprofiled = False
    drop_unplaceable: DropUnplaceable = False
    audit: Audit = False
    interference: Interference = "on"
    size_for: Annotated[
        float | None, typer.Option(help="Also find the reserve with which this share of jobs keeps 95%: 0.95.")
    ] = None
    profiles: Profiles = None
    seed: FirstSeed = None
    picture: Picture = None
    load: Annotated[
        str | None,
        typer.Option(help="Load: needed vCPUs divided by those of the scenario's cluster: 0.5,0.8."),
    ] = None

    def opened(self, workload: str | None, at: datetime, terminal: Terminal) -> SimulatedWorkload:
        """What flags and configuration ask for, with what is to be said of it beforehand."""
        from hcloud.usecases.studies.clusters import parse_loads
        from hcloud.usecases.studies.simulation import without_interference
        from hcloud.usecases.studies.sized import check_free_to_size, check_share
        from hcloud.views.pictures import check_picture

        check_picture(self.picture)
        loads = parse_loads(self.load)
        check_share(self.size_for, loads)
        if is_plan(workload):
            found = self._planned(Path(str(workload)), at)
            _tell_fleet(found, terminal)
            felt = found.study if self._felt else without_interference(found.study)
            return SimulatedWorkload(replace(felt, audit=self.audit), found.fleet.servers, found.fleet)
        study = replace(self._traced(workload, at, loads[0] if loads else None), audit=self.audit)
        check_free_to_size(study, self.size_for)
        _tell_study(study, terminal)
        return SimulatedWorkload(study, self.pool, None, loads)

    def compared(
        self,
        found: SimulatedWorkload,
        strategies: Sequence[Strategy],
        seeds: int,
        idle: tuple[AskIdle, tuple[str, ...]] | None,
        terminal: Terminal,
    ) -> StrategyComparison:
        """The strategies simulated on what was opened, with batch in ``idle`` hours where that is asked for."""
        from hcloud.usecases.harvesting.compared import compare_with_idle_hours
        from hcloud.usecases.interruptible import interruptible
        from hcloud.usecases.studies.simulate import CompareRequest, compare_at_loads

        study, request = found.study, CompareRequest(seeds, found.pool, found.loads)
        tell_first_use(terminal, len(study.jobs) * len(strategies) * seeds * max(len(found.loads), 1))
        with terminal.progress("simulating", 1.0) as advance:
            if idle is None:
                return interruptible(lambda: compare_at_loads(study, strategies, request, advance))
            return interruptible(lambda: compare_with_idle_hours(study, strategies, request, advance, idle))

    def sized(
        self,
        found: SimulatedWorkload,
        strategies: Sequence[Strategy],
        comparison: StrategyComparison,
        terminal: Terminal,
    ) -> StrategyComparison:
        """The comparison with the reserve that keeps a share of jobs, where one is asked for."""
        if self.size_for is None:
            return comparison
        from hcloud.usecases.interruptible import interruptible
        from hcloud.usecases.studies.sized import with_sizes

        share = self.size_for
        with terminal.progress("sizing", 1.0) as advance:
            return interruptible(lambda: with_sizes(found.study, strategies, comparison, share, advance))

    def drawn(self, comparison: StrategyComparison, terminal: Terminal) -> None:
        """The picture, where one is asked for."""

        def make() -> Drawn:
            from hcloud.views.studies.simulation_charts import picture_of

            return picture_of(comparison)

        draw(self.picture, terminal, make)

    @property
    def _felt(self) -> bool:
        return self.interference == "on"

    def _planned(self, plan: Path, at: datetime) -> OpenedPlan:
        """The very fleet and workload of a plan file; UsageError for flags that say otherwise."""
        from hcloud.readers.configuration.config import load_config
        from hcloud.usecases.deciding.own_fleet import as_asked, open_planned, refuse_beside_a_plan, with_cloud

        refuse_beside_a_plan([*self._given, ("--load", self.load), ("--divisible", self.divisible)])
        found = open_planned(plan, with_cloud(load_config(self.file), self.cloud), at.date())
        return as_asked(found, self.seed, profiled=not self.unprofiled)

    def _traced(self, workload: str | None, at: datetime, load: float | None) -> Study:
        from hcloud.readers.configuration.config import load_config
        from hcloud.usecases.studies.clusters import refuse_beside_a_cluster
        from hcloud.usecases.studies.journal import as_the_journal_says
        from hcloud.usecases.studies.simulation import SimulationRequest, clustered, open_study
        from hcloud.usecases.workloads.sources import Flags

        flags = Flags(
            workload=workload,
            format=self.workload_format,
            options=reader_keys(self.keys, self.columns, self.decimal),
            window=self.window,
            providers=(provider_named(self.provider),) if self.provider else (),
            regions=(self.region,) if self.region else (),
            families=tuple(self.family or ()),
            vcpus=self.vcpus,
            divisible=self.divisible,
            seed=self.seed,
            profiles=self.profiles,
        )
        found = as_the_journal_says(load_config(self.file), flags, self.cloud, sized=self.pool is None)
        asked = SimulationRequest(
            self.cloud, self.price_ratio, not self.unprofiled, self.drop_unplaceable, load, self._felt, found.servers_of
        )
        if (name := clustered(found.loaded)) is not None:
            refuse_beside_a_cluster(name, self._given)
        study = open_study(found.loaded, asked, at.date())
        return replace(study, notes=(*study.notes, *found.notes))

    @property
    def _given(self) -> list[tuple[str, object]]:
        """What is said of the workload and of where it runs, which plans and scenarios with clusters say themselves."""
        return [
            ("--format", self.workload_format), ("--set", self.keys), ("--columns", self.columns),
            ("--decimal", self.decimal), ("--provider", self.provider), ("--region", self.region),
            ("--family", self.family), ("--vcpus", self.vcpus), ("--profiles", self.profiles),
            ("--window", self.window), ("--price-ratio", self.price_ratio), ("--pool", self.pool),
        ]  # fmt: skip


def is_plan(workload: str | None) -> bool:
    """Whether what is to be simulated is a plan file, and not a trace."""
    if workload is None or not Path(workload).is_file():
        return False
    from hcloud.store.plan_file import is_plan_file

    return is_plan_file(Path(workload))


def brings_servers(workload: str | None) -> bool:
    """Whether what is to be simulated says itself on which servers: a plan, or a scenario with a cluster."""
    from hcloud.usecases.workloads.scenarios import has_cluster
    from hcloud.usecases.workloads.sources import SCENARIO_PREFIX

    return is_plan(workload) or has_cluster((workload or "").removeprefix(SCENARIO_PREFIX))


def _tell_study(study: Study, terminal: Terminal) -> None:
    """Say on whose cluster a scenario runs, and whose jobs were fitted to a profile or not."""
    from hcloud.planning.forecasting.needs import KEY

    if study.cluster is not None:
        from hcloud.usecases.studies.clusters import told_of

        terminal.note(told_of(study.cluster, study.shop))
    for rule in study.jobs.provenance.modelled:
        if rule.key == KEY:
            terminal.note(f"{rule.column}: {rule.rule}")


def _tell_fleet(found: OpenedPlan, terminal: Terminal) -> None:
    """Say which fleet is simulated, and where that is not the plan to the letter."""
    fleet = found.fleet
    reserved = f"{machines(fleet.reserved)} reserved" if fleet.reserved else "nothing reserved"
    terminal.note(f"the plan's fleet: {reserved}, the rest rented, on {found.study.jobs.provenance.name}")
    for note in fleet.notes:
        terminal.note(note)
