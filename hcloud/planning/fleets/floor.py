"""Commitments that save too little of what they cost are not bought: where they are chosen, each counts as dearer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from hcloud.model.catalog import Offer
from hcloud.planning.fleets.fleet import Fleet, Holding
from hcloud.units import cents, format_money


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What is not bought although it saves something: dollars of these commitments over the horizon, and what they
    would save."""

    committed: Decimal = Decimal(0)
    saved: Decimal = Decimal(0)

    @classmethod
    def between(cls, fleet: Fleet, cheapest: Fleet) -> LeftOut:
        """What the cheapest fleet has beyond another."""
        return cls(cheapest.commitments_cost - fleet.commitments_cost, fleet.cost - cheapest.cost)

    def plus(self, other: LeftOut) -> LeftOut:
        """Both together."""
        return LeftOut(self.committed + other.committed, self.saved + other.saved)

    def said(self, least: float, how: str = "") -> Iterator[str]:
        """What is not proposed and why, where it would save a cent; ``how`` stands before what."""
        if cents(self.saved) > 0 and self.committed > 0:
            share = float(self.saved / self.committed)
            yield (
                f"not proposed: commitments of {format_money(self.committed)} more, which would save {how}"
                f"{format_money(self.saved, 2)} over the horizon: {share:.1%} of what they cost, less than {least:.1%} "
                "(planning.commit_min_saving)"
            )


NOTHING_LEFT_OUT = LeftOut()


def dearer_by(least: float) -> Decimal:
    """How many dollars of on-demand use a dollar of commitments has to replace."""
    return 1 + Decimal(repr(least))


def counted_dearer(offers: Iterable[Offer], least: float) -> dict[Offer, Offer]:
    """Each offer as it counts, where it has to save at least a share of what it costs, with the offer as it is sold.

    What costs least so, costs least of all in which every purchase, and every part of one, saves so much.
    """
    factor = dearer_by(least)
    return {replace(o, hourly=o.hourly * factor, upfront=o.upfront * factor): o for o in offers}


def as_sold(holdings: Sequence[Holding], sold: Mapping[Offer, Offer]) -> tuple[Holding, ...]:
    """The holdings at the prices that are paid."""
    return tuple(replace(h, offer=sold[h.offer]) for h in holdings)
