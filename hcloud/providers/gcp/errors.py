"""From Google's refusals to hcloud's: by the reason first, by the status where no reason is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from hcloud.model.json_text import parsed

EXISTS = ("alreadyExists", "RESOURCE_ALREADY_EXISTS", "duplicate")
_SKEW = ("iat and exp", "reasonable timeframe", "used too early", "clock")

_REASONS: Mapping[type[CloudError], Sequence[str]] = {
    ThrottledError: (
        "rateLimitExceeded",
        "userRateLimitExceeded",
        "RATE_LIMIT_EXCEEDED",
        "concurrentLimitExceeded",
        "operationRateExceeded",
        "RESOURCE_OPERATION_RATE_EXCEEDED",
        "resourceNotReady",
        "RESOURCE_NOT_READY",
    ),
    QuotaError: ("quotaExceeded", "QUOTA_EXCEEDED", "QUOTA_FOR_INSTANCES", "limitExceeded", "dailyLimitExceeded"),
    NoCapacityError: (
        "insufficientCapacity",
        "stockout",
        "STOCKOUT",
        "GCE_STOCKOUT",
        "RESOURCE_POOL_EXHAUSTED",
        "ZONE_RESOURCE_POOL_EXHAUSTED",
        "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS",
        "REGION_RESOURCE_POOL_EXHAUSTED",
        "REGION_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS",
        "VM_MIN_COUNT_NOT_REACHED",
        "IP_SPACE_EXHAUSTED",
        "IP_SPACE_EXHAUSTED_WITH_DETAILS",
    ),
    DeniedError: (
        "forbidden",
        "insufficientPermissions",
        "IAM_PERMISSION_DENIED",
        "PERMISSIONS_ERROR",
        "FORBIDDEN",
        "accessNotConfigured",
        "SERVICE_ACCOUNT_ACCESS_DENIED",
        "SERVICE_DISABLED",
    ),
    CredentialsError: ("authError", "expired", "ACCESS_TOKEN_EXPIRED", "CREDENTIALS_MISSING"),
    NotFoundError: ("notFound", "RESOURCE_NOT_FOUND"),
    RefusedError: (
        "invalid",
        "badRequest",
        "required",
        "parseError",
        "INVALID_FIELD_VALUE",
        "INVALID_USAGE",
        "CONDITION_NOT_MET",
        "UNSUPPORTED_OPERATION",
        *EXISTS,
    ),
}
_BY_REASON = {reason: kind for kind, reasons in _REASONS.items() for reason in reasons}
_BY_STATUS: Mapping[int, type[CloudError]] = {
    400: RefusedError,
    401: CredentialsError,
    403: DeniedError,
    404: NotFoundError,
    409: RefusedError,
    412: RefusedError,
    413: RefusedError,
    429: ThrottledError,
}


def cloud_error(error: Exception, call: Call, *, mutating: bool) -> CloudError:
    """What an exception of the SDK, or of what it stands on, means; everything that is no clear answer leaves open
    what came of a request that changes something."""
    from google.api_core.exceptions import GoogleAPICallError
    from google.auth.exceptions import GoogleAuthError

    if isinstance(error, GoogleAuthError):
        return _credentials(str(error) or type(error).__name__, call)
    if isinstance(error, GoogleAPICallError):
        return _answered(error, call, mutating=mutating)
    return _unclear(f"no answer that can be understood ({type(error).__name__})", call, mutating=mutating)


def _answered(error: Any, call: Call, *, mutating: bool) -> CloudError:
    details = [d for d in error.errors if isinstance(d, Mapping)]
    reasons = [str(d.get("reason", "")) for d in details] + [str(error.reason or "")]
    words = str(details[0].get("message") or error.message) if details else str(error.message)
    status = int(error.code or 0)
    for reason in reasons:
        kind = _BY_REASON.get(reason)
        if kind is not None and not (status == 401 and kind is RefusedError):
            return _made(kind, words, Call(call.cloud, call.region, call.operation, reason), error.response)
    named = Call(call.cloud, call.region, call.operation, next(filter(None, reasons), f"HTTP {status}"))
    if not (details or _is_googles(error.response)):
        words = f"answered {status} with what is no error of Google's"
        # A status alone is enough to stop; that something is not there, or wrong, is only believed of Google itself
        return (
            _made(_BY_STATUS[status], words, named, error.response)
            if status in (401, 403, 429)
            else _unclear(words, named, mutating=mutating)
        )
    if status in _BY_STATUS:
        return _made(_BY_STATUS[status], words, named, error.response)
    return _unclear(words, named, mutating=mutating)


def _is_googles(response: Any) -> bool:
    """Whether an answer is an error as Google's services write it; a proxy on the way has pages of its own."""
    try:
        document = parsed(response.content)
    except Exception:  # no body, a broken one, or one that is no JSON
        return False
    return isinstance(document, Mapping) and isinstance(document.get("error"), Mapping)


def _made(kind: type[CloudError], words: str, call: Call, response: Any) -> CloudError:
    if kind is ThrottledError:
        return ThrottledError(words, call, _retry_after(response))
    if kind is CredentialsError:
        return _credentials(words, call)
    if kind is RefusedError and "requestId" in words:
        return MismatchError(words, call)
    return kind(words, call)


def _unclear(words: str, call: Call, *, mutating: bool) -> CloudError:
    return UnknownOutcomeError(words, call) if mutating else UnavailableError(words, call)


def _credentials(words: str, call: Call) -> CredentialsError:
    if any(sign in words for sign in _SKEW):
        words = f"{words} (the clock of this machine may be wrong)"
    hint = "run 'gcloud auth application-default login', or set GOOGLE_APPLICATION_CREDENTIALS"
    return CredentialsError(words, call, hint=hint)


def _retry_after(response: Any) -> float | None:
    """Seconds until it is worth coming back; a date is not used, for it would need a clock that agrees."""
    text = str(getattr(response, "headers", {}).get("retry-after", "")).strip()
    return float(text) if text.isdecimal() else None


def operation_error(errors: Sequence[tuple[str, str]], call: Call) -> CloudError:
    """What the errors inside an operation mean; one that is not known leaves open what was done."""
    words = "; ".join(text or code for code, text in errors)
    for code, _ in errors:
        kind = _BY_REASON.get(code)
        if kind is not None:
            return _made(kind, words, Call(call.cloud, call.region, call.operation, code), None)
    code = errors[0][0] if errors else "no code"
    return UnknownOutcomeError(words or "it failed", Call(call.cloud, call.region, call.operation, code))
