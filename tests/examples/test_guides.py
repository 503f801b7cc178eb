"""The guides show what their commands print, and what they list is what there is; the glossary names real classes."""

from __future__ import annotations

import ast
import importlib
import re
from collections import Counter
from pathlib import Path

import pytest

from hcloud.model.plans.gate import Check

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GUIDES = importlib.import_module("docs.make_guides")


@pytest.mark.parametrize("name", GUIDES.PAGES)
def test_the_outputs_of_a_guide_are_what_its_commands_print(name: str, tmp_path: Path) -> None:
    text = (DOCS / "guides" / name).read_text(encoding="utf-8")
    assert GUIDES.refreshed(text, tmp_path) == text, "run python docs/make_guides.py"


def test_a_refusal_of_the_guide_says_its_exit_code() -> None:
    assert "\nexit code 3\n" in (DOCS / "guides" / "plan.md").read_text(encoding="utf-8")


def test_the_guide_lists_every_check() -> None:
    text = (DOCS / "guides" / "plan.md").read_text(encoding="utf-8")
    table = text.split("| check |")[1].split("\n\n")[0]
    listed = {name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert listed == {check.value for check in Check}


def test_each_class_and_that_of_each_term_exists_once() -> None:
    rows = (DOCS / "reference" / "glossary.md").read_text(encoding="utf-8").splitlines()
    named = {found[1] for row in rows if (found := re.search(r"`(\w+)` \|$", row))}
    assert len(named) > 20
    texts = (path.read_text(encoding="utf-8") for path in (ROOT / "hcloud").rglob("*.py"))
    classes = Counter(name for text in texts for name in re.findall(r"^class (\w+)", text, re.MULTILINE))
    assert {name: classes[name] for name in named if classes[name] != 1} == {}
    assert {name for name, times in classes.items() if times > 1} == {"Refusal"}, "published twice; all others have one"
