"""How AWS says no: a code, a message and an HTTP status."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from hcloud.fake.faults import FaultKind

JSON_SERVICES = ("pricing", "servicequotas", "savingsplans", "ssm", "monitoring", "ce")


@dataclass(eq=False)
class DenialError(Exception):
    """An error of the cloud, on its way to the wire."""

    code: str
    message: str
    status: int = 400
    headers: Mapping[str, str] = field(default_factory=dict)


_EC2 = MappingProxyType(
    {
        FaultKind.THROTTLED: DenialError("RequestLimitExceeded", "Request limit exceeded.", 503),
        FaultKind.NO_CAPACITY: DenialError(
            "InsufficientInstanceCapacity", "There is not enough capacity for this now.", 500
        ),
        FaultKind.QUOTA: DenialError(
            "VcpuLimitExceeded", "You have requested more vCPU capacity than your limit allows."
        ),
        FaultKind.DENIED: DenialError(
            "UnauthorizedOperation", "You are not authorized to perform this operation.", 403
        ),
        FaultKind.EXPIRED: DenialError("RequestExpired", "Request has expired."),
        FaultKind.SKEWED: DenialError("SignatureDoesNotMatch", "Signature not yet current: check the clock.", 403),
        FaultKind.SERVER_ERROR: DenialError("InternalError", "An internal error has occurred.", 500),
        FaultKind.UNAVAILABLE: DenialError(
            "Unavailable", "The server is overloaded and cannot handle the request.", 503
        ),
        FaultKind.NOT_FOUND: DenialError(
            "InvalidInstanceID.NotFound", "The instance ID 'i-00000000000000000' does not exist"
        ),
    }
)
_OTHERS = MappingProxyType(
    {
        FaultKind.THROTTLED: DenialError("ThrottlingException", "Rate exceeded"),
        FaultKind.NO_CAPACITY: DenialError("InsufficientCapacityException", "There is not enough capacity.", 500),
        FaultKind.QUOTA: DenialError("ServiceQuotaExceededException", "A service quota was exceeded.", 402),
        FaultKind.DENIED: DenialError("AccessDeniedException", "User is not authorized to perform this action.", 403),
        FaultKind.EXPIRED: DenialError(
            "ExpiredTokenException", "The security token included in the request is expired", 403
        ),
        FaultKind.SKEWED: DenialError("InvalidSignatureException", "Signature not yet current: check the clock.", 403),
        FaultKind.SERVER_ERROR: DenialError("InternalServerException", "An internal error has occurred.", 500),
        FaultKind.UNAVAILABLE: DenialError("ServiceUnavailableException", "Try again later.", 503),
        FaultKind.NOT_FOUND: DenialError("ResourceNotFoundException", "There is no such resource."),
    }
)
_OF_QUERY = MappingProxyType(
    {
        FaultKind.THROTTLED: DenialError("Throttling", "Rate exceeded"),
        FaultKind.DENIED: DenialError("AccessDenied", "User is not authorized to perform this action.", 403),
        FaultKind.EXPIRED: DenialError("ExpiredToken", "The security token included in the request is expired", 403),
        FaultKind.SERVER_ERROR: DenialError("InternalFailure", "An internal error has occurred.", 500),
        FaultKind.UNAVAILABLE: DenialError("ServiceUnavailable", "Try again later.", 503),
    }
)
_OF_S3 = MappingProxyType(
    {
        FaultKind.THROTTLED: DenialError("SlowDown", "Please reduce your request rate.", 503),
        FaultKind.DENIED: DenialError("AccessDenied", "Access Denied", 403),
        FaultKind.EXPIRED: DenialError("ExpiredToken", "The provided token has expired."),
        FaultKind.SKEWED: DenialError("RequestTimeTooSkewed", "The difference between the times is too large.", 403),
        FaultKind.NOT_FOUND: DenialError("NoSuchKey", "The specified key does not exist.", 404),
    }
)


def denial_of(kind: FaultKind, service: str, code: str = "", retry_after: float | None = None) -> DenialError | None:
    """A fault as a service says it; None for faults that are not errors. A code that is given stands in its place."""
    own: Mapping[FaultKind, DenialError] = {"s3": _OF_S3, "sts": _OF_QUERY}.get(service, {})
    usual = _OTHERS if service in JSON_SERVICES else _EC2
    found = own.get(kind) or usual.get(kind)
    if found is None:
        return None
    headers = {} if retry_after is None else {"retry-after": f"{retry_after:g}"}
    return DenialError(code or found.code, found.message, found.status, headers)
