"""The matrix of an aspect: its order, its scales, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from applications import profile_of

from hcloud.classify.matrix import Matrix, matrix_of
from hcloud.model.measured.profile import RESOURCES, Aspect
from hcloud.units import natural


def test_rows_go_by_name_and_columns_by_number() -> None:
    profiles = [
        profile_of("b", Aspect.SCALE_OUT, {"10": 5.0, "2": 2.0, "1": 1.0}),
        profile_of("a", Aspect.SCALE_OUT, {"1": 3.0, "2": 4.0}),
        profile_of("c", Aspect.TYPES, {"m5.large": 1.0}),
    ]
    made = matrix_of(profiles, Aspect.SCALE_OUT)
    assert made.apps == ("a", "b")
    assert made.columns == ("1", "2", "10")
    assert np.array_equal(made.values, np.array([[3, 4, np.nan], [1, 2, 5]]), equal_nan=True)
    assert made.reference == "2"  # of the columns that both have the largest


def test_resources_keep_their_order() -> None:
    made = matrix_of([profile_of("a", Aspect.CAUSED, dict.fromkeys(reversed(RESOURCES), 50.0))], Aspect.CAUSED)
    assert made.columns == RESOURCES
    assert made.reference == ""
    assert (made.transformed() == 50).all()


def test_less_is_better_counts_as_the_inverse() -> None:
    rate = matrix_of([profile_of("a", Aspect.TYPES, {"x": 2.0, "y": 8.0})], Aspect.TYPES)
    times = matrix_of([profile_of("a", Aspect.TYPES, {"x": 4.0, "y": 1.0}, rising=False)], Aspect.TYPES)
    assert rate.transformed() == pytest.approx(times.transformed())
    assert rate.transformed()[0] == pytest.approx([np.log(0.25), 0.0])
    for made in (rate, times):
        assert made.scale(0).back(made.transformed()[0]) == pytest.approx(made.values[0])


def test_a_row_without_its_reference_cannot_be_compared() -> None:
    profiles = [profile_of("a", Aspect.TYPES, {"x": 2.0}), profile_of("b", Aspect.TYPES, {"x": 2.0, "y": 3.0})]
    made = replace(matrix_of(profiles, Aspect.TYPES), reference="y")
    assert np.isnan(made.transformed()[0]).all()
    assert made.without(["b"]).apps == ("a",)


@pytest.mark.parametrize(
    ("aspect", "value"), [(Aspect.TYPES, 0.0), (Aspect.TYPES, np.inf), (Aspect.CAUSED, 101.0), (Aspect.CAUSED, -1.0)]
)
def test_impossible_values_are_refused_by_name(aspect: Aspect, value: float) -> None:
    with pytest.raises(ValueError, match="of app7, cpu"):
        matrix_of([profile_of("app7", aspect, {"cpu": value})], aspect)


def test_shapes_and_names_must_fit() -> None:
    made = matrix_of([profile_of("a", Aspect.TYPES, {"x": 2.0})], Aspect.TYPES)
    with pytest.raises(ValueError, match="two profiles of 'a'"):
        matrix_of([profile_of("a", Aspect.TYPES, {"x": 2.0})] * 2, Aspect.TYPES)
    with pytest.raises(ValueError, match="not a column"):
        replace(made, reference="z")
    with pytest.raises(ValueError, match=r"rows and columns \(2, 1\), rising 1 values for 1 apps, 1 columns"):
        replace(made, values=np.ones((2, 1)))


def test_nothing_measured_is_an_empty_matrix() -> None:
    made = matrix_of([], Aspect.TYPES)
    assert isinstance(made, Matrix)
    assert made.transformed().shape == (0, 0)


def test_natural_order() -> None:
    names = ["10c4g", "2c8g", "2c4g", "c4.xlarge/10", "c4.xlarge/4"]
    assert sorted(names, key=natural) == ["c4.xlarge/4", "c4.xlarge/10", "2c4g", "2c8g", "10c4g"]
