"""Scenarios with a cluster on the command line: exactly its servers, several loads, and what cannot be asked."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from hcloud.cli.main import run
from hcloud.readers.configuration.config import load_config
from hcloud.sim.setup.clustered.recipes import RECIPES
from hcloud.usecases.studies.simulation import SimulationRequest, open_study, with_seed
from hcloud.usecases.workloads.scenarios import scenario_on_cluster
from hcloud.usecases.workloads.sources import Flags, with_flags

SVG = "{http://www.w3.org/2000/svg}"
NOW = ("--now", "2026-11-20T12:00:00Z")


def test_a_cluster_is_run_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "scenario:local-40"]) == 0
    told = capsys.readouterr()
    assert "178 jobs · cloud clusters · own servers, X5670 and 9 other types reserved" in told.out
    assert "178 vCPUs; no provider sells them, so hcloud assumes $0.0218" in " ".join(told.err.split())
    assert run(["simulate", "scenario:local-40", "--json", *NOW]) == 0
    (only,) = json.loads(capsys.readouterr().out)["strategies"]
    assert only["name"] == "SR"
    assert only["runs"][0]["reserved_servers"] == 40
    assert float(only["runs"][0]["reserved_cost"]) > 0


def test_loads_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["compare", "scenario:local-40", "--load", "0.3,0.8", "--seeds", "2", *NOW]
    assert run(words) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "SR at 0.3 SR at 0.8" in told
    assert "no other strategy at the same load is both cheaper and better" in told
    assert "cheapest" not in told
    assert "vCPUs needed / vCPUs available 0.30" in told
    assert "vCPUs needed / vCPUs available 0.80" in told
    assert run([*words, "--json"]) == 0
    low, high = json.loads(capsys.readouterr().out)["strategies"]
    assert low["name"] == "SR at 0.3"
    assert low["runs"][0]["batch_performance"]["count"] == high["runs"][0]["batch_performance"]["count"] == 178
    assert low["runs"][0]["completion_seconds"]["mean"] < high["runs"][0]["completion_seconds"]["mean"]
    assert run([*words, "-o", "html"]) == 0
    assert "cheapest strategy" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("simulate scenario:local-4", "did you mean local-40"),
        ("simulate scenario:local-40 --load 1.6", "--load 1.6: must be above 0 and at most 1.5"),
        ("simulate scenario:local-40 --load 0", "at most 1.5"),
        ("simulate scenario:local-40 --load nan", "--load nan"),
        ("simulate scenario:local-40 --load much", "--load much: not numbers"),
        ("compare scenario:local-40 --load 0.5,0.5", "the same load twice"),
        ("compare scenario:local-40 --load 1.2", "a load from 0.07 to 1 is possible"),
        ("simulate scenario:local-40 --size-for 0.9 --load 0.5,0.8", "--size-for needs one load"),
        ("compare scenario:local-40 --size-for 95", "--size-for 95: write a share of jobs above 0 and below 1"),
        ("simulate scenario:static --load 0.5", "scenario:static comes without a cluster"),
        ("simulate trace.csv --load 0.5", "its jobs run as long as they ran"),
        ("simulate scenario:local-40 --pool 3 --provider aws", "--provider, --pool: scenario:local-40 has its own"),
        ("simulate scenario:local-40 --window 1h", "--window: scenario:local-40 has its own"),
        ("simulate scenario:local-40 -s HM", "a cluster of 40 servers of a study: HM cannot rent more"),
        ("simulate scenario:local-40 -s SR --load 0.5,0.8 --journal j.jsonl", "--journal is of one run"),
        ("sweep scenario:local-40 --strategy SR --vary pool=2", "scenario:local-40 has its own servers"),
    ],
)
def test_what_cannot_be_asked(
    words: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("trace.csv").write_text("id,submit,duration,cores,memory\na,0,3600,2,4\n", encoding="utf-8")
    assert run(words.split()) == 64
    told = capsys.readouterr()
    assert told.out == ""
    assert why in " ".join(told.err.split())


def written_in(picture: Path) -> str:
    """The words of a picture."""
    texts = ET.fromstring(picture.read_text(encoding="utf-8")).iter(f"{SVG}text")
    return " ".join(e.text or "" for e in texts)


def test_a_picture_over_the_load_has_a_line_a_placement(tmp_path: Path) -> None:
    words = ["--placement", "first-fit,paragon", "--seeds", "2", "--picture", str(tmp_path / "p.svg")]
    assert run(["compare", "scenario:local-40", "--load", "0.5,0.8", *words]) == 0
    told = written_in(tmp_path / "p.svg")
    assert "load: vCPUs needed / vCPUs available" in told
    assert "mean performance" in told
    assert told.count("SR+first-fit") == told.count("SR+paragon") == 1  # one line each, whatever the loads
    assert "use of the reserve" not in told


def test_a_picture_over_how_long_jobs_are(tmp_path: Path) -> None:
    rows = [f"{at},{at},{(0.5, 5, 60)[at % 3]},1,1" for at in range(30)]
    trace, picture = tmp_path / "jobs.csv", tmp_path / "p.svg"
    for kept, expected in ((rows, True), (rows[::3], False)):
        trace.write_text("\n".join(["id,submit,duration,cores,memory", *kept]) + "\n", encoding="utf-8")
        assert run(["simulate", str(trace), "-s", "SR", "--placement", "tarcil", "--picture", str(picture)]) == 0
        told = written_in(picture)
        assert ("under 1 s" in told and "10 s and more" in told) is expected
        assert "jobs that kept 95%" in told
        assert "batch jobs: performance" in told
        assert "services" not in told, "an empty field says nothing"


def test_simulate_and_compare_find_the_same_reserve_for_a_quality(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = RECIPES["local-40"]
    fewer = replace(whole, arrivals=replace(whole.arrivals, jobs=whole.arrivals.jobs // 3))
    monkeypatch.setitem(RECIPES, "local-40", fewer)
    words = ["scenario:local-40", "--load", "0.3", "--placement", "greedy,paragon", "--size-for", "0.9", *NOW]
    assert run(["simulate", *words]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "servers for 90% kept - 18" in told  # greedy does not keep it at eight times the reserve
    assert "vCPUs for 90% kept - 76" in told
    assert "5% of their performance, SR+paragon needs 18 servers with 76 vCPUs ($2.55 an hour). SR cannot" in told
    assert run(["compare", *words, "--seeds", "1", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    greedy, paragon = (one["sized"] for one in document["strategies"])
    assert (document["sized_for"], greedy) == (0.9, None)
    assert (paragon["servers"], paragon["vcpus"]) == (18, 76)
    assert paragon["kept_qos"] >= 0.9


def test_the_journal_of_a_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["simulate", "scenario:local-40", "--journal", "j.jsonl"]) == 0
    assert run(["explain", "--job", "5", "j.jsonl"]) == 0
    assert "ran on reserved server" in capsys.readouterr().out


def test_a_sweep_on_a_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["sweep", "scenario:local-40", "--vary", "placement.violation_tolerance=0,5", "--workers", "1"]
    assert run(words) == 0
    told = capsys.readouterr()
    assert "left out" not in told.err
    assert "own servers, X5670 reserved" in told.out
    assert "aws own servers" not in told.out
    assert run([*words, "--strategy", "HM"]) == 64
    assert "a cluster of 40 servers of a study: HM cannot rent more" in " ".join(capsys.readouterr().err.split())


def test_other_verbs_take_the_jobs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["workload", "show", "scenario:local-40-oversubscribed"]) == 0
    assert "178" in capsys.readouterr().out
    target = tmp_path / "jobs.csv"
    assert run(["workload", "convert", "scenario:local-40", "--to", str(target)]) == 0
    assert len(target.read_text(encoding="utf-8").splitlines()) == 179


@pytest.mark.parametrize("name", ["quasar-200-hadoop", "quasar-200-web-spike", "local-40"])
def test_other_seeds_of_a_study_are_those_of_the_scenario(name: str) -> None:
    """Jobs whose lengths are stated keep them, whatever load those of the first seed came to."""
    loaded = with_flags(load_config(None), Flags(workload=f"scenario:{name}"))
    study = open_study(loaded, SimulationRequest(), date(2026, 11, 23))
    for seed in (43, 44):
        direct = scenario_on_cluster(name, seed).jobs
        assert np.array_equal(with_seed(study, seed).jobs.duration, direct.duration)
        assert direct.duration.min() > 1.0


def test_a_load_that_is_asked_for_counts_where_lengths_are_stated() -> None:
    usual, halved = (scenario_on_cluster("quasar-200-web-flat", 42, load) for load in (None, 0.5))
    assert halved.load == 0.5
    assert usual.load != 0.5
    assert not np.array_equal(usual.jobs.duration, halved.jobs.duration)
