"""What stands before the decimals of a table's numbers, where that is not said."""

from __future__ import annotations

import re
from collections.abc import Container

from hcloud.errors import InputError
from hcloud.readers.workloads.commands import advice
from hcloud.readers.workloads.options import Decimal
from hcloud.readers.workloads.source import TraceFile

_POINT = re.compile(rb'\.[\d.]*(?= *[A-Za-z]{0,5} *"?(?:[;\r\n]|\Z))')
_GROUPED = re.compile(rb"[+-]?[1-9]\d{0,2}(\.\d{3})+")
_NUMBER = re.compile(rb"[+-]?\d*\.\d*")


def mark_of(source: TraceFile, delimiter: str, said: Decimal, numbers: Container[int]) -> str:
    """What is said, else a point. InputError for a table with semicolons, as where commas stand before decimals, whose
    columns of ``numbers`` have such points alone as may be between thousands: 7.200 is 7200 there, 7.2 elsewhere."""
    if said != "auto" or delimiter != ";":
        return said if said != "auto" else "."
    first = b""
    for _, block in source.blocks():
        for found in _POINT.finditer(block):
            line = 1 + block.rfind(b"\n", 0, found.start())
            *before, cell = block[line : found.end()].split(b";")
            if len(before) not in numbers:
                continue
            cell = cell.lstrip(b' "')
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
