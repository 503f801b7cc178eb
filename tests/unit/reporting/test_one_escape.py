"""There is one way to a screen and one to each kind of document, and text from outside is escaped on it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3] / "hcloud"
CHILDREN = ("fake", "profiling")
"""Packages whose processes speak to hcloud, not to people."""
STREAMS = {"__main__.py", "cli/main.py", "cli/acting.py", "cli/refusal.py", "views/console.py"} | {
    "usecases/live/operating/agents.py"
}
"""Who may touch the streams themselves: what runs before there is a terminal, after it, in a signal, or as a process
that speaks to hcloud alone."""
SEALED = {
    "Written": {"views/escaped.py", "views/page/render.py"},
    "Markdown": {
        "views/escaped.py",
        "views/deciding/diff_markdown.py",
    },  # the marker's name was checked letter by letter
    "Xml": {"views/escaped.py"},
}
"""What says that a text was escaped, and who may say it."""
TELLING = re.compile(r"Written\(|Markdown\(|Xml\(|\bmd\(|\bxml\(|\bsys\.(?:__)?std|\.(?:out|err)\.|ensure_ascii")
"""Files without any of it need not be read."""
LAID_OUT = {"width", "is_terminal", "height"}
RAW = {"views/console.py", "views/live/decision.py"}  # decisions are lines of JSON of names that can be printed
Found = tuple[str, ast.AST]


def nodes() -> Iterator[Found]:
    for path in sorted(ROOT.rglob("*.py")):
        name, text = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
        if TELLING.search(text) and not name.startswith(CHILDREN):
            yield from ((name, node) for node in ast.walk(ast.parse(text)))


@pytest.fixture(scope="module")
def found() -> list[Found]:
    return list(nodes())


def called(node: ast.AST) -> str:
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""


@pytest.mark.slow
def test_only_the_writers_say_that_something_is_escaped(found: list[Found]) -> None:
    said = [
        (name, called(n))
        for name, n in found
        if called(n) in SEALED and isinstance(n, ast.Call) and (n.args or n.keywords)
    ]
    assert [(name, what) for name, what in said if name not in SEALED[what]] == []
    assert {what for _, what in said} >= {"Written", "Markdown", "Xml"}


def test_markup_of_ours_is_a_constant_with_gaps(found: list[Found]) -> None:
    templates = [(name, n.args[0]) for name, n in found if isinstance(n, ast.Call) and called(n) in ("md", "xml")]
    assert len(templates) > 30
    assert [name for name, first in templates if not isinstance(first, ast.Constant)] == []


def test_streams_are_written_by_the_terminal_alone(found: list[Found]) -> None:
    taken = [
        (name, node.attr)
        for name, node in found
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        if node.value.id == "sys" and node.attr in ("stdout", "stderr", "__stdout__", "__stderr__")
    ]
    assert {name for name, _ in taken} == STREAMS


def test_a_terminal_is_given_lines_and_documents_and_nothing_is_put_past_it(found: list[Found]) -> None:
    past = [
        (name, f"{node.value.attr}.{node.attr}")
        for name, node in found
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute)
        if node.value.attr in ("out", "err") and node.attr not in LAID_OUT and name.startswith(("views", "cli"))
    ]
    files = {(name, used) for name, used in past if name not in RAW}
    assert files <= {
        ("cli/deciding/page.py", "out.file"),
        ("cli/tools/fake.py", "out.file"),
    }  # to ask for a terminal, and to flush


def test_json_is_written_by_one_function(found: list[Found]) -> None:
    raw = [
        name
        for name, node in found
        if isinstance(node, ast.keyword) and node.arg == "ensure_ascii"
        if isinstance(node.value, ast.Constant) and node.value.value is False
    ]
    assert set(raw) <= {
        "model/json_text.py",
        "store/journals/events.py",
    }  # names that can be printed
