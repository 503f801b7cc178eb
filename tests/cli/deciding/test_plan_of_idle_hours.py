"""``hcloud plan --util``: the ledger of what is paid for, the jobs that idle hours carry, and what is refused."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from building import Built
from harvesting import MONDAY, daily, util_csv
from jsonschema import Draft202012Validator

from hcloud.cli.main import run
from hcloud.harvest.results import ServicesBeside
from hcloud.model.workload import Jobs
from hcloud.planning.explanations.harvested import on_machines, warned_of
from hcloud.planning.forecasting.idle import IdleHours, IdleUse, LeftByServices, PlayedHours
from hcloud.planning.forecasting.window import demand_within, window_of
from hcloud.planning.settings import PlanSettings
from hcloud.readers.workloads.entry import read_workload
from hcloud.store.plan_file import load_plan, plan_schema
from hcloud.units import format_money
from hcloud.usecases.deciding.idle_plan import next_reserve
from hcloud.usecases.harvesting.idle import idle_hours
from hcloud.usecases.harvesting.opened import UseRequest
from hcloud.usecases.harvesting.planned import usual_jobs

NOW = ("--now", "2026-11-20T12:00:00Z")
DAYS, DAY = 8, 86_400
WORDS = ("plan", "trace.csv", "--family", "m5a", "--vcpus", "4", *NOW)
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory with some days of services and batch."""
    monkeypatch.chdir(tmp_path)
    write_pool()
    return tmp_path


