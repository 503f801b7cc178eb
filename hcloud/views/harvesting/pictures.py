"""Pictures of idle capacity: the grid of tenants with what of each cell lies on reserved, on-demand and spot machines,
and a week of a pool with what services use, what batch would have had of the idle part, and the reserve."""

from __future__ import annotations

from hcloud.harvest.outcomes import ReplicaStudy
from hcloud.harvest.results import HarvestPlan
from hcloud.units import counted
from hcloud.views.harvesting.replicas import row_name
from hcloud.views.page.drawn import Drawn
from hcloud.views.page.panels import WIDTH, Panel, PanelGroup, SeriesMark, panels

SERVICES, BATCH, IDLE, RESERVE = "services", "batch", "idle", "reserve"
SPACE, TITLE = "space", "The grid of tenants"


def grid_drawn(found: ReplicaStudy) -> Drawn:
    """A panel a row of the grid, a bar a column."""
    side = 1 + max(cell.column for cell in found.grid)
    markets = [m for m in found.grid[0].by_market if any(cell.by_market[m] > 0 for cell in found.grid)]
    names = ("least", *(str(at + 1) for at in range(1, side - 1)), "most")
    rows = []
    for at in range(side):
        cells = [cell for cell in found.grid if cell.row == at]
        marks = [
            SeriesMark(name, float(cell.column), (100 * (cell.by_market[name] if markets else cell.space),))
            for name in markets or [SPACE]
            for cell in cells
        ]
        rows.append(Panel(row_name(at, side), "stacked", "reimaged", "% of the space", marks, names=names))
    said = (
        f"{found.tenants:,} tenants: panels by the peak of their use, bars by how often they are reimaged; the copies"
        " of a block share neither."
    )
    group = PanelGroup(rows, columns=side)
    return Drawn(TITLE, lambda width: panels([group], width, said), f"{TITLE}. {said}", "", WIDTH)


def week_of(found: HarvestPlan) -> Drawn:
    """The picture of a week."""
    week = found.week
    parts = {SERVICES: week.services, BATCH: week.carried, IDLE: week.idle}
    parts[RESERVE] = week.paid - week.services - week.carried - week.idle
    marks = [
        SeriesMark(name, (week.hour + hour) / 24, (max(float(vcpus), 0.0),))
        for name, row in parts.items()
        for hour, vcpus in enumerate(row)
    ]
    days = len(week.services) // 24
    title = f"{counted(days, 'day')} of a pool"
    services, batch = (row.mean() / week.paid for row in (week.services, week.carried))
    said = f"{week.paid:,.0f} vCPUs paid for: {services:.0%} used by services, {batch:.0%} by batch"
    panel = Panel("", "areas", "days (the first begins at 0, UTC)", "vCPUs", marks)
    group = PanelGroup((panel,), columns=1)
    return Drawn(title, lambda width: panels([group], width, said), f"{title}. {said}.", "", WIDTH)
