"""A refusal of a table ends with one command that mends it, where there is one; it is run here."""

from __future__ import annotations

import gzip
import io
import shutil
import subprocess
import sys
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from advised import advised, demand_as_advised, jobs_as_advised

from hcloud.errors import InputError
from hcloud.model.workload import Demand, Jobs
from hcloud.readers.workloads.commands import Advice
from hcloud.readers.workloads.entry import read_workload
from hcloud.readers.workloads.limits import CORES
from hcloud.readers.workloads.options import WorkloadOptions, with_keys

TIMES = "submit,duration\n{},5\n"
GOOD = "submit,duration,cores\n0,5,2\n"
WHOLE = "give the whole answer, or: "
OPTIONS = WorkloadOptions(columns="submit=submit,duration=duration")


def hint_of(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_workload(path)
    return str(caught.value.hint)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (TIMES.format(" 2026-11-01T00:00:00Z "), "take the blanks around cells away"),
        ("submit,duration,cores,memory\n0,5,N/A,NULL\n", "leave cells without a value empty"),
        ("submit,duration,cores\r\n0,5,null\r\n", "leave cells without a value empty"),
        ("Cluster report,,\n,,\n" + GOOD, "leave the lines before it out"),
        (GOOD + "0,5,0\n" * 30, "correct them, or leave these lines out"),
        (GOOD + "0,-5,2\n", "correct what is named, or leave these lines out"),
        (GOOD + "0,5\n", "correct what is named, or leave these lines out"),
        (TIMES.format(1790000000) + "1790000060,\r5\n", "correct what is named, or leave these lines out"),
        ("submit,end\n0,5\n9,8\n", "correct what is named, or leave these lines out"),
        (GOOD.replace("\n", "\r"), "write line feeds"),
        ("submit,duration,app\n0,5,\xe9\n".encode("latin-1"), "if it is Latin-1, convert it"),
        (GOOD.encode("utf-16"), "save it as UTF-8"),
        (gzip.compress(GOOD.encode("utf-16"), mtime=0), "save it as UTF-8"),
        (gzip.compress((GOOD + "0,-5,2\n").encode(), mtime=0), "correct what is named, or leave these lines out"),
        ("  submit   duration\n  ------   --------\n       0          5\n", "write separators"),
        ("submit duration  cores\n0 5 2\n", "write separators"),
        ("duration  submit\n5  2026-11-01 10:00:00\n", "write separators"),
        ("app      duration  submit\na, b, c         5       0\n", "write separators"),
        ("submit_date,duration,submit_time\n2026-11-01,5,10:00:00\n", "write both into one column"),
        ("submit,end_date,end_time\n2026-11-01T10:00:00Z,2026-11-01,10:00:05\n", "write both into one column"),
        ("Resource,/vm1\nMetric,CPU\n\n" + GOOD, "leave the lines before it out"),
        ("date;time;duration\r\n2026-11-01;10:00;5\r\n", "write both into one column"),
    ],
)
def test_the_command_that_a_refusal_names_mends_the_table(tmp_path: Path, data: str | bytes, told: str) -> None:
    """It said what is wrong and left the rest to its reader."""
    path = tmp_path / "my jobs.csv"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    hint = hint_of(path)
    assert hint.startswith(f"{told}: ")
    subprocess.run(["bash", "-c", hint.partition(": ")[2]], cwd=tmp_path, check=True)
    (made,) = (one for one in tmp_path.iterdir() if one != path)
    found = read_workload(made)
    assert isinstance(found, Jobs)
    assert found.duration.tolist() == [5]


def test_what_mends_a_mended_table_writes_another_file(tmp_path: Path) -> None:
    """It emptied the file that it was to read."""
    path = tmp_path / "mended.csv"
    path.write_text(GOOD + "0,-5,2\n")
    subprocess.run(["bash", "-c", hint_of(path).partition(": ")[2]], cwd=tmp_path, check=True)
    assert path.read_text().endswith("-5,2\n")
    assert isinstance(read_workload(tmp_path / "mended-more.csv"), Jobs)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("submitted,seconds,nodes,ppn\n0,5,2,8\n", "nodes times ppn"),
        ("submit,duration,num_node,cores_per_node\n0,5,2,8\n", "num_node times cores_per_node"),
    ],
)
def test_vcpus_that_two_columns_tell_are_computed_by_the_command_that_is_named(
    text: str, at: str, tmp_path: Path
) -> None:
    """Each job took one vCPU whatever they said."""
    path = tmp_path / "jobs.csv"
    path.write_text(text)
    _, _, command = hint_of(path).partition(f"(else say cores=NAME; of {at}: ")
    subprocess.run(["bash", "-c", command.partition("), whatever")[0]], cwd=tmp_path, check=True)
    made = (tmp_path / "mended.csv").read_text().splitlines()
    assert made[1].endswith(",16")
    assert len(made) == len(text.splitlines())


