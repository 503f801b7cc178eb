"""Small files, without what a larger library would cost in memory."""

from __future__ import annotations

import contextlib
import os


def names(folder: str) -> list[str]:
    """The files of a folder; what is hidden is being written."""
    with os.scandir(folder) as entries:
        return [e.name for e in entries if not e.name.startswith(".") and e.is_file(follow_symlinks=False)]


def text(path: str) -> str:
    """What a file holds; nothing where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def write(path: str, text: str) -> None:
    """Write to a file that is there, in one call."""
    handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(handle, text.encode())
    finally:
        os.close(handle)


def unlink(path: str) -> None:
    """Remove a file that may be gone."""
    with contextlib.suppress(OSError):
        os.unlink(path)


def sync(folder: str) -> None:
    """Make the names in a folder outlast a crash."""
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def drain(handle: int) -> None:
    """Read what a pipe holds, and forget it."""
    with contextlib.suppress(BlockingIOError):
        while os.read(handle, 4096):
            pass


def poke(path: str) -> None:
    """Wake whoever reads a pipe; nobody may."""
    with contextlib.suppress(OSError):
        handle = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            os.write(handle, b"!")
        finally:
            os.close(handle)
