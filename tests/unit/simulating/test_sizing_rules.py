"""How much jobs are given: what users ask for, what jobs need, and what a target takes by classified rows."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from simulating import paper_shop

from hcloud.cli.main import run
from hcloud.errors import EvidenceError, InputError, UsageError
from hcloud.model.target import GoalKind, JobTarget, TargetedSize
from hcloud.model.workload import Jobs
from hcloud.planning.forecasting.needs import ApplicationNeed, SizePoint
from hcloud.planning.forecasting.target_jobs import check_sized, fit_targets
from hcloud.readers.bundle import bundled
from hcloud.readers.clouds import load_cloud
from hcloud.readers.strategies import load_strategy, with_part
from hcloud.readers.workloads.entry import read_workload
from hcloud.sim.setup.fitting import Room
from hcloud.sim.setup.prepare import tasks_of
from hcloud.sim.setup.variation import parse_axis, varied_strategy
from hcloud.usecases.live.decide import live_rules
from hcloud.usecases.studies.simulation import Study, pool_for
from hcloud.usecases.workloads.workload import convert

LARGE = Room(16_000, 64 * 1024)
NEED = ApplicationNeed(
    "a", (SizePoint(1, 4, 10.0, 10.0, True), SizePoint(4, 16, 30.0, 30.0, True)), None, {}, "scale_up 1c, 4c",
    nodes={1: 10.0, 4: 36.0},
)  # fmt: skip
HEAD = "id,submit,duration,app,cores,target\n"


def read(folder: Path, rows: str) -> Jobs:
    path = folder / "jobs.csv"
    path.write_text(HEAD + rows, encoding="utf-8")
    found = read_workload(path)
    assert isinstance(found, Jobs)
    return found


def asks(jobs: Jobs, name: str, seed: int = 0, *changes: str) -> tuple[list[int], list[int]]:
    strategy = varied_strategy(load_strategy(name), [c for text in changes for c in parse_axis(text)])
    tasks = tasks_of(jobs, load_cloud("paper"), strategy, LARGE, seed)
    return tasks.ask.tolist(), tasks.need.tolist()


def test_a_deadline_that_cuts_runs_is_told_as_size_tells_it(tmp_path: Path) -> None:
    """In 5 min a server ends one run of 200 s, not one and a half; 334 servers were said to do 500."""
    runs = replace(NEED, sizes=(SizePoint(1, 4, 1 / 200, 1 / 200, True),), nodes={}, by_runs=True)
    for limit, work, said in (("5m", 500, True), ("10m", 500, False)):
        row = f"x,0,60,a,,deadline={limit} work={work} scale_out=linear\n"
        *_, told = fit_targets(read(tmp_path, row), [runs]).provenance.modelled
        assert ("if runs can be divided (whole ones do 334 of 500 in time)" in told.rule) == said
        *_, told = fit_targets(read(tmp_path, row), [replace(runs, by_runs=False)]).provenance.modelled
        assert "runs" not in told.rule


def test_a_target_takes_the_servers_of_the_walk(tmp_path: Path) -> None:
    jobs = fit_targets(read(tmp_path, "x,0,60,a,,qps=60 tail_ms=10\n"), [NEED])
    (_, sized) = jobs.targets
    assert sized.target == JobTarget(GoalKind.SERVICE, 60.0, 10.0)
    assert sorted(sized.parts) == [(1.0, 4.0), (4.0, 16.0), (4.0, 16.0)]
    assert (jobs.cores.tolist(), jobs.memory.tolist()) == ([9.0], [36.0])
    ask, need = asks(jobs, "SR+profiled")
    assert sorted(ask) == [1_000, 4_000, 4_000]
    assert need == [round(given / sized.reached) for given in ask]


def test_servers_that_a_service_gets_later_scale_out_as_it_was_measured(tmp_path: Path) -> None:
    """Four do 3.6 times the work of one, and nothing is known of a fifth: it adds nothing. Stated as linear, each does
    as much as the first."""
    rows = "x,0,60,a,,qps=60 tail_ms=10\ny,0,60,a,,qps=60 tail_ms=10 scale_out=linear\nz,0,60,b,2,\n"
    jobs = fit_targets(read(tmp_path, rows), [NEED])
    measured, linear = (one for one in jobs.targets if one.parts)
    three = float(np.exp(np.interp(np.log(3), np.log([1, 4]), np.log([10, 36])))) / 30
    assert measured.beside[:4] == pytest.approx([1.0, 0.9 / three, 36 / 50 / three, 36 / 60 / three])
    assert linear.beside == ()
    tasks = tasks_of(jobs, load_cloud("paper"), load_strategy("SR"), LARGE, 0)
    assert tasks.out is not None
    assert tasks.together is not None
    assert (tasks.together[tasks.out[tasks.job == 0], :2] == measured.beside[:2]).all()
    assert (tasks.together[tasks.out[tasks.job > 0]] == 1.0).all()


def test_of_a_target_that_nobody_reaches_the_best_is_named(tmp_path: Path) -> None:
    for qps, share in (("270", "40%"), ("900M", "less than 1%")):
        *_, told = fit_targets(read(tmp_path, f"x,0,60,a,,qps={qps} tail_ms=10\n"), [NEED]).provenance.modelled
        assert f"on 4 servers, the most at hand: {share} of the target; from" in told.rule
    *_, just = fit_targets(read(tmp_path, "x,0,60,a,,qps=90 tail_ms=10\n"), [NEED]).provenance.modelled
    assert "13 vCPUs on 4 servers; from" in just.rule


def test_a_deadline_is_how_long_the_job_takes(tmp_path: Path) -> None:
    jobs = fit_targets(read(tmp_path, "x,0,60,a,,deadline=100s work=900\ny,1,60,a,2,\n"), [NEED])
    assert jobs.duration.tolist() == [100.0, 60.0]
    assert jobs.cores.tolist() == [1.0, 2.0]


def test_rows_err_alike_for_all_jobs_of_an_application(tmp_path: Path) -> None:
    jobs = read(tmp_path, "x,0,60,a,4,\ny,1,60,a,2,\nz,2,60,b,2,\n")
    ask, need = asks(jobs, "SR+target", 0, "sizing.row_error=0.3", "sizing.headroom=0")
    factors = np.array(ask) / np.array(need)
    assert factors[0] == pytest.approx(factors[1], rel=1e-3)
    assert factors[0] != pytest.approx(factors[2], rel=1e-2)
    more, needed = asks(jobs, "SR+target", 0, "sizing.row_error=0", "sizing.headroom=0.5")
    assert more == [1.5 * one for one in needed]
    assert asks(jobs, "SR+profiled") == (need, need)


def test_users_ask_as_without_profiling(tmp_path: Path) -> None:
    jobs = read(tmp_path, "".join(f"{n},{n},60,a,4,\n" for n in range(200)))
    ask, need = asks(jobs, "SR+requested")
    assert ask == asks(jobs, "SR", 0, "information.rule=requested")[0]
    shares = [np.mean(np.array(ask) > need), np.mean(np.array(ask) < need)]
    assert shares == pytest.approx([0.7, 0.2], abs=0.1)


def test_a_reserve_for_requests_is_that_without_profiling(tmp_path: Path) -> None:
    jobs = read(tmp_path, "".join(f"{n},{n},600,a,8,\n" for n in range(50)))
    study = Study(jobs, load_cloud("paper"), paper_shop(), True, 0)
    pools = {name: pool_for(study, load_strategy(f"SR+{name}")) for name in ("requested", "profiled", "target")}
    assert pools["requested"] > pools["profiled"] == pools["target"] == pool_for(study, load_strategy("SR"))


def test_a_target_needs_to_know_the_application(tmp_path: Path) -> None:
    jobs = read(tmp_path, "x,0,60,b,,rate=0.9\ny,1,60,a,,none\n")
    with pytest.raises(EvidenceError, match=r"1 job \(the first: x, of b\) with a target and no profile"):
        check_sized(fit_targets(jobs, [NEED]))
    check_sized(fit_targets(read(tmp_path, "y,1,60,a,,none\n"), [NEED]))
    alone = ApplicationNeed("a", NEED.sizes, None, {}, "scale_up 1c, 4c")
    with pytest.raises(EvidenceError, match="how a scales out is not known"):
        fit_targets(read(tmp_path, "x,0,60,a,,qps=55 tail_ms=10\n"), [alone])


@pytest.mark.slow
def test_what_is_wrong_with_targets_of_a_trace_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError) as found:
        read(tmp_path, "x,0,60,a,,qps=1z tail_ms=10\ny,0,60,a,,deadline=2020-01-01 work=2\nz,0,60,a,4,rate=3\n")
    told = found.value.lines()
    assert told[0].endswith("4 problems in the targets")
    assert "column target: 1 row with both target and cores (which of them counts?" in told[1]
    assert "column target, 'qps=1z tail_ms=10': target.qps: '1z'" in told[2]
    assert told[3].endswith(
        "target.deadline: '2020-01-01' (the time from the submission on, for example 90s, 2h or 7d)"
    )


def test_targets_stay_with_their_jobs_in_any_order(tmp_path: Path) -> None:
    rows = ["x,0,60,a,,qps=55 tail_ms=10\n", "y,1,60,a,3,\n", "z,2,60,a,,rate=0.5\n"]
    there, back = (fit_targets(read(tmp_path, "".join(r)), [NEED]) for r in (rows, rows[::-1]))
    assert asks(there, "SR+target") == asks(back, "SR+target")


def test_targets_are_converted_with_their_jobs(tmp_path: Path) -> None:
    cells = (
        "qps=1.5M tail_ms=10 own_ms=2 per_run=3", "deadline=2h work=500 scale_out=linear", "rate=95%", "none", "",
    )  # fmt: skip
    jobs = read(tmp_path, "".join(f"{n},{n},60,a,{'' if cell else 2},{cell}\n" for n, cell in enumerate(cells)))
    target = tmp_path / "made.csv"
    convert(jobs, target)
    again = read_workload(target)
    assert isinstance(again, Jobs)
    assert again.targets == jobs.targets
    assert again.target is not None
    assert jobs.target is not None
    assert again.target.tolist() == jobs.target.tolist()
    assert (again.cores.tolist(), again.duration.tolist()) == (jobs.cores.tolist(), jobs.duration.tolist())


def test_a_live_controller_gives_jobs_what_they_ask_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["decide", "--strategy", "SR+target", "--pool", "2", "--plain"]) == 64
    assert "SR+target: a rule of sizing is for simulations" in capsys.readouterr().err
    assert run(["decide", "--strategy", "SR+autoscale", "--pool", "2", "--plain"]) == 64
    assert "--watching autoscale is for simulations; a live service runs on one server" in capsys.readouterr().err
    assert live_rules(load_strategy("SR+adjust-to-target"), 0).most_servers == 1
    text = (bundled("policies") / "watchings" / "reactive.yaml").read_text(encoding="utf-8")
    (tmp_path / "apart.yaml").write_text(text.replace("value: its-server", "value: empty-server"), encoding="utf-8")
    assert run(["decide", "--strategy", f"SR+{tmp_path / 'apart.yaml'}", "--pool", "2", "--plain"]) == 64
    assert "measured_on empty-server is for simulations" in capsys.readouterr().err


def test_a_target_without_parts_is_no_size() -> None:
    assert TargetedSize(JobTarget(GoalKind.NONE)).parts == ()


def test_a_sizing_is_stated_before_it_is_varied() -> None:
    with pytest.raises(UsageError, match="SR states no sizing"):
        varied_strategy(load_strategy("SR"), parse_axis("sizing.headroom=0.2"))
    with pytest.raises(UsageError, match="there is no sizing 'targe'; did you mean target"):
        with_part(load_strategy("SR"), "sizing", "targe")
    assert load_strategy("SR+paragon+target").name == "SR+paragon+target"


@pytest.mark.slow
def test_compare_tells_what_was_allocated_and_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    read(tmp_path, "".join(f"{n},{n},600,a,2,\n" for n in range(20)))
    words = ["compare", str(tmp_path / "jobs.csv"), "-s", "SR", "--sizing", "requested,target", "--seeds", "1"]
    assert run([*words, "--json"]) == 0
    requested, target = (s["runs"][0]["sizing"] for s in json.loads(capsys.readouterr().out)["strategies"])
    assert requested["allocated_vcpu_hours"] > target["allocated_vcpu_hours"]
    assert requested["used_vcpu_hours"] <= requested["allocated_vcpu_hours"]
    assert run(words) == 0
    said = capsys.readouterr().out
    assert "vCPU-hours allocated" in said
    assert "of them used, %" in said
