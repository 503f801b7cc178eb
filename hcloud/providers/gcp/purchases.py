"""Buys committed use and lists what is held; the only place from which a purchase is sent to Google."""

from __future__ import annotations

from typing import Any

from hcloud.errors import CloudError, MismatchError, NotFoundError, RefusedError, UnknownOutcomeError
from hcloud.model.holdings.live import Commitment, CommitmentOrder, CommitmentQuote
from hcloud.providers.gcp import commitments as committed
from hcloud.providers.gcp import translate
from hcloud.providers.gcp.errors import EXISTS, operation_error
from hcloud.providers.gcp.outcome import names_were_taken
from hcloud.providers.gcp.settings import GoogleSettings
from hcloud.providers.gcp.translate import OperationEnd
from hcloud.providers.gcp.wire import Wire

_BUY = "regionCommitments.insert"


class GoogleCommitments:
    """The commitments of one project in one region: the half of hcloud.control.ports.Cloud that buys."""

    def __init__(self, wire: Wire, settings: GoogleSettings, prices: committed.Prices) -> None:
        self._wire = wire
        self._types = wire.types
        self._settings = settings
        self._prices = prices

    def quote(self, order: CommitmentOrder) -> CommitmentQuote:
        """What the price table says, which is named in the offering together with what would be bought."""
        wanted, price = self._wanted(order)
        return CommitmentQuote(
            order=order,
            offering=f"{wanted}, price from {price.source}",
            upfront=price.upfront * order.count,
            hourly=price.hourly * order.count,
            currency=price.currency,
        )

    def _wanted(self, order: CommitmentOrder) -> tuple[committed.ResourceCommitment, committed.CommitmentPrice]:
        call = self._wire.call(_BUY)
        if reason := committed.why_not(order):
            raise NotFoundError(reason, call)
        kind = self._machine_types(order.instance_type)[0]
        price = self._prices(order)
        if price is None:
            raise NotFoundError(f"the price table has no price for committed use of {order.instance_type}", call)
        return committed.resources(order, kind.guest_cpus, kind.memory_mb), price

    def buy(self, quote: CommitmentQuote) -> Commitment:
        """One insert under a name and a handle of the order's, where the price did not rise since the quote. What is
        held under that name already is given back instead, whatever it costs by now."""
        wanted, price = self._wanted(quote.order)
        if not quote.offering.startswith(str(wanted)):
            raise RefusedError(f"quoted was {quote.offering}, and it is {wanted} now", self._wire.call(_BUY))
        try:
            return self._as_wanted(self._commitment(committed.name_of(quote.order.key)), wanted)
        except NotFoundError:
            self._check_price(quote, price)
        request = self._types.InsertRegionCommitmentRequest(
            project=self._settings.project,
            region=self._settings.region,
            request_id=translate.request_id("buy", quote.order.key),
            commitment_resource=committed.body(quote, wanted),
        )
        operation = None
        try:
            operation = self._wire.change("RegionCommitmentsClient", "insert_unary", request, _BUY)
        except RefusedError as error:
            if error.call.code not in EXISTS:
                raise
        ended, found = self._bought(quote, operation)
        if found is None:
            raise operation_error(ended.errors if ended else (), self._wire.call(_BUY))
        return self._as_wanted(found, wanted)

    def _check_price(self, quote: CommitmentQuote, price: committed.CommitmentPrice) -> None:
        hourly, upfront = price.hourly * quote.order.count, price.upfront * quote.order.count
        if hourly > quote.hourly or upfront > quote.upfront or price.currency != quote.currency:
            words = f"it costs {hourly} {price.currency} an hour and {upfront} at once now, and was quoted at"
            raise RefusedError(f"{words} {quote.hourly} and {quote.upfront} {quote.currency}", self._wire.call(_BUY))

    def _bought(self, quote: CommitmentQuote, operation: Any) -> tuple[OperationEnd | None, Any]:
        """How an insert that was taken ended, and the commitment where it did not fail. No operation means that the
        name is in use; whatever stands in the way, the outcome is not known then."""
        try:
            ended = None if operation is None else self._wire.wait(operation, "", _BUY)
            if ended is not None and ended.errors and not names_were_taken(ended):
                return ended, None
            return ended, self._commitment(committed.name_of(quote.order.key))
        except UnknownOutcomeError:
            raise
        except CloudError as error:
            words = f"the purchase was accepted, but its outcome is unknown: {error}"
            raise UnknownOutcomeError(words, self._wire.call(_BUY)) from error

    def _as_wanted(self, found: Any, wanted: committed.ResourceCommitment) -> Commitment:
        if committed.held(found) != wanted:
            words = f"{found.name} was bought before, for {committed.held(found)}"
            raise MismatchError(words, self._wire.call(_BUY))
        return committed.commitment(found)

    def _commitment(self, name: str) -> Any:
        request = self._types.GetRegionCommitmentRequest(
            project=self._settings.project, region=self._settings.region, commitment=name
        )
        return self._wire.read("RegionCommitmentsClient", "get", request, "regionCommitments.get")

    def commitments(self) -> tuple[Commitment, ...]:
        """The commitments of the region, ended ones too: Google keeps them in its list."""
        request = self._types.ListRegionCommitmentsRequest(
            project=self._settings.project, region=self._settings.region, max_results=translate.PAGE
        )
        pages = self._wire.pages("RegionCommitmentsClient", "list", request, "regionCommitments.list")
        return tuple(committed.commitment(c) for page in pages for c in page.items)

    def cancel(self, commitment: str) -> None:
        """Google takes no commitment back."""
        words = f"{commitment}: Google cancels no commitment; it runs until its term ends, and is not renewed by itself"
        raise RefusedError(words, self._wire.call("regionCommitments.cancel"))

    def _machine_types(self, instance_type: str) -> tuple[Any, ...]:
        """A type in each zone of the region that has it; raises NotFoundError where none does."""
        request = self._types.AggregatedListMachineTypesRequest(
            project=self._settings.project, filter=f'name = "{instance_type}"', max_results=translate.PAGE
        )
        pages = self._wire.pages("MachineTypesClient", "aggregated_list", request, "machineTypes.aggregatedList")
        found = [t for page in pages for scope in page.items.values() for t in scope.machine_types]
        here = tuple(t for t in found if t.name == instance_type and self._is_here(translate.last(t.zone)))
        if not here:
            call = self._wire.call("machineTypes.aggregatedList")
            raise NotFoundError(f"no zone offers {instance_type}", call)
        return here

    def _is_here(self, zone: str) -> bool:
        return translate.region_of(zone) == self._settings.region
