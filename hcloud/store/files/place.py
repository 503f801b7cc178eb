"""What a state store needs of the place where it writes: files by name, whole or not at all, and appending."""

from __future__ import annotations

from typing import Protocol

from hcloud.errors import HcloudError

STATE = "state.json"
PREVIOUS = "state.json.previous"
DAMAGED = "state.json.damaged"
JOURNAL = "journal.jsonl"
JOURNAL_ASIDE = "journal.jsonl.aside"
LINEAGE = "lineage"
LOCK = "lock"
RENTALS = "rentals.jsonl"
RENTALS_ASIDE = "rentals.jsonl.damaged"


class ChangedError(HcloudError):
    """What is to be replaced is not what was read any more: somebody else wrote."""

    exit_code = 4


class UnsyncedError(HcloudError):
    """The system could not say that what was written will last; what is on the disk is not known any more."""


class StorageLocation(Protocol):
    """A directory or a prefix of a bucket. ``str()`` of it is what messages call it.

    Everything returns when it will outlast a crash, or raises HcloudError.
    """

    def names(self) -> frozenset[str]:
        """What is there; empty where the place itself is not there yet."""

    def read(self, name: str) -> bytes | None:
        """All of a file; None where there is none. InputError where it is no plain file of the user's own."""

    @property
    def is_conditional(self) -> bool:
        """Whether ``exchange`` itself finds out that another wrote meanwhile; else only the lock keeps others away."""

    def replace(self, name: str, data: bytes) -> None:
        """Write a file whole, whether or not there was one."""

    def exchange(self, name: str, data: bytes) -> None:
        """The same where the file is still what ``read`` gave last (or still absent); else ChangedError."""

    def append(self, name: str, line: bytes, whole: int, size: int) -> None:
        """Write ``line`` behind the first ``whole`` bytes of a file that ``size`` bytes were read of, cutting off what
        was torn; ChangedError where it is of another size, UnsyncedError where it may not last."""

    def remove(self, name: str) -> None:
        """Remove a file; nothing where there is none."""
