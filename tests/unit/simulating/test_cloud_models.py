"""Cloud models: the bundled ones load and say what the study says; hostile documents are refused with all problems."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from hcloud.errors import InputError, UsageError
from hcloud.model.running.cloud import CLOUD_KEYS, Quantiles, SizeModel
from hcloud.model.running.strategy import ParameterOrigin
from hcloud.readers.bundle import bundled
from hcloud.readers.clouds import cloud_names, load_cloud, parse_cloud, read_cloud
from hcloud.readers.safe_yaml import load_yaml
from hcloud.readers.strategies import STRATEGIES

NAMES = ("paper", "clusters", "measured-aws", "measured-azure", "measured-gcp")
SIZES = (1, 2, 4, 8, 16)


def document(name: str = "paper") -> dict[str, Any]:
    path = bundled("policies") / "clouds" / f"{name}.yaml"
    loaded = load_yaml(path.read_text(encoding="utf-8"), name)
    assert isinstance(loaded, dict)
    return loaded


def size(number: int, cloud: str = "paper") -> SizeModel:
    return next(s for s in load_cloud(cloud).sizes if s.vcpus == number)


def at(quantiles: Quantiles, probability: float) -> float:
    return float(np.interp(probability, quantiles.probabilities, quantiles.values))


def mean(quantiles: Quantiles) -> float:
    return float(np.trapezoid(quantiles.values, quantiles.probabilities))


def test_the_bundled_models_are_no_strategies() -> None:
    assert cloud_names() == NAMES
    assert not set(NAMES) & set(STRATEGIES)


@pytest.mark.parametrize("name", NAMES)
def test_every_number_has_origin_source_and_reason(name: str) -> None:
    model = load_cloud(name)
    assert (model.name, tuple(s.vcpus for s in model.sizes)) == (name, SIZES)
    for section, keys in CLOUD_KEYS.items():
        assert [p.key for p in model.sections[section]] == [k.name for k in keys]
        assert all(p.why and (p.source or p.origin is ParameterOrigin.OURS) for p in model.sections[section])
    for stated in document(name)["sizes"]:
        for which in ("spin_up", "spread", "slowness"):
            assert stated[which]["why"]
            assert stated[which].get("source") or stated[which]["origin"] == "C"


@pytest.mark.parametrize("name", NAMES)
def test_factors_are_about_one_and_starts_take_seconds_to_minutes(name: str) -> None:
    for model in load_cloud(name).sizes:
        assert mean(model.spread) == pytest.approx(1, abs=0.01)
        assert at(model.slowness, 0.5) == pytest.approx(1)
        assert mean(model.slowness) == pytest.approx(1, abs=0.04)
        assert 10 < at(model.spin_up, 0.5) < 60
        assert at(model.spin_up, 1) < 300


def test_only_the_study_takes_numbers_from_the_thesis() -> None:
    for name in NAMES:
        origins = {p.origin for parameters in load_cloud(name).sections.values() for p in parameters}
        assert (ParameterOrigin.PUBLISHED in origins) == (name in ("paper", "clusters"))


def test_external_load() -> None:
    model = load_cloud("paper")
    mean_load, amplitude = (model.number("neighbours", key) for key in ("mean_load", "amplitude"))
    assert [mean_load - amplitude, mean_load + amplitude] == pytest.approx([0.225, 0.275])
    assert model.number("neighbours", "server_vcpus") == max(s.vcpus for s in model.sizes)
    assert model.number("neighbours", "period_seconds") == pytest.approx(2 * math.pi * 300, abs=0.5)


def test_start_up_of_the_smallest_and_the_largest_size() -> None:
    smallest, largest = size(1).spin_up, size(16).spin_up
    assert (at(smallest, 0), at(smallest, 0.945)) == (12, 19)
    assert mean(smallest) == pytest.approx(21.2, abs=0.1)
    assert at(smallest, 0.95) == pytest.approx(103.6, abs=0.1) == pytest.approx(120, rel=0.15)
    assert mean(largest) == pytest.approx(14.7, abs=0.05)


def test_smaller_sizes_start_later_and_have_less_equal_neighbours() -> None:
    starts = [mean(s.spin_up) for s in load_cloud("paper").sizes]
    assert starts == sorted(starts, reverse=True)
    assert 10 <= np.mean(starts) <= 20
    widths = [at(s.spread, 0.95) - at(s.spread, 0.05) for s in load_cloud("paper").sizes]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] == 0


def test_neighbours_of_the_smallest_size_are_a_cut_off_normal() -> None:
    spread = size(1).spread
    assert (at(spread, 0), at(spread, 0.5), at(spread, 1)) == (0.9, 1, 1.1)
    draws = np.random.default_rng(1).normal(1, 0.05, 400_000)
    kept = draws[np.abs(draws - 1) <= 0.1]
    assert list(spread.values[1:-1]) == pytest.approx(np.quantile(kept, spread.probabilities[1:-1]).tolist(), abs=0.003)


@pytest.mark.parametrize("number", [2, 4, 8])
def test_sizes_in_between_are_linear_in_what_belongs_to_others(number: int) -> None:
    share = (16 - number) / 15
    least, most = np.array(size(16).spin_up.values), np.array(size(1).spin_up.values)
    assert size(number).spin_up.values == pytest.approx(list(least + share * (most - least)), abs=1e-4)
    assert size(number).spin_up.probabilities[1] == pytest.approx(1 - 0.03 - 0.025 * share)


def test_names_paths_and_guesses(tmp_path: Path) -> None:
    assert load_cloud("Paper") == load_cloud("paper")
    mine = tmp_path / "mine.yaml"
    mine.write_text(yaml.safe_dump({**document(), "name": "mine"}), encoding="utf-8")
    assert load_cloud(str(mine)).name == "mine"
    with pytest.raises(UsageError, match="there is no cloud model 'measured-awz'; did you mean measured-aws"):
        load_cloud("measured-awz")
    with pytest.raises(UsageError, match="no such cloud model file"):
        load_cloud("nowhere/x.yaml")


def test_what_is_no_text_is_an_input_error(tmp_path: Path) -> None:
    file = tmp_path / "latin.yaml"
    file.write_bytes("name: gr\u00fcn".encode("latin-1"))
    with pytest.raises(InputError, match="not UTF-8"):
        read_cloud(file)
    file.write_bytes(b"#" * (1024 * 1024 + 1))
    with pytest.raises(InputError, match="larger than any cloud model"):
        read_cloud(file)


@pytest.mark.parametrize("content", [None, [], "text", {"sections": 3, "sizes": 4}, {"format_version": "2.0"}])
def test_what_is_no_cloud_model_is_an_input_error(content: object) -> None:
    with pytest.raises(InputError):
        parse_cloud(content, "x.yaml")


Change = Callable[[dict[str, Any]], object]


def problems(change: Change) -> list[str]:
    broken = copy.deepcopy(document())
    change(broken)
    with pytest.raises(InputError) as caught:
        parse_cloud(broken, "mine.yaml")
    return [str(p) for p in caught.value.problems]


def first(which: str, **values: object) -> Change:
    return lambda d: d["sizes"][0][which].update(values)


def parameter(section: str, key: str, **values: object) -> Change:
    return lambda d: d["sections"][section][key].update(values)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            first("spin_up", probabilities=[0, 0.5, 0.5, 1]),
            "sizes[0].spin_up.probabilities: (0.0, 0.5, 0.5, 1.0)",
        ),
        (first("spin_up", probabilities=[0, 0.5, 0.6, 0.9]), "must rise strictly from 0 to 1"),
        (first("spin_up", probabilities=[0.1, 0.5, 0.6, 1]), "must rise strictly from 0 to 1"),
        (first("spin_up", probabilities=[0, 0.5, 1]), "sizes[0].spin_up: 3 and 4 (as many values as probabilities)"),
        (first("spread", probabilities=[0], values=[1]), "must rise strictly from 0 to 1"),
        (first("spin_up", values=[12, 19, 18, 140]), "sizes[0].spin_up.values: (12.0, 19.0, 18.0, 140.0) (must never"),
        (
            first("spin_up", values=[-1, 19, 100, 140]),
            "values: -1 (a list of numbers from 0 to 86400)",
        ),
        (first("slowness", values=[0, 1]), "sizes[0].slowness.values: 0 (a list of numbers from 1e-06 to 1000)"),
        (first("slowness", values=[1, math.nan]), "sizes[0].slowness.values: nan"),
        (first("slowness", values=[1, math.inf]), "sizes[0].slowness.values: inf"),
        (first("slowness", values=[1, 10**400]), "sizes[0].slowness.values: 1000"),
        (first("slowness", values=[1, True]), "sizes[0].slowness.values"),
        (first("slowness", values=["1", {}]), "sizes[0].slowness.values: '1'"),
        (first("slowness", values=[]), "sizes[0].slowness.values: []"),
        (first("slowness", values=1.5), "sizes[0].slowness.values: 1.5"),
        (first("slowness", origin="X"), "sizes[0].slowness.source: missing (origin X names"),
        (first("slowness", why=" "), "sizes[0].slowness.why: ' ' (a text)"),
        (first("slowness", unit="s"), "sizes[0].slowness.unit: unknown key"),
        (lambda d: d["sizes"][0].pop("spread"), "sizes[0].spread: missing"),
        (lambda d: d["sizes"][0].update(spread=3), "sizes[0].spread: 3 (a mapping with the keys probabilities"),
        (lambda d: d["sizes"][0].update(vcpus=0.5), "sizes[0].vcpus: 0.5 (a whole number from 1 to 1024)"),
        (lambda d: d["sizes"][0].update(vcpus=True), "sizes[0].vcpus: True"),
        (lambda d: d["sizes"].insert(0, d["sizes"].pop(1)), "sizes: 2, 1 (in rising order of vcpus"),
        (lambda d: d.update(sizes=[]), "sizes: [] (a list of at least one size)"),
        (lambda d: d.update(sizes=["x"]), "sizes[0]: 'x' (a mapping with the keys vcpus"),
        (lambda d: d["sections"].pop("spot"), "sections.spot: missing"),
        (lambda d: d["sections"].update(neighbors={}), "sections.neighbors: unknown key (did you mean neighbours?)"),
        (lambda d: d["sections"].update(spot=[]), "sections.spot: [] (a mapping with the keys interruptions_per_hour"),
        (parameter("neighbours", "mean_load", value=25), "mean_load.value: 25 (a number from 0 to 1)"),
        (parameter("neighbours", "mean_load", unit="%"), "sections.neighbours.mean_load.unit: '%'"),
        (parameter("neighbours", "amplitude", value=0.3), "amplitude.value: 0.3 (the load must stay"),
        (parameter("neighbours", "server_vcpus", value=1.5), "a whole number from 1 to 1024"),
        (parameter("jobs", "other_entries", value=[0.5]), "sections.jobs.other_entries.value: (0.5,) (two numbers"),
        (parameter("jobs", "batch_tolerant", value=[1, 2, 3]), "sections.jobs.batch_tolerant.value: (1, 2, 3)"),
        (parameter("jobs", "batch_tolerant", value=[30, 5]), "a rising list of numbers"),
        (lambda d: d.update(format_version="2.0"), "format_version: 2.0 (this hcloud reads 1.0)"),
        (lambda d: d.update(title=""), "title: '' (a text)"),
    ],
)
def test_a_mistake_is_named(change: Change, problem: str) -> None:
    found = problems(change)
    assert len(found) == 1
    assert problem in found[0]


def test_all_mistakes_at_once() -> None:
    def spoil(document: dict[str, Any]) -> None:
        first("spin_up", values=[1, 0], probabilities=[0, 2])(document)
        first("spread", values=[2, 1], probabilities=[0, 0.5, 0.4])(document)
        parameter("batch", "sensitivity", value="high", origin="Z")(document)
        del document["sections"]["spot"]["lost_share"], document["source"]

    assert [p.partition(": ")[2].partition(": ")[0] for p in problems(spoil)] == [
        "source",
        "sections.batch.sensitivity.value",
        "sections.batch.sensitivity.origin",
        "sections.spot.lost_share",
        "sizes[0].spin_up.probabilities",
        "sizes[0].spread",
        "sizes[0].spread.probabilities",
        "sizes[0].spread.values",
    ]
