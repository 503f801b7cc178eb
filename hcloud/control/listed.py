"""Where servers are found without looking at them: rosters, the changes of their room, rings."""

from __future__ import annotations

from typing import Annotated

from hcloud.policy.placing.placement import RESOURCES
from hcloud.policy.records import Ints


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
