"""The shape of a small instance on a large machine: control groups of version 2 or 1, else cores and priority alone."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hcloud.profiling.programs import orphans

PERIOD_US = 20_000  # ours: shorter than the kernel's 100 ms, so that a throttled stressor does not come in long bursts
LEAST_QUOTA_US = 1_000  # the kernel takes no less
GIB = 1 << 30
_WANTED = ("cpu", "cpuacct", "cpuset", "memory")


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Where control groups can be made: the folder by controller. Version 0 means nowhere."""

    version: int
    roots: Mapping[str, Path] = field(default_factory=dict)

    @property
    def folders(self) -> tuple[Path, ...]:
        """The different folders; version 2 has one for all."""
        return tuple(dict.fromkeys(self.roots.values()))

    def has(self, controller: str) -> bool:
        """Whether groups can limit that resource."""
        return controller in self.roots


def find_hierarchy(mounts: str, own: str) -> Hierarchy:
    """Where groups can be made, by the text of /proc/self/mounts and /proc/self/cgroup."""
    rows = [line.split() for line in mounts.splitlines()]
    places = {tuple(c.split(",")): path for _, c, path in (line.split(":", 2) for line in own.splitlines())}
    for _, folder, kind, *_ in rows:
        for group in _own_places(Path(folder), places) if kind == "cgroup2" else ():
            if (found := _version_2(group)).roots:
                return found
    roots = {}
    for _, folder, kind, options, *_ in rows:
        for controller in _WANTED if kind == "cgroup" else ():
            if controller in options.split(","):
                inside = next((p for names, p in places.items() if controller in names), "/")
                if (place := _writable(Path(folder), inside)) is not None:
                    roots[controller] = place
    return Hierarchy(1 if roots else 0, roots)


def _own_places(mount: Path, places: Mapping[tuple[str, ...], str]) -> Iterator[Path]:
    """Where groups of version 2 may be made: below the mount, which root may, else below the nearest group around this
    process that was delegated to its user, as systemd does with ``user@1000.service``. The group it is in itself holds
    a process, so the kernel allows no limits below it; the one above may do."""
    yield mount
    inside = mount / places.get(("",), "/").lstrip("/")
    yield from (place for place in (inside, *inside.parents) if mount in place.parents)


def _version_2(folder: Path) -> Hierarchy:
    try:
        offered = (folder / "cgroup.controllers").read_text().split()
    except OSError:
        return Hierarchy(0)
    usable = {c for c in _WANTED if c in offered}
    if "cpu" not in usable or _writable(folder, "/") is None:
        return Hierarchy(0)
    try:
        (folder / "cgroup.subtree_control").write_text(" ".join(f"+{c}" for c in sorted(usable)))
    except OSError:
        return Hierarchy(0)
    return Hierarchy(2, dict.fromkeys([*sorted(usable), "cpuacct"], folder))


def _writable(folder: Path, inside: str) -> Path | None:
    for place in (folder / inside.lstrip("/"), folder):
        if place.is_dir() and os.access(place, os.W_OK):
            return place
    return None


def this_machine() -> Hierarchy:
    """Where groups can be made on this machine."""
    try:
        return find_hierarchy(Path("/proc/self/mounts").read_text(), Path("/proc/self/cgroup").read_text())
    except OSError:
        return Hierarchy(0)


def own_limit() -> int | None:
    """How many bytes of memory the group of this process may have; None where nothing says so."""
    try:
        rows = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
        mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    except OSError:
        return None
    files = [
        Path(folder) / path.lstrip("/") / file
        for _, folder, kind, options, *_ in mounts
        for _, names, path in rows
        if (file := _limit_file(kind, options, names))
    ]
    texts = [file.read_text().strip() for file in files if file.is_file()]
    return min((int(text) for text in texts if text.isdecimal()), default=None)


def _limit_file(kind: str, options: str, names: str) -> str:
    """The file with the limit on memory where a mount and a line of /proc/self/cgroup belong together; else nothing."""
    if kind == "cgroup2" and not names:
        return "memory.max"
    first = kind == "cgroup" and "memory" in options.split(",") and "memory" in names.split(",")
    return "memory.limit_in_bytes" if first else ""


