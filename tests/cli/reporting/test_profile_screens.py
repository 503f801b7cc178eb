"""Profiles on a screen of 80 columns and as documents."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hcloud.cli import main
from hcloud.model.measured.profile import RESOURCES, Aspect, Measured, Metric, Profile
from hcloud.model.workload import JobKind
from hcloud.profiling.session import less_sure
from hcloud.store.profiles import save_profile
from hcloud.views.measuring.profile import bar

WHY = "a victim of {} pressure lost no more than 1% on another core (noise 2%), 3% beyond a plain CPU load (noise 9%)"
AT = datetime(2026, 11, 21, 5, tzinfo=UTC)
MACHINE = "Intel(R) Xeon(R) Processor, 2 cores, 24 GiB, Linux 6.18.44"


def measured(value: float, width: float = 5.0, highest: float = 100.0) -> Measured:
    return Measured(value, max(value - width, 0.0), min(value + width, highest), 4, AT, MACHINE, "built-in")


def redis() -> Profile:
    untold = ("l1i", "l1d", "cpu", "tlb")
    scores = {r: measured(8.0 * i) for i, r in enumerate(RESOURCES) if r not in untold}
    return Profile(
        app="redis [bold]",
        kind=JobKind.SERVICE,
        metric=Metric("p99 latency", "ms", rising=False),
        command=("redis-server",),
        entries={
            Aspect.SCALE_UP: {"1c2g": measured(0.2, 0.01), "2c2g": measured(0.1, 0.01)},
            Aspect.TOLERATED: scores,
            Aspect.CAUSED: scores,
        },
        unmeasurable={r: WHY.format(r) for r in untold},
    )


@pytest.fixture
def files(tmp_path: Path) -> Path:
    save_profile(redis(), tmp_path / "a.yaml")
    entries = {
        Aspect.SCALE_UP: {"1c2g": measured(0.2, 0.01)},
        Aspect.TOLERATED: {"membw": measured(99.0), "l1i": measured(3.0)},
    }
    other = dataclasses.replace(redis(), app="memcached", unmeasurable={}, entries=entries)
    save_profile(other, tmp_path / "b.yaml")
    return tmp_path


@pytest.mark.parametrize("words", [("show", "a.yaml"), ("list", "."), ("compare", "a.yaml", "b.yaml")])
def test_every_screen_fits_80_columns(
    files: Path, words: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    monkeypatch.setenv("COLUMNS", "80")
    assert main.run(["profile", *words]) == 0
    screen = capsys.readouterr().out.splitlines()
    assert max(map(len, screen)) <= 80
    assert len(screen) <= 40
    assert any("redis [bold]" in line for line in screen)


def test_what_was_not_measurable_is_said_with_its_reason(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["profile", "show", str(files / "a.yaml")]) == 0
    screen = capsys.readouterr().out
    rows = {line.split()[0]: line for line in screen.splitlines() if line.split()[:1] and line.split()[0] in RESOURCES}
    assert set(rows) == set(RESOURCES)
    assert "not measurable here" in rows["tlb"]
    assert "72 (67 to 77)" in rows["disk"]
    assert WHY.format("tlb") in " ".join(screen.split())


@pytest.mark.parametrize("width", [80, 100])
def test_no_score_and_no_reason_is_cut_short(
    files: Path, width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    full = measured(100.0, 0.0)
    untold = ("l1i", "tlb")
    scores = {r: full for r in RESOURCES if r not in untold}
    whole = dataclasses.replace(
        redis(),
        entries={Aspect.TOLERATED: scores, Aspect.CAUSED: scores},
        unmeasurable={r: WHY.format(r) for r in untold},
    )
    save_profile(whole, files / "whole.yaml")
    monkeypatch.setenv("COLUMNS", str(width))
    assert main.run(["profile", "show", str(files / "whole.yaml")]) == 0
    screen = capsys.readouterr().out
    assert screen.count("██████████ 100 (100 to 100)") == 2 * len(scores)
    assert screen.count("not measurable here") == len(untold) + 1
    assert max(map(len, screen.splitlines())) <= width


def test_large_figures_are_written_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """15,000 requests a second were 1.5e+04."""
    rates = {Aspect.SCALE_UP: {"1c2g": measured(15_000.0, 250.0, 1e6)}}
    save_profile(dataclasses.replace(redis(), entries=rates, unmeasurable={}), tmp_path / "a.yaml")
    for words in (["show"], ["compare", str(tmp_path / "a.yaml")]):
        assert main.run(["profile", *words, str(tmp_path / "a.yaml")]) == 0
        assert "15,000 ms" in capsys.readouterr().out


def test_a_comparison_says_where_intervals_are_apart(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["profile", "compare", str(files / "a.yaml"), str(files / "b.yaml"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    differs = {(line["aspect"], line["column"]): line["differs"] for line in document["lines"]}
    assert differs["tolerated", "membw"] is True
    assert differs["scale_up", "1c2g"] is False
    assert differs["tolerated", "l1i"] is None


def test_documents_hold_every_number(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["profile", "list", str(files), "-o", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["format_version"] == "1.0"
    assert [p["app"] for p in document["profiles"]] == ["redis [bold]", "memcached"]
    assert document["profiles"][0]["entries"]["tolerated"]["disk"]["value"] == 72.0


def test_bars_grow_with_the_score() -> None:
    assert [bar(score) for score in (0, 50, 100)] == [" " * 10, "█████     ", "█" * 10]
    assert bar(1.3).startswith("▏")


def test_a_missing_profile_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["profile", "show", "nowhere.yaml"]) == 64
    assert "no such profile" in capsys.readouterr().err


def test_numbers_that_a_run_did_not_get_are_named_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A dash stood there, and its reason in the file alone."""
    why = "memcap: no score, the time was used up"
    means = f"network: {less_sure(0.13)}"
    notes = ("kept in shape by control groups (version 1)", why, means, "network: built-in network cost its victim 47%")
    save_profile(dataclasses.replace(redis(), notes=notes), tmp_path / "a.yaml")
    assert main.run(["profile", "show", str(tmp_path / "a.yaml")]) == 0
    screen = capsys.readouterr().out
    assert why in screen
    assert "network: tolerated is the pressure at which 13% is lost, not 5%" in " ".join(screen.split())
    assert "cost its victim" not in screen


