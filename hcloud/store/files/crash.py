"""Points at which a test may end the process as a crash would, chosen by ``HYC_CRASH_AT``; in life they do nothing.

``HYC_CRASH_AT=name`` ends the process when it comes to the point of that name, ``name|3`` when it comes there for the
third time, ``*|7`` at the seventh point of whatever name.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Mapping

from hcloud.control.ports import Crash
from hcloud.errors import UsageError, did_you_mean

VARIABLE = "HYC_CRASH_AT"
ANY = "*"
KILLED_EXIT = 137

POINTS = (
    "store.append.lasting",
    "store.append.written",
    "store.directory.made",
    "store.file.lasting",
    "store.file.renamed",
    "store.file.synced",
    "store.file.written",
    "store.journal.begun",
    "store.journal.noted",
    "store.journal.trimmed",
    "store.lock.released",
    "store.lock.taken",
    "store.lock.told",
    "store.object.put",
    "store.state.kept",
    "store.state.marked",
    "store.state.written",
)
"""Every point of this package; a test holds them against the source and comes to each."""
_BY_DEED = {
    "launch": "begun intent.fsynced answered concluded state.saved journal.trimmed",
    "terminate": "begun intent.fsynced answered concluded state.saved journal.trimmed",
    "run": "state.saved seen.saved",
    "operate": "noted launch begin end",
    "agent": "copied noticed asked proposed answered",
    "commit": "looked-up quoted intended refused unanswered answered concluded",
    "commit.cancel": "agreed intended answered",
}
POINTS_ELSEWHERE = tuple(f"{deed}.{step}" for deed, steps in _BY_DEED.items() for step in steps.split())
"""Those of other packages, by what is being done there."""


class CrashAt:
    """Ends the process at the chosen coming to the chosen point; no clean-up is run, as after a power cut."""

    def __init__(self, chosen: str) -> None:
        self._name, _, count = chosen.partition("|")
        if not self._name or not (count or "1").isdecimal() or int(count or "1") < 1:
            raise UsageError(f"{VARIABLE}={chosen}: not a crash point", hint="NAME, or NAME|N for the Nth time")
        if self._name not in (known := (ANY, *POINTS, *POINTS_ELSEWHERE)):
            close = did_you_mean(self._name, known)
            raise UsageError(f"{VARIABLE}={chosen}: not a crash point{close}", hint=f"points: {', '.join(known)}")
        self._at = int(count or "1")
        self._comings: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __call__(self, name: str) -> None:
        """Come to a point."""
        with self._lock:
            self._comings.update((name, ANY))
            if self._name in (name, ANY) and self._comings[self._name] == self._at:
                os._exit(KILLED_EXIT)


def go_on(name: str) -> None:
    """What happens at a crash point in life: nothing."""


def crash_from(environment: Mapping[str, str] = os.environ) -> Crash:
    """What to do at crash points as the environment says; one for the whole process, since it counts."""
    chosen = environment.get(VARIABLE)
    return CrashAt(chosen) if chosen else go_on
