"""A batch job is judged by what it was expected to take over all that it took, in life as in reports of it."""

from __future__ import annotations

import pytest

from hcloud.control.operating.records import JobRecord
from hcloud.model.running.job import JobOrder, with_wait


@pytest.mark.parametrize(
    ("expect", "ran", "waited", "share"),
    [
        (50.0, 20.0, 20.0, 1.0),
        (50.0, 40.0, 60.0, 0.5),
        (10.0, 20.0, 0.0, 0.5),
        (10.0, 20.0, 20.0, 0.25),
        (26.0, 20.6, 0.0, 1.0),
    ],
)
def test_the_expected_seconds_over_those_from_submission_to_end(
    expect: float, ran: float, waited: float, share: float
) -> None:
    order = JobOrder("a", 100.0, ("true",), 1000, 1, expect=expect)
    performance = min(expect / ran, 1.0)
    job = JobRecord(order, 100.0, began=100.0 + waited, ended=100.0 + waited + ran, performance=performance)
    assert job.reached == pytest.approx(share)


def test_without_an_expectation_and_by_what_was_measured_elsewhere() -> None:
    assert with_wait(0.8, 10.0, 20.0) == pytest.approx(0.4), "a simulated job: what it would have taken alone"
    assert with_wait(0.8, 10.0, 10.0, 60.0) == pytest.approx(0.8), "never more than was measured"
    assert with_wait(1.0, 0.0, 0.0) == 1.0
