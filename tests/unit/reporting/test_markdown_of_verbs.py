"""Every verb that prints Markdown writes names from outside through the one function that makes them text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
from markdown_it import MarkdownIt
from verbs import every_leaf

from hcloud.cli.main import run
from hcloud.cli.root import build
from hcloud.views.escaped import BREAK, in_markdown
from hcloud.views.markdown import markdown as of_sections
from hcloud.views.page.parts import PageSection
from hcloud.views.tables import Figures

PLAN = Path(__file__).parents[2] / "cases" / "plans"
EXAMPLE = str(Path(__file__).parents[3] / "examples" / "own-trace" / "hcloud.yaml")
NAME = "a|b\n# c `d` <script>e</script> [f](javascript:g) ![h](https://i.example) @team #12 **j** $4"
OURS = {"p", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "strong", "em", "br", "h2", "h3"}
OURS |= {"details", "summary", "!--"}
REPORTS = {("report", name) for name in ("cost", "savings", "commitments", "accuracy", "quality")}
WRITTEN = {
    ("plan",),
    ("size",),
    ("explain",),
    ("diff",),
    ("policy", "check"),
    ("placement", "size"),
    ("harvest", "plan"),
    *(("harvest", name) for name in ("types", "simulate", "replicas", "audit")),
} | REPORTS


def is_inert(text: str, columns: int | None = None) -> None:
    html = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text)
    assert set(re.findall(r"<([a-z!][a-z0-9-]*)", html)) <= OURS
    shown = re.sub(r"<[^>]*>", "", html)
    assert not re.search(r"@\w|#\d|://", shown)
    assert "alert" not in shown
    assert "# c" not in [line[:3] for line in text.splitlines()]


def prints_markdown(path: tuple[str, ...]) -> bool:
    command: Any = build()
    for name in path:
        command = command.get_command(None, name)
    printed = (option.type_descriptor.annotation for option in command.params if "--output" in option.opts)
    return any("md" in get_args(kind) for kind in printed)


@pytest.mark.slow
def test_every_verb_with_markdown_is_known_here() -> None:
    assert {path for path in every_leaf() if prints_markdown(path)} == WRITTEN


def test_reports_hold_names_as_text() -> None:
    table = Figures((NAME, "count"), [[NAME, "3"], ["b", "$1,234.50"]], frozenset({1}))
    text = of_sections([PageSection(NAME, (NAME,), points=(NAME,), notes=(NAME,), tables=(table,))])
    is_inert(text)
    assert len({line.count("|") for line in text.splitlines() if line.startswith("|")}) == 1
    assert "| $1,234.50 |" in text  # our own figures stay readable as they are


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plan") / "plan.json"
    assert run(["plan", "-f", EXAMPLE, "--now", "2026-11-20T12:00:00Z", "--out", str(path), "-o", "json"]) == 0
    return path


def hostile(document: Any) -> Any:
    """The document with every sentence and name in it, that its schema leaves free, replaced."""
    free = {"why", "reason", "flips_if", "warnings", "reasons"}
    document["warnings"] = [NAME]
    document["reasons"] = [NAME]
    document["workload"]["name"] = NAME
    for part in ("refusals", "assumptions", "alternatives"):
        for row in document[part]:
            row.update({key: NAME for key in row if key in free | {"name", "key"}})
    return document


VERBS: dict[str, Callable[[str, Path], list[str]]] = {
    "explain": lambda plan, folder: ["explain", plan, "-o", "md"],
    "diff": lambda plan, folder: ["diff", str(folder / "plan.json"), plan, "-o", "md"],
    "policy check": lambda plan, folder: ["policy", "check", plan, "--rules", str(folder / "rules.yaml"), "-o", "md"],
}


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
def test_plans_hold_names_as_text(verb: str, plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evil = plan.parent / "evil.json"
    evil.write_text(json.dumps(hostile(json.loads(plan.read_text(encoding="utf-8")))), encoding="utf-8")
    rules = [{"name": NAME.replace("\n", " "), "max_monthly_cost": 1, "why": NAME}]
    (plan.parent / "rules.yaml").write_text(json.dumps({"format_version": "1.0", "rules": rules}), encoding="utf-8")
    capsys.readouterr()
    assert run(VERBS[verb](str(evil), plan.parent)) in (0, 1, 2, 3), capsys.readouterr().err
    is_inert(capsys.readouterr().out)


def test_the_plan_itself_holds_names_as_text(plan: Path) -> None:
    from hcloud.store.plan_file import load_plan
    from hcloud.views.deciding.plan import markdown

    evil = plan.parent / "evil-plan.json"
    evil.write_text(json.dumps(hostile(json.loads(plan.read_text(encoding="utf-8")))), encoding="utf-8")
    is_inert(markdown(load_plan(evil)))


def test_no_other_module_escapes_in_its_own_way() -> None:
    """Cells are joined where they were escaped."""
    views = Path(__file__).parents[3] / "hcloud" / "views"
    own = {p.name for p in views.rglob("*.py") if "' | '.join(" in p.read_text(encoding="utf-8")}
    assert own == {"escaped.py"}


def test_money_stays_readable_and_other_dollars_do_nothing() -> None:
    assert in_markdown("saves $1,234.50 of $12,000") == "saves $1,234.50 of $12,000"
    assert in_markdown("$4") == f"&#36;{BREAK}4"
    assert "$" not in in_markdown("$x$ $$y$$ a$1,000")
