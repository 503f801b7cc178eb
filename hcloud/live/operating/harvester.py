"""Runs batch beside services on reserved machines, tick by tick: what services use is measured, the youngest jobs give
way where a reserve is broken, and jobs that wait begin where there is room.

Who gives way, who begins and where is decided by the same functions of numbers as in ``hcloud harvest simulate``. The
controller of the other jobs never hears of any of it.
"""

from __future__ import annotations

import math
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from heapq import heappop, heappush

from hcloud.control.operating.harvested import GraphRecord, HarvestLedger, HarvestRecord
from hcloud.control.operating.records import MachinePhase, MachineRecord
from hcloud.errors import HcloudError
from hcloud.harvest.hosts import (
    HostedContainer,
    IdleHost,
    Lacking,
    class_of,
    classes_for,
    free_cores,
    free_memory,
    giving_way,
    host_for,
    reserve_of,
    why_moves,
    why_waits,
)
from hcloud.harvest.tasks.dags import dag_of, largest_of, slip_of
from hcloud.live.harvesting.gauge import Gauge
from hcloud.live.harvesting.terms import HarvestTerms, settings_of
from hcloud.live.operating.desk import OperatingDesk
from hcloud.model.running.harvest_note import (
    HarvestBeginning,
    HarvestCancelled,
    HarvestGraphTaken,
    HarvestMoved,
    HarvestNote,
    HarvestOver,
    HarvestSet,
    HarvestTaken,
    HarvestWaiting,
    HarvestYielding,
    Yielded,
)
from hcloud.model.running.job import JobOrder, JobPhase, JobPlace, JobSighting, NewJobs, NodePhase
from hcloud.model.running.job_graph import JobGraph

Action = Callable[[], object]
Take = Callable[[JobOrder, float, int], None]
Drop = Callable[[list[str], float], None]
VCPU = 1000
TROUBLE = "idle capacity"


