"""Sizes of AWS within their family, by which reserved instances of a region flex."""

from __future__ import annotations

from decimal import Decimal

_SIZES = {"nano": "0.25", "micro": "0.5", "small": "1", "medium": "2", "large": "4", "xlarge": "8"}


def family_of(instance_type: str) -> str:
    """What stands before the dot."""
    return instance_type.partition(".")[0]


def units_of(instance_type: str) -> Decimal:
    """Normalised units of a size: 4 for large, 8 for xlarge, and 8 for each x of the larger ones."""
    size = instance_type.partition(".")[2]
    return Decimal(_SIZES[size]) if size in _SIZES else Decimal(size.removesuffix("xlarge")) * 8
