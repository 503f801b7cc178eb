"""The one calibration of the placement studies: what was frozen still does what it was calibrated to."""

from __future__ import annotations

import json
from statistics import fmean

import pytest

from hcloud.cli import main
from hcloud.readers.clouds import CLUSTERS, PAPER, load_cloud

FACTOR = 1.25
KINDS = ("batch_tolerant", "batch_sensitive", "service_sensitive")


def test_applications_press_by_one_factor_harder_and_nothing_else_differs() -> None:
    paper, found = load_cloud(PAPER), load_cloud(CLUSTERS)
    for kind in KINDS:
        assert found.numbers("jobs", kind) == tuple(min(v * FACTOR, 99) for v in paper.numbers("jobs", kind))
    values = [
        {(s, p.key): p.value for s, told in model.sections.items() for p in told if p.key not in KINDS}
        for model in (paper, found)
    ]
    apart = {key for key, value in values[0].items() if values[1][key] != value}
    assert apart == {("neighbours", "mean_load"), ("neighbours", "amplitude")}


@pytest.mark.slow
def test_who_looks_at_neighbours_harms_fewer(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["-q", "compare", "scenario:local-40", "--strategy", "SR", "--placement", "ideal,paragon,first-fit"]
    assert main.run([*words, "--seeds", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["strategies"]
    kept = {one["name"]: fmean(run["kept_qos"] for run in one["runs"]) for one in found}
    assert kept["SR+ideal"] > kept["SR+first-fit"] + 0.1
    assert kept["SR+paragon"] > kept["SR+first-fit"] + 0.1
