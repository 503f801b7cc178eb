"""What a finished run costs under another price of the reserve, another pricing model, or for many weeks."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from hcloud.catalog.cover.sustained import paper_sustained_cost
from hcloud.errors import UsageError
from hcloud.model.catalog import Offer, PurchaseOption, SustainedUse
from hcloud.sim.outcomes.measure import Cost, exact
from hcloud.sim.setup.shop import ALWAYS_ON, RESERVE, SUSTAINED, PricingModel, Shop
from hcloud.units import HOURS_PER_MONTH, HOURS_PER_YEAR


def bill(cost: Cost, shop: Shop, pool: int, ratio: float | None = None, model: PricingModel = RESERVE) -> Cost:
    """A run's cost under a pricing model, without running it again: ``aws`` has a reserve and rents on demand,
    ``azure`` and ``gce`` keep the reserve's servers always on at the on-demand price, ``gce`` with a discount by use.

    ``ratio`` is on demand over reserved, where it is not the shop's. Raises UsageError where the provider has no
    discount by use.
    """
    hours = exact(cost.ideal_hours)
    if model == ALWAYS_ON:
        always = shop.types[shop.large].on_demand.hourly * pool * hours
        return replace(cost, reserved=always, upfront=Decimal(0))
    if model == SUSTAINED:
        return _sustained(cost, shop, pool)
    if ratio is None:
        return cost
    hourly = shop.types[shop.large].on_demand.hourly / exact(ratio) * pool
    return replace(cost, reserved=hourly * hours, upfront=hourly * HOURS_PER_YEAR)


def _sustained(cost: Cost, shop: Shop, pool: int) -> Cost:
    """The run goes on for whole months (as the study assumes); a type's hours are laid end to end, its always-on
    servers first, so that each of those costs one month of full use."""
    if shop.sustained is None:
        family = shop.types[shop.large].shape.family
        raise UsageError(f"pricing=gce: {family} has no discount by use", hint="n1 of gcp has one")
    large, hours = shop.types[shop.large].on_demand, exact(cost.ideal_hours)
    months = hours / HOURS_PER_MONTH
    reserved = _month(large, Decimal(pool * HOURS_PER_MONTH), shop.sustained) * months
    rented = Decimal(0)
    for charge in cost.charges if months else ():
        if charge.offer.key.option is PurchaseOption.ON_DEMAND:
            used = charge.dollars / charge.offer.hourly / months
            rented += _month(charge.offer, used, shop.sustained) * months
        else:
            rented += charge.dollars
    return replace(cost, reserved=reserved, rented=rented, upfront=Decimal(0))


def _month(offer: Offer, instance_hours: Decimal, rule: SustainedUse) -> Decimal:
    return paper_sustained_cost(instance_hours, offer.hourly, rule)
