"""Rows A8 and H6 for the journal: it tells whole entries in their order, or is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from states import (
    AT,
    OTHER_LINEAGE,
    a_conclusion,
    a_machine,
    a_purchase,
    a_record,
    an_end,
    an_intent,
    note,
    refusal,
    several,
    written_twice,
)

from hcloud.errors import HcloudError, InputError
from hcloud.model.holdings.state import Conclusion, Intent, IntentResult
from hcloud.store.records.durable_lines import sealed
from hcloud.store.records.intent_codec import Head, entry_content, written
from hcloud.store.states.remembered import FileStateStore


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A state that was written twice, and a journal with one entry of each kind."""
    return written_twice(tmp_path / "state")


# ---- A8: power cuts


def test_A8_a_journal_cut_off_anywhere_gives_whole_entries_or_is_refused(directory: Path) -> None:
    path = directory / "journal.jsonl"
    data, entries = path.read_bytes(), several()
    ends = [at + 1 for at, byte in enumerate(data) if byte == 0x0A]
    for size in range(len(data) + 1):
        path.write_bytes(data[:size])
        journal = FileStateStore(directory).journal()
        if size < ends[0]:
            with pytest.raises(InputError, match=r"journal\.jsonl"):
                journal.entries()
            continue
        whole = sum(end <= size for end in ends) - 1
        assert list(journal.entries()) == entries[:whole]


def test_A8_the_torn_tail_gives_way_to_the_next_entry(directory: Path) -> None:
    path = directory / "journal.jsonl"
    data = path.read_bytes()
    start = data[:-1].rindex(b"\n") + 1
    for size in range(start, len(data), 7):
        for tail in (b"", b"\0" * 9):
            path.write_bytes(data[:size] + tail)
            journal = FileStateStore(directory).journal()
            number = journal.next_number()
            journal.intend(an_intent(number))
            assert list(FileStateStore(directory).journal().entries()) == [*several()[:-1], an_intent(number)]


def test_A8_no_byte_of_a_journal_can_be_another(directory: Path) -> None:
    """A change is refused; in the last line it may look like a line that was torn, never like another entry."""
    path = directory / "journal.jsonl"
    data, entries = path.read_bytes(), several()
    last = data[:-1].rindex(b"\n") + 1
    for at in range(0, len(data), 5):
        for wrong in (data[at] ^ 1, 0x0A, 0x00):
            if wrong == data[at]:
                continue
            path.write_bytes(data[:at] + bytes([wrong]) + data[at + 1 :])
            try:
                read = list(FileStateStore(directory).journal().entries())
            except InputError:
                continue
            assert at >= last
            assert read == entries[:-1]


def test_A8_no_line_can_be_missing_moved_or_doubled(directory: Path) -> None:
    path = directory / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    for number in range(len(lines) - 1):
        for changed in (
            lines[:number] + lines[number + 1 :],
            [*lines[:number], lines[number + 1], lines[number], *lines[number + 2 :]],
            lines[: number + 1] + lines[number:],
        ):
            path.write_bytes(b"".join(changed))
            with pytest.raises(InputError):
                FileStateStore(directory).journal().entries()


def test_A8_a_state_from_before_the_journal_was_trimmed_is_refused(directory: Path) -> None:
    """The rename was made, and rolled back by a power cut after the journal had forgotten what it held."""
    store = FileStateStore(directory)
    state = store.load()
    assert state is not None
    before = (directory / "state.json").read_bytes()
    store.save(replace(state, records=(*state.records, a_record(7))))
    (directory / "state.json").write_bytes(before)
    assert FileStateStore(directory).load() == state  # the journal still tells what was done: it is replayed
    store = FileStateStore(directory)
    store.save(state)
    store.journal().trim(99)
    (directory / "state.json").write_bytes(before)
    assert "an earlier version of the state was put back" in str(refusal(directory))


def test_A8_a_journal_of_another_state_or_version_is_refused(directory: Path) -> None:
    path = directory / "journal.jsonl"
    path.write_bytes(written(Head(OTHER_LINEAGE, 0, 1), ()))
    assert "belongs to another state" in str(refusal(directory))
    path.write_bytes(sealed("0" * 32, {"journal": {**head_of(directory), "format_version": "2.0"}})[0])
    assert "'2.0' cannot be read" in str(refusal(directory))


