"""One run: what its steps share, and the looks at the cloud between them."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from hcloud.control.ports import Compute
from hcloud.errors import Call, HcloudError, UnknownOutcomeError
from hcloud.live.applying.book import Book
from hcloud.live.applying.guards import Purse
from hcloud.live.applying.outcome import Shortfall
from hcloud.live.observe import CloudListing, brought_together
from hcloud.live.patience import Patience
from hcloud.live.site import ProgressStep, Site, order_key
from hcloud.model.holdings.change import ChangeSet, Observed
from hcloud.model.holdings.live import TAG_PROJECT, Launch, Machine, MachineState, Owner, Scope
from hcloud.planning.changes.diff import DiffInputs


@dataclass(slots=True)
class ApplyRun:
    """An apply or destroy under way. ``first`` is what was seen before anything was done, ``seen`` what was seen since.
    ``launched`` are machines that came by id, with the address they came for, ``answered`` as the cloud answered them;
    ``surplus`` ids that came and are not wanted; ``halted`` is what ended it early; ``acted`` says that the
    cloud did something, or may have; ``answers`` counts orders that were answered."""

    site: Site
    patience: Patience
    book: Book
    purse: Purse
    found: ChangeSet
    terms: DiffInputs
    scope: Scope
    launched: dict[str, str] = field(default_factory=dict)
    answered: dict[str, Machine] = field(default_factory=dict)
    ended: list[str] = field(default_factory=list)
    surplus: list[str] = field(default_factory=list)
    shortfalls: list[Shortfall] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    halted: HcloudError | None = None
    seen: Observed | None = None
    first: Observed | None = None
    answers: int = 0
    acted: bool = False
    _attempts: dict[str, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def cloud(self) -> Compute:
        return self.site.cloud

    def halt(self, error: HcloudError) -> None:
        """Begin nothing new: what ends a run first is what it is ended by."""
        with self._lock:
            self.halted = self.halted or error

    def problem(self, text: str) -> None:
        """Something to tell at the end, once."""
        with self._lock:
            self.problems += [] if text in self.problems else [text]

    def fall_short(self, shortfall: Shortfall) -> None:
        """Machines that could not be had."""
        with self._lock:
            self.shortfalls.append(shortfall)

    def was_answered(self, made: bool) -> None:
        """An order was answered; with ``made`` there are machines of it."""
        with self._lock:
            self.answers += 1
            self.acted = self.acted or made

    def came(self, machines: Iterable[Machine], address: str) -> None:
        with self._lock:
            self.launched |= {m.id: address for m in machines}
            self.answered |= {m.id: m for m in machines}
            done = len(self.launched)
        self.site.progress(ProgressStep(f"{address}: launched", done, self.found.coming))

    def new_order(self, order: Launch) -> Launch:
        """An order with its key: the attempt is counted by address, type and zone."""
        place = "\n".join([order.address, order.instance_type, order.zone])
        with self._lock:
            attempt = self._attempts[place] = self._attempts.get(place, 0) + 1
        state, template = self.book.state, self.found.template
        project = template.tags.get(TAG_PROJECT, state.project) if template else state.project
        owner = Owner(state.lineage, project, self.found.digest[:12], order.owner.expires)
        offering = (order.instance_type, order.zone)
        key = order_key(state.lineage, state.generation, order.address, offering, attempt)
        return replace(order, key=key, owner=owner, template=template)

    def with_user_data(self, order: Launch) -> Launch:
        """An order as it is sent. Neither plan nor journal holds its user data: what is at hand has to be the same."""
        wanted = order.template.user_data if order.template else ""
        if not wanted:
            return order
        data = self.site.user_data()
        if hashlib.sha256(data.encode()).hexdigest() != wanted:
            call = Call(self.scope.cloud, self.scope.region, "launch")
            what = f"the order for {order.address} was made with user data of SHA-256 {wanted[:12]}, and live.user_data"
            hint = "put the file back as it was and apply again"
            raise UnknownOutcomeError(f"{what} is another file now: it was not sent again", call, hint=hint)
        return replace(order, start_up=data)

    def list_machines(self) -> tuple[Machine, ...]:
        """What the cloud tells of this state's machines now."""
        lineage = self.book.state.lineage
        self.patience.expect(1)
        return self.patience.ask(lambda: self.cloud.machines(lineage))

    def as_answered(self) -> Observed | None:
        """What is there, where the answer to this run's only order says all of it: nothing stood before, everything
        that came runs and bears our tag, and nothing was said later. None where only another look can tell."""
        lineage = self.book.state.lineage
        came = [self.answered.get(i) for i in self.launched]
        ready = all(m is not None and m.state is MachineState.RUNNING and m.lineage == lineage for m in came)
        calm = self.halted is None and not (self.ended or self.surplus or self.shortfalls or self.problems)
        alone = self.first is not None and not (self.first.open or self.first.machines) and self.answers == 1
        if self.first is None or not alone or not came or not ready or not calm:
            return None
        told = {m.id: m for m in self.first.machines} | self.answered
        seen = CloudListing(self.scope, tuple(told[i] for i in sorted(told)), self.book.state, self.book.entries())
        self.seen = brought_together(self.site, self.patience, seen)
        return self.seen

    def look(self) -> Observed:
        """What is there now, brought together with what is remembered; nothing is written."""
        told = self.list_machines()
        self.patience.expect(1)
        seen = CloudListing(self.scope, told, self.book.state, self.book.entries())
        self.seen = brought_together(self.site, self.patience, seen)
        return self.seen
