"""Durations as on a clock (01:34:00, 1-02:03:04), in units (90m, 1h30m) and of ISO 8601 (PT1H30M), in seconds."""

from __future__ import annotations

import re

_N = r"(\d+(?:\.\d+)?)"
_CLOCK = re.compile(r"(?:(\d+)(?:-|\s+days?,?\s+))?(\d+):([0-5]\d):([0-5]\d(?:\.\d+)?)", re.ASCII)
_UNITS = re.compile(
    rf"(?:{_N}\s*d(?:ays?)?)?\s*(?:{_N}\s*h(?:rs?|ours?)?)?\s*(?:{_N}\s*m(?:ins?|inutes?)?)?\s*(?:{_N}\s*s(?:ecs?|econds?)?)?",
    re.ASCII,
)
_ISO = re.compile(rf"P(?:{_N}D)?(?:T(?:{_N}H)?(?:{_N}M)?(?:{_N}S)?)?", re.ASCII)
_PAIR = re.compile(r"(\d+):([0-5]\d(?:\.\d+)?)", re.ASCII)
_COLON = re.compile(r"\d:\d", re.ASCII)
_PARTS = (86_400, 3600, 60, 1)
PAIRS = {"hh:mm": 60.0, "mm:ss": 1.0}
"""The notations of two numbers, which cannot be told apart, with the seconds of the second."""
TOLD = "a duration as 01:34:00, 1-02:03:04, 90m, 1h30m or PT1H30M"
TWO = f"{TOLD}; of two numbers say which they are: duration_unit=hh:mm or mm:ss"


def clock_seconds(text: str, pair: str = "") -> float | None:
    """Seconds of a duration that is no plain number; None for what is none, or may be several."""
    text = text.strip()
    if found := _PAIR.fullmatch(text):
        return (float(found[1]) * 60 + float(found[2])) * PAIRS[pair] if pair else None
    for pattern in (_CLOCK, _UNITS, _ISO):
        if (found := pattern.fullmatch(text)) and any(found.groups()):
            return sum(float(part or 0) * seconds for part, seconds in zip(found.groups(), _PARTS, strict=True))
    return None


def is_clock(text: str) -> bool:
    """Whether a cell is written as such durations are, be it as none of them, or one that may be several."""
    return _COLON.search(text) is not None or clock_seconds(text) is not None
