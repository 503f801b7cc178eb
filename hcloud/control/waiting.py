"""What those wait for who the reserve has no room for: units that become free, their turn at a server, or a server of
the pool of their class; and where servers are found without looking at them: rosters, changes of room, rings."""

from __future__ import annotations

from typing import Annotated

from hcloud.policy.adjusting import Watched
from hcloud.policy.placing.placement import RESOURCES
from hcloud.policy.records import Ints, Reals
from hcloud.policy.waiting.busy import GRID
from hcloud.policy.waiting.classes import LEVELS, MOST_CLASSES, POINTS, SERVER_LEVELS

BUSY = 256
"""Times of jobs on servers that are remembered of each pool."""
MIXED = 1024
"""Jobs that are remembered as the mix, after those."""


class UnitBucket:
    """The ``free`` units of the reserve that are alike. Where a hash says so: how many servers were ``seen`` in it, up
    to some, and the mean ``quality`` of their units (0..9999)."""

    free: int
    seen: int
    quality: float


class UnitRelease:
    """That ``units`` of a ``bucket`` became free, and when. ``gap`` is no part of it: there the intervals of one
    estimate are sorted."""

    at: float
    bucket: int
    units: int
    gap: float


class LocalEntry:
    """A job in the queue of a server, void where the job has another ticket by now; the entry ``after`` it (plus one,
    0: none), in those that are free the next free one."""

    job: int
    ticket: int
    after: int


class JobLine:
    """The queue of a class and its pool of servers: the first and the last job (-1: none) and how many there are;
    the ``share`` of vCPUs that its pool is to have; the pool's first and last server (each
    plus one, 0: none), thousandths of their vCPUs, how many they are, how often they ``changed``; how many times of
    jobs there were ``seen``, the logarithm of their ``survival`` up to an ``until``; and room for the chances of a free
    server over a window. Then what is counted: jobs that took a server of the pool above, that went to the queue below,
    and that left at the end of their window."""

    head: int
    tail: int
    queued: int
    share: float
    first: int
    last: int
    cores: int
    servers: int
    changed: int
    seen: int
    until: float
    survival: Annotated[Reals, GRID + 1]
    chance: Annotated[Reals, POINTS + 1]
    ups: int
    downs: int
    lates: int


class WatchedJob(Watched):
    """What is remembered of a job that is watched: its adjustments, what sizing would give it now (``sized``), when it
    ``came``, when it was last ``asked`` to make room, and whether it is best effort, which yields to others
    (``spare``). A service has so many servers ``beside`` the first, each a row of its own: the ``last`` of them (plus
    one, 0: none), which knows the one ``ahead`` of it and the first (``of``; both likewise). It is ``to_add`` so much
    on another one, or ``to_drop`` that row (likewise; 0: neither), which whoever runs it does."""

    sized: int
    came: float
    asked: float
    spare: int
    beside: int
    last: int
    ahead: int
    of: int
    to_add: int
    to_drop: int


class ClassNote:
    """What is remembered for classes, when: that a job had a server of a pool for an ``amount`` of seconds, or that one
    came which is of a ``level`` of quality and asks for an ``amount`` of vCPU-seconds."""

    at: float
    amount: float
    level: int


class ClassBook:
    """What is known of all classes: the level at which each begins (``edges``), the first and the last reserved server
    of each quality (each plus one, 0: none); and room to count levels and to sort times."""

    edges: Annotated[Reals, MOST_CLASSES]
    first: Annotated[Ints, SERVER_LEVELS]
    last: Annotated[Ints, SERVER_LEVELS]
    counts: Annotated[Ints, LEVELS]
    spans: Annotated[Reals, BUSY]


class RosterRow:
    """The servers at one place of the rosters, of the reserved ones and of the rented ones that jobs share: slot, type
    and thousandths of a vCPU in use, so that a look at one that is full reads no more than this. For the server of that
    slot besides: its last change (plus one, 0: none) and when that was ``noted``, and the first and last entry of its
    own queue (alike). ``fits`` is the list of a search: the place of the next server with room; it ``holds`` so many
    conditions."""

    server: Annotated[Ints, 2]
    kind: Annotated[Ints, 2]
    used: Annotated[Ints, 2]
    fits: int
    holds: int
    changed: int
    noted: float
    head: int
    tail: int


class RoomChange:
    """That more (or less) of a ``server`` came into use: how many thousandths of a vCPU and MiB, when, by which agent;
    its ``number`` among all changes, and the one ``before`` of the same server (plus one, 0: none)."""

    server: int
    number: int
    before: int
    agent: int
    cores: int
    memory: int
    at: float


class RingPoint:
    """A point of the rings that servers lie on by a hash of what they tolerate, a ring for each roster and resource:
    the ``first`` server there (plus one, 0: none), and how many there are on the ``arc`` of points that begins here."""

    first: Annotated[Ints, 2 * RESOURCES]
    arc: Annotated[Ints, 2 * RESOURCES]


class RingedServer:
    """Where a server lies on the rings of its ``roster`` (plus one, 0: on none): at which point of each, between which
    other servers there (plus one, 0: none)."""

    roster: int
    at: Annotated[Ints, RESOURCES]
    before: Annotated[Ints, RESOURCES]
    after: Annotated[Ints, RESOURCES]
