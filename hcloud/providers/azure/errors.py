"""Azure's error codes and what each is for hcloud. The status alone does not tell: a full zone comes with HTTP 200."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

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
from hcloud.providers.azure.documents import Document, branch, items, text

LONGEST_MESSAGE = 500  # ours

BY_CODE: Mapping[str, type[CloudError]] = {
    "AllocationFailed": NoCapacityError,
    "ZonalAllocationFailed": NoCapacityError,
    "OverconstrainedAllocationRequest": NoCapacityError,
    "OverconstrainedZonalAllocationRequest": NoCapacityError,
    "SkuNotAvailable": NoCapacityError,
    "SkuNotAvailableInZone": NoCapacityError,
    "CapacityNotAvailable": NoCapacityError,
    "SpotPriceGreaterThanProvidedMaxPrice": NoCapacityError,
    "SubnetIsFull": NoCapacityError,
    "QuotaExceeded": QuotaError,
    "ResourceQuotaExceeded": QuotaError,
    "PublicIPCountLimitReached": QuotaError,
    "TooManyRequests": ThrottledError,
    "SubscriptionRequestsThrottled": ThrottledError,
    "OperationThrottled": ThrottledError,
    # Another operation holds the resource: the same request is right a little later
    "RetryableError": ThrottledError,
    "OperationPreempted": ThrottledError,
    "AnotherOperationInProgress": ThrottledError,
    "AuthorizationFailed": DeniedError,
    "LinkedAuthorizationFailed": DeniedError,
    "RequestDisallowedByPolicy": DeniedError,
    "ScopeLocked": DeniedError,
    "ReadOnlyDisabledSubscription": DeniedError,
    "ExpiredAuthenticationToken": CredentialsError,
    "InvalidAuthenticationToken": CredentialsError,
    "InvalidAuthenticationTokenTenant": CredentialsError,
    "InvalidAuthenticationTokenAudience": CredentialsError,
    "AuthenticationFailed": CredentialsError,
    "SubscriptionNotFound": CredentialsError,
    "InvalidSubscriptionId": CredentialsError,
    "ResourceNotFound": NotFoundError,
    "ResourceGroupNotFound": NotFoundError,
    "ParentResourceNotFound": NotFoundError,
    "NotFound": NotFoundError,
    "PreconditionFailed": MismatchError,
}
FAULTS = (
    "InternalExecutionError",
    "InternalOperationError",
    "InternalServerError",
    "NetworkingInternalOperationError",
)
"""Codes of operations that failed for a reason of Azure's own."""
BY_STATUS: Mapping[int, type[CloudError]] = {
    401: CredentialsError,
    403: DeniedError,
    404: NotFoundError,
    412: MismatchError,
    429: ThrottledError,
}
_HINTS: Mapping[type[CloudError], str] = {
    CredentialsError: "these credentials do not work: sign in again (az login), or look at AZURE_* in the environment "
    "and at the machine's clock",
    DeniedError: "'hcloud iam print' lists what a plan needs",
    QuotaError: "ask for a higher limit in the portal under Quotas, or plan less",
}


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: ``understood`` is whether its body was JSON as Azure writes it. Header names are lower case."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    document: Document = field(default_factory=dict)
    understood: bool = True

    @property
    def retry_after(self) -> float | None:
        """The seconds to wait that it names; None where it names none."""
        try:
            seconds = float(self.headers.get("retry-after", ""))
        except ValueError:
            return None
        return seconds if 0 <= seconds < float("inf") else None


def reply_from(status: int, headers: Mapping[str, str], body: bytes | str) -> Reply:
    """An answer as it came over the wire; no body at all is understood, since Azure accepts with one as without."""
    named = {str(k).lower(): str(v) for k, v in headers.items()}
    if not body.strip():
        return Reply(status, named)
    try:
        document = parsed(body)
    except ValueError:
        return Reply(status, named, understood=False)
    return Reply(status, named, document if isinstance(document, dict) else {}, isinstance(document, dict))


def refusal(call: Call, reply: Reply, *, mutating: bool) -> CloudError:
    """What an answer that is no success means."""
    if 400 <= reply.status < 500 and reply.status != 408:
        error = branch(reply.document, "error") or reply.document
        # A status alone is enough to stop; that something is not there is only believed of Azure itself
        if text(error, "code") or reply.status in (401, 403, 429):
            return failure(call, error, reply)
    said = f"answered {reply.status}" + ("" if reply.understood else " with what is no JSON")
    return lost(
        call, said + (", another address; not followed" if 300 <= reply.status < 400 else ""), mutating=mutating
    )


def failure(call: Call, error: Document, reply: Reply | None = None) -> CloudError:
    """What an error of Azure's means, from its code first and the status after it; ``error`` may be one that a
    long-running operation ended with."""
    status = reply.status if reply else 200
    code, message = _most_telling(error)
    kind = _kind(code, message, status)
    message = (message or f"answered {status}")[:LONGEST_MESSAGE]
    coded = replace(call, code=code or str(status))
    if kind is ThrottledError:
        return ThrottledError(message, coded, reply.retry_after if reply else None)
    return kind(message, coded, hint=_HINTS.get(kind, ""))


def lost(call: Call, said: str, *, mutating: bool) -> CloudError:
    """No answer that says what happened."""
    message = said[:LONGEST_MESSAGE]
    return UnknownOutcomeError(message, call) if mutating else UnavailableError(message, call)


def _most_telling(error: Document) -> tuple[str, str]:
    """Code and message: Azure wraps causes, and the outer code is often only that something failed."""
    code, message = text(error, "code"), text(error, "message")
    if code in BY_CODE:
        return code, message
    for detail in items(error, "details"):
        if text(detail, "code") in BY_CODE:
            return text(detail, "code"), text(detail, "message") or message
    return code, message


def _kind(code: str, message: str, status: int) -> type[CloudError]:
    if code in BY_CODE:
        return BY_CODE[code]
    # Cores that run out are told as an operation that is not allowed, in words
    if code == "OperationNotAllowed" and "quota" in message.lower():
        return QuotaError
    return BY_STATUS.get(status, RefusedError)
