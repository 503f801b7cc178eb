"""What a state needs of a store of objects: conditional put, get, list and delete, and how they fail."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Protocol

from hcloud.errors import Call, CloudError, HcloudError, UnavailableError, UnknownOutcomeError, without_secrets

ABSENT = ""
"""The condition that there is no object of the name."""

AGAIN = "run the command again, it checks the stored state first; if the store still does not answer, check its address"
_QUERY = re.compile(r"(?<=[\w/])\?[^\s\"')]*")


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object as it was read; ``tag`` is another after each writing (an ETag, a generation)."""

    tag: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Marked:
    """The tag of an object, and the mark of the writer who wrote it last (empty where it was none of hcloud)."""

    tag: str
    mark: str


@dataclass(frozen=True, slots=True)
class Writing:
    """What is to be written; ``only_if`` is the tag that the object must still have, ABSENT where there must be none,
    None where it does not matter. ``mark`` is kept beside it."""

    key: str
    data: bytes
    mark: str
    only_if: str | None = None


class ConditionError(HcloudError):
    """The condition of a writing did not hold: nothing was written, unless an earlier sending of the same was."""


class PutOffError(HcloudError):
    """The store did not carry it out and asks for the same again, ``pause`` seconds later; ``meaning`` is what is said
    where it never does."""

    def __init__(self, meaning: HcloudError, pause: float) -> None:
        super().__init__(str(meaning))
        self.meaning = meaning
        self.pause = pause


class LostError(HcloudError):
    """No answer to a writing that can be understood: it may have been done or not. ``meaning`` is what is said where
    that cannot be found out."""

    def __init__(self, meaning: HcloudError) -> None:
        super().__init__(str(meaning))
        self.meaning = meaning


PIECE = 1 << 20
"""Bytes that are copied at a time."""


class Objects(Protocol):
    """A bucket (Azure: a container) of somebody's store. Writings, reads and lists are strongly consistent.

    All raise HcloudError by what the store's answer means to a caller; ``put`` also the three errors above.
    """

    @property
    def where(self) -> str:
        """The address at which it is reached, without anything secret; another server's is another."""

    @property
    def conditions(self) -> str:
        """What the store calls the conditions of a writing."""

    def get(self, key: str) -> StoredObject | None:
        """All of an object; None where there is none. InputError where it is too large to be hcloud's."""

    def marked(self, key: str) -> Marked | None:
        """Who wrote an object last; None where there is none."""

    def put(self, writing: Writing) -> str:
        """Write an object under its condition, whole or not at all, and give its tag."""

    def delete(self, key: str) -> None:
        """Remove an object; nothing where there is none."""

    def list(self, prefix: str, *, deep: bool = False) -> Iterator[str]:
        """The keys with a prefix that go on without a further ``/``, or however they go on (``deep``)."""

    def copy(self, key: str, file: BinaryIO) -> None:
        """Write all of an object of any size to a file, piece by piece. NotFoundError where there is none."""


def unanswered(said: str, call: Call, *, unknown: bool) -> CloudError:
    """What it means that nobody said what was done; it is ``unknown`` where something may have been written."""
    kind: type[CloudError] = UnknownOutcomeError if unknown else UnavailableError
    return kind(said, call, hint=AGAIN)


def shown(text: str) -> str:
    """A text of an SDK without what addresses in it may hold: users, passwords, signed queries, keys."""
    return without_secrets(_QUERY.sub("", text))
