"""What is remembered while work goes on: everything is in the journal before it is asked for, and after."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from hcloud.errors import HcloudError
from hcloud.live.applying.crash_points import POINTS
from hcloud.live.site import Site
from hcloud.model.holdings.live import Launch, Machine
from hcloud.model.holdings.state import Conclusion, Deed, Intent, IntentResult, State
from hcloud.planning.changes.recall import unresolved


@dataclass(frozen=True, slots=True)
class Came:
    """What came of an intent: machines that were made, or ids that are ending (``ended`` is when, of those of which
    the cloud said so), and what is missing."""

    machines: tuple[Machine, ...] = ()
    ids: tuple[str, ...] = ()
    missing: int = 0
    why: str = ""
    ended: dict[str, datetime] = field(default_factory=dict)


class Book:
    """The state and its journal in one run, for all its threads."""

    def __init__(self, site: Site, state: State, plan: str, opened: Sequence[Intent] = ()) -> None:
        self._site, self._plan = site, plan
        self._noted: list[Intent | Conclusion] = [*opened]
        self._journal = site.store.journal()
        self._lock = threading.RLock()
        self.state = state

    def order(self, order: Launch) -> Intent:
        """Note a launch so that it lasts; only then may it be asked for."""
        return self._intend(Deed.LAUNCH, order, ())

    def ending(self, ids: Sequence[str]) -> Intent:
        """Note the end of machines so that it lasts; only then may it be asked for."""
        return self._intend(Deed.TERMINATE, None, tuple(ids))

    def _intend(self, deed: Deed, order: Launch | None, ids: tuple[str, ...]) -> Intent:
        points = POINTS[deed]
        self._site.crash(points.begun)
        with self._lock:
            intent = Intent(
                number=self._journal.next_number(),
                deed=deed,
                at=self._site.now(),
                plan=self._plan,
                generation=self.state.generation,
                order=order,
                ids=ids,
            )
            self._journal.intend(intent)
            self._noted.append(intent)
        self._site.crash(points.noted)
        return intent

    def done(self, intent: Intent, came: Came, update: Callable[[State], State]) -> None:
        """Note what came of an intent, then remember it."""
        at = self._site.now()
        fields = (came.machines, came.ids, came.missing, came.why, came.ended)
        conclusion = Conclusion(intent.number, IntentResult.DONE, at, *fields)
        self._conclude(intent, conclusion, update)

    def refused(self, intent: Intent, why: str) -> None:
        """Note that the cloud did not do it."""
        self._conclude(intent, Conclusion(intent.number, IntentResult.REFUSED, self._site.now(), why=why), lambda s: s)

    def unknown(self, intent: Intent, why: str) -> None:
        """Note that nobody knows what came of it; it stays open."""
        with self._lock:  # what this run noted stays open
            self._journal.conclude(Conclusion(intent.number, IntentResult.UNKNOWN, self._site.now(), why=why))

    def entries(self) -> tuple[Intent | Conclusion, ...]:
        """The journal as it is now."""
        return self._journal.entries()

    def unresolved(self) -> tuple[Intent, ...]:
        """What nobody knows the outcome of; where the journal cannot be read now, by what this run wrote there."""
        try:
            return unresolved(self.entries())
        except HcloudError:
            return unresolved(self._noted)

    def trim(self) -> None:
        """Forget everything that is concluded: the state holds it."""
        self._journal.trim(self._journal.next_number() - 1)

    def _conclude(self, intent: Intent, conclusion: Conclusion, update: Callable[[State], State]) -> None:
        points = POINTS[intent.deed]
        self._site.crash(points.answered)
        with self._lock:
            self._journal.conclude(conclusion)
            self._noted.append(conclusion)
            self._site.crash(points.concluded)
            self.save(update, points.saved)
            self._journal.trim(intent.number)
        self._site.crash(points.trimmed)

    def save(self, update: Callable[[State], State], point: str) -> None:
        """Write the state as it is after ``update``."""
        with self._lock:
            updated = update(self.state)
            self.state = self._site.store.save(replace(updated, serial=self.state.serial))
        self._site.crash(point)
