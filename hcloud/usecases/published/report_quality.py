"""The published JSON schemas of what ``hcloud report quality`` and ``accuracy`` print as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields

from hcloud.planning.reports.quality import Quality

Schema = Mapping[str, object]
TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
WHOLE: Schema = {"type": "integer"}
DECIMAL: Schema = {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?$"}
COUNTS = ("jobs", "below", "moves", "enlarged", "interrupted", "refused", "unfinished")
MAY_LACK = ("p5", "median", "wait_p50", "wait_p95", "wait_max")


def quality_schema() -> Schema:
    """Groups of jobs of a journal, or points that a plan predicts."""
    group = {f.name: _of_quality(f.name) for f in fields(Quality)}
    band = _object({"mean": NUMBER, "half": _or_null(NUMBER)})
    point = {"strategy": TEXT, "reserve": WHOLE, "kept_qos": band}
    point |= {name: _or_null(band) for name in ("batch_p5", "tail_p95", "wait_p95", "utilisation")}
    own = {"source": TEXT, "strategy": TEXT, "groups": _list(_object(group)), "predicted": _list(_object(point))}
    return {"title": "hcloud report quality", **_document("quality", own)}


def _of_quality(name: str) -> Schema:
    if name == "group":
        return TEXT
    if name in COUNTS:
        return WHOLE
    return _or_null(NUMBER) if name in MAY_LACK else NUMBER


def accuracy_schema() -> Schema:
    """Figures with their errors, and the effects in dollars an hour."""
    figure = {"figure": TEXT, "unit": {"enum": ["$/h", "$/month", "share", "s", "vCPU"]}}
    figure |= {name: _or_null(DECIMAL) for name in ("predicted", "low", "high", "actual", "error")}
    figure |= {"inside": _or_null({"type": "boolean"})}
    effects = dict.fromkeys(("predicted", "price", "volume", "mix", "actual"), DECIMAL)
    own = {
        "currency": {"const": "USD"},
        "plan": TEXT,
        "source": TEXT,
        "hours": DECIMAL,
        "figures": _list(_object(figure)),
        "effects": _object({**effects, "volume_by_demand": _or_null(DECIMAL)}),
    }
    return {"title": "hcloud report accuracy", **_document("accuracy", own)}


def _document(kind: str, own: Schema) -> Schema:
    head = {
        "format_version": {"const": "1.0"},
        "tool_version": TEXT,
        "generated_at": {"type": "string", "format": "date-time"},
        "report": {"const": kind},
    }
    return _object({**head, **own, "notes": _list(TEXT)})


def _object(properties: Schema) -> Schema:
    names: Sequence[str] = list(properties)
    return {"type": "object", "properties": dict(properties), "required": names, "additionalProperties": False}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}
