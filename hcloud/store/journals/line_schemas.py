"""The published form of the lines of ``hcloud decide`` and of a journal: what an event and a decision hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hcloud.model.json_text import DIALECT, closed
from hcloud.model.running.decision import DecisionAction
from hcloud.store.journals.decisions import UNBOUNDED
from hcloud.store.journals.events import CORES, EVENT_KEYS, FORMS, INSTANCE, MEMORY, REFUSED, TIME, Schema

_TIME = TIME.schema
_INSTANCE = INSTANCE.schema
_TEXT: Schema = {"type": "string"}


def event_schema() -> Schema:
    """A line that tells of an event."""
    lines = [_event_line(name) for name in FORMS]
    return {"$schema": DIALECT, "title": "an event, a line of hcloud decide", "oneOf": lines}


def told_schema(names: Iterable[str]) -> Schema:
    """A line of the file of events that another scheduler writes (see hcloud.store.exchange): its time may be left out,
    and that an attempt has ended because it was to stop is told there only."""
    lines = [_event_line(name, without=_PARTS, usual=("at",)) for name in names if name in FORMS]
    stopped = closed({"at": _TIME, "event": {"const": "stopped"}, **_ATTEMPT}, ["event", *_ATTEMPT])
    return {"$schema": DIALECT, "title": "an event, a line of events.jsonl", "oneOf": [*lines, stopped]}


def _event_line(name: str, without: Sequence[str] = (), usual: Sequence[str] = ()) -> Schema:
    keys, form = [key for key in EVENT_KEYS[name] if key not in without], FORMS[name]
    needed = [key for key in keys if key == "event" or (form.keys[key].usual is REFUSED and key not in usual)]
    return closed({key: {"const": name} if key == "event" else form.keys[key].schema for key in keys}, needed)


def decision_schema() -> Schema:
    """A line that tells of a decision."""
    line = closed(
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
_PARTS = ("pieces", "after")
"""What only journals say of arrivals: each job that another scheduler tells of is whole."""


def order_schema() -> Schema:
    """A line of the file of orders (see hcloud.store.exchange)."""
    lines = [
        closed({"at": _TIME, "order": {"const": name}, **keys}, ["at", "order", *keys])
        for name, keys in _ORDERS.items()
    ]
    return {"$schema": DIALECT, "title": "an order, a line of orders.jsonl", "oneOf": lines}


def advice_schema() -> Schema:
    """A line that recommends commitments (see hcloud.model.running.note.CommitmentsAdvised); dollars are texts."""
    dollars: Schema = {"type": "string", "pattern": r"^-?\d+(\.\d+)?$"}
    texts: Schema = {"type": "array", "items": _TEXT}
    line = closed(
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
