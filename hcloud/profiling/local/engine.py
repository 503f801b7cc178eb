"""This machine as an engine: on each of its machines a keeper runs the jobs that are put into the machine's folder."""

from __future__ import annotations

import json
import os
import select
import shlex
import shutil
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from hcloud.errors import Call, FileError, HcloudError, UnavailableError
from hcloud.model.running.job import EngineView, JobOrder, JobPhase, JobPlace, JobSighting, MachineRole, NodePhase
from hcloud.profiling.local.launch_probe import LaunchProbe, own_program
from hcloud.profiling.local.spool import (
    ASIDE,
    Attempt,
    MachineFolder,
    attempt_name,
    attempt_of,
    ended_sighting,
    lost_name,
    pipe,
    write_whole,
)
from hcloud.profiling.local.used import UsedSeconds
from hcloud.profiling.programs import keeper, orphans
from hcloud.profiling.programs.keeper import files
from hcloud.profiling.programs.keeper.groups import is_in
from hcloud.profiling.programs.keeper.processes import kill_if

_PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ")
_END_PATIENCE = 0.2  # ours: how long a look waits for killed processes to be gone; the next look asks again
_END_LOOK_EVERY = 0.005


class LocalEngine:
    """Implements hcloud.control.ports.Engine. All it knows is in ``spool``: a folder for each machine. What jobs print
    goes to ``output``, as JOB.ATTEMPT.out and .err; a job without a directory of its own runs in ``directory``."""

    def __init__(self, spool: Path, output: Path, directory: Path) -> None:
        self._spool, self._output, self._directory = spool.absolute(), output.absolute(), directory.absolute()
        self._places: dict[str, Path] = {}
        self._over: dict[str, list[Path]] = {}
        self._told: dict[str, JobSighting] = {}
        self._names: dict[str, Attempt | None] = {}
        self._looked = False
        self._prober = LaunchProbe(self._spool / "best", self._basics)
        self._used: UsedSeconds | None = None
        try:
            self._spool.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._output.mkdir(parents=True, exist_ok=True)
            pipe(self._spool / "poke")
            self._poke = os.open(self._spool / "poke", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
            self._token = self._own_token()
        except OSError as error:
            raise FileError.of(error, error.filename or spool, "made") from error

    def close(self) -> None:
        """Give back the pipe."""
        os.close(self._poke)

    def _own_token(self) -> str:
        """What the processes of all jobs of this spool are marked with."""
        path = self._spool / "token"
        if not path.exists():
            write_whole(path, uuid.uuid4().hex)
        return path.read_text(encoding="ascii")

    def joining(self, role: MachineRole) -> str:
        """A script that runs a keeper. The folder of an earlier machine of this number is put aside."""
        folder = MachineFolder(self._spool / str(role.instance))
        try:
            if (folder.was_up or folder.is_leaving) and not folder.is_kept():
                self._put_aside(folder)
                self._looked = False
            folder.make()
        except OSError as error:
            raise FileError.of(error, folder.path, "made") from error
        return f"#!/bin/sh\nexec {shlex.join(own_program('keep', repr(str(folder.path))))}\n"

    def look(self) -> EngineView:
        """One scan of the folders of each machine. What was on a machine whose keeper is dead is killed, then lost."""
        try:
            return self._scan()
        except OSError as error:
            raise UnavailableError(str(error), Call("local", "local", "look")) from error

    def _scan(self) -> EngineView:
        nodes: list[tuple[int, NodePhase]] = []
        jobs: dict[str, JobSighting] = {}
        places: dict[str, Path] = {}
        told, self._told, self._over = self._told, {}, {}
        for machine in self._folders():
            phase, folder = _phase(machine), machine
            if phase is NodePhase.GONE and machine.is_leaving:
                folder = self._put_aside(machine)
            elif not machine.is_aside:
                nodes.append((int(machine.path.name), phase))
            unsettled = self._settle(folder) if phase is NodePhase.GONE else set()
            for name, sighting in self._sightings(folder, told, unsettled):
                jobs[name], places[name] = sighting, folder.path
        self._places, self._looked = places, True
        return EngineView(tuple(jobs[name] for name in sorted(jobs)), tuple(sorted(nodes)))

    def _folders(self) -> Iterator[MachineFolder]:
        with os.scandir(self._spool) as entries:
            names = sorted(e.name for e in entries if e.is_dir(follow_symlinks=False))
        for name in names:
            number = name.partition(ASIDE)[0]
            if number.isascii() and number.isdecimal():
                yield MachineFolder(self._spool / name)

    def _sightings(
        self, folder: MachineFolder, told: Mapping[str, JobSighting], unsettled: set[str]
    ) -> Iterator[tuple[str, JobSighting]]:
        """What is in the folders, in the order in which a file goes through them, so that none is missed."""
        for entry in folder.files("inbox"):
            if (attempt := self._attempt(entry)) is not None:
                yield entry.name, JobSighting(attempt.job, attempt.attempt, JobPhase.WAITING)
        progress = {entry.name for entry in folder.files("progress")}
        for entry in folder.files("running"):
            if (attempt := self._attempt(entry)) is not None and (began := _modified(entry)) is not None:
                phase = JobPhase.UNKNOWN if entry.name in unsettled else JobPhase.RUNNING
                share = folder.progress(entry.name) if entry.name in progress else None
                yield entry.name, JobSighting(attempt.job, attempt.attempt, phase, began, progress=share)
        for entry in folder.files("done"):
            path = folder.path / "done" / entry.name
            if (found := told.get(entry.name) or ended_sighting(entry.name, path)) is not None:
                self._told[entry.name] = found
                self._over.setdefault(found.job, []).append(path)
                yield entry.name.rsplit(".", 4)[0], found

    def _attempt(self, entry: os.DirEntry[str]) -> Attempt | None:
        found = self._names.get(entry.name)
        if found is None and (found := attempt_of(entry.name, Path(entry.path))) is not None:
            self._names[entry.name] = found
        return found

    def _settle(self, folder: MachineFolder) -> set[str]:
        """What was with a dead keeper is lost, as soon as nothing of it runs; the names of which something does."""
        now = time.time()
        for entry in list(folder.files("inbox")):
            _move(folder, f"inbox/{entry.name}", lost_name(entry.name, None, now))
        running = {entry.name: entry for entry in folder.files("running")}
        left = self._end_all(set(running), folder.groups()) if running else set()
        for name in running.keys() - left:
            _move(folder, f"running/{name}", lost_name(name, _modified(running[name]), time.time()))
        return left

    def _end_all(self, names: set[str], groups: list[Path]) -> set[str]:
        """Kill every process of these attempts; those that are not gone in time."""
        mark = f"{keeper.MARK}={self._token}/"
        until = time.monotonic() + _END_PATIENCE
        while left := names if _kill_grouped(groups) else _kill_marked(mark, names):
            if time.monotonic() > until:
                return left
            time.sleep(_END_LOOK_EVERY)
        for group in groups:
            orphans.remove_group(group)
        return set()

    def _put_aside(self, folder: MachineFolder) -> MachineFolder:
        """Forget a machine that is gone, and its folder when nobody asks about what was on it any more."""
        path = folder.path
        if not folder.is_aside:
            path = path.rename(self._spool / f"{path.name}{ASIDE}{uuid.uuid4().hex[:8]}")
        aside = MachineFolder(path)
        if not any(any(aside.files(part)) for part in ("inbox", "running", "done")):
            shutil.rmtree(path, ignore_errors=True)
        return aside

    def begin(self, order: JobOrder, place: JobPlace) -> None:
        """Write the attempt's file whole, then move it to its machine. FileError where the disk does not take it: then
        nothing of it begins."""
        self._put(order, place, {})

    def begin_beside(self, order: JobOrder, place: JobPlace) -> None:
        """The same of an attempt that has what the others leave it."""
        self._put(order, place, {"yields": True})

    def _put(self, order: JobOrder, place: JobPlace, more: Mapping[str, object]) -> None:
        self._know()
        name = attempt_name(order.id, place.attempt)
        if name in self._places:
            return
        folder = self._spool / str(place.instance)
        if not folder.is_dir():
            raise HcloudError(f"{order.id} cannot begin: machine {place.instance} never joined, or is gone")
        try:
            write_whole(folder / "inbox" / name, json.dumps({**self._record(order, place, name), **more}))
            files.sync(str(folder / "inbox"))
        except OSError as error:
            raise FileError.of(error, error.filename or folder, "written") from error
        self._places[name] = folder
        files.poke(str(folder / "poke"))

    def _record(self, order: JobOrder, place: JobPlace, name: str) -> Mapping[str, object]:
        where = str(self._directory / order.directory)
        given = {"job": order.id, "attempt": place.attempt, "cores": place.cores, "memory": place.memory}
        basics = self._basics(name, list(order.command))
        return {**basics, **given, "directory": where, "environment": {**basics["environment"], **_place_of(order)}}

    def _basics(self, name: str, command: list[str]) -> Mapping[str, Any]:
        """What a keeper is told of anything it runs, with the files that get what it prints."""
        output = {}
        for kind in ("out", "err"):
            output[kind] = path = str(self._output / f"{name}.{kind}")
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666))
        return {
            "job": name,
            "token": self._token,
            "command": command,
            "directory": str(self._directory),
            "environment": {key: os.environ[key] for key in _PASSED_ON if key in os.environ},
            **output,
        }

    def stop(self, job: str, attempt: int) -> None:
        """Ask the keeper, which sends SIGTERM and after a grace time SIGKILL; what has not begun never will."""
        self._ask(attempt_name(job, attempt), "stop", "")

    def kill(self, job: str, attempt: int) -> None:
        """Ask the keeper, which sends SIGKILL at once."""
        self._ask(attempt_name(job, attempt), "stop", keeper.AT_ONCE)

    def used_seconds(self) -> Mapping[tuple[str, int], float]:
        """What every attempt that was seen last has used of processors. UnavailableError where the kernel does not
        say."""
        self._know()
        if self._used is None:
            self._used = UsedSeconds(f"{keeper.MARK}={self._token}/")
        names = [name for name in list(self._places) if self._names.get(name) is not None]
        try:
            found = self._used.look(names)
        except OSError as error:
            raise UnavailableError(str(error), Call("local", "local", "seconds")) from error
        told = ((self._names[name], used) for name, used in found.items())
        return {(one.job, one.attempt): used for one, used in told if one is not None}

    def resize(self, job: str, attempt: int, cores: int) -> None:
        """Where there are control groups."""
        self._ask(attempt_name(job, attempt), "cpu", str(cores))

    def _ask(self, name: str, what: str, text: str) -> None:
        self._know()
        if (folder := self._places.get(name)) is None:
            return
        path = folder / "asks" / f"{name}.{what}"
        try:
            write_whole(path, text)
        except FileNotFoundError:
            return
        except OSError as error:
            raise FileError.of(error, path, "written") from error
        files.poke(str(folder / "poke"))

    def probe(self, instance: int) -> float | None:
        """How good a machine that is ready is, 0 to 1: a second of work on all its cores beside the best that this
        machine ever gave; None where it could not be measured. May be called from another thread than the rest."""
        return self._prober.score(MachineFolder(self._spool / str(instance)))

    def warn(self, instance: int, why: str) -> None:
        """Nothing: no cloud takes processes of this machine away."""

    def let_go(self, instance: int) -> None:
        """Nothing begins there from now on; when its keeper is dead, the machine is forgotten."""
        folder = self._spool / str(instance)
        if folder.is_dir():
            try:
                (folder / "leaving").touch()
            except OSError as error:
                raise FileError.of(error, folder / "leaving", "written") from error
            files.poke(str(folder / "poke"))

    def forget(self, job: str) -> None:
        """Remove what is told of its attempts that ended; what it printed stays."""
        self._know()
        for path in self._over.pop(job, []):
            name = path.name.rsplit(".", 4)[0]
            folder = self._places.pop(name, path.parent.parent)
            for leftover in (f"asks/{name}.stop", f"asks/{name}.cpu", f"progress/{name}"):
                files.unlink(str(folder / leftover))
            files.unlink(str(path))
            self._told.pop(path.name, None)
            self._names.pop(name, None)

    def _know(self) -> None:
        if not self._looked:
            self.look()

    def wait(self, seconds: float) -> None:
        """Until a keeper is ready or a job ended."""
        waiting = select.poll()
        waiting.register(self._poke, select.POLLIN)
        if waiting.poll(max(seconds, 0) * 1000):
            files.drain(self._poke)


