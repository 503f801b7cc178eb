"""One kernel for all that a live controller is told.

What plain Python calls is compiled together with all that it calls: a kernel for each event would compile the whole
controller a dozen times.
"""

from __future__ import annotations

from typing import Annotated

from hcloud.control.admission import overdue
from hcloud.control.controller import (
    arrive,
    expire,
    interrupt,
    leave,
    open_pool,
    ready,
    reclassify,
    sampled,
    suffer,
    tick,
)
from hcloud.control.losses import cancel, grow, lose, shut
from hcloud.control.searching.candidates import propose
from hcloud.control.state import Control
from hcloud.control.watching.adjusting import adjust
from hcloud.control.watching.copying import arrive_as_copy
from hcloud.policy.codes import SCALE
from hcloud.policy.placing.placement import RESOURCES
from hcloud.policy.records import Ints

(
    OPEN_POOL,
    ARRIVE,
    LEAVE,
    TICK,
    OVERDUE,
    EXPIRE,
    READY,
    SAMPLED,
    SUFFER,
    RECLASSIFY,
    INTERRUPT,
    LOSE,
    CANCEL,
    SHUT,
    GROW,
    PROPOSE,
    COPY,
) = range(17)
"""Of what a controller is told, each named as the kernel that does it."""


def handle(
    c: Control,
    what: int,
    about: tuple[int, int, int],
    figures: tuple[float, float],
    nature: Annotated[Ints, 2 * RESOURCES],
) -> None:
    """Tell a controller ``what`` happened, with at most three numbers, of which the first is a job's row, a server's
    slot or a type; a figure and the time; and what a job is like. What they are, each kernel says."""
    who, (figure, now) = about[0], figures
    if what == ARRIVE:
        arrive(c, who, now)
    elif what == LEAVE:
        leave(c, who, figure, now)
    elif what == TICK:
        tick(c, now)
    elif what == OVERDUE:
        overdue(c, who, now)
    elif what in (SUFFER, COPY):
        _look_after(c, what, about, figures)
    elif what == RECLASSIFY:
        reclassify(c, who, nature, figure, now)
    elif what == CANCEL:
        cancel(c, who, now)
    elif what == PROPOSE:
        propose(c, who)
    else:
        _handle_server(c, what, about, figures)


def _look_after(c: Control, what: int, about: tuple[int, int, int], figures: tuple[float, float]) -> None:
    """A job runs badly, or lags behind the others of which it is one."""
    who, (figure, now) = about[0], figures
    if what == COPY:
        arrive_as_copy(c, who, about[1], now)
    elif c.rules.watching > 0:
        adjust(c, who, (figure, about[1] / SCALE), now)
    else:
        suffer(c, who, figure, now)


def _handle_server(c: Control, what: int, about: tuple[int, int, int], figures: tuple[float, float]) -> None:
    """What happened to a server, or to the pool."""
    who, (figure, now) = about[0], figures
    if what == READY:
        ready(c, who, figure)
    elif what == SAMPLED:
        sampled(c, who, (about[1], about[2]), now)
    elif what == EXPIRE:
        expire(c, who, now)
    elif what == INTERRUPT:
        interrupt(c, who, now)
    elif what == LOSE:
        lose(c, who, about[1], figure, now)
    elif what == SHUT:
        shut(c, who, about[1], now)
    elif what == GROW:
        grow(c, who, about[1], now)
    else:
        open_pool(c, who, about[1])
