"""Accounting of PBS, Torque and HTCondor: what their records of one job say, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hcloud.errors import InputError
from hcloud.model.workload import Jobs
from hcloud.readers.workloads.entry import read_workload
from hcloud.readers.workloads.formats.jobs.pbs import STOPPED

START = 1_795_860_000
MANY = "9" * 400
BEGAN = f"11/28/2026 10:00:00;S;1.pbs;user=ann qtime={START - 60} start={START} exec_host=n1/0*4\n"
OTHER = f"11/28/2026 20:00:00;E;2.pbs;user=ann qtime={START} start={START} end={START + 36_000} exec_host=n1/0\n"


def read(path: Path, text: str) -> Jobs:
    path.write_text(text)
    found = read_workload(path)
    assert isinstance(found, Jobs)
    return found


def ended(**words: object) -> str:
    said = {"qtime": START - 60, "start": START, "end": START + 600, "exec_host": "n1/0*4", **words}
    told = " ".join(f"{key.replace('List_', 'List.')}={value}" for key, value in said.items())
    return f"11/28/2026 10:00:00;E;1.pbs;user=ann {told}\n"


@pytest.mark.parametrize(
    ("asks", "cores", "gib"),
    [
        ({"Resource_List_ncpus": 8, "exec_host": "n1/0*4+n2/0*4", "Resource_List_mem": "16gb"}, 8, 16),
        ({"exec_host": "n1/0-7+n2/0-7", "Resource_List_nodes": "2:ppn=8", "Resource_List_pmem": "512mb"}, 16, 8),
        ({"exec_host": "n1/0+n1/1+n2/0", "Resource_List_mem": "1048576kb"}, 3, 1),
        ({"Resource_List_ncpus": 1, "exec_host": "n1/0-3", "Resource_List_mem": "131072kw"}, 4, 1),
    ],
)
def test_what_a_job_of_pbs_and_torque_asks_for(
    asks: dict[str, object], cores: float, gib: float, tmp_path: Path
) -> None:
    found = read(tmp_path / "log", ended(**asks))
    assert (found.cores.tolist(), found.memory.tolist(), found.duration.tolist()) == ([cores], [gib], [600.0])
    assert (found.submit.tolist(), found.begins.tolist()) == ([START - 60], [START])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (ended(end=START - 5), "line 1, column end: '1795859995'"),
        (ended(exec_host=""), "line 1, column Resource_List.ncpus"),
        (ended(Resource_List_mem="16xb"), "column Resource_List.mem: '16xb'"),
        (ended(Resource_List_mem="sixteen"), "column Resource_List.mem: 'sixteen' (a size as 16gb"),
        (ended() + "11/28/2026 10:00\n", "line 2: '11/28/2026 10:00' (a record:"),
        (BEGAN + "99/28/2026 10:10:00;R;1.pbs;\n", "line 2, column time: '99/28/2026 10:10:00'"),
        (ended(Resource_List_mem=f"{MANY}gb"), "column Resource_List.mem: '999"),
        (ended(exec_host=f"n1/0*{MANY}"), "column cores"),
        (ended(exec_host=f"n1/0-{MANY}"), "column cores"),
        (ended(start=START * 1000, end=START * 1000 + 5), "column start"),
        (ended(start=MANY, end=MANY), "column start"),
    ],
)
def test_a_record_of_pbs_that_cannot_be_is_named(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path / "log", text)
    assert says in str(caught.value)


@pytest.mark.parametrize("kind", ["R", "A", "D"])
def test_a_run_whose_end_no_record_of_pbs_tells_ends_when_it_was_stopped(kind: str, tmp_path: Path) -> None:
    """Torque says nothing of a job that is run again: its run was left out. One that was purged seemed to run on."""
    found = read(tmp_path / "log", f"{BEGAN}11/28/2026 10:10:00;{kind};1.pbs;\n{OTHER}")
    assert sorted(found.duration.tolist()) == [600, 36_000]
    assert found.provenance.repaired[STOPPED] == 1


def test_a_job_of_pbs_that_was_deleted_has_the_end_of_its_record(tmp_path: Path) -> None:
    found = read(tmp_path / "log", f"{BEGAN}11/28/2026 10:05:00;D;1.pbs;requestor=ann@n0\n{ended()}")
    assert found.duration.tolist() == [600]
    assert STOPPED not in found.provenance.repaired


def job(**more: object) -> dict[str, object]:
    return {
        "ClusterId": 7, "ProcId": 0, "QDate": START - 60, "JobStartDate": START, "JobCurrentStartDate": START,
        "CompletionDate": START + 600, "JobStatus": 4, "JobUniverse": 5, "RequestCpus": 2, "RequestMemory": 2048,
        "RemoteWallClockTime": 600.0, **more,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("more", "runs", "cores", "gib"),
    [
        ({}, [600.0], 2, 2),
        ({"RemoteWallClockTime": 1500.0, "JobStartDate": START - 2000}, [900.0, 600.0], 2, 2),
        ({"JobStatus": 3, "CompletionDate": 0, "EnteredCurrentStatus": START + 9000}, [600.0], 2, 2),
        ({"JobUniverse": 11, "MaxHosts": 4}, [600.0], 8, 8),
        ({"RequestMemory": "/Expr(MemoryUsage)/", "MemoryProvisioned": 1024}, [600.0], 2, 1),
    ],
)
def test_runs_of_a_job_of_condor(
    more: dict[str, object], runs: list[float], cores: float, gib: float, tmp_path: Path
) -> None:
    found = read(tmp_path / "jobs.json", json.dumps([job(**more)]))
    assert found.duration.tolist() == runs
    assert (set(found.cores.tolist()), set(found.memory.tolist())) == ({cores}, {gib})


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"RequestCpus": "two"}, "job 1, column RequestCpus: 'two'"),
        ({"CompletionDate": START - 1}, f"column CompletionDate: '{START - 1}'"),
        ({"JobStatus": None}, "ask condor_history for JobStatus too"),
        ({"RequestCpus": int(MANY)}, "column RequestCpus: '999"),
        (dict.fromkeys(("JobStartDate", "JobCurrentStartDate", "CompletionDate"), START * 1000), "column start"),
    ],
)
def test_a_job_of_condor_that_cannot_be_is_named(more: dict[str, object], says: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path / "jobs.json", json.dumps([job(**more)]))
    assert says in str(caught.value)


def of_sge(**more: object) -> str:
    """A line of Grid Engine's accounting."""
    cells = {
        0: "all.q", 4: "sim", 5: 7, 8: START - 60, 9: START, 10: START + 600, 33: "NONE", 34: 1,
        35: 0, 39: "NONE", 41: "NONE",
        **{int(at.removeprefix("_")): value for at, value in more.items()},
    }  # fmt: skip
    return ":".join(str(cells.get(at, 0)) for at in range(45)) + "\n"


