"""The reserve that keeps a share of jobs: sizes in fine steps, and what chance does to bisection."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from simulating import excerpt

from hcloud.readers.configuration.config import load_config
from hcloud.usecases.studies import sized
from hcloud.usecases.studies.simulate import strategies_named
from hcloud.usecases.studies.simulation import SimulationRequest, Study, open_study
from hcloud.usecases.workloads.sources import Flags, with_flags


def study_of(name: str) -> Study:
    return open_study(with_flags(load_config(None), Flags(workload=name)), SimulationRequest(), date(2026, 11, 23))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "pool", "widest"), [("local-40", 40, 12), ("tarcil-400", 400, 42 + 32)])
def test_sizes_grow_by_about_a_per_cent_in_the_shares_of_the_cluster(name: str, pool: int, widest: float) -> None:
    study = study_of(f"scenario:{name}")
    ladder = sized._Ladder.of(study, pool)
    assert ladder is not None
    usual = (pool - sum(b.servers for b in study.beside), *(b.servers for b in study.beside))
    assert ladder.servers[ladder.at(100)] == usual
    assert ladder.vcpus[ladder.at(100)] == ladder.usual
    assert ladder.servers[ladder.at(800)] == tuple(8 * n for n in usual)
    for level in range(10, 800):
        lower, upper = ladder.at(level), ladder.at(level + 1)
        assert all(a <= b for a, b in zip(ladder.servers[lower], ladder.servers[upper], strict=True))
        assert ladder.vcpus[upper] - ladder.vcpus[lower] <= widest  # one server, or a per cent and what it rounds to
        shares = [held / n for held, n in zip(ladder.servers[upper], usual, strict=True) if n >= 5]
        assert max(shares) - min(shares) < 0.25  # of five servers one is 0.2


@pytest.mark.slow
def test_the_least_size_holds_every_job() -> None:
    study = study_of("scenario:ec2-1000-high")
    memory = study.jobs.memory.copy()
    memory[0] = 200.0  # only cr1.8xlarge has as much
    study = replace(study, jobs=replace(study.jobs, memory=memory))
    ladder = sized._Ladder.of(study, 1000)
    assert ladder is not None
    names = [study.shop.types[study.shop.large].shape.name, *(b.instance_type for b in study.beside)]
    least = {name for name, n in zip(names, ladder.servers[ladder.at(1)], strict=True) if n}
    assert "cr1.8xlarge" in least


@pytest.mark.slow
@pytest.mark.parametrize(
    ("keeps", "least"),
    [
        (lambda level: level >= 42, 42),
        (lambda level: level >= 130, 130),
        (lambda level: level >= 42 and level != 45, 46),  # chance: just above it is not kept
        (lambda level: level == 100 or level >= 106, 106),
        (lambda level: False, None),
    ],
)
def test_a_size_counts_only_where_the_next_larger_ones_keep_the_share_too(
    monkeypatch: pytest.MonkeyPatch, keeps: object, least: int | None
) -> None:
    study = study_of("scenario:local-40")
    ladder = sized._Ladder.of(study, 40)
    (strategy,) = strategies_named(["SR"])
    monkeypatch.setattr(sized._Sizes, "_keeps", lambda self, level, share: keeps(level))  # type: ignore[operator]
    monkeypatch.setattr(sized._Sizes, "_told", lambda self, level: level)
    assert ladder is not None
    found: object = sized._Sizes([study], strategy, ladder).least(0.9)
    assert found == least


@pytest.mark.slow
def test_a_size_holds_the_pieces_of_every_job_at_once() -> None:
    """However small a share is asked for: a smaller reserve is no answer."""
    study, jobs = study_of("scenario:high-variability"), excerpt(40)
    wide = np.arange(len(jobs)) == 7
    jobs = replace(jobs, servers=np.where(wide, 12, 1).astype(np.int32), cores=np.where(wide, 12 * 16.0, jobs.cores))
    (strategy,) = strategies_named(["SR"])
    ladder = sized._Ladder.of(study, 16)
    assert ladder is not None
    found = sized._Sizes([replace(study, jobs=jobs)], strategy, ladder).least(0.0)
    assert found is not None
    assert found.servers == 12
