"""Where work is done: a cloud, a state, a clock, and how to stop, tell and rehearse crashes."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from hcloud.control.ports import Clock, Compute, Crash, StateStore
from hcloud.errors import HcloudError
from hcloud.live.patience import Patience, RetryLimits, at_the_latest
from hcloud.model.catalog import PurchaseOption
from hcloud.model.holdings.state import State

WORKERS = 4  # ours: orders of different addresses under way at the same time


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


@dataclass(frozen=True, slots=True)
class ProgressStep:
    """Something to tell people: what happened, and how far the work is; ``of`` 0 where it only goes on. ``at_once`` is
    a sentence that is told as it comes: that something is waited for now, and until when."""

    text: str
    done: int = 0
    of: int = 0
    at_once: bool = False


Progress = Callable[[ProgressStep], None]


@dataclass(frozen=True, slots=True)
class WaitLimits:
    """How long things are waited for, in seconds: machines to run, ends to be confirmed. 0 does not wait."""

    ready: float = 600.0  # ours
    ended: float = 300.0  # ours
    first_poll: float = 2.0  # ours
    longest_poll: float = 20.0  # ours


@dataclass(frozen=True, slots=True)
class Site:
    """Everything that work needs of the world. ``stop`` says whether somebody asked for an end; ``workers`` 1 does one
    thing after the other, the same way every time; ``beginning`` is the state where there never was one; ``user_data``
    reads what machines run when they first start, which neither plan nor journal holds."""

    cloud: Compute
    store: StateStore
    clock: Clock
    stop: Callable[[], bool] = field(default=lambda: False)
    progress: Progress = field(default=lambda step: None)
    crash: Crash = field(default=lambda name: None)
    limits: RetryLimits = field(default_factory=RetryLimits)
    waits: WaitLimits = field(default_factory=WaitLimits)
    beginning: State | None = None
    workers: int = WORKERS
    sold_out: SoldOut = field(default_factory=SoldOut)
    user_data: Callable[[], str] = field(default=lambda: "")

    def now(self) -> datetime:
        """The time as it is told, in UTC."""
        return datetime.fromtimestamp(self.clock.now(), UTC)

    def remembered(self) -> State:
        """The state as it is stored, or the one to begin with; HcloudError where there is neither."""
        state = self.store.load() or self.beginning
        if state is None:
            raise HcloudError(
                "there is no state here", hint="hcloud apply makes the first one, hcloud recover rebuilds"
            )
        return state

    def patience(self) -> Patience:
        """Patience for one run."""
        return Patience(self.clock, self.limits, self.stop, self._tell)

    def waiting(self, what: str, seconds: float) -> None:
        """Tell at once what is waited for, and until when at the latest."""
        self._tell(f"waiting {what}, until {at_the_latest(self.clock, seconds)}", at_once=True)

    def _tell(self, text: str, *, at_once: bool = False) -> None:
        self.progress(ProgressStep(text, at_once=at_once))


def order_key(lineage: str, generation: int, address: str, offering: tuple[str, str], attempt: int) -> str:
    """The key of an order: 32 hex digits of what it is, never of time or chance."""
    words = "\n".join([lineage, str(generation), address, *offering, str(attempt)])
    return hashlib.sha256(words.encode()).hexdigest()[:32]
