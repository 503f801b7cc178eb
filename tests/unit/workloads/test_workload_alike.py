"""A folder of machines: hours of one machine that stand in two files count once; machines of equal use count each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hcloud.errors import InputError
from hcloud.model.workload import Demand
from hcloud.readers.workloads.entry import read_workload

STEPS = 5 * 288
USE = np.round(np.random.default_rng(3).uniform(0.5, 6.0, STEPS), 3)
OTHER = np.round(np.random.default_rng(4).uniform(0.5, 6.0, STEPS), 3)
START = 1_793_520_000 + 300
TWICE = "steps of a machine that another file has too: counted once"


def written(path: Path, values: np.ndarray, first: int = 0) -> None:
    rows = (f"{START + 300 * (first + n)},{value}\n" for n, value in enumerate(values.tolist()))
    path.write_text("timestamp,cores\n" + "".join(rows))


def read(folder: Path) -> Demand:
    found = read_workload(folder)
    assert isinstance(found, Demand)
    return found


@pytest.mark.parametrize(("first", "last"), [(0, 700), (433, 1001), (900, STEPS)])
@pytest.mark.parametrize("names", [("all", "part"), ("z-all", "part")])
def test_a_part_of_a_machines_file_beside_the_whole_is_no_second_machine(
    tmp_path: Path, first: int, last: int, names: tuple[str, str]
) -> None:
    written(tmp_path / f"{names[0]}.csv", USE)
    written(tmp_path / f"{names[1]}.csv", USE[first:last], first)
    written(tmp_path / "other.csv", OTHER)
    found = read(tmp_path)
    assert found.cores == pytest.approx(USE + OTHER)
    assert found.provenance.repaired[TWICE] == last - first


def test_files_of_one_machine_whose_hours_overlap(tmp_path: Path) -> None:
    written(tmp_path / "a.csv", USE[:900])
    written(tmp_path / "b.csv", USE[600:], 600)
    found = read(tmp_path)
    assert found.cores == pytest.approx(USE)
    assert found.provenance.repaired[TWICE] == 300


def test_machines_that_are_alike_for_a_while_only_count_each(tmp_path: Path) -> None:
    written(tmp_path / "a.csv", np.concatenate([USE[:600], OTHER[600:]]))
    written(tmp_path / "b.csv", USE)
    written(tmp_path / "idle.csv", np.full(STEPS, 1.0))
    written(tmp_path / "idle-2.csv", np.full(STEPS - 1, 1.0))
    found = read(tmp_path)
    assert float(found.cores.sum()) == pytest.approx(USE[:600].sum() * 2 + OTHER[600:].sum() + USE[600:].sum() + 2879)
    assert TWICE not in found.provenance.repaired


@pytest.mark.slow
def test_a_series_that_two_files_have_beside_others_is_refused(tmp_path: Path) -> None:
    def table(path: Path, **machines: np.ndarray) -> None:
        rows = (f"{START + 300 * n},{','.join(str(m[n]) for m in machines.values())}\n" for n in range(STEPS))
        path.write_text(f"timestamp,{','.join(f'{name} vcpus' for name in machines)}\n" + "".join(rows))

    table(tmp_path / "a.csv", web=USE, db=OTHER)
    table(tmp_path / "b.csv", web=OTHER[::-1], mail=USE[::-1])
    assert read(tmp_path).cores == pytest.approx(USE + OTHER + OTHER[::-1] + USE[::-1])
    table(tmp_path / "b.csv", web=OTHER[::-1], mail=USE[::-1])
    named = [rule.rule for rule in read(tmp_path).provenance.modelled if "series of one name" in rule.rule]
    assert named == ["series of one name in several files, with other values at the same times, are machines each: 1"]
    table(tmp_path / "b.csv", www=USE, mail=USE[::-1])
    with pytest.raises(InputError, match=r"b\.csv: www vcpus has the values that web vcpus of .*a\.csv has"):
        read(tmp_path)
    (tmp_path / "b.csv").write_bytes((tmp_path / "a.csv").read_bytes()[:20_000].rpartition(b"\n")[0] + b"\n")
    assert read(tmp_path).cores == pytest.approx(USE + OTHER)
