"""The published JSON schema of what ``hcloud report cost|savings|commitments`` print as JSON."""

from __future__ import annotations

from collections.abc import Mapping

from hcloud.model.catalog import PurchaseOption
from hcloud.planning.reports.report import Dimension, ReportSource

TEXT: Mapping[str, object] = {"type": "string"}
TIME: Mapping[str, object] = {"type": "string", "format": "date-time"}
MONEY: Mapping[str, object] = {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?$"}
COSTS = ("list", "contracted", "effective", "billed")


def report_schema() -> Mapping[str, object]:
    """One schema for the three reports, told apart by ``report``."""
    return {
        "title": "hcloud report",
        "oneOf": [_document("cost", _cost()), _document("savings", _savings()), _document("commitments", _held())],
        "$defs": {"costs": _object(dict.fromkeys(COSTS, MONEY))},
    }


def _document(kind: str, own: Mapping[str, object]) -> Mapping[str, object]:
    head = {
        "format_version": {"type": "string", "pattern": r"^1\.[0-9]+$"},
        "tool_version": TEXT,
        "generated_at": TIME,
        "report": {"const": kind},
        "source": {"enum": [str(one) for one in ReportSource]},
        "name": TEXT,
        "period": _object({"start": TIME, "end": TIME}),
        "currency": {"const": "USD"},
        "price_day": _or_null({"type": "string", "format": "date"}),
        "costs": {"$ref": "#/$defs/costs"},
        "notes": _list(TEXT),
    }
    return _object({**head, **own})


def _cost() -> Mapping[str, object]:
    names = [str(one) for one in Dimension]
    keys = {"type": "object", "propertyNames": {"enum": names}, "additionalProperties": TEXT}
    group = _object({"keys": keys, "machine_hours": MONEY, "costs": {"$ref": "#/$defs/costs"}})
    return {"by": _list({"enum": names}), "groups": _list(group)}


def _savings() -> Mapping[str, object]:
    parts = dict.fromkeys(("commitments", "spot", "use_and_negotiation"), MONEY)
    other = _object({"name": TEXT, "description": TEXT, "dollars": MONEY, "more": MONEY})
    return {
        "effective_savings_rate": _or_null(MONEY),
        "saved": MONEY,
        "saved_by": _object(parts),
        "unused_commitment": MONEY,
        "counterfactuals": _list(other),
    }


def _held() -> Mapping[str, object]:
    dollars = ("covered", "amortised", "unused", "saved", "billed_upfront", "billed_recurring")
    one = {
        "id": TEXT,
        "option": {"enum": [str(o) for o in PurchaseOption if o.is_commitment]},
        "instance_type": TEXT,
        "region": TEXT,
        "count": MONEY,
        "dollars_per_hour": _or_null(MONEY),
        "starts": _or_null(TIME),
        "ends": _or_null(TIME),
        "days_left": _or_null({"type": "integer", "minimum": 0}),
        "utilisation": _or_null(MONEY),
        **dict.fromkeys(dollars, MONEY),
    }
    whole = dict.fromkeys(("coverable", "covered", "used", "unused"), MONEY)
    shares = {"coverage": _or_null(MONEY), "utilisation": _or_null(MONEY)}
    return {**whole, **shares, "commitments": _list(_object(one))}


def _object(properties: Mapping[str, object]) -> Mapping[str, object]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(items: Mapping[str, object]) -> Mapping[str, object]:
    return {"type": "array", "items": items}


def _or_null(schema: Mapping[str, object]) -> Mapping[str, object]:
    return {"anyOf": [schema, {"type": "null"}]}
