"""Pictures of what a plan costs and does beside its rivals: dollars, quality, waiting, and the front of both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from hcloud.model.plans.operation import Band, OperatingPoint, Operation
from hcloud.model.plans.plan import Plan
from hcloud.planning.strategies.choice import meets
from hcloud.planning.strategies.flips_of_target import target_of
from hcloud.readers.strategies import STRATEGIES, load_strategy
from hcloud.units import HOURS_PER_MONTH, format_money
from hcloud.views.deciding.operation import telling
from hcloud.views.deciding.plan_charts import HEIGHTS, dollars, horizon
from hcloud.views.deciding.plan_tables import BOUND, told_alternatives
from hcloud.views.page.axes import Frame, axis, framed
from hcloud.views.page.bars import BarRow, Bars, bar_picture
from hcloud.views.page.drawn import Drawn
from hcloud.views.page.svg import WIDE, Canvas, Point, text_width

FAR = 2.5  # ours: times the distance of the target from 100%, beyond which a point is far below it
NEAR = 15.0  # ours: labels keep so far from one another


def cost_picture(plan: Plan) -> Drawn:
    """Dollars of each strategy with their intervals where these were simulated, else of each alternative."""
    return _alternatives(plan) if plan.operation is None else strategies_picture(plan.operation)


def _alternatives(plan: Plan) -> Drawn:
    rows = []
    for name, option in told_alternatives(plan):
        own = option.name == plan.after.name
        low, high = (plan.risk.cost_p10, plan.risk.cost_p90) if own and plan.risk else (option.total, option.total)
        kind = "p-best" if own else "p-idle" if option.name == BOUND else "p-other"
        rows.append(BarRow(name, format_money(option.total), float(option.total), float(low), float(high), kind))
    caption = "For the same demand at the same prices; nothing can be cheaper than the lower bound."
    if plan.risk is not None:
        caption += f" The interval of this plan holds 80% of {plan.risk.futures} futures: days, level and growth drawn."
    return bar_picture(f"Dollars over {horizon(plan)}", Bars(rows), caption)


def strategies_picture(operation: Operation) -> Drawn:
    """Dollars of each simulated strategy with their intervals."""
    rows = []
    for point in sorted(telling(operation), key=lambda p: (-p.hourly, p.strategy)):
        half = float((point.hourly_half or 0) * HOURS_PER_MONTH)
        value = float(point.monthly)
        said = format_money(point.monthly) + (f" ± {half:,.0f}" if point.hourly_half else "")
        rows.append(BarRow(_called(point, operation), said, value, value - half, value + half, _kind(point, operation)))
    seeds = len(operation.seeds)
    about = f"± and whiskers: 95% interval over {seeds} seeds." if seeds > 1 else "One seed, so no intervals."
    named = "; ".join(f"{name}: {title}" for name, title in titles(row.strategy for row in operation.points))
    caption = f"Simulated on the trace; of each strategy the cheapest point that keeps the target. {about}"
    caption += f" {named}." if named else ""
    budget = None if operation.budget is None else float(operation.budget)
    drawn = Bars(rows, budget, "" if operation.budget is None else f"budget {format_money(operation.budget)}")
    return bar_picture("Dollars a month by strategy", drawn, caption)


def titles(strategies: Iterable[str]) -> Iterator[tuple[str, str]]:
    """What the bundled ones among these strategies are, in a few words."""
    for name in dict.fromkeys(strategies):
        if name in STRATEGIES:
            yield name, load_strategy(name).title.split(":")[0].lower()


def _called(point: OperatingPoint, operation: Operation) -> str:
    name = f"{point.strategy}, {point.reserve:,} reserved"
    if not point.verdict:
        return f"{name}: chosen"
    return name if meets(point, target_of(operation)) else f"{name}: misses the target"


def _kind(point: OperatingPoint, operation: Operation) -> str:
    if not point.verdict:
        return "p-best"
    return "p-other" if meets(point, target_of(operation)) else "p-idle"


@dataclass(frozen=True, slots=True)
class QualityMeasure:
    """A figure of quality: which of a point's, how it is scaled and written, and what it means."""

    attribute: str
    title: str
    factor: float
    digits: int
    unit: str
    meaning: str


