"""The images of a fake cloud: what names stand for, which moves on, and which images are not there any more."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field


@dataclass(slots=True)
class Images:
    """``renewed`` counts by name how often a newer image took its place; ``withdrawn`` are ids that cannot be launched
    any more."""

    renewed: dict[str, int] = field(default_factory=dict)
    withdrawn: set[str] = field(default_factory=set)

    def renew(self, name: str) -> None:
        """A newer image takes the place behind a name."""
        self.renewed[name] = self.renewed.get(name, 0) + 1

    def number(self, name: str) -> int:
        """How many images were behind a name before the one that is now."""
        return self.renewed.get(name, 0)

    def digits(self, name: str) -> str:
        """Hex digits of the image that is behind a name now."""
        return hashlib.sha256(f"{name}\n{self.number(name)}".encode()).hexdigest()
