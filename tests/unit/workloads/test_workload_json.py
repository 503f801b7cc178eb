"""JSON of jobs: read piece by piece, page by page, and what clouds and schedulers call things in it."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest
from advised import jobs_as_advised as read

from hcloud.errors import InputError
from hcloud.model.workload import Jobs
from hcloud.readers.workloads.entry import read_workload
from hcloud.readers.workloads.formats.jobs import json_stream, json_text
from hcloud.readers.workloads.formats.jobs.jobs_table import NEVER_RAN, STILL_RUNS
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.source import open_source

T = 1_790_000_000_000
JOB = {"submit": 0, "duration": 60, "cores": 2}


def written(folder: Path, *documents: object) -> Path:
    path = folder / "jobs.json"
    path.write_text("\n".join(json.dumps(one, indent=1) for one in documents))
    return path


@pytest.mark.parametrize("form", ["[{}]", '{{"a": {{"jobs": [{}]}}, "next": null}}'])
def test_memory_does_not_grow_with_the_number_of_jobs(tmp_path: Path, form: str) -> None:
    """A million jobs took 1.7 GB."""
    path = tmp_path / "jobs.json"
    path.write_text(form.format(",".join([json.dumps({**JOB, "app": "a" * 200})] * 30_000)))
    tracemalloc.start()
    try:
        assert sum(1 for _ in json_text.json_objects(open_source(path))) == 30_000
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 1.5 * path.stat().st_size + (4 << 20), "text that is looked ahead for, and no objects"


@pytest.mark.parametrize("long", [False, True])
def test_objects_that_are_too_long_to_be_held_are_read_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, long: bool
) -> None:
    monkeypatch.setattr(json_text, "_ONE", 1 if long else 1 << 22)
    page = {"count": 2, "data": {"jobs": [JOB, {**JOB, "tags": [{"a": 1}]}], "names": ["x"]}, "nextToken": ""}
    found = read_workload(written(tmp_path, page), options=WorkloadOptions(extra_columns="ignore"))
    assert isinstance(found, Jobs)
    assert found.cores.tolist() == [2, 2]
    with pytest.raises(InputError, match=r"several lists of objects: a, b.c; keep one, as jq .a does"):
        read_workload(written(tmp_path, {"a": [JOB], "b": {"c": [JOB]}}), "jobs-csv")


@pytest.mark.parametrize(
    "text", ['{"jobs": [{"submit": 0} {"submit": 1}]}', '{"jobs": [1', '{"a": 1,}', "{1: 2}", '[{"a": 1},]', '{"a" 1}']
)
@pytest.mark.parametrize("long", [False, True])
def test_broken_json_is_refused_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, long: bool
) -> None:
    monkeypatch.setattr(json_text, "_ONE", 1 if long else 1 << 22)
    path = tmp_path / "jobs.json"
    path.write_text(f"\n\n{text}")
    with pytest.raises(InputError, match=r"is no JSON of jobs: .*: line 3 column \d+$"):
        read_workload(path, "jobs-csv")


def test_pages_are_read_together_and_one_without_its_last_is_refused(tmp_path: Path) -> None:
    """Several pages were no JSON, and a page of many was read as if it were all."""
    pages = [{"jobs": [JOB, JOB], "nextToken": "abc"}, {"jobs": [JOB]}]
    found = read_workload(written(tmp_path, *pages))
    assert isinstance(found, Jobs)
    assert len(found) == 3
    with pytest.raises(InputError, match=r"is a part of an answer \(nextToken\)") as caught:
        read_workload(written(tmp_path, pages[0]))
    assert "one after the other" in str(caught.value.hint)


@pytest.mark.parametrize("document", [[], {"jobs": []}, {"nextToken": None, "jobs": []}, {"items": []}])
def test_an_empty_list_is_said_to_be_one(tmp_path: Path, document: object) -> None:
    """It was told as JSON of sacct without its times."""
    with pytest.raises(InputError, match="holds no job: its list is empty"):
        read_workload(written(tmp_path, document))


def of_batch(number: int, **times: int) -> dict[str, object]:
    asks = [{"type": "VCPU", "value": "4"}, {"type": "MEMORY", "value": "2048"}]
    began = {"startedAt": T} if "startedAt" in times else {}
    return {
        "jobArn": f"arn:{number}", "jobId": f"j{number}", "createdAt": T, "attempts": [began],
        "container": {"resourceRequirements": asks}, **times,
    }  # fmt: skip


def test_jobs_of_aws_batch_that_were_cancelled_before_they_began_are_left_out(tmp_path: Path) -> None:
    """They were counted from their submission to their end, or those that still ran were left out with them."""
    ended, cancelled = of_batch(1, startedAt=T + 60_000, stoppedAt=T + 3_660_000), of_batch(2, stoppedAt=T + 7_200_000)
    found = read(written(tmp_path, {"jobs": [ended, cancelled, of_batch(3, startedAt=T + 100_000), of_batch(4)]}))
    assert (found.cores.tolist(), found.memory.tolist()) == ([4, 4], [2, 2])
    assert found.duration.tolist() == [3600, 7100]
    assert (found.provenance.left_out, found.provenance.repaired) == ({NEVER_RAN: 2}, {STILL_RUNS: 1})


def test_slots_of_azure_batch_are_vcpus_unless_it_is_said(tmp_path: Path) -> None:
    """They were not read: each task had one vCPU."""
    info = {"startTime": "2026-11-01T00:10:00Z", "endTime": "2026-11-01T01:10:00Z"}
    task = {"id": "t", "creationTime": "2026-11-01T00:00:00Z", "executionInfo": info, "requiredSlots": 4}
    found = read(written(tmp_path, [task]))
    assert (found.cores.tolist(), found.duration.tolist()) == ([4], [3600])


@pytest.mark.parametrize("block", range(1, 9))
def test_json_is_read_alike_wherever_its_pieces_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    """A number of which a piece ended behind its point was refused."""
    monkeypatch.setattr(json_stream, "BLOCK", block)
    monkeypatch.setattr(json_text, "_ONE", 1)
    job = '{"a": "é😀\\ud83d\\ude00\\"", "n": -1.5e+3}'
    path = tmp_path / "jobs.json"
    path.write_text(f'{{"v": 1.5, "w": 1e+5, "x": -12, "z": [2.5, 1E-3], "jobs": [{job}]}}')
    assert list(json_text.json_objects(open_source(path))) == [json.loads(job)]


def test_objects_in_lines_that_are_too_long_are_not_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They were, without a word, or the objects in them were taken for jobs."""
    monkeypatch.setattr(json_text, "_ONE", 8)
    monkeypatch.setattr(json_stream, "BLOCK", 8)
    for more in ({"app": "x"}, {"id": "a", "tags": [{"submit": 1, "duration": 1}]}):
        path = written(tmp_path, {**JOB, **more})
        with pytest.raises(InputError, match="an object of more than 8 characters is no list of jobs"):
            list(json_text.json_objects(open_source(path)))


