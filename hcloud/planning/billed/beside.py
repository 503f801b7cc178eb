"""What other kinds of machines of a bill have of commitments, so that what is theirs is not taken for this kind's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal

from hcloud.model.catalog import OfferKey, PurchaseOption, special_in
from hcloud.model.plans.plan import BesideKind
from hcloud.planning.billed.held import HeldShares
from hcloud.planning.billed.kinds import MachineKind
from hcloud.planning.fleets.fleet import Holding
from hcloud.units import rate


def beside_kind(
    kind: MachineKind, held: HeldShares, bought: Mapping[MachineKind, Sequence[Holding]], end: datetime, now: datetime
) -> Iterator[BesideKind]:
    """What is ``held`` by others than a kind before the ``end`` of the bill, and ``bought`` for them, where it may
    stand in for what the kind buys. Of what floats the others have what the kind has not: Fargate and Lambda too; of
    what is owned since the bill also what began before ``now``."""
    own: dict[PurchaseOption, Decimal] = defaultdict(Decimal)
    for one in held.by_kind.get(kind, ()):
        own[one.offer.key.option] += one.offer.effective_hourly * one.count
    for (option, is_since), dollars in sorted(held.floating.items(), key=lambda of: of[0][1]):
        mine = min(own[option], dollars)
        own[option] -= mine
        if dollars > mine:
            yield BesideKind(option, "", rate(dollars - mine), to_buy=False, bill_end=now if is_since else end)
    for other, owned in held.by_kind.items():
        for one in owned:
            if other != kind and _is_near(one.offer.key, kind) and not one.offer.key.option.floats:
                yield _beside(one.offer.key, one.count, one.offer.effective_hourly, to_buy=False, end=end)
    for other, holdings in bought.items():
        for holding in holdings:
            key = holding.offer.key
            if other != kind and (_is_near(key, kind) or (key.option.floats and key.provider == kind.provider)):
                yield _beside(key, Decimal(holding.count), holding.offer.effective_hourly, to_buy=True, end=end)


def _is_near(key: OfferKey, kind: MachineKind) -> bool:
    return (key.provider, key.region) == (kind.provider, kind.region)


def _beside(key: OfferKey, count: Decimal, hourly: Decimal, *, to_buy: bool, end: datetime) -> BesideKind:
    quantity = rate(count * hourly) if key.option.is_spend_based else count
    return BesideKind(key.option, key.instance_type, quantity, to_buy, end, special_in(str(key)))
