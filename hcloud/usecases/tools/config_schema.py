"""The JSON schema of hcloud.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hcloud.model.json_text import DIALECT
from hcloud.readers.configuration.config import Config
from hcloud.usecases.tools.init import DURATION, KEYS, SECTIONS

_DURATION = {"type": "string", "pattern": r"^\s*[0-9]+(\.[0-9]+)?\s*(s|min|m|h|d|w|y)\s*$"}
_YEARS = {"enum": [1, 3, "1y", "3y"]}
_DECIMAL = r"^\s*\+?[0-9]+(\.[0-9]*)?\s*$"


def config_schema() -> Mapping[str, object]:
    """The JSON schema of hcloud.yaml: as people write it (durations as text), with what every key does."""
    schema: dict[str, Any] = Config.model_json_schema()
    schema["properties"]["format_version"]["description"] = SECTIONS["format_version"]
    for section, texts in KEYS.items():
        schema["properties"][section]["description"] = SECTIONS[section]
        properties = _properties(schema, section)
        for key, text in texts.items():
            described = _as_written(key, properties[key]) if key in _WRITTEN[section] else properties[key]
            described.pop("title", None)
            properties[key] = {"description": text.comment, **described}
    return {"$schema": DIALECT, **schema, "title": "hcloud.yaml"}


_WRITTEN = {
    section: {k for k, t in texts.items() if t.unit == DURATION}
    | {k for k in texts if k in ("terms", "term_years", "dollars_per_hour") or (section, k) == ("owned", "count")}
    for section, texts in KEYS.items()
}


def _properties(schema: dict[str, Any], section: str) -> dict[str, Any]:
    """The properties of a section, which stands under ``$defs`` and is referred to by the root or by a list's items."""
    there = schema["properties"][section]
    reference = there.get("$ref") or there.get("items", {}).get("$ref")
    found: dict[str, Any] = schema["$defs"][reference.rpartition("/")[2]]["properties"]
    return found


def _as_written(key: str, derived: dict[str, Any]) -> dict[str, Any]:
    """What may stand in the file, where the reader accepts more than the value's own type."""
    default = {"default": derived["default"]} if "default" in derived else {}
    if key == "terms":
        return {"type": "array", "items": _YEARS, **default}
    if key == "term_years":
        return {**_YEARS, **default}
    if key in ("count", "dollars_per_hour"):
        positive = [{"type": "number", "exclusiveMinimum": 0}, {"type": "string", "pattern": _DECIMAL}]
        return {"anyOf": [*positive, {"type": "null"}], **default}
    choices = derived.get("anyOf", [derived])
    whole = {"type": "integer", **_bounds(next(c for c in choices if c.get("type") == "integer"))}
    others = [c for c in choices if c.get("type") != "integer"]
    return {"anyOf": [whole, _DURATION, *others], **default}


def _bounds(derived: Mapping[str, Any]) -> dict[str, Any]:
    """The bounds of a whole number of seconds under their JSON-schema names."""
    names = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}
    kept = {k: v for k, v in derived.items() if k in names.values()}
    return kept | {name: derived[short] for short, name in names.items() if short in derived}