def write_pool(days: int = DAYS) -> None:
    """A service that follows the day, one that nobody measured, and batch by day."""
    util_csv(Path("util.csv"), {"web": daily(days, mean=0.3, swing=0.25), "lab": daily(days)})
    rows = ["id,submit,duration,cores,memory,kind,app"]
    for day in range(days):
        at = MONDAY + day * DAY
        rows += [f"w{day},{at},{DAY},40,160,service,web", f"p{day},{at},{DAY},4,16,service,db"]
        rows += [f"b{day}-{n},{at + 600 * n},5400,1,2,batch,load" for n in range(120)]
    Path("trace.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, built: Built, capsys: Capture) -> Any:
    """The plan of that directory with its idle hours and for a cloud, beside its screen; made once."""

    def fill(directory: Path) -> None:
        monkeypatch.chdir(directory)
        write_pool()
        assert run([*WORDS, "--util", "util.csv", "--provider", "aws", "--cloud", "fake", "--out", "plan.json"]) == 0
        Path("screen").write_text(capsys.readouterr().out, encoding="utf-8")

    shutil.copytree(built("plan-of-idle-hours", fill), tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return json.loads(Path("plan.json").read_text(encoding="utf-8"))


def told(capsys: Capture, *words: str) -> Any:
    assert run([*WORDS, *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def refused(capsys: Capture, *words: str) -> tuple[int, str]:
    code = run([*WORDS, *words])
    return code, " ".join(capsys.readouterr().err.split())


def test_all_that_is_paid_for_is_accounted_for_and_what_is_replayed_was_planned(made: Any, capsys: Capture) -> None:
    plain = told(capsys)
    Draft202012Validator(plan_schema()).validate(made)
    assert "harvest" not in plain
    assert made["prediction"].get("covered") is None, "its idle machines are at work"
    found = {name: Decimal(value) if isinstance(value, str) and name != "jobs" and value.lstrip("-")[:1].isdigit()
             else value for name, value in made["harvest"].items()}  # fmt: skip
    parts = sum((found[name] for name in ("services", "batch", "carried", "reserve", "idle")), Decimal(0))
    assert abs(parts - found["paid"]) < Decimal("0.001")
    assert all(found[name] >= 0 for name in ("services", "batch", "carried", "reserve", "idle"))
    assert found["carried"] <= min(found["offered"], found["wanted"])
    assert found["carried"] <= found["played"] * Decimal("1.01"), "nothing is promised that play does not carry"
    assert 0 < found["played"] <= found["arithmetic"] * Decimal("1.01")
    assert found["played_ended"] >= found["carried_jobs"] > 0
    assert found["saved"] == Decimal(plain["after"]["monthly"]) - Decimal(made["after"]["monthly"]) > 0
    assert found["monthly_without"] == Decimal(plain["after"]["monthly"])
    (without,) = [a for a in made["alternatives"] if a["name"] == "without idle hours"]
    assert (without["total"], without["hourly"]) == (plain["after"]["total"], plain["after"]["hourly"])
    assert found["saved_p10"] <= found["saved_p50"] <= found["saved_p90"], "what is promised lies in its range"
    assert any(f"saves {format_money(found['saved_p50'])} a month in the median" in said for said in made["reasons"])
    assert found["played_seeds"] == 3
    assert (found["silent"], found["unmatched"]) == (["db"], ["lab"])
    assert plain["now"]["monthly"] == made["now"]["monthly"], "nothing is reserved there, so nothing is idle"

    jobs = read_workload(Path("trace.csv"))
    assert isinstance(jobs, Jobs)
    left = on_machines(load_plan(Path("plan.json")), jobs)
    assert isinstance(left, Jobs)
    assert len(jobs) - len(left) == found["carried_jobs"]
    work = [float(np.dot(j.cores, j.duration)) for j in (jobs, left)]
    carried = (work[0] - work[1]) / (DAYS * DAY) * 730
    assert carried == pytest.approx(float(found["carried"]), rel=0.03), "the whole days fill a week unevenly"
    assert run(["simulate", "plan.json", *NOW]) == 0
    assert f"{found['carried_jobs']} jobs that idle hours carry take no machine here" in capsys.readouterr().err


def test_a_plan_counts_on_the_jobs_that_end_in_idle_hours_in_most_runs() -> None:
    """And on no more work than ends there in the mean of the runs."""
    ended = np.array([[1, 1, 1, 0, 0], [1, 1, 0, 1, 0], [1, 0, 1, 1, 0]], np.bool_)
    usual, work = usual_jobs(ended, np.ones(5)), np.array([4.0, 1.0, 2.0, 3.0, 9.0])
    assert (usual[0], usual.sum(), usual[4]) == (True, 3, False)
    assert work[usual_jobs(ended, work)].sum() <= (ended @ work).mean()
    assert usual_jobs(ended[:1], work).tolist() == ended[0].tolist(), "of one run it is those that ended"
    assert not usual_jobs(np.zeros((3, 5), np.bool_), work).any()


@pytest.mark.usefixtures("made")
def test_the_forms_say_the_same_of_idle_hours(capsys: Capture) -> None:
    assert run(["page", "plan.json"]) == 0
    for form in (Path("screen").read_text(encoding="utf-8"), capsys.readouterr().out):
        out = " ".join(form.split())
        assert "idle hours of what is reserved carry" in out
        assert "by batch in the idle hours that it adds" in out


def test_a_plan_with_idle_hours_says_what_it_changes_in_a_cloud(made: Any) -> None:
    found = load_plan(Path("plan.json"))
    assert found.harvest is not None
    assert (str(found.harvest.carried), found.changes is not None) == (made["harvest"]["carried"], True)


def test_what_cannot_be_counted_on_is_refused_with_the_way_on(pool: Path, capsys: Capture) -> None:
    util_csv(Path("short.csv"), {"web": daily(6)})
    code, said = refused(capsys, "--util", "short.csv")
    assert (code, "6d of use; a plan counts on idle hours from a week on" in said) == (9, True)
    assert "leave out --util" in said
    util_csv(Path("percent.csv"), {"web": 100 * daily(8)})
    code, said = refused(capsys, "--util", "percent.csv")
    assert (code, "--harvest-set series_value=percent" in said) == (1, True)
    util_csv(Path("others.csv"), {"wep": 100 * daily(8), "x": 100 * daily(8)})
    code, said = refused(capsys, "--util", "others.csv", "--harvest-set", "series_value=percent")
    assert (code, "trace.csv ('web', 'db'); its tenants are 'wep', 'x'; did you mean wep?" in said) == (1, True)
    for words in (("--servers", "servers.csv"), ("--util", "util.csv", "--strategy", "HC")):
        assert refused(capsys, *words)[0] == 64


def write_days(batch: str, seconds: int, hours: int, at_a_time: int, days: int = DAYS) -> None:
    """Days of services by day for so many hours, beside batch of so many jobs at a time."""
    util_csv(Path("util.csv"), {"web": daily(days, mean=0.25, swing=0.1), "front": daily(days, mean=0.25, swing=0.1)})
    rows = ["id,submit,duration,cores,memory,kind,app"]
    for day in range(days):
        at, morning = MONDAY + day * DAY, MONDAY + day * DAY + 8 * 3600
        rows += [f"w{day},{at},{DAY},8,32,service,web"]
        rows += [f"f{day}-{n},{morning + 1},{hours * 3600},4,16,service,front" for n in range(8)]
        times = [morning + seconds * (n // at_a_time) for n in range(hours * 3600 // seconds * at_a_time)]
        rows += [f"b{day}-{n},{time},{batch}" for n, time in enumerate(times)]
    Path("trace.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")


@pytest.mark.slow
def test_more_is_reserved_where_batch_makes_the_idle_hours_of_more_pay(pool: Path, capsys: Capture) -> None:
    """Services by day keep a machine busy for 54 % of its term, and 58.8 % pay for it: an hour of batch is the rest."""
    write_days("3500,1,2,batch,load", 3600, 13, 6)
    made = told(capsys, "--vcpus", "8", "--util", "util.csv")
    found = made["harvest"]
    more = (Decimal(found["vcpus"]) - Decimal(found["vcpus_without"])) / 8
    assert more >= 1
    assert Decimal(found["saved"]) > 0
    assert Decimal(found["own_use"]) + Decimal(found["idle_use"]) >= Decimal(found["pays_from"])
    said = next(one for one in made["reasons"] if "more reserved pay" in one)
    assert said.startswith(f"{more:,.0f} m5a.2xlarge more reserved pay, because ")
    assert said.endswith(" of the idle hours of services on them carry batch")


@pytest.mark.slow
def test_a_reserve_that_pays_is_kept_though_less_would_look_cheaper(pool: Path, capsys: Capture) -> None:
    """Batch that was played on it finds no room on a smaller one, of which arithmetic knows nothing. Of the reserves
    that could be played, which cost 854 to 895 dollars a month, none is cheaper."""
    write_days("600,1,2,batch,load", 600, 13, 10, 7)
    made = told(capsys, "--util", "util.csv")
    found = made["harvest"]
    assert (int(Decimal(found["vcpus"])), Decimal(made["after"]["monthly"]) < 854) == (40, True)
    assert Decimal(found["vcpus"]) > Decimal(found["vcpus_without"])
    assert Decimal(found["saved"]) > 0
    assert Decimal(found["own_use"]) + Decimal(found["idle_use"]) < Decimal(found["pays_from"])
    assert any("with fewer reserved more batch would find no room" in one for one in made["reasons"])


def test_a_plan_says_what_play_found_of_services_and_what_histories_lack() -> None:
    none, by_length = np.zeros(1), np.zeros((3, 1))
    hours = IdleHours(none, by_length, by_length, none, none, none, none)
    of = hours, np.empty(0, np.int64), (0.3, 0.3), LeftByServices(4.0, none, by_length, none), "util.csv", 7, 2
    harmed = ServicesBeside(0, 2, 1, 1).harms, ServicesBeside(2, 1, 1, 1).harms, ServicesBeside(1, 1, 1, 1).harms
    assert harmed == (True, True, False)
    fine = IdleUse(*of, played=PlayedHours(vcpus=1.0, seeds=3))
    assert list(warned_of(fine)) == []
    services, gaps = warned_of(replace(fine, gaps=2, played=PlayedHours(vcpus=1.0, seeds=3, harmed=2)))
    assert services.startswith("in 2 of 3 plays more services waited for the reserve or ran on demand than without")
    assert gaps.startswith("2 servers of util.csv with gaps: ")


def test_reserves_are_tried_above_the_largest_or_beside_the_best() -> None:
    def after(**cost: int) -> int | None:
        return next_reserve({int(count[1:]): Decimal(dollars) for count, dollars in cost.items()})

    assert after(s0=9, s6=7, s10=5) == 12
    assert after(s0=9, s10=5, s12=8) == 11
    assert after(s0=9, s6=6, s10=5, s12=8) == 8
    assert after(s1=9, s2=5) == 3
    assert after(s0=4, s1=9, s2=9) is None
    assert after(s3=4) is None


def test_whole_jobs_run_only_where_a_server_has_room_for_them(pool: Path, capsys: Capture) -> None:
    """Beside a reserve of a third no machine of 4 vCPUs has three free; in pieces the same work finds room."""
    text = Path("trace.csv").read_text(encoding="utf-8")
    Path("trace.csv").write_text(text.replace(",1,2,batch", ",3,6,batch"), encoding="utf-8")
    code, said = refused(capsys, "--util", "util.csv")
    assert (code, "a server of 4 vCPUs has 1 free" in said, "--divisible all, if they can" in said) == (
        9, True, True,
    )  # fmt: skip
    assert Decimal(told(capsys, "--util", "util.csv", "--divisible", "all")["harvest"]["carried"]) > 0


def test_services_and_the_reserve_take_whole_vcpus_of_the_servers_that_are_planned(pool: Path) -> None:
    """Of 4 vCPUs one at most: fractions that hold no job were counted on."""
    ask = idle_hours(UseRequest("util.csv"))
    jobs = read_workload(Path("trace.csv"))
    whole = demand_within(jobs, 3600, window_of(jobs))
    for vcpus in (4, 16):
        left = ask(jobs, whole, PlanSettings(), float(vcpus)).left
        use = np.round(daily(DAYS, mean=0.3, swing=0.25), 4)
        free = np.maximum(vcpus - math.ceil(vcpus / 3) - np.ceil(vcpus * use - 1e-6), 0.0)
        services = np.array([40 / 44])  # nothing is known of the other ones: always busy
        assert left.free[0] * vcpus == pytest.approx(services * free.reshape(-1, 4).mean(axis=1)[: len(whole)])


def test_large_jobs_that_end_nowhere_take_no_room_from_small_ones(pool: Path, capsys: Capture) -> None:
    """Jobs of 2 vCPUs for the day find room for no hour of it, and hid what those of one use: the room is as without
    them, and the plan counts on most of what play carries (how much of it depends on what shares the reserve)."""

    def room() -> Any:
        jobs = read_workload(Path("trace.csv"))
        assert isinstance(jobs, Jobs)
        whole = demand_within(jobs, 3600, window_of(jobs))
        ask, splits = idle_hours(UseRequest("util.csv")), np.zeros(len(jobs), np.bool_)
        found = ask(jobs, whole, PlanSettings(), 4.0)
        return ask.hours(jobs, whole, splits, np.where(jobs.cores > 1, -1, found.lengths), found.left).share

    write_pool(14)
    alone = room()
    wide = [f"x{day}-{n},{MONDAY + day * DAY},{DAY},2,4,batch,wide" for day in range(14) for n in range(20)]
    with Path("trace.csv").open("a", encoding="utf-8") as trace:
        trace.write("\n".join(wide) + "\n")
    assert room() == pytest.approx(alone)
    found = told(capsys, "--util", "util.csv")["harvest"]
    assert Decimal(found["carried"]) > Decimal(found["played"]) * Decimal("0.8")


def test_without_memory_to_spare_the_plan_stays_as_it_was(pool: Path, capsys: Capture) -> None:
    from hcloud.readers.bundle import bundled

    text = (bundled("policies") / "harvest.yaml").read_text(encoding="utf-8")
    Path("own.yaml").write_text(text.replace("value: 0.3125", "value: 1"), encoding="utf-8")
    made = told(capsys, "--util", "util.csv", "--harvest-policy", "own.yaml")
    assert [Decimal(made["harvest"][name]) for name in ("carried", "saved")] == [Decimal(0), Decimal(0)]


def test_compare_keeps_the_reserve_and_takes_nothing_from_services(pool: Path, capsys: Capture) -> None:
    rows = ["id,submit,duration,cores,memory,kind,app"]
    for day in range(2):
        rows += [f"w{day}-{n},{MONDAY + day * DAY + 1},{DAY},8,32,service,web" for n in range(4)]
        rows += [f"b{day}-{n},{MONDAY + day * DAY + 9000 * n},5400,4,8,batch,load" for n in range(9)]
    Path("small.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    words = ("compare", "small.csv", "--provider", "aws", "-s", "HC", "-s", "OdM", "--seeds", "1", *NOW)
    assert run([*words, "--harvest", "on,off", "--util", "util.csv", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    made = {row["name"]: row for row in found["strategies"]}
    assert list(made) == ["HC, idle hours", "HC", "OdM, idle hours", "OdM"]
    assert made["OdM, idle hours"]["runs"][0].pop("idle_hours")["ended"] == 0
    same = [made[name]["runs"] for name in ("OdM, idle hours", "OdM")]
    assert same[0] == same[1], "nothing is reserved, so nothing is idle"
    with_idle, without = (made[name]["runs"][0] for name in ("HC, idle hours", "HC"))
    assert (with_idle["reserved_servers"], with_idle["reserved_cost"]) == (2, without["reserved_cost"])
    assert Decimal(with_idle["rented_cost"]) < Decimal(without["rented_cost"])
    assert with_idle["service_tail"]["count"] == without["service_tail"]["count"] == 8
    assert with_idle["service_tail"]["p95"] <= without["service_tail"]["p95"] * 1.01
    assert with_idle["queued_seconds"]["count"] <= without["queued_seconds"]["count"]
    idle = with_idle["idle_hours"]
    assert idle["batch_jobs"] == sum(idle[name] for name in ("ended", "no_class_had_room", "moved")) == 18
    assert (idle["ended"] > 0, idle["reserve_broken_longest_seconds"] <= idle["tick_seconds"] == 3) == (True, True)
    assert any(f"{idle['ended']} of 18 jobs of batch run in idle hours" in said for said in found["assumed"])
    left = 2 * 24 * 32 * np.maximum(1 - 1 / 3 - daily(DAYS, mean=0.3, swing=0.25), 0.0).mean()
    assert idle["vcpu_hours"] == pytest.approx(idle["ended"] * 4 * 1.5)
    assert idle["vcpu_hours"] < left
    assert "idle_hours" not in without
    for wrong in (("--harvest", "maybe", "--util", "util.csv"), ("--harvest", "on"), ("--util", "util.csv")):
        assert run([*words, *wrong]) == 64


def test_jobs_that_no_server_has_room_for_are_those_of_the_strategy(pool: Path, capsys: Capture) -> None:
    """Beside a reserve of 6 of its 16 vCPUs a server holds none of 11, and the run is the one without idle hours."""
    rows = ["id,submit,duration,cores,memory,kind,app", f"w,{MONDAY},{DAY},16,64,service,web"]
    rows += [f"b{n},{MONDAY + 9000 * n},5400,{(11, 4)[n == 8]},8,batch,load" for n in range(9)]
    Path("large.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    market = ("--provider", "aws", "-s", "HM", "--vcpus", "16")
    words = ("simulate", "large.csv", *market, "--harvest", "on", "--util", "util.csv", *NOW)
    found = []
    for more in ((), ("--divisible", "all")):
        assert run([*words, *more, "--json"]) == 0
        (made,) = json.loads(capsys.readouterr().out)["strategies"]
        found.append(made["runs"][0]["idle_hours"])
    asked = [idle["ended"] + idle["no_class_had_room"] + idle["moved"] for idle in found]
    assert ([idle["batch_jobs"] for idle in found], asked) == ([9, 9], [1, 9])
    assert (made["name"], found[0]["rounds"] >= 1) == ("HM, idle hours", True)
    assert run([*words, "--journal", "j.jsonl"]) == 64


@pytest.mark.parametrize("verb", ["compare", "simulate"])
def test_the_advice_on_a_history_is_the_users_own_command(verb: str, pool: Path, capsys: Capture) -> None:
    """It said to write fractions by hand."""
    util_csv(Path("percent.csv"), {"web": 100 * daily(8)})
    words = [verb, "trace.csv", "-s", "HC", "--window", "1d", "--harvest", "on", "--util", "percent.csv", *NOW]
    assert run(words) == 1
    command = capsys.readouterr().err.partition("read it with: hcloud ")[2].split()
    assert command == [*words, "--harvest-set", "series_value=percent"]
    assert run(command) == 0
