"""A workload in figures and as a curve, the verdict on files, and both as JSON documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.text import Text

from hcloud.model.workload import Provenance, Summary, Workload, WorkloadVerdict, odd_times
from hcloud.units import counted, format_duration, format_span
from hcloud.views.charts import Layer, ReferenceLine, SeriesChart, figure, terminal_legend, terminal_series
from hcloud.views.console import Terminal, plain_of
from hcloud.views.tables import Figures
from hcloud.views.workloads.window import window_line

FIXED = "fixed"
"""The key of a modelled column whose rule cannot be changed."""


def show_summary(summary: Summary, terminal: Terminal) -> None:
    """Figures, what was done to the rows, and the demand as a curve."""
    terminal.show(Text(summary.provenance.name, style="bold"), "")
    terminal.show(plain_of(summary_figures(summary), ("value",)), "")
    for table in treatment(summary.provenance):
        terminal.show(plain_of(table, ("reason", "rule")), "")
    for said in filter(None, (summary.outlier, odd_times(summary.span_seconds))):
        terminal.warn(said)
    chart, width = chart_of(summary), terminal.out.width
    terminal.show(Text(terminal_legend(chart, width)))
    terminal.show(*(Text(line, style="cyan", no_wrap=True) for line in terminal_series(chart, width)))


def summary_figures(summary: Summary) -> Figures:
    """What a workload is in figures."""
    of = summary.provenance
    rows = [("format", of.format), ("rows read", f"{of.rows:,}")]
    if of.machines:
        rows.append(("machines", f"{of.machines:,}, added up"))
    if summary.kinds:
        counts = ", ".join(_of_kind(kind, count) for kind, count in summary.kinds.items())
        rows.append(("jobs", f"{summary.entries:,} ({counts})"))
        rows.append(("mean duration", format_span(summary.mean_duration_seconds)))
    else:
        rows.append(("steps", f"{summary.entries:,}"))
    rows += [
        ("span", format_span(summary.span_seconds)),
        ("window", window_line(summary.window)),
        ("vCPUs", _peaks(summary)),
        ("batch part", f"{summary.batch_share:.1%} of the vCPU-hours"),
        ("vCPU-hours", figure(summary.core_hours)),
        ("memory", f"{figure(summary.mean_memory_gib)} GiB mean"),
    ]
    if summary.gpus:
        rows.append(("GPUs asked for", figure(summary.gpus)))
    return Figures(("figure", "value"), [*rows, ("digest", of.digest)])


def _peaks(summary: Summary) -> str:
    """Mean and peak as a plan tells them, with the step they are means of, and the most at one moment."""
    step = format_duration(summary.counted.step_seconds)
    said = f"{figure(summary.mean_cores)} mean, {figure(summary.peak_cores)} peak (means of {step})"
    return said + (f"; {figure(summary.peak_at_once)} at one moment" if summary.kinds else "")


def treatment(of: Provenance) -> Iterator[Figures]:
    """What was done to the rows, and which columns were modelled."""
    counts = (("repaired", of.repaired), ("left out", of.left_out))
    if rows := [(what, f"{count:,}", reason) for what, found in counts for reason, count in found.items()]:
        yield Figures(("rows", "count", "reason"), rows, frozenset({1}))
    if rules := [(m.column, m.rule, m.key) for m in of.modelled]:
        yield Figures(("modelled", "rule", "key"), rules)


def chart_of(summary: Summary) -> SeriesChart:
    """The demand as a chart: batch below, services on top, a line at the mean."""
    demand = summary.demand
    batch = demand.batch_cores.tolist()
    services = (demand.cores - demand.batch_cores).clip(min=0.0).tolist()
    layers = [Layer("batch", batch), Layer("services", services)]
    kept = tuple(layer for layer in layers if any(layer.values)) or (layers[0],)
    return SeriesChart(
        title=f"Demand of {Path(summary.provenance.name).name}",
        subtitle=f"mean {figure(summary.mean_cores)}, peak {figure(summary.peak_at_once)} vCPUs at one moment",
        unit="vCPUs in use",
        start=demand.start,
        step_seconds=demand.step_seconds,
        layers=kept,
        levels=(ReferenceLine(f"mean {figure(summary.mean_cores)}", summary.mean_cores),),
    )


def show_verdicts(verdicts: Sequence[WorkloadVerdict], terminal: Terminal) -> None:
    """One unwrapped line a file that can be used; the problems of the others with line and column."""
    for verdict in verdicts:
        if verdict.workload is not None:
            terminal.say(f"ok    {verdict.name}: {_in_short(verdict.workload)}")
        elif verdict.error is not None:
            first, *more = verdict.error.lines()
            terminal.say(f"bad   {first}")
            for line in more:
                terminal.say(line)
            if verdict.error.hint:
                terminal.say(f"      hint: {verdict.error.hint}")


def _in_short(workload: Workload) -> str:
    of = workload.provenance
    parts = [of.format, counted(of.rows, "row")]
    if of.repaired:
        parts.append(f"{sum(of.repaired.values()):,} repaired")
    if of.left_out:
        parts.append(f"{sum(of.left_out.values()):,} left out")
    if not of.modelled:
        return ", ".join(parts)
    columns = ", ".join(dict.fromkeys(column.column for column in of.modelled))
    keys = ", ".join(dict.fromkeys(column.key for column in of.modelled if column.key != FIXED))
    return f"{', '.join(parts)}; modelled: {columns}" + (f" (keys {keys})" if keys else "")


def _of_kind(kind: str, count: int) -> str:
    return counted(count, kind, "batch" if kind == "batch" else "")
