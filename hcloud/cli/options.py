"""What the options of several verbs mean: how a result is printed, and the time a verb works at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from hcloud.errors import UsageError, did_you_mean
from hcloud.units import machines

if TYPE_CHECKING:
    from hcloud.model.catalog import Provider
    from hcloud.usecases.deciding.own_fleet import OpenedPlan
    from hcloud.usecases.studies.simulation import Study
    from hcloud.views.console import Terminal


class Output(StrEnum):
    """How a result is printed."""

    TABLE = "table"
    JSON = "json"


def moment(text: str | None) -> datetime:
    """The time a verb works at: what ``--now`` says (UTC where it names no zone), else the clock."""
    if text is None:
        return datetime.now(UTC).replace(microsecond=0)
    try:
        given = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"--now {text}: not an ISO 8601 time, for example 2026-11-20T12:00:00Z") from None
    return given.replace(tzinfo=UTC) if given.tzinfo is None else given.astimezone(UTC)


def provider_named(name: str) -> Provider:
    """The provider of a name on the command line; UsageError with the one that may be meant."""
    from hcloud.model.catalog import Provider

    known = [p.value for p in Provider]
    if name not in known:
        raise UsageError(f"--provider {name}: must be one of {', '.join(known)}{did_you_mean(name, known)}")
    return Provider(name)


def tell_first_use(terminal: Terminal, jobs: int | None = None) -> None:
    """Say beforehand that the simulator is about to be compiled, since it is slow until then; few ``jobs`` do not
    need that."""
    from hcloud.sim.kernels.compiled import ENGINE, PLAIN_JOBS, is_first_use

    if (jobs is None or jobs > PLAIN_JOBS) and is_first_use(ENGINE):
        terminal.note("the simulator is compiled in the background, once; until then it runs more slowly")


def tell_study(study: Study, terminal: Terminal, *, named: bool) -> None:
    """Say in which cloud a trace is run where none was ``named``, and whose jobs were fitted to a profile or not."""
    from hcloud.planning.forecasting.needs import KEY

    if not named and study.scenario is None and study.cloud.name == "paper":
        terminal.note("simulated with the cloud and the prices of the HCloud study; --provider takes today's")
    for rule in study.jobs.provenance.modelled:
        if rule.key == KEY:
            terminal.note(f"{rule.column}: {rule.rule}")


@dataclass(frozen=True, slots=True)
class Simulating:
    """What the verbs that simulate are told about the workload and where it would run."""

    workload: str | None
    file: Path | None
    format: str | None
    keys: tuple[str, ...]
    provider: str | None
    region: str | None
    families: tuple[str, ...]
    vcpus: int | None
    profiles: Path | None = None
    window: str | None = None


def is_plan(workload: str | None) -> bool:
    """Whether what is to be simulated is a plan file, and not a trace."""
    if workload is None or not Path(workload).is_file():
        return False
    from hcloud.store.plan_file import head_of

    head = head_of(Path(workload))
    return '"format_version"' in head and '"digests"' in head


def opened_plan(asked: Simulating, cloud: Sequence[object], seed: int | None, at: datetime) -> OpenedPlan:
    """The very fleet and workload of a plan file; UsageError for flags that say otherwise. ``cloud`` is the model and
    whatever else is not to be said beside a plan."""
    from dataclasses import replace

    from hcloud.readers.configuration.config import load_config
    from hcloud.usecases.deciding.own_fleet import open_planned, refuse_beside_a_plan

    model, ratio, pool, profiled = cloud
    refuse_beside_a_plan(
        [
            ("--workload-format", asked.format), ("--set", asked.keys), ("--provider", asked.provider),
            ("--region", asked.region), ("--family", asked.families), ("--vcpus", asked.vcpus),
            ("--profiles", asked.profiles), ("--window", asked.window), ("--price-ratio", ratio), ("--pool", pool),
        ]
    )  # fmt: skip
    loaded = load_config(asked.file)
    if model is not None:
        section = loaded.config.operation.model_copy(update={"cloud": model})
        loaded = replace(loaded, config=loaded.config.model_copy(update={"operation": section}))
    found = open_planned(Path(str(asked.workload)), loaded, at.date())
    study = replace(found.study, seed=found.study.seed if seed is None else seed, profiled=bool(profiled))
    return replace(found, study=study)


def tell_fleet(found: OpenedPlan, terminal: Terminal) -> None:
    """Say which fleet is simulated, and where that is not the plan to the letter."""
    fleet = found.fleet
    reserved = f"{machines(fleet.reserved)} reserved" if fleet.reserved else "nothing reserved"
    terminal.note(f"the plan's fleet: {reserved}, the rest rented, on {found.study.jobs.provenance.name}")
    for note in fleet.notes:
        terminal.note(note)


def opened_study(
    asked: Simulating, cloud: tuple[str | None, float | None, bool, bool], seed: int | None, at: datetime
) -> Study:
    """The study that flags and configuration ask for; ``cloud`` is the model, the price ratio, whether jobs are
    profiled, and whether those that fit no type are dropped."""
    from hcloud.readers.configuration.config import load_config
    from hcloud.usecases.studies.simulation import SimulationRequest, open_study
    from hcloud.usecases.workloads.sources import Flags, with_flags

    flags = Flags(
        workload=asked.workload,
        format=asked.format,
        options=asked.keys,
        window=asked.window,
        providers=(provider_named(asked.provider),) if asked.provider else (),
        regions=(asked.region,) if asked.region else (),
        families=asked.families,
        vcpus=asked.vcpus,
        seed=seed,
        profiles=asked.profiles,
    )
    return open_study(with_flags(load_config(asked.file), flags), SimulationRequest(*cloud), at.date())