def test_hours_of_vcpus_may_be_many_or_none_but_no_job_has_more_vcpus_than_any(tmp_path: Path) -> None:
    path, options = tmp_path / "jobs.csv", WorkloadOptions(columns="cores=core_hours")
    path.write_text(f"submit,duration,core_hours\n0,2592000,{CORES * 2:g}\n5,3600,0\n")
    found = read_workload(path, options=options)
    assert isinstance(found, Jobs)
    assert found.cores.tolist() == pytest.approx([CORES / 360, 1])
    path.write_text(f"submit,duration,core_hours\n0,1,{CORES:g}\n")
    with pytest.raises(InputError, match="vCPU-hours over the time that a job ran are up to"):
        read_workload(path, options=options)


@pytest.mark.parametrize(
    "text",
    [
        "submitted,minutes,core_hours\n0,30,8\n",
        "submitted,seconds,core_hours\n0,1800,8\n0,0,0\n",
        "submitted,duration_ms,CPU-Hours\r\n0,1800000,8\r\n",
        "submitted,duration_days,vcpuHours\n0,0.5,192\n",
        "submitted,elapsed,CPU Core Hours\n0,00:30:00,8\n",
        "submitted,elapsed,core_hours\n0,00:30:00,8\n",
        "submit,duration,core_hours\n0,1800,8\n",
        "start,end,cpu_hours\n2026-11-01T10:00Z,2026-11-01T10:30Z,8\n",
    ],
)
def test_hours_of_vcpus_are_vcpus_over_the_time_that_each_job_ran(text: str, tmp_path: Path) -> None:
    """Each job took one vCPU, and no command made more of them where a start and an end say how long it ran."""
    path = tmp_path / "jobs.csv"
    path.write_text(text)
    found = jobs_as_advised(path)
    assert found.cores.tolist() == [16]
    assert "read as vCPU-hours, over the time that each job ran" in [rule.rule for rule in found.provenance.modelled]


@pytest.mark.parametrize(
    "text",
    [
        "job_id,creation_time,start_time,end_time,total_slot_ms\na,0,5,3605,36000000\nb,9,9,9,0\n",
        "job_id,creation_time,start_time,end_time,total_slot_ms\na,0,5,3605,36000000\nb,9,9,19,100000\n",
        '[{"id": "a", "startedTime": 1793520000000, "elapsedTime": 60000, "vcoreSeconds": 600}]',
        "id,timestamp,duration,cores\na,1793520000000,90000,10\nb,1793520060000,250000,10\n",
        "key,period_start_time,period_end_time,vcpus\n7,2026-09-01T00:00:00Z,2026-09-01T01:00:00Z,10\n",
        "key,period_start_time,period_end_time,vcpus,run_duration_seconds\n"
        "7,2026-09-01T00:00:00Z,2026-09-01T01:00:00Z,10,60\n",
    ],
)
def test_what_other_systems_say_of_the_size_of_jobs_is_read_by_the_command_of_the_refusal(
    text: str, tmp_path: Path
) -> None:
    """Each query of BigQuery took one vCPU, and jobs with an id and a duration were demand at their moments."""
    path = tmp_path / "jobs.csv"
    path.write_text(text)
    found = jobs_as_advised(path)
    assert set(found.cores.tolist()) == {10}
    assert found.duration.max() in (60, 250, 3600)


@pytest.mark.parametrize(
    "text",
    [
        'submitted,seconds,name,nodes,ppn\n0,5,"a, b",2,8\n',
        "submitted,seconds,nodes,ppn\n0,5,2:ppn=8,8\n",
    ],
)
def test_no_command_computes_vcpus_of_what_are_no_plain_numbers(text: str, tmp_path: Path) -> None:
    """Of 8 hours in 00:30:00 it made 28,800 vCPUs, and of a comma in a cell those of other columns."""
    path = tmp_path / "jobs.csv"
    path.write_text(text)
    assert "if each job takes 1 vCPU (else say cores=NAME), whatever" in hint_of(path)