MEASURES = (
    QualityMeasure("kept_qos", "Jobs that keep 95% of their performance", 100, 1, "%", "More is better"),
    QualityMeasure(
        "batch_p5",
        "Batch jobs: performance that 95% reach",
        100,
        0,
        "%",
        "Of their performance in isolation; more is better",
    ),
    QualityMeasure(
        "tail_p95",
        "Services: tail latency that 95% stay below",
        1,
        1,
        " ×",
        "In multiples of isolation; less is better",
    ),
    QualityMeasure("wait_p95", "Waiting time that 95% stay below", 1, 0, " s", "Less is better"),
)


def quality_pictures(operation: Operation) -> tuple[Drawn, ...]:
    """One picture for each figure of quality that was measured."""
    points = sorted(telling(operation), key=lambda p: (-p.hourly, p.strategy))
    return tuple(made for measure in MEASURES if (made := _quality(operation, points, measure)) is not None)


def _quality(operation: Operation, points: Sequence[OperatingPoint], measure: QualityMeasure) -> Drawn | None:
    rows = []
    for point in points:
        band: Band | None = getattr(point, measure.attribute)
        if band is None:
            continue
        value, half = band.mean * measure.factor, (band.half or 0.0) * measure.factor
        said = f"{value:,.{measure.digits}f}" + (f" ± {half:,.{measure.digits}f}" if half else "") + measure.unit
        ends = max(value - half, 0.0), min(value + half, 100.0) if measure.unit == "%" else value + half
        rows.append(BarRow(_called(point, operation), said, value, *ends, _kind(point, operation)))
    if not rows:
        return None
    kept = measure.attribute == "kept_qos"
    level = operation.qos_target * measure.factor if kept else None
    drawn = Bars(rows, level, f"target {operation.qos_target:.0%}" if kept else "")
    return bar_picture(measure.title, drawn, f"{measure.meaning}.")


def front_picture(operation: Operation) -> Drawn:
    """Dollars against kept quality of every point that was simulated."""
    front = sorted((p for p in operation.points if p.on_front), key=lambda p: p.hourly)
    chosen = operation.chosen
    said = (
        f"{len(operation.points)} simulated points. Chosen: {chosen.strategy} with {chosen.reserve} reserved, "
        f"{format_money(chosen.monthly)} a month, {chosen.kept_qos.mean:.1%} of jobs keep their performance. "
        "Pareto-optimal (nothing is both cheaper and better): "
        + "; ".join(f"{_short(p)} {format_money(p.monthly)} {p.kept_qos.mean:.1%}" for p in front)
        + "."
    )
    caption = (
        "Each dot is a strategy with a number of reserved servers; lines join the dots of one strategy. Up and to the"
        " left is better; the dashed line joins the Pareto-optimal dots. Bars through the dots of the front: 95%"
        " intervals. A triangle at the lower edge lies below what is shown."
    )
    return Drawn("Dollars and kept performance", lambda width: _front(operation, width), said, caption)


def _short(point: OperatingPoint) -> str:
    return f"{point.strategy} {point.reserve:,}"


def _spot(point: OperatingPoint) -> Point:
    return float(point.monthly), 100 * point.kept_qos.mean


def _front(operation: Operation, width: int) -> Canvas:
    canvas = Canvas(width, HEIGHTS[width] + 60)
    frame = _field(canvas, operation, width)
    canvas.line(
        frame.at(frame.x.low, 100 * operation.qos_target), frame.at(frame.x.high, 100 * operation.qos_target), "p-limit"
    )
    canvas.text(
        (frame.right, frame.up(100 * operation.qos_target) + 15),
        f"target {operation.qos_target:.0%}",
        "p-n p-halo",
        "end",
    )
    if operation.budget is not None:
        budget = float(operation.budget)
        canvas.line(frame.at(budget, frame.y.low), frame.at(budget, frame.y.high), "p-limit")
        canvas.text((frame.across(budget) - 5, frame.bottom - 8), f"budget {dollars(budget)}", "p-n p-halo", "end")
    for strategy in sorted({p.strategy for p in operation.points}):
        trail = sorted((p for p in operation.points if p.strategy == strategy), key=lambda p: p.reserve)
        canvas.path([frame.at(*_spot(p)) for p in trail], "p-trail")
    front = sorted((p for p in operation.points if p.on_front), key=lambda p: p.hourly)
    canvas.path([frame.at(*_spot(p)) for p in front], "p-front")
    for point in sorted(operation.points, key=lambda p: not p.verdict):
        _dot(frame, point)
    _name(frame, operation)
    return canvas


