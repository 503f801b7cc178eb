"""The tutorial runs as it stands, and every line that it shows is on the screen of its command, in that order."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from quick_starts import by_way_of

TUTORIAL = importlib.import_module("docs.make_tutorial")


@pytest.mark.long
def test_the_tutorial_runs_and_shows_what_comes(loaded: Path | None, tmp_path: Path) -> None:
    found = TUTORIAL.steps(TUTORIAL.TUTORIAL.read_text(encoding="utf-8"))
    assert len(found) > 15
    assert sum(len(step.shown) for step in found) > 30
    wrong: list[str] = []
    screens = TUTORIAL.screens([s.command for s in found], tmp_path, by_way_of(loaded))
    for step, screen in zip(found, screens, strict=True):
        if lines := TUTORIAL.missing(step.shown, screen):
            wrong += [f"$ {step.command}", *lines, "on the screen stands:", *screen.splitlines()[-12:]]
    assert not wrong, "\n".join([*wrong, "python docs/make_tutorial.py renews what is shown"])


def test_a_line_that_is_not_there_would_be_found() -> None:
    assert TUTORIAL.missing(["b", "c"], "a\nb\nx") == ["c"]
    assert TUTORIAL.missing(["b", "a"], "a\nb") == ["a"]
    assert dict(TUTORIAL.renewed(["7 machines, $2.82/h"], "x\n7 machines, $2.90/h at list\n")) == {
        "7 machines, $2.82/h": "7 machines, $2.90/h at list"
    }
