"""Which offerings were sold out lately, so that nobody asks for them again at once."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from hcloud.model.catalog import PurchaseOption

TTL_SECONDS = 180.0  # ours: three minutes, as long as Karpenter remembers

Offering = tuple[str, str, PurchaseOption]
"""Type, zone and option."""


@dataclass(slots=True)
class SoldOut:
    """What was sold out, for all threads of one process."""

    _until: dict[Offering, float] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, offering: Offering, now: float) -> None:
        """It has none left."""
        with self._lock:
            self._until[offering] = now + TTL_SECONDS

    def holds(self, offering: Offering, now: float) -> bool:
        """Whether it had none left a short while ago."""
        with self._lock:
            return self._until.get(offering, 0.0) > now
