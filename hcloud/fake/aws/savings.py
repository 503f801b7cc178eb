"""Savings plans: offerings, purchases by client token, queued ones, and returns within the window."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation

from hcloud.fake.aws.shop import PAYMENT_WORDS, YEAR_SECONDS
from hcloud.fake.aws.world import Ask, DenialError, Wire
from hcloud.fake.faults import FaultKind
from hcloud.fake.ledger import BoughtCommitment
from hcloud.model.catalog import PurchaseOption

OFFERINGS_PAGE = 1000
RETURN_SECONDS = 7 * 86400.0
RETURN_MOST_HOURLY = Decimal(100)
PLAN_WORDS = {
    PurchaseOption.INSTANCE_SAVINGS_PLAN: "EC2Instance",
    PurchaseOption.COMPUTE_SAVINGS_PLAN: "Compute",
}


@dataclass(frozen=True, slots=True)
class Offering:
    """A savings plan on sale; region and family are empty for what holds everywhere."""

    option: PurchaseOption
    years: int
    payment: str
    region: str = ""
    family: str = ""

    @property
    def id(self) -> str:
        """Always the same."""
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"hcloud-fake/sp/{self}"))


def _on_sale(ask: Ask, region: str) -> Iterator[Offering]:
    families = sorted({t.family for t in ask.world.shop.types_of(region)})
    for years in (1, 3):
        for payment in PAYMENT_WORDS.values():
            yield Offering(PurchaseOption.COMPUTE_SAVINGS_PLAN, years, payment)
            for family in families:
                yield Offering(PurchaseOption.INSTANCE_SAVINGS_PLAN, years, payment, region, family)


def _filters(wire: Wire) -> dict[str, list[str]]:
    return {str(f["name"]): [str(v) for v in f.get("values", [])] for f in wire.get("filters", [])}


def describe_savings_plans_offerings(ask: Ask) -> Wire:
    """What is on sale."""
    regions = _filters(ask.wire).get("region", [ask.region])
    ask.world.regions.update(regions)
    found = list({o.id: o for r in regions for o in _on_sale(ask, r) if _wanted(ask.wire, o)}.values())
    page, token = ask.page([] if ask.struck(FaultKind.EMPTY) else found, OFFERINGS_PAGE)
    return {"searchResults": [_offering(o) for o in page], **({"nextToken": token} if token else {})}


def _wanted(wire: Wire, offering: Offering) -> bool:
    families = _filters(wire).get("instanceFamily")
    stated = [
        not wire.get("offeringIds") or offering.id in wire["offeringIds"],
        not wire.get("planTypes") or PLAN_WORDS[offering.option] in wire["planTypes"],
        not wire.get("paymentOptions") or offering.payment in wire["paymentOptions"],
        not wire.get("durations") or offering.years * YEAR_SECONDS in wire["durations"],
        not wire.get("currencies") or "USD" in wire["currencies"],
        not families or offering.family in families,
    ]
    return all(stated)


def _offering(offering: Offering) -> Wire:
    places = {"region": offering.region, "instanceFamily": offering.family}
    return {
        "offeringId": offering.id,
        "productTypes": ["EC2"] if offering.family else ["EC2", "Fargate", "Lambda"],
        "planType": PLAN_WORDS[offering.option],
        "description": f"{offering.years} year {offering.payment} {PLAN_WORDS[offering.option]}",
        "paymentOption": offering.payment,
        "durationSeconds": offering.years * YEAR_SECONDS,
        "currency": "USD",
        "properties": [{"name": k, "value": v} for k, v in places.items() if v],
    }


def create_savings_plan(ask: Ask) -> Wire:
    """Buy, once for a client token."""
    token = str(ask.wire.get("clientToken", ""))
    before = next((p for p in _plans(ask) if token and p.key == token), None)
    if before is not None and ask.world.faults.plan.tokens:
        if before.detail["asked"] != _asked(ask.wire):
            raise DenialError("ValidationException", "The client token was used with other parameters before.")
        return {"savingsPlanId": before.id}
    bought = _bought(ask, token)
    ask.world.ledger.purchases[bought.id] = bought
    return {"savingsPlanId": bought.id}


def _asked(wire: Wire) -> str:
    return repr(sorted((k, str(v)) for k, v in wire.items() if k != "clientToken"))


def _bought(ask: Ask, token: str) -> BoughtCommitment:
    wire = ask.wire
    # a savings plan is bought in no region of its own: its offering is of any region that was ever asked about
    on_sale = (o for region in sorted({*ask.world.regions, ask.region}) for o in _on_sale(ask, region))
    offering = next((o for o in on_sale if o.id == wire["savingsPlanOfferingId"]), None)
    if offering is None:
        raise DenialError("ResourceNotFoundException", "There is no such offering.", 404)
    commitment = _amount(wire["commitment"])
    upfront, hourly = _split(commitment, offering, wire.get("upfrontPaymentAmount"))
    starts = wire.get("purchaseTime")
    at = float(starts) if isinstance(starts, int | float) else ask.now
    return BoughtCommitment(
        id=str(uuid.uuid5(uuid.NAMESPACE_URL, f"hcloud-fake/sp-bought/{ask.world.ledger.next_number()}")),
        option=str(offering.option),
        offering=offering.id,
        instance_type=offering.family,
        count=0,
        hourly=hourly,
        upfront=upfront,
        term_seconds=offering.years * YEAR_SECONDS,
        bought_at=ask.now,
        starts_at=max(at, ask.now),
        key=token,
        principal=ask.principal,
        detail={
            "asked": _asked(wire),
            "commitment": f"{commitment:.8f}",
            "payment": offering.payment,
            "region": offering.region,
            "tags": dict(wire.get("tags", {})),
        },
    )


def _amount(text: object) -> Decimal:
    try:
        found = Decimal(str(text))
    except InvalidOperation:
        found = Decimal(0)
    if not found.is_finite() or found < Decimal("0.001"):
        raise DenialError("ValidationException", f"{text} is no valid hourly commitment")
    return found


def _split(commitment: Decimal, offering: Offering, stated: object) -> tuple[Decimal, Decimal]:
    """Upfront and hourly dollars of a commitment."""
    hours = Decimal(offering.years * YEAR_SECONDS // 3600)
    whole = commitment * hours
    if offering.payment != "Partial Upfront":
        if stated is not None:
            raise DenialError("ValidationException", "upfrontPaymentAmount is for Partial Upfront only")
        return (whole, Decimal(0)) if offering.payment == "All Upfront" else (Decimal(0), commitment)
    upfront = _amount(stated) if stated is not None else whole / 2
    if not whole / 2 <= upfront <= whole * Decimal("0.99"):
        raise DenialError("ValidationException", "upfrontPaymentAmount must be 50 to 99 percent of the whole")
    return upfront, (whole - upfront) / hours


def _plans(ask: Ask) -> list[BoughtCommitment]:
    options = {str(o) for o in PLAN_WORDS}
    return [p for _, p in sorted(ask.world.ledger.purchases.items()) if p.option in options]


def state_of(purchase: BoughtCommitment, now: float) -> str:
    """The state of a savings plan or of reserved instances by the clock."""
    if purchase.cancelled_at is not None:
        return "queued-deleted" if purchase.cancelled_at < purchase.starts_at else "returned"
    if now < purchase.starts_at:
        return "queued"
    return "active" if now < purchase.starts_at + purchase.term_seconds else "retired"


def describe_savings_plans(ask: Ask) -> Wire:
    """All plans of the account, in pages."""
    ids, states = ask.wire.get("savingsPlanIds"), ask.wire.get("states")
    found = [
        p
        for p in _plans(ask)
        if (not ids or p.id in ids)
        and (not states or state_of(p, ask.now) in states)
        and p.bought_at + ask.world.faults.plan.visibility_delay <= ask.now
    ]
    page, token = ask.page([] if ask.struck(FaultKind.EMPTY) else found, 1000)
    return {"savingsPlans": [_told(ask, p) for p in page], **({"nextToken": token} if token else {})}


def _told(ask: Ask, plan: BoughtCommitment) -> Wire:
    words = {str(o): w for o, w in PLAN_WORDS.items()}
    tags = plan.detail["tags"]
    return {
        "offeringId": plan.offering,
        "savingsPlanId": plan.id,
        "savingsPlanArn": f"arn:aws:savingsplans::{ask.world.account}:savingsplan/{plan.id}",
        "start": _iso(plan.starts_at),
        "end": _iso(plan.starts_at + plan.term_seconds),
        "state": "pondering" if ask.struck(FaultKind.UNKNOWN_WORDS) else state_of(plan, ask.now),
        **({"region": plan.detail["region"], "ec2InstanceFamily": plan.instance_type} if plan.instance_type else {}),
        "savingsPlanType": words[plan.option],
        "paymentOption": plan.detail["payment"],
        "currency": "USD",
        "commitment": plan.detail["commitment"],
        "upfrontPaymentAmount": f"{plan.upfront:.8f}",
        "recurringPaymentAmount": f"{plan.hourly:.8f}",
        "termDurationInSeconds": plan.term_seconds,
        "tags": tags,
    }


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def delete_queued_savings_plan(ask: Ask) -> Wire:
    """Take back one that is queued."""
    plan = _known(ask)
    if state_of(plan, ask.now) != "queued":
        raise DenialError("ValidationException", "The savings plan is not queued.")
    plan.cancelled_at = ask.now
    return {}


def return_savings_plan(ask: Ask) -> Wire:
    """Give one back: within seven days and the calendar month, up to 100 dollars an hour."""
    plan = _known(ask)
    if state_of(plan, ask.now) == "returned":
        return {"savingsPlanId": plan.id}
    bought, now = datetime.fromtimestamp(plan.bought_at, UTC), datetime.fromtimestamp(ask.now, UTC)
    in_time = ask.now - plan.bought_at <= RETURN_SECONDS and (bought.year, bought.month) == (now.year, now.month)
    small = Decimal(str(plan.detail["commitment"])) <= RETURN_MOST_HOURLY
    if state_of(plan, ask.now) != "active" or not in_time or not small:
        raise DenialError("ValidationException", "The savings plan cannot be returned any more.")
    plan.cancelled_at = ask.now
    return {"savingsPlanId": plan.id}


def _known(ask: Ask) -> BoughtCommitment:
    for plan in _plans(ask):
        if plan.id == ask.wire["savingsPlanId"]:
            return plan
    raise DenialError("ResourceNotFoundException", "There is no such savings plan.", 404)
