"""The real traces are read completely, with the row counts their publishers state; skipped where they are absent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hcloud.errors import InputError
from hcloud.model.workload import Demand, JobKind, Jobs
from hcloud.planning.forecasting.demand import demand_of, mean_cores, peak_cores
from hcloud.readers.workloads.entry import read_workload
from hcloud.readers.workloads.options import WorkloadOptions, with_keys


@pytest.fixture(scope="module")
def traces(shared_data: Path) -> Path:
    return shared_data / "workloads"


@pytest.mark.parametrize(
    ("name", "form", "rows", "entries", "repaired", "left_out"),
    [
        ("swim_FB-2009_samples_24_times_1hr_0.tsv", "swim", 5894, 5894, 0, 0),
        ("azurevm2017_v1.dev.txt", "azure-vm", 259_159, 259_159, 7141, 0),
        ("azurevm2017_v1.dev.c2100000.txt", "azure-vm", 259_159, 259_159, 7141, 0),
        ("alibaba2023_openb_pod_list_default.csv", "openb", 8152, 1052, 0, 7100),
        ("azure_llm_conv.csv", "requests", 19_366, 60, 1, 0),
        ("nab_elb_request_count_8c0756.csv", "series", 4032, 4040, 8, 0),
        ("nab_Twitter_volume_AMZN.csv", "series", 15_831, 15_831, 0, 0),
        ("nab_ec2_cpu_utilization_825cc2.csv", "series", 4032, 4034, 2, 0),
        ("nab_ec2_cpu_utilization_5f5533.csv", "series", 4032, 4032, 0, 0),
        ("dc_alibaba2018_machine_usage_days_1_to_8_grouped_300_seconds.csv", "cluster", 2243, 2243, 0, 0),
        ("dc_google2019_instance_usage_grouped_300_seconds_month.csv", "cluster", 8064, 8064, 0, 0),
        ("bitbrains50_tasks.parquet", "bitbrains", 276_979, 8641, 0, 0),
    ],
)
def test_rows(traces: Path, name: str, form: str, rows: int, entries: int, repaired: int, left_out: int) -> None:
    workload = read_workload(traces / name, options=WorkloadOptions(series_cores=8.0))
    of = workload.provenance
    got = (of.format, of.rows, len(workload), sum(of.repaired.values()), sum(of.left_out.values()))
    assert got == (form, rows, entries, repaired, left_out)
    step = workload.step_seconds if isinstance(workload, Demand) else 300
    demand = demand_of(workload, step)
    assert np.isfinite(demand.cores).all()
    assert 0 < mean_cores(workload) < peak_cores(workload)
    assert demand.cores.max() <= peak_cores(workload) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("azurevm2017_flav_map.txt", "a map of flavours"),
        ("azurevm2017_v1.interval_map.txt", "a map of lifetime bins"),
        ("alibaba2023_openb_node_list_all_node.csv", "a list of machines"),
    ],
)
def test_companion_files_are_named_as_such(traces: Path, name: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        read_workload(traces / name)


def test_azure_files_align_token_by_token(traces: Path) -> None:
    flavours = (traces / "azurevm2017_v1.dev.txt").read_text().split("\n")
    lives = (traces / "azurevm2017_v1.dev.c2100000.txt").read_text().split("\n")
    assert len(flavours) == len(lives)
    for left, right in zip(flavours, lives, strict=True):
        first, second = left.replace(" ", ",").split(","), right.replace(" ", ",").split(",")
        assert [t == "|" for t in first] == [t == "|" for t in second]
        assert first[0] == second[0]


def test_azure_censored_machines(traces: Path) -> None:
    path = traces / "azurevm2017_v1.dev.txt"
    lower = read_workload(path)
    record = read_workload(path, options=with_keys(WorkloadOptions(), {"azure_censored": "record-end"}))
    assert isinstance(lower, Jobs)
    assert isinstance(record, Jobs)
    longer = record.duration > lower.duration
    assert 14_000 < np.count_nonzero(longer) <= 14_317
    assert (record.submit + record.duration)[longer].max() == 2_100_000


def test_openb_pods_by_class_and_gpu(traces: Path) -> None:
    path = traces / "alibaba2023_openb_pod_list_default.csv"
    cpu_only = read_workload(path)
    with_gpus = read_workload(path, options=with_keys(WorkloadOptions(), {"gpu": "demand"}))
    assert isinstance(cpu_only, Jobs)
    assert isinstance(with_gpus, Jobs)
    assert cpu_only.gpus.sum() == 0
    assert len(with_gpus) == 8152 - 897
    assert np.count_nonzero(with_gpus.gpus) == 6203
    assert 0 < np.count_nonzero(with_gpus.kind == JobKind.BATCH) < len(with_gpus)


def test_bitbrains_fragments_fill_their_tasks(traces: Path) -> None:
    series = read_workload(traces / "bitbrains50_fragments.parquet")
    assert isinstance(series, Demand)
    assert series.cores.max() <= 194
    assert series.memory.max() > 100
