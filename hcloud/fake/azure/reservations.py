"""The fake Azure's reservations: what they cost, buying one under an id of the client's, and those that are held."""

from __future__ import annotations

import re
import uuid
from datetime import UTC, datetime
from decimal import Decimal

from hcloud.fake.azure.operations import AzureHandlers
from hcloud.fake.azure.shapes import TERM_FACTORS, TERM_YEARS, AzureSize, shape, shapes
from hcloud.fake.azure.wire import ArmRequest, Document, Refused, branch, text
from hcloud.fake.ledger import BoughtCommitment
from hcloud.fake.server import HttpAnswer, json_answer

HOURS_PER_YEAR = 8760
HOME = "/providers/Microsoft.Capacity/reservationOrders"
_KEY = re.compile(r"[0-9a-f]{32}")


class FakeReservations(AzureHandlers):
    """Their requests. A purchase in the ledger holds the request that made it as its detail."""

    def calculate(self, asked: ArmRequest) -> HttpAnswer:
        """What a reservation costs, and the id of an order for it."""
        _, total, _ = self._priced(asked.body)
        price = {"currencyCode": "USD", "amount": float(total)}
        number = str(uuid.uuid5(uuid.NAMESPACE_URL, f"quote {self._estate.ledger.next_number()}"))
        properties = {"billingCurrencyTotal": price, "pricingCurrencyTotal": price, "reservationOrderId": number}
        return json_answer({"properties": {**properties, "skuTitle": "Reserved VM Instance"}})

    def purchase(self, asked: ArmRequest) -> HttpAnswer:
        """Buy one; the same id with the same request is the same purchase."""
        number = str(self._number(asked))
        known = self._estate.ledger.purchases.get(number)
        if known is not None:
            if known.detail != asked.body:
                raise Refused(409, "Conflict", f"Order {number} is for something else.")
            return json_answer(self._order(known, asked.now))
        found, total, quantity = self._priced(asked.body)
        years = TERM_YEARS[text(asked.body, "properties", "term")]
        upfront = text(asked.body, "properties", "billingPlan") == "Upfront"
        key = _KEY.search(text(asked.body, "properties", "displayName"))
        bought = BoughtCommitment(
            id=number,
            option="reservation",
            offering=number,
            instance_type=found.name,
            count=quantity,
            hourly=Decimal(0) if upfront else total / (years * HOURS_PER_YEAR),
            upfront=total if upfront else Decimal(0),
            term_seconds=years * HOURS_PER_YEAR * 3600,
            bought_at=asked.now,
            starts_at=asked.now,
            key=key.group() if key else "",
            principal=asked.principal,
            detail=asked.body,
        )
        self._estate.ledger.purchases[number] = bought
        operation = self._operations.begin(f"{HOME}/{number}", self._later(asked))
        return self._operations.accept(asked, operation, self._order(bought, asked.now), 202)

    def order(self, asked: ArmRequest) -> HttpAnswer:
        return json_answer(self._order(self._known(asked), asked.now))

    def orders(self, asked: ArmRequest) -> HttpAnswer:
        found = sorted(self._estate.ledger.purchases.values(), key=lambda p: p.id)
        return self._estate.page(asked, [self._order(p, asked.now) for p in found])

    def held(self, asked: ArmRequest) -> HttpAnswer:
        """All reservations, or those of an order; here each order has one."""
        found = sorted(self._estate.ledger.purchases.values(), key=lambda p: p.id)
        wanted = asked.params.get("order")
        here = [p for p in found if wanted is None or p.id == wanted.lower()]
        return self._estate.page(asked, [self._reservation(p, asked.now) for p in here])

    def catalog(self, asked: ArmRequest) -> HttpAnswer:
        """What can be reserved."""
        terms, plans = list(TERM_FACTORS), {"P1Y": ["Upfront", "Monthly"], "P3Y": ["Upfront", "Monthly"]}
        found: list[Document] = [
            {"resourceType": "virtualMachines", "name": s.name, "terms": terms, "billingPlans": plans} for s in shapes()
        ]
        return self._estate.page(asked, found)

    def refund(self, asked: ArmRequest) -> HttpAnswer:
        """What would be given back."""
        known = self._known(asked)
        amount = {"currencyCode": "USD", "amount": float(self._left(known, asked.now))}
        properties = {"sessionId": str(uuid.uuid5(uuid.NAMESPACE_URL, known.id)), "billingRefundAmount": amount}
        return json_answer({"id": f"{HOME}/{known.id}", "properties": properties})

    def give_back(self, asked: ArmRequest) -> HttpAnswer:
        known = self._known(asked)
        if not text(asked.body, "properties", "sessionId"):
            raise Refused(400, "InvalidRefundSession", "Calculate the refund first.")
        known.cancelled_at = asked.now
        operation = self._operations.begin(f"{HOME}/{known.id}", self._later(asked))
        return self._operations.accept(asked, operation, self._order(known, asked.now), 202)

    def _priced(self, body: Document) -> tuple[AzureSize, Decimal, int]:
        found = shape(text(body, "sku", "name"))
        properties = branch(body, "properties")
        factor = TERM_FACTORS.get(text(properties, "term"))
        quantity = properties.get("quantity")
        plan = text(properties, "billingPlan")
        if found is None or factor is None or plan not in ("Upfront", "Monthly"):
            raise Refused(400, "InvalidReservationRequest", "There is no such reservation.")
        if not isinstance(quantity, int) or isinstance(quantity, bool) or quantity < 1:
            raise Refused(400, "InvalidReservationQuantity", f"The quantity {quantity} is not valid.")
        hours = TERM_YEARS[text(properties, "term")] * HOURS_PER_YEAR
        moved = Decimal(str(self._estate.faults.plan.price_factor))
        return found, (found.hourly * factor * hours * quantity * moved).quantize(Decimal("0.01")), quantity

    def _number(self, asked: ArmRequest) -> uuid.UUID:
        try:
            return uuid.UUID(asked.params["order"])
        except ValueError:
            raise Refused(400, "InvalidReservationOrderId", "The order id is no GUID.") from None

    def _known(self, asked: ArmRequest) -> BoughtCommitment:
        found = self._estate.ledger.purchases.get(str(self._number(asked)))
        if found is None:
            raise Refused(404, "NotFound", f"Order {asked.params['order']} was not found.")
        return found

    def _order(self, bought: BoughtCommitment, now: float) -> Document:
        properties = {
            **self._common(bought, now),
            "originalQuantity": bought.count,
            "planInformation": {"pricingCurrencyTotal": _price(bought)},
            "reservations": [{"id": _reservation_id(bought)}],
        }
        return {
            "id": f"{HOME}/{bought.id}",
            "name": bought.id,
            "type": "Microsoft.Capacity/reservationOrders",
            "properties": properties,
        }

    def _reservation(self, bought: BoughtCommitment, now: float) -> Document:
        properties = {
            **self._common(bought, now),
            "quantity": bought.count,
            "reservedResourceType": "VirtualMachines",
            "appliedScopeType": text(bought.detail, "properties", "appliedScopeType"),
        }
        return {
            "id": _reservation_id(bought),
            "name": _reservation_id(bought).removeprefix(f"{HOME}/").replace("/reservations/", "/"),
            "type": "Microsoft.Capacity/reservationOrders/reservations",
            "location": text(bought.detail, "location"),
            "sku": {"name": bought.instance_type},
            "properties": properties,
        }

    def _common(self, bought: BoughtCommitment, now: float) -> Document:
        state = "Cancelled" if bought.cancelled_at is not None else "Succeeded"
        if now < bought.bought_at + self._estate.faults.plan.operation_delay:
            state = "Creating"
        elif now >= bought.starts_at + bought.term_seconds:
            state = "Expired"
        return {
            "displayName": text(bought.detail, "properties", "displayName"),
            "term": text(bought.detail, "properties", "term"),
            "billingPlan": text(bought.detail, "properties", "billingPlan"),
            "provisioningState": state,
            "createdDateTime": _moment(bought.bought_at),
            "benefitStartTime": _moment(bought.starts_at),
            "expiryDateTime": _moment(bought.starts_at + bought.term_seconds),
        }

    def _left(self, bought: BoughtCommitment, now: float) -> Decimal:
        left = max(bought.starts_at + bought.term_seconds - now, 0.0) / bought.term_seconds
        return (_total(bought) * Decimal(str(left))).quantize(Decimal("0.01"))


def _total(bought: BoughtCommitment) -> Decimal:
    return bought.upfront + bought.hourly * bought.term_seconds / 3600


def _price(bought: BoughtCommitment) -> Document:
    return {"currencyCode": "USD", "amount": float(_total(bought).quantize(Decimal("0.01")))}


def _reservation_id(bought: BoughtCommitment) -> str:
    return f"{HOME}/{bought.id}/reservations/{uuid.uuid5(uuid.NAMESPACE_URL, bought.id)}"


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
