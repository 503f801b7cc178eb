"""The simulated world as tables: the cloud's behaviour, what chance holds in store, the jobs, the clock, the record."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from hcloud.control.state import Control
from hcloud.policy.adjusting import Sighting
from hcloud.policy.placing.placement import RESOURCES
from hcloud.policy.records import Bytes, Ints, Reals, Small, Table, Tiny

QUALITY, MEASURED = 18, 19
"""A quality sample, and two entries of a job that were measured anew, which are in the journal only, beside the kinds
of events of :mod:`hcloud.control.ranks`."""

DECIDED, CRASHED, TAKEN_OVER = range(15, 18)
"""An agent has decided on a job, has crashed, another takes over: in no journal. A job's arrival there is the first."""
PHASE, RESUME, SWEEP, STRAGGLERS, PROFILED = range(20, 25)
"""A job is to change, has moved and goes on, some of those that run are measured, the pieces of one are compared, one
has been measured on an empty server: in no journal either."""
KEPT_FREE, CLASSIFIED = 25, 26
"""In the journal only: a server is closed for the sake of a job, or open again; all entries of one were measured, in
two lines."""
REOPENED = 27
"""A server may be open again, as the job that it was closed for is at its target: in no journal."""

RELEASED = 28
"""A job comes that waited for the end of others: in no journal but as its arrival."""

COMMAND = 29
"""What is added to a command's code in a journal."""

RANK = 1 << 40
"""Events of one time are ordered by their rank times this, plus the job's or the instance's number."""

STEPS = 2001
"""Even steps of probability that quantile functions are tabulated at."""


class CloudParameters(NamedTuple):
    """How the cloud behaves: the keys of :data:`hcloud.model.running.cloud.CLOUD_KEYS`, interruptions and losses of a
    machine a second, crashes of an agent a second."""

    mean_load: float
    amplitude: float
    period: float
    resample: float
    batch_sensitivity: float
    worst_slowdown: float
    service_load: float
    service_sensitivity: float
    worst_tail: float
    waiting_tail: float
    interruptions: float
    lost_share: float
    failed_launches: float
    losses: float
    crashes: float


class Behaviour:
    """How instances of one type behave: ``external`` pressure in points at full load of the neighbours, whether that
    load is felt as it fluctuates, and quantile functions of spin-up (s), of the neighbours' spread and of the
    instance's own slowness (factors) at even steps of probability."""

    varies: int
    external: Annotated[Reals, RESOURCES]
    spin_up: Annotated[Reals, STEPS]
    spread: Annotated[Reals, STEPS]
    slowness: Annotated[Reals, STEPS]


class Draw:
    """Chance for one instance by its serial number, uniform in 0..1, each from a stream of its own."""

    spin_up: float
    spread: float
    slowness: float
    phase: float
    interruption: float
    launch: float
    loss: float


class Task:
    """A job as the cloud sees it.

    Given: when it came and is to be decided on (``decided``: then it was), seconds of ``work`` in isolation, 1 for a
    service, thousandths of a vCPU needed, the interference that it truly causes (``vector``) and
    ``tolerates`` (the controller knows estimates), when its
    user cancels it (``cancelled``, -1: never). Run: how many machines it ``lost``, whether it is ``over``, work left,
    when it is ``due`` at its present ``rate`` (work a second; for a service its tail latency relative to isolation),
    since when, seconds ran, tail latency x seconds, vCPU-milliseconds used, when it began and ended (-1: not), seconds
    in the queue of the reserve (-1: never there), and the first decision about it with the instance it ended on. With
    agents: whose it is until it is decided (-1: nobody's), the ``turn`` that tells a decision which is void, until when
    that agent has ``known`` what others did, how often what it chose was ``refused``, and the jobs ``ahead`` and
    ``following`` with that agent (-1: none). Whether it waited at servers (``locally``), and for how long it was
    expected to be ``held`` back (-1: it was not). A piece of several ``awaits`` the others before it begins, and
    ``rests`` when it is done before them.
    """

    left: float
    due: float
    rate: float
    since: float
    ran: float
    tail: float
    usage: float
    need: int
    cores: int
    submit: float
    decide: float
    decided: float
    work: float
    service: Tiny
    cancelled: float
    lost: Small
    over: Tiny
    crashed: Tiny
    began: float
    ended: float
    queued: float
    running: Tiny
    version: Small
    suspect: Tiny
    action: Small
    reason: Small
    paid: Tiny
    kind: Small
    serial: Small
    margin: float
    vector: Annotated[Bytes, RESOURCES]
    tolerates: Annotated[Bytes, RESOURCES]
    agent: Small
    turn: Small
    known: float
    refused: Small
    ahead: Small
    following: Small
    locally: Tiny
    held: float
    awaits: Tiny
    rests: Tiny


