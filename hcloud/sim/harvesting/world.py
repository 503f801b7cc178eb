"""The tables of a run: servers with what their services use, jobs with their tasks, and what became of both."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Small = npt.NDArray[np.int32]
Reals = npt.NDArray[np.float64]
Single = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]

NEVER = -1.0
LEVELS = 100
"""Steps in which the load of servers is counted."""

(
    SERVICES, RESERVE, IDLE, OCCUPIED, SLOWED,
    USEFUL, WASTED, RENTED,
) = range(8)  # fmt: skip
"""Places of the ledger, thousandths of a vCPU times seconds. By server: what services got, reserve and idle capacity
that nobody used, what containers occupied, and what services wanted and did not get. By task: what finished, what was
killed, and what began on machines on demand."""
BROKEN, LONGEST, SHORT_TICKS, KILLED, MOVED, NEXT_JOB, ACTIVE, WAITING, ON_DEMAND, ASIDE, ANY_BROKEN = range(11)
"""Places of the tally. Server-ticks in which the reserve was broken by containers, the most of one server in a row and
those in which its service was slowed; tasks killed; jobs that moved on demand; the next job to come, jobs that are
active, tasks that wait, tasks on demand, servers that are set aside for a while, and ticks with a broken reserve."""


class IdleRules(NamedTuple):
    """What a system does. With ``guards`` 1 it knows of services, keeps the reserve and kills for it; with ``chooses``
    1 jobs are put on classes; with ``balances`` 1 containers go where most is free; with ``leaves`` 1 a job that no
    class has room for moves at once, else it may have any server. ``tick`` and ``step`` are seconds of a tick and of
    the use of services; ``look`` ticks pass between two looks at who has slipped too far.

    A job of at most ``short`` seconds is short, above ``long`` long. After ``kills`` kills of one of its tasks (0:
    never), or where it slips too far (``slips`` 1), the rest of a job moves on demand, which takes ``spin_up`` seconds
    and slows it down by ``slowdown``. No container is smaller than ``least_cores`` and ``least_memory``.
    """

    guards: int
    chooses: int
    balances: int
    leaves: int
    tick: int
    step: int
    look: int
    short: float
    long: float
    kills: int
    slips: int
    spin_up: float
    slowdown: float
    least_cores: int
    least_memory: int


class Hosts(NamedTuple):
    """A row a server, those of a class together (class c has ``class_first[c]`` to ``class_first[c + 1]``): its size,
    its reserve, its tenant; what containers hold, how many there are, and for how many ticks in a row they have broken
    the reserve. ``use`` has a row a tenant and a column a step. Containers are in the order in which they began: the
    (job, vertex) row of each, the seconds left, how often its task was killed before, the tick of its begin.

    ``load`` counts server-ticks by how busy the service was of what containers left it, and of all."""

    cores: Ints
    memory: Ints
    kept: Ints
    kept_memory: Ints
    tenant: Ints
    class_first: Ints
    use: Single
    held: Ints
    held_memory: Ints
    many: Ints
    broken: Ints
    row: Small
    left: Reals
    kills: Small
    begun: Small
    weight: Ints
    tree: Ints
    aside: Ints
    load: Ints


class DagWork(NamedTuple):
    """Of each vertex of all DAGs its task, how many there are, how many vertices it waits for, the longest chain of
    seconds from its begin on, and those that wait for it. Of each DAG what it needs at most at once, the largest
    container, its longest chain, and how long it took last (below 0: not known).

    Of each job when it comes, its DAG, its (job, vertex) rows; its length, its classes and how many they are (below 0:
    it has not come), vertices not done, when it ended, since when it may run on demand, tasks killed and on demand. Of
    each row tasks not begun by how often they were killed, tasks not done, and vertices that it still waits for.
    """

    seconds: Reals
    cores: Ints
    memory: Ints
    tasks: Ints
    needs: Ints
    chain: Reals
    after_first: Ints
    after: Ints
    dag_needed: Ints
    dag_cores: Ints
    dag_memory: Ints
    dag_chain: Reals
    last: Reals
    submit: Reals
    dag: Ints
    first_row: Ints
    length: Ints
    labels: Ints
    label: Flags
    open_rows: Ints
    ended: Reals
    latest: Reals
    moves: Reals
    killed: Ints
    moved: Ints
    row_job: Ints
    row_vertex: Ints
    waiting: Ints
    undone: Ints
    blocked: Ints
    active: Ints
    rented_row: Ints
    rented_end: Reals


class IdleWorld(NamedTuple):
    """A run: its rules, servers and jobs. Of each length of jobs and class the level that it counts on (``levels``) and
    its weight; ``room`` and ``picked`` are scratch. ``stream`` is the state of chance."""

    rules: IdleRules
    hosts: Hosts
    work: DagWork
    levels: Reals
    weights: Reals
    room: Ints
    picked: Flags
    stream: Ints
    ledger: Reals
    tally: Ints
