"""A job that somebody wants to have run: its command, what it needs, and what is known of how it goes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum

from hcloud.model.running.event import BelowQos, Latency, Quality, Sample
from hcloud.model.workload import JobKind

Told = BelowQos | Latency | Quality | Sample
"""What whoever runs the jobs may have measured."""


KEPT = 0.95
"""The share of its performance in isolation that a job keeps, as everywhere (thesis section 3.5.1)."""


class TargetKind(StrEnum):
    """How the quality of service of a job is judged, beside the time a batch job was expected to take."""

    COMMAND = "command"
    HTTP = "http"
    PROMETHEUS = "prometheus"


@dataclass(frozen=True, slots=True)
class ServiceTarget:
    """What a service has to keep: its 99th percentile of latency at most ``milliseconds``, as a command prints it
    (milliseconds), as requests to an address take, or as a query of Prometheus (``server`` is its address) answers in
    seconds. ``probe`` is the command, the address or the query."""

    kind: TargetKind
    probe: str
    milliseconds: float
    server: str = ""

    def kept_at(self, p99: float) -> float:
        """The share of it that a service keeps: 1 where its latency is at most what it is to be."""
        return min(self.milliseconds / max(p99, 1e-9), 1.0)


@dataclass(frozen=True, slots=True)
class Piece:
    """Which piece of a job of several servers something is: of the job with the id ``of`` the one with a ``number``
    from 1 to ``count``."""

    of: str
    number: int
    count: int

    @property
    def names(self) -> tuple[str, ...]:
        """The ids of all pieces."""
        return tuple(f"{self.of}.{number}" for number in range(1, self.count + 1))

    @property
    def after(self) -> str | None:
        """The id of the piece before; None for the first."""
        return None if self.number == 1 else self.names[self.number - 2]


@dataclass(frozen=True, slots=True)
class JobOrder:
    """A job to run: thousandths of a vCPU and MiB that it asks for; ``expect`` is how many seconds a batch job takes
    where nothing disturbs it (None: nobody knows), ``is_limit`` that this is the most that it may take. ``submit`` is
    when it was submitted, in seconds since 1970. ``restartable`` says that it may begin anew where its machine is lost
    or another suits it better. ``nodes`` above 1 is a job over several machines, which an engine runs by itself;
    ``piece`` says which part it is of a job of several servers that hcloud places (None: it runs on one).
    ``user`` and ``directory`` are where it runs. Of those that wait the one with the highest ``priority`` comes
    first."""

    id: str
    submit: float
    command: tuple[str, ...]
    cores: int
    memory: int
    kind: JobKind = JobKind.BATCH
    app: str = ""
    expect: float | None = None
    target: ServiceTarget | None = None
    restartable: bool = False
    nodes: int = 1
    user: str = ""
    directory: str = ""
    is_limit: bool = False
    piece: Piece | None = None
    priority: int = 0


def with_wait(performance: float, ran: float, took: float, expect: float | None = None) -> float:
    """The share of its performance that a batch job reached with its wait counted in, at most ``performance``: the
    seconds that it was expected to take (else those that it ran, by its performance) over all that it took."""
    return min(max(expect or 0.0, performance * ran) / took, performance) if took > 0 else performance


def in_pieces(order: JobOrder, servers: int) -> tuple[JobOrder, ...]:
    """A job as a piece for each of its servers, with an equal part of its vCPUs and memory; on one server itself."""
    if servers <= 1:
        return (order,)
    cores, memory = math.ceil(order.cores / servers), math.ceil(order.memory / servers)
    parts = (Piece(order.id, number, servers) for number in range(1, servers + 1))
    names = Piece(order.id, 1, servers).names
    return tuple(
        replace(order, id=name, cores=cores, memory=memory, piece=part) for name, part in zip(names, parts, strict=True)
    )


class JobPhase(StrEnum):
    """Where a job is, as an engine tells it. UNKNOWN is what an engine cannot say at the moment: such a job is never
    begun again. LOST ended without an exit code, together with its machine or whatever watched over it."""

    WAITING = "waiting"
    RUNNING = "running"
    ENDED = "ended"
    LOST = "lost"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class JobSighting:
    """What an engine tells of one attempt of a job: ``began`` and ``ended`` in seconds since 1970, the share of its
    work that it says is done (None: it says nothing), its exit code where it ended, whether it ended because its memory
    was used up, and the share of its performance in isolation that it had, where the engine knows that."""

    job: str
    attempt: int
    phase: JobPhase
    began: float | None = None
    ended: float | None = None
    code: int | None = None
    progress: float | None = None
    out_of_memory: bool = False
    performance: float | None = None


class NodePhase(StrEnum):
    """How a machine stands with the engine that runs jobs on it: it has not joined yet, it is ready, it takes no new
    job (a cloud said that it takes the machine back), or it does not answer any more."""

    JOINING = "joining"
    READY = "ready"
    LEAVING = "leaving"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class NewJobs:
    """What came from a source of jobs since it was last asked: orders, and the jobs that were cancelled. ``closed``
    says that no more will come."""

    orders: tuple[JobOrder, ...] = ()
    cancelled: tuple[str, ...] = ()
    closed: bool = False


@dataclass(frozen=True, slots=True)
class ExternalJob:
    """A job that runs on a machine of ours and that somebody else began there: thousandths of a vCPU and MiB it has."""

    job: str
    instance: int
    cores: int
    memory: int


@dataclass(frozen=True, slots=True)
class EngineView:
    """All that an engine tells at one moment: every attempt of a job that it knows of, and each machine by its number
    (those that it never heard of are left out), what others began on our machines, what was measured since it was last
    asked, and the jobs of ours that it places by itself."""

    jobs: tuple[JobSighting, ...] = ()
    nodes: tuple[tuple[int, NodePhase], ...] = ()
    external: tuple[ExternalJob, ...] = ()
    told: tuple[Told, ...] = ()
    passed_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JobPlace:
    """Where an attempt of a job goes: the machine by its number, and thousandths of a vCPU and MiB it may use there."""

    instance: int
    attempt: int
    cores: int
    memory: int


@dataclass(frozen=True, slots=True)
class MachineRole:
    """What a machine is for: its number, its type by name, and whether it is part of the reserve."""

    instance: int
    type_name: str
    reserved: bool
