"""A stream of decisions goes on from the point beside its journal as it would from the whole of it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from operating import ORIGIN, setup_of

from hcloud.errors import InputError, UsageError
from hcloud.sim.machine_code.compiled import plain
from hcloud.store.journals.journal import header_line
from hcloud.store.journals.resume_point import beside, read_point
from hcloud.usecases.live.decide import OpenedStream, open_stream

SETUP = setup_of("HM", 2)


def events(count: int) -> list[str]:
    """Jobs that come and end."""
    chance = random.Random(5)
    running: list[str] = []
    lines: list[str] = []
    for number in range(count):
        at = 10.0 * number
        if running and chance.random() < 0.4:
            lines.append(f'{{"at":{at},"event":"cancelled","job":"{running.pop(0)}"}}')
        else:
            running.append(f"j{number}")
            cores = chance.choice((0.5, 1, 2))
            lines.append(f'{{"at":{at},"event":"arrival","job":"j{number}","cores":{cores},"restartable":true}}')
    return lines


def opened(path: Path) -> OpenedStream:
    return open_stream(SETUP, plain(), path)


def fed(path: Path, lines: list[str], every: int) -> list[str]:
    """What is told of lines, with a point so often."""
    stream = opened(path).stream
    stream.every = every
    told = [stream.answer(line) for line in lines]
    stream.close()
    return told


@pytest.mark.slow
@pytest.mark.parametrize("cut", [40, 119])
def test_it_goes_on_from_a_point_as_from_the_beginning(tmp_path: Path, cut: int) -> None:
    lines = events(120)
    whole = fed(tmp_path / "whole", lines, 1 << 40)
    assert read_point(tmp_path / "whole") is None
    path = tmp_path / "cut"
    first = fed(path, lines[:cut], 3_000)
    kept = read_point(path)
    assert kept is not None
    assert 0 < kept[0].events <= cut
    found = opened(path)
    assert (found.gone_on.replayed, found.gone_on.untold, found.gone_on.torn) == (cut, "", False)
    found.stream.close()
    assert first + fed(path, lines[cut:], 3_000) == whole
    assert path.read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.slow
def test_a_point_that_does_not_fit_is_left_aside(tmp_path: Path) -> None:
    """Of another journal, of a longer one, cut off, or no point at all."""
    lines = events(80)
    path, other = tmp_path / "one", tmp_path / "other"
    fed(path, lines, 2_000)
    fed(other, lines[:50], 2_000)
    point, text = beside(path), path.read_bytes()
    for wrong in (beside(other).read_bytes().replace(b"j1", b"j2"), b"{}", b"", point.read_bytes()[:300]):
        point.write_bytes(wrong)
        found = opened(path)
        assert found.gone_on.replayed == 80
        found.stream.close()
        assert path.read_bytes() == text
    point.write_bytes(b"the user's own")
    assert fed(path, ['{"at":9999,"event":"clock"}'], 1)
    assert point.read_bytes() == b"the user's own"


def test_what_was_cut_short_after_a_point_is_told(tmp_path: Path) -> None:
    """A crash left an event without its decisions, and half a line."""
    lines = events(60)
    path = tmp_path / "one"
    told = fed(path, lines[:40], 2_000) + fed(path, lines[40:], 1 << 40)
    place = max(at for at, text in enumerate(told) if text)
    text = path.read_text(encoding="utf-8")
    path.write_text(text[: text.rindex(told[place])] + '{"at":1', encoding="utf-8")
    assert read_point(path) is not None
    found = opened(path)
    found.stream.close()
    assert (found.gone_on.untold, found.gone_on.torn) == (told[place], True)


@pytest.mark.slow
def test_damage_is_refused_with_its_place(tmp_path: Path) -> None:
    lines = events(60)
    path = tmp_path / "one"
    fed(path, lines, 2_000)
    with path.open("a", encoding="utf-8") as file:
        file.write("nonsense\n")
    with pytest.raises(InputError, match="is damaged"):
        opened(path)
    beside(path).unlink()
    with pytest.raises(InputError, match=r"line \d+ is damaged"):
        opened(path)


def test_the_journal_of_live_work_is_not_added_to(tmp_path: Path) -> None:
    path = tmp_path / "live"
    path.write_text(header_line(SETUP, ORIGIN), encoding="utf-8")
    with pytest.raises(UsageError, match="live work"):
        opened(path)
