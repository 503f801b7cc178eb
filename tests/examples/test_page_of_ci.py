"""The page on gates shows what its commands print, and what it lists is what there is."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

from hcloud.model.plans.gate import Check

DOCS = Path(__file__).parents[2] / "docs"


def test_the_outputs_of_the_page_are_what_its_commands_print(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("make_ci", DOCS / "make_ci.py")
    assert spec is not None
    assert spec.loader is not None
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    text = (DOCS / "ci.md").read_text(encoding="utf-8")
    assert maker.refreshed(text, tmp_path) == text, "run python docs/make_ci.py"
    assert "exit code 3" in text


def test_the_page_lists_every_check() -> None:
    table = (DOCS / "ci.md").read_text(encoding="utf-8").split("| check |")[1].split("\n\n")[0]
    listed = {name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert listed == {check.value for check in Check}
