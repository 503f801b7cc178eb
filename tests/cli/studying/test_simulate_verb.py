"""``hcloud simulate`` and ``hcloud compare``: screens, documents, pictures and refusals."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path

import pytest

from hcloud.cli import main

KINDS = ("batch", "service", "batch", "batch")
JOBS = "submit,duration,cores,memory,kind\n"


def write_jobs(path: Path, rows: int = 60, apart: int = 7) -> Path:
    sizes = ((1, 2), (2, 4), (1, 3), (4, 8))
    lines = [
        f"{i * apart},{90 + 13 * (i % 5)},{sizes[i % 4][0]},{sizes[i % 4][1]},{KINDS[i % 4]}\n" for i in range(rows)
    ]
    path.write_text(JOBS + "".join(lines))
    return path


def run(*words: str) -> int:
    return main.run([*words, "--now", "2026-11-21T00:00:00Z"])


@pytest.mark.parametrize("width", [80, 100])
def test_all_strategies_fit_the_screen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert run("simulate", str(write_jobs(tmp_path / "jobs.csv", apart=70))) == 0
    screen = capsys.readouterr().out
    assert max(map(len, screen.splitlines())) <= width
    for word in ("SR", "OdF", "OdM", "HF", "HM", "released at once, per use", "104 weeks, prepaid", "unused"):
        assert word in screen
    assert screen.startswith("jobs.csv: 60 jobs")
    assert screen.index("\nseconds") < screen.index("\ncapacity") < screen.index("jobs queued on the reserve")


def test_minutes_say_nothing_about_weeks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("simulate", str(write_jobs(tmp_path / "jobs.csv")), "-s", "HF,OdM") == 0
    screen = " ".join(capsys.readouterr().out.split())
    assert "prepaid" not in screen
    assert "a window under one hour says nothing about weeks" in screen


def test_the_document_holds_money_as_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("simulate", str(write_jobs(tmp_path / "jobs.csv")), "-s", "HF,OdM", "-o", "json") == 0
    document = json.loads(capsys.readouterr().out)
    assert [s["name"] for s in document["strategies"]] == ["HF", "OdM"]
    run_of = document["strategies"][1]["runs"][0]
    charged = sum(Decimal(charge["cost"]) for charge in run_of["charges"])
    assert isinstance(run_of["rented_cost"], str)
    assert abs(charged - Decimal(run_of["rented_cost"])) <= Decimal("0.05")
    assert run_of["batch_performance"]["count"] == 45
    assert run_of["service_tail"]["count"] == 15
    assert run_of["utilisation"] is None  # OdM reserves nothing


def test_a_stated_pool_is_for_those_that_reserve(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = str(write_jobs(tmp_path / "jobs.csv"))
    assert run("compare", name, "--seeds", "1", "--pool", "3", "-s", "HF,OdF,HC", "-o", "json") == 0
    captured = capsys.readouterr()
    runs = {s["name"]: s["runs"][0]["reserved_servers"] for s in json.loads(captured.out)["strategies"]}
    assert runs == {"HF": 3, "OdF": 0, "HC": 3}


STUDY = "cloud paper (prices of the HCloud study; --provider aws is what 'hcloud plan' takes)"


@pytest.mark.parametrize(
    ("provider", "told"),
    [((), True), (("--provider", "aws"), False), (("--cloud-model", "paper", "--provider", "gcp"), False)],
)
def test_the_first_line_says_when_the_cloud_is_not_that_of_a_plan(
    provider: tuple[str, ...], told: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = str(write_jobs(tmp_path / "jobs.csv"))
    assert run("compare", name, "--seeds", "1", "-s", "OdF", *provider) == 0
    captured = capsys.readouterr()
    headline = " ".join(captured.out.split("\n\n")[0].split())
    assert (f"{STUDY} · gcp" in headline) == told
    assert (re.search(r" · prices of 20\d\d-\d\d-\d\d · profiled", headline) is None) == told
    assert "HCloud study" not in captured.err  # once is enough
    assert run("sweep", name, "--vary", "limits.hard=0.7", "--strategy", "HF", *provider) == 0
    first = capsys.readouterr().out.split("\n\n")[0]
    assert (STUDY in " ".join(first.split())) == told


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = str(write_jobs(tmp_path / "jobs.csv"))
    outputs = []
    for _ in range(2):
        assert run("compare", name, "--seeds", "2", "-o", "json") == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize("width", [80, 100])
def test_a_comparison_shows_intervals_and_the_front(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert run("compare", str(write_jobs(tmp_path / "jobs.csv")), "--seeds", "3", "--unprofiled") == 0
    screen = capsys.readouterr().out
    assert max(map(len, screen.splitlines())) <= width
    assert "±" in screen
    assert "over 3 seeds" in screen
    assert "cheapest Pareto-optimal strategy" in screen


def test_a_cheapest_strategy_that_keeps_few_jobs_is_told_with_one_that_keeps_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Jobs that wait for one another on a small reserve cost least as SR, which rents nothing; how many are few the
    configuration says."""
    monkeypatch.chdir(tmp_path)
    rows = [f"b{i},{60 * (i % 24)},3600,8,16,batch" for i in range(48)]
    path = tmp_path / "jobs.csv"
    path.write_text("\n".join(["id,submit,duration,cores,memory,kind", *rows]) + "\n", encoding="utf-8")
    words = ["compare", str(path), "--seeds", "2", "--pool", "2", "-s", "SR,OdF"]
    assert run(*words, "-o", "json") == 0
    told = json.loads(capsys.readouterr().out)["strategies"]
    assert [s["on_front"] for s in told] == [True, True]
    assert run(*words) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "SR keeps 95% of performance for" in said
    assert "of jobs (90% asked for, operation.qos); OdF is the cheapest that keeps the target" in said
    for qos, expected in (("0.999", "(99.9% asked for, operation.qos)"), ("0.01", "")):
        Path("hcloud.yaml").write_text(f'format_version: "1.0"\noperation: {{qos: {qos}}}\n', encoding="utf-8")
        assert run(*words) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert (expected in said) if expected else ("keeps 95% of performance for" not in said)


