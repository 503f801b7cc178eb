"""A file that is written whole or not at all, whatever crashes: the one writer of all layers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import get_ident
from typing import BinaryIO

PRIVATE, SHOWN = 0o600, 0o666
"""Who may read a file: its owner, or whoever the user's umask lets."""


@contextmanager
def whole_file(
    path: Path, rights: int = PRIVATE, *, lasts: bool = True, keep: Path | None = None
) -> Iterator[BinaryIO]:
    """A file next to its final name, which it takes at the end of the block: a crash leaves the old file or the new
    one, never half. What stood there is kept under the name ``keep``."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}.{get_ident()}")
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


def sync_directory(path: Path) -> None:
    """Return when the names of a directory's files will outlast a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
