"""Jobs that slurmctld does not keep any more: as the file of its jobcomp/filetxt tells their end."""

from __future__ import annotations

import re
import time
from pathlib import Path

from hcloud.providers.slurm.answers import SlurmJob
from hcloud.providers.slurm.client import SlurmCommands
from hcloud.providers.slurm.ledger import Begin
from hcloud.providers.slurm.sightings import is_of

FILETXT = "jobcomp/filetxt"
_WORD = re.compile(r"(\w+)=(\S*)")


class CompletedJobs:
    """Reads on where it stopped; a file that became shorter is read anew."""

    def __init__(self, commands: SlurmCommands) -> None:
        self._commands = commands
        self._path: Path | None = None
        self._asked = False
        self._offset = 0
        self._ends: dict[str, SlurmJob] = {}

    def find(self, begin: Begin) -> SlurmJob | None:
        """How a job ended; None where nothing tells it."""
        self._read()
        found = self._ends.get(begin.job)
        return found if found is not None and is_of(begin, found) else None

    def _read(self) -> None:
        if not self._asked:
            settings = self._commands.settings()
            where = settings.get("jobcomploc", "")
            self._path = Path(where) if settings.get("jobcomptype") == FILETXT and where else None
            self._asked = True
        if self._path is None:
            return
        try:
            with self._path.open("rb") as file:
                if file.seek(0, 2) < self._offset:
                    self._offset = 0
                file.seek(self._offset)
                text = file.read()
        except OSError:
            return
        whole = text[: text.rfind(b"\n") + 1]
        self._offset += len(whole)
        for line in whole.decode("utf-8", "replace").splitlines():
            if (job := completed(line)) is not None:
                self._ends[job.id] = job


def completed(line: str) -> SlurmJob | None:
    """A line of the file as a job; None for one that is none."""
    row = dict(_WORD.findall(line))
    if not row.get("JobId") or not row.get("JobState"):
        return None
    code, _, signal = row.get("ExitCode", "0:0").partition(":")
    array, task = row.get("ArrayJobId", ""), row.get("ArrayTaskId", "")
    return SlurmJob(
        id=f"{array}_{task}" if array and task else row["JobId"],
        partition=row.get("Partition", ""),
        state=row["JobState"],
        code=int(code or 0),
        signal=int(signal or 0),
        submit=_seconds(row.get("SubmitTime", "")),
        start=_seconds(row.get("StartTime", "")),
        end=_seconds(row.get("EndTime", "")),
        nodes=row.get("NodeList", ""),
    )


def _seconds(text: str) -> float:
    """A local time as slurmctld writes it; 0 for none."""
    try:
        return time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%S"))
    except ValueError:
        return 0.0