class Phase:
    """How a job is from then on when so much of its work is ``left``: thousandths of a vCPU that it needs, what it
    causes (``vector``) and tolerates."""

    left: float
    need: int
    vector: Annotated[Ints, RESOURCES]
    tolerates: Annotated[Ints, RESOURCES]


class TaskWatch(Sighting):
    """A job that has phases, or that somebody watches. Its phases are those from ``next`` up to ``last``; it is to
    change at ``turns`` at the soonest (infinite: not). It could reach a ``rate`` of its target, has used (``using``,
    thousandths of a vCPU) what it needed of what it had ``since`` then, and ``used`` so many of these seconds before;
    it is looked after at ``due`` (infinite: not), was ``looked`` after then, and so many times in ``vain``; it moves
    for ``away`` seconds. A phase of it is ``open`` until somebody finds it: 1, or 2 once the job is below its target
    for it. Its pieces are compared next at ``compare``; a piece has the row of its ``twin`` (plus one, 0: none; a twin
    that of its piece, negative) for a second run, and was ``copied`` (2) or suspected (1) before. A service has the
    rows of its other servers from that of its ``twin`` on; each does its ``part`` of the rate. Its application is one
    of those of which rows are ``known`` (0: none, it is on its own), by which it takes what it was ``told`` to, in
    thousandths of a vCPU, where a size of just what it needs would be ``fit``; and it scales ``out`` by that row of
    :class:`SimulatedWorld`. It is measured on an empty
    server with that serial number (``alone``, plus one, 0: it is not). Its own server is closed to others for its
    sake (``shuts``, likewise; 0: it is not) and has that ``serial`` number."""

    next: int
    last: int
    turns: float
    rate: float
    since: float
    using: float
    used: float
    due: float
    looked: float
    away: float
    open: int
    vain: int
    compare: float
    twin: int
    copied: int
    part: float
    known: int
    told: int
    fit: float
    out: int
    alone: int
    shuts: int
    serial: int


class Stage:
    """A job where some wait for the end of others. It ``waits`` for so many that have not ended; those that wait for it
    stand from ``first`` up to ``last`` in the list of those who do. It comes ``pause`` seconds after those before it.
    It was submitted ``since`` then and is to be decided on when it ``comes``, as the last of them ended. Its time was
    here before (``kept``, 1), so that an event brings it; it never comes, as one of them did not end (``void``, 1).
    ``behind`` is a list of such, for a moment."""

    waits: int
    first: int
    last: int
    pause: float
    since: float
    comes: float
    kept: int
    void: int
    behind: int


class SimulatedAgent:
    """One that decides: when it is ``free``, when it ``copied`` the whole state and ``renews`` that, until when it is
    not ``back`` from a crash, the ``first`` and the ``last`` of the jobs that it has not decided on (-1: none), how
    many numbers of chance were ``drawn`` for it."""

    free: float
    copied: float
    renews: float
    back: float
    first: int
    last: int
    drawn: int


class ServerSlot:
    """The record of a server slot: the instance in it now (``paid`` -1: none), when it was ordered, launched (later,
    where launches of its type had just failed) and ready, how many
    jobs it began, whether nobody suffers on it, when it was last probed and is looked at next, what chance gave it: how
    hard its neighbours press, how slow it is by itself, where their slow wave begins; and how its tenants truly press
    and the least of what they truly bear (units of :mod:`hcloud.policy.placing.placement`). ``stale`` says that one has
    left since, so that those who stay may bear more."""

    ordered: float
    launched: float
    ready: float
    probed: float
    look: float
    spread: float
    slowness: float
    phase: float
    serial: int
    kind: int
    paid: int
    uses: int
    calm: int
    stale: int
    pressure: Annotated[Ints, RESOURCES]
    room: Annotated[Ints, RESOURCES]


