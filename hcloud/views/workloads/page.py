"""A workload as a page: demand as a picture, its figures, and what was done to its rows."""

from __future__ import annotations

from hcloud.model.workload import Summary
from hcloud.units import counted
from hcloud.views.charts import figure, series_picture
from hcloud.views.page.parts import KeyFigure, Page, PageSection
from hcloud.views.workloads.workload import chart_of, summary_figures, treatment


def workload_page(summary: Summary) -> Page:
    """The page of a workload."""
    of = summary.provenance
    lead = (f"{counted(of.rows, 'row')} read as {of.format}.",)
    key = (
        KeyFigure("mean", f"{figure(summary.mean_cores)} vCPUs"),
        KeyFigure("peak", f"{figure(summary.peak_cores)} vCPUs"),
        KeyFigure("in all", f"{figure(summary.core_hours)} core-hours"),
    )
    sections = (
        PageSection("Demand", figures=(series_picture(chart_of(summary)).figure(),)),
        PageSection("Figures", tables=(summary_figures(summary),)),
        *([PageSection("What was done to it", tables=tables)] if (tables := tuple(treatment(of))) else []),
    )
    return Page(of.name, lead, sections, key)
