"""Buys, lists and gives back the commitments of an AWS account; a purchase is sent once, whatever happens."""

from __future__ import annotations

import hashlib
from typing import Any

from hcloud.errors import NotFoundError, RefusedError
from hcloud.model.holdings.live import Commitment, CommitmentOrder, CommitmentQuote
from hcloud.providers.aws import commitments as words
from hcloud.providers.aws.caller import Caller, Document
from hcloud.providers.aws.errors import without_answer
from hcloud.units import counted

_NO_WAY_BACK = "AWS takes no active reserved instances back; a standard one can be sold on its marketplace"


class AwsCommitments:
    """The commitments of an account: the half of hcloud.control.ports.Cloud that buys, over one caller."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def quote(self, order: CommitmentOrder) -> CommitmentQuote:
        """What it costs now."""
        is_reserved = order.option in words.CLASS_WORDS
        operation = "DescribeReservedInstancesOfferings" if is_reserved else "DescribeSavingsPlansOfferings"
        wrong = words.wrong_with(order)
        if wrong:
            raise RefusedError(wrong, self._caller.call(operation))
        found = self._reserved_quote(order) if is_reserved else self._plan_quote(order)
        if found is None:
            term = counted(order.term_years, "year")
            what = f"{order.option.in_words} of {order.instance_type}, {term}, {order.payment}"
            raise NotFoundError(f"{what}: not sold here", self._caller.call(operation))
        return found

    def _reserved_quote(self, order: CommitmentOrder, offering: str = "") -> CommitmentQuote | None:
        request = words.reserved_request(order)
        if offering:
            request["ReservedInstancesOfferingIds"] = [offering]
        names = ("ReservedInstancesOfferings", "NextToken")
        return words.reserved_quote(
            order, self._caller.pages("ec2", "DescribeReservedInstancesOfferings", request, names)
        )

    def _plan_quote(self, order: CommitmentOrder) -> CommitmentQuote | None:
        region = self._caller.settings.region
        request, names = words.plan_request(order, region), ("searchResults", "nextToken")
        found = self._caller.pages("savingsplans", "DescribeSavingsPlansOfferings", request, names)
        return words.plan_quote(order, found, region)

    def buy(self, quote: CommitmentQuote) -> Commitment:
        """Buy exactly that, at no higher price."""
        is_reserved = quote.order.option in words.CLASS_WORDS
        operation = "PurchaseReservedInstancesOffering" if is_reserved else "CreateSavingsPlan"
        wrong = words.wrong_with(quote.order)
        if wrong:
            raise RefusedError(wrong, self._caller.call(operation))
        given = self._reserve(quote) if is_reserved else self._save(quote)
        if not given:
            raise without_answer("no id of a purchase came back", self._caller.call(operation), mutating=True)
        return words.bought(quote, given)

    def _reserve(self, quote: CommitmentQuote) -> str:
        """The price is read again first: LimitPrice holds for what is paid upfront only, and there is no token, so
        that a second request would be a second purchase."""
        operation = "PurchaseReservedInstancesOffering"
        now = self._reserved_quote(quote.order, quote.offering)
        if now is None or now.offering != quote.offering or words.dearer(now, quote):
            raise RefusedError(
                "the offering is not sold any more at the quoted price; nothing was bought",
                self._caller.call(operation),
                hint="ask for a new quote",
            )
        answer = self._caller.ask("ec2", operation, words.purchase_request(quote), mutating=True)
        return str(answer.get("ReservedInstancesId") or "")

    def _save(self, quote: CommitmentQuote) -> str:
        answer = self._caller.ask("savingsplans", "CreateSavingsPlan", words.create_request(quote), mutating=True)
        return str(answer.get("savingsPlanId") or "")

    def commitments(self) -> tuple[Commitment, ...]:
        """All that counts in this region, by start and id."""
        reserved = [words.reserved_held(r) for r in self._reserved()]
        found = [*reserved, *(p for p in map(words.plan_held, self._plans()) if p is not None and p.id)]
        return tuple(sorted(found, key=lambda c: (str(c.starts), c.id)))

    def _reserved(self) -> list[Any]:
        answer = self._caller.ask("ec2", "DescribeReservedInstances", {})
        return self._caller.listed(answer, "ReservedInstances", "DescribeReservedInstances")

    def _plans(self) -> list[Document]:
        names = ("savingsPlans", "nextToken")
        found = self._caller.pages("savingsplans", "DescribeSavingsPlans", {}, names)
        return [p for p in found if p.get("region") in (None, "", self._caller.settings.region)]

    def cancel(self, commitment: str) -> None:
        """Give back a savings plan or dequeue what is queued; AWS says no to the rest."""
        plan = next((p for p in self._plans() if p.get("savingsPlanId") == commitment), None)
        if plan is not None:
            self._cancel_plan(commitment, str(plan.get("state")))
            return
        held = next((r for r in self._reserved() if r.get("ReservedInstancesId") == commitment), None)
        if held is None:
            raise NotFoundError(f"there is no commitment {commitment}", self._caller.call("DescribeReservedInstances"))
        if held.get("State") != "queued":
            raise RefusedError(_NO_WAY_BACK, self._caller.call("DeleteQueuedReservedInstances"))
        self._dequeue(commitment)

    def _cancel_plan(self, commitment: str, state: str) -> None:
        if state == "queued":
            self._caller.ask("savingsplans", "DeleteQueuedSavingsPlan", {"savingsPlanId": commitment}, mutating=True)
            return
        token = hashlib.sha256(f"return {commitment}".encode()).hexdigest()[:32]
        request = {"savingsPlanId": commitment, "clientToken": token}
        self._caller.ask("savingsplans", "ReturnSavingsPlan", request, mutating=True)

    def _dequeue(self, commitment: str) -> None:
        operation = "DeleteQueuedReservedInstances"
        answer = self._caller.ask("ec2", operation, {"ReservedInstancesIds": [commitment]}, mutating=True)
        for failed in answer.get("FailedQueuedPurchaseDeletions") or []:
            raise RefusedError(str((failed.get("Error") or {}).get("Message", "refused")), self._caller.call(operation))
