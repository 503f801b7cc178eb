"""A journal states how fast types are for jobs, 0 where a job may not run: it is read back, and said where it lacks
something."""

from __future__ import annotations

from pathlib import Path

import pytest

from hcloud.cli.main import run

TRACE = 'submit,duration,cores,memory,requires\n0,60,2,4,"vcpus>=4"\n5,60,2,4,\n'
ONLY = "[0,0,10000,10000,10000]"


def journal(folder: Path) -> str:
    (folder / "trace.csv").write_text(TRACE, encoding="utf-8")
    path = folder / "run.jsonl"
    assert run(["simulate", str(folder / "trace.csv"), "-s", "SR", "--journal", str(path)]) == 0
    return path.read_text(encoding="utf-8")


def explained(folder: Path, text: str, job: str = "0") -> int:
    (folder / "other.jsonl").write_text(text, encoding="utf-8")
    return run(["explain", "--job", job, str(folder / "other.jsonl")])


def test_a_job_that_requires_a_type_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = journal(tmp_path)
    assert ONLY in text
    assert explained(tmp_path, text) == 0
    assert "job 0 did not wait" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (ONLY, "[0,0,10000,10000]", "row 2 of the speeds has 4 types of 5, none for n1-standard-16"),
        (
            ONLY,
            "[0,0,10000,10000,10001]",
            "row 2 of the speeds: 1 to 10000 are allowed, 0 for a type that a job may not run on",
        ),
        ('"platform":1', '"platform":7', "an impossible event: platform 7: speeds are known for 2"),
    ],
)
@pytest.mark.parametrize("job", ["0", "1"])
def test_what_a_table_of_speeds_lacks_is_said(
    before: str, after: str, said: str, job: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = journal(tmp_path)
    assert before in text
    assert explained(tmp_path, text.replace(before, after), job) == 1
    assert said in capsys.readouterr().err.replace("\n", " ")
