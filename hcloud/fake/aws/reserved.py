"""Reserved instances: offerings, purchases (which take no token), what is held."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal

from hcloud.fake.aws.savings import state_of
from hcloud.fake.aws.shop import PAYMENT_WORDS, YEAR_SECONDS, offering_id
from hcloud.fake.aws.world import Ask, DenialError, Wire, moment
from hcloud.fake.faults import FaultKind
from hcloud.fake.ledger import BoughtCommitment
from hcloud.model.catalog import Offer, PurchaseOption

OFFERINGS_PAGE = 100
CLASS_WORDS = {PurchaseOption.RESERVED: "standard", PurchaseOption.CONVERTIBLE: "convertible"}
PRODUCT = "Linux/UNIX"


def describe_reserved_instances_offerings(ask: Ask) -> Wire:
    """What is on sale, by type, class, payment, length and id, in pages."""
    found = ask.filtered([o for o in ask.world.shop.reserved(ask.region) if _wanted(ask.wire, o)], _FILTERS.get)
    page, token = ask.page([] if ask.struck(FaultKind.EMPTY) else found, OFFERINGS_PAGE)
    return {"ReservedInstancesOfferings": [_offering(ask, o) for o in page], "NextToken": token}


def _wanted(wire: Wire, offer: Offer) -> bool:
    seconds = offer.key.term_years * YEAR_SECONDS
    ids = wire.get("ReservedInstancesOfferingIds")
    stated = [
        wire.get("InstanceType") in (None, offer.key.instance_type),
        wire.get("OfferingClass") in (None, CLASS_WORDS[offer.key.option]),
        wire.get("OfferingType") in (None, PAYMENT_WORDS[offer.key.payment]),
        wire.get("ProductDescription") in (None, PRODUCT),
        wire.get("InstanceTenancy") in (None, "default"),
        wire.get("AvailabilityZone") is None,
        int(wire.get("MinDuration", 0)) <= seconds <= int(wire.get("MaxDuration", seconds)),
        not ids or offering_id(offer) in ids,
    ]
    return all(stated)


_FILTERS: Mapping[str, Callable[[Offer], list[str]]] = {
    "scope": lambda _: ["Region"],
    "instance-type": lambda offer: [offer.key.instance_type],
    "marketplace": lambda _: ["false"],
    "product-description": lambda _: [PRODUCT],
    "duration": lambda offer: [str(offer.key.term_years * YEAR_SECONDS)],
    "reserved-instances-offering-id": lambda offer: [offering_id(offer)],
}


def _offering(ask: Ask, offer: Offer) -> Wire:
    price = ask.world.price
    return {
        "ReservedInstancesOfferingId": offering_id(offer),
        "InstanceType": offer.key.instance_type,
        "Duration": offer.key.term_years * YEAR_SECONDS,
        "FixedPrice": price(offer.upfront),
        "UsagePrice": Decimal(0),
        "RecurringCharges": [{"Amount": price(offer.hourly), "Frequency": "Hourly"}] if offer.hourly else [],
        "OfferingClass": CLASS_WORDS[offer.key.option],
        "OfferingType": PAYMENT_WORDS[offer.key.payment],
        "ProductDescription": PRODUCT,
        "CurrencyCode": "USD",
        "InstanceTenancy": "default",
        "Marketplace": False,
        "Scope": "Region",
    }


def purchase_reserved_instances_offering(ask: Ask) -> Wire:
    """Buy; the same request again buys again, since there is no token."""
    offer = _on_sale(ask, str(ask.wire["ReservedInstancesOfferingId"]))
    count = int(ask.wire["InstanceCount"])
    if count < 1:
        raise DenialError("InvalidParameterValue", f"Invalid value '{count}' for InstanceCount")
    upfront, hourly = ask.world.price(offer.upfront), ask.world.price(offer.hourly)
    _check_limit(ask.wire.get("LimitPrice"), upfront * count)
    ask.refuse_dry_run()
    limit = ask.world.faults.plan.quotas.get("reserved-instances")
    if limit is not None and _held(ask) + count > limit:
        raise DenialError("ReservedInstancesLimitExceeded", "Your current quota does not allow this purchase.")
    starts = ask.wire.get("PurchaseTime")
    bought = BoughtCommitment(
        id=str(uuid.uuid5(uuid.NAMESPACE_URL, f"hcloud-fake/ri/{ask.world.ledger.next_number()}")),
        option=str(offer.key.option),
        offering=offering_id(offer),
        instance_type=offer.key.instance_type,
        count=count,
        hourly=hourly,
        upfront=upfront,
        term_seconds=offer.key.term_years * YEAR_SECONDS,
        bought_at=ask.now,
        starts_at=max(starts.timestamp(), ask.now) if isinstance(starts, datetime) else ask.now,
        principal=ask.principal,
        detail={"region": ask.region, "payment": PAYMENT_WORDS[offer.key.payment]},
    )
    ask.world.ledger.purchases[bought.id] = bought
    return {"ReservedInstancesId": bought.id}


def _on_sale(ask: Ask, wanted: str) -> Offer:
    for offer in ask.world.shop.reserved(ask.region):
        if offering_id(offer) == wanted:
            return offer
    raise DenialError("InvalidReservedInstancesOfferingId", f"The offering {wanted} does not exist")


def _check_limit(limit: Wire | None, total: Decimal) -> None:
    if limit is None:
        return
    if limit.get("CurrencyCode", "USD") != "USD":
        raise DenialError("InvalidParameterValue", "LimitPrice must be in USD")
    if Decimal(limit.get("Amount", 0)) < total:
        raise DenialError("InvalidParameterValue", f"The price of {total:f} is above the LimitPrice")


def _held(ask: Ask) -> int:
    return sum(p.count for p in _reserved(ask) if p.cancelled_at is None)


def _reserved(ask: Ask) -> list[BoughtCommitment]:
    options = {str(o) for o in CLASS_WORDS}
    return [
        p
        for _, p in sorted(ask.world.ledger.purchases.items())
        if p.option in options and p.detail.get("region") == ask.region
    ]


def describe_reserved_instances(ask: Ask) -> Wire:
    """All that is held or was; there are no pages."""
    ids = ask.wire.get("ReservedInstancesIds")
    found = [p for p in _reserved(ask) if not ids or p.id in ids]
    if ids and len(found) < len(ids):
        raise DenialError("InvalidReservedInstancesId", "The specified reserved instances do not exist")
    seen = [p for p in found if p.bought_at + ask.world.faults.plan.visibility_delay <= ask.now]
    return {"ReservedInstances": [] if ask.struck(FaultKind.EMPTY) else [_told(ask, p) for p in seen]}


def _told(ask: Ask, purchase: BoughtCommitment) -> Wire:
    words = {str(o): w for o, w in CLASS_WORDS.items()}
    state = "pondering" if ask.struck(FaultKind.UNKNOWN_WORDS) else state_of(purchase, ask.now)
    charges = [{"Amount": purchase.hourly, "Frequency": "Hourly"}] if purchase.hourly else []
    return {
        "ReservedInstancesId": purchase.id,
        "InstanceType": purchase.instance_type,
        "InstanceCount": purchase.count,
        "Duration": purchase.term_seconds,
        "Start": moment(purchase.starts_at),
        "End": moment(purchase.starts_at + purchase.term_seconds),
        "FixedPrice": purchase.upfront,
        "UsagePrice": Decimal(0),
        "RecurringCharges": charges,
        "OfferingClass": words[purchase.option],
        "OfferingType": purchase.detail["payment"],
        "ProductDescription": PRODUCT,
        "State": state,
        "CurrencyCode": "USD",
        "InstanceTenancy": "default",
        "Scope": "Region",
        "Tags": [],
    }


def delete_queued_reserved_instances(ask: Ask) -> Wire:
    """Take back queued purchases; each id succeeds or fails by itself."""
    done, failed = [], []
    known = {p.id: p for p in _reserved(ask)}
    for wanted in ask.wire.get("ReservedInstancesIds", []):
        purchase = known.get(str(wanted))
        if purchase is None or state_of(purchase, ask.now) != "queued":
            code = "reserved-instances-id-invalid" if purchase is None else "reserved-instances-not-in-queued-state"
            failed.append({"ReservedInstancesId": wanted, "Error": {"Code": code, "Message": code}})
            continue
        purchase.cancelled_at = ask.now
        done.append({"ReservedInstancesId": wanted})
    return {"SuccessfulQueuedPurchaseDeletions": done, "FailedQueuedPurchaseDeletions": failed}
