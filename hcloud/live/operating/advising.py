"""Now and then a plan is made anew from the demand that live work had, for people to buy by: nothing is bought here."""

from __future__ import annotations

from functools import partial

from hcloud.live.operating.desk import OperatingDesk
from hcloud.live.operating.workers import Answer
from hcloud.model.running.note import CommitmentsAdvised


def advise(desk: OperatingDesk, now: float) -> None:
    """Have a plan made where the last one is as old as it may be; that is known by the journal."""
    last = desk.fold.began if desk.fold.advised is None else desk.fold.advised.at
    if desk.terms.replan is not None and now - last >= desk.terms.replan_every:
        desk.do("replan", 0, partial(desk.terms.replan, now))


def advised(desk: OperatingDesk, answer: Answer, now: float) -> None:
    """Note what was planned; what could not be planned is tried again in its time, too."""
    found = answer.found
    if not isinstance(found, CommitmentsAdvised):
        found = CommitmentsAdvised(now, desk.terms.replan_every, why_not=str(answer.error))
    desk.tell(found)
    desk.advice.append(found)
