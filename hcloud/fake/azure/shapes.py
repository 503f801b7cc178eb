"""The machine sizes that the fake Azure offers, and what they cost there."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

# series and letters, version, GiB a vCPU, dollars a vCPU and hour (ours: near the real ones, and not meant to be them)
_FAMILIES = (
    ("D", "s", "v4", 4, "0.048"),
    ("D", "s", "v5", 4, "0.048"),
    ("D", "ds", "v5", 4, "0.0565"),
    ("D", "ls", "v5", 2, "0.0425"),
    ("D", "as", "v5", 4, "0.043"),
    ("D", "ps", "v5", 4, "0.0385"),
    ("D", "pls", "v5", 2, "0.034"),
    ("D", "s", "v6", 4, "0.0505"),
    ("E", "s", "v4", 8, "0.063"),
    ("E", "s", "v5", 8, "0.063"),
    ("E", "ds", "v5", 8, "0.072"),
    ("E", "as", "v5", 8, "0.0565"),
    ("E", "ps", "v5", 8, "0.0505"),
    ("E", "s", "v6", 8, "0.066"),
    ("F", "s", "v2", 2, "0.0423"),
    ("B", "s", "v2", 4, "0.0416"),
    ("B", "ps", "v2", 4, "0.0336"),
)
_VCPUS = (2, 4, 8, 16, 20, 32, 48, 64, 72, 96, 128, 192)
_NAME = re.compile(r"Standard_([A-Z]+)(\d+)([a-z]*)_(v\d+)", re.IGNORECASE | re.ASCII)
_RATES = {(s.lower(), letters, version): (gib, Decimal(rate)) for s, letters, version, gib, rate in _FAMILIES}
SPOT_FACTOR = Decimal("0.3")
TERM_FACTORS = {"P1Y": Decimal("0.617"), "P3Y": Decimal("0.395"), "P5Y": Decimal("0.33")}
TERM_YEARS = {"P1Y": 1, "P3Y": 3, "P5Y": 5}
ZONES = ("1", "2", "3")


@dataclass(frozen=True, slots=True)
class AzureSize:
    """A size: ``family`` is the name of its limit on cores."""

    name: str
    family: str
    vcpus: int
    memory_gib: int
    hourly: Decimal


def shape(name: str) -> AzureSize | None:
    """A size by its name; None where there is no such."""
    found = _NAME.fullmatch(name)
    if found is None or int(found[2]) not in _VCPUS:
        return None
    rates = _RATES.get((found[1].lower(), found[3].lower(), found[4].lower()))
    if rates is None:
        return None
    vcpus = int(found[2])
    family = f"standard{found[1].upper()}{found[3].upper()}{found[4].lower()}Family"
    return AzureSize(name, family, vcpus, vcpus * rates[0], rates[1] * vcpus)


def shapes() -> tuple[AzureSize, ...]:
    """All sizes there are."""
    names = [f"Standard_{s}{n}{letters}_{version}" for s, letters, version, _, _ in _FAMILIES for n in _VCPUS]
    return tuple(found for name in names if (found := shape(name)))
