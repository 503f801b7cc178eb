"""Small invented files of every format give the figures worked out by hand, stored beside them."""

from __future__ import annotations

import io
import json
import re
import shlex
import sys
from pathlib import Path
from typing import cast

import pytest

from hcloud.cli.main import run
from hcloud.planning.forecasting.demand import mean_cores, peak_cores
from hcloud.readers.workloads.entry import read_workload
from hcloud.readers.workloads.formats import FORMATS
from hcloud.readers.workloads.options import WorkloadOptions, with_keys

FOLDER = Path(__file__).parent / "workloads"
PAGE = Path(__file__).parent.parent.parent / "docs" / "reference" / "formats.md"
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


def test_every_format_has_a_case() -> None:
    assert {str(case["format"]) for case in CASES.values()} == set(FORMATS)


def examples() -> list[tuple[str, str]]:
    """Every format in the table of docs/reference/formats.md with its example."""
    rows = re.findall(
        r"^\|[^|]*\| (?:`([a-z-]+)`)? ?\| `hcloud (workload show [^`]*)` \|$", PAGE.read_text(), re.MULTILINE
    )
    return [(fmt, command) for fmt, command in rows]


def test_every_format_and_every_case_is_in_the_table() -> None:
    assert {fmt for fmt, _ in examples()} - {""} == set(FORMATS)
    assert {command.split()[2] for _, command in examples()} - {"-"} == set(CASES) - {"dated.csv"}


@pytest.mark.parametrize(("fmt", "command"), examples())
def test_an_example_of_the_table(
    fmt: str, command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(FOLDER)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((FOLDER / "jobs.csv").read_bytes())))
    assert run([*shlex.split(command), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["workload"]["format"] == (fmt or "jobs-csv")
