"""Placements on the command line: by name, beside each other, audited, sized for equal quality, and explained."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from drawing import told_also

from hcloud.cli.main import run
from hcloud.errors import UsageError
from hcloud.readers.bundle import bundled
from hcloud.sim.setup.clustered.recipes import RECIPES
from hcloud.usecases.studies.simulate import strategies_named

LOCAL = ("scenario:local-40", "--strategy", "SR")
NOW = ("--now", "2026-11-20T12:00:00Z")


def document(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert run([*words, "--json", *NOW]) == 0
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    return told


def test_placements_stand_side_by_side_and_greedy_is_the_strategy_itself(capsys: pytest.CaptureFixture[str]) -> None:
    told = document(capsys, "simulate", *LOCAL, "--placement", "greedy,tarcil", "--placement", "least-loaded")
    assert [s["name"] for s in told["strategies"]] == ["SR", "SR+tarcil", "SR+least-loaded"]
    plain = document(capsys, "simulate", *LOCAL)
    assert plain["strategies"][0]["runs"] == told["strategies"][0]["runs"]
    looks = [s["runs"][0]["placement"]["looks_per_job"] for s in told["strategies"]]
    assert looks[0] == 0 < looks[1] < looks[2]


def test_an_audit_holds_a_sample_to_the_law_of_its_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Eight candidates are better than eight ninths of the others on average, whatever the jobs are; where agents know
    late what the others did, they draw among other servers than those with room, and the law no longer tells."""
    whole = RECIPES["tarcil-110"]
    monkeypatch.setitem(RECIPES, "tarcil-110", replace(whole, arrivals=replace(whole.arrivals, jobs=5_000)))
    text = (bundled("policies") / "placements" / "tarcil.yaml").read_text(encoding="utf-8")
    at_once, late = tmp_path / "at-once.yaml", tmp_path / "late.yaml"
    at_once.write_text(
        re.sub(r"(notice|wire|decision)_seconds:\n      value: .*", r"\1_seconds:\n      value: 0", text)
    )
    late.write_text(text.replace("value: 0.005", "value: 0.5"))
    names = f"{at_once},{late}"
    told = document(
        capsys, "simulate", "scenario:tarcil-110", "-s", "SR", "--placement", names, "--load", "0.5", "--audit"
    )
    runs = [s["runs"][0]["placement"] for s in told["strategies"]]
    assert runs[0]["audit"]["choices"] > 4_000
    assert runs[0]["audit"]["mean_rank"] == pytest.approx(8 / 9, abs=0.02)
    assert runs[0]["audit"]["distance"] < 0.05
    assert runs[1]["audit"]["distance"] > 0.1
    assert runs[1]["conflicts_per_decision"] > 10 * runs[0]["conflicts_per_decision"]


def test_all_placements_are_those_that_a_strategy_can_have() -> None:
    """'compare TRACE --placement all' was refused, as on-demand strategies have no reserve for sparrow."""
    names = [s.name for s in strategies_named(["SR", "OdF"], ["all"])]
    assert names[0] == "SR"
    assert "SR+sparrow" in names
    assert "OdF+tarcil" in names
    assert "OdF+sparrow" not in names
    names = [s.name for s in strategies_named(["SR", "HM"], admissions=["all"])]
    assert names == ["SR+arrival-order", "SR+multi-class", "HM"]  # which can have none, and was all that was said
    with pytest.raises(UsageError, match="HM\\+arrival-order cannot be"):
        strategies_named(["HM"], admissions=["all"])


def test_an_audit_changes_no_run(capsys: pytest.CaptureFixture[str]) -> None:
    made = [document(capsys, "simulate", *LOCAL, "--placement", "paragon", *more) for more in ((), ("--audit",))]
    runs = [told["strategies"][0]["runs"][0] for told in made]
    assert runs[0]["placement"].pop("audit") is None
    assert runs[1]["placement"].pop("audit")["mean_rank"] > 0.9
    assert runs[0] == runs[1]


