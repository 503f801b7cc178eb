"""Reserved instances and savings plans in the words of AWS, both ways; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import ROUND_UP, Decimal
from functools import reduce
from typing import Any

from hcloud.model.catalog import Payment, PurchaseOption
from hcloud.model.holdings.live import TAG_KEY, Commitment, CommitmentOrder, CommitmentQuote
from hcloud.providers.aws.translate import exact
from hcloud.units import CENT, HOURS_PER_YEAR

Document = Mapping[str, Any]

YEAR_SECONDS = HOURS_PER_YEAR * 3600
MONTH_SECONDS = 30 * 86400
PRODUCT = "Linux/UNIX"
PAYMENT_WORDS: Mapping[Payment, str] = {
    Payment.NONE: "No Upfront",
    Payment.PARTIAL: "Partial Upfront",
    Payment.ALL: "All Upfront",
}
CLASS_WORDS: Mapping[PurchaseOption, str] = {
    PurchaseOption.RESERVED: "standard",
    PurchaseOption.CONVERTIBLE: "convertible",
}
PLAN_WORDS: Mapping[PurchaseOption, str] = {
    PurchaseOption.INSTANCE_SAVINGS_PLAN: "EC2Instance",
    PurchaseOption.COMPUTE_SAVINGS_PLAN: "Compute",
}
_SYSTEMS = (
    (" (amazon vpc)", ""), (PRODUCT.lower(), "linux"), ("red hat enterprise linux", "rhel"), ("suse linux", "sles"),
    (" with ha", "-ha"), (" with sql server ", "-sql-"), (" and sql server ", "-sql-"),
)  # fmt: skip
_PAYMENTS = {word: payment for payment, word in PAYMENT_WORDS.items()}
_CLASSES = {word: option for option, word in CLASS_WORDS.items()}
_PLANS = {word: option for option, word in PLAN_WORDS.items()}
STATES: Mapping[str, str] = {
    "payment-pending": "pending",
    "queued": "queued",
    "active": "active",
    "retired": "ended",
    "payment-failed": "ended",
    "queued-deleted": "ended",
    "pending-return": "ended",
    "returned": "ended",
}


def wrong_with(order: CommitmentOrder) -> str:
    """Why an order cannot be one of AWS; empty where it can."""
    if order.term_years not in (1, 3):
        return f"a term of {order.term_years} years is not sold, 1 and 3 are"
    if order.option in CLASS_WORDS:
        return "" if 1 <= order.count <= 100_000 else f"{order.count} reserved instances cannot be bought"
    if order.option not in PLAN_WORDS:
        return f"{order.option.in_words}s are not sold by AWS"
    dollars = order.dollars_per_hour
    if dollars is None or not dollars.is_finite() or not Decimal("0.001") <= dollars <= 1_000_000:
        return f"a savings plan of {dollars} dollars an hour cannot be bought"
    return ""


# reserved instances


def reserved_request(order: CommitmentOrder) -> dict[str, Any]:
    """DescribeReservedInstancesOfferings for what is ordered."""
    seconds = order.term_years * YEAR_SECONDS
    return {
        "InstanceType": order.instance_type,
        "ProductDescription": PRODUCT,
        "InstanceTenancy": "default",
        "OfferingClass": CLASS_WORDS[order.option],
        "OfferingType": PAYMENT_WORDS[order.payment],
        "MinDuration": seconds - MONTH_SECONDS,
        "MaxDuration": seconds + MONTH_SECONDS,
        "IncludeMarketplace": False,
        "Filters": [{"Name": "scope", "Values": ["Region"]}],
    }


def reserved_quote(order: CommitmentOrder, offerings: Iterable[Document]) -> CommitmentQuote | None:
    """The cheapest offering that is exactly what is ordered; None where there is none. AWS's own filters are not
    relied on: what comes back is compared again."""
    fitting = [_reserved_as_quote(order, o) for o in offerings if _fits(order, o)]
    hours = order.term_years * HOURS_PER_YEAR
    return min(fitting, key=lambda q: (q.upfront + q.hourly * hours, q.offering), default=None)


def _fits(order: CommitmentOrder, offering: Document) -> bool:
    stated = [
        offering.get("InstanceType") == order.instance_type,
        offering.get("OfferingClass") == CLASS_WORDS[order.option],
        offering.get("OfferingType") == PAYMENT_WORDS[order.payment],
        str(offering.get("ProductDescription")).startswith(PRODUCT),
        offering.get("CurrencyCode", "USD") == "USD",
        not offering.get("Marketplace"),
        offering.get("InstanceTenancy", "default") == "default",
        not offering.get("AvailabilityZone"),
        _years(offering.get("Duration")) == order.term_years,
    ]
    return all(stated) and bool(offering.get("ReservedInstancesOfferingId"))


def _reserved_as_quote(order: CommitmentOrder, offering: Document) -> CommitmentQuote:
    return CommitmentQuote(
        order=order,
        offering=str(offering["ReservedInstancesOfferingId"]),
        upfront=exact(offering.get("FixedPrice")) * order.count,
        hourly=_recurring(offering) * order.count,
        currency="USD",
    )


def _recurring(told: Document) -> Decimal:
    charges = told.get("RecurringCharges") or []
    return sum((exact(c.get("Amount")) for c in charges), Decimal(0)) + exact(told.get("UsagePrice"))


def purchase_request(quote: CommitmentQuote) -> dict[str, Any]:
    """PurchaseReservedInstancesOffering for a quote, at no higher price."""
    request: dict[str, Any] = {
        "InstanceCount": quote.order.count,
        "ReservedInstancesOfferingId": quote.offering,
    }
    if quote.upfront > 0:
        request["LimitPrice"] = {"Amount": quote.upfront, "CurrencyCode": quote.currency}
    if quote.order.starts is not None:
        request["PurchaseTime"] = quote.order.starts
    return request


def reserved_held(told: Document) -> Commitment:
    """A holding of reserved instances."""
    count = int(told.get("InstanceCount") or 0)
    return Commitment(
        id=str(told.get("ReservedInstancesId", "")),
        option=_CLASSES.get(str(told.get("OfferingClass")), PurchaseOption.RESERVED),
        offering="",  # AWS does not tell which offering a holding came from
        instance_type=str(told.get("InstanceType", "")),
        count=count,
        term_years=_years(told.get("Duration")),
        payment=_PAYMENTS.get(str(told.get("OfferingType")), Payment.NONE),
        state=STATES.get(str(told.get("State")), "unknown"),
        starts=_moment(told.get("Start")),
        ends=_moment(told.get("End")),
        upfront=exact(told.get("FixedPrice")) * count,
        hourly=_recurring(told) * count,
        currency=str(told.get("CurrencyCode", "USD")),
        special=_special(told),
        own_size=told.get("Scope") == "Availability Zone",
    )


def _special(told: Document) -> str:
    """The system and tenancy of a holding where they are others than those that are bought here."""
    system, tenancy = str(told.get("ProductDescription", PRODUCT)), str(told.get("InstanceTenancy", "default"))
    system = reduce(lambda told, word: told.replace(*word), _SYSTEMS, system.lower())
    return "".join(f"/{word}" for word in (system, tenancy) if word not in ("linux", "default"))


# savings plans


def plan_request(order: CommitmentOrder, region: str) -> dict[str, Any]:
    """DescribeSavingsPlansOfferings for what is ordered."""
    filters = [{"name": "region", "values": [region]}, {"name": "instanceFamily", "values": [family_of(order)]}]
    request: dict[str, Any] = {
        "planTypes": [PLAN_WORDS[order.option]],
        "paymentOptions": [PAYMENT_WORDS[order.payment]],
        "durations": [order.term_years * YEAR_SECONDS],
        "currencies": ["USD"],
    }
    return {**request, "filters": filters} if order.option is PurchaseOption.INSTANCE_SAVINGS_PLAN else request


def family_of(order: CommitmentOrder) -> str:
    """The family of the type that is ordered."""
    return order.instance_type.partition(".")[0]


def plan_quote(order: CommitmentOrder, offerings: Iterable[Document], region: str) -> CommitmentQuote | None:
    """A savings plan costs what is committed; how much of it at once is the payment option's."""
    fitting = sorted(str(o["offeringId"]) for o in offerings if o.get("offeringId") and _plan_fits(order, o, region))
    if not fitting or order.dollars_per_hour is None:
        return None
    upfront, hourly = split(order.dollars_per_hour, order.payment, order.term_years)
    return CommitmentQuote(order, fitting[0], upfront, hourly, "USD")


