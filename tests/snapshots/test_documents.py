"""Every JSON document that a verb prints: the head that all have, its published schema, and money as decimal text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from screens import SCREENS
from showing import Said
from verbs import command_of, every_command

SCHEMAS = Path(__file__).resolve().parents[2] / "docs" / "schemas"
PRINTED = {
    "diff": "diff",
    "policy check": "policy-check",
    "report cost": "report",
    "report savings": "report",
    "report quality": "quality",
    "report accuracy": "accuracy",
    "report commitments": "report",
    "validate": "checks",
    "doctor": "checks",
    "plan": "plan",
    "size": "size",
    "explain": "explanation",
    "simulate": "simulation",
    "compare": "simulation",
    "sweep": "sweep",
    "operate run": "operating",
    "operate status": "operating",
    "operate drain": "operating",
    "operate stop": "operating",
    "operate explain": "story",
    "operate replan": "advice",
    "slurm check": "checks",
    "apply": "outcome",
    "destroy": "outcome",
    "status": "status",
    "drift": "drift",
    "gc": "orphans",
    "state list": "state-screen",
    "state show": "state-screen",
    "state push": "state-screen",
    "state force-unlock": "state-screen",
    "commit recommend": "recommendation",
    "commit plan": "purchase",
    "commit apply": "purchased",
    "commit list": "holdings",
    "profile run": "profile",
    "profile show": "profile",
    "profile import": "profile",
    "profile list": "profiles",
    "profile compare": "profile-comparison",
    "classify": "classification",
    "workload show": "workload",
    "workload validate": "workload-verdicts",
    "pricing list": "offers",
    "pricing show": "offers",
    "pricing diff": "price-changes",
    "pricing verify": "price-check",
    "pricing import": "price-intake",
    "pricing refresh": "price-intake",
    "strategy list": "strategies",
    "strategy show": "strategy",
    "placement size": "placement-size",
}
"""The published schema of what a verb prints."""
OTHERS = {
    "plan-live": "changes", "plan-settled": "changes", "plan-drifted": "changes", "explain-job": "story",
    "workload-show-bill": "bill",
    "plan-bill": "bill-plan",
}  # fmt: skip
"""Screens whose document is another than their verb's usual one."""
DOCUMENTS = [screen for screen in SCREENS if screen.as_json]
MONEY = re.compile(r"dollars|cost|price|amount|upfront|hourly|monthly|total|budget|ceiling|committed")
NUMBERS_OF_MONEY = {"price_age_days", "dollars_per_hour_digits"}


def schema_of(name: str) -> Any:
    return json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))


def verb_of(words: tuple[str, ...]) -> str:
    return " ".join(words[:2]) if " ".join(words[:2]) in PRINTED else words[0]


@pytest.mark.parametrize("screen", DOCUMENTS, ids=lambda s: s.name)
def test_a_document_is_as_its_schema_says(screen: Any, documents: dict[str, Said]) -> None:
    told = documents[screen.name]
    if not told.out:  # refused: why is the last line of stderr
        document, name = json.loads(told.err.splitlines()[-1]), "error"
        assert document["error"]["exit_code"] == told.code
    else:
        words = ("commit", "apply") if callable(screen.words) and screen.name == "commit-apply" else screen.words
        words = ("state", "show") if callable(words) else words
        document, name = json.loads(told.out), OTHERS.get(screen.name) or PRINTED[verb_of(words)]
    assert [e.message for e in Draft202012Validator(schema_of(name)).iter_errors(document)] == []
    assert {"format_version", "tool_version", "generated_at"} <= document.keys()
    assert list(_floats(document)) == [], "money is never a binary float"


def _floats(document: object, path: str = "") -> Iterator[str]:
    if isinstance(document, dict):
        for key, value in document.items():
            yield from _floats(value, f"{path}.{key}")
    elif isinstance(document, list):
        for value in document:
            yield from _floats(value, path)
    elif isinstance(document, float) and MONEY.search(path.rpartition(".")[2]):
        yield path


def test_every_verb_that_prints_json_has_a_published_schema() -> None:
    missing = []
    for path in every_command():
        offers = any("--json" in option.opts for option in command_of(path).params)
        name = " ".join(path)
        own = [f"{'-'.join(path)}.schema.json", f"{path[0] if path else ''}.schema.json"]
        if offers and name not in PRINTED and not any((SCHEMAS / file).is_file() for file in own):
            missing.append(name)
    assert missing == []


def test_schemas_are_schemas_and_each_belongs_to_something() -> None:
    names = {path.name.removesuffix(".schema.json") for path in SCHEMAS.glob("*.json")}
    for name in names:
        Draft202012Validator.check_schema(schema_of(name))
    assert {*PRINTED.values(), *OTHERS.values(), "error"} <= names
