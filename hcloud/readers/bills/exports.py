"""Two exports of one account (CUR and FOCUS, detailed and standard) say the same use twice: the better one counts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hcloud.model.catalog import Provider
from hcloud.readers.bills.cells import Cells
from hcloud.readers.bills.lines import BillFormat, PlaceError

Flags = NDArray[np.bool_]
Whole = NDArray[np.int64]
_RANKS = ("AWS CUR 2.0", "AWS CUR", "Azure", "Google billing export (detailed)", "Google", "FOCUS 1.2", "FOCUS 1.1", "")
"""Those that say most of machines and commitments first, by how their names begin."""
_DAY, _DAYS = 24, 1 << 17
_ANY = "*"
_Owner = tuple[Provider | None, str]


def rank(label: str) -> int:
    """The place of an export by its name: 0 says most."""
    return next(place for place, begins in enumerate(_RANKS) if label.startswith(begins))


class AccountDays:
    """Of which accounts and days lines were read, by export: those of machines apart from all others. The better
    exports are read first."""

    def __init__(self) -> None:
        self._owners: dict[_Owner, int] = {}
        self._read: dict[str, set[int]] = {}

    def read_elsewhere(self, label: str, form: BillFormat, cells: Cells) -> tuple[Flags, str]:
        """Which rows other exports had already, and their names; notes all others."""
        keys, timed = self._keys(form, cells), cells.start >= 0
        there, names = np.zeros(len(keys), np.bool_), []
        for other, read in self._read.items():
            if other == label:
                continue
            had = timed & np.isin(keys, np.fromiter(read, np.int64, len(read)))
            names += [other] * bool(had.any())
            there |= had
        self._note(label, keys, cells.span, timed & ~there)
        return there, " and ".join(names)

    def _keys(self, form: BillFormat, cells: Cells) -> Whole:
        owners = np.array([self._owner(*of) for of in _owners_of(form, cells)], np.int64)
        keys: Whole = owners[cells.codes] * _DAYS + np.maximum(cells.start, 0) // _DAY
        return keys

    def _owner(self, provider: Provider | None, account: str) -> int:
        return self._owners.setdefault((provider, account or _ANY), len(self._owners))

    def _note(self, label: str, keys: Whole, span: Whole, rows: Flags) -> None:
        """A line of a month stands for each day of it, one of a machine also for the same without an account."""
        days = -(-span[rows] // _DAY)
        read = self._read.setdefault(label, set())
        owners = list(self._owners)
        for key, length in set(zip(keys[rows].tolist(), days.tolist(), strict=True)):
            place, day = divmod(key, _DAYS)
            provider, _ = owners[place]
            anybody = place if provider is None else self._owner(provider, "")
            for later in range(day, day + length):
                read |= {place * _DAYS + later, anybody * _DAYS + later}


def _owners_of(form: BillFormat, cells: Cells) -> Iterator[_Owner]:
    """Whose each sort of line is; accounts as all exports of a provider spell them."""
    for sort, row in zip(cells.sorts, cells.first.tolist(), strict=True):
        texts = dict(zip(form.texts, sort, strict=True))
        try:
            usage = form.meaning(texts).usage
        except PlaceError as error:
            raise PlaceError(row, error.column, error.value, error.allowed) from None
        account = texts["account"].strip().lower().rsplit("/", 1)[-1].lstrip("0")
        yield (usage.provider if usage is not None else None), account
