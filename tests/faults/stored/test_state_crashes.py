"""Rows A1, A6, A7 and V6 for the store: ended at every crash point, on a full disk, on a broken one; other files that
grow on a full disk."""

from __future__ import annotations

import errno
import re
import resource
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from io import FileIO
from pathlib import Path
from typing import Any

import pytest
from driving import driven
from states import AT, LINEAGE, BrokenDisk, a_conclusion, a_state, an_end, an_intent

import hcloud.store
from hcloud.errors import FileError, HcloudError, UsageError
from hcloud.live.applying import crash_points as applying
from hcloud.live.operating import crash_points as operating
from hcloud.model.holdings.state import Intent, IntentResult, State
from hcloud.store.files.crash import KILLED_EXIT, POINTS, POINTS_ELSEWHERE, CrashAt, crash_from, go_on
from hcloud.store.files.place import UnsyncedError
from hcloud.store.files.private_directory import refused
from hcloud.store.states.remembered import FileStateStore
from hcloud.store.sweep_rows import SweepRow, open_rows
from hcloud.usecases.live.decide import append
from hcloud.usecases.live.operating import agents

IN_A_BUCKET = {"store.object.put", "store.object.deleted"}


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """A process ended at its first crash point, at its second, and so on until it completes."""
    return driven("sweep", tmp_path_factory.mktemp("sweep"))


def test_the_points_in_the_source_are_those_that_are_listed() -> None:
    folder = Path(hcloud.store.__file__).parent
    found = {n for p in folder.rglob("*.py") for n in re.findall(r'_?crash\("([a-z.]+)"\)', p.read_text("utf-8"))}
    assert found == set(POINTS)
    assert list(POINTS) == sorted(POINTS)


def test_A1_V6_the_store_goes_on_from_every_crash_point(swept: list[dict[str, Any]]) -> None:
    assert len(swept) > 40
    assert [run["exit"] for run in swept[:-1]] == [KILLED_EXIT] * (len(swept) - 1)
    assert swept[-1]["exit"] == 0
    for run in swept:
        check_nothing_is_forgotten(run)
        assert run["again"] == 0, run
        assert run["finally"]["records"] == 2
        assert run["finally"]["intents"] == []


def test_A1_no_crash_point_is_dead(swept: list[dict[str, Any]]) -> None:
    hit = {value for run in swept for what, value in run["told"] if what == "point"}
    assert hit == set(POINTS) - IN_A_BUCKET


def test_A3_V6_what_was_noted_is_there_after_kill_9_at_odd_moments(tmp_path: Path) -> None:
    runs = driven("kill", tmp_path / "state", "12")
    assert {run["exit"] for run in runs[:-1]} == {-9}
    assert runs[-1]["exit"] == 0
    last = 0
    for run in runs:
        check_nothing_is_forgotten(run)
        serial = run["after"]["serial"] or 0
        assert serial >= last
        last = serial
    assert last > 12


def check_nothing_is_forgotten(run: dict[str, Any]) -> None:
    """What a process was told is lasting is there, and readable, for the next one."""
    after = run["after"]
    saved = [value for what, value in run["told"] if what == "saved"]
    assert (after["serial"] or 0) >= max(saved, default=0), run
    trimmed = max([value for what, value in run["told"] if what == "trimmed"], default=0)
    concluded = {value for what, value in run["told"] if what == "concluded"}
    for what, number in run["told"]:
        if what == "intended" and number > trimmed:
            assert number in after["intents"] or number in concluded, run


# ---- crash points by name


@pytest.mark.parametrize("chosen", ["", "|2", "run.state.saved|", "*|0", "*|-1", "*|x", "run.state.save"])
def test_a_crash_point_that_is_none_is_refused(chosen: str) -> None:
    if chosen == "":
        assert crash_from({"HYC_CRASH_AT": ""}) is go_on
    elif chosen == "run.state.saved|":
        CrashAt(chosen)
    else:
        with pytest.raises(UsageError, match="not a crash point"):
            crash_from({"HYC_CRASH_AT": chosen})


def test_every_crash_point_of_other_packages_is_known() -> None:
    sources = (Path(hcloud.store.__file__).parents[1] / "live" / "buying").glob("*.py")
    buying = {n for path in sources for n in re.findall(r'ground\.crash\("([^"]+)"\)', path.read_text("utf-8"))}
    assert set(POINTS_ELSEWHERE) == applying.NAMES | operating.NAMES | agents.POINTS | buying


def test_without_the_variable_crash_points_do_nothing(tmp_path: Path) -> None:
    assert crash_from({}) is go_on
    assert FileStateStore(tmp_path / "state", crash_from({})).save(a_state()).serial == 1


# ---- A6: no room


def run_on(directory: Path, disk: BrokenDisk, asked: list[int]) -> None:
    """A small apply that adds to ``asked`` what it asks a cloud about."""
    store = FileStateStore(directory, disk=disk)
    with store.locked("apply"):
        state = store.load() or store.save(State(LINEAGE))
        journal = store.journal()
        for _ in range(2):
            number = journal.next_number()
            journal.intend(an_intent(number))
            asked.append(number)
            journal.conclude(a_conclusion(number))
        store.save(replace(state, records=a_state().records))
        journal.trim(max(asked))


