"""How good a machine of this machine is: what a second of work on it gives, beside what this machine gives alone."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

import hcloud
from hcloud.profiling.local.spool import MachineFolder, write_whole
from hcloud.profiling.programs.keeper import files, probe

_RUN = (
    "import sys; sys.path.append({root!r}); from hcloud.profiling.programs.keeper.{module} import main; main({given})"
)
_PATIENCE = 30.0  # ours: a probe takes a second where nothing is wrong
_LOOK_EVERY = 0.05
_ANY_CORES, _ANY_MEMORY_MIB = 1_000_000, 1 << 20  # ours: what the machine itself is limited to counts


def own_program(module: str, given: str) -> list[str]:
    """The command that runs a program for machines in a process of its own; small, since it brings no packages."""
    text = _RUN.format(root=str(Path(hcloud.__file__).parents[1]), module=module, given=given)
    return [sys.executable, "-I", "-S", "-c", text]


def measured_with() -> str:
    """The text of the program that measures: it stands by itself, so that machines elsewhere can run it."""
    return Path(probe.__file__).read_text(encoding="utf-8")


class LaunchProbe:
    """Probes machines one after the other, with what this machine gave at best: remembered in a file."""

    def __init__(self, remembered: Path, record: Callable[[str, list[str]], Mapping[str, object]]) -> None:
        self._best, self._record = BestSeen(remembered), record
        self._one_at_a_time = threading.Lock()

    def score(self, folder: MachineFolder) -> float | None:
        """0 to 1: the lower of what it gives of the best in arithmetic and in memory; None where that is not known."""
        with self._one_at_a_time:
            if (found := self._inside(folder)) is None:
                return None
            cores, rates = found
            return self._best.score(str(cores), rates, partial(_alone, cores))

    def _inside(self, folder: MachineFolder) -> tuple[int, list[float]] | None:
        """Run it as a job of the machine, whose name is that of none."""
        name = f"probe-{uuid.uuid4().hex}"
        record = self._record(name, own_program("probe", ""))
        limits = {"cores": _ANY_CORES, "memory": _ANY_MEMORY_MIB}
        outputs = [Path(str(record[kind])) for kind in ("out", "err")]
        try:
            write_whole(folder.path / "inbox" / name, json.dumps({**record, **limits}))
            files.poke(str(folder.path / "poke"))
            ended = self._ended(folder, name)
            return _told(outputs[0].read_bytes()) if ended is not None else None
        except OSError:
            return None
        finally:
            for path in (*outputs, folder.path / "inbox" / name):
                files.unlink(str(path))

    def _ended(self, folder: MachineFolder, name: str) -> str | None:
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until and folder.is_kept():
            for entry in folder.files("done"):
                if entry.name.startswith(f"{name}."):
                    files.unlink(entry.path)
                    return entry.name
            time.sleep(_LOOK_EVERY)
        with suppress(OSError):
            (folder.path / "asks" / f"{name}.stop").touch()
        return None


class BestSeen:
    """The best that machines of a kind ever gave, remembered in a file; one thread at a time."""

    def __init__(self, remembered: Path) -> None:
        self._remembered = remembered

    def score(self, kind: str, rates: list[float], first: Callable[[], list[float] | None] = lambda: None) -> float:
        """0 to 1: the lower of what a machine gives of the best in arithmetic and in memory. ``first`` measures what
        others are compared with where nothing is remembered yet; else that is the first machine."""
        try:
            known = json.loads(self._remembered.read_bytes())
        except (OSError, ValueError):
            known = {}
        known = known if isinstance(known, dict) else {}
        before = known.get(kind)
        if not isinstance(before, list) or not _are_rates(before):
            before = first() or rates
        best: list[float] = [max(pair) for pair in zip(before, rates, strict=True)]
        if best != before or kind not in known:
            with suppress(OSError):  # the next one measures again
                write_whole(self._remembered, json.dumps({**known, kind: best}))
        return min(rate / most for rate, most in zip(rates, best, strict=True))


def _alone(cores: int) -> list[float] | None:
    """What so many cores give outside all machines."""
    try:
        ran = subprocess.run(own_program("probe", str(cores)), capture_output=True, timeout=_PATIENCE, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    found = _told(ran.stdout)
    return None if found is None else found[1]


def _told(printed: bytes) -> tuple[int, list[float]] | None:
    try:
        found = json.loads(printed)
    except ValueError:
        return None
    cores, rates = found.get("cores"), found.get("rates")
    return (cores, rates) if isinstance(cores, int) and _are_rates(rates) else None


def _are_rates(rates: object) -> bool:
    return isinstance(rates, list) and len(rates) == 2 and all(isinstance(r, float) and r > 0 for r in rates)
