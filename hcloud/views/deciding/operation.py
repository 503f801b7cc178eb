"""Simulated strategies of a plan: dollars beside quality as a table and as sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal

from hcloud.model.plans.operation import Band, OperatingPoint, Operation
from hcloud.model.plans.plan import Plan
from hcloud.planning.strategies.choice import OperatingTarget, landmarks, meets
from hcloud.planning.strategies.choice_reasons import told_late
from hcloud.planning.strategies.flips_of_target import target_of
from hcloud.planning.strategies.own_fleet import fleet_of
from hcloud.units import HOURS_PER_MONTH, SECONDS_PER_HOUR, format_duration, format_figure, format_money, machines
from hcloud.views.comment import LONGEST_LINE
from hcloud.views.escaped import Markdown, md
from hcloud.views.lines import less_on_a_bill
from hcloud.views.markdown import PER_MONTH, table
from hcloud.views.tables import Figures

_NONE = "-"
_MORE = "by use alone; the simulated bill, with starts, gaps, idle instances and jobs kept apart that slow each other: "
_DEARER = (
    "by use alone; the simulated bill, which pays more for some machines than the plan does ('simulated as' says why): "
)
_LESS = "by use alone and the forecast; the simulated bill, of the window's jobs as they came: "


def points_table(operation: Operation, *, every: bool = False) -> Figures:
    """The chosen point and the best one of each other strategy, or ``every`` one, by falling cost."""
    shown = operation.points if every else telling(operation)
    marks = _marks(operation)
    rows = [
        _row(p, marks.get((p.strategy, p.reserve), "")) for p in sorted(shown, key=lambda p: (-p.hourly, p.strategy))
    ]
    names = ("simulated", "reserved", "$/month", "kept %", "batch p5 %", "tail p95", "wait p95 s", "")
    return Figures(names, rows, frozenset(range(1, len(names) - 1)))


def telling(operation: Operation) -> list[OperatingPoint]:
    """The chosen point, and of every other strategy the cheapest that meets the target, else the best."""
    best: dict[str, OperatingPoint] = {operation.chosen.strategy: operation.chosen}
    for point in sorted(operation.points, key=lambda p: _rank(p, target_of(operation))):
        best.setdefault(point.strategy, point)
    marked = [] if operation.meets_target else [p for _, p in _landmarks(operation)]
    return list(best.values()) + [p for p in dict.fromkeys(marked) if p not in best.values()]


def _rank(point: OperatingPoint, target: OperatingTarget) -> tuple[bool, float]:
    good = meets(point, target)
    return not good, float(point.hourly) if good else -point.kept_qos.mean


def _marks(operation: Operation) -> Mapping[tuple[str, int], str]:
    """What is remarkable about points, by strategy and reserve."""
    marks = {(p.strategy, p.reserve): "front" for p in operation.points if p.on_front}
    if not operation.meets_target:
        marks |= {(p.strategy, p.reserve): role for role, p in _landmarks(operation)}
    return marks | {(operation.strategy, operation.reserve): "chosen"}


def _landmarks(operation: Operation) -> list[tuple[str, OperatingPoint]]:
    """The points to choose between where nothing keeps the target, each with what it is."""
    found = landmarks(operation.points)
    named = (("knee", found.knee), ("best", found.best), ("cheapest", found.cheapest))
    return [(role, point) for role, point in named if point is not None]


def missed(operation: Operation) -> Iterator[str]:
    """What is said before all else of a choice that misses the target or the budget; nothing of one that does not."""
    chosen, count = operation.chosen, len(operation.points)
    if not operation.within_budget and operation.budget is not None:
        over = format_money(chosen.monthly - operation.budget)
        yield (
            f"None of {count} simulated points stays within the budget of {format_money(operation.budget)}/month:"
            f" {_told(chosen)} is the cheapest, {over} over it."
        )
    if not operation.meets_target:
        late = told_late(chosen, target_of(operation))
        yield (
            f"None of {count} simulated points keeps the target: {_told(chosen)} keeps {_band(chosen.kept_qos, 100, 1)}"
            f"% of jobs, {operation.qos_target:.1%} are asked for (operation.qos){f'; {late}' if late else ''}."
        )
        for role, p in reversed(_landmarks(operation)):
            yield f"{role}: {_told(p)}, {format_money(p.monthly)}/month, {_band(p.kept_qos, 100, 1)}% of jobs kept"


def _told(point: OperatingPoint) -> str:
    return f"{point.strategy} with {point.reserve} reserved"


def _row(point: OperatingPoint, mark: str) -> list[str]:
    half = "" if point.hourly_half is None else f" ±{point.hourly_half * HOURS_PER_MONTH:,.0f}"
    return [
        point.strategy,
        f"{point.reserve:,}",
        f"{format_figure(point.monthly)}{half}",
        _band(point.kept_qos, 100, 1),
        _mean(point.batch_p5, 100, 0),
        _mean(point.tail_p95, 1, 1),
        _mean(point.wait_p95, 1, 0),
        mark,
    ]


def _mean(band: Band | None, factor: float, digits: int) -> str:
    return _NONE if band is None else f"{band.mean * factor:,.{digits}f}"


def _band(band: Band, factor: float, digits: int) -> str:
    half = "" if band.half is None else f" ±{band.half * factor:.{digits}f}"
    return f"{band.mean * factor:,.{digits}f}{half}"


def said_of(operation: Operation) -> Iterator[str]:
    """Why the point was chosen, what of its reserve is owned, and the numbers it is to be run with."""
    yield from operation.reasons
    if owned := operation.baseline.reserve:
        counted = f"{owned:,} are what is owned, counted in {operation.reserved_type}"
        yield f"of the {operation.reserve:,} reserved, {counted}"
    yield f"to operate it as {operation.strategy}: {', '.join(_numbers(operation))}"
    least, most = (count(len(p.kept_by_seed or operation.seeds) for p in operation.points) for count in (min, max))
    seeds = f"{most} seeds" if least == most else f"{least} to {most} seeds"
    about = f"{seeds}, ± at 95%" if most > 1 else "one seed, so no interval"
    yield f"cloud {operation.cloud}, {about}; kept: 95% of performance; other figures are not simulated"


def monthly_of(plan: Plan) -> tuple[Decimal, Decimal]:
    """Dollars a month without the plan and with it: of the simulated bill where strategies were simulated, else by
    use."""
    if (found := plan.operation) is not None:
        return found.baseline.monthly, found.chosen.monthly
    return plan.now.monthly, plan.after.monthly


def simulated_lines(plan: Plan) -> Iterator[str]:
    """What the dollars said before are, and what they are otherwise: by simulation, or by use alone where they are
    simulated; nothing where no simulation was made."""
    if plan.operation is not None:
        yield _simulated(plan, plan.operation)
    elif (found := plan.prediction) is not None and found.monthly is not None:
        unused = " without what is owned" if plan.unbought != plan.now.name else ""
        other = found.all_on_demand
        beside = "" if other is None else f" (all on demand{unused} {format_money(other)})"
        less = less_on_a_bill(found.covered or Decimal(0), found.monthly)
        beside += f"; {less}" if less else ""
        yield f"{_by_use(plan, found.monthly)}{format_money(found.monthly)}/month as {found.strategy}{beside}"


def _by_use(plan: Plan, simulated: Decimal) -> str:
    """What a simulated bill is beside the plan's own: starts and gaps do not tell why it would be lower, nor why it is
    higher where it rents on demand what the plan has on spot."""
    if fleet_of(plan).dearer:
        return _DEARER
    return _LESS if simulated < plan.after.monthly else _MORE


def _simulated(plan: Plan, operation: Operation) -> str:
    """How the choice is run, the jobs that keep their performance with it and beside it, and its dollars by use."""
    chosen, base = operation.chosen, operation.baseline
    how = "with what is owned" if base.reserve else "all on demand"
    how = how if base.strategy == chosen.strategy else f"as {base.strategy}, {how}"
    beside = "" if operation.is_baseline else f", {base.kept_qos.mean:.1%} {how}"
    by_use = f"{format_money(plan.now.monthly)} and {format_money(plan.after.monthly)}"
    return (
        f"simulated as {chosen.strategy}, with starts, gaps, idle instances and jobs kept apart that slow each other:"
        f" {chosen.kept_qos.mean:.1%} of jobs kept{beside}; by use alone, as in the mix, {by_use}"
    )


def fleet_line(plan: Plan) -> Iterator[str]:
    """What a plan's own fleet does to jobs, or that it was not simulated and what does that."""
    found, carried = plan.prediction, 0 if plan.harvest is None else plan.harvest.carried_jobs
    if found is None:
        return
    if found.kept_qos is None:
        yield f"this fleet was not simulated: {found.why_not}"
        return
    planned = fleet_of(plan)
    as_smaller = ", the same vCPUs in smaller machines" if found.reserved != planned.reserved else ""
    fleet = f"{machines(found.reserved)} reserved{as_smaller}" if found.reserved else "nothing reserved"
    wait = "" if found.wait_p95 is None else f", wait p95 {found.wait_p95:,.0f} s"
    jobs = f"the jobs beside {carried:,} in idle hours" if carried else "jobs"
    kept = f"{found.kept_qos:.1%} of {jobs} keep 95% of their performance"
    dearer = "".join(f"; {note}" for note in planned.dearer)
    yield f"simulated as {found.strategy} ({fleet}, one seed{_simulated_time(plan)}): {kept}{wait}{dearer}"


