"""The published form of the lines of ``hcloud decide`` and of a journal: what an event and a decision hold."""

from __future__ import annotations

from collections.abc import Mapping

from hcloud.model.json_text import DIALECT
from hcloud.model.running.decision import DecisionAction
from hcloud.store.journals.decisions import UNBOUNDED
from hcloud.store.journals.events import CORES, EVENT_KEYS, FORMS, INSTANCE, MEMORY, REFUSED, TIME, Schema

_TIME = TIME.schema
_INSTANCE = INSTANCE.schema
_TEXT: Schema = {"type": "string"}


def event_schema() -> Schema:
    """A line that tells of an event."""
    lines = [
        _closed(
            {key: {"const": name} if key == "event" else form.keys[key].schema for key in EVENT_KEYS[name]},
            [key for key in EVENT_KEYS[name] if key == "event" or form.keys[key].usual is REFUSED],
        )
        for name, form in FORMS.items()
    ]
    return {"$schema": DIALECT, "title": "an event, a line of hcloud decide", "oneOf": lines}


def decision_schema() -> Schema:
    """A line that tells of a decision."""
    line = _closed(
        {
            "at": _TIME,
            "decision": {"enum": [action.value for action in DecisionAction]},
            "job": _TEXT,
            "instance": _INSTANCE,
            "place": _TEXT,
            "reason": _TEXT,
            "margin": {"anyOf": [{"type": "number"}, {"const": UNBOUNDED}]},
            "unit": _TEXT,
            "until": _TIME,
            "why": _TEXT,
        },
        ["at", "decision", "place", "reason", "why"],
    )
    return {"$schema": DIALECT, "title": "a decision, a line of hcloud decide", **line}


_ATTEMPT: Mapping[str, Schema] = {"job": _TEXT, "attempt": {"type": "integer", "minimum": 1}}
_MACHINE: Mapping[str, Schema] = {"instance": _INSTANCE, "machine": _TEXT, "zone": _TEXT}
_SIZE: Mapping[str, Schema] = {"cores": CORES.schema, "memory_gib": MEMORY.schema}
_ORDERS: Mapping[str, Mapping[str, Schema]] = {
    "hear": {"events": _TEXT},
    "begin": {**_ATTEMPT, **_MACHINE, **_SIZE},
    "stop": _ATTEMPT,
    "resize": {**_ATTEMPT, "cores": _SIZE["cores"]},
    "leave": _MACHINE,
}
"""What the line of each order has, beside its time."""


def order_schema() -> Schema:
    """A line of the file of orders (see hcloud.store.exchange)."""
    lines = [
        _closed({"at": _TIME, "order": {"const": name}, **keys}, ["at", "order", *keys])
        for name, keys in _ORDERS.items()
    ]
    return {"$schema": DIALECT, "title": "an order, a line of orders.jsonl", "oneOf": lines}


def advice_schema() -> Schema:
    """A line that recommends commitments (see hcloud.model.running.note.CommitmentsAdvised); dollars are texts."""
    dollars: Schema = {"type": "string", "pattern": r"^-?\d+(\.\d+)?$"}
    texts: Schema = {"type": "array", "items": _TEXT}
    line = _closed(
        {
            "at": _TIME,
            "note": {"const": "advice"},
            "seconds": _TIME,
            "jobs": {"type": "integer", "minimum": 0},
            "vcpus": _TIME,
            "purchases": texts,
            "added": dollars,
            "after": dollars,
            "on_demand": dollars,
            "too_short": _TEXT,
            "notes": texts,
            "why_not": _TEXT,
        },
        ["at", "note", "seconds"],
    )
    return {"$schema": DIALECT, "title": "what to commit to by the demand of live work", **line}


def _closed(properties: Schema, required: list[str]) -> Schema:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