def test_no_command_joins_days_and_times_below_a_line_that_says_the_separator(tmp_path: Path) -> None:
    """Its first line became the names, and the names a row."""
    path = tmp_path / "use.csv"
    path.write_text("sep=,\ndate,time,cores\n2026-05-01,10:00:00,2\n")
    assert hint_of(path) == "write both into one column"


def test_use_whose_columns_single_blanks_separate_and_text_of_sar_are_known(tmp_path: Path) -> None:
    """Both needed a header line."""
    path = tmp_path / "use.txt"
    path.write_text("timestamp cpu\n1790000000 2\n")
    assert hint_of(path).startswith("write separators: sed ")
    path.write_text("Job Name  Submit  Duration\nmy job  0  5\n")
    subprocess.run(["bash", "-c", hint_of(path).partition(": ")[2]], cwd=tmp_path, check=True)
    assert (tmp_path / "mended.csv").read_text() == "Job Name,Submit,Duration\nmy job,0,5\n"
    path.write_text("Linux 5.15.0-91 (web1)  10/01/2026  _x86_64_ (4 CPU)\n\n12:00:01 AM  CPU  %user\n")
    assert hint_of(path).startswith("sadf -d -- -u > FILE; awk ")
    path.write_text("NAME   CPU(cores)   MEMORY(bytes)\nweb-1  250m         128Mi\n")
    assert hint_of(path).startswith("(echo time,pod,cpu,memory; while sleep 60; do kubectl top pods -A ")
    path.write_text("NAME   CPU(cores)   CPU%   MEMORY(bytes)   MEMORY%\nnode-1 250m  12%  128Mi  3%\n")
    asked = "while sleep 60; do kubectl top nodes --no-headers"
    command = hint_of(path).replace(asked, f"for i in 1 2; do sed 1d {path}").replace("$(date +%s)", "$((i * 60))")
    subprocess.run(["bash", "-c", command], cwd=tmp_path, check=True)
    found = read_workload(tmp_path / "use.csv")
    assert isinstance(found, Demand)
    assert (found.cores.tolist(), found.memory.tolist()) == ([0.25] * 2, [0.125] * 2)


def test_rows_that_are_there_twice_and_sizes_of_executors_are_asked_about(tmp_path: Path) -> None:
    """Such jobs counted twice without a word, those of 10 times 4 vCPUs as one, and of five minutes as five days."""
    path = tmp_path / "jobs.csv"
    path.write_text("job_id,start_time,end_time,vcpus\na,0,60,4\na,0,60,4\n")
    assert "if rows that are there twice are jobs of their own (else leave them out: awk" in hint_of(path)
    path.write_text("job_id,start_time,end_time,vcpus\na,0,60,4\na,60,90,4\n")
    assert hint_of(path).startswith("read it with: ")
    path.write_text("job_id,submitted_at,duration,cpus\na,0,250000,4\nb,1,450000,4\n")
    assert hint_of(path).startswith("if durations are in s (else say ms), read it with: ")
    path.write_text("app,startTime,endTime,executorCores,numExecutors\na,0,60,4,10\n")
    assert "of num_executors times executor_cores: awk " in hint_of(path)


@pytest.mark.parametrize(
    ("header", "rows", "expected"),
    [
        ("date,team,cpu_hours", "2026-09-01,a,48\n2026-09-02,a,24\n", [2, 1]),
        ("Horodatage,Serveur,Utilisation CPU (%)", "2026-09-01 10:00,a,50\n2026-09-01 10:05,a,25\n", [2, 1]),
    ],
)
def test_use_is_read_by_what_its_cells_and_its_unit_say(
    header: str, rows: str, expected: list[float], tmp_path: Path
) -> None:
    """Hours of vCPUs a day were so many vCPUs at once, 24 times what there was; and French names needed four flags."""
    path = tmp_path / "more.csv"
    path.write_text(f"{header}\n{rows}")
    found = demand_as_advised(path, 4)
    assert found.cores.tolist() == expected


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("hour,cores\n22,1\n23,1\n0,1\n1,1\n", [79200, 82800, 86400, 90000]),
        ("hour,cores\r\n0,1\r\n0.5,1\r\n1,1\r\n", [0, 1800, 3600]),
        (
            "hour,cores\n" + "".join(map("{},1\n".format, [h % 24 for h in range(1100) if h != 1050])) + "\n",
            [*range(0, 3_960_000, 3600)],
        ),
        ("job,submit_hour,duration_s,cores\na,0,60,1\nb,1.5,60,1\n", [0, 5400]),
    ],
)
def test_hours_are_written_as_seconds(text: str, begins: list[int], tmp_path: Path) -> None:
    """The hint was to name them as times, which are seconds: of a day were 23 seconds."""
    path = tmp_path / "hours.csv"
    path.write_text(text)
    command = hint_of(path).partition(": ")[2].replace(str(path), "hours.csv")
    subprocess.run(["bash", "-c", command], cwd=tmp_path, check=True)
    columns = "id=job,duration=duration_s" if "job" in text else ""
    found = read_workload(tmp_path / "mended.csv", options=WorkloadOptions(columns=columns))
    times = found.submit if isinstance(found, Jobs) else found.start + found.step_seconds * np.arange(len(found))
    assert times.tolist() == begins


