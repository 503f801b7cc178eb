"""The page about explanations shows what its commands print now."""

from __future__ import annotations

import importlib.util
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "explaining.md"


def test_the_page_is_current() -> None:
    spec = importlib.util.spec_from_file_location("make_explaining", PAGE.parent / "make_explaining.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    page = PAGE.read_text(encoding="utf-8")
    assert made.rendered(page) == page, "run python docs/make_explaining.py"
