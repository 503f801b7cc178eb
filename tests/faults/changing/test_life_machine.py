"""The whole life as a state machine: anything may happen in any order, on every cloud, and the judge looks after each.

When it fails Hypothesis prints the shortest sequence of steps and how to reproduce it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from oracle import foreign, untagged_of_ours, v2_only_what_was_approved_is_bought, v3_foreign_is_untouched
from purchasing import OPEN, OPTIONS, Shop, wanted
from purchasing import approved as read_and_approved
from rehearsal import LINEAGE, Crasher, Rehearsal, crashing
from rehearsal import rule as fault

from hcloud.errors import HcloudError, LockedError, StaleError
from hcloud.fake.faults import FaultKind
from hcloud.live.buying.purchase import execute, settle
from hcloud.model.holdings.change import ChangeSet, Slot
from hcloud.model.holdings.live import CommitmentQuote
from hcloud.model.holdings.purchase import PurchasePlan
from hcloud.planning.changes.recall import unresolved
from hcloud.planning.purchases.gates import PurchaseApproval
from hcloud.planning.purchases.unknown import GRACE

MOST_CALLS = 400
"""Of one process: twenty calls where all goes well, polls of ten minutes, and three times that."""
QUIET = settings(
    max_examples=15,
    stateful_step_count=25,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
POINTS = st.integers(min_value=1, max_value=24)
POINTS_OF_A_PURCHASE = st.integers(min_value=1, max_value=10)
LOST = [
    FaultKind.DROPPED_AFTER,
    FaultKind.DROPPED_BEFORE,
    FaultKind.NONSENSE,
    FaultKind.NONSENSE_BEFORE,
    FaultKind.SERVER_ERROR,
]
CEILING_IN_INSTANCES = 12
"""Commitments of one to five each: some lives come to it, and most buy several times before."""


class Life(RuleBasedStateMachine):
    """One state, one cloud, several people."""

    cloud = "aws"

    @initialize(
        visibility=st.sampled_from([0, 5, 60]),
        spin_up=st.sampled_from([0, 30]),
        end=st.sampled_from([0, 20]),
        tags=st.sampled_from([0, 30]),
        lost=st.one_of(st.none(), st.sampled_from(LOST)),
    )
    def begin(self, visibility: int, spin_up: int, end: int, tags: int, lost: FaultKind | None) -> None:
        self.r = Rehearsal(self.cloud)
        self.world: Mapping[str, object] = {
            "visibility_delay": visibility,
            "spin_up": spin_up,
            "end_delay": end,
            "tag_delay": tags,
        }
        self.r.heal(**self.world)
        self.r.cloud.edit({"launch": self.r.types[0], "tags": {"team": "other"}})
        self.others = foreign(self.r.cloud, LINEAGE)
        self.slots: tuple[Slot, ...] = ()
        self.kept: ChangeSet | None = None
        self.resized = 0
        self._open_shop()
        self.submit(2, 1)
        self.buy([1], 0, True, lost, {1}, 0)

    def _open_shop(self) -> None:
        self.place = tempfile.TemporaryDirectory()
        self.shop = Shop(self.cloud, Path(self.place.name) / ".hcloud", self.r.cloud)
        self.gates = replace(OPEN, ceiling=self.shop.plan(wanted(self.cloud, CEILING_IN_INSTANCES)).amount)
        self.cart: PurchasePlan | None = None
        self.approved: dict[str, CommitmentQuote] = {}
        self.asked_by_buy = 0

    @rule(web=st.integers(0, 4), batch=st.integers(0, 3))
    def submit(self, web: int, batch: int) -> None:
        self.slots = (self.r.slot(web, "web", [self.r.types[1]]), self.r.slot(batch, "batch"))
        for slot in self.slots:
            self.r.most[slot.address] = max(self.r.most.get(slot.address, 0), slot.count + self.resized)

    @rule()
    def apply(self) -> None:
        self._run(lambda: self.r.apply(*self.slots))

    @rule(at=POINTS)
    def apply_and_crash(self, at: int) -> None:
        with crashing():
            self._run(lambda: self.r.apply(*self.slots, crash=Crasher(at)))

    @rule(at=POINTS)
    def destroy_and_crash(self, at: int) -> None:
        with crashing():
            self._run(lambda: self.r.destroy(Crasher(at)))

    @rule()
    def destroy(self) -> None:
        self._run(self.r.destroy)

    @rule(
        kind=st.sampled_from(
            [
                FaultKind.THROTTLED,
                FaultKind.DROPPED_AFTER,
                FaultKind.DROPPED_BEFORE,
                FaultKind.NONSENSE,
                FaultKind.SERVER_ERROR,
                FaultKind.PARTIAL,
                FaultKind.TWICE,
                FaultKind.NO_CAPACITY,
                FaultKind.QUOTA,
                FaultKind.DENIED,
                FaultKind.OPERATION_FAILS,
                FaultKind.NONSENSE_BEFORE,
                FaultKind.UNKNOWN_WORDS,
                FaultKind.UNTAGGED,
                FaultKind.SLOW,
            ]
        ),
        share=st.sampled_from([0.3, 0.6, 0.95]),
        seed=st.integers(0, 1000),
        at=st.one_of(st.just(0), POINTS),
    )
    def apply_while_something_is_wrong(self, kind: FaultKind, share: float, seed: int, at: int) -> None:
        self.r.faults(fault("*", kind, probability=share), seed=seed, **self.world)
        with crashing():
            self._run(lambda: self.r.apply(*self.slots, crash=Crasher(at)))
        self.r.heal(**self.world)

    @rule(k=st.integers(1, 12), ends=st.booleans())
    def credentials_expire(self, k: int, ends: bool) -> None:
        self.r.faults(fault("*", FaultKind.EXPIRED, from_call=k), **self.world)
        self._run(self.r.destroy if ends else lambda: self.r.apply(*self.slots))
        self.r.heal(**self.world)

    @precondition(lambda self: not self._missing())  # what two looks, five minutes apart, do not show is forgotten
    @rule()
    def lists_are_empty(self) -> None:
        self.r.faults(fault("machines", FaultKind.EMPTY), fault("look", FaultKind.EMPTY), **self.world)
        before = self.r.calls("terminate")
        unsure = bool(unresolved(self.r.disk.entries))  # what these come to may have to end
        self._run(self.r.destroy)
        assert unsure or self.r.calls("terminate") == before, "an empty list authorised an end"
        self.r.heal(**self.world)

    @rule(seconds=st.sampled_from([1, 20, 61, 299, 301, 3600]))
    def clock_step(self, seconds: int) -> None:
        self.r.cloud.clock.advance(seconds)

    @rule(which=st.integers(0, 9), deed=st.sampled_from(["terminate", "resize", "stop"]))
    def human_edit(self, which: int, deed: str) -> None:
        ids = [m.id for m in self.r.cloud.ledger.live(0) if m.token]
        if not ids:
            return
        self.r.cloud.edit({deed: ids[which % len(ids)], "type": self.r.types[2]})
        if deed == "resize":  # what replaces it is launched before it ends
            self.resized += 1
            self.r.most = {address: most + 1 for address, most in self.r.most.items()}

    @rule(at=POINTS)
    def second_operator_at_the_same_time(self, at: int) -> None:
        other = self._plan()
        passed: list[str] = []

        def meanwhile(name: str) -> None:
            passed.append(name)
            if len(passed) == at and other is not None:
                try:
                    self.r.carry_out(other)
                except LockedError:
                    return
                raise AssertionError("two of them worked at the same time")

        self._run(lambda: self.r.apply(*self.slots, crash=meanwhile))

    @rule()
    def keep_a_plan(self) -> None:
        self.kept = self._plan()

    @precondition(lambda self: self.kept is not None)
    @rule()
    def apply_the_plan_that_was_kept(self) -> None:
        kept, self.kept = self.kept, None
        if kept is None:
            return
        self.r.allow(*kept.slots)
        moved = self.r.disk.state is not None and self.r.disk.state.serial != kept.base.serial
        try:
            self.r.carry_out(kept)
        except StaleError:
            return
        except HcloudError:
            assert not moved
            return
        assert not moved, "a stale plan was applied"

    @rule(
        counts=st.lists(st.integers(1, 5), min_size=1, max_size=2),
        kind=st.integers(0, 1),
        consents=st.sampled_from([True, True, True, False]),
        lost=st.one_of(st.none(), st.sampled_from(LOST)),
        answers=st.sets(st.integers(1, 3), min_size=1),
        at=st.one_of(st.just(0), POINTS_OF_A_PURCHASE),
    )
    def buy(
        self, counts: list[int], kind: int, consents: bool, lost: FaultKind | None, answers: set[int], at: int
    ) -> None:
        self.cart = self._purchase_plan(counts, kind)
        self._buy(self.cart, consents, lost, answers, at)

    @precondition(lambda self: self.cart is not None)
    @rule(lost=st.one_of(st.none(), st.sampled_from(LOST)), at=st.one_of(st.just(0), POINTS_OF_A_PURCHASE))
    def buy_the_same_plan_again(self, lost: FaultKind | None, at: int) -> None:
        if self.cart is not None:
            self._buy(self.cart, True, lost, {1}, at)

    def _buy(self, cart: PurchasePlan, consents: bool, lost: FaultKind | None, answers: set[int], at: int) -> None:
        if lost is not None:
            self.r.faults(fault("buy", lost, calls=sorted(answers)), **self.world)
        before = self.r.calls("buy")
        with crashing():
            self._run(lambda: self._purchase(cart, consents, Crasher(at)))
        self.asked_by_buy += self.r.calls("buy") - before
        self.r.heal(**self.world)

    def _purchase_plan(self, counts: list[int], kind: int) -> PurchasePlan:
        kinds = [k for k in sorted(OPTIONS) if k.partition("-")[0] == self.cloud]
        own = kinds[kind % len(kinds)]
        return self.shop.plan(*(wanted(own, count, f"need/{number}") for number, count in enumerate(counts)))

    def _purchase(self, cart: PurchasePlan, consents: bool, crash: Crasher) -> None:
        def approve(shown: PurchasePlan) -> PurchaseApproval:
            if not consents:
                return PurchaseApproval("", "")
            self.approved.update({item.key: item.quote for item in shown.items})
            return read_and_approved(shown)

        execute(cart, self.gates, approve, self.shop.ground(crash))

    @invariant()
    def only_what_was_approved_is_bought(self) -> None:
        if hasattr(self, "shop") and self.gates.ceiling is not None:
            v2_only_what_was_approved_is_bought(self.r.cloud, self.approved, self.gates.ceiling)
            assert self.r.calls("buy") == self.asked_by_buy, "something else than a purchase asked the cloud to sell"

    @invariant()
    def the_judge_is_content(self) -> None:
        if hasattr(self, "r"):
            self.r.judge()
            v3_foreign_is_untouched(self.r.cloud, LINEAGE, self.others)

    def teardown(self) -> None:
        """V4. A machine that somebody ended behind our back is believed gone after five minutes: three runs do."""
        if not hasattr(self, "shop"):
            return
        with self.place:
            self.r.heal(**self.world)
            self._converges()
            self._purchases_are_settled()

    def _converges(self) -> None:
        for _ in range(3):
            self._run(lambda: self.r.apply(*self.slots))
            self.r.cloud.clock.advance(400)
        self.r.converges(*self.slots)
        assert not untagged_of_ours(self.r.cloud)

    def _purchases_are_settled(self) -> None:
        """Once the cloud lists all it sold, the ledger knows every purchase, and an approved one takes place."""
        self.r.cloud.clock.advance(GRACE.total_seconds() + 60)
        settle(self.shop.ground())
        assert self.shop.history.ids == set(self.r.cloud.ledger.purchases), "a purchase is forgotten"
        before = self.shop.bought
        self.shop.apply(self.shop.plan())
        assert self.shop.bought == before + 1

    def _missing(self) -> bool:
        state = self.r.disk.state
        return state is not None and any(r.missed_since is not None for r in state.records)

    def _plan(self) -> ChangeSet | None:
        try:
            return self.r.plan(*self.slots)
        except HcloudError:
            return None

    def _run(self, process: object) -> None:
        before = self.r.calls()
        try:
            process()  # type: ignore[operator]
        except HcloudError:
            return
        finally:
            assert self.r.calls() - before <= MOST_CALLS, "V8"


class LifeOnGcp(Life):
    cloud = "gcp"


class LifeOnAzure(Life):
    cloud = "azure"


Life.TestCase.settings = QUIET
LifeOnGcp.TestCase.settings = LifeOnAzure.TestCase.settings = settings(QUIET, max_examples=4)
"""What differs is how a cloud in memory answers, not what is done of it."""
TestLifeOnAws = Life.TestCase
TestLifeOnGcp = LifeOnGcp.TestCase
TestLifeOnAzure = LifeOnAzure.TestCase
