"""What a command changes in the book of instances, and the decision that it is for people."""

from __future__ import annotations

from typing import NamedTuple

from hcloud.control.sessions.decode import decided
from hcloud.control.sessions.instances import Instance, InstanceBook
from hcloud.control.state import INTERRUPTIBLE, OWN
from hcloud.model.running.decision import Decided
from hcloud.policy import codes
from hcloud.policy.facts import DecisionFacts, DecodedCommand, Setup


class Order(NamedTuple):
    """A command: what, on the server in which slot (-1: none), the action, reason and margin behind it, and the job
    that it is about; of a launch also the type and how that is paid for."""

    what: int
    slot: int
    action: int
    reason: int
    margin: float
    job: str | None
    type: int = -1
    paid: int = -1


def booked(setup: Setup, book: InstanceBook, order: Order, facts: DecisionFacts, said: str = "") -> Decided:
    """Book what an order changes; the fields of the decision that it is. ``said`` is about a release."""
    what, slot, action, reason, margin, job, *_ = order
    if what == codes.LAUNCH:
        book.add(Instance(slot, order.type, order.paid, facts.at))
        wanted = _wanted(setup, action, facts)
        said = "" if job is None or wanted == order.type else setup.types[wanted].name
    elif what != codes.RELEASE:
        said = ""
    number = book.number(slot) if slot >= 0 else None
    if what == codes.RETAIN and number is not None:
        book.keep(number, margin)
    place = place_of(setup, book, what, number)
    made = decided(setup, DecodedCommand(what, action, reason, margin, job, number, place, said), facts)
    if what == codes.RELEASE and number is not None:
        del book.instances[number]
    return made


def _wanted(setup: Setup, action: int, facts: DecisionFacts) -> int:
    """The type that a job is launched where nothing keeps it from that."""
    large = setup.large
    holds = facts.ask <= large.cores and facts.memory <= large.memory and facts.may_be_large
    return setup.rules.large if action == codes.LARGE and holds else facts.kind


def place_of(setup: Setup, book: InstanceBook, what: int, number: int | None) -> str:
    """Where a command sends a job, in words."""
    if number is None:
        return "local queue" if what == codes.WAIT else "nowhere"
    instance = book.instances[number]
    if instance.paid == OWN:
        return f"reserved server {number}"
    paid = "spot" if instance.paid == INTERRUPTIBLE else "on-demand"
    return f"{paid} {setup.types[instance.kind].name}"
