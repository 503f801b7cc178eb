"""What verbs print as JSON: a class an object, from which both the values and the published schema come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from typing import Annotated, Any, ClassVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    WithJsonSchema,
    model_validator,
)
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import CoreSchema

from hcloud.model.json_text import DIALECT, FORMAT_VERSION, closed, head, stamp
from hcloud.units import cents, plain, rate

Schema = dict[str, Any]
ABSENT: Any = object()
"""What a field is that its result does not have."""


@dataclass(frozen=True, slots=True)
class From:
    """What a field is read from, if not from the attribute of its own name: a path of names, or a function."""

    source: str | Callable[[Any], object]


@dataclass(frozen=True, slots=True)
class Keys:
    """The only keys that an object of values may have; ``all_of_them`` says that none may lack."""

    names: tuple[str, ...]
    all_of_them: bool = False

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        value: Schema = handler(core)["additionalProperties"]
        required = self.names if self.all_of_them else ()
        return closed(dict.fromkeys(self.names, value), required)


class Part(BaseModel):
    """An object of a document. Its fields say where in a result they are found, how they are written and what the
    schema promises of them; what has a default is left out where it is absent."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _taken(cls, result: Any) -> dict[str, object]:
        taken = ((name, take(result)) for name, take in _takers(cls))
        return {name: value for name, value in taken if value is not ABSENT}


@cache
def _takers(kind: type[Part]) -> tuple[tuple[str, Callable[[Any], object]], ...]:
    """How each field is had from a result."""
    return tuple((name, _taker(name, field.metadata)) for name, field in kind.model_fields.items())


def _taker(name: str, metadata: list[Any]) -> Callable[[Any], object]:
    source = next((m.source for m in metadata if isinstance(m, From)), name)
    return partial(_along, tuple(source.split("."))) if isinstance(source, str) else source


def _along(path: tuple[str, ...], result: Any) -> Any:
    """What stands at a path; of a mapping the value of the key, or nothing."""
    for name in path:
        result = result.get(name, ABSENT) if isinstance(result, Mapping) else getattr(result, name)
    return result


class Document(Part):
    """What a verb prints: a part with a title and the head that all documents have. Its ``table`` is where the rows are
    that CSV and data frames are made of: None for its first list of objects, else the names on the way to it; without
    any the document itself is the one row."""

    table: ClassVar[tuple[str, ...] | None] = None

    @classmethod
    def of(cls, result: object, at: datetime) -> Content:
        """A result as JSON."""
        told = cls.model_validate(result).model_dump(mode="json", exclude_unset=True)
        return Content({**head(at), **told}, partial(schema_of, cls), cls.table)


class Content(dict[str, object]):
    """What a document says, with what its schema promises and where its table is."""

    def __init__(
        self, content: Mapping[str, object], schema: Callable[[], Schema], table: tuple[str, ...] | None = None
    ) -> None:
        super().__init__(content)
        self.schema, self.table = schema, table


def stored_content(
    content: Mapping[str, object], schema: Callable[[], Mapping[str, object]], table: tuple[str, ...] | None = None
) -> Content:
    """The same of a document whose schema refers to definitions of its own, as those of files do."""

    def resolved() -> Schema:
        whole = dict(schema())
        parts: Any = whole.pop("$defs", {})
        found: Schema = _in_place(whole, parts)
        return found

    return Content(content, resolved, table)


def schema_of(*kinds: type[Document]) -> Schema:
    """The published schema of what is printed as one of these kinds."""
    whole = [_document_schema(kind) for kind in kinds]
    content = whole[0] if len(whole) == 1 else {"oneOf": whole}
    return {"$schema": DIALECT, "title": kinds[0].model_config["title"], **content}


def _document_schema(kind: type[Document]) -> Schema:
    schema = kind.model_json_schema(mode="serialization", schema_generator=_AsDeclared)
    parts = schema.pop("$defs", {})
    own = _in_place(schema, parts)
    properties = {"format_version": {"const": FORMAT_VERSION}, "tool_version": TEXT, "generated_at": MOMENT}
    return closed({**properties, **own["properties"]}, (*properties, *own["required"]))


class _AsDeclared(GenerateJsonSchema):
    """Keeps the order in which things were declared."""

    def sort(self, value: JsonSchemaValue, parent_key: str | None = None) -> JsonSchemaValue:
        return value


def _in_place(schema: Any, parts: Mapping[str, Schema]) -> Any:
    """A schema with every part where it is referred to, and without the names of classes and fields."""
    if isinstance(schema, list):
        return [_in_place(one, parts) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _in_place(parts[schema["$ref"].rpartition("/")[2]], parts)
    if schema.get("additionalProperties", True) is not False:
        return {key: _in_place(value, parts) for key, value in schema.items() if key not in ("title", "default")}
    return closed({n: _in_place(s, parts) for n, s in schema["properties"].items()}, schema.get("required", ()))


def choice_of(words: Iterable[str]) -> WithJsonSchema:
    """Promises that a text is one of some words."""
    return WithJsonSchema({"enum": list(map(str, words))})


TEXT: Schema = {"type": "string"}
MOMENT: Schema = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)$"}
DECIMAL: Schema = {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?$", "description": "a decimal number as text"}
NUMBER: Schema = {"type": "number"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_DAY: Schema = {"type": "string", "format": "date"}

Text = Annotated[str, BeforeValidator(str)]
NoText = Annotated[str | None, BeforeValidator(lambda value: str(value) if value else None)]
"""Text, or null where there is none."""
Number = Annotated[Any, WithJsonSchema(NUMBER)]
Whole = Annotated[Any, WithJsonSchema({"type": "integer"})]
Count = Annotated[Any, WithJsonSchema(_COUNT)]
Day = Annotated[str, BeforeValidator(str), WithJsonSchema(_DAY)]
Moment = Annotated[str, BeforeValidator(stamp), WithJsonSchema(MOMENT)]
Amount = Annotated[str, BeforeValidator(plain), WithJsonSchema(DECIMAL)]
"""A decimal number, exact."""
Cents = Annotated[str, BeforeValidator(lambda dollars: plain(cents(dollars))), WithJsonSchema(DECIMAL)]
Rate = Annotated[str, BeforeValidator(lambda dollars: plain(rate(dollars))), WithJsonSchema(DECIMAL)]
Share = Annotated[str, BeforeValidator(lambda share: plain(round(share, 6))), WithJsonSchema(DECIMAL)]
ITSELF = From(lambda result: result)
"""For a field that is the result as a whole, and not an attribute of it."""
Currency = Annotated[str, From(lambda _: "USD"), WithJsonSchema({"const": "USD"})]


class ProblemPart(Part):
    """What is wrong in a file, and what is allowed there."""

    file: Text
    where: Text
    value: Text
    allowed: Text


class _Refusal(Part):
    what: Text
    hint: NoText
    exit_code: Annotated[int, Field(ge=1, le=255)]
    problems: list[ProblemPart]


_NO_RESULT = "Why a verb that was asked for JSON ended without its result: the last line of stderr"


class RefusalDocument(Document, title=_NO_RESULT):
    """Why there is no result."""

    error: _Refusal
