"""How Google says no: the JSON of its errors, and each kind of fault in Google's words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from hcloud.fake.faults import FaultKind, FaultRule
from hcloud.fake.server import HttpAnswer, answered_before, json_answer

ELSEWHERE = "http://127.0.0.2:9"
"""Where redirects point: to a host that no test may reach."""
_STATUS_WORDS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ALREADY_EXISTS",
    412: "FAILED_PRECONDITION",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}
_DOMAINS = {"rateLimitExceeded": "usageLimits", "quotaExceeded": "usageLimits"}
_SOLD_OUT = "The zone does not have enough resources."
_EXPIRED = "Invalid Credentials: the token has expired."
STOCK_OUT = "ZONE_RESOURCE_POOL_EXHAUSTED"


@dataclass(slots=True, eq=False)
class RefusalError(Exception):
    """A request that is answered with an error."""

    status: int
    reason: str
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)

    def answer(self) -> HttpAnswer:
        """The error as Google writes it."""
        one = {"message": self.message, "domain": _DOMAINS.get(self.reason, "global"), "reason": self.reason}
        error: dict[str, object] = {"code": self.status, "message": self.message, "errors": [one]}
        error["status"] = _STATUS_WORDS.get(self.status, "UNKNOWN")
        return json_answer({"error": error}, self.status, self.headers)


def unknown_resource(what: str) -> RefusalError:
    """What is asked for is not there."""
    return RefusalError(404, "notFound", f"The resource '{what}' was not found")


def already_there(what: str) -> RefusalError:
    """The name is in use."""
    return RefusalError(409, "alreadyExists", f"The resource '{what}' already exists")


def invalid(where: str, value: object, why: str) -> RefusalError:
    """A field of a request is wrong."""
    return RefusalError(400, "invalid", f"Invalid value for field '{where}': '{value}'. {why}")


def forbidden(operation: str, resource: str) -> RefusalError:
    """The credentials may not do this."""
    return RefusalError(403, "forbidden", f"Required '{permission_of(operation)}' permission for '{resource}'")


def permission_of(operation: str) -> str:
    """The permission that an operation takes; an order of machines takes more than this one."""
    if operation == "timeSeries.list":
        return "monitoring.timeSeries.list"
    noun, _, verb = operation.rpartition(".")
    verb = {"insert": "create", "bulkInsert": "create", "aggregatedList": "list", "wait": "get"}.get(verb, verb)
    return f"compute.{'commitments' if noun == 'regionCommitments' else noun}.{verb}"


def _throttled(rule: FaultRule, operation: str) -> RefusalError:
    status = 429 if rule.code == "429" else 403
    after = {} if rule.retry_after is None else {"retry-after": f"{rule.retry_after:g}"}
    message = f"Quota exceeded for quota metric 'Queries' and limit 'Queries per minute' ({operation})."
    return RefusalError(status, "rateLimitExceeded", message, after)


def _skewed(_rule: FaultRule, _operation: str) -> RefusalError:
    words = "Invalid JWT: Token must be a short-lived token and in a reasonable timeframe. Check your iat and exp."
    return RefusalError(401, "authError", words)


_FORMS: Mapping[FaultKind, Callable[[FaultRule, str], RefusalError]] = {
    FaultKind.THROTTLED: _throttled,
    FaultKind.NO_CAPACITY: lambda _rule, _operation: RefusalError(503, STOCK_OUT, _SOLD_OUT),
    FaultKind.QUOTA: lambda rule, _operation: RefusalError(
        403, "quotaExceeded", f"Quota '{rule.code or 'CPUS'}' exceeded. Limit: 24.0 in region."
    ),
    FaultKind.DENIED: lambda _rule, operation: forbidden(operation, "projects/hcloud-fake"),
    FaultKind.EXPIRED: lambda _rule, _operation: RefusalError(401, "authError", _EXPIRED),
    FaultKind.SKEWED: _skewed,
    FaultKind.SERVER_ERROR: lambda rule, _operation: RefusalError(500, rule.code or "internalError", "Internal error."),
    FaultKind.UNAVAILABLE: lambda rule, _operation: RefusalError(503, rule.code or "backendError", "Backend error."),
    FaultKind.NOT_FOUND: lambda _rule, operation: unknown_resource(operation),
}


def before_acting(rule: FaultRule, operation: str, *, ordering: bool) -> HttpAnswer | None:
    """What a fault answers before anything was done; None where the request is carried out.

    A stock-out of an order is found while the operation runs; with the code 503 it is found at once.
    """
    if rule.answer is FaultKind.NO_CAPACITY and ordering and rule.code != "503":
        return None
    if rule.answer in _FORMS:
        return _FORMS[rule.answer](rule, operation).answer()
    return answered_before(rule, f"{ELSEWHERE}/{operation}")
