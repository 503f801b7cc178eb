"""A journal that is gone through many events at a time leaves the controller that line by line leaves, to the byte."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from from_the_front import refusing
from living import Draw, came, events_of, setup_of

from hcloud.control.batch import Batch, follow_events
from hcloud.control.handle import handle
from hcloud.control.sessions.session import ControlSession
from hcloud.control.sessions.teller import HANDLE
from hcloud.control.state import Control
from hcloud.errors import InputError
from hcloud.model.running.decision import Decision
from hcloud.model.running.event import Completion, Event
from hcloud.policy.facts import Setup
from hcloud.sim.machine_code.compiled import FOLLOW, compiled, is_first_use, plain
from hcloud.store.journals.journal import entry_line, save_journal
from hcloud.usecases.live.replaying import Replayed, followed

SETUPS: Mapping[str, Setup] = {
    "SR": setup_of("SR", 3),
    "OdF": setup_of("OdF"),
    "OdM with spot": setup_of("OdM", spot=1, spot_quality=9_000),
    "HF": setup_of("HF", 2),
    "HM with spot": setup_of("HM", 3, spot=1, spot_quality=9_000, period=5.0),
    "HM, queueing": setup_of("HM", 2, wait_quantile=0.05, assumes_waits=1, overtaking=0, period=3.0),
    "several queues": setup_of("SR+multi-class", 2),
    "watched jobs": setup_of("HM+sampled", 2),
}
SIZE = 6_000
"""Bytes of a piece here: what is cut between two pieces is in every journal."""


def lived(setup: Setup, seed: int, count: int) -> list[Any]:
    """The entries of a journal: mostly jobs that come and end, and all that can happen."""
    chance = random.Random(seed)
    draws: list[Draw] = [
        (chance.choice((0, 1, 2, 4, 4, 5, 5, chance.randrange(16))), chance.randrange(1000), chance.randrange(100), 1)
        for _ in range(count)
    ]
    kernels = {**plain(), HANDLE: lambda control, *told: handle(refusing(control), *told)}
    live, entries = ControlSession(setup, kernels), list[Any]()
    for event in events_of(live, draws):
        entries += [event, *live.handle(event)]
    return entries


class AskedFor(dict[str, Any]):
    """Plain kernels, and compiled ones once they were asked for so often."""

    def __init__(self, most: float) -> None:
        super().__init__(plain())
        self.asked, self._most = 0, most

    def __getitem__(self, name: str) -> Any:
        self.asked += 1
        return super().__getitem__(name) if self.asked <= self._most else compiled()[name]


def gone_through(path: Path, setup: Setup, kernel: Callable[..., Any] | None, kernels: Any = None) -> Replayed:
    whole = len(path.read_bytes().partition(b"\n")[0]) + 1
    begun = Replayed(ControlSession(setup, kernels or plain()), whole)
    return followed(path, begun, lambda: kernel, SIZE)


def same(one: Replayed, other: Replayed) -> None:
    assert (one.whole, one.events, one.last, one.untold) == (other.whole, other.events, other.last, other.untold)
    assert one.session.snapshot() == other.session.snapshot()


@pytest.mark.parametrize("name", SETUPS)
def test_it_leaves_the_same(tmp_path: Path, name: str) -> None:
    many = 0

    def counted(control: Control, batch: Batch) -> None:
        nonlocal many
        first = batch.state.next
        follow_events(refusing(control), refusing(batch))
        many += batch.state.next - first

    path = tmp_path / "journal.jsonl"
    save_journal(SETUPS[name], lived(SETUPS[name], 0, 150), path)
    same(gone_through(path, SETUPS[name], counted), gone_through(path, SETUPS[name], None))
    assert many == 0 if SETUPS[name].rules.acts_between_events else many > 30


def test_compiled_it_leaves_the_same(tmp_path: Path) -> None:
    """Rows of jobs are used again and grow; the tables grow at the same events."""
    setup, path = SETUPS["HM with spot"], tmp_path / "one.jsonl"
    kernels, kernel = compiled(), compiled()[FOLLOW]
    live, entries = ControlSession(setup, kernels), list[Any]()
    for number in range(1_700):
        event: Event = came(f"j{number}", number / 4, cores=1 + number % 3)
        entries += [event, *live.handle(event)]
        if number > 1_100:
            slots = {job: live.tables.server[row] for job, row in live.tables.rows.items()}
            done = next((job for job, slot in slots.items() if 0 <= slot < setup.pool), None)
            if done:
                event = Completion(number / 4, done, 1.0)
                entries += [event, *live.handle(event)]
    save_journal(setup, entries, path)
    found = gone_through(path, setup, kernel, kernels)
    assert found.session.snapshot() == live.snapshot()
    assert not is_first_use(), "what was compiled is for other types"


@pytest.mark.parametrize("name", SETUPS)
def test_a_session_that_goes_over_to_compiled_kernels_decides_as_before(tmp_path: Path, name: str) -> None:
    """At any moment, also between two questions about one event, and with many events at a time from then on."""
    setup, path, chance = SETUPS[name], tmp_path / "journal.jsonl", random.Random(name)
    entries = lived(setup, 2, 120)
    save_journal(setup, entries, path)
    gone_through(path, setup, None, plainly := AskedFor(math.inf))
    assert plainly.asked > 50, "each event asks for the kernel that there is by then"
    for after in (0, chance.randrange(plainly.asked)):
        live, told = ControlSession(setup, AskedFor(after)), list[Any]()
        for event in (entry for entry in entries if not isinstance(entry, Decision)):
            told += [event, *live.handle(event)]
        assert told == entries
        replayed = [gone_through(path, setup, kernel, AskedFor(after)) for kernel in (None, compiled()[FOLLOW])]
        same(*replayed)
        assert replayed[0].session.snapshot() == live.snapshot()


def cut_lines(path: Path, change: Callable[[list[bytes]], object]) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    change(lines)
    path.write_bytes(b"".join(lines))


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: lines.pop(),
        lambda lines: lines.append(lines.pop()[:-9]),
        lambda lines: lines.insert(90, b"\n"),
        lambda lines: lines.insert(90, b"nonsense\n"),
        lambda lines: lines.insert(90, lines[90]),
        lambda lines: lines.insert(90, b'{"at":1e9,"event":"completion","job":"nobody","performance":1.0}\n'),
        lambda lines: lines.insert(90, b'{"at":0.0,"event":"arrival","job":"early","cores":1.0}\n'),
        lambda lines: lines.append(b'{"at":2e4,"event":"arrival","job":"\\u0007","cores":1,"coin":0.5}\n'),
        lambda lines: lines.append(b'{"at":2e4,"event":"arrival","job":7,"cores":1}\n'),
        lambda lines: lines.append(b'{"at":2e4,"event":"arrival","job":"x","cores":1,"code":3}\n'),
        lambda lines: lines.append(b'{"at":2e4,"decision":"place","job":"x","place":"y","reason":"z","why":"w"}\n'),
        lambda lines: lines.append(b'{"at":2e4,"decision":"place","job":"x"}\n'),
        lambda lines: lines.append(b'{"at":2e4,"event":"clock"} {"at":2e4,"event":"clock"}\n'),
        lambda lines: lines.__setitem__(90, lines[90].replace(b"e", b"\xff", 1)),
        lambda lines: lines.__setitem__(slice(None), [line.replace(b'"why":"', b'"why":"!', 1) for line in lines]),
    ],
)
def test_what_is_wrong_is_told_alike(tmp_path: Path, change: Callable[[list[bytes]], object]) -> None:
    setup, path = SETUPS["HF"], tmp_path / "one.jsonl"
    save_journal(setup, lived(setup, 1, 80), path)
    cut_lines(path, change)
    told = list[object]()
    for kernel in (follow_events, None):
        try:
            found = gone_through(path, setup, kernel)
        except InputError as error:
            told.append(str(error))
        else:
            told.append((found.whole, found.events, found.last, found.untold, found.session.snapshot()))
    assert told[0] == told[1]


def test_numbers_come_back_exactly(tmp_path: Path) -> None:
    """As they stand in the text: the columns are read by another reader than the lines."""
    from hcloud.store.journals.pieces import journal_pieces

    chance, path = random.Random(3), tmp_path / "one.jsonl"
    at = [chance.random() * 10.0 ** chance.randrange(-8, 12) for _ in range(3_000)]
    path.write_text("".join(entry_line(Completion(a, "j", a / 1e13)) for a in at), encoding="utf-8")
    columns = next(iter(journal_pieces(path, 0))).columns()
    assert columns is not None
    assert columns["at"].to_pylist() == at
