"""What is seen of machines and what came of calls to the cloud, as lines of the journal."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice

from hcloud.control.operating.records import DRAINED, JobRecord, MachinePhase, MachineRecord
from hcloud.control.operating.wanted import could_sit_elsewhere, held_back, shut_until, to_end, to_launch
from hcloud.errors import (
    CredentialsError,
    DeniedByGuardError,
    DeniedError,
    HcloudError,
    NotFoundError,
    RefusedError,
    ThrottledError,
    UnavailableError,
    UnknownOutcomeError,
)
from hcloud.live.operating.acting import end
from hcloud.live.operating.desk import OperatingDesk
from hcloud.live.operating.losing import heed, lose
from hcloud.live.operating.machines import End, Ending, NotCertainError, Sight
from hcloud.live.operating.workers import Answer
from hcloud.model.catalog import PurchaseOption
from hcloud.model.holdings.live import PROTECTED_TAG, Machine, Notice
from hcloud.model.running.decision import Decision, DecisionAction
from hcloud.model.running.event import Closing, Interruption, LaunchFailed, Quality, Ready
from hcloud.model.running.job import JobPhase, NodePhase
from hcloud.model.running.note import AttemptOver, Ended, Held, Joined, Launched, NotLaunched, Settled

MOST_ANEW = 16
"""Ours: machines about whose jobs is decided anew in one pass."""
_OPEN = (ThrottledError, UnavailableError, UnknownOutcomeError, NotCertainError)
_WRONG = (CredentialsError, DeniedError, NotFoundError, RefusedError)
"""What no retry mends: the settings, or the rights of the credentials. That a type is not sold is found before, when
its zones are asked for."""


def see_machine(desk: OperatingDesk, machine: MachineRecord, now: float) -> None:
    """What follows from how a machine stands with the engine."""
    node = desk.nodes.get(machine.instance, NodePhase.JOINING)
    starting, ready = machine.phase is MachinePhase.STARTING, machine.phase is MachinePhase.READY
    if starting and node is NodePhase.READY:
        _welcome(desk, machine, now)
    elif starting and desk.parts.machines.waited_for(machine) > desk.terms.rhythm.join:
        _give_up(desk, machine, "it did not become ready for jobs in time", now)
    elif (starting or ready) and node is NodePhase.GONE:
        end(desk, machine, "it does not run jobs any more")
    elif ready and machine.instance in desk.notices and machine.released is None:
        heed(desk, machine, now)
    elif ready and machine.released is None:
        _see_drained(desk, machine, node, now)


def _see_drained(desk: OperatingDesk, machine: MachineRecord, node: NodePhase, now: float) -> None:
    """A machine that its engine drains gets no other job, and jobs again when it is drained no more."""
    is_closed = desk.session.is_closed(machine.instance)
    if node is NodePhase.READY and is_closed:
        if not desk.is_kept_closed(machine):
            desk.happen(Closing(now, machine.instance, over=True, suffers=desk.shut_for.pop(machine.instance, None)))
        _say_why(desk, machine, "", now)
    elif node is NodePhase.LEAVING and machine.option is PurchaseOption.SPOT:
        desk.happen(Interruption(now, machine.instance))
    elif node is NodePhase.LEAVING and not desk.finishing:  # at the end the loop lets go of all
        _say_why(desk, machine, DRAINED, now)
        if not is_closed:
            desk.happen(Closing(now, machine.instance))


def _say_why(desk: OperatingDesk, machine: MachineRecord, why: str, now: float) -> None:
    """That somebody drained a machine, or (``why`` is empty) that it is open again, for those who look."""
    if machine.why != why and machine.why in ("", DRAINED):
        desk.tell(Held(now, machine.instance, why))


def _welcome(desk: OperatingDesk, machine: MachineRecord, now: float) -> None:
    """A machine runs jobs from now on; one that is rented is probed before."""
    number, probe = machine.instance, desk.terms.probe
    if probe is not None and not machine.reserved and number not in desk.scores:
        desk.do("probe", number, partial(probe, number))
        return
    desk.refused.pop(machine.type_name, None)
    desk.tell(Joined(now, number))
    if not machine.reserved:
        desk.happen(Ready(now, number, now - machine.ordered_at if machine.ordered_at is not None else None))
    score = desk.scores.pop(number, math.nan)
    if not math.isnan(score):
        desk.happen(Quality(now, number, score))


def _give_up(desk: OperatingDesk, machine: MachineRecord, why: str, now: float) -> None:
    """A machine never joined: one of the reserve is replaced, about the jobs of another one is decided anew."""
    if machine.reserved:
        end(desk, machine, why)
    else:
        desk.happen(LaunchFailed(now, machine.instance, why, desk.not_before(machine.type_name, now)))


def decide_anew(desk: OperatingDesk, now: float) -> None:
    """Let jobs that wait for a launch which is held back take what became free meanwhile."""
    if not desk.freed:
        return
    desk.freed = False
    for machine in islice(held_back(desk.fold, now), MOST_ANEW):
        if could_sit_elsewhere(desk.fold, machine):
            why = machine.why or "its launch is waiting, and other capacity became free"
            waited = set(machine.jobs)
            made = desk.happen(LaunchFailed(now, machine.instance, why, max(shut_until(desk.fold, machine), now)))
            if not any(_sits(desk, decision) for decision in made):
                desk.unwilling |= waited  # the policy wants none of what is free for them
                return


def _sits(desk: OperatingDesk, decision: Decision) -> bool:
    """Whether a job was put on a machine that is there."""
    placed = decision.action is DecisionAction.PLACE and decision.instance is not None
    return placed and desk.fold.machines[decision.instance or 0].phase is MachinePhase.READY


def answered(desk: OperatingDesk, answer: Answer, now: float) -> None:
    """What a worker found."""
    what, who = answer.about if isinstance(answer.about, tuple) else ("", 0)
    of_machine: Mapping[str, Callable[[OperatingDesk, Answer, MachineRecord, float], None]] = {
        "launch": _launch_answered,
        "probe": _probe_answered,
        "check": _check_answered,
    }
    if what == "zones":
        _zones_answered(desk, answer, str(who), now)
    elif what == "end":
        desk.ending -= set(who)
        came: Mapping[int, Ending] = dict.fromkeys(who, answer.error)
        came = answer.found if isinstance(answer.found, Mapping) else came
        for number in sorted(who, key=lambda one: isinstance(came[one], HcloudError)):  # an end must not wipe an error
            desk.slow.pop(number, None)
            _end_answered(desk, came[number], desk.fold.machines[number], now)
        _tell_of_slow(desk)
    elif what in of_machine:
        if (machine := desk.fold.machines.get(who)) is not None:
            of_machine[what](desk, answer, machine, now)
    elif isinstance(answer.found, Sight):
        desk.troubles.pop("cloud", None)
        _compare(desk, answer.found, now)
    elif answer.error is not None:
        desk.troubles["cloud" if what in ("look", "strays") else "engine"] = str(answer.error)


def _launch_answered(desk: OperatingDesk, answer: Answer, machine: MachineRecord, now: float) -> None:
    number = machine.instance
    if isinstance(answer.error, _WRONG):
        if answer.about == ("launch", number) or not isinstance(answer.error, NotFoundError):
            desk.bar(machine.type_name, answer.error, now)
    elif not isinstance(answer.error, _OPEN):
        desk.unbar(machine.type_name)
    if isinstance(answer.found, Machine):
        _launched(desk, machine, answer.found, now)
    elif isinstance(answer.error, _OPEN):
        desk.troubles["cloud"] = str(answer.error)
        desk.said("launch", number, now)
    elif answer.error is not None:
        why, until = str(answer.error), desk.not_before(machine.type_name, now)
        desk.tell(NotLaunched(now, number, why, until))
        if not machine.reserved and machine.phase is MachinePhase.WANTED:
            desk.happen(LaunchFailed(now, number, why, until))


def _launched(desk: OperatingDesk, machine: MachineRecord, found: Machine, now: float) -> None:
    """It is known by its id from now on."""
    launched = found.launched.timestamp() if found.launched is not None else now
    desk.tell(Launched(now, machine.instance, found.id, launched))
    desk.troubles.pop("cloud", None)


def _zones_answered(desk: OperatingDesk, answer: Answer, type_name: str, now: float) -> None:
    """A type that is sold nowhere here, or that nobody can be asked about, cannot be launched."""
    wanted = [m for m in to_launch(desk.fold, now) if m.type_name == type_name and m.phase is MachinePhase.WANTED]
    for machine in wanted if answer.error is not None else ():
        _launch_answered(desk, answer, machine, now)


def _end_answered(desk: OperatingDesk, came: Ending, machine: MachineRecord, now: float) -> None:
    if isinstance(came, Machine):
        _launched(desk, machine, came, now)
        return
    if not isinstance(came, End):
        desk.said("end", machine.instance, now)
        if isinstance(came, NotCertainError):
            desk.slow[machine.instance] = str(came)
        elif came is not None:
            desk.troubles["cloud"] = str(came)
        if isinstance(came, DeniedByGuardError) and machine.why != str(came):
            desk.tell(Held(now, machine.instance, str(came)))  # for those who look while it stands
        return
    if not _attempts_known(desk, machine, now):
        desk.said("end", machine.instance, now)
        return
    desk.troubles.pop("cloud", None)
    desk.tell(Ended(now, machine.instance, came.at.timestamp() if came.at is not None else None))
    _end_attempts(desk, machine, now)
    lose(desk, machine, now)


def _tell_of_slow(desk: OperatingDesk) -> None:
    desk.troubles.pop("ends", None)
    if desk.slow:
        more = len(desk.slow) - 1
        desk.troubles["ends"] = desk.slow[min(desk.slow)] + (f"; {more:,} more may not have ended yet" if more else "")


def _attempts_known(desk: OperatingDesk, machine: MachineRecord, now: float) -> bool:
    """Whether the engine can say what became of all that was begun on a machine that is gone; else it is asked again,
    since a job may have ended before, or something of it may still run."""

    def begun() -> list[JobRecord]:
        return [job for job in desk.fold.active.values() if job.on == machine.instance]

    if begun() and not desk.look(now):
        return desk.forced
    seen = (desk.sightings.get(job.order.id) for job in begun())
    return desk.forced or not any(one is not None and one.phase is JobPhase.UNKNOWN for one in seen)


def _end_attempts(desk: OperatingDesk, machine: MachineRecord, now: float) -> None:
    """What was begun on a machine that is gone, and did not end before as the engine tells it, is lost."""
    for job in [j for j in desk.fold.active.values() if j.on == machine.instance]:
        seen = desk.sightings.get(job.order.id)
        mine = seen if seen is not None and seen.attempt == job.attempt else None
        waited = mine is not None and mine.phase is JobPhase.WAITING
        began = None if waited else mine.began if mine is not None and mine.began is not None else now
        desk.tell(AttemptOver(now, job.order.id, job.attempt, JobPhase.LOST, began, now))


def _probe_answered(desk: OperatingDesk, answer: Answer, machine: MachineRecord, _now: float) -> None:
    desk.scores[machine.instance] = answer.found if isinstance(answer.found, float) else math.nan


def _check_answered(desk: OperatingDesk, answer: Answer, machine: MachineRecord, _now: float) -> None:
    if answer.found is True:
        end(desk, machine, "its cloud ended it")


def _compare(desk: OperatingDesk, sight: Sight, now: float) -> None:
    """What the cloud shows beside what should stand: what it leaves out is asked about, what nobody wants is ended.

    A machine is known by its id, whatever became of its tags; by its key, which others may bear, too, before that.
    """
    wanted = [m for m in desk.fold.standing.values() if m.stands]
    numbers = {machine.id: machine.instance for machine in wanted if machine.id}
    coming = {machine.key: machine.instance for machine in wanted if not machine.id}
    numbers = {i: coming[m.key] for i, m in sight.machines.items() if m.key in coming} | numbers
    desk.parts.shown({numbers[i]: m for i, m in sight.machines.items() if i in numbers})
    for machine in wanted:
        there = machine.phase in (MachinePhase.STARTING, MachinePhase.READY)
        if there and desk.parts.machines.settles(machine):
            desk.tell(Settled(now, machine.instance))
        if (
            there
            and machine.instance not in desk.ending
            and machine.id not in sight.machines
            and (machine.launched or now) <= sight.asked
        ):
            desk.do("check", machine.instance, partial(desk.parts.machines.is_gone, replace(machine)))
    before = {n: notice for n, notice in desk.notices.items() if n in numbers.values()} if sight.unheard else {}
    desk.notices = before | {numbers[i]: notice for i, notice in sight.notices.items() if i in numbers}
    ours = {machine.instance for machine in to_end(desk.fold, all_of_them=desk.finishing)}
    said = [f"machine {number}: {_said(notice)}" for number, notice in desk.notices.items() if number not in ours]
    desk.troubles["notices"] = "; ".join([sight.unheard] if sight.unheard else said)
    if not desk.troubles["notices"]:
        del desk.troubles["notices"]
    strange = (m for i, m in sight.machines.items() if i not in numbers and m.key and PROTECTED_TAG not in m.tags)
    if strays := [m.id for m in strange]:
        desk.do("strays", 0, partial(desk.parts.machines.end_strays, strays))


def _said(notice: Notice) -> str:
    return notice.why if notice.at is None else f"{notice.why} from {notice.at:%Y-%m-%d %H:%M} UTC on"
