"""A sweep as a table with intervals over seeds, as CSV and JSON, and drawn: cost and performance against a key."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from hcloud.errors import UsageError
from hcloud.store.files.looked_at import check_place
from hcloud.store.files.whole import write_shown
from hcloud.units import counted
from hcloud.views.console import Terminal
from hcloud.views.escaped import Written, csv_document
from hcloud.views.tables import Figures, fitted

if TYPE_CHECKING:
    import altair as alt

    from hcloud.sim.outcomes.interval import Interval
    from hcloud.sim.outcomes.sweep import Cell, Sweep
    from hcloud.sim.setup.grid import SweepGrid
    from hcloud.sim.setup.variation import ParameterChange

SHOWN_ROWS = 60
COLUMNS = {
    "cost_per_hour": "$/h",
    "performance_mean": "performance",
    "performance_p5": "its p5",
    "tail_p95": "tail p95",
    "kept_qos": "kept QoS",
}
"""The figures of the table and their headers; CSV and JSON hold them all."""
DOLLARS = {"dollars": "$"}
_COLOURS = ("#2f6f9f", "#e08a2e", "#5a9e5a", "#9a6fb0", "#8c8c8c")
_SUFFIXES = (".png", ".svg", ".html")
_WIDEST, _NARROWEST, _HEIGHT = 720, 150, 220
_MOST_FACETS = 6


def show_sweep(sweep: Sweep, terminal: Terminal, limit: int = SHOWN_ROWS) -> None:
    """The table, cut where it is long, with what the figures mean below it."""
    columns = {**(DOLLARS if "duration_weeks" in sweep.grid.keys else {}), **COLUMNS}
    heads = ("strategy", *sweep.grid.keys)
    rows = [
        (cell.strategy, *(cell.changes[k] for k in sweep.grid.keys), *(_interval(cell.figures[c]) for c in columns))
        for cell in sweep.cells[:limit]
    ]
    numbers = frozenset(range(len(heads), len(heads) + len(columns)))
    terminal.show(fitted(Figures((*_short(heads), *columns.values()), rows, numbers), terminal.out.width))
    terminal.show("", Text(_legend(sweep), style="dim"), Text(sweep.place, style="dim"))
    if len(sweep.cells) > limit:
        terminal.note(f"{len(sweep.cells) - limit:,} more rows: --csv FILE or -o json has them all")
    for note in sweep.notes:
        terminal.note(note)


def _short(keys: Sequence[str]) -> Sequence[str]:
    """Key paths by their last part, where that is enough to tell them apart."""
    last = [key.rpartition(".")[2] for key in keys]
    return last if len(set(last)) == len(last) else keys


def _legend(sweep: Sweep) -> str:
    seeds = len(sweep.grid.seeds)
    spread = f"mean ± half of the 95 % interval over {seeds} seeds" if seeds > 1 else "one seed"
    return (
        f"{spread}. performance: of batch jobs, isolation = 1, waiting included; its p5: 19 of 20 batch jobs do at "
        "least so well; tail p95: of services, times isolation; $/h: by hour of work, reserve amortised"
    )


def _interval(interval: Interval | None) -> str:
    if interval is None:
        return "-"
    size = abs(interval.mean)
    places = 3 if size < 1 else max(2 - math.floor(math.log10(size)), 0)
    mean, half = (f"{value:,.{places}f}" for value in (interval.mean, interval.half))
    if math.isnan(interval.half):
        return mean
    return f"{mean} ±{half}" if float(half.replace(",", "")) else mean


def sweep_csv(sweep: Sweep) -> Written:
    """Every cell with mean, half of its interval and count of seeds, in the order of the grid."""
    names = [n for n in sweep.figures if n not in sweep.grid.keys]
    rows = []
    for cell in sweep.cells:
        values = [v for n in names for v in _pair(cell.figures[n])]
        row = [cell.strategy, *(cell.changes[k] for k in sweep.grid.keys), cell.seeds, *values]
        rows.append(["" if value is None else str(value) for value in row])
    return csv_document(["strategy", *sweep.grid.keys, "seeds", *(c for n in names for c in (n, f"{n}_half"))], rows)


def _pair(interval: Interval | None) -> tuple[str, str]:
    if interval is None:
        return "", ""
    return repr(interval.mean), "" if math.isnan(interval.half) else repr(interval.half)


def _known(half: float) -> float | None:
    return None if math.isnan(half) else half


def check_picture(path: Path) -> None:
    """Refuse, before the work is done, a name that no picture can be written to."""
    if path.suffix.lower() not in _SUFFIXES:
        raise UsageError(f"{path}: write to a name that ends in {', '.join(_SUFFIXES)}")
    check_place(path, "a picture", UsageError)


def save_sweep(sweep: Sweep, path: Path) -> None:
    """Draw the sweep as PNG, SVG or self-contained HTML by the suffix."""
    check_picture(path)
    picture = sweep_chart(sweep)
    if path.suffix.lower() == ".html":
        write_shown(path, picture.to_html(inline=True, embed_options={"actions": False}))
    elif path.suffix.lower() == ".png":
        pixels = io.BytesIO()
        picture.save(pixels, format="png", scale_factor=2)
        write_shown(path, pixels.getvalue())
    else:
        drawn = io.StringIO()
        picture.save(drawn, format="svg")
        write_shown(path, drawn.getvalue())


def sweep_chart(sweep: Sweep) -> alt.VConcatChart:
    """Cost above, performance below, against the first key; a line a strategy, a column a value of the second key.

    Further keys stay at their first value, and so does the second beyond six values; the subtitle says so.
    """
    import altair as alt

    keys, cells = sweep.grid.keys, _drawn(sweep)
    cost = "dollars" if "duration_weeks" in keys else "cost_per_hour"
    tail = all(c.figures["performance_p5"] is None for c in cells)
    performance = ("tail_p95", "tail latency, p95") if tail else ("performance_p5", "what 95 % of batch jobs reach")
    panels = [
        _panel(sweep, cells, cost, "dollars" if cost == "dollars" else "dollars an hour"),
        _panel(sweep, cells, *performance),
    ]
    title = alt.TitleParams(
        f"{sweep.workload.rpartition('/')[2]}: {' × '.join(keys[:2])}", subtitle=_subtitle(sweep), anchor="start"
    )
    picture: alt.VConcatChart = (
        alt.vconcat(*panels)
        .properties(title=title)
        .configure_view(stroke=None)
        .configure_axis(grid=True, gridColor="#e6e6e6", domainColor="#888", labelFontSize=12, titleFontSize=12)
        .configure_title(fontSize=16, subtitleFontSize=12, subtitleColor="#555")
    )
    return picture


def _drawn(sweep: Sweep) -> Sequence[Cell]:
    """The cells of the picture: further keys at their first value."""
    fixed = {axis[0].key: axis[0].label for axis in sweep.grid.axes[2:]}
    facets = [c.label for c in sweep.grid.axes[1][:_MOST_FACETS]] if len(sweep.grid.axes) > 1 else []
    return [
        cell
        for cell in sweep.cells
        if all(cell.changes[k] == v for k, v in fixed.items())
        and (not facets or cell.changes[sweep.grid.keys[1]] in facets)
    ]


def _subtitle(sweep: Sweep) -> list[str]:
    axes, seeds = sweep.grid.axes, len(sweep.grid.seeds)
    said = [f"{counted(seeds, 'seed')}{'; bars are 95 % intervals' if seeds > 1 else ''}"]
    said += [f"{axis[0].key} = {axis[0].label}" for axis in axes[2:]]
    if len(axes) > 1 and len(axes[1]) > _MOST_FACETS:
        said.append(f"the first {_MOST_FACETS} of {len(axes[1])} values of {axes[1][0].key}")
    return ["; ".join(said)]


def _panel(sweep: Sweep, cells: Iterable[Cell], name: str, title: str) -> Any:
    import altair as alt

    facets = sweep.grid.axes[1][:_MOST_FACETS] if len(sweep.grid.axes) > 1 else ()
    rows = [_point(cell, interval, sweep.grid) for cell in cells if (interval := cell.figures[name])]
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=_first_key(sweep.grid), color=_colour(sweep.grid))
    y = alt.Y("y:Q", title=title, scale=alt.Scale(zero=True))
    layers = alt.layer(
        base.mark_line(point={"size": 45}, strokeWidth=2).encode(y=y),
        base.mark_rule(strokeWidth=1.5).encode(y=alt.Y("low:Q", title=title), y2="high:Q"),
    ).properties(width=max(_WIDEST // max(len(facets), 1), _NARROWEST), height=_HEIGHT)
    if not facets:
        return layers
    header = alt.Header(labelFontSize=12, title=None)
    return layers.facet(column=alt.Column("facet:N", sort=[_facet(c.key, c.label) for c in facets], header=header))


def _first_key(grid: SweepGrid) -> alt.X:
    import altair as alt

    axis = grid.axes[0]
    if _numeric(axis):
        return alt.X("x:Q", title=axis[0].key, scale=_scale([float(str(c.value)) for c in axis]))
    return alt.X("x:N", title=axis[0].key, sort=[c.label for c in axis], axis=alt.Axis(labelAngle=0))


def _numeric(axis: Sequence[ParameterChange]) -> bool:
    return all(isinstance(c.value, int | float) and not isinstance(c.value, bool) for c in axis)


def _colour(grid: SweepGrid) -> alt.Color:
    import altair as alt

    order = list(grid.strategies)
    colours = [_COLOURS[i % len(_COLOURS)] for i in range(len(order))]
    legend = alt.Legend(title=None, orient="top", direction="horizontal")
    return alt.Color("strategy:N", scale=alt.Scale(domain=order, range=colours), legend=legend)


def _scale(values: Sequence[float]) -> Any:
    """Logarithmic where the values span a factor of fifty or more."""
    import altair as alt

    low, high = min(values), max(values)
    if low > 0 and high / low >= 50:
        return alt.Scale(type="log")
    return alt.Scale(zero=False, nice=True)


def _point(cell: Cell, interval: Interval, grid: SweepGrid) -> dict[str, object]:
    label = cell.changes[grid.keys[0]]
    value = next(c.value for c in grid.axes[0] if c.label == label)
    half = _known(interval.half) or 0.0
    return {
        "x": value if _numeric(grid.axes[0]) else label,
        "y": interval.mean,
        "low": interval.mean - half,
        "high": interval.mean + half,
        "strategy": cell.strategy,
        "facet": _facet(grid.keys[1], cell.changes[grid.keys[1]]) if len(grid.keys) > 1 else "",
    }


def _facet(key: str, label: str) -> str:
    return f"{key} = {label}"
