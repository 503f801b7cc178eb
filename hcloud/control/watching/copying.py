"""A task that lags is begun a second time, on another server."""

from __future__ import annotations

from hcloud.control.controller import decide_on
from hcloud.control.state import BARRED, Control


def arrive_as_copy(c: Control, number: int, of: int, now: float) -> None:
    """A copy of a running job came: it is placed as any job, but not on that one's server."""
    place = c.jobs[of].server
    c.servers[place].status += BARRED
    decide_on(c, number, now)
    c.servers[place].status -= BARRED
