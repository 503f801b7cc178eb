"""Documents that are held against a type or a version: what is wrong with one, in one form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hcloud.errors import HcloudError, InputError, Problem
from hcloud.model.json_text import FORMAT_VERSION

if TYPE_CHECKING:
    from pydantic import ValidationError


def check_version(document: object, where: str, hint: str = "", wrong: type[HcloudError] = InputError) -> None:
    """Refuse, with InputError or what ``wrong`` says, a document of another major version, or of none."""
    version = str(document.get("format_version", "")) if isinstance(document, Mapping) else ""
    if version.partition(".")[0] != FORMAT_VERSION.partition(".")[0]:
        said = f"format_version {version!r} cannot be read; this hcloud reads {FORMAT_VERSION}"
        raise wrong(f"{where}: {said}", hint=hint)


def problems_of(error: ValidationError, where: str) -> list[Problem]:
    """Everything that is wrong, each with its place."""
    found = error.errors(include_url=False)
    return [Problem(where, ".".join(map(str, e["loc"])) or "top", repr(e.get("input"))[:60], e["msg"]) for e in found]


def first_of(error: ValidationError) -> str:
    """The first that is wrong, in a line."""
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc'])) or 'top'}: {first['msg']}"
