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


@pytest.mark.parametrize("provider", ["aws", "gcp", "azure"])
@pytest.mark.parametrize("name", sorted(TRACES))
def test_a_plan_on_a_real_trace(
    name: str, provider: str, shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, options = TRACES[name]
    assert run(["plan", str(shared_data / "workloads" / name), "--provider", provider, "-o", "json", *options]) == 0
    plan = json.loads(capsys.readouterr().out)
    totals = {a["name"]: Decimal(a["total"]) for a in plan["alternatives"]}
    assert plan["workload"]["rows"] == rows
    assert totals["lower bound"] <= totals["this plan"]
    assert totals["this plan"] == min(v for k, v in totals.items() if k != "lower bound")
    assert any(line["term_years"] for line in plan["mix"])


def test_gpu_pods_are_counted_and_never_planned_on_cpu_types(
    shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = shared_data / "workloads" / "alibaba2023_openb_pod_list_default.csv"
    assert run(["plan", str(path), "-o", "json"]) == 0
    left_out = json.loads(capsys.readouterr().out)["workload"]["left_out"]
    assert sum(left_out.values()) >= 7064
    assert any("GPU" in reason for reason in left_out)
