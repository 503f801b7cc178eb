"""Documents that are held against a type or a version: how a type stands in JSON, and what is wrong with one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from hcloud.errors import HcloudError, InputError, Problem
from hcloud.model.json_text import FORMAT_VERSION
from hcloud.model.must_be import must_be

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

Kind = TypeVar("Kind")
_FORMS: dict[type, Any] = {}


def form_of(kind: type[Kind]) -> TypeAdapter[Kind]:
    """How a type is written as JSON, read from it, and published as a schema; made when it is first asked for."""
    if kind not in _FORMS:
        from pydantic import TypeAdapter

        _FORMS[kind] = TypeAdapter(kind)
    return cast("TypeAdapter[Kind]", _FORMS[kind])


def check_version(document: object, where: str, hint: str = "", wrong: type[HcloudError] = InputError) -> None:
    """Refuse, with InputError or what ``wrong`` says, a document of another major version, or of none."""
    version = str(document.get("format_version", "")) if isinstance(document, Mapping) else ""
    if version.partition(".")[0] != FORMAT_VERSION.partition(".")[0]:
        if not version:
            raise wrong(f"{where}: has no format_version: not a document of hcloud", hint=hint or "look at the name")
        said = f"format_version {version!r} cannot be read; this hcloud reads {FORMAT_VERSION}"
        raise wrong(f"{where}: {said}", hint=hint)


def problems_of(error: ValidationError, where: str, within: tuple[str | int, ...] = ()) -> list[Problem]:
    """Everything that is wrong, each with its place; ``within`` is that of what was held against the type."""
    found = error.errors(include_url=False)
    places = (".".join(map(str, (*within, *e["loc"]))) or "top" for e in found)
    return [Problem(where, at, repr(e.get("input"))[:60], must_be(e)) for at, e in zip(places, found, strict=True)]


def first_of(error: ValidationError) -> str:
    """The first that is wrong, in a line."""
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc'])) or 'top'}: {must_be(first)}"
