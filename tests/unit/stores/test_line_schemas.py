"""The published form of lines: what a controller takes and tells is of it, and what it refuses is not."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from random import Random

import pytest
from jsonschema import Draft202012Validator
from living import events_of, session

from hcloud.model.running.event import EventError
from hcloud.model.running.note import CommitmentsAdvised
from hcloud.store.exchange import TOLD
from hcloud.store.journals.events import EVENT_KEYS, parse_event
from hcloud.store.journals.journal import entry_line
from hcloud.store.journals.line_schemas import advice_schema, decision_schema, event_schema, told_schema
from hcloud.store.journals.notes import note_document

EVENTS, DECISIONS = (Draft202012Validator(schema()) for schema in (event_schema, decision_schema))
GOOD: dict[str, dict[str, object]] = {
    "arrival": {"job": "a", "cores": 2},
    "completion": {"job": "a"},
    "failed": {"job": "a", "code": 1},
    "cancelled": {"job": 7},
    "below-qos": {"job": "a"},
    "progress": {"job": "a", "share": 0.5},
    "latency": {"job": "a", "p99": 20.5},
    "reclassified": {"job": "a", "estimate": [1] * 10, "performance": 0.5},
    "ready": {"instance": 1},
    "launch-failed": {"instance": 1, "why": "none left", "until": 5},
    "interruption": {"instance": 1},
    "lost": {"instance": 1},
    "closing": {"instance": 1},
    "sample": {"instance": 1, "contention": [1] * 10},
    "quality": {"instance": 1, "score": 1},
    "pool": {"size": 3},
    "clock": {},
}
ODD: tuple[object, ...] = (None, True, -1, 0, 0.5, 2, 10**16, "", "noon", [], [1] * 10, [100] * 10, ["a"], [[]], {})


def of_one(name: str) -> Draft202012Validator:
    """The form of one event; a line of another event is of no other form, which says so by its name alone."""
    several = event_schema()["oneOf"]
    assert isinstance(several, list)
    forms = {form["properties"]["event"]["const"]: form for form in several}
    assert forms.keys() == GOOD.keys()
    assert all("event" in form["required"] for form in forms.values())
    return Draft202012Validator(forms[name])


def agree(document: dict[str, object], form: Draft202012Validator = EVENTS) -> None:
    try:
        parse_event(document)
        taken = True
    except EventError:
        taken = False
    assert form.is_valid(document) == taken, document


def test_what_another_scheduler_tells_needs_no_time_and_nothing_of_machines() -> None:
    validator = Draft202012Validator(told_schema(TOLD))
    told = [{"event": name, **GOOD[name]} for name in TOLD if name != "stopped"]
    for document in (*told, {"event": "stopped", "job": "a", "attempt": 1}):
        assert validator.is_valid(document), document
        assert validator.is_valid({"at": 1795416660.5, **document}), document
    for name in ("ready", "lost", "clock"):
        assert not validator.is_valid({"at": 1, "event": name, **GOOD[name]}), name


def test_the_schemas_are_schemas() -> None:
    for validator in (EVENTS, DECISIONS):
        Draft202012Validator.check_schema(validator.schema)
    assert GOOD.keys() == EVENT_KEYS.keys()


@pytest.mark.slow
@pytest.mark.parametrize("name", GOOD)
def test_the_schema_takes_what_the_controller_takes(name: str) -> None:
    """Every key with odd values, every key left out, and one key too many."""
    good = {"at": 5, "event": name, **GOOD[name]}
    assert EVENTS.is_valid(good)
    agree({**good, "core": 1})
    agree({**good, "event": f"{name}s"})
    form = of_one(name)
    for key in EVENT_KEYS[name]:
        agree({k: v for k, v in good.items() if k != key})
        for odd in ODD:
            agree({**good, key: odd}, EVENTS if key == "event" else form)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "pool"), [("SR", 2), ("OdM", 0), ("HM", 2)])
def test_lines_of_a_journal_are_of_the_schemas(name: str, pool: int) -> None:
    chance, live = Random(7), session(name, pool)
    draws = [tuple(chance.randint(0, most) for most in (15, 1000, 100, 40)) for _ in range(60)]
    for event in events_of(live, draws):  # type: ignore[arg-type]
        EVENTS.validate(json.loads(entry_line(event)))
        for decision in live.handle(event):
            DECISIONS.validate(json.loads(entry_line(decision)))
            assert decision.margin is None or decision.margin == math.inf or math.isfinite(decision.margin)


def test_what_is_advised_is_of_its_published_form() -> None:
    validator = Draft202012Validator(advice_schema())
    whole = CommitmentsAdvised(1.0, 2.0, 3, 4.5, ("a plan",), Decimal("1.2"), Decimal(2), Decimal(-3), "short", ("x",))
    for advice in (whole, CommitmentsAdvised(1.0, 2.0, why_not="no price")):
        validator.validate(json.loads(json.dumps(note_document(advice))))
    assert not validator.is_valid(note_document(whole) | {"more": 1})
