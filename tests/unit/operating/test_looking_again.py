"""Who watches live work reads what is new of its journal, and sees what a whole reading sees."""

from __future__ import annotations

from pathlib import Path

import pytest
from operating import World, job

from hcloud.errors import InputError
from hcloud.model.running.note import PassNoted
from hcloud.store.journals.entries import entries_of
from hcloud.usecases.live.operating.looking import Onlooker, look

CHUNK = 1_900


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A journal of work that is done."""
    path = tmp_path_factory.mktemp("work") / "journal.jsonl"
    world = World.of(path, [job(f"j{n}", cores=1 + n % 3, seconds=30.0 + n, submit=9.0 * n) for n in range(8)], "HM", 1)
    world.run()
    world.close()
    return path.read_bytes()


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    path = tmp_path / "operate" / "journal.jsonl"
    path.parent.mkdir(mode=0o700)
    return path


def test_what_grows_is_seen_as_a_whole_reading_sees_it(written: bytes, journal: Path) -> None:
    header = written.index(b"\n") + 1
    journal.write_bytes(written[:header])
    onlooker, seen = Onlooker(str(journal.parents[1])), []
    for end in [*range(header + CHUNK, len(written), CHUNK), len(written)]:
        with journal.open("ab") as file:
            file.write(written[journal.stat().st_size : end])
        found, whole = onlooker.look(), look(str(journal.parents[1]))
        assert found.fold.image() == whole.fold.image(), "cut within lines and passes"
        assert found.at == whole.at
        seen.append(found.fold.last)
    assert found.fold.is_finished
    assert onlooker.look().fold is found.fold, "what did not grow is not read anew"
    assert len(set(seen)) > 5
    journal.write_bytes(written[: written.rindex(b"\n", 0, -1) + 1])
    assert isinstance(list(entries_of(journal))[-1], PassNoted), "a pass that was cut off counts nowhere"


def test_a_journal_that_began_anew_is_read_anew(written: bytes, journal: Path) -> None:
    journal.write_bytes(written)
    onlooker = Onlooker(str(journal.parents[1]))
    assert onlooker.look().fold.is_finished
    fresh = journal.with_suffix(".new")
    fresh.write_bytes(written[: written.index(b"\n") + 1])
    fresh.replace(journal)
    assert not onlooker.look().fold.jobs


def test_damage_in_what_is_new_is_said(written: bytes, journal: Path) -> None:
    cut = written.index(b'"note":"pass"', len(written) // 2)
    cut = written.index(b"\n", cut) + 1
    journal.write_bytes(written[:cut])
    onlooker = Onlooker(str(journal.parents[1]))
    onlooker.look()
    rest = written[cut:].split(b"\n")
    with journal.open("ab") as file:
        file.write(b"\n".join([*rest[:1], *rest[2:]]))
    with pytest.raises(InputError, match="damaged"):
        onlooker.look()