@pytest.mark.parametrize(
    ("more", "cores", "gib", "divisible"),
    [
        ({}, 1, 4, -1),
        ({"_33": "smp", "_34": 8, "_39": "-u ann -l h_vmem=512M,h_rt=3600 -pe smp 8"}, 8, 4, -1),
        ({"_33": "openmpi", "_34": 64, "_39": "-l mem_free=2g"}, 64, 64 * 2e9 / 2**30, 1),
        ({"_39": "-l h_vmem=1073741824"}, 1, 1, -1),
        ({"_39": "-l h_vmem=INFINITY"}, 1, 4, -1),
        ({"_39": "-l h_rt=24:00:00,h_vmem=2G"}, 1, 2, -1),
        ({"_8": (START - 60) * 1000, "_9": START * 1000, "_10": (START + 600) * 1000}, 1, 4, -1),
    ],
)
def test_what_a_job_of_grid_engine_asks_for(
    more: dict[str, object], cores: float, gib: float, divisible: int, tmp_path: Path
) -> None:
    """It was no format that is recognised."""
    found = read(tmp_path / "accounting", of_sge(**more))
    assert (found.cores.tolist(), found.memory.tolist(), found.duration.tolist()) == ([cores], [gib], [600.0])
    assert (found.submit.tolist(), found.begins.tolist()) == ([START - 60], [START])
    assert found.divisible is None or found.divisible.tolist() == [divisible]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (of_sge() + "all.q:node1\n", "line 2: 'all.q:node1' (a job: 40 fields or more"),
        (of_sge(_10=START - 5), "line 1, column end_time: '1795859995'"),
        (of_sge(_34="many"), "line 1, column slots: 'many'"),
        (of_sge(_34=0), "line 1, column slots: '0'"),
        (of_sge() + of_sge(_9="soon"), "line 2, column start_time: 'soon'"),
        (
            f"{'=' * 62}\nqname  all.q\njobnumber  7\nstart_time  Sat Nov 28 10:00:00 2026\nslots  1\n",
            "column end_time",
        ),
    ],
)
def test_a_job_of_grid_engine_that_cannot_be_is_named(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path / "accounting", text)
    assert says in str(caught.value)