class Event:
    """A coming event; ``tag`` tells a stale one."""

    time: float
    rank: int
    tag: int


class SimulatedRental:
    """An instance that was had: type, how paid, why released, number, jobs it began, and its times."""

    kind: int
    paid: int
    reason: int
    serial: int
    uses: int
    launched: float
    ready: float
    released: float


class JournalLine:
    """A line of the journal: an event with its job or server and what was measured, or a command."""

    code: int
    a: int
    b: int
    c: int
    d: int
    time: float
    value: float


class Tally:
    """Counters of a run: seconds of simulated time, pool vCPU-ms integrated over it from ``since`` to ``until`` (the
    window that counts), the last finish, the last control period; jobs running and come;
    rows written; whether a table was too short; how often things happened (``at_once`` of the ``emptied`` instances
    were released, jobs ``reused`` an instance, launches ``failed``, machines were ``lost``, jobs ``ended`` with them or
    were ``cancelled``), how many jobs are ``present``, and for when the controller was last told to look after those
    who wait (``woken``). Of jobs that are watched: how many were ``measured`` anew, ``phases`` that began, those that
    ``hurt``, were ``found`` before they did or ``late``, vectors that were taken to have changed and had not
    (``alarms``), jobs that got less (``shrunk``), best effort that ``yielded``, neighbours that were moved
    (``isolated``), rounds in which some were measured (``sweeps``); and what one was measured to be like (``nature``;
    ``digits`` are its scores, five in each). Pieces that ``lagged`` behind the others of their job, those that were
    begun again (``copies``), second runs that ended first (``overtook``) and the seconds that these ``gained``. Servers
    that services got beside their first (``added``) and gave back (``dropped``). Jobs ``resized`` by what was measured
    of their application, and ones that were measured on an empty server (``apart``)."""

    now: float
    since: float
    until: float
    used_seconds: float
    last_finish: float
    last_control: float
    woken: float
    running: int
    next_job: int
    rentals: int
    lines: int
    samples: int
    events: int
    full: int
    at_once: int
    emptied: int
    enlarged: int
    moved: int
    reused: int
    refused: int
    stopped: int
    failed: int
    lost: int
    ended: int
    cancelled: int
    present: int
    measured: int
    phases: int
    hurt: int
    found: int
    late: int
    alarms: int
    shrunk: int
    yielded: int
    isolated: int
    sweeps: int
    lagged: int
    copies: int
    overtook: int
    gained: float
    added: int
    dropped: int
    resized: int
    apart: int
    shut: int
    scratch: Annotated[Ints, RESOURCES]
    nature: Annotated[Ints, 2 * RESOURCES]
    digits: Annotated[Ints, 4]


class SimulatedWorld(NamedTuple):
    """Everything a run needs; ``speeds`` [row of jobs, type] are relative to the fastest type; ``agents`` are
    those that decide, ``chances`` theirs in 0..1; ``series`` rows are
    [time, reserved vCPUs in use, queue, soft limit, instances by payment and type], ``heat`` [sample, reserved server]
    is the share of a server in use, ``active`` [payment, type]; ``phases`` of jobs, those of a job in order, and
    ``watches``, one for each job where any has phases or is watched. ``written`` [application] is by how much more jobs
    take than its row said, in the mean of those that were measured, and how many these were; ``together`` [row,
    servers] the share of what as many more servers do that they do beside the first; ``errors`` [job, resource] those
    of what is known of jobs once they were measured on empty servers. ``stages`` are the jobs where some wait for the
    end of others (else none), ``followers`` those that wait, by the job that each waits for."""

    control: Control
    cloud: CloudParameters
    behaviours: Table[Behaviour]
    speeds: Reals
    agents: Table[SimulatedAgent]
    chances: Annotated[Reals, 1]
    draws: Table[Draw]
    tasks: Table[Task]
    hosts: Table[ServerSlot]
    events: Table[Event]
    rentals: Table[SimulatedRental]
    lines: Table[JournalLine]
    tally: Tally
    active: Ints
    series: Reals
    heat: Reals
    phases: Table[Phase]
    watches: Table[TaskWatch]
    written: Reals
    together: Reals
    errors: Ints
    stages: Table[Stage]
    followers: Annotated[Ints, 1]