def _plan_fits(order: CommitmentOrder, offering: Document, region: str) -> bool:
    places = {str(p.get("name")): str(p.get("value")) for p in offering.get("properties") or []}
    is_family = order.option is PurchaseOption.INSTANCE_SAVINGS_PLAN
    stated = [
        offering.get("planType") == PLAN_WORDS[order.option],
        offering.get("paymentOption") == PAYMENT_WORDS[order.payment],
        _years(offering.get("durationSeconds")) == order.term_years,
        offering.get("currency", "USD") == "USD",
        not is_family or (places.get("region"), places.get("instanceFamily")) == (region, family_of(order)),
    ]
    return all(stated)


def split(dollars: Decimal, payment: Payment, years: int) -> tuple[Decimal, Decimal]:
    """Upfront and hourly dollars of a savings plan; half is paid upfront where a part is."""
    hours = years * HOURS_PER_YEAR
    if payment is Payment.NONE:
        return Decimal(0), dollars
    if payment is Payment.ALL:
        return dollars * hours, Decimal(0)
    upfront = (dollars * hours / 2).quantize(CENT, ROUND_UP)
    return upfront, (dollars * hours - upfront) / hours


def create_request(quote: CommitmentQuote) -> dict[str, Any]:
    """CreateSavingsPlan for a quote: its key is the client token, so that it is bought once."""
    order = quote.order
    request: dict[str, Any] = {
        "savingsPlanOfferingId": quote.offering,
        "commitment": f"{order.dollars_per_hour:f}",
        "clientToken": order.key,
        "tags": {TAG_KEY: order.key},
    }
    if order.payment is Payment.PARTIAL:
        request["upfrontPaymentAmount"] = f"{quote.upfront:f}"
    if order.starts is not None:
        request["purchaseTime"] = order.starts
    return request


