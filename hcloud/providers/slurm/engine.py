"""Slurm runs the jobs; hcloud holds them, chooses the node of each, and lets nodes come and go with its machines."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace

from hcloud.control.ports import Clock
from hcloud.errors import Call, CloudError, NoCapacityError, NotFoundError, RefusedError
from hcloud.model.running.job import (
    EngineView,
    ExternalJob,
    JobOrder,
    JobPhase,
    JobPlace,
    JobSighting,
    MachineRole,
    NewJobs,
    NodePhase,
)
from hcloud.providers.slurm import joining, nodes, orders, probing, sightings
from hcloud.providers.slurm.answers import SlurmJob, SlurmNode
from hcloud.providers.slurm.client import SlurmCommands
from hcloud.providers.slurm.completed import CompletedJobs
from hcloud.providers.slurm.joining import Probing
from hcloud.providers.slurm.ledger import Begin, NodeClaim, NodeLedger
from hcloud.providers.slurm.site import DONE, SlurmSite

GRACE_SECONDS = 60.0
"""Ours: how long a job is told as unknown that slurmctld forgot. A slurmd registers within seconds with a slurmctld
that was started again; then a job that runs without its knowledge is ended."""
FRESH_SECONDS = 0.5
TELLS_SECONDS = 5.0
"""Ours: how long a machine that has joined may take to say what it gives."""
_EVERY = 0.1


class SlurmEngine:
    """Implements hcloud.control.ports.Engine and JobSource; may be used from many threads. ``probe`` is the program
    (Python that has ``on_all``) that machines measure themselves with before they join."""

    def __init__(
        self, site: SlurmSite, commands: SlurmCommands, clock: Clock, grace: float = GRACE_SECONDS, probe: str = ""
    ) -> None:
        self._probe = probe
        self._site, self._commands, self._clock, self._grace = site, commands, clock, grace
        self._ledger = NodeLedger(site)
        self._completed = CompletedJobs(commands)
        self._held = threading.RLock()
        self._jobs: dict[str, SlurmJob] = {}
        self._read_at = float("-inf")
        self._nodes: dict[str, SlurmNode] = {}
        self._doubtful: dict[tuple[str, int], float] = {}
        self._told: set[str] = set()
        self._cancelled: set[str] = set()
        self._given_up: set[str] = set()
        self._rung = 0.0

    # ---- jobs that come

    def new(self) -> NewJobs:
        """The held jobs of the partition, in the order in which Slurm would take them, and those that do not wait for
        hcloud any more: cancelled, or released by somebody else. Jobs over several nodes are released as they are."""
        found = self._fresh(FRESH_SECONDS)
        begins = self._ledger.begins()
        waiting = [j for j in found.values() if orders.waits(j, self._site, self._clock.now()) and j.id not in begins]
        for job in [j for j in waiting if orders.is_wide(j)]:
            self._pass_by(job.id)
        steered = [job for job in orders.in_order(waiting) if not orders.is_wide(job)]
        fresh = tuple(orders.order_of(job) for job in steered if job.id not in self._told)
        with self._held:
            left = {name for name in self._told if name not in begins and not self._still_waits(found.get(name))}
            cancelled = sorted(left | {j.id for j in found.values() if self._is_cancelled(j, begins)})
            self._told = (self._told | {job.id for job in steered}) - left
            self._cancelled = set(cancelled)
        return NewJobs(fresh, tuple(cancelled))

    def _still_waits(self, job: SlurmJob | None) -> bool:
        return job is not None and orders.is_marked(job, self._site) and job.state == orders.PENDING and job.held

    def _is_cancelled(self, job: SlurmJob, begins: Mapping[str, Begin]) -> bool:
        if job.state != orders.CANCELLED or not orders.is_marked(job, self._site):
            return False
        return job.id not in begins or not begins[job.id].stopped

    def _pass_by(self, job: str, **more: str) -> None:
        """Let Slurm place it by itself, on nodes that are up."""
        known = self._jobs.get(job)
        parked = known is not None and known.parked
        with suppress(NotFoundError, RefusedError):
            self._commands.update_job(job, admincomment=DONE, **more, **_now_if(parked=parked))
            if not parked:
                self._commands.release(job)

    @property
    def passed_by(self) -> tuple[str, ...]:
        """Jobs in the queue that Slurm places by itself, though they are in hcloud's partition: over several nodes, or
        not fit for the node that was chosen."""
        own = (job for job in self._fresh(FRESH_SECONDS).values() if job.partition == self._site.partition)
        return tuple(j.id for j in own if j.admin_comment == DONE and j.state in (orders.PENDING, *sightings.RUNNING))

    # ---- what runs

    def look(self) -> EngineView:
        """Every attempt that was let begin, every machine that has a node name, and what others began on our nodes."""
        began = self._ledger.began()  # before the queue is read: a job takes its ticket before it is told as running
        found = self._fresh(0.0)
        told = {node.name: node for node in self._commands.nodes() if self._site.is_ours(node.name)}
        with self._held:
            self._nodes = told
        phases = self._tend(told)
        self._give_back_what_does_not_fit(found, began)
        seen = tuple(self._sight(begin, found, began) for begin in self._ledger.begins().values())
        return EngineView(seen, phases, self._external(found), passed_by=self.passed_by)

    def _give_back_what_does_not_fit(self, found: Mapping[str, SlurmJob], began: frozenset[str]) -> None:
        """Slurm says only after the release that a job cannot run on the node it was pinned to."""
        for begin in self._ledger.begins().values():
            job = found.get(begin.job)
            if job is not None and orders.does_not_fit(job) and begin.job not in began:
                self._give_back(begin.job)

    def _give_back(self, job: str) -> None:
        self._ledger.forget(job)
        self._pass_by(job, reqnodelist="")
        with self._held:
            self._told.add(job)  # told as not waiting any more at the next question

    def _fresh(self, age: float) -> dict[str, SlurmJob]:
        with self._held:
            if self._clock.passed() - self._read_at >= age:
                self._jobs = {job.id: job for job in self._commands.jobs()}
                self._read_at = self._clock.passed()
            return self._jobs

    def _sight(self, begin: Begin, found: Mapping[str, SlurmJob], began: frozenset[str]) -> JobSighting:
        job, key = found.get(begin.job), (begin.job, begin.attempt)
        if job is None or not sightings.is_of(begin, job):
            job = self._completed.find(begin)
        phase = sightings.phase_of(begin, job, began=begin.job in began)
        if phase is JobPhase.ENDED and self._is_to_be_told(found.get(begin.job)):
            phase = JobPhase.RUNNING if begin.job in began else JobPhase.WAITING
        if phase is not None:
            self._doubtful.pop(key, None)
            return sightings.sighting(begin, job, phase)
        since = self._doubtful.setdefault(key, self._clock.passed())
        if job is not None and job.state == orders.PENDING and not job.held:
            with suppress(CloudError):
                self._commands.hold(job.id)
        patience = 0.0 if sightings.is_told(begin, job) else self._grace
        if self._clock.passed() - since >= patience and self._is_over_on(begin):
            return sightings.sighting(begin, job, JobPhase.LOST)
        return sightings.sighting(begin, job, JobPhase.UNKNOWN)

    def _is_to_be_told(self, job: SlurmJob | None) -> bool:
        """Whether a job was cancelled and ``new`` has not said so yet: before that its end would count as a failure."""
        return job is not None and job.id not in self._cancelled and self._is_cancelled(job, self._ledger.begins())

    def _is_over_on(self, begin: Begin) -> bool:
        """Whether nothing of a job that slurmctld does not know can run on its machine: the node answers (then
        slurmctld ended it), or the machine has ended."""
        claim, node = self._ledger.claim(begin.instance), self._nodes.get(begin.node)
        if claim is None or node is None:
            return True
        return not (nodes.is_off(node) or node.state in nodes.DOWN or nodes.SILENT in node.flags)

    def _external(self, found: Mapping[str, SlurmJob]) -> tuple[ExternalJob, ...]:
        machines = {claim.node: claim.instance for claim in self._ledger.claims()}
        begins = self._ledger.begins()
        return tuple(
            ExternalJob(job.id, machines[job.nodes], job.cpus * 1000, job.memory)
            for job in found.values()
            if job.state in sightings.RUNNING and job.nodes in machines and job.id not in begins
        )

    # ---- nodes

    def joining(self, role: MachineRole) -> str:
        """The script that starts slurmd under a free node name of the machine's type. NoCapacityError where none is
        free: more are declared with 'hcloud slurm config'."""
        names = self._site.names(role.type_name, reserved=role.reserved)
        claim = self._ledger.take(role.instance, role.type_name, names)
        if claim is None and self._drop_given_up(names):
            claim = self._ledger.take(role.instance, role.type_name, names)
        if claim is None:
            kind = "reserved" if role.reserved else "on-demand"
            why = f"slurm.conf declares {len(names)} {kind} nodes for {role.type_name}, and all have a machine"
            raise NoCapacityError(why, Call("slurm", "cluster", "join"), hint="hcloud slurm config declares more")
        return joining.script(self._site, claim.node, self._commands.conf, self._probing(role, claim))

    def _probing(self, role: MachineRole, claim: NodeClaim) -> Probing:
        """Machines that are rented are measured, also where nobody reads it: the script of an order must not differ."""
        group = self._site.group(role.type_name)
        if role.reserved or group is None or not self._probe:
            return Probing()
        return Probing(probing.measuring(self._probe, group.vcpus), probing.telling(claim.node, role.instance))

    def type_of(self, instance: int) -> str:
        """The type of a machine that has a node name; empty where none is known."""
        claim = self._ledger.claim(instance)
        return "" if claim is None else claim.type_name

    def measured(self, instance: int) -> probing.Rates | None:
        """What a machine gave before it joined; None where it does not say so in time."""
        until = self._clock.passed() + TELLS_SECONDS
        while (claim := self._ledger.claim(instance)) is not None:
            comment = next((n.comment for n in self._commands.nodes() if n.name == claim.node), "")
            found = probing.told(comment, instance)
            if found is not None or self._clock.passed() >= until:
                return found
            self._clock.sleep(_EVERY)
        return None

    def _drop_given_up(self, names: tuple[str, ...]) -> bool:
        """Free the names of machines that never joined and that slurmctld gave up: their launch failed."""
        given_up = [c for c in self._ledger.claims() if c.node in names and not c.joined and c.node in self._given_up]
        for claim in given_up:
            self._ledger.drop(claim)
        return bool(given_up)

    def _tend(self, told: Mapping[str, SlurmNode]) -> tuple[tuple[int, NodePhase], ...]:
        """Bring nodes to where their machines are, and say how these stand."""
        claims = {claim.node: claim for claim in self._ledger.claims()}
        boot = self._commands.settings().get("boot_time", "") if claims else ""
        phases = []
        for name, node in told.items():
            claim = claims.get(name)
            if claim is None:
                self._update(name, nodes.at_rest(node))
            elif claim.released:
                phases.append((claim.instance, self._let_rest(node, claim)))
            else:
                phases.append((claim.instance, self._tended(node, claim, boot)))
        return tuple(sorted(phases))

    def _tended(self, node: SlurmNode, claim: NodeClaim, boot: str) -> NodePhase:
        view = nodes.tended(node, claim, boot)
        done = self._update(node.name, view.updates)
        known = replace(claim, joined=claim.joined or view.joined)
        if (view.ask and done) or view.joined:
            known = replace(known, asked=boot)
        if known != claim and not self._is_released(claim):
            self._ledger.note(known)
        (self._given_up.add if view.phase is NodePhase.GONE else self._given_up.discard)(node.name)
        return view.phase

    def _let_rest(self, node: SlurmNode, claim: NodeClaim) -> NodePhase:
        if nodes.rests(node) and not nodes.at_rest(node):
            self._ledger.drop(claim)
            return NodePhase.GONE
        self._update(node.name, nodes.at_rest(node, nodes.ENDING))
        return NodePhase.LEAVING

    def _is_released(self, claim: NodeClaim) -> bool:
        now = self._ledger.claim(claim.instance)
        return now is None or now.released

    def _update(self, node: str, updates: Iterable[Mapping[str, str]]) -> bool:
        """Tell slurmctld; what it did not take it is told at the next look."""
        try:
            for update in updates:
                self._commands.update_node(node, **update)
        except CloudError:
            return False
        return True

    def warn(self, instance: int, why: str) -> None:
        """Drain its node, with the reason; Slurm lets what runs there go on."""
        claim = self._ledger.claim(instance)
        if claim is not None and not claim.released:
            self._update(claim.node, ({"state": "drain", "reason": why},))

    def let_go(self, instance: int) -> None:
        """Nothing begins on its node any more; the name is free when Slurm is through with it. What slurmctld does not
        hear now it hears at the next look."""
        claim = self._ledger.claim(instance)
        if claim is None or claim.released:
            return
        self._ledger.note(replace(claim, released=True))
        self._update(claim.node, ({"state": "drain", "reason": nodes.ENDING},))

    # ---- attempts

    def begin(self, order: JobOrder, place: JobPlace) -> None:
        """Leave the job its ticket, pin it to the node and release it; where Slurm does not let it run there, Slurm is
        left to place it. NotFoundError where the machine has no node."""
        call = Call("slurm", "cluster", "begin")
        claim = self._ledger.claim(place.instance)
        if claim is None or claim.released:
            raise NotFoundError(f"machine {place.instance} has no node", call)
        job = self._known(order.id)
        if job is None:
            with self._held:
                self._told.add(order.id)  # told as cancelled at the next question
            return
        if self._may_begin(job, claim, place.attempt):
            self._release(job, claim.node)

    def _may_begin(self, job: SlurmJob, claim: NodeClaim, attempt: int) -> bool:
        known = self._ledger.begins().get(job.id)
        if known is None or known.attempt < attempt:
            where, now = (claim.node, claim.instance), self._clock.now()
            self._ledger.permit(Begin(job.id, attempt, *where, job.restarts, job.submit, now))
            return job.state == orders.PENDING
        has_begun = known.attempt > attempt or known.stopped or job.id in self._ledger.began()
        is_said = not job.held and job.required == claim.node
        return not (has_begun or is_said) and job.state == orders.PENDING

    def _release(self, job: SlurmJob, node: str) -> None:
        """Slurm lets a job that begins anew wait two minutes for what its last node may have left; it is another node,
        or its machine has answered since."""
        sooner = _now_if(parked=job.parked or job.restarts > 0)
        try:
            self._commands.update_job(job.id, reqnodelist=node, **sooner)
            if not job.parked:
                self._commands.release(job.id)
        except RefusedError:
            now = self._fresh(0.0).get(job.id)
            if now is not None and now.state == orders.PENDING:  # else it was said before, and the job has begun
                self._give_back(job.id)

    def _known(self, job: str) -> SlurmJob | None:
        return self._fresh(float("inf")).get(job) or self._fresh(0.0).get(job)

    def stop(self, job: str, attempt: int) -> None:
        """A waiting attempt is held again. A running one is ended: a job that may begin anew waits then, held; another
        is cancelled."""
        begin, found = self._ledger.begins().get(job), self._known(job)
        if begin is None or begin.attempt != attempt or found is None:
            return
        self._ledger.withdraw(job)
        with suppress(NotFoundError):
            if found.state == orders.PENDING:
                self._commands.hold(job)
                self._commands.update_job(job, reqnodelist="")
            elif found.state in sightings.RUNNING and found.state != "COMPLETING":
                (self._commands.requeue_held if found.requeue else self._commands.cancel)(job)

    def resize(self, job: str, attempt: int, cores: int) -> None:
        """Slurm gives a running job no more of its node."""

    def forget(self, job: str) -> None:
        """A job that hcloud ended, and that would wait for ever, is cancelled; one that Slurm lost stays held, for its
        user to decide."""
        found, begin = self._jobs.get(job), self._ledger.begins().get(job)
        if found is not None and found.state == orders.PENDING:
            try:
                if begin is not None and begin.stopped:
                    self._commands.cancel(job)
                else:
                    self._commands.update_job(job, admincomment=DONE)
            except (NotFoundError, RefusedError):
                pass
            except CloudError:
                return  # it is told again, and forgotten then
        self._ledger.forget(job)

    def wait(self, seconds: float) -> None:
        """Until the prolog or a power program rang, at most so long."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if (rung := self._bell()) != self._rung:
                self._rung = rung
                return
            time.sleep(min(left, _EVERY))

    def _bell(self) -> float:
        try:
            return self._site.bell.stat().st_mtime
        except OSError:
            return 0.0


def _now_if(*, parked: bool) -> dict[str, str]:
    return {"starttime": "now"} if parked else {}
