"""The tables of a controller that has seen nothing yet."""

from __future__ import annotations

import numpy as np

from hcloud.control.servers.pools import rank_server, take_out
from hcloud.control.state import (
    FOLLOWED,
    FULL_SPEED,
    POINTS,
    RELEASES,
    SHELF,
    AuditedChoice,
    BoundJob,
    Command,
    Control,
    Desk,
    Job,
    RentableKind,
    Server,
    ServerCandidate,
    Shelf,
    ShelfBlock,
)
from hcloud.control.waiting import (
    BUSY,
    MIXED,
    ClassBook,
    ClassNote,
    JobLine,
    LocalEntry,
    RingedServer,
    RingPoint,
    RoomChange,
    RosterRow,
    UnitBucket,
    UnitRelease,
    WatchedJob,
)
from hcloud.policy.codes import BY_PROBES
from hcloud.policy.quality import QualityWindow
from hcloud.policy.records import Table, record, table
from hcloud.policy.rules import Rules
from hcloud.policy.waiting.classes import even_edges
from hcloud.policy.waiting.queueing import CAUSES, KINDS, Drift, Waits

CHANGES = 1 << 16
"""Changes of room that are remembered: of the last five seconds where 800 vCPUs run tasks of 100 ms."""
_LONG = 1.0
"""Seconds of a copy's age from which on four times as many are."""
_LATE = 1024
"""Candidates among which a job that has waited long enough chooses, or one of several servers, at most."""
COMMANDS = 4096
"""Commands between two reads that there is room for at first."""


def _changes_kept(rules: Rules) -> int:
    """How many changes of room are remembered: as many as the oldest copy may be without, one where there is none."""
    if rules.agents == 0:
        return 1
    return 4 * CHANGES if min(rules.notice, rules.copy_most) > _LONG else CHANGES


def new_control(
    rules: Rules, kinds: Table[RentableKind], jobs: Table[Job], servers: int, commands: int = COMMANDS
) -> Control:
    """A controller that has seen nothing, with room for so many servers at a time and commands an event; all types are
    as fast for all jobs."""
    count = len(kinds)
    entries = rules.most_candidates if rules.ranking == BY_PROBES else rules.late_queues
    made = Control(
        record(rules),
        kinds,
        table(QualityWindow, count),
        table(Waits, CAUSES),
        table(Drift, KINDS),
        table(Job, FOLLOWED),
        jobs,
        table(Server, servers),
        table(Shelf, 2 * SHELF + count),
        table(ShelfBlock, servers),
        table(RosterRow, servers),
        table(ServerCandidate, max(rules.most_candidates, _LATE if rules.buckets or rules.candidates else 0) + 2),
        table(AuditedChoice, len(jobs) if rules.audit else 0),
        table(RoomChange, _changes_kept(rules)),
        table(LocalEntry, len(jobs) * entries if entries else 1),
        table(UnitBucket, count * rules.buckets),
        table(UnitRelease, RELEASES if rules.buckets else 0),
        table(JobLine, rules.classes + 1 if rules.classes else 0),
        table(ClassNote, BUSY * rules.classes + MIXED if rules.classes else 0),
        table(ClassBook, 1 if rules.classes else 0),
        table(WatchedJob, len(jobs) if rules.watching else 0),
        table(RingPoint, POINTS if rules.hash_draw else 1),
        table(RingedServer, servers if rules.hash_draw else 1),
        np.full((1, count), FULL_SPEED, np.int64),
        table(BoundJob, 0),
        table(Desk, 1)[0],
        table(Command, commands),
    )
    for shelf in range(2 * SHELF + count):
        made.shelves[shelf].head = made.shelves[shelf].tail = -1
    made.desk.soft, made.desk.last_arrival = rules.soft, -1.0
    made.desk.head = made.desk.tail = -1
    made.desk.narrowest, kinds[rules.large].whole = kinds[rules.large].cores, 1
    made.desk.agent = -1
    made.desk.wake = np.inf
    for one in range(len(made.lines)):
        line = made.lines[one]
        line.head = line.tail = -1
        line.share = 1.0 / rules.classes
    if rules.classes:
        even_edges(made.book[0].edges, rules.classes)
    return made


def rank_by_type(c: Control) -> None:
    """Rank the servers of a reserve that was just opened: empty ones tolerate alike, so those of larger types come
    first, in whatever order the types were listed."""
    numbers = range(int(c.desk.own) if c.rules.classes else 0)
    ranked = sorted(numbers, key=lambda number: -int(c.servers[number].kind))
    if ranked == list(numbers):
        return
    for change in (take_out, rank_server):
        for number in ranked:
            change(c, number)
