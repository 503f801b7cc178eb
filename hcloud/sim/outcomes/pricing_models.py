"""What a finished run costs under another price of the reserve, another pricing model, or for many weeks."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from hcloud.catalog.cover.sustained import paper_sustained_cost
from hcloud.errors import UsageError
from hcloud.model.catalog import Offer, PurchaseOption, SustainedUse
from hcloud.sim.outcomes.measure import WEEK_HOURS, WEEKS_A_TERM, Cost, exact
from hcloud.sim.setup.shop import ALWAYS_ON, RESERVE, SUSTAINED, PricingModel, Shop
from hcloud.units import HOURS_PER_MONTH, HOURS_PER_YEAR


@dataclass(frozen=True, slots=True)
class RunCost:
    """Dollars of a run: its reserve (or what stands in for it) and what it rented, over the hours of work it did;
    ``upfront`` is paid once a term and holds the whole reserve, or is 0 where nothing is prepaid."""

    reserved: Decimal
    rented: Decimal
    ideal_hours: Decimal
    upfront: Decimal

    @property
    def per_hour(self) -> Decimal:
        """Dollars an hour of work."""
        return (self.reserved + self.rented) / self.ideal_hours if self.ideal_hours else Decimal(0)

    def over_weeks(self, weeks: int) -> Decimal:
        """Dollars when the run is repeated for so many weeks: terms are prepaid and begin anew after 52 weeks."""
        running = self.rented if self.upfront else self.rented + self.reserved
        hourly = running / self.ideal_hours if self.ideal_hours else Decimal(0)
        return self.upfront * -(-weeks // WEEKS_A_TERM) + hourly * WEEK_HOURS * weeks


def bill(cost: Cost, shop: Shop, pool: int, ratio: float | None = None, model: PricingModel = RESERVE) -> RunCost:
    """A run's cost under a pricing model, without running it again: ``aws`` has a reserve and rents on demand,
    ``azure`` and ``gce`` keep the reserve's servers always on at the on-demand price, ``gce`` with a discount by use.

    ``ratio`` is on demand over reserved, where it is not the shop's. Raises UsageError where the provider has no
    discount by use.
    """
    hours = exact(cost.ideal_hours)
    if model == ALWAYS_ON:
        return RunCost(shop.types[shop.large].on_demand.hourly * pool * hours, cost.rented, hours, Decimal(0))
    if model == SUSTAINED:
        return _sustained(cost, shop, pool)
    if ratio is None:
        return RunCost(cost.reserved, cost.rented, hours, cost.upfront)
    hourly = shop.types[shop.large].on_demand.hourly / exact(ratio) * pool
    return RunCost(hourly * hours, cost.rented, hours, hourly * HOURS_PER_YEAR)


def _sustained(cost: Cost, shop: Shop, pool: int) -> RunCost:
    """The run goes on for whole months (as the study assumes); a type's hours are laid end to end, its always-on
    servers first, so that each of those costs one month of full use."""
    if shop.sustained is None:
        family = shop.types[shop.large].shape.family
        raise UsageError(f"pricing=gce: {family} has no discount by use", hint="n1 of gcp has one")
    large, hours = shop.types[shop.large].on_demand, exact(cost.ideal_hours)
    months = hours / HOURS_PER_MONTH
    reserved = _month(large, Decimal(pool * HOURS_PER_MONTH), shop.sustained) * months
    if not months:
        return RunCost(reserved, Decimal(0), hours, Decimal(0))
    rented = Decimal(0)
    for charge in cost.charges:
        if charge.offer.key.option is PurchaseOption.ON_DEMAND:
            used = charge.dollars / charge.offer.hourly / months
            rented += _month(charge.offer, used, shop.sustained) * months
        else:
            rented += charge.dollars
    return RunCost(reserved, rented, hours, Decimal(0))


def _month(offer: Offer, instance_hours: Decimal, rule: SustainedUse) -> Decimal:
    return paper_sustained_cost(instance_hours, offer.hourly, rule)
