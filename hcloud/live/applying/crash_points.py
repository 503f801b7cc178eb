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


_STEPS = ("begun", "intent.fsynced", "answered", "concluded", "state.saved", "journal.trimmed")
_NAMES = {deed: [f"{deed}.{step}" for step in _STEPS] for deed in (Deed.LAUNCH, Deed.TERMINATE)}
POINTS = {deed: Points(*names) for deed, names in _NAMES.items()}
RUN_BEGUN = "run.state.saved"
RUN_ENDED = "run.seen.saved"
NAMES = frozenset([RUN_BEGUN, RUN_ENDED, *_NAMES[Deed.LAUNCH], *_NAMES[Deed.TERMINATE]])