def test_objects_too_deep_in_others_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's own words were shown, with the advice to unpack the archive."""
    monkeypatch.setattr(json_text, "_ONE", 1)
    monkeypatch.setattr(json_stream, "BLOCK", 2)
    path = tmp_path / "jobs.json"
    path.write_text('{"a":' * 3000 + "1" + "}" * 3000)
    with pytest.raises(InputError, match="nested too deeply"):
        list(json_text.json_objects(open_source(path)))


def test_bytes_that_are_no_utf_8_are_named_with_their_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their place was counted from the piece that was read."""
    monkeypatch.setattr(json_stream, "BLOCK", 4)
    path = tmp_path / "jobs.json"
    path.write_bytes(b'[{"a": 1},\n\n{"a": "\xe9"}]')
    with pytest.raises(InputError, match="byte 0xe9 is not UTF-8: line 3"):
        list(json_text.json_objects(open_source(path)))


@pytest.mark.parametrize("long", [False, True])
def test_an_answer_that_has_fewer_jobs_than_it_says_there_are_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, long: bool
) -> None:
    """The first hundred runs of Airflow counted as all."""
    monkeypatch.setattr(json_text, "_ONE", 1 if long else 1 << 22)
    page = {"dag_runs": [JOB, JOB], "total_entries": 3}
    with pytest.raises(InputError, match=r"a part of an answer \(total_entries\)"):
        read_workload(written(tmp_path, page))
    assert len(list(json_text.json_objects(open_source(written(tmp_path, page, page))))) == 4


def test_an_answer_with_a_begin_and_an_end_of_its_own_is_no_job(tmp_path: Path) -> None:
    """It was read as one job from the one to the other, and its list was left out."""
    found = read_workload(written(tmp_path, {"start": T, "end": T + 9_000, "jobs": [JOB, JOB]}))
    assert isinstance(found, Jobs)
    assert found.duration.tolist() == [60, 60]


def test_tasks_of_google_batch_count_that_run_at_once(tmp_path: Path) -> None:
    """Each job had one vCPU."""
    task = {"taskSpec": {"computeResource": {"cpuMilli": "4000", "memoryMib": "1024"}}, "taskCount": "6"}
    groups: tuple[list[dict[str, object]], ...] = ([{**task, "parallelism": "5"}], [{"taskSpec": {}}])
    status = {"runDuration": "7200s", "taskGroups": {"group0": {"counts": {"SUCCEEDED": "6"}}}}
    job = {"createTime": "2026-11-01T00:00:00Z", "status": status}
    found = read(written(tmp_path, [{**job, "uid": f"j{at}", "taskGroups": one} for at, one in enumerate(groups)]))
    assert (found.cores.tolist(), found.duration.tolist()) == ([20, 2], [7200, 7200])
    assert found.memory.tolist() == [5, 2000 / 1024]


def test_what_google_batch_assumes_is_said(tmp_path: Path) -> None:
    """It was not; of 20,000 tasks 1,000 ran at once, of tasks in order all, and of environments one."""
    asks = {"computeResource": {"cpuMilli": "1000", "memoryMib": "1024"}}
    groups = (
        {"taskSpec": asks, "taskCount": "20000"},
        {"taskSpec": asks, "taskCount": "8", "schedulingPolicy": "IN_ORDER"},
        {"taskSpec": asks, "taskEnvironments": [{}, {}, {}]},
        {"taskSpec": asks, "taskCount": "4", "parallelism": "2"},
    )
    job = {"createTime": "2026-11-01T00:00:00Z", "status": {"runDuration": "7200s"}}
    found = read(written(tmp_path, [{**job, "uid": f"j{at}", "taskGroups": [one]} for at, one in enumerate(groups)]))
    assert found.cores.tolist() == [5000, 1, 3, 2]
    usual = "as Google Batch does, 1 task, all at once up to 5,000, with 2 vCPUs and 2,000 MiB each"
    assert found.provenance.repaired == {f"without parallelism: {usual}": 2}


@pytest.mark.parametrize("asks", [{"computeResource": None}, {"computeResource": {"cpuMilli": None}}])
def test_what_google_batch_leaves_null_is_its_default(tmp_path: Path, asks: dict[str, object]) -> None:
    """The program ended with a traceback."""
    job = {"name": "a", "createTime": "2026-11-01T10:00:00Z", "status": {"runDuration": "100s"}}
    found = read(written(tmp_path, [{**job, "taskGroups": [{"taskSpec": asks, "taskCount": "4"}]}]))
    assert (found.cores.tolist(), found.memory.tolist()) == ([8], [4 * 2000 / 1024])


def test_an_array_of_aws_batch_is_refused(tmp_path: Path) -> None:
    """It counted as one of its jobs where its condition was not read."""
    array = {**of_batch(1, startedAt=T, stoppedAt=T + 5_000), "arrayProperties": {"size": 10}}
    child = {**of_batch(2, startedAt=T, stoppedAt=T + 5_000), "arrayProperties": {"index": 3}}
    with pytest.raises(InputError, match="job 2 is an array of 10 jobs, and does not say when each ran") as caught:
        read_workload(written(tmp_path, {"jobs": [child, array]}))
    assert "select(.arrayProperties.size == null)" in str(caught.value.hint)
    assert read(written(tmp_path, {"jobs": [child]})).cores.tolist() == [4]


def test_cpu_units_of_ecs_are_a_thousand_and_twenty_four_to_a_vcpu(tmp_path: Path) -> None:
    """They were taken for vCPUs, 1,024 of which with 2,048 GiB passed."""
    times = {"createdAt": "2026-11-01T10:00:00.5+00:00", "startedAt": "2026-11-01T10:01:00.5+00:00"}
    task = {"taskArn": "arn:1", "containers": [{"cpu": "0"}], "cpu": "512", "memory": "2048", **times}
    found = read(written(tmp_path, {"tasks": [{**task, "stoppedAt": "2026-11-01T11:01:00.5+00:00"}], "failures": []}))
    assert (found.cores.tolist(), found.memory.tolist(), found.duration.tolist()) == ([0.5], [2], [3600])


def test_memory_of_ray_is_in_bytes(tmp_path: Path) -> None:
    """It was not read: each job had 4 GiB for a vCPU."""
    job = {"submission_id": "r1", "start_time": T, "end_time": T + 60_000, "entrypoint_num_cpus": 2}
    found = read(written(tmp_path, [{**job, "entrypoint_memory": 3 << 30}]))
    assert (found.cores.tolist(), found.memory.tolist()) == ([2], [3])


@pytest.mark.parametrize(
    ("document", "told", "hint"),
    [
        (
            {"Event": "SparkListenerApplicationStart", "App ID": "a", "Timestamp": T},
            "Spark's event log",
            ".attempts[] |",
        ),
        (
            [{"id": "a", "attempts": [{"startTime": "x", "sparkUser": "u"}]}],
            "Spark's list of applications",
            ".attempts[",
        ),
        (
            [{"id": "1", "totalCores": 4, "addTime": "x", "isActive": True}],
            "Spark's list of executors",
            "end: .removeT",
        ),
    ],
)
def test_lists_of_spark_are_met_with_what_reads_them(tmp_path: Path, document: object, told: str, hint: str) -> None:
    """Of an event log submissions and ends in several lines were advised; of a list the attempts were not seen."""
    with pytest.raises(InputError, match=told) as caught:
        read_workload(written(tmp_path, document))
    assert hint in str(caught.value.hint)
