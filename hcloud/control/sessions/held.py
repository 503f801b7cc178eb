"""Jobs that are held back in a live controller, by when that ends."""

from __future__ import annotations

import math
from heapq import heappop, heappush

from hcloud.control.tables import ControlTables


class HeldJobs:
    """Rows of jobs with the end of their bounds; one may have begun by then, or be over."""

    def __init__(self) -> None:
        self._rows: list[tuple[float, int, int]] = []

    def hold(self, tables: ControlTables, row: int, until: float) -> None:
        """A job is held back until then."""
        heappush(self._rows, (until, int(tables.held[row]), row))

    @property
    def due(self) -> float:
        """When the next bound ends."""
        return self._rows[0][0] if self._rows else math.inf

    def next(self) -> int:
        """The row of that job, which is then forgotten."""
        return heappop(self._rows)[2]

    def adopt(self, tables: ControlTables) -> None:
        """Hold whom the tables say is held back."""
        held, until = tables.held, tables.until
        rows = tables.rows.values()
        self._rows = sorted((float(until[row]), int(held[row]), row) for row in rows if held[row])
