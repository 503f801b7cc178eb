"""Columns as exports spell them: errors and warnings name a column so that it can be added to the export."""

from __future__ import annotations

_NAMES = (
    "line_item_line_item_type", "line_item_product_code", "line_item_usage_type", "line_item_usage_account_id",
    "line_item_unblended_cost", "line_item_usage_amount", "line_item_usage_start_date",
    "pricing_public_on_demand_cost", "reservation_effective_cost",
    "reservation_amortized_upfront_fee_for_billing_period", "reservation_unused_recurring_fee",
    "reservation_unused_amortized_upfront_fee_for_billing_period", "savings_plan_savings_plan_effective_cost",
    "savings_plan_total_commitment_to_date", "savings_plan_used_commitment",
    "ProviderName", "ChargeCategory", "ServiceCategory", "BilledCost", "EffectiveCost", "ChargePeriodStart",
    "ChargePeriodEnd", "MeterCategory", "SubscriptionId", "UnitOfMeasure", "ChargeType", "CostInBillingCurrency",
    "Quantity", "Date", "service.description", "sku.description", "cost", "usage.amount_in_pricing_units",
    "usage_start_time", "ServiceName", "ChargeDescription", "PricingQuantity",
)  # fmt: skip
_SPELLED = {"".join(c for c in name.lower() if c.isalnum()): name for name in _NAMES}
_GROUPS = ("line_item_", "pricing_", "reservation_", "savings_plan_")


def spelled(name: str, *, slashes: bool = False) -> str:
    """A column of letters and digits alone (see ``lines.plain``) as its export spells it; with ``slashes`` as the
    legacy reports of AWS do (``lineItem/UnblendedCost``)."""
    known = _SPELLED.get(name, name)
    group = next((group for group in _GROUPS if known.startswith(group)), "")
    if not slashes or not group:
        return known
    first, *more = group.strip("_").split("_")
    rest = known.removeprefix(group).split("_")
    return f"{first}{''.join(map(str.capitalize, more))}/{''.join(map(str.capitalize, rest))}"
