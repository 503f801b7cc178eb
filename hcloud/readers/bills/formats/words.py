"""Words that bills of several clouds have in common: units of time, and details as JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from hcloud.model.json_text import parsed, written

_UNIT = re.compile(r"(?i)(?P<many>\d[\d,]*)?\s*(?P<name>hours?|hrs?|seconds?|minutes?)(?:/\w+)?")
HOURS = {"h": 1.0, "m": 1 / 60, "s": 1 / 3600}
LICENCES = "virtual machines licenses"
"""What Azure calls the licences of machines that commitments cover: these have none in their price."""


def hours_in(unit: str) -> float | None:
    """How many hours a unit is, ``Hours`` or ``100 Hours``; None for a unit of something else."""
    found = _UNIT.fullmatch(unit.strip())
    if found is None:
        return None
    return float((found["many"] or "1").replace(",", "")) * HOURS[found["name"][0].lower()]


def hours_each(unit: str) -> float | None:
    """How many hours one of what a unit counts is: 1 of ``100 Hours``, whose hundred is the size of the block that is
    priced; None for a unit of something else."""
    found = _UNIT.fullmatch(unit.strip())
    return None if found is None else HOURS[found["name"][0].lower()]


def details_in(text: str) -> dict[str, str]:
    """The entries of a JSON object, or of a list of keys and values, without the ``x_`` of FOCUS before names of a
    provider's own; none for other text."""
    if not text.lstrip().startswith(("{", "[")):
        return {}
    try:
        found = parsed(text)
    except ValueError:
        return {}
    if isinstance(found, list) and all(isinstance(pair, dict) for pair in found):
        pairs = [{str(key).lower(): value for key, value in pair.items()} for pair in found]
        found = {pair.get("key"): pair.get("value") for pair in pairs}
    return {str(k).removeprefix("x_"): str(v) for k, v in found.items() if v} if isinstance(found, dict) else {}


def licensed_image(details: Mapping[str, str]) -> str:
    """The type of an image of Azure; nothing of one whose licence the user brings (``Windows Server BYOL``): what is
    paid for is then what the meter says."""
    image = details.get("ImageType", "")
    return "" if "byol" in image.lower() else image


@lru_cache(1 << 14)
def only(text: str, keys: tuple[str, ...]) -> str:
    """The same with these keys alone, so that machines which differ in their names only are of one sort of line."""
    found = details_in(text)
    return written({key: found[key] for key in keys if key in found}) if found else ""