_TOP = "NAME   CPU(cores)   CPU%   MEMORY(bytes)   MEMORY%\nnode-1 250m  12%  128Mi  3%\n"


@pytest.mark.parametrize(
    "text",
    [
        f"Tue Sep  1 10:00:00 UTC 2026\n{_TOP}Tue Sep  1 10:01:00 UTC 2026\n{_TOP}",
        f"2026-09-01T10:00:00Z\n{_TOP}2026-09-01T10:01:00Z\n{_TOP}",
        "2026-09-01T10:00:00Z web a-1 250m 128Mi\n2026-09-01T10:01:00Z web a-1 250m 128Mi\n",
    ],
)
def test_kubectl_top_in_a_loop_is_made_a_table(text: str, tmp_path: Path) -> None:
    """It needed a header line, whatever stood in its lines."""
    path = tmp_path / "FILE"
    path.write_text(text)
    subprocess.run(["bash", "-c", hint_of(path)], cwd=tmp_path, check=True)
    found = read_workload(tmp_path / "use.csv")
    assert isinstance(found, Demand)
    assert (found.start, found.cores.tolist(), found.memory.tolist()) == (1788256800, [0.25] * 2, [0.125] * 2)


@pytest.mark.parametrize(
    "text",
    [
        "submit,duration,cores,memory\n0,5,1,512Mi\n1,5,1,536870912\n2,5,1,524288Ki\n3,5,1,0.5Gi\n",
        "time,pod,cpu,mem\n0,a,300m,512Mi\n60,a,300m,524288Ki\n",
    ],
)
def test_memory_of_cells_with_units_is_read_by_the_command(text: str, tmp_path: Path) -> None:
    """Lines with bytes were to be left out, and the memory of pods was."""
    path = tmp_path / "more.csv"
    path.write_text(text)
    assert set(read_workload(path, options=advised(path)).memory.tolist()) == {0.5}


def test_use_that_dstat_writes_below_its_titles_is_made_a_table(tmp_path: Path) -> None:
    path = tmp_path / "FILE"
    rows = "1790000000,2.5,0.5,96,1,0,0,9\n1790000001,7,2,90,1,0,0,9\n"
    path.write_text(
        '"Dstat 0.7.2 CSV output"\n"Host:","web",,,,"User:","ops"\n\n"epoch","total cpu usage",,,,,,"memory usage"\n'
        f'"epoch","usr","sys","idl","wai","hiq","siq","used"\n{rows}'
    )
    subprocess.run(["bash", "-c", hint_of(path)], cwd=tmp_path, check=True)
    found = read_workload(tmp_path / "use.csv", options=WorkloadOptions(series_cores=10))
    assert isinstance(found, Demand)
    assert found.cores.tolist() == pytest.approx([0.3, 0.9])


@pytest.mark.skipif(shutil.which("jq") is None, reason="needs jq")
@pytest.mark.parametrize(
    ("text", "made"),
    [
        (
            '{"metric": {"pod": "used"}, "values": [1.5, 2.5], "timestamps": [1790000000000, 1790000300000]}\n',
            "csv",
        ),
        ('[{"metric": {"pod": "a"}, "values": [[1790000000, "1.5"], [1790000300, "2.5"]]}]\n', "json"),
    ],
)
def test_series_of_victoriametrics_or_a_part_of_an_answer_of_prometheus_are_made_what_is_read(
    text: str, made: str, tmp_path: Path
) -> None:
    path = tmp_path / "FILE"
    path.write_text(text)
    subprocess.run(["bash", "-c", hint_of(path).removeprefix(WHOLE)], cwd=tmp_path, check=True)
    found = read_workload(tmp_path / f"use.{made}", options=WorkloadOptions(series_value="cores"))
    assert isinstance(found, Demand)
    assert (found.step_seconds, found.cores.tolist()) == (300, [1.5, 2.5])


