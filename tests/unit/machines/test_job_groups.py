"""The files of control groups that limit a job, as both versions of the kernel's interface have them."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from hcloud.profiling.programs.keeper.groups import (
    KeptAttempt,
    Spare,
    limit,
    limit_cpu,
    limits_memory,
    make_groups,
    ran_out_of_memory,
    usable,
)

VERSION_2 = ("cpu.max", "memory.max", "memory.swap.max", "memory.oom.group")
VERSION_1 = ("cpu.cfs_period_us", "cpu.cfs_quota_us", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes")


def group(folder: Path, files: Iterable[str]) -> str:
    for name in files:
        (folder / name).touch()
    return str(folder)


def holds(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("files", "limited"),
    [(VERSION_2, ("30000 20000", "314572800", "0", "1")), (VERSION_1, ("20000", "30000", "314572800", "314572800"))],
)
def test_a_job_has_what_it_asked_for_and_no_swap(
    files: tuple[str, ...], limited: tuple[str, ...], tmp_path: Path
) -> None:
    limit([group(tmp_path, files)], 1500, 300)
    assert holds(tmp_path) == dict(zip(files, limited, strict=True))


def test_the_least_that_the_kernel_takes_is_kept_to(tmp_path: Path) -> None:
    limit_cpu([group(tmp_path, ["cpu.max"])], 1)
    assert holds(tmp_path) == {"cpu.max": "1000 20000"}


def test_a_group_of_which_nothing_can_be_limited_is_not_used(tmp_path: Path) -> None:
    for name, files in (("two", VERSION_2), ("one", VERSION_1), ("cpuset", ["cpuset.cpus"])):
        (tmp_path / name).mkdir()
        group(tmp_path / name, files)
    assert usable([str(tmp_path / name) for name in ("two", "one", "cpuset", "gone")]) == [
        str(tmp_path / "two"),
        str(tmp_path / "one"),
    ]
    assert limits_memory([str(tmp_path / "cpuset"), str(tmp_path / "one")])
    assert not limits_memory([str(tmp_path / "cpuset")])


def test_where_no_group_can_be_made_there_is_none(tmp_path: Path) -> None:
    assert make_groups([str(tmp_path)], "job-1") == [str(tmp_path / "job-1")]
    (tmp_path / "file").touch()
    assert make_groups([str(tmp_path), str(tmp_path / "file")], "job-2") == []
    assert not (tmp_path / "job-2").exists(), "nothing is left of a group that was made in part"


@pytest.mark.parametrize(
    ("name", "text", "out"),
    [
        ("memory.events", "low 0\nmax 9\noom 1\noom_kill 1\n", True),
        ("memory.events", "low 0\nmax 9\noom 0\noom_kill 0\n", False),
        ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n", True),
        ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\n", False),
        ("cpu.stat", "oom_kill 1\n", False),
    ],
)
def test_a_kill_for_memory_is_counted(name: str, text: str, out: bool, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert ran_out_of_memory([str(tmp_path)]) is out


@pytest.mark.skipif(sys.platform != "linux", reason="machines are processes of Linux")
def test_a_job_never_ends_before_it_began(monkeypatch: pytest.MonkeyPatch) -> None:
    job = KeptAttempt("job.1", time.time(), 100, Spare(os.getpid(), [], 0))
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert job.began <= job.ended() < job.began + 100