ADVICE = {
    errno.ENOSPC: "free some space",
    errno.EIO: "check the disk",
    errno.EACCES: "make it writable",
    errno.EROFS: "in another place hcloud does not know the machines",
}


@pytest.mark.parametrize("code", ADVICE)
def test_A6_A7_nothing_is_asked_that_is_not_noted_whichever_write_fails(tmp_path: Path, code: int) -> None:
    failures, hints = 0, set[str]()
    step = 1 if code == errno.ENOSPC else 6  # what else a disk says is told apart here and there
    while True:
        directory, asked = tmp_path / str(failures), list[int]()
        disk = BrokenDisk(failures + 1, code)
        try:
            run_on(directory, disk, asked)
        except HcloudError as error:
            failures += step
            hints.add("" if isinstance(error, UnsyncedError) else error.hint)
            check_noted(directory, asked)
            run_on(directory, BrokenDisk(1_000_000), [])
            continue
        break
    assert not disk.failed
    assert failures > 25
    assert all(ADVICE[code] in hint for hint in hints - {""})
    assert "make it writable" not in refused(tmp_path, "read", OSError(code, "")).hint or code == errno.EROFS


def check_noted(directory: Path, asked: list[int]) -> None:
    """What was asked is in the journal, or in a state that was written after it."""
    store = FileStateStore(directory)
    state = store.load()
    noted = {e.number for e in store.journal().entries() if isinstance(e, Intent)}
    trimmed = state is not None and len(state.records) == 2 and not noted
    assert trimmed or set(asked) <= noted


def test_A6_a_limit_on_the_size_of_files_stops_before_the_call(tmp_path: Path) -> None:
    """The same with the kernel's own refusal: every limit from nothing to enough."""
    store = FileStateStore(tmp_path / "state")
    store.save(State(LINEAGE))
    whole = (tmp_path / "state" / "journal.jsonl").stat().st_size
    refused = asked = 0
    for limit in range(whole, whole + 1200, 25):
        with at_most(limit):
            journal = FileStateStore(tmp_path / "state").journal()
            try:
                journal.intend(an_intent(journal.next_number()))
            except HcloudError:
                refused += 1
            else:
                asked += 1
        entries = FileStateStore(tmp_path / "state").journal().entries()
        assert len(entries) == asked
    assert refused > 10
    assert asked >= 2


@contextmanager
def at_most(size: int) -> Iterator[None]:
    """No file of this process may grow beyond ``size`` bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


# ---- A7: a broken disk


def test_A7_after_a_sync_that_failed_the_journal_is_not_used_any_more(tmp_path: Path) -> None:
    FileStateStore(tmp_path / "state").save(State(LINEAGE))
    disk = BrokenDisk(2, errno.EIO, only="sync")
    journal = FileStateStore(tmp_path / "state", disk=disk).journal()
    journal.intend(an_intent(1))
    with pytest.raises(HcloudError, match="not certain that it lasts"):
        journal.intend(an_end(2))
    attempts: list[Callable[[], None]] = [
        lambda: journal.intend(an_end(2)),
        lambda: journal.conclude(a_conclusion(1)),
        lambda: journal.trim(1),
    ]
    for again in attempts:
        with pytest.raises(HcloudError, match="is not used any more"):
            again()
    later = FileStateStore(tmp_path / "state").journal()
    assert [e.number for e in later.entries()][:1] == [1]
    later.conclude(replace(a_conclusion(1), at=AT, result=IntentResult.REFUSED, machines=()))


def test_A7_a_directory_that_can_only_be_read_refuses_before_the_first_call() -> None:
    (run,) = driven("unwritable")
    assert run["made"] == 0
    words = dict(run["told"])
    assert words["loaded"] == 2
    assert words["journal"][0] == 1
    assert "cannot be" in words["journal"][1]
    assert "asked" not in words
    assert "intended" not in words
    assert run["exit"] == 1


def test_a_journal_of_decisions_and_rows_of_a_sweep_name_their_file_on_a_full_disk(tmp_path: Path) -> None:
    """They said "the result cannot be used", and of a part of a line ``PosixPath('...')``."""
    with at_most(40), closing(FileIO(tmp_path / "journal.jsonl", "a")) as file:
        for _ in range(2):  # a part of it first, then nothing at all
            with pytest.raises(FileError, match=r"/journal.jsonl: cannot be written") as told:
                append(file, "x" * 30 + "\n" + "y" * 30, durable=True)
            assert "it goes on from the last whole line" in told.value.hint
    row = SweepRow("a" * 64, "HM", 1, {}, {})
    full = pytest.raises(FileError, match=r"/rows.jsonl: cannot be written")
    with at_most(40), full as told, open_rows(tmp_path, "-") as rows:
        rows.append([row])
    assert "it goes on after the rows that are there" in told.value.hint
    with open_rows(tmp_path, "-") as rows:
        rows.append([row])
    with open_rows(tmp_path, "-") as rows:
        assert list(rows.found) == [row.what_if]
