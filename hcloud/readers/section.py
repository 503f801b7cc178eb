"""What all sections of files have in common: unknown keys are errors, and all problems of a file are shown at once."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from decimal import Decimal
from itertools import groupby
from typing import Annotated, Any, TypeVar, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetJsonSchemaHandler, ValidationError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import CoreSchema, ErrorDetails

from hcloud.errors import InputError, Problem, did_you_mean
from hcloud.model.must_be import FINITE, WHOLE, any_of, must_be_beside, place_of_value
from hcloud.units import DURATION as IN_WORDS
from hcloud.units import counted, parse_duration

DURATION = "[duration]"
"""How the text of a key ends whose value is a time span."""
A_SPAN = "must be a time span such as 90s, 2h or 30d"
POSITIVE: JsonSchemaValue = {
    "anyOf": [
        {"type": "number", "exclusiveMinimum": 0},
        {"type": "string", "pattern": r"^\s*\+?[0-9]+(\.[0-9]*)?\s*$"},
    ]
}
_ANY_CASE = re.sub(r"(?<!\\)(?!m\|)[a-z]", lambda letter: f"[{letter[0]}{letter[0].upper()}]", IN_WORDS)
SPAN_IN_TEXT: JsonSchemaValue = {"type": "string", "pattern": rf"^\s*{_ANY_CASE}\s*$"}


class _Span:
    """Lets the schema say that whole seconds may be written as a time span."""

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [handler(core), SPAN_IN_TEXT]}


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
        of_values = groupby(told, key=place_of_value)
        problems = [_problem(name, list(details), model) for _, details in of_values]
        raise InputError(f"{name}: {counted(len(problems), 'problem')} in the {what}", problems) from None


def keys_at(model: type[Section], place: Iterable[int | str]) -> list[str]:
    """The keys that may stand at a place of a file."""
    return sorted(_model_at(model, place).model_fields)


def _model_at(model: type[Section], place: Iterable[int | str]) -> type[Section]:
    for part in place:
        field = model.model_fields.get(str(part))
        model = (_section_in(field.annotation) if field else None) or model
    return model


def _field_at(model: type[Section], place: tuple[int | str, ...]) -> FieldInfo | None:
    """The field of a value, also of one in a list."""
    names = [part for part in place if isinstance(part, str)]
    return _model_at(model, names[:-1]).model_fields.get(names[-1]) if names else None


def _section_in(annotation: object) -> type[Section] | None:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation
    return next((found for part in get_args(annotation) if (found := _section_in(part))), None)


def _follows(detail: ErrorDetails) -> bool:
    """Whether a list is only too short as what is wrong with its entries left none: those are told."""
    return detail["type"] == "too_short" and bool(detail.get("input"))


def _problem(file: str, details: list[ErrorDetails], model: type[Section]) -> Problem:
    """What is wrong with one value, held against each of the kinds that it may have."""
    detail, place = details[0], place_of_value(details[0])
    where, known = ".".join(map(str, place)) or "top", keys_at(model, place[:-1])
    if detail["type"] == "extra_forbidden":
        close = difflib.get_close_matches(str(place[-1]), known, n=1)
        allowed = f"did you mean {close[0]}?" if close else f"known keys: {', '.join(known)}"
        return Problem(file, where, "unknown key", allowed)
    if detail["type"] == "missing":
        return Problem(file, where, "missing", "has to be stated")
    value, allowed = detail.get("input"), _allowed(details, model)
    if isinstance(value, str):
        allowed += did_you_mean(value, [name for one in details for name in _names(one)])
    return Problem(file, where, "" if isinstance(value, dict) else _shown(value), allowed)


def _allowed(details: list[ErrorDetails], model: type[Section]) -> str:
    field = _field_at(model, place_of_value(details[0]))
    spans = field is not None and str(field.description).endswith(DURATION)
    said = map(must_be_beside, details)
    return any_of([A_SPAN if spans and one in (WHOLE, FINITE) else one for one in said])


def _names(detail: ErrorDetails) -> list[str]:
    return re.findall(r"'([^']+)'", str(detail.get("ctx", {}).get("expected", "")))


def _shown(value: object) -> str:
    """A value as YAML writes it."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return (str if isinstance(value, Decimal) else repr)(value)[:80]
