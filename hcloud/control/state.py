"""What the controller knows, as tables of records: servers, who runs where, the queue, and what it has learnt."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from hcloud.control.waiting import (
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
from hcloud.policy.placing.placement import RESOURCES
from hcloud.policy.quality import QualityWindow
from hcloud.policy.records import Bytes, Ints, Reals, Small, Table, Tiny
from hcloud.policy.rules import Rules
from hcloud.policy.waiting.queueing import Drift, Waits

DEAD, STARTING, UP, CLOSED = range(4)
"""Of a server; one that is closed runs its jobs and gets no others."""
BARRED = 4
"""Added to the status of a server that a piece of a job sits on, while servers are chosen for others of its pieces."""
OWN, RENTED, INTERRUPTIBLE = range(3)
"""How a server is paid for: reserved, on demand, spot."""
FREE, TO_RESERVE, TO_RENT = range(3)
"""Where a job that is decided on for a second time has to go: anywhere, or as it went before."""

GRAINS = 16
SHELF = GRAINS + 1
"""Servers of a pool stand on shelves by their free vCPUs, in sixteenths of a server of the large type."""
BANDS = 64
"""Servers are told apart by so many bands of free vCPUs, or of pressure, where a job of a short time chooses."""
POINTS = 1 << 14
"""Points of a ring that servers lie on by a hash (Paragon §3.3)."""
FOLLOWED = 64
"""Jobs that went elsewhere and are followed at a time."""
MOST_QUEUES = 16
"""Servers that a job waits at, at most."""
FREED = 16
"""Servers remembered that a job left since somebody looked for those who are followed."""
FULL_SPEED = 10_000
"""The speed of the fastest type for a job."""
RELEASES = 128
"""Releases of units that are remembered."""


class RentableKind:
    """What can be rented: thousandths of a vCPU, MiB, expected seconds to start, the quality (0..9999) that is assumed
    before the first sample, and until when it is not launched because a launch of it failed: on demand (``shut``) and
    as spot capacity; how many are ``reserved``; whether it is rented ``whole``, for jobs that share it."""

    cores: int
    memory: int
    spin_up: float
    prior: int
    shut: float
    spot_shut: float
    reserved: int
    whole: int


class Job:
    """What is known of a job and where it is.

    It asks for ``ask`` thousandths of a vCPU and ``memory`` MiB, presses by ``vector`` and ``tolerates`` so much
    from others, needs the quality whose encoding is ``high`` and ``low``; ``kind`` is the on-demand type the
    strategy would rent for it (-1: none), ``restartable`` says that it may go to spot capacity, ``coin`` is uniform
    in 0..1, ``movable`` says that it may move while it runs, ``again`` that it may begin anew where its machine is
    lost. It runs on ``server`` (-1: none) with ``cores``; ``next`` and ``before`` link the tenants of a server,
    ``behind`` the queue. It ``asked`` for a place then, and had to wait for a ``cause``: ``counted`` seconds (or
    points) of that are counted, to within a ``band`` of waits that ends at ``band_end``; its time passes at a
    ``pace``; the reserve ``opened`` to it after so long (-1: not yet), also where it went elsewhere. It was
    ``promised`` to wait no longer than that, and ``foretold`` a mean where what is counted says ``usually`` (-1:
    nothing, or it has been judged). It has been on its server since it was ``seated``. ``platform`` is its row of
    the speeds of types, ``tried`` when it last fitted nowhere (one more than the desk's ``vacated``, 0: never),
    ``ticket`` that of its entries in the queues of servers (0: none), of which it is ``waiting`` in so many; the
    ``agent`` that decided on it (-1: none). It is ``held`` back with that ticket (0: not), ``until`` then, and is
    to be for ``usual`` seconds. It is ``expected`` to run for so many seconds (-1: nobody knows), and
    may wait for its ``slack`` without missing what it was promised; ``urgent`` jobs come first. It is of a class
    (``rank``) and in a ``line`` (plus one, 0: none), which it ``leaves`` for the one below then; at ``due`` it is
    looked after, ``hurried`` is 1 when its window is nearly over. A piece of a job of several servers knows the
    ``piece_after`` and the ``piece_before`` it (rows plus one, in a ring; 0: on its own), whether it ``stands`` in the
    queue for all, and the server ``chosen`` for it (-1)."""

    seated: float
    cores: int
    memory: int
    ask: int
    server: int
    high: int
    low: int
    kind: int
    restartable: Tiny
    coin: float
    movable: Tiny
    again: Tiny
    vector: Annotated[Bytes, RESOURCES]
    tolerates: Annotated[Bytes, RESOURCES]
    next: Small
    before: Small
    platform: Small
    piece_after: Small
    behind: Small
    moves: Small
    enlarged: Tiny
    asked: float
    cause: Small
    band: Small
    band_end: float
    counted: float
    opened: float
    pace: float
    promised: float
    foretold: float
    usually: float
    tried: int
    ticket: int
    waiting: Small
    agent: Small
    held: int
    until: float
    usual: float
    expected: float
    slack: float
    urgent: int
    rank: Small
    line: Small
    leaves: float
    due: float
    hurried: Tiny
    piece_before: Small
    stands: Tiny
    chosen: Small


class Server:
    """An instance. ``used`` and ``pressure`` are sums over its tenants, ``room`` the least of what they bear; ``high``
    and ``low`` the last quality sample (-1: none); ``shelf``, ``block``, ``before`` and ``after`` say where it is
    listed, ``worth`` by what a search may pass it over, ``place`` its place on its roster; ``deadline`` is when an idle
    one goes (-1: not idle); ``serial`` numbers the instances ever obtained. It has so many free ``units`` in a
    ``bucket`` (plus one, 0: counted nowhere). By its ``level`` of quality it stands between two others (``better`` and
    ``worse``, each plus one, 0: none), in the ``pool`` of a class (plus one, 0: none)."""

    status: int
    paid: int
    kind: int
    used: int
    memory: int
    tenants: int
    first: int
    high: int
    low: int
    shelf: int
    block: int
    before: int
    after: int
    worth: int
    place: int
    serial: int
    spin_up: float
    deadline: float
    bucket: int
    units: int
    level: int
    pool: int
    better: int
    worse: int
    pressure: Annotated[Ints, RESOURCES]
    room: Annotated[Ints, RESOURCES]


class Shelf:
    """A list of ``length`` servers: its first and last block, -1 where it is empty."""

    head: int
    tail: int
    length: int


class ShelfBlock:
    """A stretch of a shelf: its ``first`` and ``last`` of ``length`` servers, the blocks ``before`` and ``after`` it
    (-1: none), and what none of its servers has more of: ``worth``, MiB free, thousandths of a vCPU free."""

    first: int
    last: int
    length: int
    before: int
    after: int
    worth: int
    memory: int
    cores: int


class ServerCandidate:
    """A server that was looked at for a job, and what it is ranked by: the ``harm`` that would be done, the ``speed``
    of its type for the job (of 10,000), and two halves of a number of which less is better; ``taken`` is 1 where
    another took it in the meantime."""

    server: int
    harm: int
    speed: int
    high: int
    low: int
    taken: int


class AuditedChoice:
    """A choice that was ranked: ``better`` of the ``among`` units with room came before the one that was taken,
    ``alike`` were as it, and so many ``candidates`` were to be drawn (0: all were looked at). ``value`` is where its
    quality lay between the worst (0) and the best (1) of them."""

    better: int
    alike: int
    among: int
    candidates: int
    value: float


class Desk:
    """The rest: reserved servers (``own``), thousandths of their vCPUs (``pool``), of the ``narrowest`` server that is
    shared and ``used`` of them, the queue, the next free slot, block and serial number, commands not yet read, the
    queued job known to fit nowhere (plus one), the queue's length a period ago, the jobs followed elsewhere and the
    servers ``freed`` since the reserve was looked at for them, when those who wait were ``counted``, mappings that had
    no quality sample, whether a table was too short, the soft limit, when the queue last held a job, when a job first
    and last came, mean seconds between jobs; how many jobs ``left`` the reserve, after how many seconds (``stayed``).

    For the search by rank: how often a server was ``vacated`` by a job or came, how often was searched, how many
    servers were looked at (``looks``), how many have room (``fitting``), how many the last search ``found`` as
    candidates, how many choices were ``audited``. Who decides (-1: with full knowledge), when, with a copy of the
    servers of which age, how often all that it chose was ``refused`` before, and whether it ``lost`` all to others just
    now; how many changes of room were noted, how often a candidate was taken by another in the meantime
    (``conflicts``), how many that are best effort came (``lenders``), and all of a sample (``resampled``); for how many
    ``pieces`` a sample is drawn (0: for one job), how many candidates were ``drawn_anew`` for pieces; how many were
    ``proposed`` for the job that is decided on; how often units were ``released``, of how many reserved ``platforms``;
    how many tickets were given to jobs that wait at servers, and the next free entry there. Then the state of the draws
    and the ``salt`` of those by hash, how many servers each roster lists, those that were ``asked`` before a job waits
    there, by how many points each condition of a filter is relaxed, and which resource it is about; and servers with
    room by bands of what is free on them, and of the pressure on them.

    For classes: the pool that is searched (``within``, plus one, 0: all), whether a place where somebody would suffer
    is none there (``strict``), how many jobs were noted as the mix, the vCPUs that stand in pools, and when somebody
    who waits is to be looked after (``wake``).
    """

    own: int
    pool: int
    narrowest: int
    used: int
    queued: int
    head: int
    tail: int
    free: int
    block: int
    serial: int
    commands: int
    blocked: int
    queued_before: int
    followed: int
    freed: int
    cold_starts: int
    overflow: int
    soft: float
    counted: float
    last_queued: float
    first_arrival: float
    last_arrival: float
    mean_gap: float
    left: float
    stayed: float
    freed_servers: Annotated[Ints, FREED]
    vacated: int
    searches: int
    looks: int
    fitting: int
    found: int
    changes: int
    conflicts: int
    lenders: int
    resampled: int
    pieces: int
    drawn_anew: int
    proposed: int
    released: int
    platforms: int
    tickets: int
    free_entry: int
    agent: int
    now: float
    copy_age: float
    refused: int
    lost: int
    audited: int
    first_stream: int
    second_stream: int
    salt: int
    listed: Annotated[Ints, 2]
    asked: Annotated[Ints, MOST_QUEUES]
    centre: Annotated[Reals, RESOURCES]
    centred: int
    scratch: Annotated[Ints, RESOURCES]
    relaxed: Annotated[Ints, 2 * RESOURCES]
    resource: Annotated[Ints, 2 * RESOURCES]
    by_free: Annotated[Ints, BANDS]
    by_pressure: Annotated[Ints, BANDS]
    within: int
    strict: int
    mixed: int
    pooled: int
    wake: float
    turn: int
    backtracked: int


class Command:
    """What the driver is to do: a code of :mod:`hcloud.policy.codes`, about which job and server, decided by which
    action for which reason with which margin (or until when)."""

    what: int
    job: int
    server: int
    action: int
    reason: int
    margin: float


class BoundJob:
    """Where a job that is decided on for a second time goes: ``FREE``, ``TO_RESERVE`` or ``TO_RENT``."""

    where: Tiny


class Control(NamedTuple):
    """All that a decision of the controller rests on, and the commands it gives; jobs ``followed`` elsewhere; what
    is noted of classes, those of pools first, and known of them (``book``: one row); jobs that are ``watched``, or
    ``bound`` (empty: none); ``speeds`` [row of jobs, type] are relative to the fastest type, of 10,000."""

    rules: Rules
    kinds: Table[RentableKind]
    windows: Table[QualityWindow]
    waits: Table[Waits]
    drifts: Table[Drift]
    followed: Table[Job]
    jobs: Table[Job]
    servers: Table[Server]
    shelves: Table[Shelf]
    blocks: Table[ShelfBlock]
    rosters: Table[RosterRow]
    candidates: Table[ServerCandidate]
    audits: Table[AuditedChoice]
    changes: Table[RoomChange]
    local: Table[LocalEntry]
    buckets: Table[UnitBucket]
    releases: Table[UnitRelease]
    lines: Table[JobLine]
    notes: Table[ClassNote]
    book: Table[ClassBook]
    watched: Table[WatchedJob]
    ring: Table[RingPoint]
    ringed: Table[RingedServer]
    speeds: Ints
    bound: Table[BoundJob]
    desk: Desk
    commands: Table[Command]
