"""The ledger of purchases: what was about to be asked of a cloud and what came of it, never trimmed and never lost."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

from hcloud.control.ports import Crash
from hcloud.errors import InputError
from hcloud.model.checked import check_version, first_of, form_of
from hcloud.model.holdings.purchase import FORMAT_VERSION, CancelIntent, Entry, PurchaseConclusion, PurchaseIntent
from hcloud.store.files.crash import go_on
from hcloud.store.files.lock import FileLock
from hcloud.store.files.private_directory import PrivateDirectory
from hcloud.store.records.durable_lines import Content, DurableLines

if TYPE_CHECKING:
    from hcloud.store.files.private_directory import Disk

FILE_NAME = "purchases.jsonl"
WHAT = "ledger of purchases"
_KINDS: Mapping[str, type[Entry]] = {"buy": PurchaseIntent, "cancel": CancelIntent, "conclusion": PurchaseConclusion}
_HEAD = "ledger"


class PurchaseLedger:
    """The ledger in a directory, which is also the state's; whoever holds the state's lock there holds the ledger.

    Its first line names its lineage, which is drawn when it is made: plans are bound to it, so that none is bought
    beside a ledger that has forgotten (or never knew) its purchases.
    """

    def __init__(self, directory: Path, crash: Crash = go_on, disk: Disk | None = None) -> None:
        place = PrivateDirectory(directory, crash, disk)
        self._lock = FileLock(place, crash)
        self._lines = DurableLines(place, FILE_NAME, WHAT)

    def __str__(self) -> str:
        return str(self._lines)

    def lineage(self) -> str:
        """Whose purchases these are; empty where there is no ledger yet."""
        contents = self._lines.read().contents
        return str(self._head(contents[0]).get("lineage", "")) if contents else ""

    def begin(self) -> str:
        """Make the ledger where there is none yet, and give its lineage."""
        if not self.lineage():
            self._lines.append({_HEAD: {"format_version": FORMAT_VERSION, "lineage": uuid.uuid4().hex}})
        return self.lineage()

    def entries(self) -> tuple[Entry, ...]:
        """All entries in order; InputError where one cannot be understood or the file is damaged."""
        contents = self._lines.read().contents
        if contents:
            self._head(contents[0])
        return tuple(self._entry(number, content) for number, content in enumerate(contents[1:], start=2))

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
        """Be the only one who changes clouds from here; LockedError names another who does."""
        with self._lock.hold(purpose):
            yield

    def _append(self, entry: Entry) -> None:
        self._lock.check()
        kind = next(k for k, c in _KINDS.items() if isinstance(entry, c))
        self._lines.append({kind: form_of(_KINDS[kind]).dump_python(entry, mode="json")})

    def _head(self, content: Content) -> Content:
        head = content.get(_HEAD)
        check_version(head, str(self))
        return cast("Content", head)

    def _entry(self, number: int, content: Content) -> Entry:
        from pydantic import ValidationError

        ((name, document),) = content.items() if len(content) == 1 else ((None, None),)
        if name not in _KINDS:
            raise InputError(f"{self}: line {number}: {name!r} is an entry of a later version")
        try:
            return form_of(_KINDS[str(name)]).validate_python(document)
        except ValidationError as error:
            raise InputError(f"{self}: line {number}: {first_of(error)}") from None
