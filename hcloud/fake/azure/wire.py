"""How the fake Azure says things on the wire: its errors, and each fault of a plan in Azure's form."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from hcloud.fake.faults import FaultKind, FaultRule
from hcloud.fake.server import HttpAnswer, answered_after, answered_before, json_answer

Document = dict[str, object]

OTHER_HOST = "https://management.example.invalid/"
UNKNOWN_STATE = "Reticulating"

# What a fault answers instead of acting: status, code and message
_ANSWERS: Mapping[FaultKind, tuple[int, str, str]] = {
    FaultKind.THROTTLED: (429, "TooManyRequests", "The request is being throttled as the limit has been reached."),
    FaultKind.NO_CAPACITY: (409, "SkuNotAvailable", "The requested size is currently not available in this location."),
    FaultKind.QUOTA: (
        409,
        "QuotaExceeded",
        "Operation could not be completed as it results in exceeding approved Total Regional Cores quota.",
    ),
    FaultKind.DENIED: (403, "AuthorizationFailed", "The client does not have authorization to perform this action."),
    FaultKind.EXPIRED: (401, "ExpiredAuthenticationToken", "The access token expiry is in the past."),
    FaultKind.SKEWED: (
        401,
        "InvalidAuthenticationToken",
        "The access token is not valid yet: its 'nbf' is in the future.",
    ),
    FaultKind.SERVER_ERROR: (500, "InternalServerError", "The server encountered an error; try again."),
    FaultKind.UNAVAILABLE: (503, "ServiceUnavailable", "The service is temporarily unavailable."),
    FaultKind.NOT_FOUND: (404, "ResourceNotFound", "The resource was not found."),
}


@dataclass(frozen=True, slots=True)
class ArmRequest:
    """A request on its way through the fake: ``params`` are the named parts of its path, ``rule`` the fault that
    struck it, ``base`` the address of the fake."""

    method: str
    path: str
    params: Mapping[str, str]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Document
    now: float
    principal: str
    base: str
    rule: FaultRule | None = None

    @property
    def fault(self) -> FaultKind | None:
        """The kind of that fault."""
        return self.rule.answer if self.rule else None


@dataclass(slots=True)
class Refused(Exception):  # noqa: N818
    """The fake says no."""

    status: int
    code: str
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)

    def answer(self) -> HttpAnswer:
        """The same on the wire."""
        return json_answer({"error": {"code": self.code, "message": self.message}}, self.status, self.headers)


def branch(document: object, *path: str) -> Document:
    """The object at a path of a document; empty where there is none."""
    for name in path:
        document = document.get(name) if isinstance(document, dict) else None
    return document if isinstance(document, dict) else {}


def listed(document: object, *path: str) -> list[object]:
    """The list at a path; empty where there is none."""
    found = branch(document, *path[:-1]).get(path[-1])
    return found if isinstance(found, list) else []


def text(document: object, *path: str) -> str:
    """The text at a path; empty where there is none."""
    found = branch(document, *path[:-1]).get(path[-1])
    return found if isinstance(found, str) else ""


def before(rule: FaultRule) -> HttpAnswer | None:
    """What a fault answers without anything being done; None where something is done."""
    if rule.answer not in _ANSWERS:
        return answered_before(rule, OTHER_HOST)
    status, code, message = _ANSWERS[rule.answer]
    wait = {} if rule.retry_after is None else {"Retry-After": str(math.ceil(rule.retry_after))}
    return Refused(status, rule.code or code, message, wait).answer()


def after(rule: FaultRule, answer: HttpAnswer) -> HttpAnswer:
    """What a fault makes of an answer after everything was done."""
    return answered_after(rule, _unknown_words(answer) if rule.answer is FaultKind.UNKNOWN_WORDS else answer)


def _unknown_words(answer: HttpAnswer) -> HttpAnswer:
    if not answer.body or not answer.body.startswith(b"{"):
        return answer
    document = json.loads(answer.body)
    for item in [document, *listed(document, "value")]:
        if isinstance(item, dict):
            item["hyperdrive"] = {"engaged": True}
            if "provisioningState" in branch(item, "properties"):
                branch(item, "properties")["provisioningState"] = UNKNOWN_STATE
    return HttpAnswer(answer.status, json.dumps(document).encode(), answer.headers)
