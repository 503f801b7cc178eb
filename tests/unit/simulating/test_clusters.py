"""Scenarios on clusters: servers as the sources count them, jobs that a load stretches, speeds without one order."""

from __future__ import annotations

import copy
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hcloud.cli.completing import SCENARIOS
from hcloud.errors import InputError, UsageError
from hcloud.model.running.cluster import ClusterBook
from hcloud.model.workload import JobKind
from hcloud.readers.bundle import bundled
from hcloud.readers.clouds import CLUSTERS, load_cloud
from hcloud.readers.clusters import load_clusters, parse_clusters
from hcloud.readers.configuration.config import load_config
from hcloud.readers.prices.shipped.bundled import load_bundled
from hcloud.readers.safe_yaml import load_yaml
from hcloud.readers.strategies import load_strategy
from hcloud.sim.outcomes.measure import measure
from hcloud.sim.run import run
from hcloud.sim.setup.clustered.cluster_jobs import Applications
from hcloud.sim.setup.clustered.clusters import OWN, ClusterScenario, cluster_scenario, cluster_shop
from hcloud.sim.setup.clustered.recipes import RECIPES
from hcloud.usecases.studies.simulation import SimulationRequest, open_study, setting_for, tasks_for
from hcloud.usecases.workloads.scenarios import SCENARIO_NAMES, scenario_jobs
from hcloud.usecases.workloads.sources import Flags, with_flags

LARGE = "fleet-10000"
SMALL = [name for name, recipe in RECIPES.items() if name != LARGE and recipe.queries is None]
"""Those with queries: test_queries has them."""


@pytest.fixture(scope="module")
def book() -> ClusterBook:
    return load_clusters()


def made(book: ClusterBook, name: str, seed: int = 1, load: float | None = None) -> ClusterScenario:
    return cluster_scenario(name, book.clusters[RECIPES[name].cluster], load_cloud(CLUSTERS), seed, load)


@pytest.mark.parametrize(
    ("name", "servers", "vcpus", "types"),
    [
        ("local-40", 40, 178, 10),
        ("ec2-1000", 1000, 7355, 14),
        ("tarcil-110", 100, 800, 1),
        ("tarcil-110-mixed", 100, 665, 9),
        ("tarcil-400", 400, 4176, 10),
        ("fleet-10000", 10_000, 80_000, 3),
    ],
)
def test_clusters_have_what_the_sources_count(
    name: str, servers: int, vcpus: int, types: int, book: ClusterBook
) -> None:
    """No counts of the ten types of tarcil-400 give its 4,178 cores: they are multiples of 4."""
    cluster = book.clusters[name]
    assert (cluster.servers, cluster.vcpus, len(cluster.types)) == (servers, vcpus, types)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 77])
@pytest.mark.parametrize("name", SMALL)
def test_stated_figures_hold(name: str, seed: int, book: ClusterBook) -> None:
    found = made(book, name, seed)
    assert [check for check in found.checks if not check.holds] == []
    assert len(found.checks) >= 5
    jobs = found.jobs
    assert (np.diff(jobs.submit) >= 0).all()
    assert jobs.duration.min() > 0
    widest = found.cluster.largest
    assert jobs.cores.max() <= widest.vcpus
    assert (jobs.memory <= jobs.cores * found.cluster.gib_per_vcpu + 1e-9).all()


@pytest.mark.slow
def test_the_fleet_is_a_million_tasks_at_the_same_bits(book: ClusterBook) -> None:
    found = made(book, LARGE)
    assert len(found.jobs) == 1_000_000
    assert [check for check in found.checks if not check.holds] == []
    busy = float(found.jobs.duration @ found.jobs.cores) / (found.jobs.submit[-1] - found.jobs.submit[0]) / 80_000
    assert busy == pytest.approx(0.8, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["local-40-phases", "ec2-1000-oversubscribed", "tarcil-400"])
def test_same_seed_same_bits(name: str, book: ClusterBook) -> None:
    first, again, other = made(book, name, 5), made(book, name, 5), made(book, name, 6)
    for column in ("submit", "duration", "cores", "memory", "kind", "app"):
        assert getattr(first.jobs, column).tobytes() == getattr(again.jobs, column).tobytes()
    for table in ("platform_speeds", "platform_row", "causes", "tolerates"):
        assert getattr(first, table).tobytes() == getattr(again, table).tobytes()
    assert first.jobs.duration.tobytes() != other.jobs.duration.tobytes()
    assert first.platform_speeds.tobytes() != other.platform_speeds.tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["local-40", "tarcil-110-durations", "tarcil-400"])
def test_a_load_changes_how_long_jobs_run_and_nothing_else(name: str, book: ClusterBook) -> None:
    low, high = made(book, name, load=0.3), made(book, name, load=0.9)
    for column in ("submit", "cores", "memory", "kind", "app"):
        assert getattr(low.jobs, column).tobytes() == getattr(high.jobs, column).tobytes()
    assert low.platform_speeds.tobytes() == high.platform_speeds.tobytes()
    assert (low.jobs.duration <= high.jobs.duration).all()
    assert next(c.got for c in high.checks if c.figure.startswith("vCPUs needed")) == pytest.approx(0.9, abs=0.01)
    assert low.jobs.provenance.digest != high.jobs.provenance.digest


