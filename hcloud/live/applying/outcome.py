"""How a run came out: said exactly, never better than it is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from hcloud.errors import CredentialsError, HcloudError
from hcloud.live.patience import StoppedError
from hcloud.model.holdings.change import ChangeSet

PARTLY = 6
NO_CAPACITY = 8


class ApplyResult(StrEnum):
    """CONVERGED: what stands is what should. PARTIAL: something is missing or too many, and all of it is known.
    UNKNOWN: of something asked for it is not known whether it is there."""

    CONVERGED = "converged"
    PARTIAL = "partial"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Machines that could not be had at an address, and what was tried: offering and what the cloud said."""

    address: str
    missing: int
    tried: tuple[str, ...]
    capacity: bool


@dataclass(frozen=True, slots=True)
class ApplyOutcome:
    """What a run did and what is left. ``error`` is what ended it early; ``open`` what was asked for and was not
    answered: it may be there, or not; ``left`` what a plan would show now, None
    where the cloud could not be looked at any more; ``acted`` says that the cloud did something, or may have;
    ``calls`` are requests made."""

    result: ApplyResult
    launched: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    wanted: int = 0
    shortfalls: tuple[Shortfall, ...] = ()
    problems: tuple[str, ...] = ()
    error: HcloudError | None = None
    open: tuple[str, ...] = ()
    left: ChangeSet | None = None
    acted: bool = False
    calls: int = 0
    serial: int = 0

    @property
    def exit_code(self) -> int:
        """What the process ends with."""
        if isinstance(self.error, StoppedError):
            return self.error.exit_code
        if self.result is ApplyResult.CONVERGED:
            return 0
        if isinstance(self.error, CredentialsError):
            return self.error.exit_code
        if self.result is ApplyResult.UNKNOWN or self.acted:
            return PARTLY
        if self.error is not None:
            return self.error.exit_code
        return NO_CAPACITY if self.shortfalls and all(s.capacity for s in self.shortfalls) else PARTLY
