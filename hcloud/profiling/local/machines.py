"""Machines that are processes of this one: a start-up script within the limits of a size, ended as a whole."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import hcloud
from hcloud.control.ports import Size
from hcloud.errors import HcloudError
from hcloud.profiling.cage import GIB, Cage, Hierarchy, this_machine
from hcloud.profiling.guard import Guard
from hcloud.profiling.place import memory_gib, own_cores
from hcloud.profiling.programs import orphans

MARK = "HYC_MACHINE"
GROUP = "hyc-machine-"
LEAF = "own"
"""The group inside a machine's that its script runs in: in version 2 one that limits groups inside has no process."""
MOST_CONSOLE = 1 << 20  # ours: what clouds keep of a console
_PATIENCE = 10.0  # ours: seconds until killed processes have to be gone
_LOOK_EVERY = 0.02
# The shell enters the groups, and what it leaves behind belongs to nobody: a machine outlasts whoever started it. It
# writes the script, too: a file that this process wrote may be held by what another thread starts, and is then "busy"
_BEGIN = (
    'while [ "$1" != -- ]; do echo $$ > "$1" || exit 1; shift; done; '
    "( umask 077; cat > start-up ) && chmod 700 start-up || exit 2; "
    "( [ -s start-up ] && ./start-up > console 2>&1; exec sleep 2147483647 ) > /dev/null 2>&1 < /dev/null &"
)
_NOT_WRITTEN = 2


class ProcessHost:
    """Implements hcloud.control.ports.Host. Everything of a machine carries a mark in its environment, of this folder
    and the machine's name, and is found by it whoever looks; its files are in ``folder``. With a guard nothing of them
    outlasts this process, whatever way it ends."""

    def __init__(self, folder: Path, hierarchy: Hierarchy | None = None, guard: Guard | None = None) -> None:
        self._folder, self._guard = folder.resolve(), guard
        self._token = hashlib.sha256(str(self._folder).encode()).hexdigest()[:12]
        self._hierarchy = this_machine() if hierarchy is None else hierarchy

    def size(self) -> Size:
        """The cores this process may use, and the memory of the machine."""
        return Size(len(own_cores()), memory_gib())

    def start(self, names: Sequence[str], script: str, size: Size) -> None:
        """Run a script in a folder of its own; nothing of this process's environment goes along but the path."""
        running = len(self.alive())
        before = self.started(names)
        for number, name in enumerate(n for n in names if n not in before):
            try:
                self._start(name, script, size, running + number)
            except OSError as error:
                self.end([name])
                raise HcloudError(f"{name}: no machine can be started here: {error}") from error

    def _start(self, name: str, script: str, size: Size, beside: int) -> None:
        home = self._folder / name
        (home / "tmp").mkdir(parents=True, exist_ok=True, mode=0o700)
        cage = Cage(self._hierarchy, f"{GROUP}{self._token}-{name}")
        _write(home / "groups", "".join(f"{group}\n" for group in cage.groups), 0o600)
        if self._guard is not None:
            for group in cage.groups:
                self._guard.own_group(group)
        cores = _some_cores(size.vcpus, beside)
        _shape(cage, size, cores)
        with _kept_to(cores):
            self._begin(name, home, cage.inside(LEAF), script)
        _write(home / "started", "", 0o600)

    def _begin(self, name: str, home: Path, cage: Cage, script: str) -> None:
        begun = subprocess.run(
            ["/bin/sh", "-c", _BEGIN, "machine", *cage.entrances, "--"],
            input=script.encode(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=self._environment(name, home),
            cwd=home,
            start_new_session=True,
            check=False,
        )
        if begun.returncode == _NOT_WRITTEN:
            raise OSError(f"its start-up script cannot be written to {home}")
        if begun.returncode:
            raise OSError(f"a control group of {cage.name} cannot be entered")

    def _environment(self, name: str, home: Path) -> Mapping[str, str]:
        guarded = {} if self._guard is None else {orphans.MARK: self._guard.token}
        return {
            **guarded,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "PYTHONPATH": str(Path(hcloud.__file__).parents[1]),
            "HOME": str(home),
            "TMPDIR": str(home / "tmp"),
            "LANG": "C.UTF-8",
            MARK: f"{self._token}/{name}",
        }

    def started(self, names: Collection[str]) -> frozenset[str]:
        """Those that run, or did once."""
        noted = {name for name in names if (self._folder / name / "started").is_file()}
        return frozenset(noted | (self.alive() & set(names)))

    def alive(self) -> frozenset[str]:
        """The machines of which a process is left."""
        return frozenset(self.processes())

    def processes(self) -> dict[str, set[int]]:
        """The processes of each machine, by the mark they carry."""
        found: dict[str, set[int]] = {}
        for pid, name in orphans.carrying(f"{MARK}={self._token}/"):
            found.setdefault(name, set()).add(pid)
        return found

    def console(self, name: str) -> str:
        """The end of what its script printed."""
        try:
            with (self._folder / name / "console").open("rb") as file:
                file.seek(max(file.seek(0, os.SEEK_END) - MOST_CONSOLE, 0))
                return file.read().decode("utf-8", "replace")
        except FileNotFoundError:
            return ""

    def script(self, name: str) -> str:
        """Its script as it was written."""
        path = self._folder / name / "start-up"
        return path.read_text(encoding="utf-8") if path.is_file() else ""

    def end(self, names: Collection[str]) -> None:
        """Kill until nothing is left, then remove groups and files."""
        wanted = set(names)
        groups = {name: self._groups(name) for name in wanted}
        owned = [group for found in groups.values() for group in found]
        until = time.monotonic() + _PATIENCE
        while left := orphans.members(owned) | {p for n, pids in self.processes().items() if n in wanted for p in pids}:
            if time.monotonic() > until:
                raise HcloudError(f"{len(left)} processes of {', '.join(sorted(wanted))} cannot be ended")
            for number in (signal.SIGSTOP, signal.SIGKILL):  # as a machine that is switched off: none sees another end
                for pid in left:
                    orphans.kill(pid, number)
            time.sleep(_LOOK_EVERY)
        for group in owned:
            orphans.remove_group(group)
        for name in wanted:
            shutil.rmtree(self._folder / name, ignore_errors=True)

    def _groups(self, name: str) -> list[Path]:
        try:
            lines = (self._folder / name / "groups").read_text().splitlines()
        except OSError:
            return []
        return [Path(line) for line in lines if Path(line).name.startswith(GROUP)]


def _write(path: Path, text: str, mode: int) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w", encoding="utf-8") as file:
        file.write(text)


def _shape(cage: Cage, size: Size, cores: tuple[int, ...]) -> None:
    cage.make()
    cage.keep_to(cores)
    cage.set_cpus(size.vcpus)
    cage.set_memory(int(size.memory_gib * GIB))


def _some_cores(count: int, beside: int) -> tuple[int, ...]:
    """So many cores of those that may be used, beginning elsewhere for each machine that is there already."""
    cores = own_cores()
    chosen = {cores[(beside + n) % len(cores)] for n in range(max(count, 1))}
    return tuple(sorted(chosen))


@contextmanager
def _kept_to(cores: tuple[int, ...]) -> Iterator[None]:
    """What this thread starts inside has these cores only."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def passing_host() -> Iterator[ProcessHost]:
    """A host whose machines last as long as the context, or as this process where it is killed inside."""
    with Guard() as guard:
        yield ProcessHost(guard.folder / "machines", guard=guard)