@dataclass(frozen=True, slots=True)
class Cage:
    """One group of processes, by its folders; with none it limits nothing and counts nothing."""

    hierarchy: Hierarchy
    name: str

    @property
    def groups(self) -> tuple[Path, ...]:
        """The folders of this group."""
        return tuple(folder / self.name for folder in self.hierarchy.folders)

    @property
    def entrances(self) -> tuple[str, ...]:
        """The files a process enters the group by."""
        return tuple(str(group / "cgroup.procs") for group in self.groups)

    def make(self) -> None:
        """Make the folders; children of a version 2 group get its controllers."""
        for group in self.groups:
            group.mkdir(exist_ok=True)
        if self.hierarchy.version == 2:
            wanted = sorted(c for c in self.hierarchy.roots if c != "cpuacct")
            (self.groups[0] / "cgroup.subtree_control").write_text(" ".join(f"+{c}" for c in wanted))
        elif self.hierarchy.has("cpuset"):
            for file in ("cpuset.cpus", "cpuset.mems"):  # empty in a new group, and then no process may enter
                self._write("cpuset", file, (self._folder("cpuset").parent / file).read_text())

    def inside(self, name: str) -> Cage:
        """A group within this one, made."""
        made = Cage(self.hierarchy, f"{self.name}/{name}")
        for group in made.groups:
            group.mkdir(exist_ok=True)
        if self.hierarchy.version == 1 and self.hierarchy.has("cpuset"):
            for file in ("cpuset.cpus", "cpuset.mems"):
                made._write("cpuset", file, (self._folder("cpuset") / file).read_text())
        return made

    def keep_to(self, cores: Sequence[int]) -> None:
        """Allow these cores only."""
        if self.hierarchy.has("cpuset"):
            self._write("cpuset", "cpuset.cpus", ",".join(map(str, cores)))

    def set_cpus(self, cpus: float | None) -> None:
        """Allow so many CPU seconds a second; None for no limit."""
        if not self.hierarchy.has("cpu"):
            return
        quota = None if cpus is None else max(int(cpus * PERIOD_US), LEAST_QUOTA_US)
        if self.hierarchy.version == 2:
            self._write("cpu", "cpu.max", f"{'max' if quota is None else quota} {PERIOD_US}")
            return
        self._write("cpu", "cpu.cfs_period_us", str(PERIOD_US))
        self._write("cpu", "cpu.cfs_quota_us", str(-1 if quota is None else quota))

    def set_memory(self, amount: int | None) -> None:
        """Allow so many bytes of memory, page cache included; None for no limit."""
        if self.hierarchy.version == 2 and self.hierarchy.has("memory"):
            self._write("memory", "memory.max", "max" if amount is None else str(amount))
        elif self.hierarchy.has("memory"):
            self._write("memory", "memory.limit_in_bytes", str(-1 if amount is None else amount))

    def cpu_seconds(self) -> float | None:
        """What the group's processes have used, ended ones included; None where that is not counted."""
        if not self.hierarchy.has("cpuacct"):
            return None
        folder = self._folder("cpuacct")
        if self.hierarchy.version == 1:
            return int((folder / "cpuacct.usage").read_text()) / 1e9
        words = (folder / "cpu.stat").read_text().split()
        return int(words[words.index("usage_usec") + 1]) / 1e6

    def peak_memory(self) -> int | None:
        """The most bytes the group ever held, page cache included; None where that is not counted."""
        file = "memory.peak" if self.hierarchy.version == 2 else "memory.max_usage_in_bytes"
        if not self.hierarchy.has("memory") or not (self._folder("memory") / file).is_file():
            return None
        return int((self._folder("memory") / file).read_text())

    def ran_out_of_memory(self) -> bool:
        """Whether the kernel ended a process of the group for want of memory since the group was made."""
        file = "memory.events" if self.hierarchy.version == 2 else "memory.oom_control"
        if not self.hierarchy.has("memory") or not (self._folder("memory") / file).is_file():
            return False
        words = (self._folder("memory") / file).read_text().split()
        return "oom_kill" in words and int(words[words.index("oom_kill") + 1]) > 0

    def forget_peak(self) -> None:
        """Count the most bytes anew, where the kernel can."""
        if self.hierarchy.version == 1 and self.hierarchy.has("memory"):
            self._write("memory", "memory.max_usage_in_bytes", "0")

    def _folder(self, controller: str) -> Path:
        return self.hierarchy.roots[controller] / self.name

    def _write(self, controller: str, file: str, text: str) -> None:
        (self._folder(controller) / file).write_text(text.strip())


def strays(hierarchy: Hierarchy) -> Iterator[Path]:
    """Groups of runs that are dead, known by the process number and start in their names."""
    for folder in hierarchy.folders:
        for group in folder.glob(f"{orphans.PREFIX}*"):
            pid, _, start = group.name.removeprefix(orphans.PREFIX).partition("-")
            if pid.isdecimal() and str(orphans.started_at(int(pid))) != start:
                yield group


def remove_strays(hierarchy: Hierarchy) -> int:
    """End and remove what dead runs left behind; how many groups there were."""
    found = list(strays(hierarchy))
    for group in found:
        orphans.clear(group.name.removeprefix(orphans.PREFIX), [group])
    return len(found)
