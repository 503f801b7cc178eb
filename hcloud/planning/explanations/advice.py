"""What would bring a plan nearer to its lower bound: other sizes, other families, several of them, or split jobs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from hcloud.catalog.book import PriceBook
from hcloud.errors import HcloudError
from hcloud.model.catalog import InstanceType
from hcloud.model.workload import Demand, JobKind, Jobs, Workload
from hcloud.planning.decide import FleetDecision, Given, decide, of_several_types
from hcloud.planning.fleets.options import region_of
from hcloud.planning.fleets.owned import Owned
from hcloud.planning.forecasting.dividing import SPLITTABLE, can_split
from hcloud.planning.settings import Divisible, PlanSettings, RiskSettings
from hcloud.units import HOURS_PER_MONTH, counted_vcpus, format_money

if TYPE_CHECKING:
    from numpy.typing import NDArray

WIDE = 0.10  # ours: a gap to the lower bound that is worth a word
LEAST = Decimal("0.01")  # ours: a way that saves less than this share of the plan is not named


def advice(
    decision: FleetDecision, book: PriceBook, demand: Demand, given: Given, more: Iterable[tuple[Decimal, str]] = ()
) -> tuple[str, ...]:
    """What would close a wide gap to the lower bound, the most first, each planned for and counted, with ``more`` that
    is known of the workload; one sentence where nothing would; none where the gap is not wide. What splitting jobs
    would save is a reason of its own."""
    cost = decision.machines.cost
    if not is_wide(decision):
        return ()
    found = sorted([*_ways(decision, (book, demand, given)), *more])
    named = [(total, words) for total, words in found if total < cost * (1 - LEAST)]
    if (
        named
        or not _any_gpus(decision)
        or (decision.divisible_cost is not None and decision.divisible_cost < cost * (1 - LEAST))
    ):
        return tuple(f"{words} would save {_monthly(cost - total, decision)} a month" for total, words in named)
    unit = decision.types[0].shape
    return (
        "other sizes, families or split jobs would not bring it nearer: what is above the bound is whole machines "
        f"({unit.name} at the least), paid for while part of them is unused{_together(decision)}",
    )


def is_wide(decision: FleetDecision) -> bool:
    """Whether the gap to the lower bound is wide."""
    return float(decision.machines.cost) > decision.lower_bound * (1 + WIDE)


def on_spot(decision: FleetDecision, book: PriceBook, demand: Demand, given: Given) -> Iterator[str]:
    """What all batch work on spot instances would save, where none of it was asked to run there."""
    if decision.settings.spot_share_of_batch or not demand.batch_cores.any():
        return
    settings = replace(decision.settings, spot_share_of_batch=1.0, risk=RiskSettings(futures=0, falls=()))
    try:
        found = decide(book, demand, settings, decision.owned, replace(given, only_cost=True))
    except HcloudError:
        return
    saved = decision.machines.cost - found.machines.cost - found.spot.cost
    if saved < decision.machines.cost * LEAST or not found.spot.rentals:
        return
    oldest = min(rental.offer.origin.day for rental in found.spot.rentals)
    unsaid = any(rule.column == "kind" and rule.key == "default_kind" for rule in demand.provenance.modelled)
    all_of = "all jobs, if they are batch," if unsaid else "all batch"
    saves = f"would save {_monthly(saved, decision)} a month at {oldest} prices"
    yield f"{all_of} on spot {saves} (planning.spot_share_of_batch: 1)"


def _together(decision: FleetDecision) -> str:
    """That the bound spreads the vCPUs and GiB of a job over families, where that makes a gap."""
    compared = decision.compared
    best = compared.evaluations[0]
    _, relaxed = compared.relaxed[region_of(best.candidate)]
    if compared.asked.leanest is None or relaxed.cost >= float(best.bound) * (1 - float(LEAST)):
        return ""
    return "; also, one machine must hold a job's vCPUs and its GiB, while the bound spreads them over families"


def _any_gpus(decision: FleetDecision) -> bool:
    """Whether types may have what GPUs they have: other families than those named for their GPUs are no choice."""
    return all(isinstance(market.gpus, bool) for market in decision.settings.markets)


def _monthly(dollars: Decimal, decision: FleetDecision) -> str:
    return format_money(dollars / decision.horizon_hours * HOURS_PER_MONTH)


def _ways(decision: FleetDecision, ground: tuple[PriceBook, Demand, Given]) -> Iterator[tuple[Decimal, str]]:
    """What each way would cost over the horizon."""
    settings = replace(decision.settings, risk=RiskSettings(futures=0, falls=()))
    markets = settings.markets
    ways = []
    if any(m.vcpus for m in markets):
        ways.append(
            (replace(settings, markets=tuple(replace(m, vcpus=0) for m in markets)), "all sizes (markets.vcpus)")
        )
    if any(m.families for m in markets) and _any_gpus(decision):
        every = tuple(replace(m, families=()) for m in markets)
        ways.append((replace(settings, markets=every), "all families (markets.families)"))
    for changed, words in ways:
        if (total := _cost(changed, decision.owned, ground)) is not None:
            yield total, words
    if len(decision.types) == 1 and (not settings.mix_types or settings.mix_min_saving):
        with suppress(HcloudError):
            mixed = of_several_types(decision, ground[2].otherwise)
            yield mixed, "several families at once (planning.mix_min_saving)"


def _cost(settings: PlanSettings, owned: Sequence[Owned], ground: tuple[PriceBook, Demand, Given]) -> Decimal | None:
    """The cheapest fleet under other settings; None where they allow none."""
    book, demand, given = ground
    try:
        return decide(book, demand, settings, owned, replace(given, only_cost=True)).machines.cost
    except HcloudError:
        return None


def larger_jobs(workload: Workload, decision: FleetDecision) -> tuple[str, ...]:
    """What to say of jobs that are larger than every machine that the fleet is stated in."""
    if not isinstance(workload, Jobs):
        return ()
    known = {c.shape.name: c.shape for chosen in decision.types for c in decision.ladders[chosen.address]}
    fleet = decision.machines
    used = {h.offer.key.instance_type for h in fleet.holdings} | {r.offer.key.instance_type for r in fleet.rentals}
    larger = np.ones(len(workload), np.bool_)
    for shape in (
        *(known[name] for name in used),
        *_spot_for_all(decision),
        *(o.shape for o in decision.owned if o.is_used),
    ):
        larger &= ~_held_by(shape, workload)
    sizes = sorted((known[name] for name in known if name not in used), key=lambda s: (s.vcpus, s.memory_gib, s.name))
    return (*_in_pieces(workload, larger, decision), *_whole(workload, larger, decision, sizes))


def _spot_for_all(decision: FleetDecision) -> Iterator[InstanceType]:
    """The sizes of spot machines, where all batch work runs on such."""
    shapes = {c.shape.name: c.shape for ladder in decision.ladders.values() for c in ladder}
    if decision.settings.spot_share_of_batch >= 1.0:
        yield from (shapes[r.offer.key.instance_type] for r in decision.spot.rentals)


def _in_pieces(jobs: Jobs, larger: NDArray[np.bool_], decision: FleetDecision) -> Iterator[str]:
    """That services are taken for replicas, unless somebody said so: the trace of each, or who asked."""
    if decision.settings.divisible is not Divisible.SERVICES or jobs.provenance.format in SPLITTABLE:
        return
    of = larger & (jobs.kind == JobKind.SERVICE)
    if jobs.divisible is not None:
        of &= jobs.divisible < 0
    if of.any():
        yield (
            f"services {_sized(jobs, of)} are larger than any machine of the plan: hcloud treats them as"
            " replicas (--divisible none keeps them whole)"
        )


def _whole(jobs: Jobs, larger: NDArray[np.bool_], decision: FleetDecision, sizes: list[InstanceType]) -> Iterator[str]:
    """Which size the largest needs that cannot be split, where the fleet is not stated in it."""
    of = larger & ~can_split(jobs, decision.settings.divisible)
    if not of.any():
        return
    holding = next((s for s in sizes if _held_by(s, jobs)[of].all()), None)
    if holding is not None:
        yield (
            f"whole jobs {_sized(jobs, of)} need a machine as large as {holding.name}: it runs in place of smaller ones"
            " of the mix, at the same price by the vCPU, and a commitment covers its part of it"
        )


def _held_by(shape: InstanceType, jobs: Jobs) -> NDArray[np.bool_]:
    held: NDArray[np.bool_] = (jobs.cores <= float(shape.vcpus)) & (jobs.memory <= float(shape.memory_gib))
    return held


def _sized(jobs: Jobs, of: NDArray[np.bool_]) -> str:
    most, gib = float(np.max(jobs.cores[of])), float(np.max(jobs.memory[of]))
    return f"of up to {counted_vcpus(most)} and {gib:g} GiB ({int(of.sum()):,} of {len(jobs):,} jobs)"