def test_a_load_that_jobs_cannot_have_is_refused(book: ClusterBook) -> None:
    with pytest.raises(UsageError, match="cannot need that much of 178 vCPUs") as refused:
        made(book, "local-40", load=1.1)
    assert refused.value.hint == "a load from 0.07 to 1 is possible"
    with pytest.raises(UsageError, match="cannot need that much"):
        made(book, "local-40", load=0.01)
    assert made(book, "local-40", load=1.0).load == 1.0


@pytest.mark.parametrize("name", ["local-40", "ec2-1000", "tarcil-400"])
def test_types_have_no_one_order_of_speed(name: str, book: ClusterBook) -> None:
    found = made(book, name)
    speeds = found.platform_speeds
    assert speeds.shape == (len(found.jobs.apps), len(found.types))
    assert (speeds.max(axis=1) == 1.0).all()
    assert speeds.min() >= 0.85 / 1.15
    best = np.bincount(speeds.argmax(axis=1), minlength=len(found.types))
    assert best.min() > 0
    assert best.max() < 0.4 * best.sum()
    assert len(found.platform_row) == len(found.jobs)
    assert found.platform_row.max() < len(speeds)


def test_speeds_in_the_order_of_a_shop(book: ClusterBook) -> None:
    found = made(book, "local-40")
    turned = found.speeds_of(found.types[::-1])
    assert (turned == found.platform_speeds[:, ::-1]).all()
    assert turned.flags.c_contiguous
    with pytest.raises(UsageError, match="no speed is known of m5"):
        found.speeds_of(["X5670", "m5"])


def test_jobs_carry_what_they_cause_and_tolerate(book: ClusterBook) -> None:
    paragon, tarcil = made(book, "local-40"), made(book, "tarcil-400")
    assert paragon.jobs.vectors[paragon.jobs.apps[3]] == tuple(paragon.causes[3].tolist())
    for found in (paragon, tarcil):
        for table in (found.causes, found.tolerates):
            assert table.min() >= 0
            assert table.max() <= 99
    assert (paragon.tolerates != 99 - paragon.causes).mean() > 0.8
    assert (tarcil.tolerates == 99 - tarcil.causes).all()


@pytest.mark.slow
def test_arrivals_are_those_of_the_texts(book: ClusterBook) -> None:
    assert set(np.diff(made(book, "local-40").jobs.submit)) == {10.0}
    gaps = np.diff(made(book, "local-40-medium").jobs.submit)
    assert 0.8 < gaps.std() < 1.2
    bell = made(book, "local-40-bell").jobs.submit
    assert bell[-1] <= 1770
    assert np.mean(np.abs(bell - np.median(bell)) < 300) == pytest.approx(0.68, abs=0.1)
    burst = made(book, "ec2-1000-oversubscribed").jobs.submit
    assert len(burst) == 8500
    assert np.count_nonzero((burst >= 3749) & (burst <= 3849)) == pytest.approx(1101, abs=1)
    once = made(book, "ec2-1000").jobs.app[:426]
    assert len(set(once.tolist())) == 426


def test_the_middle_phase_presses_on_memory(book: ClusterBook) -> None:
    recipe, found = RECIPES["local-40-phases"], made(book, "local-40-phases")
    pressure = Applications.drawn(recipe, load_cloud(CLUSTERS), 1).memory_pressure[found.jobs.app]
    thirds = [float(part.mean()) for part in np.array_split(pressure, 3)]
    assert thirds[1] > 1.5 * max(thirds[0], thirds[2])
    assert abs(thirds[0] - thirds[2]) < 5


def test_servers_of_ones_own_count_by_vcpu_and_gib(book: ClusterBook) -> None:
    shop, beside = cluster_shop(book.clusters["local-40"], None, book.price)
    large = shop.types[shop.large]
    assert (large.shape.name, large.shape.vcpus, shop.reserved.key.region) == ("X5670", Decimal(12), OWN)
    assert shop.reserved.effective_hourly == Decimal("0.0218116") * 12 + Decimal("0.00292353") * 48
    assert sum(b.servers for b in beside) == 38
    assert all(b.reserved.effective_hourly > 0 for b in beside)
    assert [t.shape.vcpus for t in shop.types] == sorted(t.shape.vcpus for t in shop.types)


def test_servers_that_are_sold_have_the_price_of_the_book(book: ClusterBook) -> None:
    cluster = book.clusters[LARGE]
    assert cluster.sold_by is not None
    prices = load_bundled(providers={cluster.sold_by[0]}, regions={cluster.sold_by[1]})
    shop, beside = cluster_shop(cluster, prices, book.price)
    assert shop.reserved.key.region == "us-east-1"
    assert {t.on_demand.hourly for t in shop.types} == {Decimal("0.384"), Decimal("0.3456"), Decimal("0.4032")}
    assert all(b.reserved.key.term_years == 1 for b in beside)


