"""Reads a bill: every file of it in batches, each line added to what its kind of machine used."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hcloud.errors import InputError
from hcloud.model.bill import Bill
from hcloud.model.catalog import Provider
from hcloud.readers.bills.adding import BillSums
from hcloud.readers.bills.cells import Cells, cells_of, hours_of
from hcloud.readers.bills.files import Delivery, check_known, delivery, is_bill
from hcloud.readers.bills.lines import BillFormat, PlaceError, Texts
from hcloud.readers.bills.options import CURRENCY, BillOptions
from hcloud.readers.bills.priced import PricedLines
from hcloud.readers.bills.result import BillOrigin, bill_of
from hcloud.readers.bills.tables import BillFile, batches, opened
from hcloud.readers.bills.twice import SeenLines, SharedLines
from hcloud.units import cents, counted

__all__ = ["is_bill", "read_bill"]
Progress = Callable[[float], None]


def read_bill(path: Path, options: BillOptions | None = None, progress: Progress | None = None) -> Bill:
    """The bill in a file or a folder, every amount in US dollars; InputError with file and line for what cannot be
    read. ``progress`` hears the share read so far."""
    options = options or BillOptions()
    rates = {CURRENCY: Decimal(1), **options.rates}
    found = delivery(path)
    try:
        files = _opened(found)
    except InputError as error:
        raise _as_of_folder(error, path, found) from error
    seen = SeenLines(sum(file.source.size for file in files), [file.form for file in files])
    read = _BillRead(rates).of(files, seen, progress)
    if [file for file in files if file.drop_zero_costs(files)]:
        read = _BillRead(rates).of(files, None, progress)
    if shared := seen.shared():
        if seen.sampled:
            shared = _every_line(files).shared()
        read = _BillRead(rates, SharedLines(shared)).of(files, None, progress)
    if not read.sums.totals:
        raise InputError(f"{path}: no rows; the bill has only a header")
    digest = hashlib.sha256("".join(sorted(file.digest for file in files)).encode()).hexdigest()
    labels = dict.fromkeys(file.label for file in files)
    origin = BillOrigin(path.name, " and ".join(labels), digest, len(files), rates, options.gap_days, options.finished)
    return bill_of(read.sums, origin, {**_said(files, found), **read.said()})


def _as_of_folder(error: InputError, path: Path, found: Delivery) -> InputError:
    """The error of one file, with why its folder was read as a bill."""
    if path.is_dir():
        others = sum(found.said.values()) + len(found.files) - 1
        beside = f", and {counted(others, 'other file')}" if others else ""
        first = Path(found.files[0].name).name
        why = f"folder {path.name} was read as a bill, for {first} in it{beside}; else name the file"
        error.hint = "; ".join(filter(None, (why, error.hint)))
    return error


def _opened(found: Delivery) -> list[BillFile]:
    """The files, each once; of several exports that which says most first."""
    files = list[BillFile]()
    for source in found.files:
        form, label = check_known(source)
        file = opened(source, form, label, told_apart=len(found.files) > 1 or form.is_appended)
        if not _is_twice(file, files, found):
            files.append(file)
    return sorted(files, key=lambda file: rank(file.label))


def _every_line(files: list[BillFile]) -> SeenLines:
    """The lines of all files, whatever their hour."""
    seen = SeenLines(0, [file.form for file in files])
    for file in files:
        for batch in batches(file):
            start = hours_of(batch, "start")
            seen.take(file.name, batch, start, start)
    return seen


def _shared(progress: Progress | None, number: int, files: int) -> Progress:
    """Hears the share of one file, tells that of all."""

    def advance(share: float) -> None:
        if progress is not None:
            progress((number + share) / files)

    return advance


def _is_twice(file: BillFile, files: list[BillFile], found: Delivery) -> bool:
    """Whether the same file is there already, under another name."""
    same = [other for other in files if other.source.size == file.source.size]
    if not same or file.source.digest() not in {other.source.digest() for other in same}:
        return False
    told = "files that are there twice, under another name (read once)"
    found.said[told] = found.said.get(told, 0) + 1
    return True


class _BillRead:
    """What is read of a bill: the sums of its lines, and of those that are left out as other lines say the same."""

    def __init__(self, rates: dict[str, Decimal], shared: SharedLines | None = None) -> None:
        self.sums, self.rates, self.shared = BillSums(), rates, shared
        self.left_out: dict[str, BillSums] = {}
        self.days = AccountDays()

    def of(self, files: list[BillFile], seen: SeenLines | None, progress: Progress | None) -> _BillRead:
        """The same after all lines of the files; ``seen`` notes these."""
        several = len({file.label for file in files}) > 1
        for number, file in enumerate(files):
            self._take(file, seen, _shared(progress, number, len(files)), several=several)
        return self

    def said(self) -> dict[str, int]:
        """How many lines are left out and why, with what they cost."""
        priced, told = PricedLines(self.rates), dict[str, int]()
        for why, sums in self.left_out.items():
            cost = cents(priced.of(sums.totals, "cost", "credit"))
            told[f"{why} (${cost:,} left out)"] = sum(total.rows for total in sums.totals)
        return told

    def _take(self, file: BillFile, seen: SeenLines | None, progress: Progress, *, several: bool) -> None:
        rows = 0
        try:
            for batch in batches(file):
                if not batch.num_rows:
                    continue
                cells = cells_of(file.form, batch)
                file.since = min(file.since or cells.since, cells.since)
                if seen is not None:
                    seen.take(file.name, batch, cells.start, cells.span)
                self._add(file, batch, cells, several=several)
                rows += int(np.count_nonzero(cells.counted)) if cells.counted is not None else batch.num_rows
                progress(file.share)
        except PlaceError as error:
            raise file.error_at(rows + error.row, error.column, error.value, error.allowed) from None
        except MemoryError:
            raise
        except pa.ArrowException as error:
            raise InputError(f"{file.name}: after line {rows + 1}: {str(error).splitlines()[0][:200]}") from error

    def _add(self, file: BillFile, batch: pa.RecordBatch, cells: Cells, *, several: bool) -> None:
        there = np.zeros(batch.num_rows, np.bool_)
        if several:
            there, others = self.days.read_elsewhere(file.label, file.form, cells)
            self._leave_out(file, batch, there, f"lines of {file.label} of accounts and days that {others} has too")
        if self.shared is not None:
            twice = self.shared.in_an_earlier_file(file.name, batch, cells.start) & ~there
            self._leave_out(file, batch, twice, "lines that another file has too, counted once")
            there |= twice
        if not there.any():
            self.sums.take(file.form, cells, self._check)
        elif not there.all():
            self._take_some(self.sums, file, batch, ~there)

    def _leave_out(self, file: BillFile, batch: pa.RecordBatch, rows: NDArray[np.bool_], why: str) -> None:
        if rows.any():
            self._take_some(self.left_out.setdefault(why, BillSums()), file, batch, rows)

    def _take_some(self, sums: BillSums, file: BillFile, batch: pa.RecordBatch, rows: NDArray[np.bool_]) -> None:
        try:
            sums.take(file.form, cells_of(file.form, batch.filter(pa.array(rows))), self._check)
        except PlaceError as error:
            row = int(np.flatnonzero(rows)[error.row])
            raise PlaceError(row, error.column, error.value, error.allowed) from None

    def _check(self, texts: Texts) -> None:
        currency = texts["currency"].strip().upper()
        if currency and currency not in self.rates:
            allowed = f"US dollars; say what one {currency} is worth with --set rate_{currency}=1.08"
            raise PlaceError(0, "currency", f"is {currency}", allowed)


def _said(files: list[BillFile], found: Delivery) -> dict[str, int]:
    said = dict(found.said)
    for file in files:
        for what, count in file.said.items():
            said[what] = said.get(what, 0) + count
    return said


Flags = NDArray[np.bool_]
Whole = NDArray[np.int64]
_RANKS = (
    "AWS CUR 2.0", "AWS CUR", "Azure", "Google billing export (detailed)", "Google",
    "FOCUS 1.3", "FOCUS 1.2", "FOCUS 1.1", "",
)  # fmt: skip
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
