"""States as bytes: canonical, with a checksum, by a published schema, and without a place for a secret."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta, timezone
from typing import Any

import jsonschema
import pytest
from states import AT, LINEAGE, SCOPE, a_record, a_state, several

from hcloud.errors import InputError
from hcloud.model.holdings.state import State
from hcloud.store.records.durable_lines import NO_SUM, sealed
from hcloud.store.records.intent_codec import Head, entry_content, read_lines, written
from hcloud.store.states.codec import checksum, decode_state, state_schema
from hcloud.store.states.remembered import StateEncoder, encode_state

SECRET = re.compile("secret|token|passw|credential|private|session|signature|access", re.IGNORECASE)


def test_the_same_state_is_the_same_bytes_whatever_order_its_records_are_in() -> None:
    state = a_state(5)
    assert encode_state(replace(state, records=state.records[::-1])) == encode_state(state)
    assert encode_state(decode_state(encode_state(state), "x")) == encode_state(state)


def test_states_one_after_the_other_are_the_bytes_that_each_would_be_alone() -> None:
    encoder, first = StateEncoder(), a_state(5)
    changed = replace(first.records[2], ending=True)
    for state in (
        first,
        replace(first, serial=2),
        replace(first, records=(*first.records[:2], changed, *first.records[3:])),
        replace(first, records=first.records[3:]),
        replace(first, records=(*first.records[3:], a_record(9), *first.records[:2])),
    ):
        assert encoder.encode(state) == encode_state(state)
        assert decode_state(encoder.encode(state), "x").serial == state.serial
    for wrong in (replace(a_record(11), zone="a\nb"), replace(first.records[3], address="x"), first.records[3]):
        with pytest.raises(InputError, match="the state to be written"):
            encoder.encode(replace(first, records=(*first.records[3:], wrong)))


def test_the_checksum_is_what_its_description_says() -> None:
    document: dict[str, Any] = json.loads(encode_state(a_state()))
    assert checksum(document) == document["checksum"]
    assert checksum({**document, "serial": 9}) != document["checksum"]
    assert "sorted keys" in str(state_schema()["properties"])


def test_times_are_utc_and_exact() -> None:
    local = AT.astimezone(timezone(timedelta(hours=5, minutes=30))) + timedelta(microseconds=123456)
    state = replace(a_state(0), records=(replace(a_record(), intended=local, missed_since=local),))
    (record,) = decode_state(encode_state(state), "x").records
    assert record.intended == local
    assert record.missed_since == local
    assert record.intended.utcoffset() == timedelta(0)
    assert b"2026-11-21T10:00:00.123456Z" in encode_state(state)


@pytest.mark.slow
@pytest.mark.parametrize("state", [State(LINEAGE), a_state(), replace(a_state(), scope=replace(SCOPE, cloud="local"))])
def test_a_state_is_of_the_published_schema(state: State) -> None:
    schema: Any = state_schema()
    document = json.loads(encode_state(state))
    jsonschema.Draft202012Validator(schema).validate(document)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema).validate({**document, "more": 1})


def test_a_state_that_could_not_be_read_back_is_not_written() -> None:
    for wrong in (
        replace(a_state(), lineage="short"),
        replace(a_state(), serial=-1),
        replace(a_state(), records=(a_record(1), a_record(1))),
        replace(a_state(), records=(replace(a_record(), id=""),)),
        replace(a_state(), project="\ud800"),
    ):
        with pytest.raises(InputError, match="the state to be written"):
            encode_state(wrong)


def test_L6_V7_no_field_of_state_or_journal_is_for_a_secret() -> None:
    found = set(names(json.loads(encode_state(a_state()))))
    for entry in several():
        found |= set(names(json.loads(json.dumps(entry_content(entry)))))
    assert not {name for name in found if SECRET.search(name)}
    assert len(found) > 40
    assert set(names(dict(state_schema()["properties"]))) >= {"lineage", "serial", "records"}  # type: ignore[call-overload]


def names(document: object) -> Iterator[str]:
    if isinstance(document, dict):
        for name, value in document.items():
            yield name
            yield from names(value)
    if isinstance(document, list):
        for value in document:
            yield from names(value)


def test_a_journal_is_read_as_it_was_written() -> None:
    head = Head(LINEAGE, 4, 9)
    data = written(head, tuple(several()))
    lines = read_lines(data, "x", "")
    assert (lines.head, list(lines.entries)) == (head, several())
    assert (lines.whole, lines.size) == (len(data), len(data))
    assert data.isascii()
    assert written(head, lines.entries) == data


@pytest.mark.parametrize(
    "content",
    [
        {"intent": {}, "conclusion": {}},
        {"something": {}},
        {"intent": []},
        {"intent": None},
        {"conclusion": {"number": 1}},
        {"journal": {}},
        {},
    ],
)
def test_a_line_that_says_something_else_is_refused(content: dict[str, object]) -> None:
    head = written(Head(LINEAGE, 0, 1), ())
    line, _ = sealed(read_lines(head, "x", "").sum, content)
    with pytest.raises(InputError, match="x: line 2"):
        read_lines(head + line, "x", "")


@pytest.mark.parametrize(
    "told",
    [
        {"format_version": "1.0"},
        {"format_version": "1.0", "lineage": "x", "serial": 0, "number": 1},
        {"format_version": "1.0", "lineage": "", "serial": -1, "number": 1},
        {"format_version": "1.0", "lineage": "", "serial": 0, "number": 0},
        {"format_version": "1.0", "lineage": "", "serial": True, "number": 1},
        {"format_version": "1.0", "lineage": "", "serial": 0, "number": 1, "more": 1},
        {"format_version": "1.1", "lineage": "", "serial": 0, "number": 1},
    ],
)
def test_a_first_line_that_says_something_else_is_refused(told: dict[str, object]) -> None:
    with pytest.raises(InputError, match="x: line 1"):
        read_lines(sealed(NO_SUM, {"journal": told})[0], "x", "")