def test_jobs_without_a_submission_are_met_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("submit,end\n,5\n0,8\n")
    assert hint_of(path).startswith("write the oldest time there for jobs that began before; of jobs that never ran, ")


def test_on_standard_input_the_command_that_mends_is_one_of_a_pipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(GOOD + "0,-5,2\n")
    with path.open() as given:
        monkeypatch.setattr("sys.stdin", given)
        assert hint_of(Path("-")).endswith("leave these lines out: PROGRAM | sed '3d' | hcloud plan -")


def test_a_list_for_people_with_empty_cells_is_met_with_what_prints_a_table(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text("USER     PID  COMMAND\nroot       1  init\nroot       2\nann        3  vi a b\n")
    assert hint_of(path).startswith("some of its cells are empty or hold blanks: let the program that printed it")


def test_good_cells_beside_a_bad_one_are_judged_once(tmp_path: Path) -> None:
    """One bad cell among two million rows took six times as long to be named as all of them take to be read."""
    path, rows = tmp_path / "jobs.csv", 2000
    path.write_text("submit,duration,cores,kind\n" + "60,5,2,batch\n" * rows + "60,5,two,batch\n")
    hint_of(path)  # imports are over now
    calls: list[str] = []
    sys.setprofile(lambda frame, event, _: calls.append(frame.f_code.co_name) if event == "call" else None)
    try:
        assert hint_of(path).startswith("correct what is named")
    finally:
        sys.setprofile(None)
    assert len(calls) < 8 * rows


def test_what_would_make_other_cells_wrong_is_no_command(tmp_path: Path) -> None:
    """For one comma among points --decimal , was advised, with which the others were to be left out."""
    path = tmp_path / "jobs.csv"
    path.write_text('submit,duration,cores\n0,60,2\n1,60,"1,5"\n2,60,2.5\n')
    assert hint_of(path) == ("write all cells in one way: with decimal , '2.5' would be wrong (line 4, column cores)")
    path.write_text('submit,duration,cores\n0,60,2\n1,60,"1,5"\n2,60,x\n')
    assert hint_of(path).endswith("--decimal ,")
    path.write_text("submit,duration,cores\n" + '0,60,"1,5"\n' * 1001 + "2,60,x\n")  # more than are named
    assert hint_of(path).endswith("--decimal ,")
    path.write_text("submit,start,end\n0,1,5\n1,2,\n2,3,1\n")  # a job that ended before it began
    assert hint_of(path).endswith("--set open_ends=run")


def test_commas_between_thousands_are_not_taken_for_decimals_without_a_word(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text('submit,duration\n0," 1,234"\n1,"1,234,567"\n')
    told = "take the commas between thousands out: "
    hint = hint_of(path)
    assert hint.startswith(told)
    subprocess.run(["bash", "-c", hint.removeprefix(told).partition("; or ")[0]], cwd=tmp_path, check=True)
    found = read_workload(tmp_path / "mended.csv")
    assert isinstance(found, Jobs)
    assert found.duration.tolist() == [1234, 1234567]
    path.write_text('submit,duration\n0," 1,234"\n1,1.5\n')
    assert hint_of(path).startswith(told)
    path.write_text('"submit";duration\n0;1,234\n')
    assert hint_of(path).startswith("if its commas stand before decimals (take those between thousands out), read it")


@pytest.mark.parametrize("header", ['"Time","web"', "note,Time,CPU usage,zone"])
@pytest.mark.parametrize(
    "above", ["Percentage CPU (Avg) of web,\nResource group,shop\n\n", '"CPU of web"\n', "CPU,Time range: 1 week\n"]
)
def test_titles_above_one_machine_are_left_out(above: str, header: str, tmp_path: Path) -> None:
    path = tmp_path / "portal.csv"
    row = "2026-11-01 10:{},{}" if "web" in header else "x,2026-11-01 10:{},{},a"
    path.write_text("\n".join([above + header, row.format("00", 4), row.format("05", 5)]))
    told, _, command = hint_of(path).partition(": ")
    assert told == "leave the lines before it out"
    subprocess.run(["bash", "-c", command], cwd=tmp_path, check=True)
    columns = "" if "web" in header else "timestamp=Time,value=CPU usage"
    found = read_workload(tmp_path / "mended.csv", options=WorkloadOptions(series_value="cores", columns=columns))
    assert isinstance(found, Demand)
    assert found.cores.tolist() == [4, 5]


@pytest.mark.parametrize(
    ("table", "told", "mended"),
    [
        (
            "time,host,cpu_pct,ncpu\n{0},a,50,4\n{0},b,,16\n{1},b,25,16\n",
            "if ncpu has the vCPUs of each machine, write those in use",
            "time,host,cores\n{0},a,2\n{0},b,\n{1},b,4\n",
        ),
        (
            "Date,Hour,a,b\n2026-11-01,0,2,4\n2026-11-01,13,2,4\n",
            "write both into one column",
            "timestamp,a,b\n2026-11-01 00:00,2,4\n2026-11-01 13:00,2,4\n",
        ),
    ],
)
def test_what_a_column_beside_says_of_use_is_written_into_its_values_or_times(
    table: str, told: str, mended: str, tmp_path: Path
) -> None:
    """Four vCPUs were taken for all machines, and hours of the day for the use of one."""
    times = "2026-11-01 10:00", "2026-11-01 10:05"
    (path := tmp_path / "use.csv").write_text(table.format(*times))
    said, _, command = hint_of(path).partition(": ")
    assert said == told
    subprocess.run(["bash", "-c", command.partition("; else columns")[0]], cwd=tmp_path, check=True)
    assert (tmp_path / "mended.csv").read_text() == mended.format(*times)


@pytest.mark.parametrize("mark", ",|")
@pytest.mark.parametrize(
    "times",
    ["Nov  1 {}", "Sun Nov  1 {} L", "11-01 {}", "11-01T{}", "01-11 {}", "01.11. {}", "1.11 {}", "1/11 {}", " 1/11 {}"],
)
def test_times_without_a_year_are_met_with_what_prints_it_or_puts_this_one_in(
    times: str, mark: str, tmp_path: Path
) -> None:
    path, began, ended = tmp_path / "jobs.csv", times.format("10:00"), times.format("11:00")
    table = f"id|submit|end|memory\nJan 3 a|{began}|{ended}|3.5 GB\nb|{began}|{ended}|3.5 GB\n"
    path.write_text(table.replace("|", mark))
    told, _, command = hint_of(path).partition("; if all are of this year: ")
    assert told.startswith("print times with their year (of LSF: LSB_DISPLAY_YEAR=Y)")
    subprocess.run(["bash", "-c", command], cwd=tmp_path, check=True)
    options = WorkloadOptions(dates="month-first" if times.startswith("11") else "day-first")
    found = read_workload(tmp_path / "mended.csv", options=options)
    assert isinstance(found, Jobs)
    assert (found.duration.tolist(), found.memory.tolist()) == ([3600, 3600], [3.5, 3.5])
    assert found.submit[0] == datetime(datetime.now(UTC).year, 11, 1, 10, tzinfo=UTC).timestamp()


def test_a_column_that_is_there_twice_is_refused_where_it_is_read_alone(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("submit,duration,cores,cores\n0,5,2,3\n")
    assert hint_of(path) == "give all of them but one another name in the header"
    path.write_text("submit,duration,note,note\n0,5,2,3\n")
    assert len(read_workload(path, options=OPTIONS)) == 1


def test_points_that_may_stand_between_thousands_are_asked_about(tmp_path: Path) -> None:
    """7.200 s of a table with semicolons counted as 7.2, and were refused beside decimal commas."""
    path = tmp_path / "jobs.csv"
    path.write_text("submit;duration;cores\n0;7.200;8\n9;1.234.567;64\n")
    assert hint_of(path).startswith("if points stand between thousands (else say .), read it with: ")
    for text, mark, expected in (
        (path.read_text(), ",", [7200, 1234567]),
        ("submit;duration;cores\n0;7.200,5;8\n", ",", [7200.5]),
        ("submit;duration;cores\n0;7.200;8\n", ".", [7.2]),
        ("submit;duration;cores\n0;7.200;0.5\n", "auto", [7.2]),
        ("submit,duration,cores\n0,7.200,8\n", "auto", [7.2]),
    ):
        path.write_text(text)
        found = read_workload(path, options=with_keys(WorkloadOptions(), {"decimal": mark}))
        assert isinstance(found, Jobs)
        assert found.duration.tolist() == expected
    for odd in (" 7.200 ;8;", '"7.200";8;', "7;8;1.500 MB"):
        path.write_text(f"submit;duration;cores;memory\n0;{odd}\n")
        assert "(else say .)" in hint_of(path)
    path.write_text("submit;duration;cores;app\n0;7200;8;1.200\n")
    assert len(read_workload(path, options=OPTIONS)) == 1, "names have points"
    path.write_text("timestamp;a;b\n01.11.2026;7.200;1\n02.11.2026;0.125;1\n")
    with pytest.raises(InputError, match=r"'0\.125'"):
        read_workload(path, options=WorkloadOptions(decimal=",", dates="day-first"))
    path.write_text("timestamp;a;b\n01.11.2026;7.200;1\n02.11.2026;8;1\n")
    assert "(else say .)" in hint_of(path)
    found = read_workload(
        path, options=WorkloadOptions(series_value="cores", dates="day-first", decimal=",", max_gap_seconds=90_000)
    )
    assert isinstance(found, Demand)
    assert found.cores.max() == 7201


@pytest.mark.parametrize("name", ["id", "Job ID"])
def test_ids_that_repeat_are_met_with_the_command_that_reads_all_rows(tmp_path: Path, name: str) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(f"{name},submit,duration\na,0,5\na,0,6\n")
    named = WorkloadOptions(columns=f"id={name},submit=submit,duration=duration")
    with pytest.raises(InputError) as caught:
        read_workload(path, options=named)
    assert isinstance(caught.value.hint, Advice)
    columns = caught.value.hint.keys["columns"]
    found = read_workload(path, options=WorkloadOptions(columns=columns))
    assert isinstance(found, Jobs)
    assert found.duration.tolist() == [5, 6]
    found = read_workload(path, options=caught.value.hint.on(named))  # it named the column of ids again
    assert isinstance(found, Jobs)


def test_a_table_of_jobs_with_six_columns_apart_by_tabs_is_none_of_swim(tmp_path: Path) -> None:
    """Names of columns were refused as numbers of SWIM."""
    path = tmp_path / "jobs.tsv"
    path.write_text("Job ID\tSubmit Time\tElapsed\tCPUs\tMemory (GiB)\tApp\nj1\t1790000000\t60\t2\t4\tx\n")
    assert "submit=Submit Time,duration=Elapsed" in hint_of(path)


@pytest.mark.parametrize("options", [WorkloadOptions(), OPTIONS])
def test_a_zip_archive_of_one_file_is_read_and_one_of_several_is_refused_as_such(
    tmp_path: Path, options: WorkloadOptions
) -> None:
    """With --columns its header was told to be no UTF-8."""
    packed, path = io.BytesIO(), tmp_path / "jobs.csv.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("jobs.csv", "submit,duration\n0,5\n")
        archive.writestr("__MACOSX/jobs.csv", "x")
    path.write_bytes(packed.getvalue())
    found = read_workload(path, options=options)
    assert isinstance(found, Jobs)
    assert (found.duration.tolist(), found.provenance.name) == ([5], str(path))
    with zipfile.ZipFile(packed, "a") as archive:
        archive.writestr("more.csv", "submit,duration\n0,5\n")
    path.write_bytes(packed.getvalue())
    with pytest.raises(InputError, match="is a zip archive, not a workload"):
        read_workload(path, options=options)


def test_a_command_that_mends_some_of_the_cells_alone_is_not_advised(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("submit,duration,cores\n0,NaN,2\n10,-5,2\n20,60,2\n")
    with pytest.raises(InputError) as refused:
        read_workload(path)
    assert "leave these lines out: sed '2d; 3d'" in refused.value.hint
    odd = "Nov 1 2026 10:00 IST,60\n"
    for count in (1, 2, 3, 30):
        path.write_text("submit,duration\n" + odd * count)
        assert not hint_of(path), "no command leaves all jobs out"
    path.write_text("submit,duration\n" + odd * 3 + "60,60\n")
    assert "leave these lines out: sed '2d; 3d; 4d'" in hint_of(path), "it took the last bad line for the table's end"