def _field(canvas: Canvas, operation: Operation, width: int) -> Frame:
    """The axes around all points, with the target and the budget inside."""
    money = [float(p.monthly) for p in operation.points]
    money += [] if operation.budget is None else [float(operation.budget)]
    margin = 0.08 * (max(money) - min(money) or max(money))
    low = _lowest(operation)
    across = axis("dollars a month", (min(money) - margin, max(money) + margin), 6 if width == WIDE else 4, dollars)
    return framed(
        canvas, across, axis("jobs that keep 95% of their performance, %", (low, 100.6), 6, lambda v: f"{v:g}")
    )


def _lowest(operation: Operation) -> float:
    """Where the upright axis begins: below the target and what comes near it."""
    floor = 100 - FAR * (100 - 100 * operation.qos_target)
    kept = [100 * operation.qos_target, *(100 * p.kept_qos.low for p in operation.points)]
    near = min((k for k in kept if k >= floor), default=floor)
    return max(near - 0.2 * (100 - near) - 0.5, 0.0)


def _dot(frame: Frame, point: OperatingPoint) -> None:
    """A point with its intervals in both directions."""
    x, y = _spot(point)
    if y < frame.y.low:
        left, base = frame.across(x), frame.bottom - 2
        frame.canvas.path([(left - 6, base - 9), (left + 6, base - 9), (left, base)], "p-other", closed=True)
        return
    half, band = float((point.hourly_half or 0) * HOURS_PER_MONTH), 100 * (point.kept_qos.half or 0.0)
    if not point.verdict or point.on_front:
        frame.canvas.line(frame.at(x - half, y), frame.at(x + half, y), "p-whisker")
        frame.canvas.line(frame.at(x, y - band), frame.at(x, min(y + band, 100.0)), "p-whisker")
    kind = "p-best" if not point.verdict else "p-reserve" if point.on_front else "p-other"
    frame.canvas.dot(frame.at(x, y), 7 if not point.verdict else 4, kind)


def _name(frame: Frame, operation: Operation) -> None:
    """Names of the telling points, each where it lies on no other point or name, the chosen one first."""
    taken = [(*_placed(frame, p), 8.0) for p in operation.points]
    for point in telling(operation):
        said = _short(point) + ("" if point.verdict else ": chosen")
        x, y = _placed(frame, point)
        if _spot(point)[1] < frame.y.low:
            said += f", {point.kept_qos.mean:.0%}"
        wide = text_width(said)
        beyond = x - 10 - wide
        places = (
            (x + 10, y + 4),
            (x + 10, y + 16),
            (x + 10, y - 8),
            (beyond, y + 4),
            (beyond, y - 8),
            (beyond, y + 18),
        )
        inside = [
            p for p in places if p[0] > frame.corner[0] and p[0] + wide < frame.canvas.width and p[1] < frame.bottom
        ]
        best = min(inside or places, key=lambda p: _crowded(p, wide, taken))
        frame.canvas.text(best, said, "p-t p-halo" if point.verdict else "p-b p-halo")
        taken += [(best[0] + part * wide / 4, best[1] - 4, 8.0) for part in range(5)]


def _placed(frame: Frame, point: OperatingPoint) -> Point:
    """Where a point is drawn: one far below the target at the lower edge."""
    x, y = frame.at(*_spot(point))
    return x, min(y, frame.bottom - 10)


def _crowded(place: Point, wide: float, taken: Sequence[tuple[float, float, float]]) -> int:
    """How many things a label at a place would lie on."""
    left, base = place
    return sum(left - r < x < left + wide + r and base - NEAR - r / 2 < y < base + r / 2 for x, y, r in taken)
