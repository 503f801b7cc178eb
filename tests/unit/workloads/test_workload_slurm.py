"""Slurm's accounting as a workload: sacct's table, its JSON of several versions, and the file of jobcomp/filetxt."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcloud.errors import InputError, UsageError
from hcloud.model.workload import Jobs
from hcloud.readers.workloads.entry import read_workload
from hcloud.readers.workloads.formats.jobs.recorded import FEATURES, NO_ZONE
from hcloud.readers.workloads.formats.jobs.slurm import COMMAND, STEP
from hcloud.readers.workloads.options import WorkloadOptions

TABLE = """\
JobID|JobName|Submit|Start|End|AllocCPUS|ReqMem|NNodes|AllocTRES|QOS|State
101|train|2026-11-01T08:00:00|2026-11-01T08:10:00|2026-11-01T10:10:00|4|16Gn|1|billing=4,cpu=4,mem=16G,node=1|normal|OK
101.batch|batch||2026-11-01T08:10:00|2026-11-01T10:10:00|4||1|cpu=4,mem=16G,node=1||OK
102_1|array|2026-11-01T08:00:00|2026-11-01T08:00:05|2026-11-02T08:00:05|2|4Gc|1||normal|FAILED
103|mpi|2026-11-01T09:00:00|2026-11-01T09:05:00|2026-11-01T12:05:00|128|2000Mn|4|cpu=128,node=4,gres/gpu=8|high|OK
104|never|2026-11-01T09:00:00|Unknown|Unknown|0|1G|1||normal|PENDING
105|gone|2026-11-01T09:00:00|None|2026-11-01T09:10:00|0|1G|1||normal|CANCELLED by 1000
"""
FILETXT = (
    "JobId=7 UserId=root(0) GroupId=root(0) Name=my job JobState=COMPLETED Partition=p TimeLimit=UNLIMITED "
    "StartTime=2026-11-01T08:00:05 EndTime=2026-11-01T08:20:05 NodeList=n1 NodeCnt=1 ProcCnt=2 WorkDir=/tmp "
    "ReservationName= Tres=cpu=2,mem=3G,node=1,billing=2 Account= QOS=normal WcKey= Cluster=unknown "
    "SubmitTime=2026-11-01T08:00:00 EligibleTime=2026-11-01T08:00:00 DerivedExitCode=0:0 ExitCode=0:0 \n"
)
START = 1_793_520_000
"""2026-11-01T08:00:00Z."""


def wrapped(number: int) -> dict[str, object]:
    """As later versions write a number that may be missing."""
    return {"set": True, "infinite": False, "number": number}


def answer(*, later: bool) -> dict[str, Any]:
    """What sacct --json tells of two jobs; ``later``: with wrapped numbers."""
    number = wrapped if later else (lambda value: value)
    begun = {"submission": START, "start": START + 600, "end": START + 7800, "elapsed": 7200}
    waits = {"submission": START, "start": 0, "end": 0, "elapsed": 0}
    tres = [{"type": "cpu", "name": "", "id": 1, "count": 4}, {"type": "mem", "name": "", "id": 2, "count": 16384}]
    gpus = [*tres, {"type": "gres", "name": "gpu", "id": 1001, "count": 2}]
    common = {"array": {"job_id": 0, "task_id": number(0) if later else None}, "qos": "normal"}
    first = {"job_id": 101, "name": "train", "time": begun, "allocation_nodes": 1, "tres": {"allocated": gpus}}
    second = {"job_id": 102, "name": "waits", "time": waits, "allocation_nodes": 0, "tres": {"allocated": []}}
    asks = {"CPUs": 4, "memory_per_cpu": number(4096), "memory_per_node": None}
    return {"meta": {"Slurm": {}}, "jobs": [{**common, **job, "required": asks} for job in (first, second)]}


def jobs(path: Path) -> Jobs:
    found = read_workload(path)
    assert isinstance(found, Jobs)
    return found


def test_the_table_of_sacct(tmp_path: Path) -> None:
    path = tmp_path / "jobs.txt"
    path.write_text(TABLE)
    found = jobs(path)
    assert found.provenance.format == "slurm"
    assert [i.decode() for i in found.ids] == ["101", "102_1", "103"] if found.ids is not None else False
    assert list(found.submit - START) == [0, 0, 3600]
    assert list(found.duration) == [7200, 86400, 10800]
    assert list(found.cores) == [4, 2, 128]
    assert list(found.memory) == [16, 8, 4 * 2000 / 1024]
    assert list(found.gpus) == [0, 0, 8]
    assert [found.apps[code] for code in found.app] == ["train", "array", "mpi"]
    assert found.provenance.left_out == {"never began": 2, "a step of a job that is listed": 1}
    assert found.divisible is not None
    assert list(found.divisible) == [-1, -1, 1], "a job over several nodes is split already"


def test_features_that_jobs_ask_for_are_not_dropped_in_silence(tmp_path: Path) -> None:
    """Jobs that need a family of machines were planned on any type, and no screen said so."""
    table, listing = tmp_path / "jobs.txt", tmp_path / "jobs.json"
    asked = ("Constraints", "icelake", "", "(null)", "a100", "", "")
    rows = [f"{line}|{what}" for line, what in zip(TABLE.splitlines(), asked, strict=True)]
    table.write_text("\n".join(rows) + "\n")
    document = answer(later=True)
    document["jobs"][0] |= {"constraints": "icelake", "tres": {"allocated": []}}
    listing.write_text(json.dumps(document))
    for path in (table, listing):
        said = [rule.rule for rule in jobs(path).provenance.modelled if rule.column == FEATURES]
        assert len(said) == 1, path
        assert said[0].startswith("not read: 1 job asks for 'icelake', and may be planned on any type"), "GPUs apart"
    table.write_text(TABLE)
    assert not [rule for rule in jobs(table).provenance.modelled if rule.column == FEATURES]


@pytest.mark.parametrize("later", [False, True])
def test_the_json_of_sacct_is_the_same_jobs(tmp_path: Path, later: bool) -> None:
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps(answer(later=later), indent=2))
    found = jobs(path)
    row = (found.submit[0] - START, found.duration[0], found.cores[0], found.memory[0], found.gpus[0])
    assert row == (0, 7200, 4, 16, 2)
    assert found.provenance.left_out == {"never began": 1}


def test_the_file_of_jobcomp(tmp_path: Path) -> None:
    path = tmp_path / "jobcomp"
    path.write_text(FILETXT + FILETXT.replace("JobId=7", "JobId=8 ArrayJobId=6 ArrayTaskId=2"))
    found = jobs(path)
    assert found.ids is not None
    assert [i.decode() for i in found.ids] == ["7", "6_2"]
    assert (found.cores[0], found.memory[0], found.duration[0]) == (2, 3, 1200)
    assert found.apps == ("my job",)


def test_manners_of_files(tmp_path: Path) -> None:
    plain, odd = tmp_path / "plain", tmp_path / "odd.gz"
    plain.write_text(TABLE)
    trailing = "".join(line + "|\r\n" for line in TABLE.splitlines())
    odd.write_bytes(gzip.compress(("\ufeff" + trailing.replace("JobID", "JobIDRaw", 1)).encode()))
    assert np.array_equal(jobs(plain).duration, jobs(odd).duration)


def test_jobs_that_still_run_and_jobs_that_ran_more_than_once_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "jobs.txt"
    head = "JobID|Submit|Start|End|Elapsed|NCPUS\n"
    again = "1|2026-11-01T08:00:00|2026-11-01T08:00:00|2026-11-01T08:30:00|00:30:00|2\n"
    runs = "2|2026-11-01T08:00:00|2026-11-01T08:00:00|Unknown|1-02:03:04.5|2\n"
    path.write_text(head + again + again + runs)
    found = jobs(path)
    assert list(found.duration) == [1800, 1800, 93784.5]
    assert sum(found.provenance.repaired.values()) == 2 + 3, "and three have no memory"
    assert found.ids is not None
    assert [i.decode() for i in found.ids] == ["1", "1#2", "2"]


def test_the_command_that_hcloud_names_lists_what_jobs_that_still_run_need(tmp_path: Path) -> None:
    columns = COMMAND.split(" -o ")[1].split(",")
    runs = {"JobID": "7", "Submit": "2026-11-01T08:00:00", "Start": "2026-11-01T08:00:00", "End": "Unknown"}
    runs |= {"Elapsed": "00:20:00", "AllocCPUS": "2", "NNodes": "1", "State": "RUNNING"}
    path = tmp_path / "jobs.txt"
    path.write_text("|".join(columns) + "\n" + "|".join(runs.get(c, "") for c in columns) + "\n")
    assert list(jobs(path).duration) == [1200]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("2026-11-01T10:10:00|4|16Gn", "yesterday|4|16Gn", "line 2, column End"),
        ("2026-11-01T10:10:00|4|16Gn", "2026-11-01T07:10:00|4|16Gn", "not before the start"),
        ("|2|4Gc|", "|2|4 apples|", "line 4, column ReqMem"),
        ("|2|4Gc|", "|-2|4Gc|", "line 4, column AllocCPUS"),
        ("|array|", "|ar|ray|", "12 cells for 11 columns"),
        ("102_1|", "|", "column JobID"),
    ],
)
def test_a_bad_cell_is_named_with_its_place(tmp_path: Path, old: str, new: str, says: str) -> None:
    path = tmp_path / "jobs.txt"
    path.write_text(TABLE.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        jobs(path)
    assert says in " ".join(map(str, caught.value.problems))


def test_a_list_without_times_says_what_to_ask_for(tmp_path: Path) -> None:
    path = tmp_path / "jobs.txt"
    path.write_text("JobID|JobName|Partition|Account|AllocCPUS|State|ExitCode\n1|a|p|x|1|COMPLETED|0:0\n")
    with pytest.raises(InputError, match="no column start and submit and end") as caught:
        jobs(path)
    assert caught.value.hint is not None
    assert "sacct -P -X -D -a" in caught.value.hint
    path.write_text("JobID|run_start|Run Time|CPU Count\n1|1790000000|60|4\n")  # of another scheduler
    with pytest.raises(InputError, match="nearest is a table of jobs"):
        jobs(path)


SAME = """\
JobID,JobName,Submit,Start,End,Elapsed,AllocCPUS,ReqMem
101+0,train,2026-11-01T08:00:00,2026-11-01T08:10:00,2026-11-01T10:10:00,02:00:00,4,16G
101+0.batch,batch,2026-11-01T08:10:00,2026-11-01T08:10:00,2026-11-01T10:10:00,02:00:00,4,
102_1,array,2026-11-01T08:00:00,2026-11-01T08:00:05,2026-11-02T08:00:05,1-00:00:00,2,8G
102_1.0,array,2026-11-01T08:00:05,2026-11-01T08:00:05,2026-11-02T08:00:05,1-00:00:00,2,
"""


@pytest.mark.parametrize("separator", ["|", ",", ";", "\t"])
def test_a_table_of_sacct_is_known_whatever_separates_its_columns(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(SAME.replace(",", separator))
    found = jobs(path)
    assert found.provenance.format == "slurm"
    assert list(found.duration) == [7200, 86400]
    assert found.provenance.left_out == {STEP: 2}


def test_cells_that_a_spreadsheet_quoted_are_read(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    tres = '"billing=4,cpu=4,mem=16G"'
    lines = [f"{line},{tres if i else 'AllocTRES'}" for i, line in enumerate(SAME.splitlines())]
    path.write_text("\n".join(lines) + "\n")
    assert list(jobs(path).memory) == [16, 16]
    path.write_text("\n".join(lines).replace('"', "") + "\n")
    with pytest.raises(InputError) as caught:
        jobs(path)
    assert "ask with sacct -P" in caught.value.problems[0].allowed


def test_a_frame_of_sacct_counts_no_step() -> None:
    import pandas as pd

    import hcloud

    cells = [line.split(",") for line in SAME.splitlines()]
    frame = pd.DataFrame(cells[1:], columns=cells[0])
    assert len(hcloud.read(frame).to_frame()) == 2
    for name in ("Submit", "Start", "End"):
        frame[name] = pd.to_datetime(frame[name])
    frame["Elapsed"] = pd.to_timedelta(frame["Elapsed"].str.replace("-", " days ")).dt.total_seconds()
    assert list(hcloud.read(frame).to_frame()["duration"]) == [7200, 86400]


def test_a_job_that_runs_counts_up_to_the_newest_time_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "jobs.txt"
    head = "JobID|Submit|Start|End|AllocCPUS\n"
    runs = "1|2026-11-01T08:00:00|2026-11-01T08:00:00|Unknown|2\n"
    done = "2|2026-11-01T08:00:00|2026-11-01T09:00:00|2026-11-01T10:00:00|2\n"
    path.write_text(head + runs + done)
    found = jobs(path)
    assert list(found.duration) == [7200, 3600]
    assert found.provenance.repaired["still running, without Elapsed: counted up to the newest time in the file"] == 1


def test_a_cpu_that_is_a_physical_core_counts_as_many_vcpus(tmp_path: Path) -> None:
    path = tmp_path / "jobs.txt"
    path.write_text(TABLE)
    found = read_workload(path, options=WorkloadOptions(vcpus_per_core=2.0))
    assert isinstance(found, Jobs)
    assert list(found.cores) == [8, 4, 256]
    assert list(found.memory) == [16, 8, 4 * 2000 / 1024], "memory a CPU is of the trace's own"


@pytest.mark.slow
@given(st.integers(1, len(TABLE)), st.sampled_from(["table", "json", "filetxt"]))
def test_a_file_that_breaks_off_is_refused_or_read_as_far_as_it_is_whole(
    tmp_path_factory: pytest.TempPathFactory, length: int, form: str
) -> None:
    text = {"table": TABLE, "json": json.dumps(answer(later=True)), "filetxt": FILETXT}[form]
    path = tmp_path_factory.mktemp("cut") / "jobs"
    path.write_text(text[: min(length, len(text) - 1)])
    try:
        found = jobs(path)
    except InputError:
        return
    whole = {"101": (7200, 4), "102_1": (86400, 2), "103": (10800, 128), "7": (1200, 2)}
    assert found.ids is not None
    told = [i.decode() for i in found.ids]
    assert [(d, c) for d, c in zip(found.duration, found.cores, strict=True)][:-1] == [whole[i] for i in told[:-1]]
    assert found.duration[-1] == whole[told[-1]][0], "a time that is cut is no time"
    assert found.cores[-1] > 0


def test_the_night_in_which_clocks_are_put_back(tmp_path: Path) -> None:
    """sacct writes local times without a zone: the whole file was refused, and jobs through the night lost an hour."""
    head = "JobID|Submit|Start|End|Elapsed|AllocCPUS"
    night = "2026-10-25T0"
    rows = (
        f"1|{night}2:40:00|{night}2:50:00|{night}2:10:00|00:20:00|2",
        f"2|{night}0:40:00|{night}0:50:00|{night}4:10:00|04:20:00|2",
        f"3|{night}2:40:00|{night}2:10:00|{night}4:10:00|02:00:00|2",
        f"4|{night}5:00:00|{night}5:00:00|{night}7:00:00|01:30:00|2",
    )
    path = tmp_path / "sacct.txt"
    path.write_text("\n".join((head, *rows)) + "\n", encoding="utf-8")
    read = read_workload(path)
    assert isinstance(read, Jobs)
    assert dict(zip(read.ids.tolist(), read.duration.tolist(), strict=True)) == {  # type: ignore[union-attr]
        b"1": 1200.0, b"2": 15600.0, b"3": 7200.0, b"4": 7200.0
    }  # fmt: skip
    assert (read.begins >= read.submit).all()
    assert {n for why, n in read.provenance.repaired.items() if "Elapsed" in why} == {2}
    path.write_text(f"{head}\n5|{night}2:40:00|{night}2:50:00|{night}2:10:00|00:10:00|2\n", encoding="utf-8")
    with pytest.raises(InputError, match="not before the start"):
        read_workload(path)


def test_local_times_are_said_to_be_read_as_utc_and_read_in_the_zone_that_is_named(tmp_path: Path) -> None:
    path = tmp_path / "sacct.txt"
    rows = (
        "1|2026-10-24T23:00:00|2026-10-24T23:00:00|2026-10-25T05:00:00|07:00:00|2",
        "2|2026-10-25T02:40:00|2026-10-25T02:50:00|2026-10-25T02:10:00|00:20:00|2",
    )
    path.write_text("\n".join(("JobID|Submit|Start|End|Elapsed|AllocCPUS", *rows)) + "\n", encoding="utf-8")
    assert [one.rule for one in read_workload(path).provenance.modelled if one.key == "zone"] == [NO_ZONE]
    found = read_workload(path, options=WorkloadOptions(zone="Europe/Berlin"))
    assert isinstance(found, Jobs)
    assert (found.begins[0], found.begins[1]) == (1_792_875_600.0, 1_792_889_400.0)  # 21:00 and 00:50 UTC
    assert found.duration.tolist() == [25_200.0, 1200.0]
    assert [one.rule for one in found.provenance.modelled if one.key == "zone"] == ["Europe/Berlin"]
    path.write_text(f"JobID|Submit|Start|End|AllocCPUS\n1|{START}|{START}|{START + 60}|2\n", encoding="utf-8")
    assert all(one.key != "zone" for one in read_workload(path).provenance.modelled)
    with pytest.raises(UsageError, match="zone: 'Berlin' is no time zone"):
        WorkloadOptions(zone="Berlin")
    path.write_text("1 0 0 60 2" + " -1" * 13 + "\n", encoding="utf-8")
    with pytest.raises(UsageError, match="zone: times of swf are not read in a zone"):
        read_workload(path, options=WorkloadOptions(zone="Europe/Berlin"))


def test_alike_cells_are_read_once(tmp_path: Path) -> None:
    """Each time and size was parsed anew in every row, ends twice."""
    rows = [f"{at}|2026-11-01T08:00:00|2026-11-01T08:00:00|2026-11-01T09:00:00|01:00:00|4|7G" for at in range(100)]
    path = tmp_path / "sacct.txt"
    path.write_text("\n".join(["JobID|Submit|Start|End|Elapsed|AllocCPUS|ReqMem", *rows]) + "\n")
    calls: list[str] = []
    sys.setprofile(lambda frame, event, _: calls.append(frame.f_code.co_name) if event == "call" else None)
    try:
        read_workload(path)
    finally:
        sys.setprofile(None)
    assert max(calls.count(name) for name in ("seconds_of", "elapsed_of", "gib_of", "number_of")) < 10
