"""Whatever happens to the bytes of a workload file, a reader gives a usable workload or a refusal, never a crash."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import numpy as np
import pytest

from hcloud.errors import InputError, UsageError
from hcloud.model.workload import Demand, Workload
from hcloud.planning.forecasting.demand import demand_of
from hcloud.readers.workloads.entry import read_workload
from hcloud.readers.workloads.formats import FORMATS

CASES = Path(__file__).parent.parent.parent / "cases" / "workloads"
FILES = sorted(p.name for p in CASES.iterdir() if p.suffix not in (".json", ".parquet") and p.is_file())
SPLICES = (
    b"", b"\x00", b"\n", b"\r", b",", b"\t", b"|", b'"', b";", b"nan", b"1e999", b"-", b"\xff", b"\xc3", b"U9999",
    b"9" * 30, b"\xef\xbb\xbf", b"id", b" ", b"0", b"2026-13-01", b"1_0", b"\xd9\xa3",
)  # fmt: skip
ROUNDS = 50


def mutated(data: bytes, chance: random.Random) -> bytes:
    for _ in range(chance.choice((1, 1, 2, 5))):
        at, end = sorted(chance.choices(range(len(data) + 1), k=2))
        end = min(end, at + chance.choice((0, 1, 3, 40)))
        data = data[:at] + chance.choice(SPLICES) + data[end:]
        if chance.random() < 0.1:
            data += data[at:]
        if chance.random() < 0.05:
            data = data[: at + 1]
    return data


def check(workload: Workload) -> None:
    assert len(workload) > 0
    columns = (workload.cores, workload.memory) + (() if isinstance(workload, Demand) else (workload.duration,))
    for values in columns:
        assert np.isfinite(values).all()
        assert (values >= 0).all()
    if isinstance(workload, Demand):
        assert (workload.batch_cores <= workload.cores * (1 + 1e-9)).all()
        return
    assert (np.diff(workload.submit) >= 0).all()
    assert (workload.duration > 0).all()
    step = max(int((workload.submit + workload.duration).max() / 1000), 1)
    assert np.isfinite(demand_of(workload, step).cores).all()


@pytest.mark.parametrize("name", FILES)
def test_mutations(name: str, tmp_path: Path) -> None:
    shutil.copytree(CASES, tmp_path / "w")
    path = tmp_path / "w" / name
    original = path.read_bytes()
    read = 0
    for seed in range(ROUNDS):
        chance = random.Random(f"{name} {seed}")
        path.write_bytes(mutated(original, chance))
        form = "auto" if chance.random() < 0.7 else chance.choice(sorted(FORMATS))
        try:
            check(read_workload(path, form))
            read += 1
        except (InputError, UsageError) as refusal:
            if "cannot be read: " in str(refusal):
                pytest.fail(f"seed {seed}: the place was not found: {refusal}")
    assert read < ROUNDS
