"""The ledger of purchases: what was about to be asked of a cloud and what came of it, never trimmed and never lost."""

from __future__ import annotations

import fcntl
import getpass
import json
import os
import socket
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

from hcloud.errors import HcloudError, InputError, LockedError
from hcloud.model.purchase import FORMAT_VERSION, CancelIntent, Entry, PurchaseConclusion, PurchaseIntent
from hcloud.store.durable_lines import PRIVATE, DurableLines, sync_directory

if TYPE_CHECKING:
    from pydantic import TypeAdapter

FILE_NAME, LOCK_NAME = "purchases.jsonl", "purchases.lock"
WHAT = "ledger of purchases"
_KINDS: Mapping[str, type[Entry]] = {"buy": PurchaseIntent, "cancel": CancelIntent, "conclusion": PurchaseConclusion}
_HEAD = "ledger"


class PurchaseLedger:
    """The ledger in a directory. Its first line names its lineage, which is drawn when it is made: plans are bound to
    it, so that a plan is not bought against a ledger that has forgotten (or never knew) its purchases."""

    def __init__(self, directory: Path, lineage: str = "") -> None:
        self.directory = directory
        self._wanted_lineage = lineage
        self._lines = DurableLines(directory / FILE_NAME, WHAT)

    @property
    def path(self) -> Path:
        """The file."""
        return self.directory / FILE_NAME

    def lineage(self) -> str:
        """Whose purchases these are; empty where there is no ledger yet."""
        entries = self._lines.read().entries
        return str(entries[0].get("lineage", "")) if entries else ""

    def begin(self) -> str:
        """Make the ledger where there is none yet, and give its lineage."""
        if found := self.lineage():
            return found
        lineage = self._wanted_lineage or uuid.uuid4().hex
        self._make_directory()
        self._lines.append({"kind": _HEAD, "format_version": FORMAT_VERSION, "lineage": lineage})
        return lineage

    def entries(self) -> tuple[Entry, ...]:
        """All entries in order; InputError where one cannot be understood or the file is damaged."""
        lines = self._lines.read().entries
        if lines:
            self._check_head(lines[0])
        return tuple(self._entry(number, line) for number, line in enumerate(lines[1:], start=2))

    def next_number(self) -> int:
        """A number that no intent of this ledger has."""
        return max((entry.number for entry in self.entries()), default=0) + 1

    def intend(self, intent: PurchaseIntent | CancelIntent) -> None:
        """Note what is about to be asked; returns when that lasts, raises HcloudError where it does not: then nothing
        may be asked."""
        self.begin()
        self._append(intent)

    def conclude(self, conclusion: PurchaseConclusion) -> None:
        """Note what came of it, as lastingly."""
        self._append(conclusion)

    @contextmanager
    def held(self, purpose: str) -> Iterator[None]:
        """Be the only one who buys: LockedError names another who does. A holder that ended, however, holds nothing."""
        self._make_directory()
        path = self.directory / LOCK_NAME
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, PRIVATE)
        except OSError as error:
            raise HcloudError(f"{path}: cannot be locked: {error.strerror}; nothing was asked of the cloud") from None
        try:
            self._take(handle, path)
            _tell(handle, purpose)
            yield
        finally:
            os.close(handle)

    def _take(self, handle: int, path: Path) -> None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            who = os.pread(handle, 1000, 0).decode(errors="replace").strip() or "another hcloud"
            raise LockedError(f"{path}: held by {who}", hint="wait until it has ended, and try again") from None
        except OSError as error:
            raise HcloudError(
                f"{path}: this file system cannot lock files ({error.strerror}); nothing was asked of the cloud",
                hint="keep the state on a local disk",
            ) from None

    def _make_directory(self) -> None:
        try:
            if not self.directory.is_dir():
                self.directory.mkdir(mode=0o700)
                sync_directory(self.directory.parent)
        except OSError as error:
            raise HcloudError(
                f"{self.directory}: cannot be made: {error.strerror}; nothing was asked of the cloud"
            ) from None

    def _append(self, entry: Entry) -> None:
        kind = next(k for k, c in _KINDS.items() if isinstance(entry, c))
        self._lines.append({"kind": kind, **_document(entry)})

    def _check_head(self, line: Mapping[str, object]) -> None:
        version = str(line.get("format_version", ""))
        if line.get("kind") != _HEAD or version.partition(".")[0] != FORMAT_VERSION.partition(".")[0]:
            raise InputError(
                f"{self.path}: format_version {version!r} cannot be read; this hcloud reads {FORMAT_VERSION}"
            )

    def _entry(self, number: int, line: Mapping[str, object]) -> Entry:
        from pydantic import ValidationError

        kind = _KINDS.get(str(line.get("kind")))
        if kind is None:
            raise InputError(f"{self.path}: line {number}: {line.get('kind')!r} is an entry of a later version")
        try:
            return _adapter(kind).validate_json(json.dumps({k: v for k, v in line.items() if k != "kind"}))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise InputError(f"{self.path}: line {number}: {where}: {first['msg']}") from None


@cache
def _adapter(kind: type[Entry]) -> TypeAdapter[Entry]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def _document(entry: Entry) -> Mapping[str, object]:
    return cast("Mapping[str, object]", _adapter(type(entry)).dump_python(entry, mode="json"))


def _tell(handle: int, purpose: str) -> None:
    """Leave word of who holds the lock; it is for people only, the lock itself is the system's."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.geteuid())
    text = f"{purpose} by {user} on {socket.gethostname()}, pid {os.getpid()}\n".encode()
    os.ftruncate(handle, 0)
    os.pwrite(handle, text, 0)
