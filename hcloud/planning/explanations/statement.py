"""A decision stated as a plan: lines, totals, alternatives, proof, reasons and refusals in exact dollars."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from hcloud.model.catalog import InstanceType, Offer
from hcloud.model.plans.figures import reserved_vcpus
from hcloud.model.plans.operation import Operation
from hcloud.model.plans.plan import (
    FORMAT_VERSION,
    OWNED,
    Alternative,
    Assumption,
    Certificate,
    Digests,
    History,
    MixLine,
    Plan,
    ReserveUse,
    Risk,
    WhatIf,
    WorkloadSummary,
)
from hcloud.model.workload import Demand
from hcloud.planning.decide import FleetDecision
from hcloud.planning.explanations.flips import plan_flips, sizings
from hcloud.planning.explanations.reasons import reasons, refusals
from hcloud.planning.fleets.candidates import Candidate
from hcloud.planning.fleets.evaluate import pays_above
from hcloud.planning.fleets.fleet import Holding, PlannedRental
from hcloud.planning.fleets.history import history_of, said_of_history
from hcloud.planning.fleets.owned import Owned
from hcloud.units import HOURS_PER_MONTH, SECONDS_PER_HOUR, cents, rate

if TYPE_CHECKING:
    from hcloud.model.workload import Floats

PROFILE_POINTS = 120
EDGE = 1e-9  # ours: so little of a step across an end is rounding
PERCENTS = np.linspace(0, 1, 101)
PLAN_NAME = "this plan"
BOUND_NAME = "lower bound"


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What surrounds a decision: versions, time, digests, the demand it was made from and what the user should know."""

    tool_version: str
    generated_at: datetime
    digests: Digests
    price_day: date
    seed: int
    demand: Demand
    assumptions: tuple[Assumption, ...]
    warnings: tuple[str, ...]
    operation: Operation | None = None
    advice: tuple[str, ...] = ()
    explained: bool = True


def state(decision: FleetDecision, around: Circumstances) -> Plan:
    """The plan of a decision. All money is rounded here and only here: rates to a millionth, sums to the cent."""
    hours, sunk, after_total = decision.horizon_hours, decision.sunk, decision.cost

    def alternative(name: str, text: str, total: Decimal) -> Alternative:
        per_hour = total / hours
        return Alternative(
            name, text, rate(per_hour), cents(per_hour * HOURS_PER_MONTH), cents(total), cents(total - after_total)
        )

    rivals = tuple(alternative(r.name, r.description, r.fleet.cost + sunk + decision.licences) for r in decision.rivals)
    bound = Decimal(repr(decision.lower_bound)) + after_total - decision.machines.cost
    after = alternative(PLAN_NAME, decision.method, after_total)
    history, mix = _history(decision, around.demand), _mix(decision)
    floor = alternative(
        BOUND_NAME, "fractions of the allowed types of one region, perfect foresight: no plan there is cheaper", bound
    )
    return Plan(
        format_version=FORMAT_VERSION,
        tool_version=around.tool_version,
        generated_at=around.generated_at,
        currency="USD",
        digests=around.digests,
        price_day=around.price_day,
        price_age_days=(around.generated_at.date() - around.price_day).days,
        seed=around.seed,
        horizon_hours=hours,
        step_seconds=decision.forecast.step_seconds,
        workload=_summary(around.demand),
        mix=mix,
        now=rivals[0],
        after=after,
        alternatives=(*rivals, after, floor),
        certificate=_certificate(decision),
        what_if=tuple(_what_ifs(decision, sunk)),
        risk=_risk(decision, sunk),
        reasons=(*reasons(decision), *around.advice) if around.explained else (),
        refusals=refusals(decision, after.total) if around.explained else (),
        assumptions=around.assumptions,
        warnings=(*said_of_history(history), *around.warnings),
        operation=around.operation,
        sizing=sizings(decision, simulated=around.operation is not None) if around.explained else (),
        flips=plan_flips(decision, simulated=around.operation is not None) if around.explained else (),
        history=history,
        reserve=_reserve(mix, around.demand),
        first_weeks=decision.settings.outlook.first_weeks,
    )


