"""What was committed to: a bought term that covers usage hour by hour."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from hcloud.model.catalog import Offer, PurchaseOption
from hcloud.model.clouds.known import CLOUDS

_ZONAL = (PurchaseOption.RESERVED, PurchaseOption.CONVERTIBLE)


@dataclass(frozen=True, slots=True)
class CommittedResources:
    """The vCPUs and GiB of a Google commitment that does not have the shape of an instance type."""

    vcpus: Decimal
    memory_gib: Decimal

    def __post_init__(self) -> None:
        _require_amount(self.vcpus, "vCPUs")
        _require_amount(self.memory_gib, "GiB")


@dataclass(frozen=True, slots=True)
class CommitmentTerm:
    """A bought term: covers and is charged for every hour from ``start_hour`` on until ``offer.term_hours`` later.

    ``count`` is instances for reserved instances and reservations; for Google's committed use the number of times the
    shape of the offer's instance type, or ``resources`` where given; for savings plans dollars an hour; for flexible
    committed use dollars an hour of on-demand-equivalent spend. ``offer`` is what was bought at the price then paid;
    hours count from the caller's origin and may be negative. Raises ValueError for what nobody sells.
    """

    offer: Offer
    count: Decimal
    start_hour: int
    zone: str = ""
    resources: CommittedResources | None = None

    def __post_init__(self) -> None:
        key = self.offer.key
        if key.option not in CLOUDS[key.provider].sold or not key.term_years:
            raise ValueError(f"{key}: {key.provider} sells no such commitment")
        if self.zone and key.option not in _ZONAL:
            raise ValueError(f"{key}: only reserved instances are bought for a zone")
        if self.resources is not None and key.option is not PurchaseOption.COMMITTED_USE:
            raise ValueError(f"{key}: only committed use is bought in vCPUs and GiB")
        _require_amount(self.count, f"{key}: count")

    @property
    def scope_zone(self) -> str:
        """The zone it is tied to, empty for a regional one."""
        return self.zone or self.offer.key.zone


def _require_amount(amount: Decimal, what: str) -> None:
    if not amount.is_finite() or amount < 0:
        raise ValueError(f"{what} must be a finite number of at least 0, not {amount}")
