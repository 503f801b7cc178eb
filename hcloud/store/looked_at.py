"""The beginning of a file somebody named, where it is there and of the sort that a verb reads."""

from __future__ import annotations

from pathlib import Path

from hcloud.errors import FileError
from hcloud.model.files import HEAD, check_sort, no_such_file, sort_of

SHOWN_NAMES = 1000  # ours: of so many names beside it a likely one is looked for


def check_file(path: Path, *wanted: str, hint: str = "") -> str:
    """The sort of a file, empty where it could be any. InputError where it is not there or of another sort than those
    wanted, FileError where it cannot be read."""
    try:
        if not path.is_file():
            raise no_such_file(str(path), wanted[0], (path.is_dir(), _beside(path)), hint)
        with path.open("rb") as file:
            head = file.read(HEAD)
    except OSError as error:
        raise FileError.of(error, path, "read") from None
    return check_sort(path, head, *wanted)


def sort_at(path: Path) -> str:
    """The sort of a file, empty where it could be any or cannot be read."""
    try:
        with path.open("rb") as file:
            found = sort_of(file.read(HEAD))
    except OSError:
        return ""
    return "" if found is None else found.name


def _beside(path: Path) -> list[str]:
    folder = path.parent
    return [p.name for p, _ in zip(folder.iterdir(), range(SHOWN_NAMES), strict=False)] if folder.is_dir() else []
