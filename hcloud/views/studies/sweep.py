"""A sweep as a table with intervals over seeds, as CSV and JSON, and drawn: cost and performance against a key."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from rich.text import Text

from hcloud.sim.outcomes.comparison import Cell, Sweep
from hcloud.sim.outcomes.interval import ENDS_THERE, Interval
from hcloud.sim.setup.grid import SweepGrid
from hcloud.units import counted
from hcloud.views.console import Terminal
from hcloud.views.escaped import Written, csv_document
from hcloud.views.page.drawn import Drawn
from hcloud.views.page.panels import WIDTH, Panel, PanelGroup, SeriesMark, panels
from hcloud.views.tables import Figures

SHOWN_ROWS = 60
COLUMNS = {
    "cost_per_hour": "$/h",
    "performance_mean": "performance",
    "performance_p5": "performance p5",
    "tail_p95": "tail p95",
    "kept_qos": "kept QoS",
}
"""The figures of the table and their headers; CSV and JSON hold them all."""
DOLLARS = {"dollars": "$"}
_SHARES = frozenset({"performance_mean", "performance_p5", "kept_qos"})
_MOST_FACETS = 6
_LOG_FROM = 50  # ours: values that span such a factor are drawn on a logarithmic axis


def show_sweep(sweep: Sweep, terminal: Terminal, limit: int = SHOWN_ROWS) -> None:
    """The table, cut where it is long, with what the figures mean below it."""
    columns = {**(DOLLARS if "duration_weeks" in sweep.grid.keys else {}), **COLUMNS}
    heads = ("strategy", *sweep.grid.keys)
    rows = [
        (cell.strategy, *(cell.changes[k] for k in sweep.grid.keys), *(_interval(cell.figures[c]) for c in columns))
        for cell in sweep.cells[:limit]
    ]
    numbers = frozenset(range(len(heads), len(heads) + len(columns)))
    terminal.show(sweep.place, "", Figures((*_short(heads), *columns.values()), rows, numbers))
    terminal.show("", Text(_legend(sweep), style="dim"))
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
    spread = f"mean ± half of the 95% interval over {seeds} seeds" if seeds > 1 else "one seed"
    shown = [(found, _most(name)) for cell in sweep.cells for name in COLUMNS if (found := cell.figures[name])]
    spread += f"; {ENDS_THERE}" if any(found.is_cut(most, _places(found)) for found, most in shown) else ""
    return (
        f"{spread}. performance: batch jobs, isolation = 1, waiting included; performance p5: 95% of batch"
        " jobs reach at least this; tail p95: services, times isolation; $/h: dollars per hour of work, with the"
        " reserve amortised"
    )


def _most(name: str) -> float:
    """The most that a figure can be."""
    return 1.0 if name in _SHARES else math.inf


def _places(interval: Interval) -> int:
    """How many digits of a figure are shown behind the point."""
    size = abs(interval.mean)
    return 3 if size < 1 or math.isnan(size) else max(2 - math.floor(math.log10(size)), 0)


def _interval(interval: Interval | None) -> str:
    if interval is None:
        return "-"
    mean, half = (f"{value:,.{_places(interval)}f}" for value in (interval.mean, interval.half))
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


def sweep_picture(sweep: Sweep) -> Drawn:
    """Cost above, performance below, against the first key; a line a strategy, a column a value of the second key.

    Further keys stay at their first value, and so does the second beyond six values; the picture says so.
    """
    keys, cells = sweep.grid.keys, _drawn(sweep)
    cost = ("dollars", "dollars") if "duration_weeks" in keys else ("cost_per_hour", "dollars an hour")
    tail = all(c.figures["performance_p5"] is None for c in cells)
    performance = ("tail_p95", "tail latency, p95") if tail else ("performance_p5", "what 95% of batch jobs reach")
    groups = [PanelGroup(list(_panels(sweep.grid, cells, *one)), columns=_MOST_FACETS) for one in (cost, performance)]
    title = f"{sweep.workload.rpartition('/')[2]}: {' × '.join(keys[:2])}"
    said = f"{cost[1]} and {performance[1]} of {', '.join(sweep.grid.strategies)}; {_about(sweep)}"
    return Drawn(
        title, lambda width: panels(groups, width, _about(sweep)), f"{title}: {said}.", f"{sweep.place}.", WIDTH
    )


def _drawn(sweep: Sweep) -> Sequence[Cell]:
    """The cells of the picture: further keys at their first value."""
    fixed = {axis[0].key: axis[0].label for axis in sweep.grid.axes[2:]}
    return [cell for cell in sweep.cells if all(cell.changes[k] == v for k, v in fixed.items())]


def _about(sweep: Sweep) -> str:
    axes, seeds = sweep.grid.axes, len(sweep.grid.seeds)
    said = [f"{counted(seeds, 'seed')}{'; bars and bands are 95% intervals' if seeds > 1 else ''}"]
    said += [f"{axis[0].key} = {axis[0].label}" for axis in axes[2:]]
    if len(axes) > 1 and len(axes[1]) > _MOST_FACETS:
        said.append(f"the first {_MOST_FACETS} of {len(axes[1])} values of {axes[1][0].key}")
    return "; ".join(said)


def _panels(grid: SweepGrid, cells: Sequence[Cell], name: str, title: str) -> Iterator[Panel]:
    """A figure against the first key, for each value of the second."""
    first, second = grid.axes[0], grid.axes[1][:_MOST_FACETS] if len(grid.axes) > 1 else (None,)
    numeric = all(isinstance(c.value, int | float) and not isinstance(c.value, bool) for c in first)
    places = {c.label: float(str(c.value)) if numeric else float(at) for at, c in enumerate(first)}
    low, high = min(places.values()), max(places.values())
    log = "x" if numeric and low > 0 and high / low >= _LOG_FROM else ""
    names = () if numeric else tuple(places)
    whole = all(isinstance(c.value, int) for c in first)
    for facet in second:
        marks = []
        for cell in cells:
            interval = cell.figures[name]
            if interval is not None and (facet is None or cell.changes[facet.key] == facet.label):
                values = (interval.mean, *interval.ends(_most(name)))
                marks.append(SeriesMark(cell.strategy, places[cell.changes[grid.keys[0]]], values))
        above = "" if facet is None else f"{facet.key} = {facet.label}"
        yield Panel(above, "lines", first[0].key, title, marks, log=log, names=names, whole=whole)
