"""What Slurm's commands answer, by version: 22.05 as recorded, 23.11 and 24.11 as documented, all of one queue."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hcloud.providers.slurm.answers import AnswerError, jobs_of, mebibytes, nodes_of, number, parser_of, task_numbers

ANSWERS = Path(__file__).parent.parent.parent / "slurm" / "answers"
RELEASES = {"22.05": "v0.0.38", "23.11": "v0.0.40", "24.11": "v0.0.42"}


def _text(release: str, kind: str) -> str:
    return (ANSWERS / f"{release}-{kind}.json").read_text()


@pytest.mark.parametrize("release", RELEASES)
def test_every_version_tells_the_same_queue(release: str) -> None:
    assert parser_of(json.loads(_text(release, "jobs"))) == RELEASES[release]
    assert jobs_of(_text(release, "jobs")) == jobs_of(_text("22.05", "jobs"))
    assert nodes_of(_text(release, "nodes")) == nodes_of(_text("22.05", "nodes"))


def test_an_ended_job_an_array_and_a_job_over_two_nodes_are_read() -> None:
    ended, *tasks, wide = jobs_of(_text("24.11", "jobs"))
    assert (ended.id, ended.state, ended.code, ended.minutes, ended.nice) == ("1", "FAILED", 3, 2, 7)
    assert (ended.memory, ended.cpus, ended.nodes, ended.requeue) == (100, 1, "hc-small-1", True)
    assert [t.id for t in tasks] == ["2_0", "2_1", "2_2", "2_7"]
    assert all(t.held and t.minutes is None and t.admin_comment == "hcloud" for t in tasks)
    assert (wide.node_count, wide.name) == (2, "wide")


def test_a_powered_down_node_is_told_from_one_that_is_up() -> None:
    found = {node.name: node for node in nodes_of(_text("23.11", "nodes"))}
    assert found["hc-medium-0"].flags == {"CLOUD", "POWERED_DOWN"}
    assert found["hc-medium-0"].state == found["hc-small-1"].state == "IDLE"
    assert "POWERED_DOWN" not in found["hc-small-1"].flags


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"jobs": [], "errors": [{"description": "Failed while looking for jobs"}]}', "Failed while looking"),
        ('{"jobs": [], "errors": [{"error": "Unspecified error"}]}', "Unspecified"),
        ("", "no JSON"),
        ("[]", "no JSON object"),
        ("[" * 100_000, "nested too deeply"),
        ('{"jobs": {}}', "no list of jobs"),
        ('{"jobs": [{"job_id": 1}], "meta": {"plugin": {"data_parser": "data_parser/v0.0.99"}}}', "v0.0.99"),
        ('{"jobs": [{"job_id": "x", "job_state": "PENDING"}]}', "cannot be read"),
    ],
)
def test_an_answer_that_says_nothing_is_no_empty_queue(text: str, said: str) -> None:
    with pytest.raises(AnswerError, match=said):
        jobs_of(text)


def test_numbers_memory_and_tasks_of_both_forms() -> None:
    assert [number(v) for v in (5, None, 0xFFFFFFFF, 0xFFFFFFFE)] == [5, None, None, None]
    forms = [(True, False, 7), (False, False, 0), (True, True, 0)]
    assert [number({"set": s, "infinite": i, "number": n}) for s, i, n in forms] == [7, None, None]
    assert [mebibytes(t) for t in ("1000M", "1.50G", "2T", "2048K", "", "?")] == [1000, 1536, 2 << 20, 2, 0, 0]
    assert task_numbers("0,2,5-9:2%3") == (0, 2, 5, 7, 9)
