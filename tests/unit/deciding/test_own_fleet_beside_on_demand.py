"""What a plan says where its simulated fleet costs more than all on demand by arithmetic: what that costs alike."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from random import Random

import pytest
from simulating import jobs_of

from hcloud.cli.main import run
from hcloud.model.catalog import OfferKey, Payment, Provider, PurchaseOption
from hcloud.model.plans.plan import OWNED, Plan, Prediction
from hcloud.planning.strategies.own_fleet import PlannedFleet
from hcloud.readers.configuration.config import load_config
from hcloud.readers.prices.shipped.bundled import load_bundled
from hcloud.sim.outcomes.measure import Measures
from hcloud.store.plan_file import load_plan
from hcloud.usecases.deciding.own_fleet import IN_PARTS, on_whole_servers, open_planned, short_of
from hcloud.views.deciding.operation import fleet_line, simulated_lines

NOW = ("--now", "2026-11-20T12:00:00Z")
PAYS = Prediction("HC", {"m5.large": 1}, "measured-aws", 1, kept_qos=1.0, monthly=Decimal(0))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plan of a steady job beside short ones that come every quarter of an hour, for which starts cost much."""
    here = tmp_path_factory.mktemp("here")
    rows = ["steady,0,604800,8,32,batch"]
    rows += [f"s{n},{n * 900},60,4,16,batch" for n in range(672)]
    (here / "trace.csv").write_text("id,submit,duration,cores,memory,kind\n" + "\n".join(rows) + "\n", encoding="utf-8")
    words = ("--provider", "aws", "--family", "m5", "--out", str(here / "plan.json"))
    assert run(["plan", str(here / "trace.csv"), *words, *NOW]) == 0
    return here / "plan.json"


@pytest.fixture(scope="module")
def plan(made: Path) -> Plan:
    return load_plan(made)


