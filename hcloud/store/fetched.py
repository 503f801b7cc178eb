"""What was fetched of machines so far: a line of JSON a machine beside the file that is to be written, so that an
interrupted fetch goes on where it stopped."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hcloud.errors import writing
from hcloud.model.fetched import MeasuredMachine, SampleSeries, SamplingWindow
from hcloud.model.json_text import parsed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats

VERSION = "1.0"
HOUR = 3600


@dataclass(frozen=True, slots=True)
class MachineHours:
    """A machine's use by hour of the window: of each hour with samples its number, how many there are, and the sum of
    their percents."""

    machine: MeasuredMachine
    hours: NDArray[np.int32]
    counts: NDArray[np.int32]
    percents: Floats

    @classmethod
    def of(cls, machine: MeasuredMachine, samples: SampleSeries, window: SamplingWindow) -> MachineHours:
        """The samples that lie in the window, added up by the hour."""
        times, percents = (np.array(column, np.float64) for column in samples)
        some = (window.start <= times) & (times < window.end) & (percents >= 0)  # which is not so of NaN
        hour = ((times[some] - window.start) // HOUR).astype(np.int64)
        counts = np.bincount(hour)
        there = np.flatnonzero(counts)
        totals = np.bincount(hour, percents[some])[there]
        return cls(machine, there.astype(np.int32), counts[there].astype(np.int32), totals.astype(np.float64))


@dataclass(frozen=True, slots=True)
class FetchScope:
    """What a fetch is of; one that goes on has to be of the same."""

    cloud: str
    account: str
    regions: tuple[str, ...]
    since_seconds: int


class FetchRecord:
    """The lines of a fetch under way."""

    def __init__(self, path: Path, scope: FetchScope, window: SamplingWindow) -> None:
        self.path, self.window = path, window
        self._scope = scope
        self.done: dict[tuple[str, str], MachineHours] = {}
        if not self._resumed():
            with writing(path):
                path.unlink(missing_ok=True)

    def add(self, machines: Sequence[MachineHours]) -> None:
        """Note machines whose samples are complete."""
        fresh = not self.path.exists()
        with writing(self.path), open(self.path, "a", encoding="utf-8", opener=_private) as file:
            if fresh:
                file.write(json.dumps(self._head()) + "\n")
            for each in machines:
                columns = [column.tolist() for column in (each.hours, each.counts, each.percents)]
                told = {k: v for k, v in asdict(each.machine).items() if k != "launched"}
                file.write(json.dumps({"machine": told, "hours": columns}) + "\n")
                self.done[each.machine.region, each.machine.id] = each

    def remove(self) -> None:
        """Forget it: the file is written."""
        self.path.unlink(missing_ok=True)

    def _head(self) -> dict[str, Any]:
        scope = {**asdict(self._scope), "regions": list(self._scope.regions)}
        return {"format_version": VERSION, "scope": scope, "window": asdict(self.window)}

    def _resumed(self) -> bool:
        """Take over what an earlier fetch of the same noted less than a day ago, with its window."""
        if not self.path.is_file():
            return False
        lines = self.path.read_bytes().split(b"\n")[:-1]  # the last one may be cut off
        head = _line(lines[0]) if lines else {}
        own = self._head()
        if any(head.get(name) != own[name] for name in ("format_version", "scope")):
            return False
        window = SamplingWindow(**head["window"])
        if not 0 <= self.window.end - window.end < 24 * HOUR:
            return False
        self.window = window
        for told in map(_line, lines[1:]):
            if told:
                machine = MeasuredMachine(**told["machine"])
                hours, counts, percents = told["hours"]
                columns = np.array(hours, np.int32), np.array(counts, np.int32), np.array(percents, np.float64)
                self.done[machine.region, machine.id] = MachineHours(machine, *columns)
        return True


def _line(text: bytes) -> Mapping[str, Any]:
    try:
        found = parsed(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _private(name: str, flags: int) -> int:
    return os.open(name, flags, 0o600)
