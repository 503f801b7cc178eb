"""Amounts of memory and of CPUs with their units, as clouds and schedulers write them, and points of pressure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hcloud.model.measured.profile import RESOURCES

SECONDS = {
    "auto": 1.0,
    "ns": 1e-9,
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "min": 60.0,
    "h": 3600.0,
    "d": 86_400.0,
    "hh:mm": 1.0,
    "mm:ss": 1.0,
}
"""Of each unit of time; jobs take seconds unless it is said."""
MOST_POINTS = 99
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_AMOUNT = re.compile(
    r"\s*([+-]?(?:\d{1,99}(?:\.\d*)?|\.\d+)(?:e[+-]?\d{1,99})?)\s*([a-z]*)\s*", re.ASCII | re.IGNORECASE
)
_BYTES = re.compile(r"(?:([kmgtpe])(i?))?(?:b|bytes?)?", re.ASCII | re.IGNORECASE)
_CPUS = {"k": 1e-3, "m": 1e3, "u": 1e6, "n": 1e9} | dict.fromkeys(
    ("cpu", "cpus", "vcpu", "vcpus", "core", "cores"), 1.0
)
"""How many of each are in a vCPU."""
_GROUPED = re.compile(r"\s*[+-]?[1-9]\d{0,2}(\.\d{3})+(?![.\d])", re.ASCII)
"""Points between thousands, where commas stand before decimals."""
_MILLI = 2**20 * 1000  # 1 MiB in thousandths of a byte
_LARGE = 2**28  # ours: 256 MiB in bytes, else 256 GiB in KiB


def with_point(text: str, mark: str) -> str:
    """A number with this mark before its decimals as one with a point; nothing for one with another mark."""
    if mark == ".":
        return text
    text = text.replace(".", "") if _GROUPED.match(text) else text
    return "" if "." in text else text.replace(mark, ".")


def plain_of(text: str) -> float | None:
    """A number without a unit; None for what is none."""
    return float(text) if NUMBER.fullmatch(text.strip()) else None


def memory_of(text: str, in_a_gib: float, *, kubernetes: bool = False) -> float | None:
    """An amount of memory as ``8Gi``, ``512 MB``, ``16g`` or a bare number, in the unit of bare ones, of which so many
    are in a GiB; None for what is none. Units are powers of 1024 with or without an ``i``, but for Kubernetes, whose
    ``G`` is a power of 1000. Its ``m`` is a thousandth of a byte, elsewhere too where that is 1 MiB or more (as MiB it
    would be 1 PiB)."""
    found = _amount(text)
    unit = _BYTES.fullmatch(found[1]) if found else None
    if found is None or unit is None:
        return None
    amount = found[0]
    if not found[1]:
        return amount
    if found[1] == "m" and (kubernetes or amount >= _MILLI):
        return amount / 1000 / 2**30 * in_a_gib
    power = "kmgtpe".index(unit[1].lower()) + 1 if unit[1] else 0
    thousands = 1000.0 if kubernetes and not unit[2] else 1024.0
    return amount * thousands**power / 2**30 * in_a_gib


def likely_unit(cells: Iterable[str]) -> str:
    """The unit of memory that cells show: ``auto`` where each names its own, ``B`` where those without one are hundreds
    of GiB in any other; nothing where it cannot be seen."""
    filled = [cell for cell in map(str.strip, cells) if cell and memory_of(cell, 1) is not None]
    bare = [float(cell) for cell in filled if not cell[-1].isalpha()]
    if filled and not bare:
        return "auto"
    return "B" if bare and min(bare) >= _LARGE else ""


def cpus_of(text: str, in_a_vcpu: float = 1.0) -> float | None:
    """CPUs as ``500m``, ``2 vCPU`` or a bare number, in the unit of bare ones, of which so many are in a vCPU; None for
    what are none."""
    found = _amount(text)
    if found is None or not found[1]:
        return found[0] if found else None
    amount, unit = found[0], found[1] if len(found[1]) == 1 else found[1].lower()
    return amount / _CPUS[unit] * in_a_vcpu if unit in _CPUS else None


def _amount(text: str) -> tuple[float, str] | None:
    """A number of 0 or more, and its unit or ""; None for what is none, and for what no number can hold."""
    found = _AMOUNT.fullmatch(text)
    amount = float(found[1]) if found else -1.0
    return (amount, found[2]) if found and 0 <= amount < float("inf") else None


def points_of(text: str) -> tuple[int, ...] | None:
    """The points of each shared resource that a cell holds; None where it does not."""
    parts = text.split()
    if len(parts) != len(RESOURCES) or not all(part.isascii() and part.isdigit() for part in parts):
        return None
    points = tuple(int(part) if len(part) < 9 else MOST_POINTS + 1 for part in parts)
    return points if max(points) <= MOST_POINTS else None
