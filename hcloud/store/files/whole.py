"""Whole files where the system may refuse them: the error names the file and says why."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from hcloud.errors import writing
from hcloud.store.files.looked_at import check_place
from hcloud.whole_files import SHOWN, whole_file


def write_whole(path: Path, parts: Iterable[str | bytes]) -> None:
    """Write a file that only its owner can read. Raises FileError where the system says no."""
    with writing(path), whole_file(path) as file:
        file.writelines(part.encode() if isinstance(part, str) else part for part in parts)


def write_shown(path: Path, content: str | bytes) -> None:
    """The same for what is made to be shown around, with the rights that the user's umask gives: a picture, a page, a
    table."""
    check_place(path, "what is shown")
    with writing(path), whole_file(path, SHOWN, lasts=False) as file:
        file.write(content.encode() if isinstance(content, str) else content)
