"""Memory of OpenDC's machines: KiB in some files and MiB in others, told apart by what a machine can have."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from hcloud.errors import InputError
from hcloud.model.workload import Demand
from hcloud.readers.workloads.entry import read_workload
from hcloud.readers.workloads.options import WorkloadOptions


def written(folder: Path, memory: list[int]) -> Path:
    """Two machines of two vCPUs with so much memory."""
    tasks = pa.table(
        {
            "id": [1, 2],
            "submission_time": [0, 0],
            "duration": [600_000, 600_000],
            "cpu_count": [2, 2],
            "cpu_capacity": [5000.0, 5000.0],
            "mem_capacity": memory,
        }
    )
    pieces = pa.table({"id": [1, 2], "duration": [600_000, 600_000], "cpu_usage": [2500.0, 5000.0]})
    parquet.write_table(tasks, folder / "a_tasks.parquet")
    parquet.write_table(pieces, folder / "a_fragments.parquet")
    return folder / "a_tasks.parquet"


@pytest.mark.parametrize(("unit", "memory"), [("KiB", [8 << 20, 4 << 20]), ("MiB", [8 << 10, 4 << 10])])
def test_the_unit_is_told_from_the_largest_machine(unit: str, memory: list[int], tmp_path: Path) -> None:
    read = read_workload(written(tmp_path, memory))
    assert isinstance(read, Demand)
    assert read.memory.max() == pytest.approx(12.0)
    assert any(f"read as {unit}" in rule.rule for rule in read.provenance.modelled)


def test_where_both_could_be_it_is_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path, [400_000, 400_000])
    with pytest.raises(InputError, match="may be KiB or MiB") as told:
        read_workload(path)
    assert "memory_unit=MiB" in str(told.value.hint)
    read = read_workload(path, options=WorkloadOptions(memory_unit="MiB"))
    assert isinstance(read, Demand)
    assert read.memory.max() == pytest.approx(781.25)
