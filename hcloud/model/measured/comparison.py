"""Two profiles side by side, and whether their intervals leave room for being equal."""

from __future__ import annotations

from dataclasses import dataclass

from hcloud.model.measured.profile import Aspect, Measured, Profile


@dataclass(frozen=True, slots=True)
class ComparedNumber:
    """One number of two profiles, None where one has none."""

    aspect: Aspect
    column: str
    left: Measured | None
    right: Measured | None

    @property
    def differs(self) -> bool | None:
        """Whether the intervals are apart; None where nothing to compare."""
        if self.left is None or self.right is None:
            return None
        return self.left.high < self.right.low or self.right.high < self.left.low


@dataclass(frozen=True, slots=True)
class ProfileComparison:
    """Two profiles and their numbers line by line."""

    left: Profile
    right: Profile
    lines: tuple[ComparedNumber, ...]
