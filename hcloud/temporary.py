"""Folders for what is needed only for a while; what of them is left when the process ends at once can be removed."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

FULL = "free some space there, or name a folder with more in the variable TMPDIR"
"""What helps where a folder for a while has no room."""
_ENDING = (signal.SIGTERM, signal.SIGHUP)
_made_by: dict[str, int] = {}
"""The process that made each of the folders that are there: one that was forked from it knows them, too."""


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A new folder, removed afterwards; also where it is left to a thread that nobody waits for, or a signal ends the
    process: a copy of a bill may be a disk full."""
    folder = ""
    try:
        with heard_ends(), TemporaryDirectory(prefix="hcloud-") as folder:
            _made_by[folder] = os.getpid()
            yield Path(folder)
    finally:
        _made_by.pop(folder, None)


@contextmanager
def heard_ends(heard_by: Callable[[int, FrameType | None], object] | None = None) -> Iterator[None]:
    """Meanwhile what ends the process removes the folders that are there; or somebody else hears that, and Ctrl-C. Not
    around compiled code in the main thread, where Python hears nothing until it is over; a process that was told to
    ignore such a signal still does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (*_ENDING, *((signal.SIGINT,) if heard_by else ()))}
    heard = {n: usual for n, usual in before.items() if usual in (signal.SIG_DFL, signal.default_int_handler)}
    for number in heard:
        signal.signal(number, heard_by or _end_without_leavings)
    try:
        yield
    finally:
        for number, usual in heard.items():
            signal.signal(number, usual)


def remove_folders() -> None:
    """Remove those that are there, whoever still uses them: the process ends."""
    for folder, process in list(_made_by.items()):
        if process == os.getpid():
            shutil.rmtree(folder, ignore_errors=True)


def _end_without_leavings(number: int, _: object) -> None:
    """End as by a signal that nobody heard; the first process of a container hears none by itself."""
    remove_folders()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)
