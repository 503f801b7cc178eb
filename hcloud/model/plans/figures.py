"""What plans are compared and checked by: the parts of a plan, each one offer, with dollars, counts and evidence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from hcloud.model.catalog import Payment, PurchaseOption
from hcloud.model.plans.held import ends_of, held_now
from hcloud.model.plans.operation import Band, OperatingPoint
from hcloud.model.plans.plan import MixLine, WhatIf

NOTHING = Decimal(0)


@dataclass(frozen=True, slots=True)
class PlanPart:
    """One offer of a plan, or one address of a fleet, in dollars an hour averaged over the horizon.

    ``count`` is instances (the mean of those running where nothing is committed), ``peak`` the most of them at once,
    ``price`` dollars an hour of one. ``bought`` says that somebody would have to buy it; ``term_total`` is what all of
    it costs over its whole term then. ``others`` are types that may run in place of its own; ``tags`` are those its
    machines would bear, None where the plan does not say. ``expires_hour`` is when what is owned ends, None where that
    is not before the horizon does. ``licences`` is what of ``hourly`` is billed by use beside a commitment.
    """

    address: str
    provider: str
    region: str
    instance_type: str
    option: PurchaseOption
    count: Decimal
    peak: int
    hourly: Decimal
    term_years: int = 0
    payment: Payment = Payment.NONE
    starts_hour: int = 0
    vcpus: Decimal | None = None
    upfront: Decimal = NOTHING
    term_total: Decimal = NOTHING
    bought: bool = False
    price_day: date | None = None
    others: tuple[str, ...] = ()
    tags: tuple[str, ...] | None = None
    expires_hour: int | None = None
    licences: Decimal = NOTHING

    @property
    def is_owned(self) -> bool:
        """Whether it was bought before: no plan can do anything about it."""
        return self.option.is_commitment and not self.bought

    @property
    def ends_hour(self) -> int | None:
        """The hour of the horizon at which a purchase ends; None for what is rented."""
        return ends_of(self.starts_hour, self.term_years) if self.bought else self.expires_hour

    @property
    def price(self) -> Decimal | None:
        """Dollars an hour of one instance, without licences of what runs on it; None where there are none."""
        return (self.hourly - self.licences) / self.count if self.count else None


@dataclass(frozen=True, slots=True)
class DemandFigures:
    """The demand a plan was made for, in vCPUs over the trace."""

    mean_cores: Decimal
    peak_cores: Decimal


@dataclass(frozen=True, slots=True)
class PlanInput:
    """What a plan says of what it was made from: a key with its value, both as text."""

    key: str
    value: str


@dataclass(frozen=True, slots=True)
class PlanFigures:
    """All of a plan that is compared and checked. ``hourly`` and ``monthly`` are its own headline in dollars; what the
    parts come to may differ from it by rounding. ``demand``, ``quality``, ``what_if``, ``price_day`` and
    ``history_hours`` (the length of the trace that counts) are None or empty where the plan does not say. ``operated``
    is what a simulated strategy would rent beside the parts, where the arithmetic rents nothing: it has no figures,
    only names. ``kept`` is the share of jobs that keep their performance, of a strategy or of the plan's own fleet."""

    name: str
    made: datetime
    currency: str
    hourly: Decimal
    monthly: Decimal
    horizon_hours: int
    parts: tuple[PlanPart, ...]
    inputs: tuple[PlanInput, ...]
    settings: tuple[PlanInput, ...] = ()
    warnings: tuple[str, ...] = ()
    demand: DemandFigures | None = None
    quality: OperatingPoint | None = None
    kept: Band | None = None
    what_if: tuple[WhatIf, ...] = ()
    price_day: date | None = None
    unpriced: tuple[str, ...] = ()
    operated: tuple[PlanPart, ...] = ()
    history_hours: Decimal | None = None

    @property
    def upfront(self) -> Decimal:
        """Cash due when what is to be bought is bought, on all days together."""
        return sum((p.upfront for p in self.parts), NOTHING)

    @property
    def upfront_now(self) -> Decimal:
        """What of it is due now."""
        return sum((p.upfront for p in held_now(self.parts)), NOTHING)

    @property
    def longest_term_years(self) -> int:
        """The longest commitment somebody would have to buy, 0 without one."""
        return max((p.term_years for p in self.parts if p.bought), default=0)


def reserved_vcpus(mix: Iterable[MixLine]) -> float:
    """vCPUs committed to from the first day on, with what is owned already."""
    return float(sum((line.vcpus for line in mix if line.option.is_commitment and not line.begins_later), Decimal()))
