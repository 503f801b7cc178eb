"""What stands before the decimals of a table's numbers, where that is not said."""

from __future__ import annotations

import re

from hcloud.errors import InputError
from hcloud.readers.workloads.commands import advice
from hcloud.readers.workloads.options import Decimal
from hcloud.readers.workloads.source import TraceFile

_POINT = re.compile(rb'\.[\d.]*(?="?(?:[;\r\n]|\Z))')
_GROUPED = re.compile(rb"[+-]?[1-9]\d{0,2}(\.\d{3})+")
_NUMBER = re.compile(rb"[+-]?\d*\.\d*")


def mark_of(source: TraceFile, delimiter: str, said: Decimal) -> str:
    """What is said, else a point. InputError for a table with semicolons, as where commas stand before decimals, whose
    points all may be between thousands: 7.200 is 7200 there, and 7.2 elsewhere."""
    if said != "auto" or delimiter != ";":
        return said if said != "auto" else "."
    first = b""
    for _, block in source.blocks():
        for found in _POINT.finditer(block):
            start = 1 + max(block.rfind(mark, 0, found.start()) for mark in (b";", b"\n"))
            cell = block[start : found.end()].lstrip(b'"')
            if _GROUPED.fullmatch(cell):
                first = first or cell
            elif _NUMBER.fullmatch(cell):
                return "."
    if not first:
        return "."
    shown = first.decode()
    raise InputError(
        f"{source.name}: {shown} may be {shown.replace('.', '')} or a number with decimals: its columns are apart by"
        " semicolons, and each point stands before three digits",
        hint=advice(source, {"decimal": ","}, "points stand between thousands (else say .)"),
    )
