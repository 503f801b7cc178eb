"""Decisions as JSON lines, with numbers that come back exactly."""

from __future__ import annotations

import math

from hcloud.model.running.decision import Decision, DecisionAction
from hcloud.model.running.event import EventError
from hcloud.store.journals.events import Document

UNBOUNDED = "unbounded"
"""A margin without end: JSON knows no infinity."""


def decision_document(decision: Decision) -> Document:
    """A decision as it stands in a line; what does not apply is left out."""
    made: Document = {"at": decision.at, "decision": decision.action.value}
    if decision.job is not None:
        made["job"] = decision.job
    if decision.instance is not None:
        made["instance"] = decision.instance
    made["place"], made["reason"] = decision.place, decision.reason
    if decision.margin is not None:
        made["margin"] = decision.margin if math.isfinite(decision.margin) else UNBOUNDED
        made["unit"] = decision.unit
    if decision.until is not None:
        made["until"] = decision.until
    made["why"] = decision.why
    return made


def parse_decision(document: Document) -> Decision:
    """The decision in a line of a journal; raises EventError where it is none."""
    given = dict(document)
    try:
        action = DecisionAction(given.pop("decision"))
        margin = given.pop("margin", None)
        margin = math.inf if margin == UNBOUNDED else margin
        usual = {"job": None, "instance": None, "unit": "", "until": None}
        if not math.isfinite(given["at"]):
            raise EventError(f"not a decision: at is {given['at']}")
        return Decision(action=action, margin=margin, **{**usual, **given})
    except (TypeError, ValueError, KeyError) as error:
        raise EventError(f"not a decision: {error}") from None
