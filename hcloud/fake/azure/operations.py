"""The fake Azure's long-running operations, told over each kind of header in turn."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from hcloud.fake.azure.estate import Estate
from hcloud.fake.azure.wire import ArmRequest, Document, Refused
from hcloud.fake.server import HttpAnswer, json_answer

CAPACITY = "/providers/Microsoft.Capacity"


class Style(StrEnum):
    """Which headers say where to ask. Where both disagree, Location has the result before the operation is over."""

    STATUS = "Azure-AsyncOperation"
    RESULT = "Location"
    BOTH = "both"
    DISAGREEING = "disagreeing"


@dataclass(frozen=True, slots=True)
class AzureOperation:
    """One of them: ``error`` is how it will end, None for well; ``target`` is the id of what it works on."""

    id: str
    ends_at: float
    error: Document | None
    target: str
    style: Style

    def headers(self, asked: ArmRequest) -> dict[str, str]:
        """Where to ask about it."""
        subscription = asked.params.get("subscription")
        home = f"/subscriptions/{subscription}/providers/Microsoft.Compute/locations/-" if subscription else CAPACITY
        version = f"?api-version={asked.query.get('api-version', '')}"
        status = {"Azure-AsyncOperation": f"{asked.base}{home}/operations/{self.id}{version}"}
        result = {"Location": f"{asked.base}{home}/operationResults/{self.id}{version}"}
        if self.style is Style.STATUS:
            return status
        return result if self.style is Style.RESULT else {**status, **result}


class AzureOperations:
    """All of them, by id."""

    def __init__(self, estate: Estate) -> None:
        self._estate = estate
        self._all: dict[str, AzureOperation] = {}
        self.styles: Iterator[Style] = itertools.cycle(Style)

    def begin(self, target: str, ends_at: float, error: Document | None = None) -> AzureOperation:
        """Begin one, with the next style."""
        number = f"{self._estate.ledger.next_number():08x}"
        operation = AzureOperation(number, ends_at, error, target, next(self.styles))
        self._all[number] = operation
        return operation

    def accept(
        self, asked: ArmRequest, operation: AzureOperation, document: Document | None = None, status: int = 202
    ) -> HttpAnswer:
        """The first answer to a request that began one."""
        headers = operation.headers(asked)
        return json_answer(document, status, headers) if document is not None else HttpAnswer(status, headers=headers)

    def status(self, asked: ArmRequest) -> HttpAnswer:
        """How one goes; that it failed is told with HTTP 200."""
        found = self._found(asked)
        if asked.now < found.ends_at:
            return json_answer({"name": found.id, "status": "InProgress"})
        if found.error is not None:
            return json_answer({"name": found.id, "status": "Failed", "error": found.error})
        return json_answer({"name": found.id, "status": "Succeeded"})

    def result(self, asked: ArmRequest) -> HttpAnswer:
        """What one led to: 202 until it is there."""
        found = self._found(asked)
        if asked.now < found.ends_at and found.style is not Style.DISAGREEING:
            return HttpAnswer(202, headers={"Location": f"{asked.base}{asked.path}?api-version=1"})
        if found.error is not None and found.style is not Style.DISAGREEING:
            return json_answer({"error": found.error}, 409)
        target = self._estate.find(found.target)
        return HttpAnswer(204) if target is None else json_answer(target.shown(asked.now))

    def _found(self, asked: ArmRequest) -> AzureOperation:
        found = self._all.get(asked.params["number"])
        if found is None:
            raise Refused(404, "OperationNotFound", "The operation was not found; it may have expired.")
        return found


class AzureHandlers:
    """The requests of one kind of resource, over everything that stands and all operations."""

    def __init__(self, estate: Estate, operations: AzureOperations) -> None:
        self._estate = estate
        self._operations = operations

    def _later(self, asked: ArmRequest, delay: float = 0.0) -> float:
        """When an operation that begins now is over, which takes at least so long."""
        return asked.now + max(delay, self._estate.faults.plan.operation_delay)
