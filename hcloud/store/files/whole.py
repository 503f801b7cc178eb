"""Files written whole or not at all; where the system does not let them, the error names the file and says why."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from hcloud.errors import writing
from hcloud.store.files.looked_at import check_place

PRIVATE, SHOWN = 0o600, 0o666
"""Who may read a file: its owner, or whoever the user's umask lets."""


@contextmanager
def whole_file(
    path: Path, rights: int = PRIVATE, *, lasts: bool = True, keep: Path | None = None
) -> Iterator[BinaryIO]:
    """A file next to its final name, which it takes at the end of the block: a crash leaves the old file or the new
    one, never half. What stood there is kept under the name ``keep``."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fresh.unlink(missing_ok=True)
        with open(fresh, "xb", opener=lambda name, flags: os.open(name, flags, rights)) as file:
            yield file
            if lasts:
                file.flush()
                os.fsync(file.fileno())
        if keep is not None and path.exists():
            keep.unlink(missing_ok=True)
            os.link(path, keep)
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


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
