"""What hcloud and the keepers of its machines say to each other by the names of files (see programs.keeper)."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from hcloud.model.running.job import JobPhase, JobSighting
from hcloud.profiling.programs import keeper
from hcloud.whole_files import whole_file

_LONGEST = 120  # ours: with what is added to it, a name stays below the 255 bytes that file systems allow
_KEPT = 80
_CUT = "~"
ASIDE = "-"
"""What follows the number in the name of a folder whose machine is gone."""


def attempt_name(job: str, attempt: int) -> str:
    """The name of an attempt's files: readable, and nothing but a name whatever the job is called."""
    safe = quote(job, safe="@+=,", errors="surrogatepass").replace(_CUT, "%7E")
    if safe.startswith("."):
        safe = f"%2E{safe[1:]}"
    if len(safe) > _LONGEST:
        safe = f"{safe[:_KEPT]}{_CUT}{hashlib.sha256(job.encode(errors='surrogatepass')).hexdigest()[:24]}"
    return f"{safe}.{attempt}"


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt of a job; ``name`` is that of its files."""

    name: str
    job: str
    attempt: int


def attempt_of(name: str, path: Path) -> Attempt | None:
    """Whose file this is, by its name, or by what is in it where the name is cut; None for one that is not ours."""
    safe, _, number = name.rpartition(".")
    if not safe or not (number.isascii() and number.isdecimal()):
        return None
    job = _job_in(path) if _CUT in safe else unquote(safe, errors="surrogatepass")
    if job is None or attempt_name(job, int(number)) != name:
        return None
    return Attempt(name, job, int(number))


def _job_in(path: Path) -> str | None:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    job = found.get("job") if isinstance(found, dict) else None
    return job if isinstance(job, str) else None


def ended_sighting(file: str, path: Path) -> JobSighting | None:
    """What the name of a file in ``done`` tells; None for one that is not ours."""
    name, *told = file.rsplit(".", 4)
    if len(told) != 4 or (attempt := attempt_of(name, path)) is None:
        return None
    code, began, ended, memory = told
    begun = None if began == keeper.NEVER else _seconds(began)
    at = _seconds(ended)
    if at is None or memory not in ("0", "1") or (begun is None and began != keeper.NEVER):
        return None
    if code == keeper.LOST:
        return JobSighting(attempt.job, attempt.attempt, JobPhase.LOST, begun, at)
    if not code.isdecimal():
        return None
    out_of_memory = memory == "1"
    return JobSighting(attempt.job, attempt.attempt, JobPhase.ENDED, begun, at, int(code), out_of_memory=out_of_memory)


def _seconds(milliseconds: str) -> float | None:
    return int(milliseconds) / 1000 if milliseconds.isdecimal() else None


def lost_name(name: str, began: float | None, ended: float) -> str:
    """How the file of an attempt is called that ended without anybody who saw its exit code."""
    begun = keeper.NEVER if began is None else str(round(began * 1000))
    return f"{name}.{keeper.LOST}.{begun}.{round(max(ended, began or 0.0) * 1000)}.0"


class MachineFolder:
    """The folder of one machine."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def make(self) -> None:
        """Make what is missing of it, before its machine is."""
        for folder in keeper.FOLDERS:
            (self.path / folder).mkdir(parents=True, exist_ok=True, mode=0o700)
        pipe(self.path / "poke")

    @property
    def was_up(self) -> bool:
        """Whether its keeper ever said that it is ready."""
        return (self.path / "up").exists()

    @property
    def is_aside(self) -> bool:
        """Whether its machine is gone and forgotten; only what ran there is still asked about."""
        return ASIDE in self.path.name

    @property
    def is_leaving(self) -> bool:
        """Whether nothing begins here any more."""
        return self.is_aside or (self.path / "leaving").exists()

    def is_kept(self) -> bool:
        """Whether its keeper lives: the lock it holds goes with it, whatever way it ends."""
        try:
            handle = os.open(self.path / "lock", os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(handle)
        return False

    def groups(self) -> list[Path]:
        """The control groups of the jobs of its keeper, which says how their names begin."""
        try:
            found = json.loads((self.path / "up").read_bytes())
        except (OSError, ValueError):
            return []
        begun = found.get("groups") if isinstance(found, dict) else None
        paths = [Path(b) for b in begun if isinstance(b, str)] if isinstance(begun, list) else []
        return [group for path in paths for group in path.parent.glob(f"{path.name}*") if group.is_dir()]

    def files(self, folder: str) -> Iterator[os.DirEntry[str]]:
        """The plain files of one of its folders; what is hidden is being written."""
        try:
            with os.scandir(self.path / folder) as entries:
                yield from (e for e in entries if not e.name.startswith(".") and e.is_file(follow_symlinks=False))
        except FileNotFoundError:
            return

    def progress(self, name: str) -> float | None:
        """The share of its work that a job says is done; None where it says nothing that is one."""
        try:
            handle = os.open(self.path / "progress" / name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            share = float(os.read(handle, 64).split()[0])
        except (OSError, ValueError, IndexError):
            return None
        finally:
            os.close(handle)
        return share if 0.0 <= share <= 1.0 else None


def pipe(path: Path) -> None:
    """A named pipe, made where there is none."""
    try:
        os.mkfifo(path, 0o600)
    except FileExistsError:
        return


def write_whole(path: Path, text: str) -> None:
    """So that it is there whole or not at all, and outlasts a crash."""
    with whole_file(path) as file:
        file.write(text.encode())
