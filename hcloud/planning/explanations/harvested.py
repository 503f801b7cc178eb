"""What the idle hours of a plan's reserve carry, what that is worth, and which jobs it is."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING
from zlib import compress, decompress

import numpy as np

from hcloud.model.plans.harvest import HarvestedHours
from hcloud.model.plans.plan import Alternative, Assumption, Plan
from hcloud.model.workload import Jobs, Workload
from hcloud.planning.decide import FleetDecision
from hcloud.planning.fleets.fleet import vcpus_held
from hcloud.planning.forecasting.idle import IdleHours, IdleUse
from hcloud.units import HOURS_PER_MONTH, cents, counted, format_money, rate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Demand, Floats

WITHOUT = "without idle hours"
LOW, HIGH = 0.1, 0.9
NOTHING = 1e-9
_HELD = "; with fewer reserved more batch would find no room, which costs more than the last ones do"


def with_idle_hours(plan: Plan, made: FleetDecision, plain: FleetDecision, use: IdleUse) -> Plan:
    """The plan with what idle hours carry, and what it would be without them."""
    idle, held = made.forecast.idle, vcpus_held(made.fleet, made.types, made.forecast)
    assert idle is not None, "the decision was made with idle hours"
    month = HOURS_PER_MONTH / len(made.forecast)
    figures = {name: _rated(float(column.sum()) * month) for name, column in _ledger(made, idle, held).items()}
    per_month = Decimal(HOURS_PER_MONTH) / made.horizon_hours
    monthly = cents(plain.cost * per_month)
    low, middle, high = _range(made, plain)
    sizing = plan.sizing[0] if plan.sizing else None
    added = None if sizing is None else _rated(_added(made, idle, held))
    found = HarvestedHours(
        history=use.name.rpartition("/")[2],
        days=use.days,
        tenants=use.tenants,
        silent=use.silent,
        unmatched=use.unmatched,
        reserve_cores=_rated(use.reserve[0]),
        reserve_memory=_rated(use.reserve[1]),
        paid=figures["paid"],
        services=figures["services"],
        batch=figures["batch"],
        carried=figures["carried"],
        reserve=figures["reserve"],
        idle=figures["idle"],
        offered=figures["offered"],
        wanted=figures["wanted"],
        vcpus=_rated(float(held[0])),
        vcpus_without=_rated(float(vcpus_held(plain.fleet, plain.types, plain.forecast)[0])),
        monthly_without=monthly,
        saved=monthly - plan.after.monthly,
        saved_p10=low,
        saved_p90=high,
        pays_from=None if sizing is None else sizing.pays_above,
        own_use=None if sizing is None or added is None else max(sizing.last_use - added, Decimal(0)),
        idle_use=added,
        carried_jobs=0,
        jobs="",
        saved_p50=middle,
    )
    found = _with_play(found, idle, use)
    told = (*_reasons(found, made, plain), *plan.reasons)
    *rivals, own, floor = plan.alternatives
    text, total = "the best plan where batch has machines of its own", cents(plain.cost)
    without = Alternative(
        WITHOUT, text, rate(plain.cost / made.horizon_hours), monthly, total, total - plan.after.total
    )
    return replace(
        plan,
        harvest=found,
        alternatives=(*rivals, without, own, floor),
        reasons=told,
        assumptions=(*plan.assumptions, *_assumptions(use)),
        warnings=(*plan.warnings, *_warnings(found), *warned_of(use)),
    )


def _with_play(found: HarvestedHours, idle: IdleHours, use: IdleUse) -> HarvestedHours:
    """The same with what play found, as much more as the demand grows until then."""
    told, now = use.played, float(use.hours.services.mean())
    if told is None or told.why_not:
        return replace(found, not_played="" if told is None else told.why_not)
    month = HOURS_PER_MONTH * (float(idle.services.mean()) / now if now else 1.0)
    return replace(
        found,
        wanted=_rated(told.wanted * month),
        arithmetic=_rated(told.arithmetic * month),
        played=_rated(told.vcpus * month),
        played_ended=told.ended,
        played_no_class=told.no_class,
        played_moved=told.moved,
        played_kills=told.kills,
        played_lost=_rated(told.lost),
        played_seeds=told.seeds,
    )


def _ledger(made: FleetDecision, idle: IdleHours, held: Floats) -> dict[str, Floats]:
    """vCPUs at each step: what is paid for, and where that goes; what batch might have had, and what it wanted."""
    paid = held + idle.owned
    on_reserved = np.minimum(idle.services, paid)
    carried = idle.carried(held)
    spot = made.demanded.batch_cores * made.settings.spot_share_of_batch
    batch = np.clip(made.demanded.cores - spot - idle.services - carried, 0.0, paid - on_reserved)
    services = on_reserved * idle.used
    reserve = on_reserved * np.maximum(1.0 - idle.used - idle.room, 0.0)
    return {
        "paid": paid,
        "services": services,
        "batch": batch,
        "carried": carried,
        "reserve": reserve,
        "idle": paid - services - batch - carried - reserve,
        "offered": on_reserved * idle.share[0],
        "wanted": idle.batch.sum(axis=0),
    }


def _added(made: FleetDecision, idle: IdleHours, held: Floats) -> float:
    """The share of the time that batch runs in the idle hours which the last instance adds."""
    vcpus = float(made.types[0].capacity[0])
    return float((idle.carried(held) - idle.carried(np.maximum(held - vcpus, 0.0))).mean()) / vcpus


def _range(made: FleetDecision, plain: FleetDecision) -> tuple[Decimal | None, Decimal | None, Decimal | None]:
    """What one future of ten falls short of, half of them do, and one exceeds, dollars a month saved: both plans in the
    same futures."""
    if made.spread is None or plain.spread is None:
        return None, None, None
    costs = [d.spread.costs[:, d.spread.at(d.scale)] for d in (plain, made) if d.spread is not None]
    month = HOURS_PER_MONTH / made.horizon_hours
    low, middle, high = np.quantile((costs[0] - costs[1]) * month, (LOW, 0.5, HIGH)).tolist()
    return cents(Decimal(repr(low))), cents(Decimal(repr(middle))), cents(Decimal(repr(high)))


def _rated(value: float) -> Decimal:
    return rate(Decimal(repr(value)))


def _reasons(found: HarvestedHours, made: FleetDecision, plain: FleetDecision) -> Iterator[str]:
    parts = (
        f"{_part(found.carried, found.wanted)} of it, in {_part(found.carried, found.offered)} of what services leave"
    )
    saved = f"{format_money(found.saved)} a month"
    if found.saved_p10 is not None and found.saved_p50 is not None and found.saved_p90 is not None:
        futures = f"{format_money(found.saved_p10)} to {format_money(found.saved_p90)} in eight futures of ten"
        saved = (
            f"{format_money(found.saved_p50)} a month in the median of futures ({futures};"
            f" {format_money(found.saved)} where demand comes as forecast)"
        )
    yield (
        f"idle hours of what is reserved carry {found.carried:,.0f} vCPU-hours of batch a month, {parts}: that saves"
        f" {saved}"
    )
    if found.played is not None:
        yield (
            f"arithmetic alone would count on {found.arithmetic:,.0f}; played beside this reserve"
            f" ({counted(found.played_seeds, 'seed')}), {counted(found.played_ended, 'job')} of batch end in idle"
            f" hours, {found.played_no_class:,} find no class with room, {found.played_moved:,} move to machines, and"
            f" {counted(found.played_kills, 'kill')} lose"
            f" {float(found.played_lost):.1%} of the work there"
        )
    more = found.vcpus - found.vcpus_without
    machines = _machines(abs(more), made, plain)
    if more > 0:
        idle = made.forecast.idle
        assert idle is not None
        low, high = float(found.vcpus_without), float(found.vcpus)
        room, carried = (_between(idle, low, high, what) for what in ("offered", "carried"))
        share = carried / room if room > NOTHING else 0.0
        yield f"{machines} more reserved pay, because {share:.0%} of the idle hours of services on them carry batch"
    elif more < 0:
        yield f"{machines} fewer are reserved: idle hours of the others carry the batch that would have run on them"
    else:
        rented = "less" if found.saved > 0 else "as much"
        yield f"as much is reserved as without idle hours; {rented} is rented where demand comes as forecast"
    if found.pays_from is not None and found.own_use is not None and found.idle_use is not None:
        held = found.own_use + found.idle_use < found.pays_from
        yield (
            f"break-even {found.pays_from:.1%}: the last instance reserved saves {float(found.own_use):.1%} of"
            f" what it would cost on demand by its own hours, and {float(found.idle_use):.1%} by batch in the idle"
            f" hours that it adds{_HELD if held else ''}"
        )


def _between(idle: IdleHours, low: float, high: float, what: str) -> float:
    """What idle hours between two reserves offer, or carry."""
    if what == "carried":
        return float((idle.carried(high) - idle.carried(low)).sum())
    served = (np.minimum(idle.services, reserved + idle.owned) for reserved in (high, low))
    more, less = (float((one * idle.share[0]).sum()) for one in served)
    return more - less


def _machines(vcpus: Decimal, made: FleetDecision, plain: FleetDecision) -> str:
    each = made.types[0].capacity[0]
    if made.types == plain.types and len(made.types) == 1 and vcpus % each == 0:
        return f"{vcpus / each:,.0f} {made.types[0].shape.name}"
    return f"{vcpus:,.0f} vCPUs"


def _part(some: Decimal, of: Decimal) -> str:
    return f"{float(some / of):.0%}" if of else "0%"


def _assumptions(use: IdleUse) -> Iterator[Assumption]:
    cores, memory = use.reserve
    yield Assumption(
        "harvest.reserve_cores",
        f"{cores:.0%}",
        f"of each server; it and the use of services take whole vCPUs of servers of {use.left.vcpus:g}; use is that of"
        f" {counted(use.days, 'day')} of {use.name}",
    )
    yield Assumption(
        "harvest.reserve_memory", f"{memory:.0%}", "what services use of their memory at most: histories do not say"
    )
    short, long = use.bounds
    if long:
        yield Assumption("harvest.short_below", f"{short:,.0f} s", "short jobs may have what is free now")
        yield Assumption(
            "harvest.long_above",
            f"{long:,.0f} s",
            "long jobs may have what is free at the peak, others what is free on average",
        )


def _warnings(found: HarvestedHours) -> Iterator[str]:
    yield (
        f"batch in idle hours has {float(1 - found.reserve_memory):.0%} of the memory of services: nothing says that"
        " they leave so much (harvest.reserve_memory)"
    )
    if found.not_played:
        yield (
            f"idle hours were not played ({found.not_played}): the saving is arithmetic, which knows no kills:"
            " less of it will come"
        )
    if found.played is not None and found.arithmetic and not found.carried:
        yield "idle hours carry nothing: played beside the services, batch gets less there than any plan counts on"
    elif not found.carried:
        yield (
            "idle hours carry nothing: no server has room for a whole job beside its services and the reserve of vCPUs"
            " and memory (--divisible all, if jobs can be split; --vcpus for larger servers)"
        )
    if found.silent:
        yield f"services without a history count as always busy: {', '.join(found.silent)}"
    if found.unmatched:
        yield f"tenants that are not a service of the trace are ignored: {', '.join(found.unmatched)}"


def warned_of(use: IdleUse) -> Iterator[str]:
    """What play found of services, and what the histories lack."""
    if use.played is not None and use.played.harmed and use.played.vcpus:
        yield (
            f"in {use.played.harmed} of {counted(use.played.seeds, 'play')} more services waited for the reserve or ran"
            " on demand than without idle hours: 'hcloud compare TRACE --harvest on,off' shows costs and tails, too,"
            " and uses no idle hours in such a case"
        )
    if use.gaps:
        yield (
            f"{counted(use.gaps, 'server')} of {use.name} with gaps: the use of a tenant is the mean of its other"
            " servers there ('hcloud harvest types' names them)"
        )


def with_jobs_carried(plan: Plan, jobs: Jobs, demand: Demand, use: IdleUse, owned: float) -> Plan:
    """The plan with the jobs marked that its idle hours carry."""
    assert plan.harvest is not None
    marks = carried_jobs(jobs, demand, use, float(plan.harvest.vcpus) + owned)
    text = b64encode(compress(np.packbits(marks).tobytes(), 9)).decode()
    return replace(plan, harvest=replace(plan.harvest, carried_jobs=int(marks.sum()), jobs=text))


def carried_jobs(jobs: Jobs, demand: Demand, use: IdleUse, reserved: float) -> NDArray[np.bool_]:
    """Whole jobs that take as much as idle hours carry: of each length, in the order in which they begin, a job is
    carried where that brings what is carried so far nearer to what is to be."""
    batch = use.hours.batch
    share = np.divide(use.hours.by_length(reserved), batch, out=np.zeros_like(batch), where=batch > 0)
    edges = demand.start + demand.step_seconds * np.arange(len(demand) + 1)
    marks = np.zeros(len(jobs), np.bool_)
    for length in range(len(batch)):
        rows = np.flatnonzero(use.lengths == length)
        rows = rows[np.argsort(jobs.begins[rows], kind="stable")]
        upto = np.concatenate([[0.0], np.cumsum(share[length]) * demand.step_seconds])
        seconds = np.interp(jobs.ends[rows], edges, upto) - np.interp(jobs.begins[rows], edges, upto)
        inside = np.clip(jobs.ends[rows], edges[0], edges[-1]) - np.clip(jobs.begins[rows], edges[0], edges[-1])
        marks[rows] = _in_turn(seconds * jobs.cores[rows], inside * jobs.cores[rows])
    return marks


def _in_turn(owed: Floats, whole: Floats) -> NDArray[np.bool_]:
    taken, debt = np.zeros(len(whole), np.bool_), 0.0
    for at, (part, work) in enumerate(zip(owed.tolist(), whole.tolist(), strict=True)):
        debt += part
        if part > 0 and debt >= work / 2:
            taken[at] = True
            debt -= work
    return taken


def on_machines(plan: Plan, workload: Workload) -> Workload:
    """The workload without the jobs that run in idle hours by the plan."""
    if plan.harvest is None or not plan.harvest.carried_jobs or not isinstance(workload, Jobs):
        return workload
    marks = np.unpackbits(np.frombuffer(decompress(b64decode(plan.harvest.jobs)), np.uint8), count=len(workload))
    return workload.at(np.flatnonzero(marks == 0))
