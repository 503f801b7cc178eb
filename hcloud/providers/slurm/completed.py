"""Jobs that slurmctld does not keep any more: as the file of its jobcomp/filetxt tells their end."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path

from hcloud.providers.slurm.answers import SlurmJob
from hcloud.providers.slurm.client import SlurmCommands
from hcloud.providers.slurm.ledger import Begin
from hcloud.providers.slurm.sightings import is_of

FILETXT = "jobcomp/filetxt"
_WORD = re.compile(r"(\w+)=(\S*)")
_QUARTER, _WEST, _EAST = 900, -12 * 3600, 14 * 3600
"""Seconds: zones are whole quarters of an hour apart, from 12 h behind UTC to 14 h ahead of it."""


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
        if found is None:
            return None
        found = _in_our_zone(found, begin.submit)
        return found if is_of(begin, found) else None

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


def _in_our_zone(job: SlurmJob, submit: float) -> SlurmJob:
    """A job with its times put right where slurmctld writes those of another zone than ours: this process may have a TZ
    of its own. Nothing in the file names the zone; the time of submission, which squeue tells without one, shows it."""
    apart = round((job.submit - submit) / _QUARTER) * _QUARTER
    if not _WEST <= time.localtime(submit).tm_gmtoff + apart <= _EAST:
        return job
    start, end = (at and at - apart for at in (job.start, job.end))
    return replace(job, submit=job.submit - apart, start=start, end=end)


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
