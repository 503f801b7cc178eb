"""A workload that is not read as it is: the refusal names what is nearest, and a command that works when copied."""

from __future__ import annotations

import gzip
import json
import re
import shlex
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from hcloud.cli.main import run

CASES = Path(__file__).parent.parent.parent / "cases" / "workloads"
JOBS = "1,2026-11-01T08:00:00,2026-11-01T09:00:00,4,x\n2,2026-11-01T08:30:00,2026-11-01T10:00:00,2,y\n"
HOURS = [f"2026-11-01T{hour:02}:00:00" for hour in range(24)]


def rows(line: str) -> str:
    return "".join(line.format(time=time, n=number) + "\n" for number, time in enumerate(HOURS))


FILES = {
    "other names": ("job,start_time,end_time,vcpus,note\n" + JOBS, "nearest is a table of jobs"),
    "names with blanks": ("Job ID,Start Time (UTC),End Time (UTC),vCPUs,Note\n" + JOBS, "column submit is missing"),
    "a time and a duration": ("date,runtime,cpus\n" + rows("{time},{n}1,2"), "column submit is missing"),
    "three times": (
        "created_at,started_at,finished_at\n0,10,110\n5,,25\n",
        "column submit is missing",
    ),
    "a duration of another name": ("submit,runtime\n0,10\n5,20\n", "column duration is missing"),
    "a column too many": ("submit,duration,colour\n0,10,red\n5,20,blue\n", "unknown column 'colour'"),
    "a series of other names": (
        "when,Date,cpu_cores,comment\n" + rows("x,{time},{n}.5,y"),
        "column timestamp is missing",
    ),
    "machines in percent": (
        "timestamp,web-1,web-2\n" + rows("{time},{n},3"),
        "the unit of 'web-1' is unknown",
    ),
    "machines and a total": ("Time,web-1,web-2,Total\n" + rows("{time},{n}%,3%,7%"), "column 'Total' is no machine"),
    "rows of machines": (
        "timestamp,host,vcpus,zone\n" + rows("{time},a,{n},z"),
        "unknown column 'zone'",
    ),
    "two columns of values": (
        "timestamp,cpu_percent,mem_percent\n" + rows("{time},{n},3"),
        "nearest is a series (machines), for which column value is missing",
    ),
    "decimal commas of jobs": ("submit;duration;cores\n0;10,5;2\n5;20;1,5\n", "line 2, column duration: '10,5'"),
    "decimal commas of a series": ("timestamp;cores\n" + rows("{time};{n},5"), "line 2, column cores: '0,5'"),
    "decimal commas of machines": ("Time;web-1 cores\n" + rows("{time};{n},5"), "line 2, column web-1 cores: '0,5'"),
    "decimal commas of machines in percent": ("Time;web-1;web-2\n" + rows("{time};{n},5;7,5"), "line 2, column web-1"),
    "decimal commas of jobs of other names": (
        "start_time;end_time;vcpus\n0;10,5;1,5\n5;20,5;2,5\n",
        "column submit is missing",
    ),
    "decimal commas of machines in per cent": (
        "timestamp;host;cpu percent\n" + rows("{time};a;{n},5"),
        "line 2, column cpu percent",
    ),
    "memory without a unit": (
        "start_time,end_time,vcpus,mem\n0,100,4,2048\n5,100,4,8192\n",
        "if mem is in MiB (else say GiB or KiB)",
    ),
    "memory without a unit, and vcpus": (
        "submit,end,vcpus,mem\n0,100,4,2048\n5,100,4,8192\n",
        "if mem is in MiB (else say GiB or KiB)",
    ),
}
AT_ONCE = [name for name in FILES if "decimal commas" in name or "memory" in name]
PLANNED = ("other names", "machines in percent")


def refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What a command that fails prints."""
    assert run(words) == 1
    return capsys.readouterr().err


@pytest.mark.parametrize("name", FILES)
def test_the_command_that_a_refusal_prints_plans_the_file(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, says = FILES[name]
    path = tmp_path / "my file.csv"
    path.write_text(text)
    said = refused(["plan", str(path)], capsys)
    assert says in said
    follow(said, capsys, "plan" if name in PLANNED else "workload show", 1 if name in AT_ONCE else 2)


def follow(said: str, capsys: pytest.CaptureFixture[str], verb: str = "workload show", times: int = 2) -> None:
    """Run the command that a refusal prints, under its verb or one that is quicker and reads in the same way; it may
    print another, which then does, as often as it may."""
    for _ in range(times):
        command = re.search(r"hcloud (?:plan|workload show) (.*)$", said, re.MULTILINE)
        assert command is not None, said
        if run([*verb.split(), *shlex.split(command[1])]) == 0:
            return
        said = capsys.readouterr().err
    pytest.fail(said)


BATCH = [
    {"jobArn": f"arn:{n}", "jobName": "etl", "jobId": f"j{n}", "createdAt": 1_793_520_000_000 + n, "stoppedAt": None,
     "startedAt": 1_793_520_060_000, "container": {"vcpus": 2, "memory": 2048, "environment": []}}
    for n in range(3)
]  # fmt: skip


@pytest.mark.parametrize("form", ["lines", "list", "answer", "page"])
def test_jobs_of_aws_batch_as_json_are_read_by_the_command_that_is_printed(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs = [{**job, "stoppedAt": 1_793_523_660_000} for job in BATCH]
    texts = {"lines": "\n".join(map(json.dumps, jobs)), "list": json.dumps(jobs), "answer": json.dumps({"jobs": jobs}),
             "page": json.dumps({"data": {"jobs": jobs, "more": False}, "next": None, "ids": [1, 2]})}  # fmt: skip
    path = tmp_path / "jobs.json"
    path.write_text(texts[form] + "\n")
    said = refused(["workload", "show", str(path), "-o", "json"], capsys)
    command = json.loads(said)["error"]["hint"].removeprefix("read it with: hcloud ")
    assert run(shlex.split(command)) == 0
    figures = json.loads(capsys.readouterr().out)["figures"]
    assert (figures["entries"], figures["core_hours"], figures["peak_at_once_cores"]) == (3, 6.0, 6.0)
    assert figures["mean_memory_gib"] == pytest.approx(6.0, rel=0.02)  # means of 5 min


def test_json_with_several_lists_is_met_with_their_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "jobs.json"
    job = {"startedAt": 0, "stoppedAt": 60}
    path.write_text(json.dumps({"data": {"jobs": [job]}, "nodes": [{"name": "a"}]}))
    said = refused(["workload", "show", str(path)], capsys)
    assert "several lists of objects: data.jobs, nodes; keep one, as jq .data.jobs does" in said


def test_durations_beside_times_in_milliseconds_are_taken_for_such(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Builds of Jenkins were read as a thousand times as long."""
    builds = [{"id": str(n), "timestamp": 1_793_491_200_000 + n, "duration": 1_800_000} for n in range(4)]
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps({"name": "x", "number": 4, "builds": builds}))
    said = refused(["workload", "show", str(path)], capsys)
    assert "if durations are in ms, by its times (else say s), read it with: " in said
    assert run([*shlex.split(said.partition("read it with: hcloud ")[2]), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["figures"]["core_hours"] == 2.0
    ended = [{"start": n * 10**6, "end": n * 10**6 + 3_600_000, "duration": 3600} for n in (1793491, 1793492)]
    path.write_text(json.dumps(ended))
    assert "--set duration_unit=s" in refused(["workload", "show", str(path)], capsys)
    for some, unit in (([300, 1_800_000, 1_800_000], "ms, by its times (else say s)"), ([300, 7200, 60], "s (else")):
        several = [{**builds[at], "duration": length} for at, length in enumerate(some)]
        path.write_text(json.dumps({"name": "x", "number": 3, "builds": several}))
        assert f"if durations are in {unit}" in refused(["workload", "show", str(path)], capsys)


def test_what_aws_batch_asks_for_in_a_list_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of jobs with resourceRequirements the vCPUs were not seen: each counted as one."""
    asks = [{"type": "VCPU", "value": "4"}, {"type": "MEMORY", "value": "2048"}]
    jobs = [{**job, "stoppedAt": 1_793_523_660_000, "container": {"resourceRequirements": asks}} for job in BATCH]
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps({"jobs": jobs}))
    command = refused(["workload", "show", str(path)], capsys).partition("read it with: hcloud ")[2]
    assert run([*shlex.split(command), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)["figures"]
    assert figures["core_hours"] == 12.0
    assert figures["mean_memory_gib"] == pytest.approx(6.0, rel=0.02)


WEEK = "start;end;cpus\n" + "".join(f"2026-11-{d:02}T00:00;2026-11-{d:02}T09:00;1,5\n" for d in range(1, 15))


@pytest.mark.parametrize(
    "words",
    [
        ["plan", "--provider", "gcp", "--region", "us-central1", "my jobs.csv", "-q"],
        ["simulate", "my jobs.csv", "-s", "OdM", "--set", "begin=submit"],
        ["compare", "my jobs.csv", "--seeds=1", "-s", "OdM", "--columns=cores=cpus"],
        ["sweep", "my jobs.csv", "--strategy", "OdM", "--vary", "price_ratio=2", "--decimal", "."],
        ["workload", "validate", "my jobs.csv"],
    ],
)
def test_the_command_that_a_refusal_prints_is_the_users_own_with_what_is_missing(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my jobs.csv").write_text(WEEK)
    assert run(words) == 1
    printed = capsys.readouterr()
    command = re.search(r"read it with: hcloud (.*)$", printed.err + printed.out, re.MULTILINE)
    assert command is not None
    own = shlex.split(command[1])
    assert [word for word in words if word not in own] in ([], ["--columns=cores=cpus"], ["."])
    assert (own.count("--columns"), own.count("--decimal")) == (1, 1)
    assert run(own) == 0


def test_of_several_files_the_command_names_the_one_that_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ours.csv").write_text("submit,duration\n0,10\n")
    Path("theirs.csv").write_text("start,end\n0,10\n")
    assert run(["workload", "validate", "ours.csv", "theirs.csv"]) == 1
    assert "read it with: hcloud workload validate theirs.csv --columns submit=start" in capsys.readouterr().out


@pytest.mark.parametrize("before", ["", "  options: {default_cores: 3, columns: cores=cpus}\n"])
def test_a_workload_of_the_configuration_is_told_what_to_write_there(
    before: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("jobs.csv").write_text(WEEK)
    Path("hcloud.yaml").write_text(f"workload:\n  path: jobs.csv\n{before}")
    assert run(["validate", "--json"]) == 1
    said = next(one["hint"] for one in json.loads(capsys.readouterr().out)["checks"] if one["name"] == "workload")
    options = re.search(r"options: \{.*\}", said)
    assert options is not None
    assert ('"columns": "cores=cpus,submit=start"' in options[0], '"default_cores": "3"' in options[0]) == (
        bool(before),
        bool(before),
    )
    Path("hcloud.yaml").write_text(f"workload:\n  path: jobs.csv\n  {options[0]}\n")
    assert run(["validate"]) == 0


def test_a_folder_is_planned_by_the_command_for_one_of_its_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(f"Time;{name}\n" + rows("{time};{n},5"))
    said = refused(["plan", str(tmp_path)], capsys)
    assert "a.csv: 24 problems" in said
    follow(said, capsys)


def test_a_parquet_table_of_other_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "jobs.parquet"
    start = 1_793_520_000_000
    table = {"begin": [start, start + 7000], "finish": [start + 50_000, start + 90_000], "vcpu": [1, 2], "x": ["", "y"]}
    parquet.write_table(pa.table(table), path)
    said = refused(["plan", str(path)], capsys)
    assert "nearest is a table of jobs (jobs-csv), for which column submit is missing" in said
    assert "--columns submit=begin,end=finish,cores=vcpu" in said
    follow(said, capsys)


@pytest.mark.parametrize(
    ("head", "says", "advice"),
    [
        (b"%PDF-1.7\n", "a PDF", "export the data as CSV"),
        (b"PK\x03\x04\x14\0[Content_Types].xml xl/workbook.xml", "an Excel workbook", "CSV"),
        (b"PK\x03\x04\x14\0data.csv", "a zip archive", "unpack it"),
        (b'{"colour": "red", "size": 3}\n', "its keys: colour, size", "CloudWatch"),
        (b'{"status":"success","data":{"resultType":"vector","result":[]}}', "at one moment", "query_range"),
        (b'{"Reservations": [{"Instances": []}]}', "a list of EC2 instances", "get-metric-data"),
        (b'[{"submit": 1, "duration": 2}, 3]', "is no JSON of jobs", "an object a line"),
        (b'{"submit": 1, "duration": 2}\n{"submit": 1, "dura', "is no JSON of jobs", "an object a line"),
        (b"name,colour\nx,red\n", "for which column submit is missing", "its columns: name, colour"),
        (b"Dear reader,\n", "line 1 begins with 'Dear reader,'", "header"),
        (b"PAR1", "damaged Parquet file", ""),
        (b"JobID     JobName  State\n-----\n", "nearest is sacct's list in columns of fixed width", "sacct -P"),
        (b"JobId SubmitTime Slots\n1 5 2\n", "line 1 begins with", "header"),
        (b"             JOBID PARTITION\n", "a list of squeue, without times", "sacct -P"),
        (b'"JOB_FINISH" "10.1" 1795863660 201 1001 0 4 1795860000 0 0 1795860060 "ann"\n', "LSF's accounting", "awk"),
        (b"\nAccounting information about jobs that are:\n", "LSF's accounting", "lsb.acct > jobs.csv"),
        (b"\nJob <12>, User <ann>, Project <a>\nMon Nov  2\n", "LSF's text for people", "lsb.acct > jobs.csv"),
        (b"JOBID   USER    STAT  QUEUE\n1 ann DONE normal\n", "LSF's text for people", "lsb.acct > jobs.csv"),
        (b"# hostname;interval;timestamp;CPU;%user\na;9;2026-11-02 00:00:00 UTC;-1;7\n", "sadf -d", "$5 + $6 + $7"),
        (b"NAME   STATUS   AGE   DURATION   PRIORITY\n", "argo's table", "argo list -A -o json"),
        (b"- metadata:\n    name: a\n", "argo's YAML", "argo list -A -o json"),
        (b"[JobDetails(type=<JobType.SUBMISSION: 'S'>, job_id='1')]\n", "what 'ray job list' prints", "/api/jobs/"),
        (b"dag_id | run_id | start_date\n=======+========+===\netl | r | 1\n", "Airflow's table", "/taskInstances"),
        (b'[{"TrainingJobArn": "a", "CreationTime": 1}]', "SageMaker's jobs", "describe-training-job"),
        (b'[{"spec": {"launchPlan": {}}, "closure": {"createdAt": 1, "startedAt": 1}}]', "Flyte's", "kubectl get pods"),
        (b"NAMESPACE   NAME   READY\n", "kubectl's table", "kubectl get pods,jobs -A -o json"),
        (b"apiVersion: v1\nitems:\n", "kubectl's YAML", "kubectl get pods,jobs -A -o json"),
        (b"CPUUtilization\nDATAPOINTS\t1\n", "CloudWatch's answer (monitoring) as text", "--output json"),
        (b"Datapoints:\n- Average: 1\n", "as YAML", "--output json"),
        (b"Full label,CPUUtilization\n,i-1\n", "what CloudWatch's console downloads", "get-metric-data"),
        (b'{"MetricDataResults": []}', "CloudWatch's answer (monitoring) without samples", "another time range"),
        (b"Date,EC2 costs($),All costs($)\n2026-11-01,5,5\n", "is no machine's use of CPUs", ""),
    ],
)
def test_files_of_no_format(
    head: bytes, says: str, advice: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "file"
    path.write_bytes(head)
    said = refused(["workload", "show", str(path)], capsys)
    assert says in said
    assert advice in said


@pytest.mark.parametrize(
    ("inside", "says"),
    [
        ({}, "is an empty directory"),
        ({"2026/a.csv": "x"}, "holds no file, only folders: 2026"),
        ({"README.md": "Read me.\n"}, "holds 1 file (README.md), none of which hcloud reads as a workload or as part"),
        (
            {**{f"{n}.md": "x\n" for n in range(3)}, "costs.json": '{"a": 1}'},
            "holds 4 files (3 .md, 1 .json), none of which hcloud reads as a workload or as part of a bill",
        ),
        ({**{f"{n}.md": "x\n" for n in range(3)}, "costs.json": '{"a": 1}'}, "costs.json: is JSON of no format"),
        ({"a.md": "x\n", "b.csv": "x\n"}, "a folder is read as a bill, or as use over time with one file a machine"),
        ({"a.md": "x\n", "b.csv": "date,amount\n2026-01-01,3\n"}, "one file a machine, holds 2 files (a.md, b.csv)"),
        ({"a.json": "{}", "b.csv": "lineItem/UsageStartDate,lineItem/LineItemType\n"}, "was read as a bill, for b.csv"),
        ({"a.csv": "submit,duration\n0,10\n"}, "a folder is read as series"),
        ({"a.csv": "timestamp,cores\n0,1\n60,2\n", "b.csv": "timestamp,cores\n0,1\n60,2\n"}, "holds the same as"),
        ({"a.csv": "timestamp,cores\n0,1\n60,2\n", "b.csv": "colour\nred\n"}, "b.csv: the format is not recognised"),
    ],
)
def test_folders_that_cannot_be_used(
    inside: dict[str, str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in inside.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert says in refused(["workload", "show", str(tmp_path)], capsys)


def test_a_packed_copy_in_a_folder_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = b"timestamp,cores\n0,1\n60,2\n"
    (tmp_path / "a.csv").write_bytes(data)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(data))
    assert "a.csv.gz: holds the same as" in refused(["workload", "show", str(tmp_path)], capsys)


def test_other_files_in_a_folder_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_text("timestamp,cores\n0,1\n60,2\n")
    (tmp_path / "README.md").write_text("Read me.\n")
    (tmp_path / ".hidden").write_text("x")
    assert run(["workload", "show", str(tmp_path)]) == 0
    assert "files of no series" in capsys.readouterr().out