def _place_of(order: JobOrder) -> Mapping[str, str]:
    """What a piece of a job of several servers is told of its place among them."""
    piece = order.piece
    return {} if piece is None else {"HCLOUD_PIECE": str(piece.number), "HCLOUD_PIECES": str(piece.count)}


def _phase(folder: MachineFolder) -> NodePhase:
    leaving, was_up = folder.is_leaving, folder.was_up
    if folder.is_kept():
        return NodePhase.LEAVING if leaving else NodePhase.READY if was_up else NodePhase.JOINING
    return NodePhase.GONE if was_up or leaving else NodePhase.JOINING


def _kill_marked(mark: str, names: set[str]) -> set[str]:
    """Those of these names that processes carry after the mark."""
    found = set()
    for pid, name in orphans.carrying(mark):
        if name in names:
            found.add(name)
            kill_if(pid, lambda p, word=mark + name: os.fsencode(word) in _environment(p))  # type: ignore[misc]
    return found


def _environment(pid: int) -> list[bytes]:
    with suppress(OSError):
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return []


def _kill_grouped(groups: list[Path]) -> bool:
    """Kill what is in control groups of jobs; whether anything was."""
    found = {pid: group for group in groups for pid in orphans.members([group])}
    for pid, group in found.items():
        kill_if(pid, lambda p, own=str(group): is_in(p, own))  # type: ignore[misc]
    return bool(found)


def _modified(entry: os.DirEntry[str]) -> float | None:
    """When a running attempt began; None where its file has gone on."""
    try:
        return entry.stat(follow_symlinks=False).st_mtime
    except FileNotFoundError:
        return None


def _move(folder: MachineFolder, place: str, told: str) -> None:
    with suppress(FileNotFoundError):
        (folder.path / place).rename(folder.path / "done" / told)
