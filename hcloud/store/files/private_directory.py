"""A directory of the user's own in which nothing is followed, shared or left half written, and the calls to the file
system that fail when a disk is full or broken."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hcloud.control.ports import Crash
from hcloud.errors import HcloudError, InputError, advice_against
from hcloud.store.files.crash import go_on
from hcloud.store.files.looked_at import check_folder_of
from hcloud.store.files.place import ChangedError, UnsyncedError


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


LARGEST = 64 << 20  # ours
FRESH = ".new"
_WRITABLE_HINT = "make it writable (mount, ls -ld): in another place hcloud does not know the machines of this state"
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_READ = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_OWN_HINT = "hcloud keeps its state in plain files that only their owner can write; --state names another place"


class PrivateDirectory:
    """A place (see hcloud.store.files.place) on a file system.

    Every name is looked up inside the opened directory, so that nobody can put another in its place meanwhile.
    """

    is_conditional = False

    def __init__(self, path: Path, crash: Crash = go_on, disk: Disk | None = None) -> None:
        self.path = path
        self._crash = crash
        self.disk = disk or Disk()

    def __str__(self) -> str:
        return str(self.path)

    def names(self) -> frozenset[str]:
        """The names of all files; of what a crash left half written nothing is told."""
        if not os.path.lexists(self.path):
            return frozenset()
        with self._opened() as directory, self.failing("", "listed"):
            found = os.listdir(directory)  # noqa: PTH208  # of the handle that was checked, not of a path
            return frozenset(n for n in found if not n.endswith(FRESH))

    def read(self, name: str) -> bytes | None:
        """All of a file; None where there is none."""
        if not os.path.lexists(self.path):
            return None
        with self._opened() as directory, self.failing(name, "read"):
            try:
                handle = os.open(name, _READ | _NO_LINK, dir_fd=directory)
            except FileNotFoundError:
                return None
            try:
                self._check_file(name, os.fstat(handle))
                with os.fdopen(handle, "rb", closefd=False) as file:
                    return file.read(LARGEST + 1)
            finally:
                os.close(handle)

    def replace(self, name: str, data: bytes) -> None:
        """Write beside, sync, rename, sync the directory."""
        self.make()
        with self._opened() as directory, self.failing(name, "written"):
            self._check_present(name, directory)
            fresh = f"{name}{FRESH}"
            with suppress(FileNotFoundError):  # what a crash left there
                os.unlink(fresh, dir_fd=directory)
            try:
                self._write_fresh(fresh, data, directory)
                self.disk.rename(fresh, name, directory)
            except OSError:
                with suppress(OSError):
                    os.unlink(fresh, dir_fd=directory)
                raise
            self._crash("store.file.renamed")
            self._make_last(directory, name)
            self._crash("store.file.lasting")

    def exchange(self, name: str, data: bytes) -> None:
        """As ``replace``: the lock keeps everybody else away."""
        self.replace(name, data)

    def append(self, name: str, line: bytes, whole: int, size: int) -> None:
        """Write a line at the end of a file and sync it."""
        with self._opened() as directory, self.failing(name, "written"):
            handle = os.open(name, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | _NO_LINK, dir_fd=directory)
            try:
                found = os.fstat(handle)
                self._check_file(name, found)
                if found.st_size != size:
                    raise ChangedError(f"{self.path / name}: somebody else wrote to it", hint="start again")
                self._append(handle, name, line, (whole, size))
            finally:
                os.close(handle)

    def remove(self, name: str) -> None:
        """Remove a file so that it stays away."""
        with self._opened() as directory, self.failing(name, "removed"), suppress(FileNotFoundError):
            os.unlink(name, dir_fd=directory)
            self.disk.sync(directory)

    def make(self) -> None:
        """Make the directory, for its owner only, where it is not there."""
        if os.path.lexists(self.path):
            return
        check_folder_of(self.path)
        with self.failing("", "made"):
            with suppress(FileExistsError):  # another hcloud was faster
                self.path.mkdir(mode=0o700)
                self.path.chmod(0o700)  # a umask may have taken the owner's own bits
            parent = os.open(self.path.parent, _READ | os.O_DIRECTORY)
            try:
                self.disk.sync(parent)
            finally:
                os.close(parent)
            self._crash("store.directory.made")

    def open(self, name: str, flags: int) -> int:
        """A handle of a plain file of the directory, made (for its owner only) where ``flags`` say so."""
        with self._opened() as directory, self.failing(name, "opened"):
            handle = os.open(name, flags | os.O_CLOEXEC | _NO_LINK, 0o600, dir_fd=directory)
            try:
                self._check_file(name, os.fstat(handle))
                if flags & os.O_CREAT:
                    os.fchmod(handle, 0o600)
            except BaseException:
                os.close(handle)
                raise
            return handle

    def inode(self, name: str) -> int | None:
        """The inode a name stands for now; None where there is no such name."""
        with self._opened() as directory, self.failing(name, "looked at"):
            try:
                return os.stat(name, dir_fd=directory, follow_symlinks=False).st_ino
            except FileNotFoundError:
                return None

    def _write_fresh(self, fresh: str, data: bytes, directory: int) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | _NO_LINK
        handle = os.open(fresh, flags, 0o600, dir_fd=directory)
        try:
            os.fchmod(handle, 0o600)  # whatever the umask
            self.disk.write_all(handle, data)
            self._crash("store.file.written")
            self.disk.sync(handle)
            self._crash("store.file.synced")
        finally:
            os.close(handle)

    def _append(self, handle: int, name: str, line: bytes, ends: tuple[int, int]) -> None:
        whole, size = ends
        if size > whole:
            self.disk.cut(handle, whole)
        try:
            self.disk.write_all(handle, line)
        except OSError:
            with suppress(OSError):  # what is left of the line is cut off before the next one in any case
                self.disk.cut(handle, whole)
            raise
        self._crash("store.append.written")
        self._make_last(handle, name)
        self._crash("store.append.lasting")

    def _make_last(self, handle: int, name: str) -> None:
        try:
            self.disk.sync(handle)
        except OSError as error:
            raise UnsyncedError(
                f"{self.path / name}: written, but it is not certain that it lasts: {error.strerror or error}",
                hint="check the disk, then run the command again: hcloud looks at the cloud before it goes on",
            ) from error

    @contextmanager
    def _opened(self) -> Iterator[int]:
        try:
            handle = os.open(self.path, _READ | os.O_DIRECTORY | _NO_LINK)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR):
                kind = "a symbolic link" if self.path.is_symlink() else "not a directory"
                raise InputError(f"{self.path}: is {kind}", hint=_OWN_HINT) from None
            raise refused(self.path, "opened", error) from error
        try:
            self._check_owner(self.path, os.fstat(handle))
            yield handle
        finally:
            os.close(handle)

    @contextmanager
    def failing(self, name: str, done: str) -> Iterator[None]:
        """Turn what the system says into a full sentence."""
        path = self.path / name
        try:
            yield
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise InputError(f"{path}: is a symbolic link, which is not followed", hint=_OWN_HINT) from None
            raise refused(path, done, error) from error

    def _check_present(self, name: str, directory: int) -> None:
        """Refuse to replace what is not a plain file of the user's own."""
        try:
            found = os.stat(name, dir_fd=directory, follow_symlinks=False)
        except FileNotFoundError:
            return
        if stat.S_ISLNK(found.st_mode):
            raise InputError(f"{self.path / name}: is a symbolic link, which is not followed", hint=_OWN_HINT)
        self._check_file(name, found)

    def _check_file(self, name: str, found: os.stat_result) -> None:
        path = self.path / name
        if not stat.S_ISREG(found.st_mode):
            raise InputError(f"{path}: is not a plain file", hint=_OWN_HINT)
        if found.st_nlink > 1:
            raise InputError(f"{path}: has a second name (a hard link)", hint=_OWN_HINT)
        if found.st_size > LARGEST:
            raise InputError(f"{path}: larger than any that hcloud writes ({LARGEST} bytes)")
        self._check_owner(path, found)

    def _check_owner(self, path: Path, found: os.stat_result) -> None:
        if found.st_uid != os.geteuid():
            raise InputError(
                f"{path}: belongs to the user with number {found.st_uid}, not to you ({os.geteuid()})", hint=_OWN_HINT
            )
        if found.st_mode & _OTHERS_WRITE:
            mode = stat.S_IMODE(found.st_mode)
            raise InputError(
                f"{path}: others than its owner can write to it (mode {mode:04o})", hint=f"chmod go-w {path}"
            )


def refused(path: Path, done: str, error: OSError) -> HcloudError:
    """What the system says about a file of a state. No InputError, which would say that what is stored is damaged."""
    unchangeable = error.errno == errno.EROFS or (done not in ("read", "opened") and isinstance(error, PermissionError))
    hint = _WRITABLE_HINT if unchangeable else advice_against(error)
    return HcloudError(f"{path}: cannot be {done}: {error.strerror or error}", hint=hint)
