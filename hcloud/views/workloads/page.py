"""A workload, or a bill, as a page: demand as a picture, figures, and what was done to its rows."""

from __future__ import annotations

from hcloud.model.bill_figures import BillFigures
from hcloud.model.workload import Summary
from hcloud.units import counted, format_money
from hcloud.views.charts import figure, series_picture
from hcloud.views.page.parts import KeyFigure, Page, PageSection
from hcloud.views.workloads import bills
from hcloud.views.workloads.workload import chart_of, summary_figures, treatment


def workload_page(summary: Summary) -> Page:
    """The page of a workload."""
    of = summary.provenance
    lead = (f"{counted(of.rows, 'row')} read as {of.format}.",)
    key = (
        KeyFigure("mean", f"{figure(summary.mean_cores)} vCPUs"),
        KeyFigure("peak", f"{figure(summary.peak_cores)} vCPUs"),
        KeyFigure("in all", f"{figure(summary.core_hours)} vCPU-hours"),
    )
    sections = (
        PageSection("Demand", figures=(series_picture(chart_of(summary)).figure(),)),
        PageSection("Figures", tables=(summary_figures(summary),)),
        *([PageSection("Repairs", tables=tables)] if (tables := tuple(treatment(of))) else []),
    )
    return Page(of.name, lead, sections, key)


def bill_page(figures: BillFigures) -> Page:
    """The page of a bill."""
    bill = figures.bill
    lead = (f"{format_money(bill.total, 2)} in {counted(bill.rows, 'row')}, read as {bill.format}.",)
    drawn = (series_picture(bills.chart_of(bill)).figure(),) if bill.usage else ()
    sections = (
        PageSection("What it holds", tables=tuple(bills.bill_tables(figures))),
        *([PageSection("What ran", figures=drawn)] if drawn else []),
        PageSection("Figures", tables=(bills.bill_figures(figures), *bills.treatment(bill))),
    )
    return Page(bill.name, lead, sections)
