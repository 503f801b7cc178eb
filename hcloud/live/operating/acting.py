"""What is done to the world: noted first, then begun; said again until it is so."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial

from hcloud.control.operating.fold import Fold
from hcloud.control.operating.records import JobRecord, MachinePhase, MachineRecord
from hcloud.control.operating.together import ending_on, may_begin
from hcloud.control.operating.wanted import Allowance, key_of, to_begin, to_end, to_launch, to_stop
from hcloud.errors import HcloudError, ThrottledError, UnavailableError, UnknownOutcomeError
from hcloud.live.operating.crash_points import BEGIN, END, LAUNCH
from hcloud.live.operating.desk import OperatingDesk
from hcloud.live.operating.machines import order_of
from hcloud.live.operating.terms import Terms
from hcloud.model.holdings.live import Machine
from hcloud.model.running.job import JobPhase, JobPlace, MachineRole
from hcloud.model.running.note import Beginning, Held, Launching
from hcloud.model.workload import JobKind

Action = Callable[[], object]


def intended(desk: OperatingDesk, now: float) -> list[Action]:
    """What is to be done once the journal has it; the notes of it are told here."""
    actions: list[Action] = []
    if not (desk.finishing or desk.keeps):
        allowance, lacks = Allowance(desk.fold, desk.terms.limits, now), False
        for machine in by_turn(desk.fold, list(to_launch(desk.fold, now))):
            of_pieces = any(desk.fold.jobs[name].order.piece is not None for name in machine.jobs)
            is_barred = now < desk.barred and desk.may_be_wrong(machine.type_name)
            if machine.phase is MachinePhase.WANTED and (is_barred or (of_pieces and lacks)):
                continue  # or two jobs of several servers hold what the other lacks, for ever
            actions += _intended_launch(desk, machine, allowance, now)
            lacks = lacks or (of_pieces and machine.phase is MachinePhase.WANTED)
        if lacks and (given_up := to_give_up(desk.fold)) is not None:
            actions.append(partial(end, desk, given_up, WHY))
    going = [
        machine
        for machine in to_end(desk.fold, all_of_them=desk.finishing and (desk.nothing_runs or desk.forced))
        if not _is_in_use(desk, machine, now)
    ]
    actions += [partial(end, desk, machine, "") for machine in going]
    if not desk.stops:
        ending = ending_on(desk.fold)
        for job in list(to_begin(desk.fold, desk.nodes)):
            if may_begin(desk.fold, desk.nodes, job, ending):  # those before it may have taken the room
                _intend_begin(desk, job, now, actions)
    actions += [partial(_stop, desk, job, now) for job in to_stop(desk.fold, desk.nodes, desk.notices)]
    actions += [partial(_begin_again, desk, job, now) for job in desk.fold.active.values() if job.on is not None]
    actions += [partial(desk.say, partial(desk.parts.engine.forget, name)) for name in sorted(desk.over)]
    desk.over.clear()
    return actions


def _is_in_use(desk: OperatingDesk, machine: MachineRecord, now: float) -> bool:
    """Whether something runs on a machine that is to end: what others began, or an attempt that was told to stop and
    has not said that it did. For that it waits as long as for a machine that is to join."""
    if machine.instance in desk.external and not desk.stops:
        return True
    waits = not desk.forced and now - (machine.released or now) <= desk.terms.rhythm.join
    return waits and any(job.on == machine.instance for job in desk.fold.active.values())


def _intended_launch(
    desk: OperatingDesk, machine: MachineRecord, allowance: Allowance, now: float
) -> tuple[Action, ...]:
    """The order of a machine, where it may be made now; what holds it back is noted."""
    number, terms = machine.instance, desk.terms
    if desk.busy("launch", number) or number in desk.ending or not desk.may_say("launch", number, now):
        return ()
    if machine.phase is not MachinePhase.WANTED:
        return (partial(_launch, desk, machine, again=True),)
    hourly, why = _priced(terms, machine)
    if why := why or allowance.keeps(machine.type_name, hourly):
        if machine.why != why:
            desk.tell(Held(now, number, why))
            desk.freed = desk.freed or not desk.unwilling.issuperset(machine.jobs)
        return ()
    if not (zones := _zones(desk, machine.type_name)):
        return ()
    allowance.take(machine.type_name, hourly)
    if desk.may_be_wrong(machine.type_name):
        desk.barred = desk.not_before("", now)
    zone, key = zones[machine.orders % len(zones)], key_of(terms.owner.lineage, machine)
    what, least = (machine.type_name, zone, machine.option), terms.least_seconds
    desk.tell(Launching(now, number, key, *what, hourly, machine.reserved, least))
    return (partial(_launch, desk, machine, again=False),)


def _zones(desk: OperatingDesk, type_name: str) -> Sequence[str]:
    """Where a type is sold; nothing while that is asked, once a type."""
    known = desk.zones

    def asked() -> None:
        known[type_name] = desk.terms.zones(type_name)

    if type_name not in known:
        desk.do("zones", type_name, asked)
    return known.get(type_name, ())


def _priced(terms: Terms, machine: MachineRecord) -> tuple[Decimal, str]:
    """What a machine costs an hour, or why nobody knows."""
    try:
        return terms.price(machine.type_name, machine.option), ""
    except HcloudError as error:
        return Decimal(0), str(error)


def _launch(desk: OperatingDesk, machine: MachineRecord, *, again: bool) -> None:
    """Order a machine. An order that is refused now may have been taken before, where it is made ``again``."""
    role = MachineRole(machine.instance, machine.type_name, machine.reserved)
    known, parts, owner, now = replace(machine), desk.parts, desk.terms.owner, desk.now()

    def launched() -> Machine:
        try:
            return parts.machines.launch(order_of(known, owner, parts.engine.joining(role)))
        except (ThrottledError, UnavailableError, UnknownOutcomeError):
            raise  # it may have been launched
        except HcloudError:
            if again and (made := parts.machines.made_before(known, order_of(known, owner, ""), now)) is not None:
                return made
            parts.engine.let_go(role.instance)
            raise

    parts.crash(LAUNCH)
    desk.do("launch", machine.instance, launched)


def end(desk: OperatingDesk, machine: MachineRecord, why: str) -> None:
    """End a machine, with all others of this pass or (while it is being launched) as soon as it can be."""
    number, now = machine.instance, desk.now()
    if desk.busy("launch", number) or number in desk.ending or not desk.may_say("end", number, now):
        return
    machine.why = machine.ended_for(why)
    if not desk.say(partial(desk.parts.engine.let_go, number)) and not desk.forced:
        desk.said("end", number, now)
        return
    desk.parts.crash(END)
    desk.ending.add(number)
    desk.going.append(replace(machine))


def end_all(desk: OperatingDesk) -> None:
    """End what is to end since this was called last: in one request, which takes the cloud as long for many. What is
    known by its key alone is looked for beside it."""
    machines, now = desk.parts.machines, desk.now()
    if known := [machine for machine in desk.going if machine.id]:
        desk.do("end", tuple(machine.instance for machine in known), partial(machines.end, known, now))
    for machine in desk.going:
        if not machine.id:
            order = order_of(machine, desk.terms.owner, "")
            desk.do("end", (machine.instance,), partial(machines.sought, machine, order, now))
    desk.going = []


def _intend_begin(desk: OperatingDesk, job: JobRecord, now: float, actions: list[Action]) -> None:
    if job.instance is None or desk.busy("stop", job.order.id):
        return
    desk.tell(Beginning(now, job.order.id, job.attempt + 1, job.instance))
    actions.append(partial(_begin, desk, job, now))


def _begin(desk: OperatingDesk, job: JobRecord, now: float) -> None:
    if job.on is None:
        return
    name = job.order.id
    cores = desk.session.cores_of(name) if name in desk.session.tables.rows else job.order.cores
    place = JobPlace(job.on, job.attempt, cores or job.order.cores, job.order.memory)
    desk.said("begin", name, now)
    desk.parts.crash(BEGIN)
    desk.do("begin", name, partial(desk.parts.engine.begin, job.order, place))


def _begin_again(desk: OperatingDesk, job: JobRecord, now: float) -> None:
    """Say again what the journal has and the engine does not know: this process may have been killed in between."""
    name = job.order.id
    seen = desk.sightings.get(name)
    if seen is not None and seen.attempt == job.attempt and seen.phase is not JobPhase.WAITING:
        desk.unsay("begin", name)
    elif not (job.is_over or job.leaving) and desk.may_say("begin", name, now):
        _begin(desk, job, now)


def _stop(desk: OperatingDesk, job: JobRecord, now: float) -> None:
    name, attempt = job.order.id, (job.order.id, job.attempt)
    if not desk.busy("begin", name) and desk.may_say("stop", attempt, now):
        desk.said("stop", attempt, now)
        desk.do("stop", name, partial(desk.parts.engine.stop, name, job.attempt))


WHY = "a job of several servers that came before has no machine yet"
_COMING = (MachinePhase.ORDERED, MachinePhase.STARTING, MachinePhase.ENDING)


def by_turn(fold: Fold, machines: list[MachineRecord]) -> list[MachineRecord]:
    """Machines to order as their jobs came, where there are jobs of several servers among them."""
    if not any(_are_pieces(_jobs(fold, machine)) for machine in machines):
        return machines
    return sorted(machines, key=lambda machine: (_turn(fold, machine), machine.instance))


def to_give_up(fold: Fold) -> MachineRecord | None:
    """The rented machine that is to end, where a job of several servers lacks one that limits do not allow, while
    pieces of a later job hold this one and wait for others themselves. None where that may end by itself."""
    standing = list(fold.standing.values())
    lacking = [m for m in standing if m.phase is MachinePhase.WANTED and _are_pieces(_jobs(fold, m))]
    if not lacking or any(m.phase in _COMING for m in standing):
        return None
    if any(job.on is not None and job.order.kind is JobKind.BATCH for job in fold.active.values()):
        return None
    waiting = [m for m in standing if m.phase is MachinePhase.READY and not m.reserved and _wait(_jobs(fold, m))]
    last = max(waiting, key=lambda machine: _turn(fold, machine), default=None)
    return last if last is not None and _turn(fold, last) > min(_turn(fold, m) for m in lacking) else None


def _turn(fold: Fold, machine: MachineRecord) -> tuple[float, str]:
    """When the first of its jobs came, and its name."""
    jobs = _jobs(fold, machine)
    return min(((j.came, j.order.piece.of if j.order.piece else j.order.id) for j in jobs), default=(-math.inf, ""))


def _jobs(fold: Fold, machine: MachineRecord) -> list[JobRecord]:
    return [fold.jobs[name] for name in machine.jobs]


def _are_pieces(jobs: Iterable[JobRecord]) -> bool:
    return any(job.order.piece is not None for job in jobs)


def _wait(jobs: list[JobRecord]) -> bool:
    """Whether nothing of them runs, or did its work: they wait for others of their jobs."""
    return _are_pieces(jobs) and all(job.on is None and not job.rests for job in jobs)
