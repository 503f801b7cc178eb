"""A plan's own fleet simulated: on its screen, and by ``simulate`` and ``compare`` of the plan file."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from building import Built

from hcloud.cli.main import run
from hcloud.store.plan_file import load_plan

pytestmark = pytest.mark.usefixtures("coarse_steps")

NOW = ("--now", "2026-11-20T12:00:00Z")
MARKET = ("--family", "m6i", "--vcpus", "16")


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, built: Built, coarse_steps: None) -> Path:
    """A plan of a few long services and a burst of short jobs every hour, with its trace beside it; made once, by the
    hour whichever test asks first: a test's own mark is set up before that of its file."""

    def fill(directory: Path) -> None:
        monkeypatch.chdir(directory)
        write_plan()

    shutil.copytree(built("plan-to-simulate", fill), tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "plan.json"


def write_plan() -> None:
    """Trace and plan in the current directory."""
    rows = ["id,submit,duration,cores,memory,kind"]
    rows += [f"s{i},0,10800,8,16,service" for i in range(4)]
    rows += [f"b{h}-{i},{h * 3600 + 600 + 7 * i},900,2,4,batch" for h in range(3) for i in range(8)]
    Path("trace.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    assert run(["plan", "trace.csv", *MARKET, *NOW, "--out", "plan.json", "-q"]) == 0


def test_the_plans_screen_and_simulate_tell_the_same_of_its_fleet(
    made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = load_plan(made)
    found = plan.prediction
    assert found is not None
    assert found.reserved == {line.instance_type: int(line.count) for line in plan.purchases}
    servers = found.reserved["m6i.4xlarge"]
    assert found.kept_qos is not None
    capsys.readouterr()
    assert run(["plan", "trace.csv", *MARKET, *NOW]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    said = f"simulated as HC ({servers} x m6i.4xlarge reserved, one seed): {found.kept_qos:.1%} of jobs keep"
    assert said in shown
    assert found.monthly is not None
    assert f"wait p95 {found.wait_p95:,.0f} s" in shown
    assert run(["simulate", "plan.json", *NOW, "--json"]) == 0
    out, err = capsys.readouterr()
    [simulated] = json.loads(out)["strategies"]
    assert simulated["name"] == "HC"
    assert f"the plan's fleet: {servers} x m6i.4xlarge reserved, the rest rented, on" in err
    assert round(simulated["runs"][0]["kept_qos"], 6) == found.kept_qos
    [hourly] = re.findall(r'"cost_per_ideal_hour": "?([0-9.]+)', json.dumps(simulated))
    assert float(hourly) * 730 == pytest.approx(float(found.monthly), rel=1e-4)
    assert run(["compare", "plan.json", *NOW, "--seeds", "1", "-s", "HF,OdF"]) == 0
    table = capsys.readouterr().out
    [reserved] = [line.split() for line in table.splitlines() if line.startswith("reserved")]
    assert reserved[1:] == [str(servers), "0"]


def test_a_plan_is_only_simulated_on_the_trace_that_it_was_made_from(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert run(["simulate", str(made), *NOW, "--json"]) == 0, "the trace lies beside the plan"
    trace = tmp_path / "trace.csv"
    trace.write_text(trace.read_text(encoding="utf-8") + "late,10000,900,2,4,batch\n", encoding="utf-8")
    capsys.readouterr()
    assert run(["simulate", str(made), *NOW]) == 4
    assert "not the trace that plan.json was made from: it has changed" in capsys.readouterr().err
    trace.unlink()
    assert run(["compare", str(made), *NOW]) == 1
    assert "was made from trace.csv, which is missing" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    "market", [("--provider", "gcp", "--family", "n2"), ("--region", "eu-west-1", "--family", "m6i")]
)
@pytest.mark.usefixtures("made")
def test_a_plan_for_another_market_is_simulated_there(market: tuple[str, ...]) -> None:
    assert run(["plan", "trace.csv", *market, *NOW, "--out", "there.json", "-q"]) == 0
    assert run(["simulate", "there.json", *NOW, "--json"]) == 0


def test_what_the_plan_says_is_not_said_again(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for verb in ("simulate", "compare"):
        assert run([verb, "plan.json", "--provider", "gcp", "--pool", "3", *NOW]) == 64
        assert "--provider, --pool: the plan already sets that" in " ".join(capsys.readouterr().err.split())
    assert run(["simulate", "plan.json", "--format", "csv", *NOW]) == 64
    assert "error: --format: the plan already sets that" in capsys.readouterr().err


def test_an_audit_of_a_plans_fleet(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    for words, audited in ((["--audit"], True), ([], False)):
        assert run(["simulate", "plan.json", "--placement", "tarcil", *words, *NOW, "--json"]) == 0
        [one] = json.loads(capsys.readouterr().out)["strategies"]
        assert (one["runs"][0]["placement"]["audit"] is not None) is audited


def test_a_fleet_with_too_many_jobs_names_the_command_that_simulates_it(
    made: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HYC_OPERATION__OWN_FLEET_JOBS", "10")
    assert run(["plan", "trace.csv", *MARKET, *NOW]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "this fleet was not simulated: 28 jobs, over 10; 'hcloud simulate PLAN' does it" in shown
    rows = [f"{hour * 3600},600,16,16" for hour in range(25) for _ in range(20)]
    Path("bursts.csv").write_text("\n".join(["submit,duration,cores,memory", *rows]))
    for most, is_told in (("499", True), ("500", False)):
        monkeypatch.setenv("HYC_OPERATION__OWN_FLEET_JOBS", most)
        assert run(["plan", "bursts.csv", *MARKET, *NOW]) == 0
        shown = " ".join(capsys.readouterr().err.split())
        told = "up to 320.0 vCPUs are in use at once, 6.0 times the highest mean of 1h (53.3) that machines are counted"
        assert (told in shown) is is_told
    hides = "means of 1h, which machines are counted by, hide much of how use varies: commitments save less"
    for years, step, is_hidden in (("1y", "auto", False), ("3y", "auto", True), ("3y", "5min", True)):
        monkeypatch.setenv("HYC_PLANNING__STEP", step)
        assert run(["plan", "bursts.csv", *MARKET, *NOW, "--horizon", years]) == 0
        shown = " ".join(capsys.readouterr().err.split())
        assert ("set planning.step: 5min, with planning.horizon: 1y" in shown) is (hides in shown) is is_hidden, years


def test_every_size_that_a_plan_reserves_is_simulated_as_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = ["id,submit,duration,cores,memory,kind"]
    rows += [f"s{i},{i},259200,{cores},{4 * cores},service" for i, cores in enumerate((2, 8, 8, 8))]
    rows += [f"b{h},{h * 3600 + 600},900,2,4,batch" for h in range(72)]
    Path("trace.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    assert run(["plan", "trace.csv", "--provider", "aws", "--family", "m6i", *NOW, "--out", "plan.json", "-q"]) == 0
    plan = load_plan(Path("plan.json"))
    reserved = {line.instance_type: int(line.count) for line in plan.purchases}
    assert len(reserved) > 1
    capsys.readouterr()
    assert run(["simulate", "plan.json", *NOW, "--json", "--journal", "run.jsonl"]) == 0
    out, err = capsys.readouterr()
    [one] = json.loads(out)["strategies"][0]["runs"]
    assert one["reserved_servers"] == sum(reserved.values())
    hourly = sum(line.hourly for line in plan.purchases)
    assert float(one["reserved_cost"]) == pytest.approx(72 * float(hourly), abs=0.01)
    told = " ".join(err.split())
    assert all(f"{count} x {name}" in told for name, count in reserved.items())
    assert run(["explain", "--job", "s3", "run.jsonl"]) == 0
    assert "it ran on reserved server" in capsys.readouterr().out, "the small job does not break into a large server"
    assert run(["report", "commitments", "run.jsonl", "--provider", "aws", *NOW, "--json"]) == 0
    held = json.loads(capsys.readouterr().out)["commitments"]
    assert {one["instance_type"]: int(one["count"]) for one in held} == reserved