def _simulated_time(plan: Plan) -> str:
    """That all of the window was simulated, where the plan counts less of it."""
    window = plan.workload.window
    is_longer = window is not None and window.seconds > plan.horizon_hours * SECONDS_PER_HOUR
    return ", over the whole window" if is_longer else ""


def _numbers(operation: Operation) -> Iterator[str]:
    if operation.reserve and operation.soft_limit is not None and operation.hard_limit is not None:
        yield f"limits {operation.soft_limit:.0%} and {operation.hard_limit:.0%} of the reserve"
    if operation.on_demand_types:
        first, last = operation.on_demand_types[0], operation.on_demand_types[-1]
        yield f"on demand {first}" + (f" to {last}" if last != first else "")
    else:
        yield "nothing on demand: where demand rises above the reserve, jobs wait for room"
    if operation.retention_factor is not None and operation.retention_seconds is not None:
        kept = format_duration(round(operation.retention_seconds))
        times = (
            "as long as they start"
            if operation.retention_factor == 1
            else f"{operation.retention_factor:g} times their start"
        )
        yield f"idle instances kept {times}, {kept} for the largest"


def verdicts(operation: Operation) -> Iterator[str]:
    """Why each other point was not chosen, with the margin."""
    for point in operation.points:
        if point.verdict:
            yield f"{point.strategy} with {point.reserve} ({point.reserve_rule}): {point.verdict}"


def markdown_points(operation: Operation) -> list[Markdown]:
    """Every simulated point as a Markdown table."""
    names = ("simulated", "reserved", PER_MONTH, "jobs that keep 95%", "tail p95", "not chosen because")
    rows = []
    for p in sorted(operation.points, key=lambda p: (-p.hourly, p.strategy)):
        name = md("**{}**", p.strategy) if p is operation.chosen else p.strategy
        kept, tail = _band(p.kept_qos, 100, 1), _mean(p.tail_p95, 1, 1)
        rows.append((name, str(p.reserve), str(p.monthly), kept, tail, p.verdict or ""))
    return table(Figures(names, rows, frozenset({1, 2, 3, 4})), LONGEST_LINE)