def _history(decision: FleetDecision, demand: Demand) -> History | None:
    seconds = max(len(demand) * demand.step_seconds - decision.settings.outlook.warm_up_seconds, 0)
    return history_of(seconds / SECONDS_PER_HOUR, decision.machines.holdings, decision.settings.history)


def _summary(demand: Demand) -> WorkloadSummary:
    origin = demand.provenance
    means, peaks = in_spans(demand.cores, min(PROFILE_POINTS, len(demand)))
    digits = 1 if np.max(demand.cores) >= 10 else 3
    return WorkloadSummary(
        name=origin.name.rsplit("/", 1)[-1],
        format=origin.format,
        rows=origin.rows,
        hours=len(demand) * demand.step_seconds / SECONDS_PER_HOUR,
        step_seconds=demand.step_seconds,
        mean_cores=round(float(np.mean(demand.cores)), 3),
        peak_cores=round(float(np.max(demand.cores)), 3),
        mean_memory_gib=round(float(np.mean(demand.memory)), 3),
        peak_memory_gib=round(float(np.max(demand.memory)), 3),
        repaired=dict(sorted(origin.repaired.items())),
        left_out=dict(sorted(origin.left_out.items())),
        profile=tuple(round(value, digits) for value in means),
        peaks=tuple(round(value, digits) for value in peaks),
        quantiles=tuple(round(float(q), digits) for q in np.quantile(demand.cores, PERCENTS, method="inverted_cdf")),
        window=demand.window,
        machines=origin.machines,
    )


def _reserve(mix: Sequence[MixLine], demand: Demand) -> ReserveUse:
    vcpus = reserved_vcpus(mix)
    taken, whole = float(np.minimum(demand.cores, vcpus).sum()), float(demand.cores.sum())
    return ReserveUse(
        vcpus, round(taken / whole, 4) if whole else 0.0, round(taken / (vcpus * len(demand)), 4) if vcpus else 0.0
    )


def in_spans(values: Floats, count: int) -> tuple[list[float], list[float]]:
    """The mean and the highest of ``values`` in ``count`` spans of equal length, steps that lie across an end shared by
    their parts: what is drawn at equal width must last equally long."""
    edges = np.linspace(0, len(values), count + 1)
    total = np.interp(edges, np.arange(len(values) + 1), np.concatenate(([0.0], np.cumsum(values))))
    inside = zip(np.floor(edges[:-1] + EDGE), np.ceil(edges[1:] - EDGE), strict=True)
    peaks = [float(values[int(a) : max(int(b), int(a) + 1)].max()) for a, b in inside]
    means = (np.diff(total) / np.diff(edges)).tolist()
    return [min(mean, peak) for mean, peak in zip(means, peaks, strict=True)], peaks


def _mix(decision: FleetDecision) -> tuple[MixLine, ...]:
    known = {c.address: c for ladder in decision.ladders.values() for c in ladder}
    hours = decision.horizon_hours

    def of(offer: Offer) -> Candidate:
        return known[f"{offer.key.provider}/{offer.key.region}/{offer.key.instance_type}"]

    owned = [_owned_line(o, hours) for o in decision.owned if o.hours_left]
    held = [_held_line(h, of(h.offer), hours) for h in decision.machines.holdings]
    rentals = (*decision.machines.rentals, *decision.spot.rentals)
    rented = [_rented_line(r, of(r.offer), hours) for r in rentals]
    left = decision.licences - sum((line.licences or 0 for line in rented), Decimal(0))
    committed = (*owned, *held)
    return (*(_sharing(committed, max(left, Decimal(0)), hours) if decision.licences else committed), *rented)


def _sharing(lines: Sequence[MixLine], licences: Decimal, hours: int) -> Iterator[MixLine]:
    """What is committed to with the licences of what runs on it, by vCPUs."""
    weights = [line.vcpus * (min(line.ends_hour or hours, hours) - line.starts_hour) for line in lines]
    whole = sum(weights, Decimal(0)) or Decimal(1)
    for line, weight in zip(lines, weights, strict=True):
        yield _licensed(line, licences * weight / whole, hours)


def _licensed(line: MixLine, licences: Decimal, hours: int) -> MixLine:
    """A line with licences that are billed by use beside it."""
    total, more = cents(line.total + cents(licences)), licences / hours
    monthly = cents(line.monthly + more * HOURS_PER_MONTH)
    return replace(line, hourly=rate(line.hourly + more), monthly=monthly, total=total, licences=cents(licences))


