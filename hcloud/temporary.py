"""Folders for what is needed only for a while; what of them is left when the process ends at once can be removed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

_made_by: dict[str, int] = {}
"""The process that made each of the folders that are there: one that was forked from it knows them, too."""


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A new folder, removed afterwards; also where it is left to a thread that nobody waits for."""
    with TemporaryDirectory(prefix="hcloud-") as folder:
        _made_by[folder] = os.getpid()
        try:
            yield Path(folder)
        finally:
            del _made_by[folder]


def remove_folders() -> None:
    """Remove those that are there, whoever still uses them: the process ends."""
    for folder, process in list(_made_by.items()):
        if process == os.getpid():
            shutil.rmtree(folder, ignore_errors=True)
