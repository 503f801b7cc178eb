"""Opens a bill where a workload is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from hcloud.errors import UsageError
from hcloud.model.bill import Bill
from hcloud.store.buckets.copied import copied, is_in_bucket
from hcloud.usecases.workloads.sources import SCENARIO_PREFIX
from hcloud.usecases.workloads.workload import WorkloadRequest

BILL = "bill"
"""The word for ``--format``: a bill is recognised by its content all the same."""


def names_bill(request: WorkloadRequest) -> bool:
    """Whether a bill is asked for: by its format, or by the content of the file or folder."""
    if is_in_bucket(request.name):
        return True
    if request.format not in ("auto", BILL) or request.name.startswith(SCENARIO_PREFIX):
        return False
    from hcloud.readers.bills import is_bill

    return request.format == BILL or is_bill(Path(request.name)) is not None


def open_bill(request: WorkloadRequest, progress: Callable[[float], None] | None = None) -> Bill:
    """The bill that is asked for; InputError where it cannot be read, UsageError for what a bill does not have."""
    from hcloud.readers.bills import bill_options, read_bill
    from hcloud.readers.bills.files import may_be_of_bill

    if request.window is not None:
        raise UsageError("--window is for traces; a bill is shown whole", hint="name the folder of one month")
    options = bill_options(request.keys or {})
    if not is_in_bucket(request.name):
        return read_bill(Path(request.name), options, progress)
    with copied(request.name, may_be_of_bill, progress) as folder:
        return replace(read_bill(folder, options, progress), name=request.name)
