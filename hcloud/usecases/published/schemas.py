"""The published JSON schemas of files and of all that verbs print; ``python -m`` this module rewrites docs/schemas."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hcloud.readers.configuration.config import Config
from hcloud.readers.rules import rules_schema
from hcloud.store.diff_codec import difference_schema, verdict_schema
from hcloud.store.plan_file import changes_schema, plan_schema
from hcloud.store.purchase_file import purchase_schema
from hcloud.store.states.codec import state_schema
from hcloud.usecases.published.report import report_schema
from hcloud.usecases.published.report_quality import accuracy_schema, quality_schema
from hcloud.usecases.published.screens import SCREENS
from hcloud.usecases.published.simulation import SIMULATED
from hcloud.usecases.tools.init import DURATION, KEYS, SECTIONS

DIRECTORY = Path(__file__).resolve().parents[3] / "docs" / "schemas"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
EXPLAINED = (
    *("format_version", "tool_version", "generated_at", "currency"),
    *("mix", "reasons", "refusals", "assumptions", "operation", "sizing", "flips"),
)
"""What of a plan ``hcloud explain`` prints."""
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


def state_screen_schema() -> Mapping[str, object]:
    """The JSON schema of what ``hcloud state list|show|push|force-unlock`` print as JSON."""
    stored: Any = state_schema()
    time, text = {"type": "string", "format": "date-time"}, {"type": "string"}
    lock = _object({"id": text, "user": text, "host": text, "pid": {"type": "integer"}, "since": time, "purpose": text})
    deed = {"enum": ["launch", "terminate", "buy", "cancel"]}
    intent = _object({"number": {"type": "integer"}, "deed": deed, "at": time, "plan": text})
    head = {"format_version": {"const": "1.0"}, "tool_version": text, "generated_at": time, "where": text}
    kept = {name: stored["properties"][name] for name in ("serial", "generation", "project", "scope", "records")}
    screen = {
        **head,
        "lineage": {"anyOf": [stored["properties"]["lineage"], {"type": "null"}]},
        **kept,
        "lock": {"anyOf": [lock, {"type": "null"}]},
        "open_intents": {"type": "array", "items": intent},
    }
    return {
        "$schema": DIALECT,
        "title": "hcloud state, as printed",
        "oneOf": [_object(screen), _object({**head, "unlocked": lock})],
        "$defs": stored["$defs"],
    }


def _object(properties: Mapping[str, object]) -> dict[str, object]:
    """An object with exactly these properties."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def explanation_schema() -> Mapping[str, object]:
    """The JSON schema of what ``hcloud explain`` prints of a plan: a part of the plan's own."""
    plan: Any = plan_schema()
    names = [name for name in EXPLAINED if name in plan["properties"]]
    part = {name: plan["properties"][name] for name in names}
    required = [name for name in names if name != "operation"]
    head = {"$schema": DIALECT, "title": "hcloud explain", "type": "object"}
    return {**head, "properties": part, "required": required, "additionalProperties": False, "$defs": plan["$defs"]}


def answer_schema() -> Mapping[str, object]:
    """The JSON schema of what ``hcloud explain --why-not`` and ``--commitment`` print as JSON."""
    text: dict[str, object] = {"type": "string"}
    line = _object({"about": text, "clauses": {"type": "array", "items": text, "minItems": 1}})
    head = {"format_version": {"const": "1.0"}, "tool_version": text, "generated_at": {**text, "format": "date-time"}}
    said = {"question": text, "answer": text, "lines": {"type": "array", "items": line}, "facts": {"type": "object"}}
    return {"$schema": DIALECT, "title": "hcloud explain --why-not", **_object({**head, **said})}


def documents() -> Mapping[str, str]:
    """File name and content of every published schema."""
    schemas = {
        "accuracy.schema.json": {"$schema": DIALECT, **accuracy_schema()},
        "explanation.schema.json": explanation_schema(),
        "answer.schema.json": answer_schema(),
        "hcloud.schema.json": config_schema(),
        "diff.schema.json": difference_schema(),
        "plan.schema.json": plan_schema(),
        "policy-check.schema.json": verdict_schema(),
        "purchase.schema.json": purchase_schema(),
        "quality.schema.json": {"$schema": DIALECT, **quality_schema()},
        "rules.schema.json": {"$schema": DIALECT, **rules_schema(), "title": "rules.yaml"},
        "report.schema.json": {"$schema": DIALECT, **report_schema()},
        "state.schema.json": state_schema(),
        "state-screen.schema.json": state_screen_schema(),
        "changes.schema.json": changes_schema(),
        **{f"{name}.schema.json": schema for name, schema in {**SCREENS, **SIMULATED}.items()},
    }
    return {name: json.dumps(s, indent=2, ensure_ascii=False) + "\n" for name, s in schemas.items()}


def write_schemas(directory: Path = DIRECTORY) -> None:
    """Write every schema into a directory."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in documents().items():
        (directory / name).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    write_schemas()
