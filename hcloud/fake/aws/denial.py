"""How AWS says no: a code, a message and an HTTP status."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hcloud.fake.faults import FaultKind

JSON_SERVICES = ("pricing", "servicequotas", "savingsplans", "ssm", "monitoring", "ce")


@dataclass(eq=False)
class DenialError(Exception):
    """An error of the cloud, on its way to the wire."""

    code: str
    message: str
    status: int = 400
    headers: Mapping[str, str] = field(default_factory=dict)


_Words = Mapping[FaultKind, tuple[str, str, int]]
_EC2: _Words = {
    FaultKind.THROTTLED: ("RequestLimitExceeded", "Request limit exceeded.", 503),
    FaultKind.NO_CAPACITY: ("InsufficientInstanceCapacity", "There is not enough capacity for this now.", 500),
    FaultKind.QUOTA: ("VcpuLimitExceeded", "You have requested more vCPU capacity than your limit allows.", 400),
    FaultKind.DENIED: ("UnauthorizedOperation", "You are not authorized to perform this operation.", 403),
    FaultKind.EXPIRED: ("RequestExpired", "Request has expired.", 400),
    FaultKind.SKEWED: ("SignatureDoesNotMatch", "Signature not yet current: check the clock.", 403),
    FaultKind.SERVER_ERROR: ("InternalError", "An internal error has occurred.", 500),
    FaultKind.UNAVAILABLE: ("Unavailable", "The server is overloaded and cannot handle the request.", 503),
    FaultKind.NOT_FOUND: ("InvalidInstanceID.NotFound", "The instance ID 'i-00000000000000000' does not exist", 400),
}
_OTHERS: _Words = {
    FaultKind.THROTTLED: ("ThrottlingException", "Rate exceeded", 400),
    FaultKind.NO_CAPACITY: ("InsufficientCapacityException", "There is not enough capacity.", 500),
    FaultKind.QUOTA: ("ServiceQuotaExceededException", "A service quota was exceeded.", 402),
    FaultKind.DENIED: ("AccessDeniedException", "User is not authorized to perform this action.", 403),
    FaultKind.EXPIRED: ("ExpiredTokenException", "The security token included in the request is expired", 403),
    FaultKind.SKEWED: ("InvalidSignatureException", "Signature not yet current: check the clock.", 403),
    FaultKind.SERVER_ERROR: ("InternalServerException", "An internal error has occurred.", 500),
    FaultKind.UNAVAILABLE: ("ServiceUnavailableException", "Try again later.", 503),
    FaultKind.NOT_FOUND: ("ResourceNotFoundException", "There is no such resource.", 400),
}
_OF_QUERY: _Words = {
    FaultKind.THROTTLED: ("Throttling", "Rate exceeded", 400),
    FaultKind.DENIED: ("AccessDenied", "User is not authorized to perform this action.", 403),
    FaultKind.EXPIRED: ("ExpiredToken", "The security token included in the request is expired", 403),
    FaultKind.SERVER_ERROR: ("InternalFailure", "An internal error has occurred.", 500),
    FaultKind.UNAVAILABLE: ("ServiceUnavailable", "Try again later.", 503),
}
_OF_S3: _Words = {
    FaultKind.THROTTLED: ("SlowDown", "Please reduce your request rate.", 503),
    FaultKind.DENIED: ("AccessDenied", "Access Denied", 403),
    FaultKind.EXPIRED: ("ExpiredToken", "The provided token has expired.", 400),
    FaultKind.SKEWED: ("RequestTimeTooSkewed", "The difference between the times is too large.", 403),
    FaultKind.NOT_FOUND: ("NoSuchKey", "The specified key does not exist.", 404),
}


def denial_of(kind: FaultKind, service: str, code: str = "", retry_after: float | None = None) -> DenialError | None:
    """A fault as a service says it; None for faults that are not errors. A code that is given stands in its place."""
    own: _Words = {"s3": _OF_S3, "sts": _OF_QUERY}.get(service, {})
    usual = _OTHERS if service in JSON_SERVICES else _EC2
    found = own.get(kind) or usual.get(kind)
    if found is None:
        return None
    headers = {} if retry_after is None else {"retry-after": f"{retry_after:g}"}
    return DenialError(code or found[0], *found[1:], headers)
