"""Small invented files of every format give the figures worked out by hand, stored beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest

from hcloud.planning.forecasting.demand import mean_cores, peak_cores
from hcloud.readers.workloads.entry import read_workload
from hcloud.readers.workloads.formats import FORMATS
from hcloud.readers.workloads.options import WorkloadOptions, with_keys

FOLDER = Path(__file__).parent / "workloads"
CASES = cast("dict[str, dict[str, object]]", json.loads((FOLDER / "expected.json").read_text()))


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    case = CASES[name]
    keys = cast("dict[str, str]", case.get("keys", {}))
    workload = read_workload(FOLDER / name, options=with_keys(WorkloadOptions(), keys))
    of = workload.provenance
    got = {
        "format": of.format,
        "rows": of.rows,
        "entries": len(workload),
        "repaired": of.repaired,
        "left_out": of.left_out,
        "modelled": sorted({m.key for m in of.modelled}),
    }
    assert got == {key: case[key] for key in got}
    assert mean_cores(workload) == pytest.approx(case["mean_cores"], rel=1e-9)
    assert peak_cores(workload) == pytest.approx(case["peak_cores"], rel=1e-9)
    assert len(of.digest) == 64


def test_every_text_format_has_a_case() -> None:
    assert {str(case["format"]) for case in CASES.values()} == set(FORMATS) - {"jobs-parquet", "bitbrains"}
