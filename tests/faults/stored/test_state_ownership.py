"""Row H7 for the store: files of the user's own, of nobody else, and not shared."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from states import (
    a_state,
    an_intent,
    written_twice,
)

from hcloud.errors import InputError
from hcloud.store.states.remembered import FileStateStore


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A state that was written twice, and a journal with one entry of each kind."""
    return written_twice(tmp_path / "state")


# ---- H7: whose file it is


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077, 0o277])
def test_H7_everything_is_its_owners_only_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    with umask(mask):
        if mask == 0o277:  # not even a directory could be used that was made so
            (tmp_path / "state").mkdir()
            (tmp_path / "state").chmod(0o700)
        store = FileStateStore(tmp_path / "state")
        with store.locked("apply"):
            store.save(store.save(a_state()))
            store.journal().intend(an_intent(1))
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700
    modes = {p.name: p.stat().st_mode & 0o777 for p in (tmp_path / "state").iterdir()}
    lock = modes.pop("lock")
    assert set(modes.values()) == {0o600}, modes
    assert lock & 0o077 == 0


@pytest.mark.parametrize("name", ["state.json", "journal.jsonl", "lock"])
def test_H7_a_symbolic_link_is_not_followed(directory: Path, tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside"
    (directory / name).replace(outside)
    (directory / name).symlink_to(outside)
    before = outside.read_bytes()
    with pytest.raises(InputError, match="symbolic link"):
        use(directory)
    assert outside.read_bytes() == before


@pytest.mark.parametrize("name", ["state.json", "state.json.previous", "journal.jsonl", "lock"])
def test_H7_a_second_name_is_refused(directory: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "twin").hardlink_to(directory / name)
    before = (tmp_path / "twin").read_bytes()
    with pytest.raises(InputError, match="hard link"):
        use(directory)
    assert (tmp_path / "twin").read_bytes() == before


@pytest.mark.parametrize("name", ["state.json", "journal.jsonl"])
def test_H7_what_is_no_file_is_refused_at_once(directory: Path, name: str) -> None:
    (directory / name).unlink()
    os.mkfifo(directory / name, 0o600)
    with pytest.raises(InputError, match="not a plain file"):
        use(directory)
    (directory / name).unlink()
    (directory / name).mkdir()
    with pytest.raises(InputError, match="not a plain file"):
        use(directory)


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_H7_L9_a_directory_that_others_can_write_to_is_refused(directory: Path, mode: int) -> None:
    directory.chmod(mode)
    with pytest.raises(InputError, match="others than its owner can write"):
        use(directory)


@pytest.mark.parametrize("name", ["state.json", "journal.jsonl"])
def test_H7_L9_a_file_that_others_can_write_to_is_refused(directory: Path, name: str) -> None:
    (directory / name).chmod(0o660)
    with pytest.raises(InputError, match="others than its owner can write"):
        use(directory)


def test_H7_a_link_to_a_directory_is_not_followed(directory: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(directory)
    with pytest.raises(InputError, match="symbolic link"):
        use(tmp_path / "link")
    (tmp_path / "file").write_text("x", "utf-8")
    with pytest.raises(InputError, match="not a directory"):
        use(tmp_path / "file")


def test_H7_the_directory_of_another_user_is_refused(directory: Path) -> None:
    if os.geteuid() == 0:
        os.chown(directory, 65534, 65534)
    else:
        directory = Path("/usr")
    with pytest.raises(InputError, match="belongs to the user with number"):
        use(directory)


def test_H7_the_file_of_another_user_is_refused(directory: Path, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        assert Path("/etc/passwd").stat().st_uid != os.geteuid()  # nobody but root can make such a file
        return
    os.chown(directory / "state.json", 65534, 65534)
    with pytest.raises(InputError, match="belongs to the user with number 65534"):
        use(directory)


def use(directory: Path) -> None:
    """Everything that touches a file of the directory."""
    store = FileStateStore(directory)
    with store.locked("apply"):
        state = store.load()
        assert state is not None
        store.journal().intend(an_intent(store.journal().next_number()))
        store.save(state)