def test_the_reserve_for_equal_quality_ends_the_screen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = RECIPES["local-40"]
    monkeypatch.setitem(
        RECIPES, "local-40", replace(whole, arrivals=replace(whole.arrivals, jobs=whole.arrivals.jobs // 3))
    )
    words = (
        "compare",
        *LOCAL,
        "--load",
        "0.3",
        "--placement",
        "paragon,least-loaded",
        "--seeds",
        "1",
        "--size-for",
        "0.8",
    )
    with told_also("json") as also:
        assert run([*words]) == 0
    told = json.loads(also["json"])
    sizes = {s["name"]: s["sized"] for s in told["strategies"]}
    assert all(s["kept_qos"] >= 0.8 for s in sizes.values())
    screen = capsys.readouterr().out
    run_of = told["strategies"][0]["runs"][0]
    assert re.search(rf"response p99, s +{run_of['completion_seconds']['p99']:,.3f} ", screen)
    last = " ".join(screen.split("\n\n")[-1].split())
    assert last.startswith("To keep 80% of jobs within 5% of their performance, ")
    least, most = (f(sizes.values(), key=lambda s: float(s["cost_per_ideal_hour"])) for f in (min, max))
    assert f"${float(least['cost_per_ideal_hour']):,.2f}" in last
    assert f"${float(most['cost_per_ideal_hour']):,.2f}" in last


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("simulate", *LOCAL, "--placement", "tarcl"), "there is no placement 'tarcl'; did you mean tarcil?"),
        (("compare", "missing.csv", "--placement", "tarcl"), "there is no placement 'tarcl'; did you mean tarcil?"),
        (("compare", *LOCAL, "--size-for", "1"), "a share of jobs above 0 and below 1"),
        (("compare", *LOCAL, "--size-for", "0.9", "--load", "0.5,0.8"), "--size-for needs one load"),
        (("sweep", "scenario:static", "--strategy", "SR+tarcil", "--vary", "placement.candidates=0"), "from 1 to 1024"),
        (("sweep", *LOCAL, "--placement", "tarcil", "--vary", "placement.agents=0"), "a whole number from 1 to 1000"),
        (("sweep", *LOCAL, "--placement", "tarcil", "--vary", "placement.quality=1"), "must be below 1"),
        (
            (
                *("sweep", *LOCAL, "--placement", "tarcil"),
                "--vary",
                "placement.quality=1",
                "--vary",
                "placement.miss=0",
            ),
            "guarantees the best; mechanisms.placement.parameters.miss 0: must be above 0",
        ),
        (
            ("sweep", *LOCAL, "--placement", "tarcil", "--vary", "placement.miss=0", "--vary", "placement.quality=0.9"),
            "miss 0: must be above 0: no sample is certain",
        ),
        (("simulate", *LOCAL, "--placement", "tarcil", "--pool", "0"), "'0' must be 1 or more"),
        (("strategy", "show", "SR+"), "there is no placement ''"),
        (("strategy", "show", "HM+sparrow"), "HM+sparrow cannot be: with sparrow, jobs wait at reserved servers"),
        (
            ("strategy", "show", "HM+multi-class"),
            "HM+multi-class cannot be: with multi-class, jobs wait for pools of the reserve. Mapping has to be",
        ),
        (("placement", "size", "--quality", "nan"), "--quality nan: is no number"),
    ],
)
def test_what_cannot_be_is_said_before_anything_runs(
    words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*words]) == 64
    assert said in " ".join(capsys.readouterr().err.split())


def test_a_placement_of_ones_own_says_all_that_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text(
        'format_version: "1.0"\nname: mine\ntitle: "Mine"\nplacement: {rule: tarcil, origin: C, why: "x"}\n'
    )
    assert run(["strategy", "show", "SR", "--placement", str(mine)]) == 1
    told = capsys.readouterr().err
    assert all(f"placement.parameters.{key}" in told for key in ("candidates", "over", "join_starting"))


def test_keys_that_cannot_stand_together_are_told_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (bundled("policies") / "placements" / "tarcil.yaml").read_text()
    mine = tmp_path / "mine.yaml"
    mine.write_text(text.replace("quality:\n      value: 0\n", "quality:\n      value: 1\n").replace("0.001", "0"))
    assert run(["strategy", "show", "SR", "--placement", str(mine)]) == 1
    told = " ".join(capsys.readouterr().err.split())
    assert "2 problems" in told
    assert "placement.parameters.quality" in told
    assert "placement.parameters.miss" in told
    assert "mine.yaml" in told


def test_a_job_larger_than_any_server_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("id,submit,duration,cores,memory\na,0,10,1,1\nhuge,1,10,2000,4\n")
    assert run(["simulate", str(trace), "--strategy", "SR", "--placement", "tarcil"]) == 9
    told = " ".join(capsys.readouterr().err.split())
    assert "job huge (2000 vCPU, 4 GiB) fits no type that may be rented" in told
    assert "--drop-unplaceable" in told


