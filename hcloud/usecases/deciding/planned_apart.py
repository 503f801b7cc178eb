"""Jobs that require something of their machine, planned apart from the others: what the plans cost together, and with
which flags they are made."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import ROUND_UP, Decimal
from itertools import chain, repeat

from hcloud.catalog.book import PriceBook
from hcloud.catalog.shapes import SAME_RATIO
from hcloud.errors import EvidenceError, UsageError
from hcloud.model.catalog import InstanceType
from hcloud.model.workload import DATES_FROM, Demand, Jobs, Window
from hcloud.planning.decide import FleetDecision, Given, decide
from hcloud.planning.explanations.advice import LEAST, is_wide
from hcloud.planning.fleets.options import region_of
from hcloud.planning.fleets.owned import Owned
from hcloud.planning.fleets.required import RequiredMachine, said_of, some_require_nothing, unmet_by
from hcloud.planning.forecasting.window import demand_within
from hcloud.planning.settings import RiskSettings
from hcloud.readers.workloads.requiring import ANYTHING, NOTHING, OTHER_MEMORY, of_memory, requiring
from hcloud.units import HOURS_PER_MONTH, format_money
from hcloud.usecases.deciding.known_of_jobs import leanest_of, required_of, running_of, speeds_of

MOST_PARTS = 4  # ours: of more requirements than this the jobs are planned together


@dataclass(frozen=True, slots=True)
class PlannedTogether:
    """A workload with the demand and the decision of one plan for all of it, and what its jobs require;
    ``by_arithmetic`` where strategies are simulated, and this is the decision without them."""

    workload: Jobs | Demand
    demand: Demand
    decision: FleetDecision
    required: tuple[RequiredMachine, ...]
    by_arithmetic: bool = False

    def divisions(self) -> Iterator[tuple[str, ...]]:
        """Into which parts the jobs may be divided, by what they require: each by itself, or all that require anything
        together."""
        others = (NOTHING,) if some_require_nothing(self.required) else ()
        if len(others) + len(self.required) > 1 and len(self.required) <= MOST_PARTS:
            yield (*others, *(one.text for one in self.required))
        if others and len(self.required) > 1:
            yield (*others, ANYTHING)


@dataclass(frozen=True, slots=True)
class PlannedApart:
    """What a plan says of jobs that require something (empty where that changes nothing), and the flags of each plan
    that would be made instead (none where that does not pay)."""

    said: str = ""
    flags: tuple[tuple[str, ...], ...] = ()


def planned_apart(whole: PlannedTogether, book: PriceBook) -> PlannedApart:
    """What plans of the parts cost less than the plan of all, where that can be told and is worth a word; what is owned
    is used in the first of them alone, whichever of them that is best for."""
    if not whole.required:
        return PlannedApart()
    orders = [parts for division in whole.divisions() for parts in _orders(division, whole)]
    found = [(cost, parts) for parts in orders if (cost := _cost(parts, whole, book)) is not None]
    types = _in_use(whole.decision, book)
    if not found:
        return unpriced(whole, book)
    (cost, parts), said, together = min(found), said_of(whole.required, types), _cost_of(whole.decision)
    if unmet_by(types, whole.required):
        return _advised(whole, said, parts, f"; together they cost {_monthly(cost, whole)}")
    if together - cost < together * LEAST or cost == together:
        return PlannedApart(f"{said}: plans apart would not cost {LEAST:.0%} less")
    return _advised(whole, said, parts, f", for {_monthly(together - cost, whole)} less")


def _orders(parts: tuple[str, ...], whole: PlannedTogether) -> Iterator[tuple[str, ...]]:
    """The parts, with each of them in front where it matters which has what is owned."""
    for at in range(len(parts) if whole.decision.owned else 1):
        yield (parts[at], *parts[:at], *parts[at + 1 :])


def unpriced(whole: PlannedTogether, book: PriceBook) -> PlannedApart:
    """The same where it is not known what plans of the parts would cost."""
    parts, types = next(whole.divisions(), ()), _in_use(whole.decision, book)
    if not types or not (parts or unmet_by(types, whole.required)):
        return PlannedApart()
    said = said_of(whole.required, types)
    if not parts:
        return PlannedApart(f"{said}: plan those jobs from a trace of their own to let the others run on any type")
    return PlannedApart(_advised(whole, said, parts).said)


def _advised(whole: PlannedTogether, said: str, parts: Sequence[str], saved: str = "") -> PlannedApart:
    flags = _flags(whole, "requires", parts)
    again = _again(flags) + (" but without what is owned" if whole.decision.owned else "")
    let = "lets the others run on any type" if NOTHING in parts else "lets each run on any type that it may"
    how = " by arithmetic" if saved and whole.by_arithmetic else ""
    return PlannedApart(f"{said}: {again}, {let}{saved}{how}", () if whole.decision.owned else flags)


def _flags(whole: PlannedTogether, key: str, parts: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The flags of the plan of each part."""
    assert whole.demand.window is not None
    window = window_text(whole.demand.window)
    return tuple(("--window", window, "--set", f"{key}={one}") for one in parts)


