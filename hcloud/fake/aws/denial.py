"""How AWS says no: a code, a message and an HTTP status."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from hcloud.fake.faults import Kind

JSON_SERVICES = ("pricing", "servicequotas", "savingsplans", "ssm")


@dataclass(eq=False)
class DenialError(Exception):
    """An error of the cloud, on its way to the wire."""

    code: str
    message: str
    status: int = 400
    headers: Mapping[str, str] = field(default_factory=dict)


_EC2 = MappingProxyType(
    {
        Kind.THROTTLED: DenialError("RequestLimitExceeded", "Request limit exceeded.", 503),
        Kind.NO_CAPACITY: DenialError(
            "InsufficientInstanceCapacity", "There is not enough capacity for this now.", 500
        ),
        Kind.QUOTA: DenialError("VcpuLimitExceeded", "You have requested more vCPU capacity than your limit allows."),
        Kind.DENIED: DenialError("UnauthorizedOperation", "You are not authorized to perform this operation.", 403),
        Kind.EXPIRED: DenialError("RequestExpired", "Request has expired."),
        Kind.SKEWED: DenialError("SignatureDoesNotMatch", "Signature not yet current: check the clock.", 403),
        Kind.SERVER_ERROR: DenialError("InternalError", "An internal error has occurred.", 500),
        Kind.UNAVAILABLE: DenialError("Unavailable", "The server is overloaded and cannot handle the request.", 503),
        Kind.NOT_FOUND: DenialError(
            "InvalidInstanceID.NotFound", "The instance ID 'i-00000000000000000' does not exist"
        ),
    }
)
_OTHERS = MappingProxyType(
    {
        Kind.THROTTLED: DenialError("ThrottlingException", "Rate exceeded"),
        Kind.NO_CAPACITY: DenialError("InsufficientCapacityException", "There is not enough capacity.", 500),
        Kind.QUOTA: DenialError("ServiceQuotaExceededException", "A service quota was exceeded.", 402),
        Kind.DENIED: DenialError("AccessDeniedException", "User is not authorized to perform this action.", 403),
        Kind.EXPIRED: DenialError(
            "ExpiredTokenException", "The security token included in the request is expired", 403
        ),
        Kind.SKEWED: DenialError("InvalidSignatureException", "Signature not yet current: check the clock.", 403),
        Kind.SERVER_ERROR: DenialError("InternalServerException", "An internal error has occurred.", 500),
        Kind.UNAVAILABLE: DenialError("ServiceUnavailableException", "Try again later.", 503),
        Kind.NOT_FOUND: DenialError("ResourceNotFoundException", "There is no such resource."),
    }
)
_OF_QUERY = MappingProxyType(
    {
        Kind.THROTTLED: DenialError("Throttling", "Rate exceeded"),
        Kind.DENIED: DenialError("AccessDenied", "User is not authorized to perform this action.", 403),
        Kind.EXPIRED: DenialError("ExpiredToken", "The security token included in the request is expired", 403),
        Kind.SERVER_ERROR: DenialError("InternalFailure", "An internal error has occurred.", 500),
        Kind.UNAVAILABLE: DenialError("ServiceUnavailable", "Try again later.", 503),
    }
)
_OF_S3 = MappingProxyType(
    {
        Kind.THROTTLED: DenialError("SlowDown", "Please reduce your request rate.", 503),
        Kind.DENIED: DenialError("AccessDenied", "Access Denied", 403),
        Kind.EXPIRED: DenialError("ExpiredToken", "The provided token has expired."),
        Kind.SKEWED: DenialError("RequestTimeTooSkewed", "The difference between the times is too large.", 403),
        Kind.NOT_FOUND: DenialError("NoSuchKey", "The specified key does not exist.", 404),
    }
)


def denial_of(kind: Kind, service: str, code: str = "", retry_after: float | None = None) -> DenialError | None:
    """A fault as a service says it; None for faults that are not errors. A code that is given stands in its place."""
    own: Mapping[Kind, DenialError] = {"s3": _OF_S3, "sts": _OF_QUERY}.get(service, {})
    usual = _OTHERS if service in JSON_SERVICES else _EC2
    found = own.get(kind) or usual.get(kind)
    if found is None:
        return None
    headers = {} if retry_after is None else {"retry-after": f"{retry_after:g}"}
    return DenialError(code or found.code, found.message, found.status, headers)
