"""What the controller decided, in words and numbers: where a job goes and why, and what was refused by what margin."""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass, replace
from enum import StrEnum

from hcloud.model.running.event import Event


class DecisionAction(StrEnum):
    """What is to be done; the value is what people and streams see."""

    PLACE = "place"
    LAUNCH = "launch"
    QUEUE = "queue"
    REFUSE = "refuse"
    RETAIN = "retain"
    RELEASE = "release"
    ENLARGE = "enlarge"
    MOVE = "move"
    END = "end"
    SHRINK = "shrink"
    ADD = "add"
    DROP = "drop"


@dataclass(frozen=True, slots=True)
class Declined:
    """An option that was not taken, and by how much it missed (None where a rule excluded it, not a number)."""

    option: str
    reason: str
    margin: float | None = None
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision. ``place`` is where the job goes or which instance is meant, ``reason`` a fixed word and ``why`` the
    sentence for it; ``margin`` is in ``unit`` (infinite where a wait has no foreseeable end, None where nothing was
    compared); ``until`` is when a retained instance goes."""

    at: float
    action: DecisionAction
    job: str | None
    instance: int | None
    place: str
    reason: str
    margin: float | None
    unit: str
    why: str
    until: float | None = None

    def is_same(self, other: Decision) -> bool:
        """Whether the same was decided, in whatever words."""
        return self == other or without_words(astuple(self)) == without_words(astuple(other))


Decided = tuple[float, DecisionAction, str | None, int | None, str, str, float | None, str, str, float | None]
"""The fields of a :class:`Decision`, in their order, which is made in less time and compared in less."""


def without_words(decided: tuple[object, ...]) -> tuple[object, ...]:
    """The fields of a decision without its sentence and the reason of a wait, on which nothing depends: a later hcloud
    may tell either otherwise."""
    reason = () if decided[1] == DecisionAction.QUEUE else decided[5:6]
    return *decided[:5], *reason, *decided[6:8], *decided[9:]


@dataclass(frozen=True, slots=True)
class Considered:
    """A job's first decision with the alternatives that stood beside it."""

    decision: Decision
    refused: tuple[Declined, ...]


@dataclass(frozen=True, slots=True)
class GoneOn:
    """Where a stream of decisions goes on: the lines that a crash kept from being told, how many events were replayed,
    when the last of them was, and whether the journal's last line was torn."""

    untold: str = ""
    replayed: int = 0
    last: float = 0.0
    torn: bool = False


Entry = Event | Decision
"""A line of a journal: what happened, or what was decided."""


def finite(decision: Decision | None) -> Decision | None:
    """A decision that JSON can hold: a wait without a foreseeable end has no margin."""
    endless = decision is not None and decision.margin is not None and not math.isfinite(decision.margin)
    return replace(decision, margin=None) if decision is not None and endless else decision
