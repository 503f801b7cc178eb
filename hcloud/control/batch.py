"""Many events of a journal at once: arrivals and completions of jobs, and the control periods between them.

A compiled kernel that is called from plain Python once an event spends most of its time on the call. Here the loop over
the events is compiled, too. It does what :class:`hcloud.control.sessions.session.ControlSession` does for each of them,
and stops before an event that takes more: any other kind, one that cannot be, a retention that ends, tables too short.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from hcloud.control.controller import arrive, leave, tick
from hcloud.control.mapped import utilisation
from hcloud.control.servers.tenancy import runs_jobs
from hcloud.control.state import Control, Job
from hcloud.model.running.event import HIGHEST
from hcloud.policy.codes import RETAIN, TURN_AWAY
from hcloud.policy.placing.placement import RESOURCES
from hcloud.policy.quality import leading
from hcloud.policy.records import Ints, Table

OTHER, CAME, ENDED = range(3)
"""What a :class:`BatchEvent` is: one that a batch stops before, an arrival, a completion."""
_ANY = 1
"""Length of an array in an annotation that stands for any."""


class BatchEvent:
    """An arrival or a completion: ``who`` is the number of the job's name, ``row`` the row that a job which came got.
    The rest is what an arrival tells of it, and how a completed one ran."""

    what: int
    at: float
    who: int
    row: int
    ask: int
    memory: int
    high: int
    low: int
    kind: int
    restartable: int
    coin: float
    movable: int
    again: int
    vector: Annotated[Ints, RESOURCES]
    platform: int
    performance: float


class BatchCommand:
    """A command with what stood around it: when it was given, utilisation and soft limit before, ``who`` it is about
    (-1: nobody, or a job that no event of the batch names, of that ``row``), what is known of that job; the type of its
    server and how that is paid for."""

    at: float
    utilisation: float
    soft: float
    who: int
    row: int
    slot: int
    what: int
    action: int
    reason: int
    margin: float
    needed: int
    ask: int
    memory: int
    coin: float
    kind: int
    measured: int
    type: int
    paid: int


class BatchState:
    """Where a batch is: the event that comes ``next`` of those until ``end``, the time, the last control period, the
    next retention that ends, rows of jobs in use or ``vacant``, and commands ``told``."""

    next: int
    end: int
    now: float
    control: float
    deadline: float
    longest_gap: float
    rows: int
    vacant: int
    told: int


class Batch(NamedTuple):
    """Events, the commands that they brought, and where it is; the row of each name (-1: not here), the name of each
    row (-1: none of the batch), and the rows that are free."""

    state: BatchState
    events: Table[BatchEvent]
    told: Table[BatchCommand]
    row_of: Annotated[Ints, _ANY]
    names: Annotated[Ints, _ANY]
    vacant: Annotated[Ints, _ANY]


def follow_events(c: Control, b: Batch) -> None:
    """Handle events until the ``end``, or until one that takes more."""
    s = b.state
    while s.next < s.end and _is_followed(c, b, b.events[s.next]):
        s.now = b.events[s.next].at
        s.next += 1


def _is_followed(c: Control, b: Batch, event: BatchEvent) -> bool:
    """Whether the event was handled; the control periods before it may have passed though it was not."""
    s = b.state
    if event.what == OTHER or not s.now <= event.at <= s.now + s.longest_gap:
        return False
    comes = event.what == CAME
    if comes != (b.row_of[event.who] < 0) or not (_pass_periods(c, b, event.at, comes) and _has_room(c, b)):
        return False
    row = _new_row(c, b, event) if comes else b.row_of[event.who]
    if row < 0 or (not comes and (c.jobs[row].server < 0 or not runs_jobs(c.servers[c.jobs[row].server]))):
        return False
    used, soft = utilisation(c), c.desk.soft
    if comes:
        arrive(c, row, event.at)
        _note(c, b, event.at, used, soft)
    else:
        leave(c, row, event.performance, event.at)
        _note(c, b, event.at, used, soft)
        _forget(c, b, row)
    return True


def _new_row(c: Control, b: Batch, event: BatchEvent) -> int:
    """A row for a job that came, filled as :meth:`hcloud.control.tables.ControlTables.add` does it; -1 where the table
    is full."""
    s = b.state
    row = b.vacant[s.vacant - 1] if s.vacant > 0 else s.rows
    if row >= len(c.jobs):
        return -1
    if s.vacant > 0:
        s.vacant -= 1
    else:
        s.rows += 1
    event.row = row
    b.names[row] = event.who
    b.row_of[event.who] = row
    _take_in(c.jobs[row], event)
    return row


def _pass_periods(c: Control, b: Batch, at: float, comes: bool) -> bool:
    """Whether all that is due before an event has passed: a completion comes before what is due at its time, an arrival
    after it."""
    s = b.state
    while True:
        due = s.control + c.rules.period
        first = min(due, s.deadline)
        if first > at or (first == at and not comes):
            return True
        if s.deadline <= due or not _has_room(c, b):
            return False
        s.now = due
        s.control = due
        used, soft = utilisation(c), c.desk.soft
        tick(c, due)
        _note(c, b, due, used, soft)


def _has_room(c: Control, b: Batch) -> bool:
    """Whether there is room for whatever one event may bring: at worst every queued job and one more go to new
    instances."""
    most = 2 * c.desk.queued + 16
    return (
        c.desk.free + c.desk.queued + 2 <= len(c.servers)
        and most <= len(c.commands)
        and b.state.told + most <= len(b.told)
    )


def _take_in(job: Job, event: BatchEvent) -> None:
    """All that is known of a job when it comes."""
    job.ask, job.memory, job.high, job.low = event.ask, event.memory, event.high, event.low
    job.kind, job.restartable, job.coin = event.kind, event.restartable, event.coin
    job.movable, job.again = event.movable, event.again
    for i in range(RESOURCES):
        job.vector[i] = event.vector[i]
        job.tolerates[i] = HIGHEST - event.vector[i]
    job.server, job.cores, job.next, job.before, job.behind = -1, 0, -1, -1, -1
    job.moves, job.enlarged, job.asked = 0, 0, event.at
    job.cause, job.band, job.band_end, job.counted, job.opened = 0, 0, 0.0, 0.0, -1.0
    job.pace, job.seated = 1.0, 0.0
    job.promised, job.foretold, job.usually = -1.0, -1.0, -1.0
    job.platform, job.tried, job.ticket, job.waiting = event.platform, 0, 0, 0
    job.expected, job.slack, job.urgent = -1.0, -1.0, 0
    job.rank, job.line, job.leaves, job.due, job.hurried = 0, 0, 0.0, 0.0, 0
    job.piece_after, job.piece_before, job.stands, job.chosen = 0, 0, 0, -1


def _note(c: Control, b: Batch, at: float, used: float, soft: float) -> None:
    """Take the commands that the controller left."""
    s = b.state
    for number in range(c.desk.commands):
        given, noted = c.commands[number], b.told[s.told]
        s.told += 1
        noted.at, noted.utilisation, noted.soft = at, used, soft
        noted.row, noted.slot, noted.what = given.job, given.server, given.what
        noted.action, noted.reason, noted.margin = given.action, given.reason, given.margin
        noted.who, noted.needed, noted.ask, noted.memory, noted.coin, noted.kind, noted.measured = (
            -1,
            0,
            0,
            0,
            0.0,
            -1,
            0,
        )
        if given.job >= 0:
            job = c.jobs[given.job]
            noted.who = b.names[given.job]
            noted.needed, noted.ask, noted.memory = leading(job.high), job.ask, job.memory
            noted.coin, noted.kind = job.coin, job.kind
            noted.measured = 1 if job.kind >= 0 and c.windows[job.kind].length > 0 else 0
        if given.server >= 0:
            noted.type, noted.paid = c.servers[given.server].kind, c.servers[given.server].paid
        if given.what == RETAIN:
            s.deadline = min(s.deadline, given.margin)
        if given.what == TURN_AWAY:
            _forget(c, b, given.job)
            s.end = s.next  # whoever has the names is told of it first
    c.desk.commands = 0


def _forget(c: Control, b: Batch, row: int) -> None:
    """A job ended: its row is free, and the controller's note on the head of the queue does not mean the next."""
    if c.desk.blocked == row + 1:
        c.desk.blocked = 0
    if b.names[row] >= 0:
        b.row_of[b.names[row]] = -1
    b.vacant[b.state.vacant] = row
    b.state.vacant += 1
