"""Opens a bill where a workload is asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hcloud.errors import UsageError
from hcloud.store.buckets.copied import copied, is_in_bucket

if TYPE_CHECKING:
    from hcloud.model.bill import Bill
    from hcloud.readers.configuration.config import Loaded

BILL = "bill"
"""The word for ``--format``: a bill is recognised by its content all the same."""
KIND = "kind"
"""The key of ``workload.options`` that names one kind of machine in a bill."""
STDIN = Path("-")
_ADDRESS = re.compile(r"^(s3|gs|https):/+")  # as a path an address has one slash


def is_bill_named(loaded: Loaded) -> bool:
    """Whether the workload of the configuration is a provider's bill."""
    section = loaded.config.workload
    return (
        section.path is not None
        and section.path != STDIN
        and names_bill(bill_name(loaded), section.format, section.options)
    )


def bill_name(loaded: Loaded) -> str:
    """The bill's address, or its file in the directory of the configuration."""
    assert loaded.config.workload.path is not None, "asked about before"
    address = _ADDRESS.sub(r"\1://", loaded.config.workload.path.as_posix())
    return address if is_in_bucket(address) else str(loaded.resolve(loaded.config.workload.path))


def names_bill(name: str, fmt: str, keys: Iterable[str] = ()) -> bool:
    """Whether a bill is asked for: by its format, by a key that only bills have, or by the content of the file or
    folder."""
    if is_in_bucket(name):
        return True
    if fmt not in ("auto", BILL):
        return False
    from hcloud.readers.bills.files import is_bill
    from hcloud.readers.bills.options import is_of_bill

    return fmt == BILL or any(map(is_of_bill, keys)) or is_bill(Path(name)) is not None


def open_bill(
    name: str, keys: Mapping[str, str], window: str | None = None, progress: Callable[[float], None] | None = None
) -> Bill:
    """The bill that is asked for; InputError where it cannot be read, UsageError for what a bill does not have."""
    from hcloud.readers.bills.files import may_be_of_bill
    from hcloud.readers.bills.options import bill_options
    from hcloud.readers.bills.reading import read_bill

    if window is not None:
        raise UsageError("--window is for traces; a bill is read whole", hint="name the folder of one month")
    options = bill_options(keys)
    if not is_in_bucket(name):
        return read_bill(Path(name), options, progress)
    with copied(name, may_be_of_bill, progress) as folder:
        return replace(read_bill(folder, options, progress), name=name)
