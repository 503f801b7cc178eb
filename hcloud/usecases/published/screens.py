"""The JSON schemas of what verbs print: every key named and nothing else allowed, money as decimal strings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hcloud.model.measured.profile import RESOURCES, Aspect
from hcloud.model.workload import WindowRule

DIALECT = "https://json-schema.org/draft/2020-12/schema"
Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
COUNT: Schema = {"type": "integer", "minimum": 0}
WHOLE: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
DECIMAL: Schema = {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?$", "description": "a decimal number as text"}
MOMENT: Schema = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)$"}
DAY: Schema = {"type": "string", "format": "date"}
DOLLARS: Schema = {"const": "USD"}
NOTHING: Schema = {"type": "null"}
ANYTHING: Schema = {}


def maybe(schema: Schema) -> Schema:
    """The same, or null."""
    return {"anyOf": [schema, NOTHING]}


def several(schema: Schema) -> Schema:
    """A list of such."""
    return {"type": "array", "items": schema}


def by_name(schema: Schema) -> Schema:
    """An object whose keys are names of the user's, and whose values are such."""
    return {"type": "object", "additionalProperties": schema}


def closed(properties: Mapping[str, Schema], *optional: str) -> Schema:
    """An object with exactly these properties, of which ``optional`` ones may be away."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def printed(title: str, properties: Mapping[str, Schema], *optional: str) -> Schema:
    """A document of a verb: the head that all have, then its own."""
    head = {"format_version": {"const": "1.0"}, "tool_version": TEXT, "generated_at": MOMENT}
    return {"$schema": DIALECT, "title": title, **closed({**head, **properties}, *optional)}


PROBLEM = closed({"file": TEXT, "where": TEXT, "value": TEXT, "allowed": TEXT})
WINDOW = closed(
    dict.fromkeys(("start", "end", "cut_before_seconds", "cut_after_seconds"), NUMBER)
    | {"rule": {"enum": [rule.value for rule in WindowRule]}}
)
_INTERVAL = maybe(
    {"anyOf": [closed({"mean": v, "half": maybe(v)}) for v in (NUMBER, DECIMAL)], "description": "mean and half width"}
)
_SCOPE = closed({"cloud": TEXT, "account": TEXT, "region": TEXT, "endpoint": TEXT})
_DRIFT = several(closed({"id": TEXT, "address": TEXT, "what": TEXT}))
_HELD = closed(
    {"id": TEXT, "option": TEXT, "instance_type": TEXT, "count": COUNT, "state": TEXT}
    | {"starts": maybe(MOMENT), "ends": maybe(MOMENT), "upfront": DECIMAL, "hourly": DECIMAL}
)
_NEED = closed(
    {"address": TEXT, "option": TEXT, "term_years": WHOLE, "payment": TEXT, "unit": TEXT}
    | dict.fromkeys(("wanted", "held", "to_buy", "over_the_term"), DECIMAL)
    | {"break_even": maybe(DECIMAL), "starts": maybe(MOMENT), "derived": maybe(TEXT)}
    | {"way_out": maybe(closed({"refund": TEXT, "note": TEXT, "source": TEXT, "day": DAY}))}
)
_RECORDED = closed(
    {"key": TEXT, "address": TEXT, "at": MOMENT, "plan": TEXT, "amount": DECIMAL, "outcome": TEXT}
    | {"commitment": maybe(TEXT), "cancelled": FLAG, "ends": maybe(MOMENT)}
)
_MEASURED = closed(
    {"value": NUMBER, "low": NUMBER, "high": NUMBER, "samples": COUNT, "at": MOMENT, "machine": TEXT, "source": TEXT}
)
_FAILED = closed({"why": TEXT, "at": MOMENT, "machine": TEXT, "source": TEXT})
PROFILE = closed(
    {
        "app": TEXT,
        "kind": {"enum": ["batch", "service"]},
        "metric": closed({"name": TEXT, "unit": TEXT, "rising": FLAG}),
        "command": several(TEXT),
        "entries": closed({a.value: by_name(_MEASURED) for a in Aspect}, *(a.value for a in Aspect)),
        "failures": closed({a.value: by_name(_FAILED) for a in Aspect}, *(a.value for a in Aspect)),
        "unmeasurable": closed(dict.fromkeys(RESOURCES, TEXT), *RESOURCES),
        "notes": several(TEXT),
    },
    "failures",
)
_PREDICTED = closed({"value": NUMBER, "low": NUMBER, "high": NUMBER, "measured": FLAG})
_ROW = closed(
    {
        "held_out_error": maybe(NUMBER),
        "neighbours": several(closed({"app": TEXT, "likeness": NUMBER})),
        "columns": by_name(_PREDICTED),
    }
)
_ANSWER = closed(
    {
        "app": TEXT,
        "known_applications": COUNT,
        "vector": maybe(closed(dict.fromkeys(RESOURCES, WHOLE))),
        "quality": maybe(WHOLE),
        "size_for_target": maybe(TEXT),
        "type_ranking": several(closed({"type": TEXT, "value": NUMBER})),
        "type_ranking_by_cost": several(closed({"type": TEXT, "value": NUMBER, "dollars_per_hour": DECIMAL})),
        "aspects": closed({a.value: _ROW for a in Aspect}, *(a.value for a in Aspect)),
        "unmeasurable": by_name(TEXT),
        "probes": several(closed({"aspect": TEXT, "column": TEXT, "gain": maybe(NUMBER), "why": TEXT})),
        "surprises": several(TEXT),
    }
)
_MODELLED = closed({"column": TEXT, "rule": TEXT, "key": TEXT})
_PROVENANCE = closed(
    {
        "name": TEXT,
        "format": TEXT,
        "digest": TEXT,
        "rows": COUNT,
        "repaired": by_name(COUNT),
        "left_out": by_name(COUNT),
    }
    | {"modelled": several(_MODELLED)}
)
_SERIES = several(NUMBER)
_KEY: dict[str, Schema] = dict.fromkeys(
    ("provider", "region", "zone", "instance_type", "os", "tenancy", "option"), TEXT
) | {"term_years": COUNT, "payment": TEXT}
_OFFER = closed(
    {
        **_KEY,
        "hourly": DECIMAL,
        "upfront": DECIMAL,
        "effective_hourly": DECIMAL,
        "date": DAY,
        "source": TEXT,
        "derived": TEXT,
        "discount": maybe(DECIMAL),
        "break_even_utilisation": maybe(DECIMAL),
        "age_days": COUNT,
        "remaining": maybe(WHOLE),
    }
)
_PRICE = closed(
    {"hourly": DECIMAL, "upfront": DECIMAL, "effective_hourly": DECIMAL, "date": DAY, "source": TEXT, "derived": TEXT}
)
_FINDING = closed({"row": TEXT, "reason": TEXT, "offer": maybe(TEXT)})
_TAKEN = closed(
    {"name": TEXT, "format": TEXT, "good": COUNT, "types": COUNT, "replaced_newer": COUNT}
    | {"quarantined": several(_FINDING), "warnings": several(_FINDING)}
)
_PRICED = {"currency": DOLLARS}
_STATED = {"origin": TEXT, "origin_label": TEXT, "source": maybe(TEXT), "why": TEXT}
_MECHANISM = closed(
    {
        "rule": TEXT,
        **_STATED,
        "parameters": by_name(closed({"value": ANYTHING, "unit": maybe(TEXT), **_STATED})),
    }
)
_STRATEGY: dict[str, Schema] = {
    **dict.fromkeys(("name", "title", "summary", "source", "digest"), TEXT),
    "mechanisms": by_name(_MECHANISM),
}
_CHECK = closed(
    {"name": TEXT, "status": {"enum": ["ok", "warning", "error", "skipped"]}, "message": TEXT}
    | {"details": several(TEXT), "hint": maybe(TEXT)}
)
_SHORT = closed({"address": TEXT, "missing": COUNT, "tried": several(TEXT)})
_OPERATING = closed(
    {"strategy": TEXT, "on_demand_types": several(TEXT)}
    | {n: maybe(DECIMAL) for n in ("soft_limit", "hard_limit", "retention_factor", "retention_seconds")}
)

_EVENT: Schema = {"type": "object", "properties": {"at": NUMBER}, "required": ["at"]}

SCREENS: Mapping[str, Schema] = {
    "error": printed(
        "Why a verb that was asked for JSON ended without its result: the last line of stderr",
        {
            "error": closed(
                {"what": TEXT, "hint": maybe(TEXT), "exit_code": {"type": "integer", "minimum": 1, "maximum": 255}}
                | {"problems": several(PROBLEM)}
            )
        },
    ),
    "checks": printed("hcloud validate and doctor", {"checks": several(_CHECK)}),
    "sweep": printed(
        "hcloud sweep",
        {"inputs": TEXT, "workload": TEXT, "keys": several(TEXT), "seeds": several(COUNT), "currency": DOLLARS}
        | {"notes": several(TEXT)}
        | {
            "rows": several(
                closed({"strategy": TEXT, "changes": by_name(TEXT), "seeds": COUNT, "figures": by_name(_INTERVAL)})
            )
        },
    ),
    "outcome": printed(
        "hcloud apply and destroy",
        {"result": {"enum": ["converged", "partial", "unknown"]}, "exit_code": COUNT, "launched": several(TEXT)}
        | {"ended": several(TEXT), "wanted": COUNT, "missing": several(_SHORT), "problems": several(TEXT)}
        | {"error": maybe(TEXT), "open": several(TEXT), "calls": COUNT, "serial": COUNT},
    ),
    "status": printed(
        "hcloud status",
        {
            "scope": _SCOPE,
            "lineage": TEXT,
            "serial": COUNT,
            "currency": DOLLARS,
            "hourly": DECIMAL,
            "operating": maybe(_OPERATING),
            "standing": several(
                closed(
                    dict.fromkeys(("address", "instance_type", "zone", "state"), TEXT)
                    | {"count": COUNT, "hourly": maybe(DECIMAL)}
                )
            ),
            "open_requests": several(closed({"number": COUNT, "deed": TEXT, "at": MOMENT})),
            "drift": _DRIFT,
            "held_by": maybe(TEXT),
        },
    ),
    "drift": printed("hcloud drift", {"lineage": TEXT, "serial": COUNT, "drift": _DRIFT}),
    "orphans": printed(
        "hcloud gc",
        {
            "orphans": several(
                closed(
                    dict.fromkeys(("id", "instance_type", "zone", "lineage", "why"), TEXT) | {"left_alone": maybe(TEXT)}
                )
            ),
            "ended": several(TEXT),
        },
    ),
    "recommendation": printed(
        "hcloud commit recommend",
        {"scope": maybe(TEXT), "currency": DOLLARS, "commitments": several(_NEED), "reasons": several(TEXT)}
        | {"expiring": several(_HELD), "unplanned": several(_HELD), "warnings": several(TEXT)},
    ),
    "purchased": printed(
        "hcloud commit apply",
        {
            "digest": TEXT,
            "amount": DECIMAL,
            "currency": DOLLARS,
            "purchases": several(
                closed(
                    {"address": TEXT, "key": TEXT, "amount": DECIMAL, "outcome": TEXT}
                    | {"commitment": maybe(TEXT), "before": FLAG}
                )
            ),
        },
    ),
    "holdings": printed(
        "hcloud commit list",
        {
            "scope": maybe(TEXT),
            "currency": DOLLARS,
            "committed": DECIMAL,
            "ceiling": maybe(DECIMAL),
            "commitments": several(closed({"ledger": maybe(_RECORDED), "cloud": maybe(_HELD)})),
            "expiring": several(TEXT),
        },
    ),
    "profile": printed("hcloud profile show, run and import", {"profile": PROFILE}),
    "profiles": printed("hcloud profile list", {"profiles": several(PROFILE)}),
    "profile-comparison": printed(
        "hcloud profile compare",
        {
            "left": TEXT,
            "right": TEXT,
            "lines": several(
                closed(
                    {"aspect": TEXT, "column": TEXT, "left": maybe(_MEASURED), "right": maybe(_MEASURED)}
                    | {"differs": maybe(FLAG)}
                )
            ),
        },
    ),
    "classification": printed("hcloud classify", {"applications": several(_ANSWER)}),
    "workload": printed(
        "hcloud workload show",
        {
            "workload": _PROVENANCE,
            "figures": closed(
                {"entries": COUNT, "kinds": by_name(COUNT)}
                | {
                    n: maybe(NUMBER)
                    for n in (
                        "span_seconds",
                        "mean_duration_seconds",
                        "mean_cores",
                        "peak_cores",
                        "peak_step_seconds",
                        "peak_at_once_cores",
                        "core_hours",
                        "batch_share",
                        "mean_memory_gib",
                        "gpus",
                    )
                }
            ),
            "window": WINDOW,
            "demand": closed(
                {"start": NUMBER, "step_seconds": COUNT, "cores": _SERIES, "memory_gib": _SERIES}
                | {"batch_cores": _SERIES}
            ),
        },
    ),
    "workload-verdicts": printed(
        "hcloud workload validate",
        {
            "files": several(
                {
                    "oneOf": [
                        closed({"name": TEXT, "usable": {"const": True}, "workload": _PROVENANCE}),
                        closed(
                            {"name": TEXT, "usable": {"const": False}, "message": TEXT, "problems": several(PROBLEM)}
                        ),
                    ]
                }
            )
        },
    ),
    "offers": printed(
        "hcloud pricing list and show",
        {**_PRICED, "offers": several(_OFFER), "quarantined": several(_FINDING)},
        "quarantined",
    ),
    "price-changes": printed(
        "hcloud pricing diff",
        {
            **_PRICED,
            "changes": several(
                closed(
                    {"action": {"enum": ["added", "removed", "changed"]}, **_KEY}
                    | {"old": maybe(_PRICE), "new": maybe(_PRICE), "change": maybe(DECIMAL)}
                )
            ),
            "unchanged": COUNT,
            "within": maybe(TEXT),
            "left_aside": COUNT,
        },
    ),
    "price-check": printed(
        "hcloud pricing verify",
        {**_PRICED, "files": COUNT, "damaged": several(TEXT), "offers": COUNT}
        | {"quarantined": several(_FINDING), "warnings": several(_FINDING)},
    ),
    "price-intake": printed(
        "hcloud pricing import and refresh", {**_PRICED, "stored": maybe(TEXT), "sources": several(_TAKEN)}
    ),
    "story": printed(
        "hcloud explain --job",
        {
            "strategy": TEXT,
            "arrival": _EVENT,
            "decision": _EVENT,
            "refused": several(closed({"option": TEXT, "reason": TEXT, "margin": {}, "unit": TEXT})),
            "afterwards": several(_EVENT),
        },
    ),
    "strategies": printed("hcloud strategy list", {"strategies": several(closed(_STRATEGY))}),
    "strategy": printed("hcloud strategy show", _STRATEGY),
}
"""Every document by the name of its schema; those of files (plan, state, purchase) have modules of their own."""
