"""What all sections of files have in common: unknown keys are errors, and all problems of a file are shown at once."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Annotated, Any, TypeVar, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetJsonSchemaHandler, ValidationError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import CoreSchema, ErrorDetails

from hcloud.errors import InputError, Problem, did_you_mean
from hcloud.units import counted, parse_duration

DURATION = "[duration]"
"""How the text of a key ends whose value is a time span."""
POSITIVE: JsonSchemaValue = {
    "anyOf": [
        {"type": "number", "exclusiveMinimum": 0},
        {"type": "string", "pattern": r"^\s*\+?[0-9]+(\.[0-9]*)?\s*$"},
    ]
}
_SPAN: JsonSchemaValue = {"type": "string", "pattern": r"^\s*[0-9]+(\.[0-9]+)?\s*(s|min|m|h|d|w|y)\s*$"}


class _Span:
    """Lets the schema say that whole seconds may be written as a time span."""

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [handler(core), _SPAN]}


SPAN = _Span()


def _seconds(value: object) -> object:
    return parse_duration(value) if isinstance(value, str) and value != "auto" else value


FROM_TEXT = BeforeValidator(_seconds)
Seconds = Annotated[int, Field(ge=0), FROM_TEXT, SPAN]
Age = Annotated[int, Field(gt=0), FROM_TEXT, SPAN]


def setting(default: Any, text: str, **limits: Any) -> Any:
    """A key of the configuration: its default (``...`` where it has none) and what it does, with its unit behind."""
    return Field(default, description=text, **limits)


class Untitled(GenerateJsonSchema):
    """Says what keys do, and does not repeat their names."""

    def field_title_should_be_set(self, schema: object) -> bool:
        return False


class Section(BaseModel):
    """A section of a file: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


S = TypeVar("S", bound=Section)


def validated(model: type[S], content: object, name: str, what: str) -> S:
    """What a file holds; raises InputError with every problem, its place and a did-you-mean."""
    try:
        return model.model_validate(content)
    except ValidationError as error:
        told = [detail for detail in error.errors() if not _follows(detail)]
        problems = [_problem(name, detail, keys_at(model, detail["loc"][:-1])) for detail in told]
        raise InputError(f"{name}: {counted(len(problems), 'problem')} in the {what}", problems) from None


def keys_at(model: type[Section], place: Iterable[int | str]) -> list[str]:
    """The keys that may stand at a place of a file."""
    for part in place:
        field = model.model_fields.get(str(part))
        model = (_section_in(field.annotation) if field else None) or model
    return sorted(model.model_fields)


def _section_in(annotation: object) -> type[Section] | None:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation
    return next((found for part in get_args(annotation) if (found := _section_in(part))), None)


def _follows(detail: ErrorDetails) -> bool:
    """Whether a list is only too short as what is wrong with its entries left none: those are told."""
    return detail["type"] == "too_short" and bool(detail.get("input"))


_LIST = frozenset({"tuple_type", "list_type"})


def _plainly(detail: ErrorDetails) -> str:
    """What a value has to be, without the words of the library that checks it."""
    if detail["type"] == "too_short":
        least = detail["ctx"]["min_length"]
        return f"must have at least {'one entry' if least == 1 else counted(least, 'entry', 'entries')}"
    if detail["type"] in _LIST:
        return "must be a list, for example [first, second]"
    if detail["type"] == "decimal_type":
        return "must be a number"
    return detail["msg"].removeprefix("Value error, ")


def _problem(file: str, detail: ErrorDetails, known: list[str]) -> Problem:
    where = ".".join(str(part) for part in detail["loc"])
    if detail["type"] == "extra_forbidden":
        close = difflib.get_close_matches(str(detail["loc"][-1]), known, n=1)
        allowed = f"did you mean {close[0]}?" if close else f"known keys: {', '.join(known)}"
        return Problem(file, where, "unknown key", allowed)
    if detail["type"] == "missing":
        return Problem(file, where, "missing", "has to be stated")
    value, allowed = detail.get("input"), _plainly(detail)
    if isinstance(value, str):
        allowed += did_you_mean(value, re.findall(r"'([^']+)'", str(detail.get("ctx", {}).get("expected", ""))))
    return Problem(
        file,
        where,
        "" if isinstance(value, dict) else (str if isinstance(value, Decimal) else repr)(value)[:80],
        allowed,
    )
