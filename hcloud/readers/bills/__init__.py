"""Reads what clouds bill: which machines ran, hour by hour, at which price, covered by which commitment."""

from __future__ import annotations

from hcloud.readers.bills.options import BillOptions, bill_options
from hcloud.readers.bills.reading import is_bill, read_bill

__all__ = ["BillOptions", "bill_options", "is_bill", "read_bill"]