def test_every_scenario_is_offered_and_found() -> None:
    assert tuple(f"scenario:{name}" for name in SCENARIO_NAMES) == SCENARIOS
    page = (Path(__file__).parents[3] / "docs" / "reference" / "scenarios.md").read_text(encoding="utf-8")
    assert [name for name in SCENARIO_NAMES if f"`{name}`" not in page] == []
    assert len(scenario_jobs("local-40", 3)) == 178
    with pytest.raises(UsageError, match="did you mean tarcil-400"):
        scenario_jobs("tarcil-40", 3)


Change = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda d: d["capacity"]["vcpu_hourly"].update(value="0"), "capacity.vcpu_hourly.value: '0'"),
        (lambda d: d["capacity"]["vcpu_hourly"].update(value=0.02), "capacity.vcpu_hourly.value: 0.02"),
        (lambda d: d["capacity"]["gib_hourly"].update(date="soon"), "capacity.gib_hourly.date: 'soon'"),
        (lambda d: d["capacity"]["gib_hourly"].pop("why"), "capacity.gib_hourly.why: missing"),
        (lambda d: d["clusters"]["local-40"].update(types={}), "clusters.local-40.types: {}"),
        (lambda d: d["clusters"]["local-40"]["types"]["MP"].update(vcpus=0), "types.MP.vcpus: 0"),
        (lambda d: d["clusters"]["local-40"]["types"]["MP"].update(gib="many"), "types.MP.gib: 'many'"),
        (lambda d: d["clusters"]["local-40"].update(origin="Q"), "clusters.local-40.origin: 'Q'"),
        (lambda d: d["clusters"]["fleet-10000"]["sold_by"].update(provider="ibm"), "sold_by.provider: 'ibm'"),
        (lambda d: d.update(clusters={}), "clusters: {}"),
    ],
)
def test_problems_of_the_document(change: Change, problem: str) -> None:
    text = (bundled("policies") / "clusters" / "clusters.yaml").read_text(encoding="utf-8")
    document = copy.deepcopy(load_yaml(text, "clusters"))
    assert isinstance(document, dict)
    change(document)
    with pytest.raises(InputError) as refused:
        parse_clusters(document, "clusters.yaml")
    assert problem in str(refused.value)


def test_a_run_goes_at_the_speeds_of_the_types_for_its_jobs() -> None:
    loaded = with_flags(load_config(None), Flags(workload="scenario:local-40"))
    study = open_study(loaded, SimulationRequest(), date(2026, 11, 23))
    setting, tasks = setting_for(study, load_strategy("SR")), tasks_for(study, load_strategy("SR"))
    cluster = study.cluster
    assert cluster is not None
    assert setting.speeds is not None
    for at, rentable in enumerate(setting.shop.types):
        column = cluster.types.index(rentable.shape.name)
        assert (setting.speeds[:, at] == cluster.platform_speeds[:, column]).all()
    assert tasks.platform is not None
    assert (tasks.platform == cluster.platform_row[tasks.job]).all()
    alike = run(replace(setting, speeds=None), replace(tasks, platform=None))
    assert measure(run(setting, tasks)).service.batch.p5 < measure(alike).service.batch.p5


@pytest.mark.parametrize("name", ["tarcil-110-residents", "tarcil-110-mixed-residents"])
def test_residents_are_there_from_the_start_to_the_end_and_tasks_come_by_twenty(name: str, book: ClusterBook) -> None:
    found = made(book, name)
    service = found.jobs.kind == int(JobKind.SERVICE)
    assert found.jobs.cores[service].sum() == pytest.approx(0.4 * found.cluster.vcpus, abs=4)
    assert set(found.jobs.submit[service]) == {0.0}
    assert found.jobs.duration[service].min() >= found.jobs.submit.max()
    tasks = found.jobs.app[~service].reshape(-1, 20)
    assert (tasks == tasks[:, :1]).all()
    assert (np.diff(found.jobs.submit[~service].reshape(-1, 20)) == 0).all()
    with pytest.raises(UsageError, match=r"held by residents alone"):
        made(book, name, load=0.4)


@pytest.mark.slow
def test_jobs_are_the_same_to_the_byte_however_many_processors_there_are(book: ClusterBook) -> None:
    """Products of long columns that a library shares among its threads are rounded by how many these are."""
    words = (
        "import hashlib; from hcloud.readers.clouds import CLUSTERS, load_cloud\n"
        "from hcloud.readers.clusters import load_clusters\n"
        "from hcloud.sim.setup.clustered.clusters import cluster_scenario\n"
        "cluster = load_clusters().clusters['tarcil-110']\n"
        "jobs = cluster_scenario('tarcil-110', cluster, load_cloud(CLUSTERS)).jobs\n"
        "print(hashlib.sha256(jobs.duration.tobytes()).hexdigest())"
    )
    assert os.environ["OPENBLAS_NUM_THREADS"] == "1", "as conftest says"
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    told = subprocess.run([sys.executable, "-c", words], env=environment, capture_output=True, text=True, check=True)
    here = made(book, "tarcil-110").jobs.duration
    assert told.stdout.strip() == hashlib.sha256(here.tobytes()).hexdigest()
    assert len(here) > 10_000, "so many that threads would share them"
