"""The store in a directory: what is kept, what is put aside, and what threads may do at once."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from states import LINEAGE, OTHER_LINEAGE, a_conclusion, a_record, a_state, an_intent, written_twice

from hcloud.control.ports import MendableStore
from hcloud.errors import HcloudError, UsageError
from hcloud.model.holdings.change import Slot
from hcloud.model.holdings.state import Intent, State
from hcloud.readers.configuration.config import load_config
from hcloud.store.states.codec import decode_state
from hcloud.store.states.remembered import FileStateStore
from hcloud.usecases.live.ground import opened
from hcloud.usecases.live.places import CloudSelection


def test_the_version_before_is_kept(tmp_path: Path) -> None:
    store: MendableStore = FileStateStore(tmp_path / "state")
    first = store.save(a_state(1))
    assert not (tmp_path / "state" / "state.json.previous").exists()
    second = store.save(replace(first, records=()))
    before = decode_state((tmp_path / "state" / "state.json.previous").read_bytes(), "x")
    assert (before, second.serial) == (first, 2)
    assert {p.name for p in (tmp_path / "state").iterdir()} == {
        "state.json", "state.json.previous", "journal.jsonl", "lineage", "lock", "rentals.jsonl",
    }  # fmt: skip


def test_the_directory_is_made_but_not_the_one_above(tmp_path: Path) -> None:
    assert FileStateStore(tmp_path / "a" / "b").load() is None
    with pytest.raises(UsageError, match="does not exist"):
        FileStateStore(tmp_path / "a" / "b").save(a_state())


def test_what_a_crash_left_half_written_is_passed_over(tmp_path: Path) -> None:
    directory = written_twice(tmp_path / "state")
    for name in ("state.json.new", "journal.jsonl.new", "lineage.new"):
        (directory / name).write_bytes(b"half")
    store = FileStateStore(directory)
    state = store.load()
    assert state is not None
    store.save(state)
    store.journal().trim(0)
    assert [p.name for p in directory.glob("*.new")] == ["lineage.new"]
    empty = tmp_path / "empty"
    empty.mkdir(mode=0o700)
    (empty / "state.json.new").write_bytes(b"half")
    assert FileStateStore(empty).load() is None


def test_overwriting_keeps_a_serial_above_all_before_it(tmp_path: Path) -> None:
    store = FileStateStore(written_twice(tmp_path / "state"))
    late = store.load()
    written = store.overwrite(replace(a_state(3), serial=1))
    assert written.serial == 3
    assert store.load() == written
    assert late is not None
    with pytest.raises(HcloudError):
        store.save(late)
    higher = store.overwrite(replace(a_state(3), serial=40))
    assert higher.serial == 41


def test_overwriting_with_another_lineage_puts_the_journal_aside(tmp_path: Path) -> None:
    directory = written_twice(tmp_path / "state")
    store = FileStateStore(directory)
    store.journal().intend(an_intent(4))
    journal = (directory / "journal.jsonl").read_bytes()
    other = store.overwrite(State(OTHER_LINEAGE))
    assert store.load() == other
    assert store.journal().entries() == ()
    store.journal().intend(an_intent(store.journal().next_number()))
    assert (directory / "journal.jsonl.aside").read_bytes() == journal
    assert decode_state((directory / "state.json.previous").read_bytes(), "x").lineage == LINEAGE
    assert FileStateStore(directory).remains().lineages == (OTHER_LINEAGE, LINEAGE)


def test_what_remains_of_nothing_is_nothing(tmp_path: Path) -> None:
    remains = FileStateStore(tmp_path / "state").remains()
    assert (remains.lineages, remains.serial, remains.generation, remains.latest) == ((), 0, 0, None)
    assert not (tmp_path / "state").exists()


def test_the_lineage_is_found_in_the_orders_when_all_else_is_gone(tmp_path: Path) -> None:
    directory = written_twice(tmp_path / "state")
    for name in ("state.json", "state.json.previous", "lineage"):
        (directory / name).unlink()
    remains = FileStateStore(directory).remains()
    assert remains.lineages == (LINEAGE,)
    assert remains.generation == 1
    rebuilt = FileStateStore(directory).overwrite(a_state())
    assert FileStateStore(directory).load() == rebuilt


def test_threads_share_a_journal(tmp_path: Path) -> None:
    store = FileStateStore(tmp_path / "state")
    with store.locked("apply"):
        store.save(State(LINEAGE))
        journal, failed = store.journal(), list[BaseException]()

        def body() -> None:
            try:
                for _ in range(20):
                    number = journal.next_number()
                    journal.intend(an_intent(number))
                    journal.conclude(a_conclusion(number))
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=body) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failed == []
    entries = FileStateStore(tmp_path / "state").journal().entries()
    assert sorted(e.number for e in entries if isinstance(e, Intent)) == list(range(1, 81))
    assert len(entries) == 160


def test_numbers_are_never_given_again(tmp_path: Path) -> None:
    store = FileStateStore(tmp_path / "state")
    state = store.save(State(LINEAGE))
    journal = store.journal()
    assert (journal.next_number(), journal.next_number()) == (1, 2)
    journal.intend(an_intent(2))
    journal.conclude(a_conclusion(2))
    store.save(replace(state, records=(a_record(1),)))
    journal.trim(2)
    assert journal.entries() == ()
    assert journal.next_number() == 3
    later = FileStateStore(tmp_path / "state").journal()
    assert later.next_number() == 3
    later.trim(2)
    assert FileStateStore(tmp_path / "state").journal().next_number() == 4


def test_a_line_is_written_after_what_another_left_while_the_lock_was_free(tmp_path: Path) -> None:
    """What a store knew of the journal from before was as long, and its line was sealed after that."""
    mine, other = (FileStateStore(tmp_path / "state") for _ in range(2))
    mine.save(a_state())
    for store in (mine, other, mine):
        with store.locked("apply"):
            state = store.load()
            assert state is not None
            store.save(state)
            if store is mine and state.serial == 3:
                store.journal().intend(an_intent(1))
            else:
                store.journal().trim(0)
    assert [entry.number for entry in FileStateStore(tmp_path / "state").journal().entries()] == [1]


class _CountedReads(FileStateStore):
    """A store that counts how often its state is read."""

    reads = 0

    def load(self) -> State | None:
        self.reads += 1
        return super().load()


def test_what_would_change_is_found_by_two_reads_of_the_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One before the cloud lists its machines and one after: in a bucket each is a request."""
    monkeypatch.chdir(tmp_path)
    Path("hcloud.yaml").write_text("live: {cloud: fake, project: demo}\n", encoding="utf-8")
    store = _CountedReads(tmp_path / "state")
    with opened(load_config(None), CloudSelection(), datetime(2026, 11, 1, tzinfo=UTC)) as ground:
        slots = (Slot("web", "m5.large", ("us-east-1a",), 2, Decimal("0.1")),)
        found = replace(ground, store=store).changes(slots)
    assert found.coming == 2
    assert found.base.place
    assert store.reads == 2
