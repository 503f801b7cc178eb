"""What follows from an estimate: ranking, sizes, vectors; and the figures of held-out protocols."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from applications import performance, scores

from benchmarks.held_out import (
    HeldOutRow,
    Protocol,
    accuracy,
    as_probed,
    at_random,
    baselines,
    chosen,
    held_out_rows,
    new_rows,
    with_error_limit,
)
from hcloud.classify.classifier import EvidenceLimits, Options, train
from hcloud.classify.judgement import PerformanceTarget, ranking, size_for
from hcloud.model.measured.profile import Aspect, CompletedRow, Predicted

ANSWER = with_error_limit(Options(), float("inf"), float("inf"))


def row_of(aspect: Aspect, values: dict[str, float], margin: float = 0.0) -> CompletedRow:
    columns = {c: Predicted(v, v - margin, v + margin, measured=False) for c, v in values.items()}
    return CompletedRow(aspect, columns, (), 0.0)


def test_types_rank_by_performance_and_by_what_it_costs() -> None:
    row = row_of(Aspect.TYPES, {"small": 10.0, "big": 30.0, "odd": 99.0})
    prices = {"small": 1.0, "big": 4.0}
    assert [r.column for r in ranking(row, rising=True)] == ["odd", "big", "small"]
    assert [r.column for r in ranking(row, rising=False)] == ["small", "big", "odd"]
    assert [(r.column, r.merit) for r in ranking(row, True, prices)] == [("small", 10.0), ("big", 7.5)]
    with pytest.raises(ValueError, match="price of 0 for big"):
        ranking(row, True, {"big": 0})


def test_a_size_reaches_its_target() -> None:
    row = row_of(Aspect.SCALE_OUT, {"1": 10.0, "2": 18.0, "10": 50.0}, margin=5.0)
    assert size_for(row.columns, PerformanceTarget(15.0, rising=True)) == "2"
    assert size_for(row.columns, PerformanceTarget(15.0, rising=True, sure=True)) == "10"
    assert size_for(row.columns, PerformanceTarget(60.0, rising=True)) is None
    assert size_for(row.columns, PerformanceTarget(16.0, rising=False)) == "1"
    assert size_for(row.columns, PerformanceTarget(12.0, rising=False, sure=True)) is None


def test_a_choice_is_judged_by_true_cost() -> None:
    costs = np.array([4.0, 2.0, 3.0, 9.0])
    best = chosen(np.array([0.1, 0.2, 0.9, np.nan]), costs)
    assert (best.column, best.rank, best.regret) == (2, 2, 0.5)
    with pytest.raises(ValueError, match="no configuration"):
        chosen(np.full(4, np.nan), costs)


def test_baselines() -> None:
    others = np.array([[10.0, 2.5, 6.0], [100.0, 25.0, 60.0]])
    prices, costs = np.array([1.0, 0.5, 3.0]), np.array([1.0, 50.0, 15.0])
    found = baselines(others, prices, np.array([True, False, True]), costs)
    assert {name: choice.column for name, choice in found.items()} == {
        "cheapest that fits": 0,
        "mean of the others": 1,
        "exhaustive": 0,
    }
    assert found["mean of the others"].regret == 49.0
    assert found["exhaustive"].regret == 0.0


def test_a_held_out_group_has_not_been_seen() -> None:
    known = performance(1, np.random.default_rng(0)).known
    twins = replace(known, values=known.values.copy())
    twins.values[1] = twins.values[0]
    apart = Protocol(twins.apps, 2, at_random(np.random.default_rng(0)), replace(ANSWER, neighbours=99))
    together = replace(apart, groups=("both", "both", *twins.apps[2:]))
    for protocol, visible in ((apart, True), (together, False)):
        first = next(held_out_rows(twins, protocol))
        assert first.row is not None
        assert ("known001" in {n.app for n in first.row.neighbours}) == visible
        assert "known000" not in {n.app for n in first.row.neighbours}


def test_figures_are_of_held_out_cells_only() -> None:
    row = row_of(Aspect.TYPES, {"x": 11.0, "y": 20.0, "z": 33.0}, margin=2.0)
    row = replace(row, columns={**row.columns, "y": Predicted(20.0, 20.0, 20.0, measured=True)})
    held = HeldOutRow("a", np.array([10.0, 20.0, 30.0]), np.array([1], np.intp), row)
    found = accuracy([held, held._replace(row=None)], relative=True)
    assert (found.mean, found.max, found.p90) == pytest.approx((0.1, 0.1, 0.1))
    assert (found.abstained, found.coverage) == (0.5, 0.5)
    assert accuracy([held._replace(row=None)], relative=True).abstained == 1.0


def test_chosen_entries_begin_with_the_reference_and_can_be_repeated() -> None:
    truth = performance(2, np.random.default_rng(0))
    trained = train(truth.known)
    able = np.arange(10)
    drawn = [at_random(np.random.default_rng(7))(trained, able, 4).tolist() for _ in range(2)]
    assert drawn[0] == drawn[1]
    assert drawn[0][0] == 9
    assert len(set(drawn[0])) == 4
    probed = as_probed(trained, np.array([1, 2, 9], np.intp), 3).tolist()
    assert probed[0] == 9
    assert sorted(probed) == [1, 2, 9]
    plain = train(scores(1, np.random.default_rng(0)).known)
    assert len(as_probed(plain, able, 2)) == 2


@pytest.mark.slow
def test_asking_for_entries_beats_drawing_them() -> None:
    truth = performance(3, np.random.default_rng(1))
    trained = train(truth.known)
    drawn = Protocol(truth.new.apps, 2, at_random(np.random.default_rng(1)), ANSWER)
    probed = replace(drawn, choice=as_probed)
    errors = [accuracy(list(new_rows(trained, truth.new, p)), relative=True).mean for p in (drawn, probed)]
    assert errors[1] < errors[0]


def test_limits_can_be_lifted() -> None:
    assert ANSWER.limits == EvidenceLimits(relative_error=float("inf"), points_error=float("inf"))
