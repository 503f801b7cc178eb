"""Reads a bill: every file of it in batches, each line added to what its kind of machine used."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa

from hcloud.errors import InputError
from hcloud.model.bill import Bill
from hcloud.readers.bills.adding import BillSums
from hcloud.readers.bills.cells import cells_of
from hcloud.readers.bills.files import HINT, Delivery, delivery, format_of, is_bill
from hcloud.readers.bills.lines import PlaceError, Texts
from hcloud.readers.bills.options import CURRENCY, BillOptions
from hcloud.readers.bills.result import BillOrigin, bill_of
from hcloud.readers.bills.tables import BillFile, batches, opened
from hcloud.readers.bills.twice import SeenLines
from hcloud.readers.workloads.source import open_source

__all__ = ["is_bill", "read_bill"]
Progress = Callable[[float], None]


def read_bill(path: Path, options: BillOptions | None = None, progress: Progress | None = None) -> Bill:
    """The bill in a file or a folder, every amount in US dollars; InputError with file and line for what cannot be
    read. ``progress`` hears the share read so far."""
    rates = {CURRENCY: Decimal(1), **(options or BillOptions()).rates}
    found = delivery(path)
    sums, files, names = BillSums(), list[BillFile](), list[str]()
    seen = SeenLines(sum(one.stat().st_size for one in found.files))
    for number, one in enumerate(found.files):
        source = open_source(one)
        known = format_of(source)
        if known is None:
            raise InputError(f"{one}: is no bill that is known", hint=HINT)
        file = opened(source, known[0], told_apart=len(found.files) > 1)
        if _is_twice(file, files, found):
            continue
        _take(file, sums, seen, rates, _shared(progress, number, len(found.files)))
        files.append(file)
        names.append(known[1])
    seen.check()
    if not sums.totals:
        raise InputError(f"{path}: no rows; the bill has only a header")
    if len(several := dict.fromkeys(names)) > 1:
        told = f"files of {' and '.join(several)}, added up: they must not be of the same account and month"
        found.said[told] = len(files)
    digest = hashlib.sha256("".join(sorted(file.digest for file in files)).encode()).hexdigest()
    origin = BillOrigin(path.name, " and ".join(dict.fromkeys(names)), digest, len(files), rates)
    return bill_of(sums, origin, _said(files, found))


def _shared(progress: Progress | None, number: int, files: int) -> Progress:
    """Hears the share of one file, tells that of all."""

    def advance(share: float) -> None:
        if progress is not None:
            progress((number + share) / files)

    return advance


def _is_twice(file: BillFile, files: list[BillFile], found: Delivery) -> bool:
    """Whether the same file was read already, under another name."""
    same = [other for other in files if other.source.size == file.source.size]
    if not same:
        return False
    digest = file.source.digest()
    if not any(other.digest == digest for other in same):
        return False
    told = "files that are there twice, under another name (read once)"
    found.said[told] = found.said.get(told, 0) + 1
    return True


def _take(file: BillFile, sums: BillSums, seen: SeenLines, rates: dict[str, Decimal], progress: Progress) -> None:
    rows = 0

    def check(texts: Texts) -> None:
        currency = texts["currency"].strip().upper()
        if currency and currency not in rates:
            allowed = f"US dollars; say what one {currency} is worth with --set rate_{currency}=1.08"
            raise PlaceError(0, "currency", f"is {currency}", allowed)

    try:
        for batch in batches(file):
            if not batch.num_rows:
                continue
            cells = cells_of(file.form, batch)
            sums.take(file.form, cells, check)
            seen.take(file.name, batch, cells.start)
            rows += int(np.count_nonzero(cells.counted)) if cells.counted is not None else batch.num_rows
            progress(file.share)
    except PlaceError as error:
        raise file.error_at(rows + error.row, error.column, error.value, error.allowed) from None
    except MemoryError:
        raise
    except pa.ArrowException as error:
        raise InputError(f"{file.name}: after line {rows + 1}: {str(error).splitlines()[0][:200]}") from error


def _said(files: list[BillFile], found: Delivery) -> dict[str, int]:
    said = dict(found.said)
    for file in files:
        for what, count in file.said.items():
            said[what] = said.get(what, 0) + count
    return said
