"""The whole life as a state machine: anything may happen in any order, on every cloud, and the judge looks after each.

When it fails Hypothesis prints the shortest sequence of steps and how to reproduce it.
"""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from oracle import foreign, untagged_of_ours, v3_foreign_is_untouched
from rehearsal import LINEAGE, Crasher, Rehearsal, crashing
from rehearsal import rule as fault

from hcloud.errors import HcloudError, LockedError, StaleError
from hcloud.fake.faults import Kind
from hcloud.model.change import ChangeSet, Slot
from hcloud.planning.recall import unresolved

MOST_CALLS = 400
"""Of one process: twenty calls where all goes well, polls of ten minutes, and three times that."""
QUIET = settings(
    max_examples=60,
    stateful_step_count=25,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
POINTS = st.integers(min_value=1, max_value=24)


class Life(RuleBasedStateMachine):
    """One state, one cloud, several people."""

    cloud = "aws"

    @initialize(
        visibility=st.sampled_from([0, 5, 60]),
        spin_up=st.sampled_from([0, 30]),
        end=st.sampled_from([0, 20]),
        tags=st.sampled_from([0, 30]),
    )
    def begin(self, visibility: int, spin_up: int, end: int, tags: int) -> None:
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
        self.submit(2, 1)

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
                Kind.THROTTLED,
                Kind.DROPPED_AFTER,
                Kind.DROPPED_BEFORE,
                Kind.NONSENSE,
                Kind.SERVER_ERROR,
                Kind.PARTIAL,
                Kind.TWICE,
                Kind.NO_CAPACITY,
                Kind.QUOTA,
                Kind.DENIED,
                Kind.OPERATION_FAILS,
                Kind.NONSENSE_BEFORE,
                Kind.UNKNOWN_WORDS,
                Kind.UNTAGGED,
                Kind.SLOW,
            ]
        ),
        share=st.sampled_from([0.3, 0.6, 0.95]),
        seed=st.integers(0, 1000),
        at=st.one_of(st.just(0), POINTS),
    )
    def apply_while_something_is_wrong(self, kind: Kind, share: float, seed: int, at: int) -> None:
        self.r.faults(fault("*", kind, probability=share), seed=seed, **self.world)
        with crashing():
            self._run(lambda: self.r.apply(*self.slots, crash=Crasher(at)))
        self.r.heal(**self.world)

    @rule(k=st.integers(1, 12), ends=st.booleans())
    def credentials_expire(self, k: int, ends: bool) -> None:
        self.r.faults(fault("*", Kind.EXPIRED, from_call=k), **self.world)
        self._run(self.r.destroy if ends else lambda: self.r.apply(*self.slots))
        self.r.heal(**self.world)

    @precondition(lambda self: not self._missing())  # what two looks, five minutes apart, do not show is forgotten
    @rule()
    def lists_are_empty(self) -> None:
        self.r.faults(fault("machines", Kind.EMPTY), fault("look", Kind.EMPTY), **self.world)
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

    @invariant()
    def the_judge_is_content(self) -> None:
        if hasattr(self, "r"):
            self.r.judge()
            v3_foreign_is_untouched(self.r.cloud, LINEAGE, self.others)

    def teardown(self) -> None:
        """V4. A machine that somebody ended behind our back is believed gone after five minutes: three runs do."""
        if not hasattr(self, "r"):
            return
        self.r.heal(**self.world)
        for _ in range(3):
            self._run(lambda: self.r.apply(*self.slots))
            self.r.cloud.clock.advance(400)
        self.r.converges(*self.slots)
        assert not untagged_of_ours(self.r.cloud)

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
LifeOnGcp.TestCase.settings = QUIET
LifeOnAzure.TestCase.settings = QUIET
TestLifeOnAws = Life.TestCase
TestLifeOnGcp = LifeOnGcp.TestCase
TestLifeOnAzure = LifeOnAzure.TestCase
