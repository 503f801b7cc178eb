"""The moments between which a crash makes a difference, by what is being done; tests end the process at each."""

from __future__ import annotations

from dataclasses import dataclass

from hcloud.model.holdings.state import Deed


@dataclass(frozen=True, slots=True)
class Points:
    """Names of the moments of one deed, in order."""

    begun: str
    noted: str
    answered: str
    concluded: str
    saved: str
    trimmed: str


POINTS = {
    Deed.LAUNCH: Points(
        begun="launch.begun",
        noted="launch.intent.fsynced",
        answered="launch.answered",
        concluded="launch.concluded",
        saved="launch.state.saved",
        trimmed="launch.journal.trimmed",
    ),
    Deed.TERMINATE: Points(
        begun="terminate.begun",
        noted="terminate.intent.fsynced",
        answered="terminate.answered",
        concluded="terminate.concluded",
        saved="terminate.state.saved",
        trimmed="terminate.journal.trimmed",
    ),
}
RUN_BEGUN = "run.state.saved"
RUN_ENDED = "run.seen.saved"
NAMES = frozenset(
    [RUN_BEGUN, RUN_ENDED]
    + [n for p in POINTS.values() for n in (p.begun, p.noted, p.answered, p.concluded, p.saved, p.trimmed)]
)
