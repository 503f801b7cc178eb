"""Pictures of compared strategies: quality, cost, the front, instances over time, and how busy the reserve was."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hcloud.sim.outcomes.comparison import RESERVED, ComparedStrategy, StrategyComparison, dollars_per_hour, kept_qos
from hcloud.sim.outcomes.measure import WEEKS_A_TERM
from hcloud.views.pictures import save_picture, styled

if TYPE_CHECKING:
    import altair as alt

_WIDTH, _HEIGHT = 270, 220
_STRATEGY_COLOURS = ("#2f6f9f", "#e08a2e", "#b0302f", "#5a9e5a", "#9a6fb0", "#8c8c8c", "#3a3a3a")
_MOST_SERVERS = 100
_WEEKS = (1, 2, 4, 8, 13, 20, 26, 30, 35, 40, 45, 52, 53, 60, 70, 80, 90, 104, 105, 130, 156)
Values = list[dict[str, Any]]


def save_pictures(comparison: StrategyComparison, path: Path) -> None:
    """Six panels in one picture, as PNG, SVG or HTML by the suffix."""
    save_picture(picture_of(comparison), path, _name(comparison))


def picture_of(comparison: StrategyComparison) -> alt.TopLevelMixin:
    """The picture as an Altair chart."""
    return styled(_panels(comparison, _name(comparison)))


def _name(comparison: StrategyComparison) -> str:
    """The workload's name without what could close the script that holds a page's data."""
    return comparison.workload.rpartition("/")[2].replace("<", "‹").replace(">", "›")


def _panels(comparison: StrategyComparison, name: str) -> alt.VConcatChart:
    import altair as alt

    seeds = len(comparison.seeds)
    first = alt.hconcat(_boxes(comparison), _tails(comparison), _front(comparison)).resolve_scale(color="independent")
    second = alt.hconcat(_costs(comparison), _durations(comparison), _qos(comparison)).resolve_scale(
        color="independent"
    )
    third = alt.hconcat(*(_allocation(c) for c in comparison.strategies)).resolve_scale(color="shared", y="shared")
    rows = [first, second, third]
    pooled = [c for c in comparison.strategies if c.first.timeline.reserved]
    if pooled:
        rows.append(alt.hconcat(*(_heat(c) for c in pooled)).resolve_scale(color="shared"))
    subtitle = f"{comparison.jobs:,} jobs · cloud {comparison.cloud} · {seeds} seeds"
    made: alt.VConcatChart = (
        alt.vconcat(*rows)
        .resolve_scale(color="independent")
        .properties(title=alt.TitleParams(name, subtitle=subtitle, fontSize=17, offset=14))
    )
    return made


def _chart(values: Values) -> Any:
    import altair as alt

    return alt.Chart(alt.InlineData(values=values))


def _names(comparison: StrategyComparison) -> list[str]:
    return [c.name for c in comparison.strategies]


def _colour(comparison: StrategyComparison) -> Any:
    import altair as alt

    names = _names(comparison)
    colours = [_STRATEGY_COLOURS[i % len(_STRATEGY_COLOURS)] for i in range(len(names))]
    return alt.Color("strategy:N", scale=alt.Scale(domain=names, range=colours), legend=None)


def _boxes(comparison: StrategyComparison) -> Any:
    values = [_spread(c, c.first.measures.service.batch, 100) for c in comparison.strategies]
    return _box_panel(comparison, values, ("batch jobs: performance", "% of isolation", "linear"))


def _tails(comparison: StrategyComparison) -> Any:
    values = [_spread(c, c.first.measures.service.tail, 1) for c in comparison.strategies]
    return _box_panel(comparison, values, ("services: tail latency", "times isolation", "log"))


def _spread(compared: ComparedStrategy, spread: Any, factor: float) -> dict[str, Any]:
    levels = ("mean", "p5", "p25", "p50", "p75", "p95")
    figures = {level: getattr(spread, level) * factor for level in levels} if spread.count else {}
    return {"strategy": compared.name, **figures}


def _box_panel(comparison: StrategyComparison, values: Values, words: tuple[str, str, str]) -> Any:
    import altair as alt

    title, unit, scale = words
    kind: Literal["linear", "log"] = "log" if scale == "log" else "linear"
    x = alt.X("strategy:N", sort=_names(comparison), title=None, axis=alt.Axis(labelAngle=0))
    usable = [v for v in values if "mean" in v]
    base = _chart(usable).encode(x=x)
    axis = alt.Y("p5:Q", title=unit, scale=alt.Scale(type=kind, zero=False))
    whiskers = base.mark_rule(color="#555").encode(y=axis, y2="p95:Q")
    boxes = base.mark_bar(size=26).encode(y=alt.Y("p25:Q", title=unit), y2="p75:Q", color=_colour(comparison))
    middle = base.mark_tick(color="#111", size=26, thickness=1.5).encode(y="p50:Q")
    mean = base.mark_point(color="#111", filled=True, shape="diamond", size=45, opacity=1).encode(y="mean:Q")
    words_below = "box 25-75%, whiskers 5-95%, diamond: mean; first seed"
    return (whiskers + boxes + middle + mean).properties(
        width=_WIDTH, height=_HEIGHT, title=alt.TitleParams(title, subtitle=words_below)
    )


def _front(comparison: StrategyComparison) -> Any:
    import altair as alt

    values: Values = []
    for c in comparison.strategies:
        cost, kept = c.interval(dollars_per_hour), c.interval(kept_qos)
        values.append({"strategy": c.name, "cost": cost.mean, "kept": 100 * kept.mean, "front": c.on_front})
    x = alt.X("cost:Q", title="$ an hour of work", scale=alt.Scale(zero=False, padding=24))
    y = alt.Y("kept:Q", title="% of jobs that kept 95% of performance", scale=alt.Scale(zero=False, padding=18))
    line = _chart([v for v in values if v["front"]]).mark_line(color="#bbb", strokeDash=[4, 3])
    base = _chart(values)
    points = base.mark_point(filled=True, size=110, opacity=1).encode(x=x, y=y, color=_colour(comparison))
    places = ((-12, values[::2]), (15, values[1::2]))  # in turn above and below, as neighbours lie close together
    labels = [_chart(some).mark_text(dy=dy, fontSize=11).encode(x=x, y=y, text="strategy:N") for dy, some in places]
    return (line.encode(x=x, y=y, order="cost:Q") + points + labels[0] + labels[1]).properties(
        width=_WIDTH,
        height=_HEIGHT,
        title=alt.TitleParams("cost and quality", subtitle="dashed: no other is better in both"),
    )


def _costs(comparison: StrategyComparison) -> Any:
    import altair as alt

    values: Values = []
    for c in comparison.strategies:
        hours = c.first.measures.cost.ideal_hours or 1.0
        for part, amount in (("reserved", c.first.measures.cost.reserved), ("rented", c.first.measures.cost.rented)):
            values.append({"strategy": c.name, "part": part, "dollars": float(amount) / hours})
    x = alt.X("strategy:N", sort=_names(comparison), title=None, axis=alt.Axis(labelAngle=0))
    colours = alt.Scale(domain=["reserved", "rented"], range=["#2f6f9f", "#e08a2e"])
    legend = alt.Legend(title=None, orient="bottom", direction="horizontal")
    return (
        _chart(values)
        .mark_bar(size=30)
        .encode(
            x=x,
            y=alt.Y("dollars:Q", title="$ an hour of work"),
            color=alt.Color("part:N", scale=colours, legend=legend),
        )
        .properties(
            width=_WIDTH, height=_HEIGHT, title=alt.TitleParams("cost", subtitle="reserve amortised over its term")
        )
    )


def _durations(comparison: StrategyComparison) -> Any:
    import altair as alt

    values: Values = [
        {"strategy": c.name, "weeks": weeks, "dollars": float(c.first.measures.cost.over_weeks(weeks))}
        for c in comparison.strategies
        for weeks in _WEEKS
    ]
    colour = _colour(comparison)
    colour.legend = alt.Legend(title=None, orient="bottom", direction="horizontal")
    term = _chart([{"weeks": WEEKS_A_TERM}]).mark_rule(color="#999", strokeDash=[2, 2]).encode(x="weeks:Q")
    lines = (
        _chart(values)
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("weeks:Q", title="weeks of the same load", scale=alt.Scale(type="log", nice=False)),
            y=alt.Y("dollars:Q", title="$ in all", axis=alt.Axis(format="~s"), scale=alt.Scale(type="log")),
            color=colour,
        )
    )
    return (lines + term).properties(
        width=_WIDTH,
        height=_HEIGHT,
        title=alt.TitleParams("cost against duration", subtitle="terms prepaid, begin anew after 52 weeks"),
    )


def _qos(comparison: StrategyComparison) -> Any:
    import altair as alt

    values: Values = []
    for c in comparison.strategies:
        kept = c.interval(kept_qos)
        half = 0.0 if kept.half != kept.half else kept.half
        values.append(
            {
                "strategy": c.name,
                "kept": 100 * kept.mean,
                "low": 100 * (kept.mean - half),
                "high": 100 * (kept.mean + half),
            }
        )
    x = alt.X("strategy:N", sort=_names(comparison), title=None, axis=alt.Axis(labelAngle=0))
    base = _chart(values).encode(x=x)
    bars = base.mark_bar(size=30).encode(y=alt.Y("kept:Q", title="% of jobs"), color=_colour(comparison))
    halves = base.mark_rule(color="#111").encode(y="low:Q", y2="high:Q")
    return (bars + halves).properties(
        width=_WIDTH,
        height=_HEIGHT,
        title=alt.TitleParams("jobs that kept 95%", subtitle="95% interval over the seeds"),
    )


def _allocation(compared: ComparedStrategy) -> Any:
    import altair as alt

    timeline = compared.first.timeline
    values: Values = []
    for at, seconds in enumerate(timeline.times.tolist()):
        hours = seconds / 3600
        values.append({"hours": hours, "type": RESERVED, "count": timeline.reserved * timeline.vcpus[RESERVED]})
        values += [
            {"hours": hours, "type": name, "count": float(counts[at]) * timeline.vcpus[name]}
            for name, counts in timeline.rented.items()
        ]
    legend = alt.Legend(title=None, orient="bottom", columns=6)
    return (
        _chart(values)
        .mark_area(interpolate="step-after")
        .encode(
            x=alt.X("hours:Q", title="hours"),
            y=alt.Y("count:Q", title="vCPUs", stack="zero"),
            color=alt.Color("type:N", scale=alt.Scale(scheme="tableau20"), legend=legend),
        )
        .properties(width=_WIDTH * 3 // 5 - 6, height=150, title=f"{compared.name}: capacity")
    )


def _heat(compared: ComparedStrategy) -> Any:
    import altair as alt

    timeline = compared.first.timeline
    servers = timeline.heat.shape[1]
    step = -(-servers // _MOST_SERVERS)
    span = timeline.times.tolist()
    width = span[1] - span[0] if len(span) > 1 else 1.0
    values: Values = [
        {
            "from": t / 3600,
            "to": (t + width) / 3600,
            "server": server,
            "top": server + step,
            "use": round(float(use), 3),
        }
        for at, t in list(enumerate(span))[::2]
        for server, use in zip(range(0, servers, step), timeline.heat[at, ::step].tolist(), strict=True)
    ]
    for value in values:
        value["to"] += width / 3600
    return (
        _chart(values)
        .mark_rect()
        .encode(
            x=alt.X("from:Q", title="hours", axis=alt.Axis(tickCount=5)),
            x2="to:Q",
            y=alt.Y("server:Q", title="reserved server", scale=alt.Scale(domain=[0, servers], nice=False)),
            y2="top:Q",
            color=alt.Color(
                "use:Q",
                scale=alt.Scale(scheme="blues", domain=[0, 1]),
                legend=alt.Legend(title="vCPUs in use", format="%"),
            ),
        )
        .properties(width=_WIDTH, height=150, title=f"{compared.name}: use of the reserve")
    )
