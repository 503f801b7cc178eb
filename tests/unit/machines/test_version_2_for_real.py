"""Control groups of version 2 as the kernel has them, with whatever controller it offers there: limits on processors
and memory need theirs, grouping and ending do not."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path

import pytest
from waiting import until

from hcloud.control.ports import Size
from hcloud.profiling.cage import Cage, Hierarchy
from hcloud.profiling.local.machines import LEAF, ProcessHost
from hcloud.profiling.programs.keeper.groups import is_in, make_groups, members, removed
from hcloud.profiling.programs.keeper.processes import kill_if

FORKS = "setsid sh -c 'setsid sleep 600 & setsid sleep 600 & wait' & sleep 600"


def _mount() -> tuple[Path | None, str]:
    """Where version 2 is, and one of its controllers that groups inside may have."""
    try:
        rows = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    except OSError:
        return None, ""
    for _, folder, kind, *_ in rows:
        if kind == "cgroup2" and os.access(folder, os.W_OK):
            offered = (Path(folder) / "cgroup.controllers").read_text().split()
            return Path(folder), next((c for c in ("hugetlb", "pids", "memory", "cpu") if c in offered), "")
    return None, ""


MOUNT, CONTROLLER = _mount()
pytestmark = pytest.mark.skipif(
    MOUNT is None or not CONTROLLER, reason="no writable file system of control groups of version 2 with a controller"
)


@pytest.fixture
def hierarchy() -> Hierarchy:
    """Groups below the mount. That these may have the controller stays so, as where hcloud itself uses version 2."""
    assert MOUNT is not None
    (MOUNT / "cgroup.subtree_control").write_text(f"+{CONTROLLER}")
    return Hierarchy(2, {CONTROLLER: MOUNT})


def test_a_machine_and_all_that_forks_from_it_is_one_group_and_ends_as_one(
    tmp_path: Path, hierarchy: Hierarchy
) -> None:
    host = ProcessHost(tmp_path, hierarchy)
    host.start(["one"], f"#!/bin/sh\n{FORKS}\n", Size(1, 1.0))
    (group,) = (tmp_path / "one" / "groups").read_text().split()
    try:
        until(lambda: len(members(f"{group}/{LEAF}")) >= 5)
        assert not members(group), "in version 2 a group that limits others has no process of its own"
        with pytest.raises(OSError, match="busy") as refused:
            (Path(group) / "cgroup.procs").write_text(str(members(f"{group}/{LEAF}")[0]))
        assert refused.value.errno == errno.EBUSY
        assert host.alive() == {"one"}
    finally:
        host.end(["one"])
    assert not host.alive()
    until(lambda: not Path(group).exists())


def test_what_a_job_leaves_behind_is_in_its_group_and_nothing_else_is_ended(
    tmp_path: Path, hierarchy: Hierarchy
) -> None:
    cage = Cage(hierarchy, f"hyc-test-{os.getpid()}")
    cage.make()
    (job,) = make_groups([str(cage.groups[0])], "job.1")
    with subprocess.Popen(["sleep", "600"]) as other:
        script = f"echo $$ > {job}/cgroup.procs; {FORKS}"
        with subprocess.Popen(["sh", "-c", script], cwd=tmp_path) as main:
            until(lambda: len(members(job)) >= 5)
            assert all(is_in(pid, job) for pid in members(job))
            assert not removed(job), "while it has processes"
            kill_if(other.pid, lambda pid: is_in(pid, job))
            for pid in members(job):
                kill_if(pid, lambda found: is_in(found, job))
            main.wait(60)
        until(lambda: removed(job))
        assert removed(job), "once more does no harm"
        assert other.poll() is None
        other.kill()
    cage.groups[0].rmdir()
