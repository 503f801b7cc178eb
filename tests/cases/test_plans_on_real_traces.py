"""Plans on real traces and the bundled prices of all three providers: they beat their rivals and keep their bound."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest

from hcloud.cli.main import run

TRACES = {
    "swim_FB-2009_samples_24_times_1hr_0.tsv": (5894, []),
    "azurevm2017_v1.dev.txt": (259_159, []),
    "alibaba2023_openb_pod_list_default.csv": (8152, []),
    "nab_elb_request_count_8c0756.csv": (4032, ["--set", "requests_per_core_second=0.002"]),
}


WITH_GPUS = "alibaba2023_openb_pod_list_default.csv"
"""They are counted and never planned on types without."""
ON = [
    ("swim_FB-2009_samples_24_times_1hr_0.tsv", "aws"),
    ("azurevm2017_v1.dev.txt", "azure"),
    (WITH_GPUS, ""),
    ("nab_elb_request_count_8c0756.csv", "gcp"),
]
"""Each trace on one cloud, and each cloud with one: a trace is read and added up before any is asked. One on all at
once."""


@pytest.mark.parametrize(("name", "provider"), ON)
def test_a_plan_on_a_real_trace(
    name: str, provider: str, shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, options = TRACES[name]
    chosen = ["--provider", provider] if provider else []
    assert run(["plan", str(shared_data / "workloads" / name), *chosen, "-o", "json", *options]) == 0
    plan = json.loads(capsys.readouterr().out)
    totals = {a["name"]: Decimal(a["total"]) for a in plan["alternatives"]}
    assert plan["workload"]["rows"] == rows
    assert totals["lower bound"] <= totals["this plan"]
    assert totals["this plan"] == min(v for k, v in totals.items() if k != "lower bound")
    assert any(line["term_years"] for line in plan["mix"])
    left_out = plan["workload"]["left_out"]
    assert (sum(left_out.values()) >= 7064) == (name == WITH_GPUS)
    assert any("GPU" in reason for reason in left_out) == (name == WITH_GPUS)
