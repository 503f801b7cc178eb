"""What jobs need by their application's estimate: smaller sizes that keep the performance, and their vectors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulating import jobs_of

from hcloud.model.measured.profile import (
    RESOURCES,
    UNKNOWN_SCORE,
    Aspect,
    CompletedRow,
    Estimate,
    Measured,
    Metric,
    Predicted,
    Profile,
)
from hcloud.model.workload import JobKind, Jobs
from hcloud.planning.forecasting.needs import KEPT, ApplicationNeed, SizePoint, fit_jobs, need_of, size_needed

NOW = datetime(2026, 11, 20, tzinfo=UTC)


def profile(*, rising: bool = True) -> Profile:
    entry = Measured(10.0, 9.9, 10.1, 5, NOW, "a machine", "a run")
    metric = Metric("rate", "1/s", rising) if rising else Metric("completion time", "s", rising)
    return Profile(
        "web", JobKind.SERVICE if rising else JobKind.BATCH, metric, ("serve",), {Aspect.SCALE_UP: {"8c32g": entry}}
    )


def estimate(**aspects: Mapping[str, Predicted]) -> Estimate:
    rows = {Aspect(a): CompletedRow(Aspect(a), columns, (), 0.05) for a, columns in aspects.items()}
    return Estimate("web", rows, ())


def exact(value: float) -> Predicted:
    return Predicted(value, value, value, measured=True)


def need(*sizes: tuple[float, float, float]) -> ApplicationNeed:
    return ApplicationNeed("web", tuple(SizePoint(c, g, p, p, True) for c, g, p in sizes), None, {}, "a run")


def test_a_flat_curve_is_cut_to_where_it_becomes_flat() -> None:
    curve = need((1, 4, 10), (2, 8, 19.5), (4, 16, 20), (8, 32, 20.1))
    found = size_needed(curve, 8, 32)
    assert found is not None
    assert (found.vcpus, found.gib) == (2, 8)


def test_a_rising_curve_leaves_the_request() -> None:
    assert size_needed(need((1, 4, 10), (2, 8, 20), (4, 16, 40)), 4, 16) is None


def test_a_request_above_all_that_is_known_is_only_cut_where_the_curve_is_flat() -> None:
    assert size_needed(need((1, 4, 10), (2, 8, 20)), 16, 64) is None
    found = size_needed(need((1, 4, 10), (2, 8, 10.1)), 16, 64)
    assert found is not None
    assert found.vcpus == 1


def test_less_memory_than_any_known_size_leaves_the_request() -> None:
    assert size_needed(need((1, 4, 10), (2, 8, 10)), 2, 2) is None


def test_a_prediction_counts_with_the_worse_end_of_its_interval() -> None:
    unsure = {"1c4g": Predicted(9.9, 8.0, 11.0, False), "2c8g": exact(10.0)}
    assert size_needed(need_of(profile(), estimate(scale_up=unsure)), 2, 8) is None
    sure = {"1c4g": Predicted(9.9, 9.6, 10.2, False), "2c8g": exact(10.0)}
    found = size_needed(need_of(profile(), estimate(scale_up=sure)), 2, 8)
    assert found is not None
    assert not found.measured


def test_a_measurement_that_is_vaguer_than_the_loss_that_is_allowed_cuts_nothing() -> None:
    """Of 7.7 (6.3 to 9.1) on one vCPU and 8.3 (1.3 to 15.4) on two, one was taken."""
    vague = {"1c4g": Predicted(7.7, 6.3, 9.1, True), "2c8g": Predicted(8.3, 1.3, 15.4, True)}
    assert size_needed(need_of(profile(rising=False), estimate(scale_up=vague)), 2, 8) is None
    usual = {"1c4g": Predicted(10.0, 9.6, 10.4, True), "2c8g": exact(10.0)}
    for rising in (False, True):
        assert size_needed(need_of(profile(rising=rising), estimate(scale_up=usual)), 2, 8) is not None


def test_times_are_better_when_smaller() -> None:
    times = {"1c4g": exact(100.0), "2c8g": exact(51.0), "4c16g": exact(50.0)}
    found = size_needed(need_of(profile(rising=False), estimate(scale_up=times)), 4, 16)
    assert found is not None
    assert found.vcpus == 2


def test_a_latency_of_a_service_cuts_nothing() -> None:
    """On half the vCPUs it is as good under the load that it was measured with, and less load is borne."""
    latencies = {"1c4g": exact(0.095), "2c8g": exact(0.148)}
    service = need_of(replace(profile(rising=False), kind=JobKind.SERVICE), estimate(scale_up=latencies))
    assert size_needed(service, 2, 8) is None


def test_the_vector_is_what_is_borne_badly_or_caused_and_the_middle_where_nothing_is_known() -> None:
    rows = estimate(tolerated={"membw": exact(20.0), "llc": exact(100.0)}, caused={"membw": exact(30.0)})
    vector = need_of(profile(), rows).vector
    assert vector is not None
    assert dict(zip(RESOURCES, vector, strict=True))["membw"] == 80
    assert vector[RESOURCES.index("llc")] == 0
    assert vector[RESOURCES.index("disk")] == UNKNOWN_SCORE
    assert need_of(profile(), rows).errors[RESOURCES.index("disk")] == math.inf
    assert need_of(profile(), estimate()).vector is None


def test_what_was_measured_counts_where_the_estimate_abstains() -> None:
    entries = {"2c8g": 9.9, "8c32g": 10.0}
    made = {c: Measured(v, v, v, 5, NOW, "a machine", "a run") for c, v in entries.items()}
    known = replace(profile(), entries={Aspect.SCALE_UP: made})
    found = size_needed(need_of(known, estimate()), 8, 32)
    assert found is not None
    assert (found.vcpus, found.measured) == (2, True)


def jobs() -> Jobs:
    made = jobs_of([(0.0, 60.0, 8.0, 32.0, 1), (10.0, 60.0, 8.0, 32.0, 1), (20.0, 60.0, 2.0, 8.0, 0)])
    codes = np.array([0, 0, 1], np.int32)
    return Jobs(
        made.submit, made.duration, made.cores, made.memory, made.gpus, made.kind, codes, ("web", "etl"),
        made.qos, made.qos_classes, made.provenance,
    )  # fmt: skip


def test_jobs_of_known_applications_are_fitted_and_the_others_are_told() -> None:
    rows = {"2c8g": exact(10.0), "8c32g": exact(10.2)}
    known = need_of(profile(), estimate(scale_up=rows, tolerated={"membw": exact(20.0)}))
    fitted = fit_jobs(jobs(), [known])
    assert fitted.jobs.cores.tolist() == [2.0, 2.0, 2.0]
    assert fitted.jobs.memory.tolist() == [8.0, 8.0, 8.0]
    assert (fitted.profiled, fitted.unprofiled) == (2, ("etl",))
    assert fitted.jobs.vectors["web"][RESOURCES.index("membw")] == 80
    told = fitted.jobs.provenance.modelled[-1]
    assert told.column == "web"
    assert "2 from 8 to 2 vCPU (measured)" in told.rule
    assert "scale_up 8c32g, measured until 2026-11-20" in told.rule


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.integers(1, 32), st.floats(0.1, 100)), min_size=1, max_size=8, unique_by=lambda p: p[0]),
    st.integers(1, 64),
)
def test_a_size_never_exceeds_the_request_and_keeps_the_performance(curve: list[tuple[int, float]], asked: int) -> None:
    points = need(*((float(c), 4.0 * c, p) for c, p in sorted(curve)))
    found = size_needed(points, float(asked), 4.0 * asked)
    if found is None:
        return
    assert found.vcpus <= asked
    within = [p.performance for p in points.sizes if p.vcpus <= asked]
    assert found.performance >= KEPT * max(within)
    assert found.performance == pytest.approx(next(p for c, p in curve if c == found.vcpus))
