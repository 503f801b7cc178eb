"""The published form of the lines of ``hcloud decide`` and of a journal: what an event and a decision hold."""

from __future__ import annotations

from collections.abc import Mapping

from hcloud.model.json_text import DIALECT
from hcloud.model.running.decision import DecisionAction
from hcloud.model.running.event import ENTRIES, During
from hcloud.store.journals.decisions import UNBOUNDED
from hcloud.store.journals.events import (
    EVENT_KEYS,
    LONGEST_NAME,
    LONGEST_WHY,
    MOST,
    MOST_AGENTS,
    MOST_PRIORITY,
    MOST_REFUSED,
    MOST_SERVERS,
)

Schema = dict[str, object]


def _number(least: float, most: float, *others: str) -> Schema:
    return {"type": ["number", *others] if others else "number", "minimum": least, "maximum": most}


def _entries(*others: str) -> Schema:
    items = {"type": "integer", "minimum": 0, "maximum": 99}
    kind = ["array", *others] if others else "array"
    return {"type": kind, "items": items, "minItems": ENTRIES, "maxItems": ENTRIES}


_TIME = _number(0, MOST)
_NAME: Schema = {"type": ["string", "integer"], "minLength": 1, "maxLength": LONGEST_NAME}
_INSTANCE: Schema = {"type": "integer", "minimum": 0}
_FLAG: Schema = {"type": "boolean"}
_TEXT: Schema = {"type": "string"}
_VALUES: Mapping[str, Schema] = {
    "at": _TIME,
    "job": _NAME,
    "cores": _number(0, 1e6),
    "memory_gib": _number(0, 1e6),
    "vector": _entries(),
    "restartable": _FLAG,
    "coin": _number(0, 1),
    "submitted": _number(0, MOST, "null"),
    "true_vector": _entries("null"),
    "tolerates": _entries("null"),
    "true_tolerates": _entries("null"),
    "expected": _number(0, MOST, "null"),
    "slack": _number(-MOST, MOST, "null"),
    "urgent": _FLAG,
    "spare": _FLAG,
    "copy_of": _NAME,
    "priority": {"type": "integer", "minimum": -MOST_PRIORITY, "maximum": MOST_PRIORITY},
    "movable": _FLAG,
    "agent": {"type": "integer", "minimum": 0, "maximum": MOST_AGENTS},
    "copy_age": _TIME,
    "refused": {"type": "integer", "minimum": 0, "maximum": MOST_REFUSED},
    "platform": {"type": "integer", "minimum": 0, "maximum": MOST_SERVERS},
    "pieces": {"type": "integer", "minimum": 1, "maximum": MOST_SERVERS},
    "after": _NAME,
    "ranked": {"type": "array", "items": {"type": "integer", "minimum": 0, "exclusiveMaximum": MOST_SERVERS}},
    "performance": _number(0, 1000),
    "rate": _number(0, MOST, "null"),
    "estimate": _entries(),
    "tail": _number(0, MOST, "null"),
    "code": {"type": "integer", "minimum": -255, "maximum": 255, "not": {"const": 0}},
    "share": _number(0, 1),
    "p99": _number(0, MOST),
    "instance": _INSTANCE,
    "spin_up": _number(0, MOST, "null"),
    "why": {"type": "string", "minLength": 1, "maxLength": LONGEST_WHY},
    "until": _TIME,
    "unbegun": {"type": "array", "items": _NAME},
    "score": _number(0, 1),
    "size": {"type": "integer", "minimum": 0, "maximum": MOST_SERVERS},
    "contention": _entries(),
    "over": _FLAG,
    "measures": _NAME,
    "suffers": _NAME,
    "during": {"enum": [during.value for during in During]},
}
_OPTIONAL = frozenset(
    {
        "memory_gib",
        "vector",
        "restartable",
        "coin",
        "submitted",
        "true_vector",
        "tolerates",
        "true_tolerates",
        "expected",
        "slack",
        "urgent",
        "spare",
        "copy_of",
        "priority",
        "movable",
        "agent",
        "copy_age",
        "refused",
        "pieces",
        "after",
        "platform",
        "ranked",
    }
    | {"over", "measures", "suffers", "performance", "rate", "tail", "spin_up", "unbegun", "during"}
)
"""Keys that a line may leave out, whatever its event."""


def event_schema() -> Schema:
    """A line that tells of an event."""
    lines = [
        _closed(
            {key: {"const": name} if key == "event" else _VALUES[key] for key in keys},
            [key for key in keys if key not in _OPTIONAL],
        )
        for name, keys in EVENT_KEYS.items()
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
_SIZE: Mapping[str, Schema] = {"cores": _number(0, 1e6), "memory_gib": _number(0, 1e6)}
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
            "seconds": _number(0, MOST),
            "jobs": {"type": "integer", "minimum": 0},
            "vcpus": _number(0, MOST),
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