VECTOR = "1 2 3 4 5 6 7 8 9 10"


@pytest.mark.parametrize(
    ("columns", "cell", "said"),
    [
        ("", "", ["interference is random (cloud model paper): the trace has no interference data"]),
        (",causes", f",{VECTOR}", ["tolerance of 2 jobs is assumed: 99 points less than what each causes"]),
        (",causes,tolerates", f",{VECTOR},{VECTOR}", []),
    ],
)
def test_reports_say_what_of_interference_was_drawn(
    columns: str, cell: str, said: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text(f"id,submit,duration,cores,memory{columns}\na,0,10,1,1{cell}\nb,1,10,1,1{cell}\n")
    words = (str(trace), "--strategy", "SR", "--placement", "tarcil")
    assert document(capsys, "simulate", *words)["assumed"][:-1] == said
    for form in ((), ("-o", "html", *NOW)):
        assert run(["compare", *words, "--seeds", "1", *form]) == 0
        told = " ".join(capsys.readouterr().out.split())
        assert all(sentence[1:] in told for sentence in said)
        assert said or "interference is random" not in told


def test_a_strategy_shows_where_the_numbers_of_its_placement_come_from(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["strategy", "show", "HM", "--placement", "tarcil"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "HM+tarcil" in told
    assert "placement: tarcil X Tarcil (thesis §7.3)" in told


def test_a_sweep_varies_the_candidates(capsys: pytest.CaptureFixture[str]) -> None:
    words = (
        "sweep",
        "scenario:static",
        "--strategy",
        "SR",
        "--placement",
        "tarcil",
        "--vary",
        "placement.candidates=1,4",
        *("--seeds", "1", "--workers", "1"),
    )
    told = document(capsys, *words)
    assert {c["strategy"] for c in told["rows"]} == {"SR+tarcil"}


def test_a_job_is_explained_with_the_servers_that_were_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = tmp_path / "run.jsonl"
    words = ("simulate", *LOCAL, "--placement", "power-of-two", "--journal", str(journal))
    assert run([*words]) == 0
    capsys.readouterr()
    assert run(["explain", "--job", "100", str(journal)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "search 2 looks at servers, 2 candidates with room" in told or "search 3 looks" in told
    assert "in use (taken)" in told


def test_a_job_is_explained_with_what_filters_left_and_what_was_relaxed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = tmp_path / "run.jsonl"
    words = ("simulate", *LOCAL, "--load", "0.95", "--placement", "paragon", "--journal", str(journal))
    assert run([*words]) == 0
    told = []
    for job in (140, 144, 148):
        capsys.readouterr()
        assert run(["explain", "--job", str(job), str(journal), "-o", "md"]) == 0
        told.append(" ".join(capsys.readouterr().out.split()))
    assert any("with room, " in t and " after what its neighbours tolerate of " in t for t in told)
    assert all(" taken" in t and "predicted to be the best" in t for t in told)
    assert any("relaxed: what " in t for t in told)


def test_an_audit_leaves_the_candidates_of_a_decision(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = []
    for flags in ((), ("--audit",)):
        journal = tmp_path / f"run{len(flags)}.jsonl"
        words = ("simulate", *LOCAL, "--placement", "tarcil", *flags, "--journal", str(journal))
        assert run([*words]) == 0
        capsys.readouterr()
        assert run(["explain", "--job", "67", str(journal)]) == 0
        told.append(capsys.readouterr().out)
    assert told[0] == told[1]


@pytest.mark.parametrize("placement", ["tarcil", "paragon", "no-interference", "ideal", "centralised"])
def test_a_journal_of_a_mixed_cluster_repeats_its_run(
    placement: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Types that differ in speed by job are in the journal; else a replay takes other servers, and is refused."""
    journal = tmp_path / "run.jsonl"
    assert run(["simulate", *LOCAL, "--placement", placement, "--journal", str(journal)]) == 0
    assert run(["explain", "--job", "67", str(journal)]) == 0
    assert "search" in capsys.readouterr().out


def test_a_sweep_prices_every_type_of_a_mixed_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    told = document(capsys, "sweep", "scenario:local-40", "--strategy", "SR", "--vary", "limits.rule=none")
    plain = document(capsys, "simulate", *LOCAL)
    swept = float(told["rows"][0]["figures"]["cost_per_hour"]["mean"])
    assert swept == pytest.approx(float(plain["strategies"][0]["runs"][0]["cost_per_ideal_hour"]), abs=0.0001)
