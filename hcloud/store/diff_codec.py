"""Differences of plans and verdicts of rules as JSON documents, and their published schemas."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from hcloud.model.checked import form_of
from hcloud.model.json_text import DIALECT, FORMAT_VERSION, head
from hcloud.model.plans.difference import PlanDifference
from hcloud.model.plans.gate import Finding, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping


_TEXT = {"type": "string"}


def difference_document(found: PlanDifference, at: datetime) -> Mapping[str, object]:
    """A difference as JSON: money as decimal strings, keys in a fixed order."""
    content = cast("dict[str, object]", form_of(PlanDifference).dump_python(found, mode="json"))
    return {**head(at), "is_different": not found.is_empty, **content}


def difference_schema() -> Mapping[str, object]:
    """The published schema of what ``hcloud diff -o json`` prints."""
    schema = form_of(PlanDifference).json_schema(mode="serialization")
    return _with_head("hcloud diff", schema, {"is_different": {"type": "boolean"}})


def verdict_document(found: Verdict, at: datetime) -> Mapping[str, object]:
    """A verdict as JSON, with the exit code it stands for."""
    findings = form_of(tuple[Finding, ...]).dump_python(found.findings, mode="json")
    told = {"exit_code": found.exit_code, "plan": found.plan, "rules": found.rules}
    return {**head(at), **told, "findings": findings}


def verdict_schema() -> Mapping[str, object]:
    """The published schema of what ``hcloud policy check -o json`` prints."""
    schema = form_of(tuple[Finding, ...]).json_schema(mode="serialization")
    findings = {"type": "array", "items": schema["items"]}
    told = {"exit_code": {"enum": [0, 3, 9]}, "plan": _TEXT, "rules": _TEXT, "findings": findings}
    content = {"type": "object", "$defs": schema["$defs"], "properties": {}, "required": []}
    return _with_head("hcloud policy check", content, told)


def _with_head(title: str, schema: dict[str, Any], more: Mapping[str, object]) -> Mapping[str, object]:
    """A schema with what all documents begin with."""
    when = {"type": "string", "format": "date-time"}
    begun = {"format_version": {"const": FORMAT_VERSION}, "tool_version": _TEXT, "generated_at": when, **more}
    properties = {**begun, **schema["properties"]}
    required = [*begun, *schema.get("required", [])]
    rest = {**schema, "title": title, "properties": properties, "required": required, "additionalProperties": False}
    return {"$schema": DIALECT, **rest}