def plan_held(told: Document) -> Commitment | None:
    """A savings plan that is held; None for one of another kind (of machine learning, of databases)."""
    option = _PLANS.get(str(told.get("savingsPlanType")))
    if option is None:
        return None
    return Commitment(
        id=str(told.get("savingsPlanId", "")),
        option=option,
        offering=str(told.get("offeringId", "")),
        instance_type=str(told.get("ec2InstanceFamily") or ""),
        count=0,
        term_years=_years(told.get("termDurationInSeconds")),
        payment=_PAYMENTS.get(str(told.get("paymentOption")), Payment.NONE),
        state=STATES.get(str(told.get("state")), "unknown"),
        starts=_moment(told.get("start")),
        ends=_moment(told.get("end")),
        upfront=exact(told.get("upfrontPaymentAmount")),
        hourly=exact(told.get("recurringPaymentAmount")),
        currency=str(told.get("currency", "USD")),
        key=str((told.get("tags") or {}).get(TAG_KEY, "")),
    )


def bought(quote: CommitmentQuote, given: str) -> Commitment:
    """What was bought just now, before any list shows it."""
    order = quote.order
    return Commitment(
        id=given,
        option=order.option,
        offering=quote.offering,
        instance_type=order.instance_type if order.option in CLASS_WORDS else family_of(order),
        count=order.count if order.option in CLASS_WORDS else 0,
        term_years=order.term_years,
        payment=order.payment,
        state="pending" if order.starts is None else "queued",
        starts=order.starts,
        ends=None,
        upfront=quote.upfront,
        hourly=quote.hourly,
        currency=quote.currency,
        key=order.key if order.option in PLAN_WORDS else "",
    )


def dearer(now: CommitmentQuote, then: CommitmentQuote) -> bool:
    """Whether any part of the price rose since a quote."""
    return now.upfront > then.upfront or now.hourly > then.hourly


def _years(seconds: object) -> int:
    return round(int(exact(seconds)) / YEAR_SECONDS)


def _moment(value: object) -> datetime | None:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if not isinstance(value, datetime):
        return None
    return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC)
