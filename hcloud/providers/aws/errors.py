"""What AWS and its SDK say when something is wrong, by a table from their codes to hcloud's errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hcloud.errors import (
    Call,
    CloudError,
    CredentialsError,
    DeniedError,
    MismatchError,
    NoCapacityError,
    NotFoundError,
    QuotaError,
    RefusedError,
    ThrottledError,
    UnavailableError,
    UnknownOutcomeError,
)

LONGEST_MESSAGE = 400
LONGEST_LIST = 40_000  # ours: a thousand ids, each of which has to be taken out before the others can be ended
_NAMING_IDS = ("InvalidInstanceID.NotFound",)
CLOCK_HINT = "check this machine's clock: AWS refuses requests that are more than 5 minutes off"
LOGIN_HINT = "refresh the credentials (aws sso login, or a new session token), then run the same command again"
REGION_HINT = "the region of the request and that of the endpoint differ: check --region and the endpoint"

_CODES: Mapping[type[CloudError], tuple[str, ...]] = {
    NoCapacityError: (
        "InsufficientInstanceCapacity",
        "InsufficientCapacity",
        "InsufficientCapacityException",
        "InsufficientHostCapacity",
        "InsufficientReservedInstanceCapacity",
        "InsufficientFreeAddressesInSubnet",
        "InsufficientAddressCapacity",
        "InsufficientVolumeCapacity",
        "ReservationCapacityExceeded",
        "UnfulfillableCapacity",
        "SpotMaxPriceTooLow",
        "Unsupported",
        "UnsupportedHostConfiguration",
        "VolumeTypeNotAvailableInZone",
    ),
    QuotaError: (
        "VcpuLimitExceeded",
        "InstanceLimitExceeded",
        "MaxSpotInstanceCountExceeded",
        "MaxSpotFleetRequestCountExceeded",
        "MaxFleetCountExceeded",
        "ReservedInstancesLimitExceeded",
        "VolumeLimitExceeded",
        "MaxIOPSLimitExceeded",
        "AddressLimitExceeded",
        "NetworkInterfaceLimitExceeded",
        "HostLimitExceeded",
        "ServiceQuotaExceededException",
    ),
    ThrottledError: (
        "RequestLimitExceeded",
        "Throttling",
        "ThrottlingException",
        "ThrottledException",
        "RequestThrottled",
        "RequestThrottledException",
        "EC2ThrottledException",
        "TooManyRequestsException",
        "BandwidthLimitExceeded",
        "PriorRequestNotComplete",
        "SlowDown",
    ),
    DeniedError: (
        "UnauthorizedOperation",
        "AccessDenied",
        "AccessDeniedException",
        "AuthFailure.ServiceLinkedRoleCreationNotPermitted",
        "OptInRequired",
        "Blocked",
        "PendingVerification",
    ),
    CredentialsError: (
        "AuthFailure",
        "ExpiredToken",
        "ExpiredTokenException",
        "RequestExpired",
        "RequestInTheFuture",
        "InvalidClientTokenId",
        "InvalidToken",
        "InvalidAccessKeyId",
        "UnrecognizedClientException",
        "SignatureDoesNotMatch",
        "InvalidSignatureException",
        "RequestTimeTooSkewed",
        "IncompleteSignature",
        "MissingAuthenticationToken",
        "MissingAuthenticationTokenException",
        "TokenRefreshRequired",
    ),
    NotFoundError: (
        "InvalidInstanceID.NotFound",
        "InvalidInstanceType",
        "InvalidReservedInstancesOfferingId",
        "InvalidReservedInstancesId",
        "ResourceNotFoundException",
        "NoSuchResourceException",
    ),
    MismatchError: (
        "IdempotentParameterMismatch",
        "IdempotentInstanceTerminated",
        "IdempotentParameterMismatchException",
    ),
    RefusedError: ("PermanentRedirect", "TemporaryRedirect", "AuthorizationHeaderMalformed"),
}
CLASS_OF: Mapping[str, type[CloudError]] = {code: kind for kind, codes in _CODES.items() for code in codes}

_CLOCK = ("RequestExpired", "RequestInTheFuture", "RequestTimeTooSkewed", "SignatureDoesNotMatch")
_CLOCK_ALSO = ("InvalidSignatureException", "AuthFailure")
_REGION = ("PermanentRedirect", "TemporaryRedirect", "AuthorizationHeaderMalformed")
_OF_CREDENTIALS = (
    "NoCredentialsError",
    "PartialCredentialsError",
    "CredentialRetrievalError",
    "MetadataRetrievalError",
    "TokenRetrievalError",
    "RefreshWithMFAUnsupportedError",
    "SSOError",
    "ProfileNotFound",
    "NoAuthTokenError",
    "InvalidConfigError",
)
_OF_REQUEST = ("ParamValidationError", "ValidationError", "NoRegionError", "InvalidRegionError", "UnknownServiceError")


def understood(error: Exception, call: Call, *, mutating: bool) -> CloudError:
    """An exception of the SDK as one of ours.

    What is in no table and no client error (a reset, a time-out, an answer that is no XML) says nothing about whether
    the request was carried out: unknown where it changes something, unavailable where it does not.
    """
    response = getattr(error, "response", None)
    if isinstance(response, dict) and isinstance(response.get("Error"), dict):
        return _of_answer(response, call, mutating)
    if isinstance(response, dict) and (status := response.get("ResponseMetadata", {}).get("HTTPStatusCode")):
        return without_answer(f"answered {status} with what is no error of AWS", call, mutating=mutating)
    families = {c.__name__ for c in type(error).__mro__}
    if families & set(_OF_CREDENTIALS):
        return CredentialsError(_first_line(error), call, hint=LOGIN_HINT)
    if families & set(_OF_REQUEST):
        return RefusedError(_first_line(error), call)
    if "ResponseParserError" in families:  # its words are of XML, and the body
        return without_answer("an answer that cannot be read", call, mutating=mutating)
    return without_answer(f"{type(error).__name__}: {_first_line(error)}", call, mutating=mutating)


def without_answer(message: str, call: Call, *, mutating: bool) -> CloudError:
    """What to raise where no answer came that says what happened."""
    if mutating:
        return UnknownOutcomeError(
            f"{message}; it may have been carried out",
            call,
            hint="run the same command again: what was made is found by its key, and not made twice",
        )
    return UnavailableError(message, call)


def _of_answer(response: Mapping[str, Any], call: Call, mutating: bool) -> CloudError:
    code = str(response["Error"].get("Code", ""))
    longest = LONGEST_LIST if code in _NAMING_IDS else LONGEST_MESSAGE
    message = _first_line(response["Error"].get("Message", ""), longest) or "no further words"
    metadata = response.get("ResponseMetadata", {})
    status = metadata.get("HTTPStatusCode")
    named = Call(call.cloud, call.region, call.operation, code)
    kind = CLASS_OF.get(code)
    if code == "AuthFailure" and "not authorized" in message.lower():
        return DeniedError(message, named)  # so is an image of others refused, with credentials that are right
    if kind is ThrottledError:
        return ThrottledError(message, named, _retry_after(metadata.get("HTTPHeaders", {})))
    if kind is not None:
        return kind(message, named, hint=_hint(code, message))
    if 300 <= _number(status) < 400:
        return RefusedError(f"{message}; redirects are not followed", named, hint=REGION_HINT)
    if _number(status) < 400 or _number(status) >= 500:
        return without_answer(message, named, mutating=mutating)
    return RefusedError(message, named, hint=_hint(code, message))


def _number(status: object) -> int:
    return status if isinstance(status, int) else 500


def _hint(code: str, message: str) -> str:
    if code in _REGION or "scoped to" in message:
        return REGION_HINT
    if code in _CLOCK or code in _CLOCK_ALSO:
        return f"{CLOCK_HINT}; or the credentials are wrong or expired: {LOGIN_HINT}"
    return LOGIN_HINT if CLASS_OF.get(code) is CredentialsError else ""


def _retry_after(headers: Mapping[str, str]) -> float | None:
    value = str(headers.get("retry-after", ""))
    return float(value) if value.isdecimal() and len(value) < 7 else None


def _first_line(message: object, longest: int = LONGEST_MESSAGE) -> str:
    """A message without what AWS may add in later lines: the headers it signed, session token included."""
    return str(message).strip().partition("\n")[0][:longest]
