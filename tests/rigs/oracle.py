"""The judge: invariants V1-V8 of faults.md, told from the cloud's own ledger and never from hcloud's opinion.

V7 (no secrets) cannot be judged here: nothing in memory carries one. It is tested where real processes run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from decimal import Decimal
from typing import Protocol

from memory_store import MemoryDisk

from hcloud.fake.clock import FakeClock
from hcloud.fake.in_memory.memory import MemoryCloud
from hcloud.fake.ledger import BoughtCommitment, Ledger, Rented
from hcloud.live.applying.outcome import ApplyOutcome, ApplyResult
from hcloud.model.holdings.change import Slot
from hcloud.model.holdings.live import TAG_ADDRESS, TAG_KEY, TAG_LINEAGE, CommitmentOrder, CommitmentQuote
from hcloud.model.holdings.purchase import committed
from hcloud.model.holdings.state import Conclusion, Deed, Intent
from hcloud.planning.changes.recall import unresolved

SPARE_CALLS = 45
"""The constant of V8: calls that a run may make beyond three times the fault-free count."""


class Judged(Protocol):
    """A fake cloud, in memory or behind a socket."""

    @property
    def ledger(self) -> Ledger: ...

    @property
    def clock(self) -> FakeClock: ...


def ours(cloud: Judged, lineage: str) -> list[Rented]:
    """Live machines that bear our tag."""
    return [m for m in cloud.ledger.live(cloud.clock.now()) if m.tags.get(TAG_LINEAGE) == lineage]


def believable(cloud: MemoryCloud, lineage: str) -> list[Rented]:
    """Those, and machines that somebody ended so short a while ago that the cloud itself tells of them as live."""
    mine = [m for m in cloud.ledger.machines.values() if m.tags.get(TAG_LINEAGE) == lineage]
    now = cloud.clock.now()
    return [m for m in mine if m.is_live(now) or ((told := cloud.world.told(m)) is not None and told.state.is_live)]


def foreign(cloud: Judged, lineage: str) -> dict[str, dict[str, object]]:
    """Everything that does not bear our tag and was not made by us, to be compared later."""
    others = [m for m in cloud.ledger.machines.values() if m.tags.get(TAG_LINEAGE) != lineage and not m.token]
    return {m.id: asdict(m) for m in others}


def untagged_of_ours(cloud: Judged) -> list[str]:
    """Live machines that we made and that bear no tag: nobody will ever find them."""
    return [m.id for m in cloud.ledger.live(cloud.clock.now()) if m.token and TAG_LINEAGE not in m.tags]


def v1_nothing_is_orphaned(cloud: Judged, disk: MemoryDisk, lineage: str) -> None:
    """At any moment, after any crash: every live machine of ours is remembered, or an order in the journal names it."""
    records = {r.id for r in disk.state.records} if disk.state else set()
    keys = {e.order.key for e in disk.entries if isinstance(e, Intent) and e.order is not None}
    lost = [m.id for m in ours(cloud, lineage) if m.id not in records and m.tags.get(TAG_KEY) not in keys]
    assert not lost, f"V1: nobody remembers {lost}"


def v1_records_are_exact(cloud: MemoryCloud, disk: MemoryDisk, lineage: str) -> None:
    """After a run that says it converged: exactly one record for each live machine, and the reverse."""
    ids = {r.id for r in disk.state.records if not r.ending} if disk.state else set()
    assert {m.id for m in ours(cloud, lineage)} <= ids, "V1: a machine without a record"
    assert ids <= {m.id for m in believable(cloud, lineage)}, "V1: a record without a machine"


def v2_nothing_is_doubled(cloud: Judged, lineage: str, most: Mapping[str, int]) -> None:
    """At no address live more machines than were ever planned there."""
    counts = Counter(m.tags.get(TAG_ADDRESS, "") for m in ours(cloud, lineage))
    too_many = {a: n for a, n in counts.items() if n > most.get(a, 0)}
    assert not too_many, f"V2: {too_many} live, {dict(most)} planned"


def v2_only_what_was_approved_is_bought(
    cloud: Judged, approved: Mapping[str, CommitmentQuote], ceiling: Decimal
) -> None:
    """Every purchase was approved as it was made, none was made twice, and together they stay below the ceiling."""
    sold = [(_order(p), p.upfront, p.hourly) for p in cloud.ledger.purchases.values()]
    times = Counter(order.key for order, _, _ in sold)
    assert all(n == 1 for n in times.values()), f"V2: bought more than once: {dict(times)}"
    for order, upfront, hourly in sold:
        assert order.key in approved, f"V2: nobody approved {order}"
        quote = approved[order.key]
        assert (order, upfront, hourly) == (quote.order, quote.upfront, quote.hourly), "V2: not what was approved"
    dollars = sum((committed(approved[order.key]) for order, _, _ in sold), Decimal(0))
    assert dollars <= ceiling, f"V2: {dollars} committed, {ceiling} is the ceiling"


def _order(bought: BoughtCommitment) -> CommitmentOrder:
    order = bought.detail["order"]
    assert isinstance(order, CommitmentOrder)
    return order


def v3_foreign_is_untouched(cloud: Judged, lineage: str, before: Mapping[str, Mapping[str, object]]) -> None:
    """What does not bear our tag is as it was."""
    now = foreign(cloud, lineage)
    assert all(now.get(i) == was for i, was in before.items()), "V3: a foreign machine was touched"


def v5_exit_is_true(cloud: MemoryCloud, disk: MemoryDisk, slots: Sequence[Slot], outcome: ApplyOutcome) -> None:
    """0 exactly where what lives is what is wanted, of the right shape, and nothing is open."""
    lineage = disk.state.lineage if disk.state else ""
    wanted = {slot.address: slot for slot in slots}
    live = ours(cloud, lineage)
    least, most = _by_address(live), _by_address(believable(cloud, lineage))
    fits = all(_fits(m, wanted.get(m.tags.get(TAG_ADDRESS, ""))) for m in live)
    reached = fits and all(
        least[a] <= (wanted[a].count if a in wanted else 0) <= most[a] for a in wanted.keys() | most.keys()
    )
    sure = not unresolved(disk.entries)
    if outcome.exit_code == 0:
        assert outcome.result is ApplyResult.CONVERGED
        assert reached, f"V5: exit 0 with {dict(least)} to {dict(most)}"
        assert sure, "V5: exit 0 with an open intent"
        v1_records_are_exact(cloud, disk, lineage)
    if outcome.result is ApplyResult.PARTIAL:
        assert outcome.exit_code != 0
        assert sure, "V5: partial said where an outcome is unknown"


def _by_address(machines: Sequence[Rented]) -> Counter[str]:
    return Counter(m.tags.get(TAG_ADDRESS, "") for m in machines)


def _fits(m: Rented, slot: Slot | None) -> bool:
    types = {s.instance_type for s in slot.shapes} if slot else set()
    return slot is not None and m.instance_type in types and m.zone in slot.zones


def v6_disk_is_readable(disk: MemoryDisk) -> None:
    """Every conclusion in the journal belongs to an intent, and no number is used twice."""
    numbers = [e.number for e in disk.entries if isinstance(e, Intent)]
    assert len(numbers) == len(set(numbers)), "V6: a number is used twice"
    loose = [e.number for e in disk.entries if isinstance(e, Conclusion) and e.number not in numbers]
    assert not loose, f"V6: conclusions of nothing: {loose}"
    if disk.state is not None:
        ids = [r.id for r in disk.state.records]
        assert len(ids) == len(set(ids)), "V6: a machine is remembered twice"


def v8_calls_are_bounded(calls: int, fault_free: int) -> None:
    """No more than three times the fault-free count, and a constant."""
    assert calls <= 3 * fault_free + SPARE_CALLS, f"V8: {calls} calls, {fault_free} without faults"


def nothing_asked_before_it_was_noted(cloud: Judged, disk: MemoryDisk, lineage: str) -> None:
    """Every machine that bears a token of ours came from an order that the disk was told of before."""
    noted = {e.order.key for e in disk.entries if isinstance(e, Intent) and e.deed is Deed.LAUNCH and e.order}
    remembered = {r.key for r in disk.state.records} if disk.state else set()
    assert all(m.tags.get(TAG_KEY) in noted | remembered for m in ours(cloud, lineage) if m.token)
