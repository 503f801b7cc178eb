"""Durations as on a clock (01:34:00, 1-02:03:04), in units (90m, 1h30m, 1h30) and of ISO 8601 (PT1H30M), in seconds."""

from __future__ import annotations

import re

_N = r"(\d+(?:\.\d+)?)"
_CLOCK = re.compile(r"(?:(\d+)(?:-|\s+days?,?\s+))?(\d+):([0-5]\d):([0-5]\d(?:\.\d+)?)", re.ASCII)
_SPELT = {
    604_800: "w wk wks week weeks",
    86_400: "d day days",
    3600: "h hr hrs hour hours",
    60: "m min mins minute minutes",
    1: r"s sec secs second seconds second\(s\)",
    1e-3: "ms msec msecs milli millis millisecond milliseconds",
    1e-6: "us µs μs usec microsecond microseconds",
    1e-9: "ns nanosecond nanoseconds",
}
_UNITS = re.compile(
    r"[\s,]*+(?:and\s+)?+".join(rf"(?:{_N}\s*(?:{names.replace(' ', '|')})(?![a-zµμ]))?" for names in _SPELT.values()),
    re.ASCII | re.IGNORECASE,
)
_LESSER = re.compile(r"(.*\d\s*)([dhm])\s*(\d+)", re.ASCII | re.IGNORECASE)
"""As 1h30: the last number is of the next smaller unit."""
_NEXT = {"d": "h", "h": "m", "m": "s"}
_ALONE = re.compile(r"\d+(?:\.\d+)?\s*M", re.ASCII)
"""Minutes, months or millions."""
_ISO = re.compile(rf"P(?:{_N}W)?(?:{_N}D)?(?:T(?:{_N}H)?(?:{_N}M)?(?:{_N}S)?)?", re.ASCII)
_PAIR = re.compile(r"(\d+):([0-5]\d(?:\.\d+)?)", re.ASCII)
_COLON = re.compile(r"\d:\d", re.ASCII)
PAIRS = {"hh:mm": 60.0, "mm:ss": 1.0}
"""The notations of two numbers, which cannot be told apart, with the seconds of the second."""
MINUTES = "min"
"""What is said of durations as 90M that are minutes."""
TOLD = "a duration as 01:34:00, 1-02:03:04, 90m, 1h30m or PT1H30M"
TWO = f"{TOLD}; of two numbers say which they are: duration_unit=hh:mm or mm:ss"
MANY = "a duration; M alone may be minutes, months or millions: write 90m of minutes"


def clock_seconds(text: str, said: str = "") -> float | None:
    """Seconds of a duration that is no plain number; None for what is none, or may be several unless it is ``said``
    (``hh:mm``, ``mm:ss``, or of 90M ``min``)."""
    text = text.strip()
    if found := _PAIR.fullmatch(text):
        return (float(found[1]) * 60 + float(found[2])) * PAIRS[said] if said in PAIRS else None
    if _ALONE.fullmatch(text) and said != MINUTES:
        return None
    if found := _LESSER.fullmatch(text):
        text += _NEXT[found[2].lower()]
    for pattern, parts in ((_CLOCK, list(_SPELT)[1:]), (_UNITS, _SPELT), (_ISO, _SPELT)):
        if (found := pattern.fullmatch(text)) and any(found.groups()):
            return sum(float(part or 0) * seconds for part, seconds in zip(found.groups(), parts, strict=False))
    return None


def allowed_clock(text: str, told: str) -> str:
    """What is allowed in place of a cell: what is ``told`` of all, or what this one may be."""
    return MANY if _ALONE.fullmatch(text.strip()) else told


def is_clock(text: str) -> bool:
    """Whether a cell is written as such durations are, be it as none of them, or one that may be several."""
    return _COLON.search(text) is not None or clock_seconds(text, MINUTES) is not None