def _again(flags: Sequence[Sequence[str]]) -> str:
    first, *others = flags
    again = " and with ".join(shlex.join(words[-2:]) for words in others)
    return f"the same command with {shlex.join(first)}, and again with {again}"


def by_memory(whole: PlannedTogether, book: PriceBook) -> tuple[Decimal, PlannedApart] | None:
    """What plans of jobs with much and with little memory for their vCPUs cost together at the least, if that is less:
    a fleet of several families is sized by sums, and need not hold each of them."""
    jobs, decision = whole.workload, whole.decision
    if not isinstance(jobs, Jobs) or OTHER_MEMORY in jobs.provenance.left_out:
        return None
    if not is_wide(decision) or decision.owned or whole.required or decision.spot.cost:
        return None
    alone = decision.compared.evaluations[0].candidate
    useful, bound = decision.compared.relaxed[region_of(alone)]
    shapes = (alone.shape, *(c.shape for c, is_used in zip(useful, bound.used, strict=True) if is_used))
    *bounds, _ = sorted({(s.memory_gib / s.vcpus).quantize(SAME_RATIO, ROUND_UP).normalize() for s in shapes})
    if not bounds:
        return None
    parts = [(f"up-to-{most:f}", f"over-{most:f}") for most in bounds]
    cost, best = min((sum((_cost_of_memory(part, whole, book) for part in two), Decimal(0)), two) for two in parts)
    if cost >= _cost_of(decision) * (1 - LEAST):
        return None
    flags = _flags(whole, "gib_per_vcpu", best)
    return cost, PlannedApart(f"two plans by the memory of jobs ({_again(flags)}, each with its own --state)", flags)


def _cost_of_memory(part: str, whole: PlannedTogether, book: PriceBook) -> Decimal:
    """What a plan of these jobs costs; without end where there are none or it does not hold them."""
    try:
        jobs = of_memory(whole.workload, part)
    except UsageError:
        return Decimal("Infinity")
    assert isinstance(jobs, Jobs)
    cost = _cost_of_part(jobs, (), whole, book)
    return Decimal("Infinity") if cost is None else cost


def window_text(window: Window) -> str:
    """A window as ``--window`` takes it: with times where the trace has dates and they fall on whole seconds."""
    return f"{_moment(window.start)}..{_moment(window.end)}"


def _moment(at: float) -> str:
    if at != int(at):
        return repr(float(at))
    return f"{at:.0f}" if at < DATES_FROM else f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%SZ}"


def _cost(parts: Sequence[str], whole: PlannedTogether, book: PriceBook) -> Decimal | None:
    """What plans of these parts cost together; None where one of them has jobs that it does not hold."""
    jobs = (requiring(whole.workload, one) for one in parts)
    owned = chain([whole.decision.owned], repeat(()))
    costs = [
        _cost_of_part(part, used, whole, book)
        for part, used in zip(jobs, owned, strict=False)
        if isinstance(part, Jobs)
    ]
    return sum((cost for cost in costs if cost is not None), Decimal(0)) if None not in costs else None


def _cost_of_part(part: Jobs, owned: Sequence[Owned], whole: PlannedTogether, book: PriceBook) -> Decimal | None:
    assert whole.demand.window is not None
    demand = demand_within(part, whole.demand.step_seconds, whole.demand.window)
    settings = whole.decision.settings  # without what changes no cost, and with the speeds of the part's applications
    risk = RiskSettings(futures=0) if settings.risk.regret_quantile is None else settings.risk
    settings = replace(settings, risk=replace(risk, falls=()), speeds=tuple(speeds_of(part, book)))
    required = required_of(part, demand)
    running, leanest = running_of(part, settings.divisible, demand), leanest_of(part, demand)
    given = Given(running, leanest=leanest, required=required, only_cost=True)
    try:
        decision = decide(book, demand, settings, owned, given)
    except EvidenceError:
        return None
    return None if unmet_by(_in_use(decision, book), required) else _cost_of(decision)


def _cost_of(decision: FleetDecision) -> Decimal:
    return decision.machines.cost + decision.spot.cost


def _monthly(cost: Decimal, whole: PlannedTogether) -> str:
    return f"{format_money(cost / whole.decision.horizon_hours * HOURS_PER_MONTH)} a month"


def _in_use(decision: FleetDecision, book: PriceBook) -> tuple[InstanceType, ...]:
    """The types that are bought and rented."""
    keys = {(o.key.provider, o.key.instance_type) for o in decision.offers_in_use}
    return tuple(book.instance_type(*key) for key in sorted(keys))