class Harvester:
    """Batch on idle capacity. What it knows is in the ledger of the journal, but for what it measured; ``take`` hands a
    job that leaves idle capacity, and the attempts it had, to the controller of all others, and ``drop`` tells that one
    whom nobody wants any more. ``told`` are its notes since somebody emptied it, for people."""

    def __init__(self, desk: OperatingDesk, terms: HarvestTerms, take: Take, drop: Drop) -> None:
        self._desk, self._terms, self._take, self._drop = desk, terms, take, drop
        self._gauge, self._ticked = Gauge(), -math.inf
        self._uses: dict[int, deque[tuple[float, float]]] = {}
        self._coming: list[tuple[float, int, JobOrder | JobGraph]] = []
        self._expected: set[str] = set()
        self._lacking: dict[str, Lacking] = {}
        self._closed = False
        self.told: list[HarvestNote] = []
        now, known = desk.now(), self.ledger.settings
        if terms.policy is not None:
            stated = settings_of(terms.policy, now)
            if known is None or replace(known, at=now) != stated:
                desk.tell(stated)
        if terms.classes is not None and terms.classes != (
            self.ledger.classes and replace(self.ledger.classes, at=0.0)
        ):
            desk.tell(replace(terms.classes, at=now))
        self._await(terms.graphs)

    @property
    def ledger(self) -> HarvestLedger:
        """The sum of its notes."""
        return self._desk.fold.harvested

    @property
    def _rules(self) -> HarvestSet:
        found = self.ledger.settings
        assert found is not None
        return found

    @property
    def is_done(self) -> bool:
        """Whether nothing is left, and nothing will come."""
        return self._closed and not self._coming and not self.ledger.open

    def _tell(self, note: HarvestNote) -> None:
        self._desk.tell(note)
        self.told.append(note)

    # ---- what came of attempts, and which jobs come

    def see(self, now: float) -> None:
        """Note which attempts are over, and take the jobs that come."""
        for job in self.ledger.running:
            seen = self._desk.sightings.get(job.order.id)
            if seen is not None and seen.attempt == job.attempt and seen.phase in (JobPhase.ENDED, JobPhase.LOST):
                self._over(job, seen, now)
            elif (seen is None or seen.attempt != job.attempt) and self._is_gone(job):
                self._over(job, JobSighting(job.order.id, job.attempt, JobPhase.LOST), now)
        for graph in self.ledger.graphs.values():
            if graph.is_over and graph.away:
                self._drop([*graph.away], now)
        self._expect()
        while self._coming and self._coming[0][0] <= now and not self._desk.fold.asked and self._can_choose():
            came = heappop(self._coming)[2]
            if self.ledger.knows(came.id) or came.id in self._desk.fold.known:
                continue
            took = HarvestGraphTaken if isinstance(came, JobGraph) else HarvestTaken
            self._tell(took(now, came, self._classes_for(came)))  # type: ignore[arg-type]

    def _can_choose(self) -> bool:
        """Whether classes can be chosen by what is used now, where there are any."""
        return self.ledger.classes is None or any(host.use is not None for host in self._hosts())

    def _classes_for(self, job: JobOrder | JobGraph) -> tuple[str, ...]:
        """The classes of machines that a job is put on; none without a history. A graph needs as many containers as the
        most of its tasks that run at once."""
        known = self.ledger.classes
        if known is None:
            return ()
        if isinstance(job, JobGraph):
            dag = dag_of(job)
            asked, takes = (dag.concurrency, *largest_of(job)), max(dag.chains)
        else:
            asked, takes = (1, job.cores, job.memory), job.expect or -1.0
        last = self.ledger.last.get(job.app or job.id, takes)
        return classes_for(asked, last, self._hosts(), known, (self._rules, _chance_of(job.id, 0)))

    def _is_gone(self, job: HarvestRecord) -> bool:
        """Whether an attempt that nobody sees was on a machine that is gone, so that it never begins."""
        if not (self._desk.answers or self._desk.forced):
            return False
        machine = self._desk.fold.machines.get(-1 if job.on is None else job.on)
        under_way = self._desk.busy("harvest-begin", job.order.id)
        there = machine is not None and machine.phase is MachinePhase.READY
        return not under_way and (not there or job.yields)

    def _over(self, job: HarvestRecord, seen: JobSighting, now: float) -> None:
        result = Yielded.LOST
        if seen.phase is JobPhase.ENDED:
            result = Yielded.LOST if job.is_over else Yielded.KILLED if job.yields else Yielded.FAILED
            result = Yielded.DONE if seen.code == 0 else result
        elif job.yields and not job.is_over and seen.began is not None:
            result = Yielded.KILLED
        words = (job.order.id, job.attempt, result, seen.began, seen.ended, seen.code, seen.out_of_memory)
        self._tell(HarvestOver(now, *words))

    def _expect(self) -> None:
        try:
            found = self._terms.source.new()
            self._desk.troubles.pop(TROUBLE, None)
        except HcloudError as error:
            self._desk.troubles[TROUBLE] = "; ".join(line.strip() for line in str(error).splitlines())
            found = NewJobs(closed=self._closed)
        self._closed = found.closed
        self._await(found.orders)
        for name in found.cancelled:
            self.cancel(name, self._desk.now())

    def _await(self, jobs: Iterable[JobOrder | JobGraph]) -> None:
        for job in jobs:
            if job.id not in self._expected:
                self._expected.add(job.id)
                heappush(self._coming, (job.submit, len(self._expected), job))

    def cancel(self, name: str, now: float) -> None:
        """Somebody wants this job no more."""
        job: HarvestRecord | GraphRecord | None = self.ledger.graphs.get(name) or self.ledger.jobs.get(name)
        if job is not None and not job.is_over:
            self._tell(HarvestCancelled(now, name))

    # ---- what is to be done

    def intended(self, now: float) -> list[Action]:
        """What is to be done once the journal has it; the notes of it are told here."""
        if self._desk.stops:
            for job in self.ledger.open:
                self.cancel(job.order.id, now)
        elif self._desk.fold.asked:  # a drain: what runs ends, and nothing begins, not for the second time either
            for job in self.ledger.open:
                if job.on is None:
                    self.cancel(job.order.id, now)
        if now - self._ticked >= self._rules.tick or now < self._ticked:
            self._ticked = now
            self._measure(now)
            self._move(now)
            self._begin(now)
        self._give_way(now)
        return [*self._kills(now), *self._begins(now)]

    def _measure(self, now: float) -> None:
        try:
            self._gauge.look(self._terms.engine.used_seconds(), now)
            self._desk.troubles.pop("use of machines", None)
        except HcloudError as error:
            self._gauge.forget()
            self._desk.troubles["use of machines"] = str(error)
        for host in self._hosts():
            uses = self._uses.setdefault(host.instance, deque())
            if host.use is not None:
                uses.append((now, host.use))
            while uses and uses[0][0] < now - self._rules.window:
                uses.popleft()

    def _give_way(self, now: float) -> None:
        """Jobs give way where services need the reserve, or the memory; where they are cancelled, or their machine
        leaves."""
        staying = {host.instance: host for host in self._hosts()}
        for host in staying.values():
            for one in giving_way(host, self._rules):
                job = self.ledger.jobs[one.job]
                if not job.yields:
                    use = None if host.use is None else round(host.use * host.cores / VCPU, 3)
                    self._yield(job, self._why(host), now, use, host.held_cores / VCPU)
        for job in self.ledger.running:
            if not job.yields and (job.is_over or (job.on not in staying and self._desk.answers)):
                self._yield(job, "it was cancelled" if job.is_over else "its machine leaves", now)

    def _why(self, host: IdleHost) -> str:
        used = 0.0 if host.use is None else host.use * host.cores / VCPU
        if free_memory(host, self._rules, host.held_memory) >= 0:
            held, kept = host.held_cores / VCPU, reserve_of(host.cores, self._rules) / VCPU
            return (
                f"services use {used:.2f} and batch {held:.2f} of {host.cores / VCPU:g} vCPUs, of which {kept:.2f} have"
                " to stay free"
            )
        return f"services asked for {host.asked_memory:,} of {host.memory:,} MiB"

    def _yield(self, job: HarvestRecord, why: str, now: float, use: float | None = None, held: float = 0.0) -> None:
        assert job.on is not None
        self._tell(HarvestYielding(now, job.order.id, job.attempt, job.on, why, use, held))

    def _move(self, now: float) -> None:
        """Jobs that gave way too often, or have lost too much time, go where all others go; of a graph all tasks that
        have not begun, as soon as those before them are done."""
        if self._desk.fold.asked:
            return
        for graph in self.ledger.graphs.values():
            if not graph.is_over and not graph.moves and (why := self._why_graph_moves(graph, now)):
                self._tell(HarvestMoved(now, graph.graph.id, why))
        for job in self.ledger.waiting:
            expected = job.order.expect or self.ledger.last.get(job.order.app or job.order.id)
            if job.graph:
                why = self.ledger.graphs[job.graph].why if self.ledger.graphs[job.graph].moves else ""
            else:
                why = why_moves(job.kills, now - job.came, expected, self._rules)
            if why:
                self._tell(HarvestMoved(now, job.order.id, why))
                self._take(replace(job.order, restartable=True), now, job.attempt)

    def _why_graph_moves(self, graph: GraphRecord, now: float) -> str:
        tasks = [one for one in self.ledger.open if one.graph == graph.graph.id and not one.is_over]
        if all(one.on is not None for one in tasks):
            return ""
        slip, left = slip_of(graph.graph, graph.undone, now - graph.came)
        return why_moves(max(one.kills for one in tasks), slip, left, self._rules)

    def _begin(self, now: float) -> None:
        """Jobs that wait begin where there is room, the one that came first before all others."""
        if self._desk.stops or "journal" in self._desk.troubles:
            return
        hosts, full = self._hosts(), set[tuple[int, int, tuple[str, ...]]]()
        for job in self.ledger.waiting:
            alike = (job.order.cores, job.order.memory, job.classes)
            if alike in full:
                continue
            mine = [host for host in hosts if self._may_have(job, host)] or hosts  # its classes may be gone by now
            stream = _chance_of(job.order.id, job.attempt + 1)
            found = host_for(job.order.cores, job.order.memory, mine, self._rules, stream)
            if found < 0:
                full.add(alike)
                self._wait(job, mine, now)
                continue
            self._lacking.pop(job.order.id, None)
            at = hosts.index(mine[found])
            host = hosts[at]
            free = free_cores(host, self._rules, host.held_cores) / VCPU
            used = (host.use or 0.0) * host.cores / VCPU
            words = (job.order.id, job.attempt + 1, host.instance, round(used, 3), round(free, 3))
            self._tell(HarvestBeginning(now, *words))
            hosts[at] = replace(
                host, held=(*host.held, HostedContainer(job.order.id, job.order.cores, job.order.memory))
            )

    def _wait(self, job: HarvestRecord, hosts: list[IdleHost], now: float) -> None:
        """Tell why a job waits, unless that is as before, or it came just now."""
        lacking, why = why_waits(job.order.cores, job.order.memory, hosts, self._rules)
        if now - job.came >= 2 * self._rules.tick and self._lacking.get(job.order.id) != lacking:
            self._lacking[job.order.id] = lacking
            self._tell(HarvestWaiting(now, job.order.id, why))

    def _may_have(self, job: HarvestRecord, host: IdleHost) -> bool:
        """Whether a machine is of the classes of a job."""
        known = self.ledger.classes
        return known is None or not job.classes or class_of(host, known) in job.classes

    def _hosts(self) -> list[IdleHost]:
        """The reserved machines on which jobs may begin and run."""
        held: dict[int, list[HostedContainer]] = {}
        for job in self.ledger.running:
            assert job.on is not None
            held.setdefault(job.on, []).append(HostedContainer(job.order.id, job.order.cores, job.order.memory))
        fold, found = self._desk.fold, list[IdleHost]()
        sizes = {t.name: t for t in fold.setup.types}
        for machine in fold.standing.values():
            if self._is_open(machine):
                size, there = sizes[machine.type_name], tuple(held.get(machine.instance, ()))
                asked = sum(fold.jobs[name].order.memory for name in machine.jobs)
                services = tuple(fold.jobs[name].order.app or name for name in machine.jobs)
                use = self._use(machine, size.cores)
                lately = max((used for _, used in self._uses.get(machine.instance, ())), default=0.0)
                found.append(IdleHost(machine.instance, size.cores, size.memory, use, lately, asked, there, services))
        return found

    def _is_open(self, machine: MachineRecord) -> bool:
        node = self._desk.nodes.get(machine.instance)
        is_up = machine.phase is MachinePhase.READY and node is NodePhase.READY
        return machine.reserved and is_up and machine.released is None and machine.instance not in self._desk.notices

    def _use(self, machine: MachineRecord, cores: int) -> float | None:
        """The share of a machine that its services use; None where one of them was not there at the last two looks."""
        total = 0.0
        for job in self._desk.fold.active.values():
            if job.on == machine.instance:
                used = self._gauge.used((job.order.id, job.attempt))
                if used is None:
                    return None
                total += used
        return total * VCPU / cores

    def _kills(self, now: float) -> Iterator[Action]:
        for job in self.ledger.running:
            about = (job.order.id, job.attempt)
            if job.yields and self._desk.may_say("harvest-kill", about, now):
                self._desk.said("harvest-kill", about, now)
                yield partial(self._desk.do, "harvest-kill", about, partial(self._terms.engine.kill, *about))

    def _begins(self, now: float) -> Iterator[Action]:
        """What the journal has and the engine does not know: it was noted now, or this process was killed meanwhile."""
        for job in self.ledger.running:
            name, seen = job.order.id, self._desk.sightings.get(job.order.id)
            if seen is not None and seen.attempt == job.attempt:
                self._desk.unsay("harvest-begin", name)
            elif not job.yields and self._desk.may_say("harvest-begin", name, now):
                self._desk.said("harvest-begin", name, now)
                assert job.on is not None
                place = JobPlace(job.on, job.attempt, job.order.cores, job.order.memory)
                begin = partial(self._terms.engine.begin_beside, job.order, place)
                yield partial(self._desk.do, "harvest-begin", name, begin)


def _chance_of(job: str, attempt: int) -> list[int]:
    """A state of chance that is an attempt's own, so that what was drawn can be drawn again."""
    return [1 + zlib.crc32(f"{part}{job}.{attempt}".encode()) % 2_000_000_000 for part in "ab"]