def test_simulate_and_compare_say_what_a_bill_has_less_than_they(
    plan: Plan, made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert plan.prediction is not None
    for words in (("simulate", str(made)), ("compare", str(made), "--seeds", "1")):
        assert run([*words, "-s", "HC,OdM", *NOW]) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert f"HC, a month: about ${plan.prediction.covered:,.0f} less on a bill: the commitment covers" in said
        assert "OdM, a month" not in said


def test_all_on_demand_is_what_a_plan_without_a_reserve_costs_run_alike(plan: Plan, made: Path) -> None:
    """It was OdF, which keeps whole servers: a reserve that cost more than none was said to pay."""
    found = plan.prediction
    assert found is not None
    assert found.monthly is not None
    assert found.monthly > plan.now.monthly, "starts and idle instances cost"
    assert found.all_on_demand is not None
    [line] = simulated_lines(plan)
    assert f"(all on demand ${found.all_on_demand:,.0f})" in line
    assert found.covered is not None
    left = float(found.monthly - found.covered)
    assert left == pytest.approx(float(plan.after.monthly), abs=1), "a savings plan covers any size of the family"
    assert f"about ${found.covered:,.0f} less on a bill: the commitment covers other sizes" in line
    there = made.parent
    market = "markets: [{provider: aws, families: [m5], options: [on-demand]}]"
    (there / "rented.yaml").write_text(f"workload: {{path: trace.csv}}\n{market}\n", encoding="utf-8")
    assert run(["plan", "--file", str(there / "rented.yaml"), "--out", str(there / "rented.json"), *NOW]) == 0
    rented = load_plan(there / "rented.json").prediction
    assert rented is not None
    assert (rented.strategy, rented.monthly) == (found.strategy, found.all_on_demand)


def test_a_comparison_of_a_plan_has_its_two_figures(
    plan: Plan, made: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had the same fleet without its reserve under no strategy that the plan names."""
    found = plan.prediction
    assert found is not None
    monkeypatch.setenv("COLUMNS", "160")
    assert run(["compare", str(made), "--seeds", "1", *NOW]) == 0
    shown = {line[:20].strip(): line[20:].split() for line in capsys.readouterr().out.splitlines()}
    assert f"{found.monthly:,.2f}" in shown["HC"]
    assert f"{found.all_on_demand:,.2f}" in shown["HC all on demand"]


def test_a_plan_is_simulated_in_its_own_system_and_sizes(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without the plan's configuration Windows had no price, and servers of 32 vCPUs were run as two of 16."""
    there = made.parent
    market = "markets: [{provider: aws, families: [m5], vcpus: 32, os: windows}]"
    (there / "windows.yaml").write_text(f"workload: {{path: trace.csv}}\n{market}\n", encoding="utf-8")
    assert run(["plan", "--file", str(there / "windows.yaml"), "--out", str(there / "windows.json"), *NOW]) == 0
    found = load_plan(there / "windows.json").prediction
    assert found is not None
    assert found.monthly is not None
    capsys.readouterr()
    opened = open_planned(there / "windows.json", load_config(None), date(2026, 11, 20)).fleet
    assert opened.on_demand.instance_type == "m5.8xlarge"
    assert run(["simulate", str(there / "windows.json"), *NOW, "--json"]) == 0
    [hourly] = re.findall(r'"cost_per_ideal_hour": "?([0-9.]+)', capsys.readouterr().out)
    assert float(hourly) * 730 == pytest.approx(float(found.monthly), rel=1e-4)
    text = (there / "windows.json").read_text(encoding="utf-8")
    (there / "mixed.json").write_text(text.replace("aws: whole instances", "gcp: whole instances"), encoding="utf-8")
    mixed = open_planned(there / "mixed.json", load_config(None), date(2026, 11, 20)).fleet
    assert mixed.on_demand.instance_type == "m5.4xlarge", "another cloud's size is not that of AWS"


def test_the_simulated_line_says_what_it_leaves_out_and_how_long_it_is(plan: Plan) -> None:
    owned = tuple(replace(line, address=f"{OWNED}{line.address}") for line in plan.mix)
    beside = replace(plan, mix=owned, horizon_hours=24)
    assert "one seed, over the whole window)" in next(fleet_line(beside))
    assert "(all on demand without what is owned $" in next(simulated_lines(beside))
    assert "idle instances and jobs kept apart that slow each other: $" in next(simulated_lines(plan))
    less = replace(plan, prediction=replace(PAYS, monthly=plan.after.monthly - 1))
    assert next(simulated_lines(less)).startswith("by use alone and the forecast; the simulated bill, of")
    assert "whole window" not in next(fleet_line(plan))
    assert plan.prediction is not None
    assert "smaller machines" not in next(fleet_line(plan))
    parts = replace(plan, prediction=replace(plan.prediction, reserved={"m5.large": 4}))
    assert "(4 x m5.large reserved, the same vCPUs in smaller machines, one seed" in next(fleet_line(parts))


def test_a_batch_job_that_may_be_split_runs_in_parts_on_the_reserve(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A job of 8 vCPUs was rented a machine beside its reserve of two servers of 4: the plan was said not to pay."""
    trace, out = tmp_path / "trace.csv", tmp_path / "plan.json"
    trace.write_text("id,submit,duration,cores,memory,kind\na,0,2592000,8,32,batch\n", encoding="utf-8")
    words = ("--provider", "aws", "--family", "m5", "--vcpus", "4", "--divisible", "all")
    assert run(["plan", str(trace), *words, "--out", str(out), *NOW]) == 0
    plan = load_plan(out)
    assert plan.prediction is not None
    assert plan.prediction.monthly is not None
    assert float(plan.prediction.monthly) == pytest.approx(float(plan.after.monthly), rel=0.01)
    assert not [said for said in plan.warnings if "does not pay" in said]
    capsys.readouterr()
    assert run(["simulate", str(out), *NOW, "--json"]) == 0
    [hourly] = re.findall(r'"cost_per_ideal_hour": "?([0-9.]+)', capsys.readouterr().out)
    assert float(hourly) * 730 == pytest.approx(float(plan.prediction.monthly), rel=1e-4), "its own --divisible"


FAR = "times what the plan says by its use alone"


@pytest.mark.parametrize(
    ("above", "alike", "covered", "said"),
    [
        (-1, None, None, FAR),
        (1, 2, None, FAR),
        (1, 1, None, "this plan does not pay: simulated, it costs"),
        (3, 2, 1, "this plan does not pay: simulated, it costs"),
        (3, 2, 2, FAR),
        (1, None, None, FAR),
    ],
)
def test_a_plan_that_does_not_pay_is_a_warning(
    plan: Plan, above: int, alike: int | None, covered: int | None, said: str
) -> None:
    """Also not one whose commitment covers other sizes while its own machines are idle."""
    now = plan.now.monthly
    most = None if covered is None else Decimal(covered)
    found = replace(PAYS, monthly=now + above, all_on_demand=None if alike is None else now + alike, covered=most)
    told = list(short_of(plan, found, 0.9))
    assert len(told) == bool(said)
    assert all(said in one for one in told)


def test_a_fleet_that_rents_what_the_plan_pays_less_for_is_no_measure_of_it(plan: Plan) -> None:
    """A savings plan pays for half a machine, or spot for a whole one: simulated, both are rented on demand."""
    first = next(line for line in plan.mix if line.option.is_commitment)
    half = replace(first, count=first.count + Decimal("0.5"))
    spot = replace(first, option=PurchaseOption.SPOT, term_years=0, address=first.address.replace("reserved", "spot"))
    found = replace(PAYS, monthly=plan.now.monthly + 3, all_on_demand=plan.now.monthly + 2)
    for mix in ((half,), (*plan.mix, spot)):
        told = replace(plan, mix=mix, prediction=replace(PAYS, monthly=plan.after.monthly + 1))
        assert "which pays more for some machines than the plan does" in next(simulated_lines(told))
        assert list(short_of(replace(plan, mix=mix), found, 0.9)) == []
    assert len(list(short_of(plan, found, 0.9))) == 1


@pytest.mark.parametrize(("vcpus", "shared"), [(4, True), (16, False)])
def test_jobs_that_neighbours_slow_are_told_with_machines_that_have_none(plan: Plan, vcpus: int, shared: bool) -> None:
    """A service of 4 vCPUs restarted daily on a reserve of just that kept 43%, and 100% without neighbours."""
    line = replace(plan.mix[0], count=Decimal(3), vcpus=Decimal(3 * vcpus))
    (said,) = short_of(replace(plan, mix=(line,)), replace(PAYS, kept_qos=0.43, monthly=None), 0.9)
    assert ("machines of under 16 vCPUs share a server with other tenants" in said) == shared


def test_of_two_years_the_one_that_is_planned_for_is_simulated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The cost of a fleet was the mean over both years, of which the plan is made for the second."""
    trace, out = tmp_path / "trace.csv", tmp_path / "plan.json"
    rows = "".join(
        f"j{day}-{n},{86_400 * day},86000,16,64,batch\n" for day in range(728) for n in range(3 if day < 364 else 1)
    )
    trace.write_text(f"id,submit,duration,cores,memory,kind\n{rows}", encoding="utf-8")
    words = ("--provider", "aws", "--family", "m5", "--window", "728d")
    assert run(["plan", str(trace), *words, "--out", str(out), *NOW]) == 0
    plan = load_plan(out)
    assert plan.prediction is not None
    assert plan.prediction.monthly is not None
    assert float(plan.prediction.monthly) == pytest.approx(float(plan.after.monthly), rel=0.05)
    capsys.readouterr()
    assert run(["simulate", str(out), *NOW]) == 0
    assert "dollars and use are of the window: 364d" in capsys.readouterr().out


def test_a_job_that_no_reserved_server_holds_does_not_wait_for_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One in eight queued for ever, and the bill of the others was told as the plan's; what still leaves some in the
    queue tells none."""
    trace, out = tmp_path / "trace.csv", tmp_path / "plan.json"
    drawn = Random(3)
    rows = "".join(
        f"s{n},{n * 900 + drawn.randrange(300)},60,{drawn.choice([2, 4, 8])},16,batch\n" for n in range(1344)
    )
    trace.write_text(f"id,submit,duration,cores,memory,kind\na,0,1209600,2,8,service\n{rows}", encoding="utf-8")
    words = ("--provider", "aws", "--family", "m5a", "--family", "c5a")
    for left in (None, 3):
        if left is not None:
            monkeypatch.setattr(Measures, "still_queued", left)
        assert run(["plan", str(trace), *words, "--out", str(out), *NOW]) == 0
        found = load_plan(out).prediction
        assert found is not None
        assert max(found.reserved) == "m5a.large", "smaller than most jobs"
        assert (found.monthly is None) == bool(left)
        assert found.why_not == ("3 jobs would queue for its reserve for ever" if left else "")


@pytest.mark.parametrize(("cores", "size", "servers"), [(4, "m5.4xlarge", 14), (32, "m5.8xlarge", 7)])
def test_machines_larger_than_any_job_needs_are_simulated_as_several(cores: int, size: str, servers: int) -> None:
    """With a reserve of 64 vCPUs each small job that was moved rented as many: $9,400 for $5,800."""
    book = load_bundled(providers={Provider.AWS}, regions={"us-east-1"}, systems={"linux"})
    jobs, config = jobs_of([(0.0, 600.0, cores, 8.0, 0)]), load_config(None).config
    rented, large, mid, small = (
        OfferKey(Provider.AWS, "us-east-1", name, option, years, Payment.ALL if years else Payment.NONE)
        for name, option, years in (
            ("m5.16xlarge", PurchaseOption.ON_DEMAND, 0),
            ("m5.16xlarge", PurchaseOption.INSTANCE_SAVINGS_PLAN, 1),
            ("m5.8xlarge", PurchaseOption.INSTANCE_SAVINGS_PLAN, 1),
            ("m5.large", PurchaseOption.INSTANCE_SAVINGS_PLAN, 1),
        )
    )
    fleet = PlannedFleet(rented, large, 3, "HC", beside=((mid, 1), (small, 2)))
    found = on_whole_servers(fleet, jobs, book, config)
    assert found.reserved == {size: servers, "m5.large": 2}
    assert found.on_demand.instance_type == size
    assert found.notes == (IN_PARTS,), "its machines are not those of the plan, which is said"
    nothing = PlannedFleet(rented, None, 0, "HC")
    assert on_whole_servers(nothing, jobs, book, config).on_demand.instance_type == size
    sized = config.markets[0].model_copy(update={"vcpus": 64})
    asked = config.model_copy(update={"markets": (sized,)})
    assert on_whole_servers(fleet, jobs, book, asked) == fleet
    elsewhere = sized.model_copy(update={"provider": Provider.GCP})
    mixed = config.model_copy(update={"markets": (config.markets[0], elsewhere)})
    assert on_whole_servers(fleet, jobs, book, mixed) == found, "a size of Google's is none of AWS's"
