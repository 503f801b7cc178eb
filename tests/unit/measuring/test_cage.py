"""Where control groups can be made and what is written into them, on folders that stand in for the kernel's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hcloud.profiling import place
from hcloud.profiling.cage import PERIOD_US, Cage, Hierarchy, find_hierarchy, remove_strays
from hcloud.profiling.programs import orphans
from hcloud.usecases.measuring import profile_run


def version_2(folder: Path, controllers: str = "cpuset cpu io memory pids") -> Hierarchy:
    (folder / "cgroup.controllers").write_text(controllers)
    (folder / "cgroup.subtree_control").write_text("")
    return find_hierarchy(f"cgroup2 {folder} cgroup2 rw 0 0\n", "0::/\n")


def test_version_2_is_used_where_it_has_the_controllers(tmp_path: Path) -> None:
    hierarchy = version_2(tmp_path)
    assert hierarchy.version == 2
    assert hierarchy.folders == (tmp_path,)
    assert all(map(hierarchy.has, ("cpu", "cpuacct", "cpuset", "memory")))
    assert (tmp_path / "cgroup.subtree_control").read_text() == "+cpu +cpuset +memory"


def test_without_the_cpu_controller_there_is_no_version_2(tmp_path: Path) -> None:
    assert version_2(tmp_path, "hugetlb").version == 0
    assert find_hierarchy("", "").version == 0


def test_a_delegated_group_of_a_user_without_root_is_used(tmp_path: Path) -> None:
    """Only what a user's own manager was given can be written to; what holds a process cannot be divided."""
    own = tmp_path / "user.slice/user-1000.slice/user@1000.service/app.slice/shell.scope"
    own.mkdir(parents=True)
    delegated = own.parents[1]
    for group in (own, *own.parents[: own.parents.index(tmp_path) + 1]):
        (group / "cgroup.controllers").write_text("cpu memory pids")
        if group in (delegated, own.parent):
            (group / "cgroup.subtree_control").write_text("")
        else:
            (group / "cgroup.subtree_control").mkdir()
    mounts = f"cgroup2 {tmp_path} cgroup2 rw 0 0\n"
    line = f"0::/{own.relative_to(tmp_path)}\n"
    found = find_hierarchy(mounts, line)
    assert found.version == 2
    assert found.folders == (own.parent,)
    assert found.has("memory")
    assert not found.has("cpuset")
    assert find_hierarchy(mounts, "0::/init.scope\n").version == 0


def test_version_1_groups_are_made_below_our_own(tmp_path: Path) -> None:
    mounts = ""
    for controller in ("cpu,cpuacct", "memory"):
        (tmp_path / controller / "outer").mkdir(parents=True)
        mounts += f"cgroup {tmp_path / controller} cgroup rw,relatime,{controller} 0 0\n"
    found = find_hierarchy(mounts, "5:memory:/outer\n3:cpu,cpuacct:/\n0::/\n")
    assert found.version == 1
    assert found.roots["memory"] == tmp_path / "memory" / "outer"
    assert found.roots["cpu"] == found.roots["cpuacct"] == tmp_path / "cpu,cpuacct"


def test_limits_of_version_2(tmp_path: Path) -> None:
    cage = Cage(version_2(tmp_path), "run")
    cage.make()
    child = cage.inside("app")
    child.set_cpus(0.5)
    child.set_memory(1 << 20)
    child.keep_to((0, 3))
    (tmp_path / "run/app/cpu.stat").write_text("usage_usec 2500000\nuser_usec 1\n")
    written = {f.name: f.read_text() for f in (tmp_path / "run/app").iterdir()}
    assert written["cpu.max"] == f"{PERIOD_US // 2} {PERIOD_US}"
    assert (written["memory.max"], written["cpuset.cpus"]) == ("1048576", "0,3")
    assert child.cpu_seconds() == 2.5
    child.set_cpus(None)
    child.set_memory(None)
    assert (tmp_path / "run/app/cpu.max").read_text() == f"max {PERIOD_US}"
    assert (tmp_path / "run/app/memory.max").read_text() == "max"


def test_nothing_is_limited_or_counted_without_groups() -> None:
    cage = Cage(Hierarchy(0), "run")
    cage.make()
    cage.set_cpus(0.5)
    cage.set_memory(1)
    cage.keep_to((0,))
    assert (cage.groups, cage.entrances, cage.cpu_seconds(), cage.peak_memory()) == ((), (), None, None)


def test_only_groups_of_dead_runs_are_removed(tmp_path: Path) -> None:
    alive = tmp_path / f"{orphans.PREFIX}{os.getpid()}-{orphans.started_at(os.getpid())}"
    reused = tmp_path / f"{orphans.PREFIX}{os.getpid()}-7"  # the number lives again as another process
    foreign = tmp_path / "somebody-else"
    for group in (alive, reused, foreign):
        group.mkdir()
    assert remove_strays(Hierarchy(1, {"cpu": tmp_path})) == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([alive.name, foreign.name])


def test_a_group_that_another_run_removes_has_no_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs that began at once cleared up the same dead one: one of them ended with FileNotFoundError."""
    group, gone, scandir = tmp_path / "group", tmp_path / "gone", os.scandir
    for folder in (group / "below", gone):
        folder.mkdir(parents=True)
        (folder / "cgroup.procs").write_text(f"{os.getpid()}\n")

    def looked_into(folder: Path | str) -> object:
        if Path(folder) == gone:
            raise FileNotFoundError(gone)
        return scandir(folder)

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(os, "scandir", looked_into)
        assert orphans.members([gone, group]) == {os.getpid()}


@pytest.mark.parametrize(
    ("cores", "vcpus", "expected"),
    [
        ((0,), 1.0, place.CoreLayout((0,), (0,), ())),
        ((0, 1), 1.0, place.CoreLayout((0,), (0,), (1,))),
        ((0, 1), 0.5, place.CoreLayout((0,), (0,), (1,))),
        ((0, 1), 1.5, place.CoreLayout((0, 1), (0, 1), ())),
        ((2, 4, 6, 8), 1.0, place.CoreLayout((2,), (4,), (6, 8))),
    ],
)
def test_cores_are_shared_out(cores: tuple[int, ...], vcpus: float, expected: place.CoreLayout) -> None:
    assert place.layout(cores, vcpus) == expected


CPU_TIMES = """cpu  9 9 9 9 9 9 9 9 9 9
cpu0 {} 0 0 {} 0 0 0 0 0 0
cpu1 {} 0 0 0 {} 0 0 0 0 0
intr 5 6
"""


def test_what_others_use_of_the_processors_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run beside others' programs was not warned of: a program of one thread took 1.07 s on 1 vCPU, 0.64 s on 2."""
    file = tmp_path / "stat"
    file.write_text(CPU_TIMES.format(0, 0, 0, 0))
    monkeypatch.setattr(place, "_CPU_TIMES", file)
    monkeypatch.setattr("time.sleep", lambda _: file.write_text(CPU_TIMES.format(75, 25, 50, 50)))
    assert place.busy_vcpus((0, 1), 1.0) == pytest.approx(1.25)
    file.write_text(CPU_TIMES.format(0, 0, 0, 0))
    assert "other programs use 1.2 of 2 vCPUs" in warned((0, 1), monkeypatch)
    file.write_text("no such rows\n")
    assert place.busy_vcpus((0, 1), 1.0) is None


def warned(cores: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(place, "own_cores", lambda: cores)
    return profile_run.busy_warning()