def test_A8_conclusions_of_what_is_still_unknown_outlast_a_trim(directory: Path) -> None:
    store = FileStateStore(directory)
    journal = store.journal()
    journal.intend(an_intent(4))
    journal.conclude(Conclusion(4, IntentResult.UNKNOWN, AT, why="no answer"))
    journal.intend(an_intent(5))
    journal.conclude(Conclusion(5, IntentResult.DONE, AT, machines=(a_machine(),)))
    journal.trim(99)
    kept = [(type(e).__name__, e.number) for e in FileStateStore(directory).journal().entries()]
    assert kept == [("Intent", 2), ("Intent", 4), ("Conclusion", 4)]
    assert FileStateStore(directory).journal().next_number() == 6


# ---- H6: edited by hand


JOURNAL_EDITS: dict[str, tuple[Intent | Conclusion, Callable[[Any], object]]] = {
    "a count of 1e9": (an_intent(1), lambda d: d["order"].update(count=1_000_000_000)),
    "a count of 0": (an_intent(1), lambda d: d["order"].update(count=0)),
    "a negative count": (an_intent(1), lambda d: d["order"].update(count=-1)),
    "2.5 machines": (an_intent(1), lambda d: d["order"].update(count=2.5)),
    "a key that is none": (an_intent(1), lambda d: d["order"].update(key="x")),
    "a negative price": (a_purchase(1), lambda d: d["quote"].update(upfront="-1")),
    "a price that is none": (a_purchase(1), lambda d: d["quote"].update(hourly="NaN")),
    "a price as a number": (a_purchase(1), lambda d: d["quote"].update(hourly=1)),
    "an unknown deed": (an_end(1), lambda d: d.update(deed="explode")),
    "an id twice": (an_end(1), lambda d: d.update(ids=["i-1", "i-1"])),
    "no ids": (an_end(1), lambda d: d.update(ids=[])),
    "an order to end": (an_intent(1), lambda d: d.update(deed="terminate")),
    "an unknown key": (an_intent(1), lambda d: d.update(secret="x")),
    "a time without a zone": (an_intent(1), lambda d: d.update(at="2026-11-21T10:00:00")),
    "number 0": (an_intent(1), lambda d: d.update(number=0)),
    "a generation below 0": (an_intent(1), lambda d: d.update(generation=-1)),
}


@pytest.mark.parametrize("edit", JOURNAL_EDITS)
def test_H6_what_no_hcloud_noted_is_refused_with_its_line(directory: Path, edit: str) -> None:
    entry, change = JOURNAL_EDITS[edit]
    content: Any = json.loads(json.dumps(entry_content(entry)))
    change(next(iter(content.values())))
    first, before = sealed("0" * 32, {"journal": head_of(directory)})
    (directory / "journal.jsonl").write_bytes(first + sealed(before, content)[0])
    with pytest.raises(InputError, match=r"journal\.jsonl: line 2"):
        FileStateStore(directory).journal().entries()


def head_of(directory: Path) -> dict[str, Any]:
    first = (directory / "journal.jsonl").read_bytes().partition(b"\n")[0]
    head: dict[str, Any] = json.loads(first)["journal"]
    return head


def test_H6_what_could_not_be_read_back_is_not_noted(directory: Path) -> None:
    store = FileStateStore(directory)
    before = (directory / "journal.jsonl").read_bytes()
    order = an_intent(8).order
    assert order is not None
    wrong: list[Intent | Conclusion] = [
        replace(an_intent(8), order=replace(order, count=1_000_000_000)),
        replace(an_intent(8), order=None),
        replace(an_intent(8), plan="\ud800"),
        replace(an_intent(8), at=AT.replace(tzinfo=None)),
        a_purchase(8, upfront="-1"),
        a_purchase(8, upfront="Infinity"),
        replace(a_conclusion(1), missing=-1),
        an_intent(1),
        a_conclusion(99),
    ]
    for entry in wrong:
        with pytest.raises(HcloudError):
            note(store, entry)
    assert (directory / "journal.jsonl").read_bytes() == before
    store.journal().intend(an_intent(8))
