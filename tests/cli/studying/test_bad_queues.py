"""Queues that cannot be, and windows that are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from hcloud.cli.main import run
from hcloud.readers.bundle import bundled

ROWS = "id,submit,duration,cores,memory,kind\na,0,1,4,8,batch\nb,0,1,4,8,batch\nc,1,1,4,8,batch\nd,2,3000,4,8,batch\n"


def simulated(folder: Path, classes: int) -> int:
    """The exit code of a run with so many classes on two servers."""
    text = (bundled("policies") / "admissions" / "multi-class.yaml").read_text(encoding="utf-8")
    head, rest = text.split("    classes:", 1)
    mine, jobs = folder / "mine.yaml", folder / "jobs.csv"
    mine.write_text(f"{head}    classes:{rest.replace('value: 10', f'value: {classes}', 1)}", encoding="utf-8")
    jobs.write_text(ROWS, encoding="utf-8")
    return run(["simulate", str(jobs), "--strategy", "SR", "--pool", "2", "--admission", str(mine)])


@pytest.mark.parametrize(
    ("classes", "code", "said"),
    [
        (0, 1, "queueing.parameters.classes.value: 0 (a whole number from 1 to 50)"),
        (51, 1, "queueing.parameters.classes.value: 51 (a whole number from 1 to 50)"),
        (3, 64, "SR+mine: queueing.classes: 3 are more than the 2 servers of the reserve"),
    ],
)
def test_classes_are_at_least_one_and_at_most_the_servers(
    classes: int, code: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert simulated(tmp_path, classes) == code
    assert said in capsys.readouterr().err


def test_jobs_whose_window_is_below_zero_are_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """5 % of a second is less than it takes to decide."""
    assert simulated(tmp_path, 2) == 0
    captured = capsys.readouterr()
    assert (captured.out + captured.err).count("3 jobs of 4 never wait, because their window is zero or less") == 1