def _owned_line(owned: Owned, hours: int) -> MixLine:
    line = _line(owned.offer, owned.shape, owned.count, owned.cost(hours), hours)
    expires = owned.hours_left if owned.hours_left < hours else None
    line = replace(line, address=f"{OWNED}{owned.offer.key}", expires_hour=expires, expires=owned.expires)
    return replace(line, vcpus=rate(Decimal(0)), memory_gib=rate(Decimal(0))) if owned.elsewhere else line


def _held_line(holding: Holding, candidate: Candidate, hours: int) -> MixLine:
    line = _line(holding.offer, candidate.shape, Decimal(holding.count), holding.cost, hours)
    return replace(
        line,
        upfront=cents(holding.offer.upfront * holding.count),
        break_even=rate(pays_above(candidate, holding.offer, hours)),
        starts_hour=holding.start_hour,
    )


def _rented_line(rental: PlannedRental, candidate: Candidate, hours: int) -> MixLine:
    line = _line(rental.offer, candidate.shape, rental.hours / hours, rental.cost, hours)
    line = _licensed(line, candidate.licence * rental.hours, hours) if candidate.licence else line
    return replace(line, peak=rental.peak, first_least=rental.first_least, first_peak=rental.first_peak)


def _line(offer: Offer, shape: InstanceType, count: Decimal, cost: Decimal, hours: int) -> MixLine:
    per_hour = cost / hours
    return MixLine(
        address=str(offer.key),
        provider=offer.key.provider,
        region=offer.key.region,
        instance_type=offer.key.instance_type,
        option=offer.key.option,
        term_years=offer.key.term_years,
        payment=offer.key.payment,
        count=rate(count),
        peak=int(count.to_integral_value(rounding="ROUND_CEILING")),
        vcpus=rate(shape.vcpus * count),
        memory_gib=rate(shape.memory_gib * count),
        hourly=rate(per_hour),
        monthly=cents(per_hour * HOURS_PER_MONTH),
        upfront=Decimal("0.00"),
        total=cents(cost),
        break_even=None,
        starts_hour=0,
        price_day=offer.origin.day,
        derived=offer.origin.derived,
    )


def _certificate(decision: FleetDecision) -> Certificate:
    gap = max(Decimal(repr(decision.bound_gap)) + decision.machines.cost - decision.fleet.cost, Decimal(0))
    return Certificate(
        method=decision.method,
        optimum=cents(decision.machines.cost),
        bound=cents(decision.machines.cost - gap),
        gap=cents(gap),
        lower_bound=cents(Decimal(repr(decision.lower_bound))),
        lower_bound_method="linear program over fractions of instances (HiGHS)",
    )


def _what_ifs(decision: FleetDecision, sunk: Decimal) -> Iterable[WhatIf]:
    for fall in decision.falls:
        committed = fall.planned.commitments_cost
        change = Decimal(repr(fall.change))
        beside = sunk + decision.licences * (1 + change)
        yield WhatIf(
            change=rate(change),
            planned=cents(fall.planned.cost + fall.spot.cost + beside),
            all_on_demand=cents(fall.on_demand.cost + beside),
            best_in_hindsight=cents(fall.hindsight.cost + fall.spot.cost + beside),
            unused_commitment=cents(committed * Decimal(repr(fall.unused_share))),
        )


def _risk(decision: FleetDecision, sunk: Decimal) -> Risk | None:
    """Quantiles over the futures; spot capacity and licences cost what their share of the demand in each of them
    does."""
    found = decision.spread
    if found is None:
        return None
    column = found.at(decision.scale)
    costs = found.costs[:, column] + float(decision.spot.cost + decision.licences) * found.demand
    low, middle, high = (cents(Decimal(repr(float(q))) + sunk) for q in np.quantile(costs, (0.1, 0.5, 0.9)))
    regret = cents(Decimal(repr(float(np.quantile(found.regrets[:, column], 0.9)))))
    less, more = (rate(Decimal(repr(float(q)))) for q in np.quantile(found.demand, (0.1, 0.9)))
    return Risk(len(costs), low, middle, high, regret, decision.sized_at, less, more)