@pytest.mark.parametrize(("more", "told"), [((), True), (("--pool", "2"), False), (("-s", "OdF,OdM"), False)])
def test_a_comparison_says_that_a_plan_tries_other_reserves(
    more: tuple[str, ...], told: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("compare", str(write_jobs(tmp_path / "jobs.csv")), "--seeds", "1", *more) == 0
    assert (
        "its strategy's own rule; 'hcloud plan --strategy auto'" in " ".join(capsys.readouterr().out.split())
    ) == told


def test_the_cheapest_is_told_from_the_others_only_beyond_chance(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = str(write_jobs(tmp_path / "jobs.csv", apart=70))
    market = ["--provider", "gcp", "--family", "n1-standard*", "--vcpus", "16"]
    words = ["compare", name, "--seeds", "2", "-s", "SR,HM", *market]
    assert run(*words, "-o", "json") == 0
    told = json.loads(capsys.readouterr().out)["strategies"]
    sr, hm = ([float(r["cost_per_ideal_hour"]) for r in s["runs"]] for s in told)
    gaps = [theirs - mine for mine, theirs in zip(sr, hm, strict=True)]
    assert sum(gaps) > 0, "SR is the cheaper in the mean"
    assert sum(gaps) / 2 < 12.706 * abs(gaps[0] - gaps[1]) / 2, "but not beyond chance: t at 97.5 % of one degree"
    said = "HM may cost as little: 2 seeds are too few to tell"
    assert run(*words) == 0
    assert f"cheapest Pareto-optimal strategy: SR; {said}" in " ".join(capsys.readouterr().out.split())
    assert run(*words, "-o", "html") == 0
    assert f"{said}." in capsys.readouterr().out
    assert run("compare", name, "--seeds", "1", "-s", "SR,HM") == 0
    assert "too few to tell" not in capsys.readouterr().out


def test_one_seed_has_no_interval(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("compare", str(write_jobs(tmp_path / "jobs.csv")), "--seeds", "1", "-s", "SR") == 0
    screen = capsys.readouterr().out
    assert "±" not in screen
    assert "no interval" in screen


@pytest.mark.parametrize("suffix", ["png", "svg", "html"])
def test_a_comparison_is_drawn(tmp_path: Path, suffix: str) -> None:
    target = tmp_path / f"picture.{suffix}"
    jobs = write_jobs(tmp_path / "jobs.csv")
    assert run("compare", str(jobs), "--seeds", "1", "-s", "SR,HM", "--picture", str(target)) == 0
    assert target.stat().st_size > 10_000
    assert suffix == "png" or "services: tail latency" in target.read_text(encoding="utf-8")


@pytest.mark.parametrize("seeds", ["1", "2"])
def test_a_comparison_is_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str], seeds: str) -> None:
    assert run("compare", str(write_jobs(tmp_path / "jobs.csv")), "--seeds", seeds, "-s", "SR,HM", "-o", "html") == 0
    page = capsys.readouterr().out
    assert page.startswith("<!DOCTYPE html>")
    assert "cheapest Pareto-optimal strategy" in page
    assert "Strategies for jobs.csv" in page
    assert str(tmp_path) not in page
    assert ("95% interval over the seeds" in page) == (seeds == "2")
    assert ">nan" not in page.lower()


def test_a_page_tells_rates_below_a_cent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They were $0.00 there."""
    small = tmp_path / "small.csv"
    small.write_text("submit,duration,cores,memory\n0,6000,2,0.4\n7000,6000,2,0.4\n14000,6000,2,0.4\n")
    market = ["--provider", "aws", "--family", "t4g.nano", "--vcpus", "2"]
    assert run("compare", str(small), "--seeds", "1", "-s", "SR", *market, "-o", "html") == 0
    shown = capsys.readouterr().out
    assert "$0.00 " not in shown
    assert "$0.0049 an hour of work" in shown


def test_only_services_and_no_queue(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs = tmp_path / "jobs.csv"
    jobs.write_text(JOBS + "0,100,2,4,service\n1,100,2,4,service\n")
    assert run("simulate", str(jobs), "-s", "OdF") == 0
    assert "services, tail x isolation" in capsys.readouterr().out


def test_a_job_no_type_holds_is_refused_and_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs = tmp_path / "jobs.csv"
    jobs.write_text(JOBS + "0,100,2,4,batch\n1,100,1,4000,batch\n")
    assert run("simulate", str(jobs), "-s", "OdM") == 9
    assert "job 1, counted from 0 (1 vCPU, 4000 GiB) fits no type" in capsys.readouterr().err
    assert run("simulate", str(jobs), "-s", "OdM", "--drop-unplaceable") == 0
    assert "OdM: 1 job left out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("scenario:unknown",), "is not a scenario"),
        (("missing.csv",), "missing.csv"),
        (("scenario:static", "-s", "XX"), "there is no strategy"),
        (("scenario:static", "--cloud-model", "mars"), "mars"),
        (("scenario:static", "--provider", "ibm"), "must be one of"),
        (("scenario:static", "--price-ratio", "0"), "write one from"),
        (("scenario:static", "--provider", "aws", "--family", "nope*"), "no priced type"),
        (("scenario:static", "--picture", "x.gif"), ".png"),
    ],
)
def test_what_cannot_be_simulated_is_refused(
    words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("simulate", *words) != 0
    assert message in capsys.readouterr().err


def test_a_demand_series_has_no_jobs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    series = tmp_path / "series.csv"
    series.write_text("timestamp,value\n" + "".join(f"2026-01-01 {h:02}:00:00,{5 + h}\n" for h in range(24)))
    assert run("simulate", str(series), "--format", "series", "--set", "series_value=cores") != 0
    assert "has no jobs" in capsys.readouterr().err
    plan = str(tmp_path / "plan.json")
    words = ("--format", "series", "--set", "series_value=cores", "--provider", "aws", "--out", plan)
    assert run("plan", str(series), *words) == 0
    assert run("simulate", plan) != 0
    assert "hint: plan a table of jobs and simulate that plan" in capsys.readouterr().err


def test_the_paper_cloud_is_the_default_and_a_market_brings_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs = str(write_jobs(tmp_path / "jobs.csv"))
    assert run("simulate", jobs, "-s", "SR") == 0
    assert f"{STUDY} · gcp us-central1, n1-standard-16" in " ".join(capsys.readouterr().out.split())
    assert run("simulate", jobs, "-s", "SR", "--provider", "aws") == 0
    assert "cloud measured-aws · aws us-east-1, c5a.4xlarge" in " ".join(capsys.readouterr().out.split())


def test_a_family_that_a_rule_keeps_out_is_refused_with_the_rule(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was said not to be priced, which it is."""
    jobs = str(write_jobs(tmp_path / "jobs.csv", apart=5))
    assert run("simulate", jobs, "-s", "SR", "--provider", "aws", "--family", "m6g") == 64
    assert "aws: no type of m6g is allowed: architecture arm64" in " ".join(capsys.readouterr().err.split())
    assert run("simulate", jobs, "-s", "SR", "--provider", "gcp", "--region", "europe-west4") == 64
    assert "no priced type of 16 vCPUs is allowed" in " ".join(capsys.readouterr().err.split())  # Arm alone
    assert run("simulate", jobs, "-s", "SR", "--provider", "aws", "--family", "m6g.4xlarge") == 0


@pytest.mark.usefixtures("coarse_steps")
@pytest.mark.parametrize("family", [(), ("--family", "m6*")])
def test_a_simulation_chooses_among_the_types_that_a_plan_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], family: tuple[str, ...]
) -> None:
    """It knew three families where a plan knows all current ones, and Graviton machines where a plan knows none."""
    path = tmp_path / "jobs.csv"
    path.write_text(JOBS + "".join(f"{i * 3600},7200,2,4,batch\n" for i in range(6)))
    jobs = str(path)
    assert run("plan", jobs, "--provider", "aws", *family, "-o", "json") == 0
    (planned,) = {line["instance_type"].split(".")[0] for line in json.loads(capsys.readouterr().out)["mix"]}
    assert run("simulate", jobs, "-s", "SR", "--provider", "aws", *family) == 0
    assert f"aws us-east-1, {planned}." in " ".join(capsys.readouterr().out.split())


def test_figures_that_no_strategy_has_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_jobs(tmp_path / "jobs.csv")
    path.write_text(path.read_text().replace("service", "batch"))
    assert run("compare", str(path), "--seeds", "1", "-s", "HF,OdM") == 0
    compared = capsys.readouterr().out
    assert "batch mean, %" in compared
    assert "tail" not in compared
    assert run("simulate", str(path), "-s", "HF,OdM") == 0
    simulated = capsys.readouterr().out
    assert "batch jobs, % of isolation" in simulated
    assert "services, tail" not in simulated


def test_a_headline_names_no_reserve_where_nothing_is_reserved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("simulate", str(write_jobs(tmp_path / "jobs.csv")), "-s", "OdF") == 0
    assert "nothing reserved" in capsys.readouterr().out.split("\n\n")[0]
