"""Opens a bill where a workload is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from hcloud.errors import UsageError
from hcloud.model.bill import Bill
from hcloud.store.buckets.copied import copied, is_in_bucket

BILL = "bill"
"""The word for ``--format``: a bill is recognised by its content all the same."""


def names_bill(name: str, fmt: str) -> bool:
    """Whether a bill is asked for: by its format, or by the content of the file or folder."""
    if is_in_bucket(name):
        return True
    if fmt not in ("auto", BILL):
        return False
    from hcloud.readers.bills import is_bill

    return fmt == BILL or is_bill(Path(name)) is not None


def open_bill(
    name: str, keys: Mapping[str, str], window: str | None = None, progress: Callable[[float], None] | None = None
) -> Bill:
    """The bill that is asked for; InputError where it cannot be read, UsageError for what a bill does not have."""
    from hcloud.readers.bills import bill_options, read_bill
    from hcloud.readers.bills.files import may_be_of_bill

    if window is not None:
        raise UsageError("--window is for traces; a bill is read whole", hint="name the folder of one month")
    options = bill_options(keys)
    if not is_in_bucket(name):
        return read_bill(Path(name), options, progress)
    with copied(name, may_be_of_bill, progress) as folder:
        return replace(read_bill(folder, options, progress), name=name)
