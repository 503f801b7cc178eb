"""Azure's reservations: what one costs, buying exactly that once, and those that are held."""

from __future__ import annotations

import re
import uuid
from decimal import Decimal
from typing import NoReturn

from hcloud.errors import CloudError, MismatchError, NotFoundError, RefusedError, UnknownOutcomeError
from hcloud.model.catalog import Payment, PurchaseOption
from hcloud.model.holdings.live import Commitment, CommitmentOrder, CommitmentQuote
from hcloud.providers.azure.documents import Document, branch, exact, moment, text, whole
from hcloud.providers.azure.errors import failure
from hcloud.providers.azure.operations import GONE, AzurePart
from hcloud.providers.azure.translate import state_word
from hcloud.units import HOURS_PER_YEAR, counted

PLANS = {Payment.ALL: "Upfront", Payment.NONE: "Monthly"}
PAYMENTS = {plan: payment for payment, plan in PLANS.items()}
TERMS = {1: "P1Y", 3: "P3Y", 5: "P5Y"}
YEARS = {term: years for years, term in TERMS.items()}
STATES = {
    "creating": "pending",
    "created": "pending",
    "pendingresourcehold": "pending",
    "confirmedresourcehold": "pending",
    "pendingbilling": "pending",
    "confirmedbilling": "pending",
    "succeeded": "active",
    "split": "ended",
    "merged": "ended",
    "cancelled": "ended",
    "expired": "ended",
    "failed": "ended",
    "billingfailed": "ended",
}
TOLERANCE = Decimal("0.01")  # ours: an amount is told to the cent
_NAMED = re.compile(r"hcloud-([0-9a-f]{32})")


def order_id(key: str) -> str:
    """The id of an order: made of its key, so that buying again is the same purchase."""
    return str(uuid.UUID(hex=key, version=4))


def body_of(order: CommitmentOrder, subscription: str, location: str) -> dict[str, object]:
    """The request that prices or buys a commitment."""
    return {
        "sku": {"name": order.instance_type},
        "location": location,
        "properties": {
            "reservedResourceType": "VirtualMachines",
            "billingScopeId": f"/subscriptions/{subscription}",
            "term": TERMS[order.term_years],
            "billingPlan": PLANS[order.payment],
            "quantity": order.count,
            "displayName": f"hcloud-{order.key}",
            "appliedScopeType": "Single",
            "appliedScopes": [f"/subscriptions/{subscription}"],
            "renew": False,
            "reservedResourceProperties": {"instanceFlexibility": "On"},  # as planned: it covers all sizes of its group
        },
    }


def amounts(total: Decimal, order_years: int, payment: Payment) -> tuple[Decimal, Decimal]:
    """Upfront and hourly dollars of a total: monthly payments are told by the hour of the term."""
    if payment is Payment.ALL:
        return total, Decimal(0)
    return Decimal(0), total / (order_years * HOURS_PER_YEAR)


