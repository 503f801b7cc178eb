"""What a value has to be, in plain words: the library that checks values speaks of inputs, instances and parsers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from hcloud.units import counted

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

WHOLE, NUMBER, FINITE = "must be a whole number", "must be a number", "must be a finite number"
TRUTH, TEXT, SECTION = "must be true or false", "must be text", "must be a section of keys: {key: value}"
LIST, DAY = "must be a list, for example [first, second]", "must be a date such as 2026-01-31"
MOMENT, PATH = "must be a time such as 2026-01-31T08:00:00Z", "must be a path"
OF_KIND = {
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float", "int_parsing_size"), WHOLE),
    **dict.fromkeys(("float_type", "float_parsing", "decimal_type", "decimal_parsing"), NUMBER),
    **dict.fromkeys(("bool_type", "bool_parsing"), TRUTH),
    **dict.fromkeys(("string_type", "string_sub_type", "string_unicode"), TEXT),
    **dict.fromkeys(("dict_type", "mapping_type", "model_type", "model_attributes_type", "dataclass_type"), SECTION),
    **dict.fromkeys(("tuple_type", "list_type", "set_type", "frozen_set_type"), LIST),
    **dict.fromkeys(("date_type", "date_parsing", "date_from_datetime_parsing", "date_from_datetime_inexact"), DAY),
    **dict.fromkeys(("datetime_type", "datetime_parsing", "datetime_from_date_parsing"), MOMENT),
    "timezone_aware": f"{MOMENT}, with its time zone",
    "finite_number": FINITE,
    "path_type": PATH,
    "missing": "is missing",
    "unexpected_keyword_argument": "is an unknown key",
    "extra_forbidden": "is an unknown key",
}
OF_LIMIT = {
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be {ge} or more",
    "less_than": "must be below {lt}",
    "less_than_equal": "must be {le} or less",
    "multiple_of": "must be a multiple of {multiple_of}",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "string_pattern_mismatch": "must match {pattern}",
}
OF_LENGTH = {
    "too_short": ("least", "min_length", "entry", "entries"),
    "too_long": ("most", "max_length", "entry", "entries"),
    "string_too_short": ("least", "min_length", "character", "characters"),
    "string_too_long": ("most", "max_length", "character", "characters"),
}
"""Which end of the length, the key of its number, and what is counted."""
OF_ALTERNATIVE = re.compile(r"[a-z-]+\[.*\]|constrained-\w+|str|int|float|bool|decimal")
"""How the library names one of several kinds that a value may have."""


def must_be(detail: ErrorDetails) -> str:
    """What a value that was refused has to be."""
    kind, facts = detail["type"], detail.get("ctx", {})
    if kind in OF_KIND:
        return OF_KIND[kind]
    if kind in OF_LENGTH:
        return _length(facts, *OF_LENGTH[kind])
    if kind in OF_LIMIT:
        return OF_LIMIT[kind].format(**{name: _told(value) for name, value in facts.items()})
    return detail["msg"].removeprefix("Value error, ")


def must_be_beside(detail: ErrorDetails) -> str:
    """The same where the value stands before it."""
    return must_be(detail).removeprefix(f"{detail['input']!r} ")


def _told(fact: object) -> str:
    """A limit without an empty fraction, or names without quotes; texts that YAML takes for numbers keep theirs."""
    if isinstance(fact, float):
        return str(fact).removesuffix(".0")
    return re.sub(r"'([a-z][\w-]*)'", r"\1", str(fact))


def _length(facts: Mapping[str, object], end: str, key: str, one: str, several: str) -> str:
    number = int(str(facts[key]))
    return f"must have at {end} {f'one {one}' if number == 1 else counted(number, one, several)}"


def place_of_value(detail: ErrorDetails) -> tuple[int | str, ...]:
    """Where the value stands, whichever of the kinds that it may have it was held against."""
    *before, last = detail["loc"] or ("",)
    return tuple(before) if OF_ALTERNATIVE.fullmatch(str(last)) else detail["loc"]


def any_of(allowed: list[str]) -> str:
    """What a value may be that may be one of several."""
    first, *others = dict.fromkeys(allowed)
    return ", or ".join([first, *(other.removeprefix("must be ") for other in others)])
