"""``-o csv`` of every verb that prints a table: one header, a row for each entry of its document, and exact amounts."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any

import pytest
from screens import NOT_AS_CSV, SCREENS, WRITING
from showing import Said
from verbs import every_leaf, forms_of

NO_TABLE = {
    **dict.fromkeys(("apply", "destroy", "profile run", "state push", "state force-unlock"), "say what was done"),
    **dict.fromkeys(("commit plan", "commit apply"), "say what is bought"),
    **dict.fromkeys(("operate run", "operate drain", "operate stop"), "tell what happens, line by line"),
    **dict.fromkeys(("operate explain", "operate replan"), "explain in sentences"),
}
"""Verbs with a choice of forms and no CSV, and why."""
LISTS = {
    "validate": "checks", "validate-live": "checks", "diff": "parts", "policy-check": "findings",
    "report-cost": "groups",
    "report-commitments": "commitments", "report-quality": "groups", "sweep": "rows", "status": "standing",
    "state-list": "records", "drift": "drift", "gc": "orphans", "plan-settled": "changes", "plan-drifted": "changes",
    "commit-recommend": "commitments", "commit-list": "commitments", "profile-list": "profiles",
    "profile-compare": "lines", "classify": "applications", "workload-validate": "files",
    "workload-show-bill": "kinds", "plan-bill": "kinds", "pricing-list": "offers",
    "pricing-show": "offers", "pricing-import": "sources", "strategy-list": "strategies", "strategy-show": "mechanisms",
    "placement-size": "sizes",
}  # fmt: skip
"""What of each document the rows are."""
OTHERS = {
    "report-savings": 9, "report-accuracy": 9, "workload-show": 336, "profile-show": 1, "profile-import": 1,
    "state-show": 6, "state-show-machine": 1, "compare": 4,
}  # fmt: skip
"""How many rows there are where no list of the document says it."""
SHOWN = [
    screen.name
    for screen in SCREENS
    if not callable(screen.words)
    and screen.as_json
    and screen.name not in NOT_AS_CSV
    and not WRITING.intersection(screen.words)
    and "csv" in forms_of(screen.words)
]
AMOUNT = re.compile(r"-?\d+(\.\d+)?")


def test_every_verb_with_a_table_has_csv() -> None:
    choosing = {" ".join(path): forms_of(path) for path in every_leaf() if "table" in forms_of(path)}
    assert {verb for verb, forms in choosing.items() if "csv" not in forms} == NO_TABLE.keys()
    assert len(choosing) - len(NO_TABLE) > 30


@pytest.mark.parametrize("name", SHOWN)
def test_a_table_is_a_header_and_a_row_an_entry(name: str, documents: dict[str, Said]) -> None:
    told = documents[f"{name}.csv"]
    assert told.code == documents[name].code
    header, *rows = csv.reader(io.StringIO(told.out), strict=True)
    assert len(set(header)) == len(header) > 1
    assert {len(row) for row in rows} <= {len(header)}
    document = json.loads(documents[name].out)
    assert len(rows) == (len(document[LISTS[name]]) if name in LISTS else OTHERS[name])


def test_amounts_are_those_of_the_document(documents: dict[str, Said]) -> None:
    compared = 0
    for name in ("status", "plan-drifted", "diff", "compare"):
        text = documents[f"{name}.csv"].out
        amounts = set(_amounts(json.loads(documents[name].out)))
        for row in csv.DictReader(io.StringIO(text)):
            for column, value in row.items():
                if re.search(r"hourly|cost", column) and AMOUNT.fullmatch(value):
                    assert value in amounts
                    compared += 1
    assert compared > 20


def _amounts(value: Any) -> list[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [text for one in value for text in _amounts(one)]
    return [value] if isinstance(value, str) else []
