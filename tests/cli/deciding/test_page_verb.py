"""``hcloud page`` and ``-o html``: where pages and pictures go, and where they do not."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from hcloud.cli.main import run

PLAN = ("plan", "scenario:static", "--family", "m6i", "--now", "2026-11-20T12:00:00Z")


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A plan file's bytes."""
    folder = tmp_path_factory.mktemp("planned")
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()):
        patch.setenv("HYC_PRICES", str(folder / "prices"))
        patch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
        patch.setenv("HYC_PLANNING__STEP", "1h")
        assert run([*PLAN, "-q", "--out", str(folder / "plan.json")]) == 0
    return (folder / "plan.json").read_bytes()


@pytest.fixture
def plan(planned: bytes, tmp_path: Path) -> Path:
    """A plan file."""
    target = tmp_path / "plan.json"
    target.write_bytes(planned)
    return target


def test_plan_explain_and_page_print_the_same_page(
    plan: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HYC_PLANNING__STEP", "1h")
    pages = []
    for words in ([*PLAN, "-o", "html"], ["explain", str(plan), "-o", "html"], ["page", str(plan)]):
        assert run(words) == 0
        pages.append(capsys.readouterr().out)
    assert pages[0].startswith("<!DOCTYPE html>")
    assert pages[0] == pages[1] == pages[2]


def test_one_question_has_no_page(plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", str(plan), "m7i.4xlarge", "-o", "html"]) == 64
    assert "shows a plan as a whole" in capsys.readouterr().err


def test_a_page_is_written_to_a_file_and_replaces_it(plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = plan.parent / "page.html"
    for _ in range(2):
        assert run(["page", str(plan), "--out", str(target)]) == 0
        assert capsys.readouterr().out == ""
    assert target.read_text(encoding="utf-8").endswith("</html>\n")


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_its_pictures_are_drawn_into_a_folder(plan: Path, kind: str) -> None:
    folder = plan.parent / "pictures"
    assert run(["page", str(plan), "--pictures", str(folder), "--picture-format", kind]) == 0
    assert sorted(p.name for p in folder.iterdir()) == sorted(f"{n}.{kind}" for n in ("cost", "demand", "falls", "use"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--out", "page.txt"], r"end in \.html"),
        (["--out", "nowhere/page.html"], "folder nowhere does not exist"),
        (["--out", "link.html"], "symbolic link"),
        (["--pictures", "plan.json"], "is no folder"),
        (["--pictures", "a/b"], "folder a does not exist"),
        (["--pictures", "linked"], "symbolic link"),
        (["--pictures", "out", "--picture-format", "gif"], "must be png or svg"),
    ],
)
def test_L4_where_nothing_is_written(
    plan: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(plan.parent)
    elsewhere = plan.parent / "elsewhere"
    elsewhere.mkdir()
    (plan.parent / "link.html").symlink_to(elsewhere / "page.html")
    (plan.parent / "linked").symlink_to(elsewhere)
    before = sorted(p.name for p in plan.parent.iterdir())
    assert run(["page", str(plan), *words]) == 64
    assert re.search(said, " ".join(capsys.readouterr().err.split()))
    assert sorted(p.name for p in plan.parent.iterdir()) == before
    assert not list(elsewhere.iterdir())


class _Terminal(io.StringIO):
    """Standard output as a terminal has it."""

    def isatty(self) -> bool:
        return True


def test_no_html_is_poured_into_a_terminal(
    plan: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = _Terminal()
    monkeypatch.setattr("sys.stdout", screen)
    assert run(["page", str(plan)]) == 64
    assert "--out" in capsys.readouterr().err
    assert screen.getvalue() == ""


@pytest.mark.parametrize("words", [["page"], ["explain"], ["report", "cost"], ["diff", "-"]])
def test_a_plan_with_a_part_below_zero_is_refused(
    plan: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    altered = re.sub(r'"count": "[0-9.]+"', '"count": "-3"', plan.read_text(encoding="utf-8"))
    plan.write_text(altered, encoding="utf-8")
    assert run([*words, str(plan)]) == 1
    captured = capsys.readouterr()
    assert "mix.0.count: -3 (none is below zero)" in captured.err
    assert captured.out == ""
