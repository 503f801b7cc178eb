"""Rows G1, G2, G3 and G7 for the store: one works, others are told who it is, and a late writer is refused."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from driving import driven
from states import LINEAGE, a_conclusion, a_record, a_state, an_end, an_intent

from hcloud.errors import HcloudError, LockedError, StaleError, UsageError
from hcloud.model.holdings.state import State
from hcloud.store.states.remembered import FileStateStore

OUTSIDE = {"store.directory.made", "store.lock.released"}


def test_G1_one_of_two_works_whichever_point_the_other_comes_at(tmp_path: Path) -> None:
    runs = driven("race", tmp_path / "state", "25")
    inside = 0
    for run in runs:
        (code, first), (other, second) = run["first"], run["second"]
        assert code == 0, run
        at = next((value for what, value in first if what == "stopped"), None)
        if at is None or at in OUTSIDE:
            assert other == 0, run
            continue
        inside += 1
        check_refused(other, second, run["pid"], told=at != "store.lock.taken")
    assert len(runs) == 25
    assert inside >= 15


def check_refused(code: int, lines: list[Any], pid: int, *, told: bool) -> None:
    assert code == LockedError.exit_code == 5
    ((what, (name, _, message)),) = lines
    assert (what, name) == ("refused", "LockedError")
    if told:
        assert f"pid {pid}, since " in message
        assert "is locked: apply by " in message


def test_G1_two_that_start_together_are_never_both_inside(tmp_path: Path) -> None:
    runs = driven("together", tmp_path / "state", "12")
    saved: list[int] = []
    for run in runs:
        codes = sorted(code for code, _ in run["ends"])
        assert codes in ([0, 0], [0, 5]), run
        saved += [value for _, lines in run["ends"] for what, value in lines if what == "saved"]
    assert sorted(saved) == list(range(1, len(saved) + 1))  # no writing was lost, none was made twice
    assert len(saved) >= 24


def test_G2_a_holder_that_was_killed_is_replaced_and_its_intents_come_first(tmp_path: Path) -> None:
    (run,) = driven("hold", tmp_path / "state")
    refused, lines = run["while"]
    check_refused(refused, lines, run["pid"], told=True)
    assert run["exit"] == -9
    code, lines = run["after"]
    assert code == 0
    assert [what for what, _ in lines][:4] == ["inside", "saved", "concluded", "intended"]
    assert lines[2] == ["concluded", 1]


def test_G3_a_late_writer_is_refused_by_the_serial(tmp_path: Path) -> None:
    mine, theirs = FileStateStore(tmp_path / "state"), FileStateStore(tmp_path / "state")
    mine.save(a_state())
    state = mine.load()
    assert state is not None
    newer = theirs.save(replace(state, records=(*state.records, a_record(9))))
    with pytest.raises(StaleError, match="its serial is 2, not 1") as error:
        mine.save(state)
    assert error.value.exit_code == 4
    assert mine.load() == newer
    with pytest.raises(StaleError):
        mine.save(replace(state, serial=7))
    with pytest.raises(StaleError, match="another project"):
        mine.save(replace(newer, lineage="f" * 32))
    with pytest.raises(StaleError):
        FileStateStore(tmp_path / "other").save(state)


def test_G3_a_reader_needs_no_lock_and_writes_nothing(tmp_path: Path) -> None:
    directory = tmp_path / "state"
    store = FileStateStore(directory)
    with store.locked("apply") as info:
        store.save(a_state())
        store.journal().intend(an_intent(1))
        before = {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in directory.iterdir()}
        reader = FileStateStore(directory)
        loaded = reader.load()
        assert loaded is not None
        assert loaded.serial == 1
        assert len(reader.journal().entries()) == 1
        assert reader.holder() == info
        assert {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in directory.iterdir()} == before
    assert reader.holder() is None


def test_G3_a_line_that_another_wrote_is_noticed(tmp_path: Path) -> None:
    mine, theirs = FileStateStore(tmp_path / "state"), FileStateStore(tmp_path / "state")
    mine.save(State(LINEAGE))
    mine.journal().intend(an_intent(1))
    theirs.journal().intend(an_end(2))
    with pytest.raises(HcloudError, match="somebody else wrote"):
        mine.journal().conclude(a_conclusion(1))
    mine.journal().conclude(a_conclusion(1))  # it has looked again
    assert [e.number for e in mine.journal().entries()] == [1, 2, 1]


def test_G1_the_same_process_cannot_hold_it_twice(tmp_path: Path) -> None:
    store = FileStateStore(tmp_path / "state")
    with store.locked("apply") as info:
        for other in (store, FileStateStore(tmp_path / "state")):
            with pytest.raises(LockedError, match=f"pid {os.getpid()}"), other.locked("destroy"):
                pass
        with pytest.raises(LockedError, match=info.purpose):
            FileStateStore(tmp_path / "state").save(a_state())
        assert store.save(a_state()).serial == 1  # the holder itself may
    with store.locked("destroy") as again:
        assert again.id != info.id


# ---- force-unlock


def test_a_lock_is_taken_away_by_its_id_only(tmp_path: Path) -> None:
    store = FileStateStore(tmp_path / "state")
    with pytest.raises(UsageError, match="is not locked"):
        store.unlock("f" * 32)
    with store.locked("apply") as info:
        with pytest.raises(UsageError, match=info.id):
            FileStateStore(tmp_path / "state").unlock("f" * 32)
        assert FileStateStore(tmp_path / "state").unlock(info.id) == info


def test_who_lost_the_lock_writes_nothing_more(tmp_path: Path) -> None:
    mine, theirs = FileStateStore(tmp_path / "state"), FileStateStore(tmp_path / "state")
    with mine.locked("apply") as info:
        state = mine.save(a_state())
        mine.journal().intend(an_intent(1))
        theirs.unlock(info.id)
        for write in (
            lambda: mine.journal().intend(an_end(2)),
            lambda: mine.journal().conclude(a_conclusion(1)),
            lambda: mine.journal().trim(9),
            lambda: mine.save(state),
            lambda: mine.overwrite(state),
        ):
            with pytest.raises(LockedError, match="was taken away"):
                write()
        with theirs.locked("destroy") as other:
            with pytest.raises(LockedError, match="was taken away"):
                mine.save(state)
            theirs.save(state)
        assert other.id != info.id
    assert FileStateStore(tmp_path / "state").holder() is None
    assert len(mine.journal().entries()) == 1


# ---- G7: file systems whose locks are none


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.ENOTSUP, errno.EINVAL, errno.ENOLCK])
def test_G7_a_file_system_without_flock_is_refused(tmp_path: Path, code: int) -> None:
    def flock(handle: int, operation: int) -> None:
        raise OSError(code, os.strerror(code))

    store = FileStateStore(tmp_path / "state", flock=flock)
    with pytest.raises(HcloudError, match="no locks that work") as error, store.locked("apply"):
        pass
    assert "local disk, or a bucket (s3://, gs://" in error.value.hint
    with pytest.raises(HcloudError, match="no locks that work"):
        store.save(a_state())
    assert not (tmp_path / "state" / "state.json").exists()


def test_G7_a_file_system_whose_flock_says_yes_to_everybody_is_refused(tmp_path: Path) -> None:
    store = FileStateStore(tmp_path / "state", flock=lambda handle, operation: None)
    with pytest.raises(HcloudError, match="lets two hold the same lock"), store.locked("apply"):
        pass


def test_what_a_file_server_says_of_a_lock_is_no_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stale handle ended apply, and a controller whose machines went on to cost money: it tries again."""

    def stale(*given: object, **more: object) -> Any:
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))

    store = FileStateStore(tmp_path / "state", flock=stale)
    with pytest.raises(HcloudError, match="lock: cannot be locked: Stale file handle"), store.locked("apply"):
        pass
    store = FileStateStore(tmp_path / "state")
    with store.locked("apply"):
        store.save(a_state())
        with monkeypatch.context() as patched:
            patched.setattr(os, "stat", stale)
            with pytest.raises(HcloudError, match="lock: cannot be looked at: Stale file handle"):
                store.journal().intend(an_intent(1))
        store.journal().intend(an_intent(1))
        with monkeypatch.context() as patched:
            patched.setattr(os, "pread", stale)
            with pytest.raises(HcloudError, match="Stale file handle"):
                FileStateStore(tmp_path / "state").holder()


def test_a_note_that_is_half_written_locks_all_the_same(tmp_path: Path) -> None:
    store = FileStateStore(tmp_path / "state")
    with store.locked("apply"):
        note = (tmp_path / "state" / "lock").read_bytes()
        (tmp_path / "state" / "lock").write_bytes(note[:40])
        other = FileStateStore(tmp_path / "state")
        with pytest.raises(LockedError, match="has not written its name yet"), other.locked("destroy"):
            pass
        holder = other.holder()
        assert holder is not None
        assert holder.user == "somebody"