class AzureReservations(AzurePart):
    """The reservations of a subscription in one location: the half of hcloud.control.ports.Cloud that buys."""

    def quote(self, order: CommitmentOrder) -> CommitmentQuote:
        """What a reservation costs now."""
        operation = "ReservationOrder_Calculate"
        call = self._arm.call(operation)
        self._check(order)
        settings = self._arm.settings
        body = body_of(order, settings.subscription, settings.location)
        try:
            found = self._arm.read(operation, self._arm.reservations.reservation_order.calculate, body)
        except RefusedError as error:
            raise NotFoundError(f"{order.instance_type} is not sold like this: {error}", call) from error
        price = branch(found, "properties", "pricingCurrencyTotal") or branch(
            found, "properties", "billingCurrencyTotal"
        )
        total = exact(price, "amount")
        if total is None or total <= 0:
            raise NotFoundError(f"Azure returned no price for {order.instance_type}", call)
        upfront, hourly = amounts(total, order.term_years, order.payment)
        return CommitmentQuote(order, order_id(order.key), upfront, hourly, text(price, "currencyCode"))

    def buy(self, quote: CommitmentQuote) -> Commitment:
        """Buy what was quoted. The price is asked for once more, as a purchase cannot be given a limit; an order that
        is there already is the purchase."""
        number = order_id(quote.order.key)
        orders = self._arm.reservations.reservation_order
        operation = "ReservationOrder_Purchase"
        try:
            found = self._arm.read("ReservationOrder_Get", orders.get, number)
        except NotFoundError:
            self._check_price(quote)
            body = body_of(quote.order, self._arm.settings.subscription, self._arm.settings.location)
            accepted = self._arm.change(operation, orders.begin_purchase, number, body)
            with self._arm.once_accepted(operation):
                ending = self._follower.follow(accepted, lambda: self._order_state(number))
            if not ending.over:
                raise UnknownOutcomeError(f"order {number} is still being bought", self._arm.call(operation)) from None
            if ending.error:
                raise failure(self._arm.call(operation), ending.error) from None
            return bought(quote, self._details(number, accepted.document))
        self._check_same(quote, found)
        return bought(quote, found)

    def commitments(self) -> tuple[Commitment, ...]:
        """All reservations of machines in this location; amounts are those of the order they belong to."""
        all_of = self._arm.reservations.reservation.list_all
        orders = self._arm.pages("ReservationOrder_List", self._arm.reservations.reservation_order.list)
        by_id = {text(order, "name").lower(): order for order in orders}
        found = self._arm.pages("Reservation_ListAll", all_of)
        here = [r for r in found if text(r, "location").lower() in ("", self._arm.settings.location)]
        machines = [r for r in here if text(r, "properties", "reservedResourceType") in ("", "VirtualMachines")]
        return tuple(sorted((commitment_from(r, by_id) for r in machines), key=lambda c: c.id))

    def cancel(self, commitment: str) -> NoReturn:
        """Refuse: what is given back, and for how much, depends on a yearly allowance that a person has to weigh."""
        said = f"reservation {commitment} must be returned by you: 'Return' in the portal, or az reservations return"
        hint = "Azure refunds up to 50,000 dollars of cancelled commitments in twelve months; look at the amount first"
        raise RefusedError(said, self._arm.call("Return_Post"), hint=hint)

    def _check(self, order: CommitmentOrder) -> None:
        call = self._arm.call("ReservationOrder_Calculate")
        if order.option is not PurchaseOption.RESERVATION:
            raise NotFoundError(f"{order.option.in_words}s are not sold through this; only reservations are", call)
        if order.payment not in PLANS or order.term_years not in TERMS:
            raise NotFoundError(
                f"no reservation for {counted(order.term_years, 'year')} paid {order.payment} is sold", call
            )
        if order.count < 1 or order.starts is not None:
            raise RefusedError("a reservation is for one machine at least, and begins when it is bought", call)

    def _check_price(self, quote: CommitmentQuote) -> None:
        now = self.quote(quote.order)
        hours = quote.order.term_years * HOURS_PER_YEAR
        dearer = now.upfront + now.hourly * hours - quote.upfront - quote.hourly * hours
        if now.currency != quote.currency or dearer > TOLERANCE:
            said = f"the reservation costs {dearer:.2f} {now.currency} more than was quoted; nothing was bought"
            raise RefusedError(said, self._arm.call("ReservationOrder_Calculate"), hint="ask for a quote again")

    def _check_same(self, quote: CommitmentQuote, found: Document) -> None:
        properties = branch(found, "properties")
        there = (text(properties, "term"), whole(properties, "originalQuantity"), text(properties, "billingPlan"))
        wanted = (TERMS[quote.order.term_years], quote.order.count, PLANS[quote.order.payment])
        if there != wanted:
            said = f"order {order_id(quote.order.key)} is for {there}, not {wanted}"
            raise MismatchError(said, self._arm.call("ReservationOrder_Get"))

    def _order_state(self, number: str) -> str:
        try:
            found = self._arm.read("ReservationOrder_Get", self._arm.reservations.reservation_order.get, number)
        except NotFoundError:
            # Not shown yet is not gone: an order is never taken away
            return "creating"
        return "failed" if state_word(found) == "billingfailed" else state_word(found)

    def _details(self, number: str, known: Document) -> Document:
        """An order that is bought as Azure shows it, or as it did when it was accepted where it does not say more."""
        try:
            return self._arm.read("ReservationOrder_Get", self._arm.reservations.reservation_order.get, number)
        except CloudError:
            return known


def bought(quote: CommitmentQuote, document: Document) -> Commitment:
    """The commitment that a quote has become, from the order as Azure shows it."""
    order, number = quote.order, order_id(quote.order.key)
    properties = branch(document, "properties")
    return Commitment(
        id=number,
        option=order.option,
        offering=quote.offering,
        instance_type=order.instance_type,
        count=order.count,
        term_years=order.term_years,
        payment=order.payment,
        state=STATES.get(state_word(document), "unknown"),
        starts=moment(properties, "benefitStartTime") or moment(properties, "createdDateTime"),
        ends=moment(properties, "expiryDateTime"),
        upfront=quote.upfront,
        hourly=quote.hourly,
        currency=quote.currency,
        key=order.key,
    )


def commitment_from(reservation: Document, orders: dict[str, Document]) -> Commitment:
    """A reservation as the list tells it, with its order's amounts where they are told."""
    properties = branch(reservation, "properties")
    number = _order_of(text(reservation, "id"))
    order = branch(orders.get(number, {}), "properties")
    payment = PAYMENTS.get(text(properties, "billingPlan") or text(order, "billingPlan"), Payment.ALL)
    years = YEARS.get(text(properties, "term"), 0)
    price = branch(order, "planInformation", "pricingCurrencyTotal")
    upfront, hourly = amounts(exact(price, "amount") or Decimal(0), years or 1, payment)
    named = _NAMED.search(text(properties, "displayName"))
    return Commitment(
        id=number,
        option=PurchaseOption.RESERVATION,
        offering=number,
        instance_type=text(reservation, "sku", "name"),
        count=whole(properties, "quantity"),
        term_years=years,
        payment=payment,
        state=STATES.get(state_word(reservation), "unknown"),
        starts=moment(properties, "benefitStartTime") or moment(properties, "effectiveDateTime"),
        ends=moment(properties, "expiryDateTime"),
        upfront=upfront,
        hourly=hourly,
        currency=text(price, "currencyCode"),
        key=named.group(1) if named else "",
        own_size=text(properties, "instanceFlexibility") == "Off",
    )


def _order_of(reservation_id: str) -> str:
    parts = [p.lower() for p in reservation_id.split("/")]
    if "reservationorders" in parts[:-1]:
        return parts[parts.index("reservationorders") + 1]
    return parts[-1] or GONE
