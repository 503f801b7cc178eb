"""Pictures of a plan's arithmetic: demand against the reserve, what is in use how long, and demand that falls."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise

from hcloud.model.plans.figures import reserved_vcpus
from hcloud.model.plans.held import begun_later, held_now
from hcloud.model.plans.plan import OWNED, Lever, MixLine, Plan
from hcloud.units import HOURS_PER_YEAR, counted, format_money, percent
from hcloud.views.charts import axis_number, figure
from hcloud.views.page.axes import Axis, Frame, area, axis, framed, key, stepped
from hcloud.views.page.drawn import Drawn
from hcloud.views.page.svg import NARROW, WIDE, Canvas, Point, text_width

HEIGHTS = {WIDE: 300.0, NARROW: 270.0}
HEADROOM = 1.08  # ours


def dollars(value: float) -> str:
    """Dollars short enough for an axis."""
    return f"-${axis_number(-value)}" if value < 0 else f"${axis_number(value)}"


def demand_picture(plan: Plan) -> Drawn:
    """Demand over the trace, with the part that the reserve takes, the part that is rented, and what lies idle."""
    w = plan.workload
    lowest = min([*w.profile, *w.quantiles[:1]])
    said = (
        f"Demand over {_span(w.hours)} lies between {figure(lowest)} and {figure(_highest(plan))} vCPUs, mean "
        f"{figure(w.mean_cores)}. {_said_of_reserve(plan)}"
    )
    return Drawn(f"Demand over {_span(w.hours)}", lambda width: _demand(plan, width), said, said)


def _said_of_reserve(plan: Plan) -> str:
    """What the reserve takes of demand, step by step: an average over more hides what is above it and what is idle."""
    now = " now" if begun_later(plan.purchases) else ""
    if not plan.reserve.vcpus:
        return f"Nothing is reserved{now}: all of it is rented."
    takes = plan.reserve.takes
    return (
        f"{plan.reserve.vcpus:,.0f} vCPUs are reserved{now} and take {takes:.0%} of it; {1 - takes:.0%} is rented. On"
        f" average {plan.reserve.in_use:.0%} of the reserve is in use."
    )


def _highest(plan: Plan) -> float:
    return max([*plan.workload.profile, *plan.workload.peaks])


def _span(hours: float) -> str:
    unit, each = time_unit(hours)
    return f"{hours / each:,.3g} {unit}"


def time_unit(hours: float) -> tuple[str, float]:
    """The unit that suits a span, and the hours in it."""
    if hours > 72:
        return "days", 24.0
    return ("hours", 1.0) if hours > 3 else ("minutes", 1 / 60)


def _demand(plan: Plan, width: int) -> Canvas:
    canvas = Canvas(width, HEIGHTS[width] + 20)
    reserve, w = reserved_vcpus(plan.mix), plan.workload
    entries = [("p-reserve", "on the reserve"), ("p-rent", "rented"), ("p-idle", "reserve, idle")]
    shows_peaks = any(peak > mean for peak, mean in zip(w.peaks, w.profile, strict=False))
    entries += [("p-level", f"{reserve:,.0f} vCPUs reserved")] if reserve else []
    entries += [("p-peak", "highest step")] if shows_peaks else []
    above = key(canvas, entries)
    unit, each = time_unit(w.hours)
    across = axis(f"{unit} since the trace began", (0.0, w.hours / each), 7, lambda v: f"{v:,.4g}")
    up = axis("vCPUs", (0.0, max(_highest(plan), reserve) * HEADROOM), 6, axis_number)
    frame = framed(canvas, across, up, above=above)
    step = w.hours / each / len(w.profile)
    area(frame, [min(v, reserve) for v in w.profile], [reserve] * len(w.profile), (step, "p-idle"))
    area(frame, [0.0] * len(w.profile), [min(v, reserve) for v in w.profile], (step, "p-reserve"))
    area(frame, [min(v, reserve) for v in w.profile], w.profile, (step, "p-rent"))
    if shows_peaks:
        canvas.path([frame.at(*p) for p in stepped(w.peaks, step)], "p-peak")
    if reserve:
        canvas.line(frame.at(0, reserve), frame.at(across.high, reserve), "p-level")
    return canvas


def use_picture(plan: Plan) -> Drawn | None:
    """How much of the time each part of capacity is in use, beside the use above which a commitment pays; None where
    nothing is bought or the plan does not say how demand is spread."""
    line = max(held_now(plan.purchases), key=lambda m: m.vcpus, default=None)
    if line is None or line.break_even is None or not plan.workload.quantiles:
        return None
    pays = line.break_even
    said = f"{_said_of_last(plan, line)} A commitment to {line.instance_type} has a break-even of {percent(pays)}."
    how = "The curve shows how much of the time each vCPU is in use; below the dashed line on demand is cheaper."
    how += " A reserve that saves too little of its cost is not bought above it, either (planning.commit_min_saving)."
    if _memory_fills_first(plan):
        how = "The curve is of vCPUs alone: memory needs more machines, and it is by memory that the reserve pays."
    if plan.sizing and _owned_vcpus(plan):
        how += " It is of all demand: what is owned serves the first of it, for as long as it is owned."
    if plan.operation is not None:
        how += " The reserve was chosen by simulation, where starts, gaps between instances and waiting count, too."
    title = "How much of the time capacity is needed"
    return Drawn(title, lambda width: _use(plan, pays, width), said, f"{said} {how}")


def _said_of_last(plan: Plan, line: MixLine) -> str:
    """How much of the time the last instance of the reserve is needed: by the horizon, beside what is owned, where the
    plan says so, else by the trace."""
    reserve, owned = reserved_vcpus(plan.mix), _owned_vcpus(plan)
    who, used = f"The last instance of {reserve:,.0f}", _used_beyond(plan, reserve - float(line.vcpus / line.count))
    if plan.sizing:
        used = float(plan.sizing[0].last_use)
    if plan.sizing and owned:
        who = f"Beside what is owned, for as long as it is, the last instance of {reserve - owned:,.0f} more"
    return f"{who} reserved vCPUs is needed about {used:.0%} of the time."


def _memory_fills_first(plan: Plan) -> bool:
    """Whether demand takes a larger part of the memory that is reserved than of its vCPUs."""
    gib = float(sum(m.memory_gib for m in plan.mix if m.option.is_commitment and not m.begins_later))
    return plan.workload.mean_memory_gib * reserved_vcpus(plan.mix) > plan.workload.mean_cores * gib


def _owned_vcpus(plan: Plan) -> float:
    return reserved_vcpus(line for line in plan.mix if line.address.startswith(OWNED))


def _used_beyond(plan: Plan, vcpus: float) -> float:
    """The share of the time in which demand is above so many vCPUs."""
    quantiles = plan.workload.quantiles
    return min(sum(q > vcpus for q in quantiles) / (len(quantiles) - 1), 1.0)


def _use(plan: Plan, pays: Decimal, width: int) -> Canvas:
    canvas = Canvas(width, HEIGHTS[width])
    reserve, quantiles = reserved_vcpus(plan.mix), plan.workload.quantiles
    across = axis("vCPUs", (0.0, max(quantiles[-1], reserve) * 1.02), 7 if width == WIDE else 5, axis_number)
    up = Axis("needed, % of the time", 0.0, 1.05, (0.0, 0.25, 0.5, 0.75, 1.0), lambda v: f"{v:.0%}")
    frame = framed(canvas, across, up)
    curve = [(0.0, 1.0), *((q, 1 - n / (len(quantiles) - 1)) for n, q in enumerate(quantiles))]
    inside = [(min(x, reserve), y) for x, y in curve if x <= reserve]
    edge = next((y for x, y in curve if x > reserve), 0.0)
    canvas.path([frame.at(*p) for p in (*inside, (reserve, edge), (reserve, 0.0), (0.0, 0.0))], "p-idle", closed=True)
    canvas.path([frame.at(*p) for p in curve], "p-line")
    canvas.line(frame.at(0, float(pays)), frame.at(across.high, float(pays)), "p-limit")
    canvas.line(frame.at(reserve, 0), frame.at(reserve, 1.05), "p-level")
    _beside(frame, reserve, f"reserved {reserve:,.0f}")
    canvas.text((frame.right, frame.up(float(pays)) - 6), f"break-even {percent(pays)}", "p-n p-halo", "end")
    return canvas


def _beside(frame: Frame, value: float, said: str) -> None:
    """A label beside an upright line, on the side with room, near its upper end."""
    x, y = frame.across(value), frame.corner[1] + 14
    right = x + text_width(said) + 8 < frame.right
    frame.canvas.text((x + 6 if right else x - 6, y), said, "p-b p-halo", "start" if right else "end")


def falls_picture(plan: Plan) -> Drawn | None:
    """What the plan costs beside its rivals where demand changes; None where that was not asked about."""
    if not plan.what_if:
        return None
    lowest = min(plan.what_if, key=lambda w: w.change)
    turn = _turning_point(plan)
    said = (
        f"With the demand planned for, this plan costs {format_money(plan.after.total)} and {plan.unbought} "
        f"{format_money(plan.now.total)}; if demand is {-float(lowest.change):.0%} lower, "
        f"{format_money(lowest.planned)} and {format_money(lowest.all_on_demand)}."
    )
    if turn is not None:
        said += f" Renting everything becomes cheaper when demand falls by about {-turn:.0%}."
    return Drawn(f"Dollars over {horizon(plan)} by demand", lambda width: _falls(plan, width), said, said)


def _courses(plan: Plan) -> list[tuple[str, str, list[Point]]]:
    """Each course: its name, its class, and its dollars by the change of demand."""
    best = plan.after.total - plan.certificate.gap  # what is owned or on spot is in no bound
    none = [(0.0, float(total)) for total in (plan.now.total, plan.after.total, best)]
    asked = sorted(plan.what_if, key=lambda w: w.change)
    rows = [
        (plan.unbought, "p-line2", [(float(w.change), float(w.all_on_demand)) for w in asked]),
        ("this plan", "p-line", [(float(w.change), float(w.planned)) for w in asked]),
        ("best in hindsight", "p-line3", [(float(w.change), float(w.best_in_hindsight)) for w in asked]),
    ]
    for row, point in zip(rows, none, strict=True):
        row[2].append(point)
    return [(name, kind, sorted(points)) for name, kind, points in rows]


def _turning_point(plan: Plan) -> float | None:
    """The change of demand at which the plan costs as much as renting everything, within what was asked about: as the
    plan has found it, else on straight lines."""
    found = next((float(flip.change) for flip in plan.flips if flip.lever is Lever.DEMAND), None)
    if found is not None:
        return found if found >= min(float(case.change) for case in plan.what_if) else None
    on_demand, planned = (points for _, _, points in _courses(plan)[:2])
    more = [(x, p - o) for (x, p), (_, o) in zip(planned, on_demand, strict=True)]
    for (x1, d1), (x2, d2) in pairwise(more):
        if d1 > 0 >= d2:
            return x1 + (x2 - x1) * d1 / (d1 - d2)
    return None


def _falls(plan: Plan, width: int) -> Canvas:
    canvas, courses = Canvas(width, HEIGHTS[width] + 20), _courses(plan)
    above = key(canvas, [(kind, name) for name, kind, _ in courses])
    changes = sorted({x for _, _, points in courses for x, _ in points})
    top = max(y for _, _, points in courses for _, y in points) * HEADROOM
    across = Axis("change of demand against the forecast", changes[0], changes[-1], changes, _change)
    frame = framed(canvas, across, axis("dollars", (0.0, top), 6, dollars), above=above, right=18)
    for _, kind, points in courses:
        canvas.path([frame.at(*p) for p in points], kind)
    turn = _turning_point(plan)
    if turn is not None:
        canvas.line(frame.at(turn, 0), frame.at(turn, top), "p-limit")
        _beside(frame, turn, f"break-even at {turn:+.0%}")
    return canvas


def _change(value: float) -> str:
    return f"{value:+.0%}" if value else "0%"


def horizon(plan: Plan) -> str:
    """How far is planned, in words."""
    years, rest = divmod(plan.horizon_hours, HOURS_PER_YEAR)
    return counted(years, "year") if not rest else f"{plan.horizon_hours:,} hours"
