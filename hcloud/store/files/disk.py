"""The calls to the file system that fail when a disk is full or broken, in one place so that tests can break it."""

from __future__ import annotations

import os


class Disk:
    """The real one."""

    def write(self, handle: int, data: bytes) -> int:
        """Write as much as there is room for; returns how many bytes that were."""
        return os.write(handle, data)

    def write_at_start(self, handle: int, data: bytes) -> int:
        """The same at the beginning of a file."""
        return os.pwrite(handle, data, 0)

    def sync(self, handle: int) -> None:
        """Return when what was written to a file (or a directory) will outlast a power cut."""
        os.fsync(handle)

    def cut(self, handle: int, size: int) -> None:
        os.ftruncate(handle, size)

    def rename(self, old: str, new: str, directory: int) -> None:
        """Give a file of a directory another name, in place of the one that had it."""
        os.rename(old, new, src_dir_fd=directory, dst_dir_fd=directory)

    def write_all(self, handle: int, data: bytes) -> None:
        """Write everything, in one call where the system takes it."""
        left = memoryview(data)
        while left:
            left = left[self.write(handle, bytes(left)) :]
