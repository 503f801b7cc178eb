"""A week of a pool: what services use, what batch would have had of the idle part, and the reserve."""

from __future__ import annotations

from pathlib import Path

from hcloud.harvest.results import HarvestPlan
from hcloud.views.page.drawn import Drawn
from hcloud.views.page.panels import WIDTH, Panel, PanelGroup, SeriesMark, panels
from hcloud.views.pictures import save_drawn

SERVICES, BATCH, IDLE, RESERVE = "services", "batch", "idle", "reserve"


def save_week(found: HarvestPlan, path: Path) -> None:
    """As PNG, SVG or HTML by the suffix."""
    drawn = week_of(found)
    save_drawn(drawn, path, drawn.title)


def week_of(found: HarvestPlan) -> Drawn:
    """The picture."""
    week = found.week
    parts = {SERVICES: week.services, BATCH: week.carried, IDLE: week.idle}
    parts[RESERVE] = week.paid - week.services - week.carried - week.idle
    marks = [
        SeriesMark(name, float(week.hour + hour), (max(float(vcpus), 0.0),))
        for name, row in parts.items()
        for hour, vcpus in enumerate(row)
    ]
    days = len(week.services) // 24
    title = f"{days} days of a pool"
    services, batch = (row.mean() / week.paid for row in (week.services, week.carried))
    said = f"{week.paid:,.0f} vCPUs paid for: {services:.0%} used by services, {batch:.0%} by batch"
    panel = Panel("", "areas", "hours (the first day begins at 0, UTC)", "vCPUs", marks)
    group = PanelGroup((panel,), columns=1)
    return Drawn(title, lambda width: panels([group], width, said), f"{title}. {said}.", "", WIDTH)
