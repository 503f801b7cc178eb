"""Jobs are called what the trace calls them: in every reader that has ids, in a journal and by explain."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from simulating import paper_shop

from hcloud.control.sessions.story import Story
from hcloud.model.workload import Jobs
from hcloud.readers.clouds import load_cloud
from hcloud.readers.strategies import load_strategy
from hcloud.readers.workloads.entry import read_workload
from hcloud.readers.workloads.tables.columns import MOST_NAMED, Sink
from hcloud.usecases.deciding.explaining.job import explain_job
from hcloud.usecases.studies.journal import write_journal
from hcloud.usecases.studies.simulation import Study, simulate_once

CASES = Path(__file__).parent.parent.parent / "cases" / "workloads"


@pytest.mark.parametrize(
    ("file", "names"),
    [
        ("jobs.csv", {"web-1", "etl-1", "train", "web-2"}),
        ("hadoop.tsv", {"job0", "job1", "job2"}),
        ("machine.swf", {"1", "2"}),
        ("pods.csv", {"pod-0", "pod-1"}),
        ("invented_v1.dev.txt", {"0"}),
    ],
)
def test_readers_keep_the_names_of_jobs(file: str, names: set[str]) -> None:
    jobs = read_workload(CASES / file)
    assert isinstance(jobs, Jobs)
    assert names <= {jobs.name(row) for row in range(len(jobs))}


def test_names_follow_their_rows_when_these_are_sorted_and_left_out(tmp_path: Path) -> None:
    path = tmp_path / "late.csv"
    path.write_text("id,submit,duration\nc,30,5\nnone,10,0\na,20,5\n,25,5\n", encoding="utf-8")
    jobs = read_workload(path)
    assert isinstance(jobs, Jobs)
    assert [jobs.name(row) for row in range(3)] == ["a", "row 1", "c"]
    assert jobs.at(np.array([2])).name(0) == "c"


def test_a_very_long_table_keeps_no_names() -> None:
    sink = Sink((), 10, "x")
    sink.rows = MOST_NAMED + 1
    assert sink.ids() is None


def test_a_journal_and_explain_know_the_traces_names(tmp_path: Path) -> None:
    path = tmp_path / "two.csv"
    path.write_text(
        "id,submit,duration,cores,memory,kind\nweb-1,0,7200,4,16,service\netl-7,60,600,2,8,batch\n", encoding="utf-8"
    )
    jobs = read_workload(path)
    assert isinstance(jobs, Jobs)
    study = Study(jobs, load_cloud("paper"), paper_shop(), True, 1)
    outcome = simulate_once(study, load_strategy("OdM"), journal=True)
    write_journal(outcome, tmp_path / "run.journal")
    story = explain_job(tmp_path / "run.journal", "etl-7")
    assert isinstance(story, Story)
    assert story.arrival.ask == 2000
