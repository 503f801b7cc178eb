"""Sizes of jobs whose cells name their unit: 500m, 8Gi, 16 GB."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from advised import jobs_as_advised
from pyarrow import parquet

from hcloud.errors import InputError
from hcloud.model.workload import Jobs
from hcloud.readers.workloads.entry import read_workload
from hcloud.readers.workloads.formats.jobs.stated_units import OF_G
from hcloud.readers.workloads.options import WorkloadOptions, with_keys
from hcloud.readers.workloads.quantities import cpus_of, memory_of

CORES = ["2", "500m", "1500m", "0.25", "1k", ""]
MEMORY = ["4", "512Mi", "16 GB", "1048576 KiB", "1.5g", "2147483648B"]


def read(path: Path, columns: str = "", **keys: str) -> Jobs:
    found = read_workload(path, options=with_keys(WorkloadOptions(columns=columns), keys))
    assert isinstance(found, Jobs)
    return found


@pytest.mark.parametrize("form", ["csv", "parquet", "json"])
def test_cells_that_name_their_unit_are_read_beside_bare_numbers(tmp_path: Path, form: str) -> None:
    """They were refused, be it as Kubernetes, Slurm or spreadsheets write them."""
    path = tmp_path / f"jobs.{form}"
    rows = list(zip(range(6), CORES, MEMORY, strict=True))
    if form == "csv":
        path.write_text("submit,duration,cores,memory\n" + "".join(f"{at},60,{c},{m}\n" for at, c, m in rows))
    elif form == "json":
        path.write_text(
            json.dumps([{"submit": at, "duration": 60, "cores": c or None, "memory": m} for at, c, m in rows])
        )
    else:
        table = {"submit": [0.0 + at for at in range(6)], "duration": [60.0] * 6, "cores": CORES, "memory": MEMORY}
        parquet.write_table(pa.table(table), path)
    found = read(path)
    assert found.cores.tolist() == [2, 0.5, 1.5, 0.25, 1000, 1]
    assert found.memory.tolist() == [4, 0.5, 16, 1, 1.5, 2]
    assert ("memory", OF_G) in [(m.column, m.rule) for m in found.provenance.modelled]


def test_a_bare_number_keeps_the_unit_of_its_column(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("t,s,cpu_milli,mem_mib\n0,60,29,2048\n1,60,2 vCPU,2147483648000m\n2,60,500m,1T\n")
    found = read(path, "submit=t,duration=s,cores=cpu_milli,memory=mem_mib")
    assert OF_G in [m.rule for m in found.provenance.modelled]
    path.write_text(path.read_text().replace("1T", "1Ti"))
    found = read(path, "submit=t,duration=s,cores=cpu_milli,memory=mem_mib")
    assert OF_G not in [m.rule for m in found.provenance.modelled], "these units are of 1024 to all"
    assert found.cores.tolist() == [0.029, 2, 0.5]
    assert found.memory.tolist() == [2, 2, 1024]
    path.write_text(path.read_text().replace("mem_mib", "Mem (MB)"))
    found = read(path, "submit=t,duration=s,cores=cpu_milli,memory=Mem (MB)")
    assert OF_G in [m.rule for m in found.provenance.modelled], "a megabyte in a header is of 1000 to some, too"
    path.write_text("submit,duration,Mem (MB)\n0,60,2048\n")
    said = read(path, "memory=Mem (MB)", memory_unit="MiB")
    assert OF_G not in [m.rule for m in said.provenance.modelled], "said is said"


def test_memory_in_bytes_beyond_any_number_of_gib_is_read_as_the_refusal_says(tmp_path: Path) -> None:
    """Its hint left all jobs out."""
    path = tmp_path / "jobs.csv"
    path.write_text("submit,duration,memory\n0,60,34359738368\n")
    assert jobs_as_advised(path).memory.tolist() == [32]
    path.write_text("submit,duration,memory\n0,60,8\n1,60,8\n2,60,8\n3,60,34359738368\n")
    with pytest.raises(InputError) as caught:
        read_workload(path)
    assert "memory_unit" not in caught.value.hint
    path.write_text("submit,duration,memory\n0,60,33554432\n")
    with pytest.raises(InputError) as caught:
        read_workload(path)
    assert caught.value.hint == "say the unit of memory: --set memory_unit=MiB, KiB or B"


def test_decimal_commas_stand_before_units_too(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("submit;duration;cores;memory\n0;60;1,5;2,5 GB\n")
    found = read(path, decimal=",")
    assert (found.cores.tolist(), found.memory.tolist()) == ([1.5], [2.5])


def test_what_is_no_size_is_refused_where_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("submit,duration,cores,memory\n0,60,500m,8Gi\n1,60,2x,500mm\n2,60,-1m,1_0Gi\n3,60,4Gi,1e999Gi\n")
    with pytest.raises(InputError) as caught:
        read(path)
    assert [(p.where, p.value) for p in caught.value.problems] == [
        ("line 3, column cores", "'2x'"),
        ("line 3, column memory", "'500mm'"),
        ("line 4, column cores", "'-1m'"),
        ("line 4, column memory", "'1_0Gi'"),
        ("line 5, column cores", "'4Gi'"),
        ("line 5, column memory", "'1e999Gi'"),
    ]
    assert caught.value.problems[0].allowed == "a number above 0 and at most 1e+06, or with its unit as 500m"


@pytest.mark.parametrize(
    ("duration", "cell"),
    [
        ("duration_us", "90000000"),
        ("Duration (ns)", "90000000000"),
        ("duration_in_seconds", "90"),
        ("durationInMillis", "90000"),
        ("Duration (hh:mm:ss)", "00:01:30"),
    ],
)
@pytest.mark.parametrize(("memory", "gib"), [("requested_memory_mb", 2), ("memoryInMB", 2), ("mem_req_gb", 2048)])
def test_more_names_that_say_their_units(tmp_path: Path, duration: str, cell: str, memory: str, gib: float) -> None:
    """Durations were refused, and memory left out without a word: 4 GiB for each vCPU."""
    path = tmp_path / "jobs.csv"
    path.write_text(f"id,submit,{duration},requested_cpu,{memory}\na,0,{cell},64,2048\n")
    found = jobs_as_advised(path)
    assert (found.duration.tolist(), found.cores.tolist(), found.memory.tolist()) == ([90], [64], [gib])


def test_what_may_say_the_memory_is_asked_about(tmp_path: Path) -> None:
    """It was left out without a word."""
    path = tmp_path / "jobs.csv"
    path.write_text("id,submit_time,duration,cpus,peak_rss,container_memory\na,0,60,2,5,6\n")
    with pytest.raises(InputError) as caught:
        read_workload(path)
    asked = "if memory goes by the vCPUs (else say memory=NAME), whatever peak_rss, container_memory say, read it with"
    assert asked in str(caught.value.hint)


def test_dates_with_am_and_pm_have_the_month_first(tmp_path: Path) -> None:
    """The command that was advised took the first of November for the eleventh of January."""
    path = tmp_path / "jobs.csv"
    path.write_text("id,submit,duration\na,11/01/2026 02:00:00 PM,60\nb,11/02/2026 02:00:00 AM,60\n")
    assert jobs_as_advised(path).submit.tolist() == [1793541600, 1793541600 + 12 * 3600]


@pytest.mark.parametrize(
    ("text", "gib"),
    [("1Gi", 1.0), ("1G", 1e9 / 2**30), ("1073741824", 1.0), ("1073741824000m", 1.0), ("1e9", 1e9 / 2**30)],
)  # fmt: skip
def test_kubernetes_counts_in_thousands_without_an_i(text: str, gib: float) -> None:
    assert memory_of(text, 2**30, kubernetes=True) == pytest.approx(gib * 2**30, rel=1e-12)


def test_small_parts_of_cpus_are_read() -> None:
    assert [cpus_of(text) for text in ("250m", "100u", "5n", "2M", "1 Core")] == [0.25, 1e-4, 5e-9, None, 1]


@pytest.mark.parametrize(
    ("column", "cells", "asked", "gib"),
    [
        ("mem", ["8Gi", "512M"], "read it with", [8, 0.5]),
        ("mem", ["8192", "512"], "if mem is in MiB (else say GiB or KiB)", [8, 0.5]),
        ("memory_request", ["1073741824", "2Gi"], "if memory_request is in B (else say GiB or KiB or MiB)", [1, 2]),
        ("RequestMemory", ["8192", "512"], "if RequestMemory is in MiB (else say GiB or KiB)", [8, 0.5]),
        ("mem_tb", ["0.5", "2"], "read it with", [512, 2048]),
    ],
)
@pytest.mark.parametrize("submit", ["submit", "submitted"])
def test_cells_say_the_unit_of_memory_that_no_name_says(
    tmp_path: Path, submit: str, column: str, cells: list[str], asked: str, gib: list[float]
) -> None:
    """Beside our own columns it was left out without a word, and bytes were advised to be MiB."""
    path = tmp_path / "jobs.csv"
    path.write_text(f"id,{submit},duration,cores,{column}\na,0,60,2,{cells[0]}\nb,1,60,2,{cells[1]}\n")
    assert jobs_as_advised(path).memory.tolist() == gib
    with pytest.raises(InputError) as caught:
        read_workload(path)
    assert str(caught.value.hint).startswith(asked)


def test_memory_that_is_skipped_is_told(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("id,submit,duration,cores,vmem\na,0,60,2,5\n")
    with pytest.raises(InputError) as caught:
        read_workload(path)
    assert str(caught.value.hint).startswith("if memory goes by the vCPUs (else say memory=NAME), whatever vmem say")


def test_units_are_told_of_the_column_that_has_them(tmp_path: Path) -> None:
    """Bare memory was said to have cells with a unit where the vCPUs have some."""
    path = tmp_path / "jobs.csv"
    path.write_text("submit,duration,cores,memory\n0,60,500m,+8\n1,60,2,4\n")
    found = read(path)
    assert found.memory.tolist() == [8, 4]
    assert "memory" not in {one.column for one in found.provenance.modelled}


def test_decimal_commas_are_met_before_units_too(tmp_path: Path) -> None:
    """Leaving their jobs out was advised."""
    path = tmp_path / "jobs.csv"
    path.write_text("submit;duration;cores;memory\n0;60;2;1,5 Gi\n1;60;2;512Mi\n")
    assert jobs_as_advised(path).memory.tolist() == [1.5, 0.5]


@pytest.mark.parametrize("submit", ["2026/11/01 10:00:00 +0200", "01 Nov 2026 10:00:00 +0500"])
def test_times_with_a_zone_beside_some_without_are_refused_however_written(tmp_path: Path, submit: str) -> None:
    """Hours of the zone were taken for the duration of jobs."""
    path = tmp_path / "jobs.csv"
    path.write_text(f"submit,end,cores\n{submit},2026-11-01 10:00:00,2\n")
    with pytest.raises(InputError, match="have a time zone"):
        read(path)


def test_jobs_of_htcondor_run_from_their_start(tmp_path: Path) -> None:
    """Their wait was taken for a part of their duration."""
    path = tmp_path / "jobs.csv"
    path.write_text("ClusterId,QDate,JobStartDate,CompletionDate,RequestCpus\n1,1793527200,1793527260,1793527300,4\n")
    assert jobs_as_advised(path).duration.tolist() == [40]
