"""Charges as a FOCUS file: one row a charge, columns and values as FOCUS 1.2 defines them, ours after an ``x_``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal

from hcloud.catalog.bills.days import month_of
from hcloud.model.catalog import PurchaseOption
from hcloud.model.clouds.facts import Seller
from hcloud.model.clouds.known import CLOUDS
from hcloud.model.json_text import written
from hcloud.model.report import Charge, ChargeCategory, ChargeFrequency, CommitmentStatus
from hcloud.planning.reports.report import Report, ReportedCommitment
from hcloud.units import plain
from hcloud.views.escaped import Written, csv_document

CURRENCY = "USD"


COLUMNS = (
    "AvailabilityZone", "BilledCost", "BillingAccountId", "BillingAccountName", "BillingAccountType",
    "BillingCurrency", "BillingPeriodEnd", "BillingPeriodStart", "ChargeCategory", "ChargeClass", "ChargeDescription",
    "ChargeFrequency", "ChargePeriodEnd", "ChargePeriodStart", "CommitmentDiscountCategory", "CommitmentDiscountId",
    "CommitmentDiscountName", "CommitmentDiscountQuantity", "CommitmentDiscountStatus", "CommitmentDiscountType",
    "CommitmentDiscountUnit", "ConsumedQuantity", "ConsumedUnit", "ContractedCost", "ContractedUnitPrice",
    "EffectiveCost", "InvoiceId", "InvoiceIssuerName", "ListCost", "ListUnitPrice", "PricingCategory",
    "PricingCurrency", "PricingCurrencyContractedUnitPrice", "PricingCurrencyEffectiveCost",
    "PricingCurrencyListUnitPrice", "PricingQuantity", "PricingUnit", "ProviderName", "PublisherName", "RegionId",
    "RegionName", "ResourceId", "ResourceName", "ResourceType", "ServiceCategory", "ServiceName", "ServiceSubcategory",
    "SkuId", "SkuMeter", "SkuPriceDetails", "SkuPriceId", "SubAccountId", "SubAccountName", "SubAccountType", "Tags",
    "x_Address", "x_InstanceType", "x_PurchaseOption",
)  # fmt: skip


def focus_csv(report: Report) -> Written:
    """All charges of a report."""
    holdings = {h.id: h for h in report.holdings}
    documents = (focus_row(charge, holdings, str(report.source)) for charge in report.charges)
    return csv_document(COLUMNS, ([row.get(column, "") for column in COLUMNS] for row in documents))


def focus_row(charge: Charge, holdings: Mapping[str, ReportedCommitment], source: str) -> dict[str, str]:
    """One charge; a column that is left out is null."""
    known = CLOUDS.get(charge.provider)
    seller = known.seller if known else Seller(charge.provider, charge.provider, "account")
    month = month_of(charge.start)
    tags = dict(sorted(charge.tags.items()))
    return {
        "AvailabilityZone": charge.zone,
        "BillingAccountId": charge.account or source,
        "BillingAccountName": charge.account or source,
        "BillingAccountType": seller.account if charge.account else source,
        "BillingCurrency": CURRENCY,
        "BillingPeriodStart": _moment(month.start),
        "BillingPeriodEnd": _moment(month.end),
        "ChargeCategory": str(charge.category),
        "ChargeDescription": _description(charge),
        "ChargeFrequency": str(charge.frequency),
        "ChargePeriodStart": _moment(charge.start),
        "ChargePeriodEnd": _moment(charge.end),
        "InvoiceIssuerName": seller.name,
        "PricingCategory": str(charge.pricing),
        "PricingCurrency": CURRENCY,
        "ProviderName": seller.name,
        "PublisherName": seller.name,
        "RegionId": charge.region,
        "RegionName": charge.region,
        "ResourceId": charge.resource or charge.commitment,
        "ResourceName": charge.address or charge.resource or charge.commitment,
        "ResourceType": "Virtual Machine" if charge.resource else "Commitment Discount",
        "ServiceCategory": "Compute",
        "ServiceName": seller.service,
        "ServiceSubcategory": "Virtual Machines",
        "Tags": written(tags) if tags else "",
        "x_Address": charge.address,
        "x_InstanceType": charge.instance_type,
        "x_PurchaseOption": str(charge.option),
        **dict(_amounts(charge)),
        **dict(_sku(charge)),
        **dict(_commitment(charge, holdings.get(charge.commitment))),
    }


def _amounts(charge: Charge) -> Iterator[tuple[str, str]]:
    """Costs, prices and quantities. A purchase is listed at what it costs, since no discount is on it; FOCUS leaves it
    to the reader not to add it to the use that it covers."""
    costs, quantity = charge.costs, charge.hours
    bought, once = charge.category is ChargeCategory.PURCHASE, charge.frequency is ChargeFrequency.ONE_TIME
    listed = costs.billed if bought else costs.list
    contracted = costs.billed if bought else costs.contracted
    quantity = Decimal(1) if once else quantity
    yield "BilledCost", plain(costs.billed)
    yield "EffectiveCost", plain(costs.effective)
    yield "PricingCurrencyEffectiveCost", plain(costs.effective)
    yield "PricingQuantity", plain(quantity)
    yield "PricingUnit", "Commitments" if once else "Hours"
    for name, cost in (("List", listed), ("Contracted", contracted)):
        price = _unit_price(charge, cost, quantity)
        yield f"{name}Cost", plain(cost)
        yield f"{name}UnitPrice", plain(price)
        yield f"PricingCurrency{name}UnitPrice", plain(price)
    if charge.resource:
        yield "ConsumedQuantity", plain(charge.hours)
        yield "ConsumedUnit", "Hours"


def _unit_price(charge: Charge, cost: Decimal, quantity: Decimal) -> Decimal:
    """The price that a cost was made with, where it was; else what it comes to."""
    if cost == charge.list_price * quantity or not quantity:
        return charge.list_price
    return cost / quantity


def _sku(charge: Charge) -> Iterator[tuple[str, str]]:
    kind = charge.instance_type or str(charge.option)
    thing = f"{charge.provider}/{charge.region}/{kind}"
    if charge.resource:  # what a commitment covers has the price that it would have without
        yield "SkuId", thing
        yield "SkuPriceId", f"{thing}/{charge.option if charge.option is PurchaseOption.SPOT else 'on-demand'}"
    else:
        yield "SkuId", f"{thing}/{charge.option}"
        yield "SkuPriceId", f"{thing}/{charge.option}/{'unused' if charge.status else charge.frequency}"
    yield "SkuMeter", "Compute Hours" if charge.resource else "Commitment"
    if charge.instance_type:
        system = {} if charge.os == "linux" else {"OperatingSystem": charge.os}
        yield "SkuPriceDetails", json.dumps({"InstanceType": charge.instance_type, **system})


def _commitment(charge: Charge, holding: ReportedCommitment | None) -> Iterator[tuple[str, str]]:
    if not charge.commitment:
        return
    spends = charge.option.is_spend_based
    yield "CommitmentDiscountId", charge.commitment
    yield "CommitmentDiscountName", charge.commitment
    yield "CommitmentDiscountCategory", "Spend" if spends else "Usage"
    yield "CommitmentDiscountType", str(charge.option)
    yield "CommitmentDiscountStatus", "" if charge.status is None else str(charge.status)
    yield "CommitmentDiscountQuantity", plain(_quantity(charge, holding))
    yield "CommitmentDiscountUnit", CURRENCY if spends else "Hours"


def _quantity(charge: Charge, holding: ReportedCommitment | None) -> Decimal:
    """Dollars or machine-hours of the commitment: used, left unused, or bought."""
    spends = charge.option.is_spend_based
    if charge.status in (CommitmentStatus.USED, CommitmentStatus.UNUSED):
        return charge.costs.effective if spends else charge.hours
    each = Decimal(0)
    if holding is not None:
        each = holding.dollars_per_hour or Decimal(0) if spends else holding.count
    return charge.hours * each


def _description(charge: Charge) -> str:
    if charge.category is ChargeCategory.PURCHASE:
        how = "upfront payment" if charge.frequency is ChargeFrequency.ONE_TIME else "recurring charge"
        return f"{how} of {charge.option} {charge.commitment}"
    if charge.status is CommitmentStatus.UNUSED:
        return f"unused part of {charge.option} {charge.commitment}"
    how = "spot" if charge.option is PurchaseOption.SPOT else "on demand"
    paid = f"covered by {charge.commitment}" if charge.commitment else how
    hardware = "" if charge.tenancy == "shared" else f" on {charge.tenancy} hardware"
    return f"{charge.instance_type} in {charge.region}{hardware}, {paid}"


def _moment(at: int) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
