"""A task that lags is begun a second time, on another server; a service gets another server beside those it has."""

from __future__ import annotations

from hcloud.control.controller import decide_on
from hcloud.control.pieces import bar_servers, is_piece, link
from hcloud.control.state import BARRED, Control
from hcloud.control.waits.lines import AT_ONCE


def arrive_as_copy(c: Control, number: int, of: int, now: float) -> None:
    """A copy of a running job came: it is placed as any job, at once and not on that one's servers. That of a service
    is one server more of it."""
    c.jobs[number].slack = AT_ONCE
    bar_servers(c, of, BARRED)
    decide_on(c, number, now)
    bar_servers(c, of, -BARRED)
    if not is_piece(c.jobs[of]) and c.jobs[number].server >= 0:
        link(c, number, of)
