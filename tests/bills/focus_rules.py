"""The FOCUS 1.2 rules for cost and usage that can be checked on a file: columns, types, allowed values, and the rules
between columns, written down from the specification."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import defaultdict
from decimal import Decimal
from typing import NamedTuple

NEAR = Decimal("1e-9")
TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
CURRENCY = re.compile(r"[A-Z]{3}")


class Column(NamedTuple):
    """A column: its type, whether it has to be there, whether it may be null, and what it may say."""

    kind: str
    mandatory: bool = True
    nullable: bool = True
    allowed: tuple[str, ...] = ()


COLUMNS = {
    "AvailabilityZone": Column("string", mandatory=False),
    "BilledCost": Column("decimal", nullable=False),
    "BillingAccountId": Column("string", nullable=False),
    "BillingAccountName": Column("string"),
    "BillingAccountType": Column("string", mandatory=False),
    "BillingCurrency": Column("currency", nullable=False),
    "BillingPeriodEnd": Column("time", nullable=False),
    "BillingPeriodStart": Column("time", nullable=False),
    "CapacityReservationId": Column("string", mandatory=False),
    "CapacityReservationStatus": Column("string", mandatory=False, allowed=("Used", "Unused")),
    "ChargeCategory": Column(
        "string", nullable=False, allowed=("Usage", "Purchase", "Tax", "Credit", "Adjustment")
    ),
    "ChargeClass": Column("string", allowed=("Correction",)),
    "ChargeDescription": Column("string"),
    "ChargeFrequency": Column(
        "string", mandatory=False, nullable=False, allowed=("One-Time", "Recurring", "Usage-Based")
    ),
    "ChargePeriodEnd": Column("time", nullable=False),
    "ChargePeriodStart": Column("time", nullable=False),
    "CommitmentDiscountCategory": Column("string", mandatory=False, allowed=("Spend", "Usage")),
    "CommitmentDiscountId": Column("string", mandatory=False),
    "CommitmentDiscountName": Column("string", mandatory=False),
    "CommitmentDiscountQuantity": Column("decimal", mandatory=False),
    "CommitmentDiscountStatus": Column("string", mandatory=False, allowed=("Used", "Unused")),
    "CommitmentDiscountType": Column("string", mandatory=False),
    "CommitmentDiscountUnit": Column("string", mandatory=False),
    "ConsumedQuantity": Column("decimal", mandatory=False),
    "ConsumedUnit": Column("string", mandatory=False),
    "ContractedCost": Column("decimal", nullable=False),
    "ContractedUnitPrice": Column("decimal", mandatory=False),
    "EffectiveCost": Column("decimal", nullable=False),
    "InvoiceId": Column("string", mandatory=False),
    "InvoiceIssuerName": Column("string", nullable=False),
    "ListCost": Column("decimal", nullable=False),
    "ListUnitPrice": Column("decimal", mandatory=False),
    "PricingCategory": Column("string", mandatory=False, allowed=("Standard", "Dynamic", "Committed", "Other")),
    "PricingCurrency": Column("currency", mandatory=False, nullable=False),
    "PricingCurrencyContractedUnitPrice": Column("decimal", mandatory=False),
    "PricingCurrencyEffectiveCost": Column("decimal", mandatory=False, nullable=False),
    "PricingCurrencyListUnitPrice": Column("decimal", mandatory=False),
    "PricingQuantity": Column("decimal"),
    "PricingUnit": Column("string"),
    "ProviderName": Column("string", nullable=False),
    "PublisherName": Column("string", nullable=False),
    "RegionId": Column("string", mandatory=False),
    "RegionName": Column("string", mandatory=False),
    "ResourceId": Column("string", mandatory=False),
    "ResourceName": Column("string", mandatory=False),
    "ResourceType": Column("string", mandatory=False),
    "ServiceCategory": Column(
        "string",
        nullable=False,
        allowed=(
            "AI and Machine Learning", "Analytics", "Business Applications", "Compute", "Databases",
            "Developer Tools", "Multicloud", "Identity", "Integration", "Internet of Things",
            "Management and Governance", "Media", "Migration", "Mobile", "Networking", "Security", "Storage", "Web",
            "Other",
        ),
    ),
    "ServiceName": Column("string", nullable=False),
    "ServiceSubcategory": Column("string", mandatory=False, nullable=False),
    "SkuId": Column("string", mandatory=False),
    "SkuMeter": Column("string", mandatory=False),
    "SkuPriceDetails": Column("json", mandatory=False),
    "SkuPriceId": Column("string", mandatory=False),
    "SubAccountId": Column("string", mandatory=False),
    "SubAccountName": Column("string", mandatory=False),
    "SubAccountType": Column("string", mandatory=False),
    "Tags": Column("json", mandatory=False),
}  # fmt: skip


def problems(text: str) -> list[str]:
    """What a FOCUS file does wrong; nothing where it does nothing."""
    rows = list(csv.DictReader(io.StringIO(text)))
    header = text.split("\n", 1)[0].split(",")
    found = [f"{name} is missing" for name, column in COLUMNS.items() if column.mandatory and name not in header]
    found += [f"{name} is no column of FOCUS" for name in header if name not in COLUMNS and not name.startswith("x_")]
    for number, row in enumerate(rows, start=2):
        found += [f"line {number}: {p}" for name, column in COLUMNS.items() if name in row for p in _cell(row, name)]
        found += [f"line {number}: {p}" for p in _row(row)]
    return [*found, *_whole(rows)]


def _cell(row: dict[str, str], name: str) -> list[str]:
    column, value = COLUMNS[name], row[name]
    if not value:
        return [] if column.nullable else [f"{name} is null"]
    if not _fits(column.kind, value):
        return [f"{name} is no {column.kind}: {value}"]
    return [f"{name} may not be {value}"] if column.allowed and value not in column.allowed else []


def _fits(kind: str, value: str) -> bool:
    if kind == "json":
        try:
            return isinstance(json.loads(value), dict)
        except ValueError:
            return False
    shapes = {"decimal": NUMBER, "time": TIME, "currency": CURRENCY}
    return kind not in shapes or shapes[kind].fullmatch(value) is not None


def _row(row: dict[str, str]) -> list[str]:
    held, category, status = (
        row["CommitmentDiscountId"], row["ChargeCategory"], row["CommitmentDiscountStatus"],
    )  # fmt: skip
    costs = {n: Decimal(row[n] or "0") for n in ("BilledCost", "EffectiveCost", "ListCost", "ContractedCost")}
    quantity = Decimal(row["PricingQuantity"] or "0")
    cover = bool(held) and category == "Usage"
    rules = {
        "a charge ends after it begins": row["ChargePeriodStart"] < row["ChargePeriodEnd"],
        "a charge lies in its billing period": row["BillingPeriodStart"] <= row["ChargePeriodStart"]
        and row["ChargePeriodEnd"] <= row["BillingPeriodEnd"],
        "usage and purchases are priced": bool(row["PricingQuantity"] and row["PricingUnit"] and row["SkuPriceId"]),
        "a quantity has a unit": bool(row["PricingQuantity"]) == bool(row["PricingUnit"]),
        "consumption has a unit": bool(row["ConsumedQuantity"]) == bool(row["ConsumedUnit"]),
        "purchases are not usage-based": category != "Purchase" or row["ChargeFrequency"] != "Usage-Based",
        "only use that is not unused is consumed": bool(row["ConsumedQuantity"])
        == (category == "Usage" and status != "Unused"),
        "list price": abs(Decimal(row["ListUnitPrice"] or "0") * quantity - costs["ListCost"]) < NEAR,
        "contracted price": abs(Decimal(row["ContractedUnitPrice"] or "0") * quantity - costs["ContractedCost"]) < NEAR,
        "no price is below 0": not row["ListUnitPrice"].startswith("-"),
        "commitments have category, type, quantity and unit": bool(held)
        == all(row[f"CommitmentDiscount{n}"] for n in ("Category", "Type", "Quantity", "Unit")),
        "covered use has a status, purchases have none": bool(status) == cover,
        "what is covered is committed": (row["PricingCategory"] == "Committed") == cover,
        "what is covered is billed with its purchase": not cover or costs["BilledCost"] == 0,
        "a purchase is effective where it is used": not (held and category == "Purchase")
        or costs["EffectiveCost"] == 0,
        "what no commitment covers costs what is billed": bool(held) or costs["BilledCost"] == costs["EffectiveCost"],
        "a region has a name": bool(row["RegionId"]) == bool(row["RegionName"]),
        "a resource has a type": bool(row["ResourceId"]) == bool(row["ResourceType"]),
        "a sub account has a type": bool(row["SubAccountId"]) == bool(row["SubAccountType"]),
        "spend is in dollars": not held
        or (row["CommitmentDiscountUnit"] == "USD") == (row["CommitmentDiscountCategory"] == "Spend"),
    }
    return [rule for rule, holds in rules.items() if not holds]


def _whole(rows: list[dict[str, str]]) -> list[str]:
    """A SKU's price has one list price at a time, and one id stands for one thing."""
    things: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    for row in rows:
        things[row["SkuPriceId"]].add((row["SkuId"], row["SkuMeter"]))
    return [f"{name} stands for several SKUs" for name, known in things.items() if len(known) > 1]
