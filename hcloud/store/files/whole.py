"""Files written whole or not at all; where the system does not let them, the error names the file and says why."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from hcloud.errors import writing
from hcloud.store.files.looked_at import check_place


def write_whole(path: Path, parts: Iterable[str | bytes]) -> None:
    """Write a file next to its final name, then rename: a crash leaves the old file or the new one, never half.

    Only its owner can read it. Raises FileError where the system says no.
    """
    with writing(path):
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.writelines(part.encode() if isinstance(part, str) else part for part in parts)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def write_shown(path: Path, content: str | bytes) -> None:
    """The same for what is made to be shown around, with the rights that the user's umask gives: a picture, a page, a
    table."""
    data = content.encode() if isinstance(content, str) else content
    check_place(path, "what is shown")
    with writing(path):
        fresh = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            fresh.unlink(missing_ok=True)
            with fresh.open("xb") as file:  # never through a link that somebody put there
                file.write(data)
            fresh.replace(path)
        finally:
            fresh.unlink(missing_ok=True)