def test_profiles_are_compared_by_name(
    files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    save_profile(dataclasses.replace(redis(), app="mine"), files / "mine.profile.yaml")
    assert main.run(["profile", "compare", "mine", "sort"]) == 0
    assert "mine" in capsys.readouterr().out


def test_a_comparison_says_where_and_when_each_was_measured_where_that_differs(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two columns of one name, and "may be equal", stood there for two kinds of machine two years apart."""
    text = (files / "a.yaml").read_text(encoding="utf-8")
    (files / "old.yaml").write_text(text.replace("Intel(R) Xeon(R)", "AMD EPYC").replace("2026-11", "2024-11"), "utf-8")
    assert main.run(["profile", "compare", str(files / "a.yaml"), str(files / "old.yaml")]) == 0
    screen = " ".join(capsys.readouterr().out.split())
    assert "left: Intel(R) Xeon(R) Processor, 2 cores, 24 GiB, Linux 6.18.44 · 2026-11-21 right: AMD EPYC" in screen
    assert "· 2024-11-21" in screen
    assert main.run(["profile", "compare", str(files / "a.yaml"), str(files / "a.yaml")]) == 0
    assert "left:" not in capsys.readouterr().out


def test_one_application_is_not_several(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_profile(redis(), tmp_path / "a.yaml")
    assert main.run(["profile", "list", str(tmp_path)]) == 0
    assert "1 application;" in capsys.readouterr().err
