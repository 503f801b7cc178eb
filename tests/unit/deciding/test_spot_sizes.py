"""Spot machines of a plan hold the batch jobs that run on them, on the screen, on the page and in the export."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
import yaml
from builders import REGION, book, candidate, demand, rented, reserved, shape

from hcloud.cli.main import run
from hcloud.errors import EvidenceError
from hcloud.model.catalog import Provider, PurchaseOption
from hcloud.planning.decide import FleetDecision, Given, decide
from hcloud.planning.explanations.reasons import reasons
from hcloud.planning.fleets.candidates import Candidate
from hcloud.planning.forecasting.packing import RunningJobs
from hcloud.planning.settings import Market, PlanSettings
from hcloud.store.plan_file import load_plan

SETTINGS = PlanSettings(markets=(Market(Provider.AWS, (REGION,)),), spot_share_of_batch=1.0)
NAMES = {2: "m9.large", 4: "m9.xlarge", 8: "m9.2xlarge", 16: "m9.4xlarge"}
VCPUS = {name: vcpus for vcpus, name in NAMES.items()}


def size(vcpus: int, spot: str = "0.02") -> Candidate:
    """A size of one family at $0.05 a vCPU and hour, of which spot costs less."""
    name = NAMES[vcpus]
    made = candidate(name, "1", [reserved(name, str(Decimal("0.04") * vcpus))])
    hourly = rented(name, str(Decimal("0.05") * vcpus))
    cheap = rented(name, str(Decimal(spot) * vcpus), PurchaseOption.SPOT)
    return Candidate(shape(name, vcpus, 4 * vcpus), hourly, made.commitments, cheap, None)


def jobs(*cores: float, batch: bool = True) -> RunningJobs:
    """Jobs that run all day, none of which can be split."""
    count = len(cores)
    begin, end, memory = np.zeros(count), np.full(count, 86400.0), np.ones(count)
    kinds = np.full(count, batch)
    return RunningJobs(begin, end, np.array(cores, np.float64), memory, np.full(count, True), batch=kinds)


def decided(running: RunningJobs, settings: PlanSettings = SETTINGS, *sizes: Candidate) -> FleetDecision:
    series = demand([float(running.cores.sum())] * 24, memory_per_core=0.1)
    return decide(book(*(sizes or map(size, NAMES))), series, settings, (), Given(running))


def sizes_of(decision: FleetDecision) -> dict[str, int]:
    return {r.offer.key.instance_type: r.peak for r in decision.spot.rentals}


def test_jobs_of_one_size_run_on_machines_that_hold_them() -> None:
    decision = decided(jobs(8.0, 8.0, 8.0))
    assert sizes_of(decision) == {"m9.4xlarge": 1, "m9.2xlarge": 1}
    assert decision.spot.cost == Decimal("0.02") * 24 * 8760
    assert reasons(decision) == ("spot capacity serves all demand: nothing to reserve or rent on demand",)
    assert decision.method == "nothing reserved", "it was: on demand only"


def test_where_a_share_of_a_job_is_less_than_it_takes_the_machine_still_holds_it() -> None:
    assert sizes_of(decided(jobs(16.0), replace(SETTINGS, spot_share_of_batch=0.5))) == {"m9.4xlarge": 1}


@pytest.mark.parametrize("seed", range(12))
def test_every_batch_job_fits_a_size_that_is_named_and_every_size_that_is_named_holds_one(seed: int) -> None:
    chance = np.random.default_rng(seed)
    cores = [float(c) for c in chance.choice([1, 2, 3, 4, 6, 8, 12, 16], size=6)]
    decision = decided(jobs(*cores), replace(SETTINGS, spot_share_of_batch=float(chance.choice([0.3, 0.6, 1.0]))))
    named = [VCPUS[name] for name in sizes_of(decision)]
    assert max(cores) <= max(named)
    assert min(cores) <= min(named)


def test_services_do_not_say_how_large_spot_machines_are() -> None:
    running = jobs(16.0, 2.0)
    running.batch[0] = False  # type: ignore[index]
    series = replace(demand([18.0] * 24, memory_per_core=0.1), batch_cores=np.full(24, 2.0))
    decision = decide(book(*map(size, NAMES)), series, SETTINGS, (), Given(running))
    assert sizes_of(decision) == {"m9.large": 1}


def test_where_no_size_with_a_spot_price_holds_a_job_that_is_said() -> None:
    large = replace(size(16), spot=None)
    with pytest.raises(EvidenceError, match="no size with a spot price in this region holds the largest batch job"):
        decided(jobs(12.0), SETTINGS, size(2), size(4), size(8), large)


@pytest.mark.slow
def test_a_plan_with_spot_names_sizes_that_hold_the_jobs_and_says_what_is_spot(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"b{day},{day * 86400},80000,16,64,batch" for day in range(28)]
    trace, config, out = tmp_path / "t.csv", tmp_path / "c.yaml", tmp_path / "p.json"
    header = "id,submit,duration,cores,memory,kind"
    trace.write_text("\n".join([header, "s,0,2419200,4,16,service", *rows]) + "\n", encoding="utf-8")
    config.write_text(
        "workload: {path: t.csv}\n"
        "markets: [{provider: aws, regions: [us-east-1], families: [m5a, m6i]}]\n"
        "planning: {spot_share_of_batch: 1}\n",
        encoding="utf-8",
    )
    assert run(["plan", "-f", str(config), "--now", "2026-10-01", "--out", str(out)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "the simulation rents on demand what the plan gives to spot" in told
    assert "need a machine as large as" not in told
    plan = load_plan(out)
    assert {m.instance_type for m in plan.mix if m.option is PurchaseOption.SPOT} == {"m6i.4xlarge"}
    assert run(["export", "karpenter", str(out)]) == 0
    pools = {p["metadata"]["name"]: p for p in yaml.safe_load_all(capsys.readouterr().out) if p}
    types = pools["hcloud-spot"]["spec"]["template"]["spec"]["requirements"][0]
    assert types["values"] == ["m6i.4xlarge"]
    page = tmp_path / "p.html"
    assert run(["page", str(out), "--out", str(page)]) == 0
    assert "renting the rest as spot" in page.read_text(encoding="utf-8")
