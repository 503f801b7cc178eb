"""Google's refusals: what each of them means to hcloud."""

from __future__ import annotations

from typing import Any

import pytest
from google.api_core import exceptions
from google.auth.exceptions import DefaultCredentialsError, RefreshError

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
from hcloud.providers.gcp.errors import cloud_error, operation_error

CALL = Call("gcp", "us-central1", "instances.bulkInsert")


class Response:
    def __init__(self, **headers: str) -> None:
        self.headers = {k.replace("_", "-"): v for k, v in headers.items()}


def google(status: int, reason: str = "", words: str = "words", **headers: str) -> Exception:
    errors: list[Any] = [{"reason": reason, "message": words}] if reason else []
    made: Exception = exceptions.from_http_status(status, words, errors=errors, response=Response(**headers))
    return made


def meaning(error: Exception, *, mutating: bool = True) -> type[CloudError]:
    return type(cloud_error(error, CALL, mutating=mutating))


@pytest.mark.parametrize(
    ("reason", "kind"),
    [("rateLimitExceeded", ThrottledError), ("quotaExceeded", QuotaError), ("forbidden", DeniedError)],
)
def test_N2_one_status_has_three_meanings(reason: str, kind: type[CloudError]) -> None:
    assert meaning(google(403, reason)) is kind


@pytest.mark.parametrize(
    ("status", "reason", "kind"),
    [
        (400, "invalid", RefusedError),
        (400, "somethingNew", RefusedError),
        (401, "authError", CredentialsError),
        (401, "required", CredentialsError),
        (403, "", DeniedError),
        (403, "accessNotConfigured", DeniedError),
        (404, "notFound", NotFoundError),
        (409, "alreadyExists", RefusedError),
        (412, "conditionNotMet", RefusedError),
        (429, "", ThrottledError),
        (429, "rateLimitExceeded", ThrottledError),
        (503, "insufficientCapacity", NoCapacityError),
        (503, "ZONE_RESOURCE_POOL_EXHAUSTED", NoCapacityError),
        (500, "internalError", UnknownOutcomeError),
        (503, "backendError", UnknownOutcomeError),
        (502, "", UnknownOutcomeError),
        (418, "", UnknownOutcomeError),
    ],
)
def test_a_refusal_goes_by_its_reason_then_by_its_status(status: int, reason: str, kind: type[CloudError]) -> None:
    assert meaning(google(status, reason)) is kind


def test_the_reason_may_stand_in_the_details() -> None:
    info = {"reason": "RATE_LIMIT_EXCEEDED", "domain": "googleapis.com"}
    assert meaning(exceptions.Forbidden("words", error_info=info)) is ThrottledError


@pytest.mark.parametrize("error", [ValueError("not JSON"), ConnectionError("reset"), AttributeError("str has no get")])
def test_R5_what_is_no_answer_leaves_open_what_was_done(error: Exception) -> None:
    assert meaning(error) is UnknownOutcomeError
    assert meaning(error, mutating=False) is UnavailableError


def test_D4_when_to_come_back_is_read_to_the_second() -> None:
    found = cloud_error(google(403, "rateLimitExceeded", retry_after="30"), CALL, mutating=True)
    assert isinstance(found, ThrottledError)
    assert found.retry_after == 30


def test_a_date_to_come_back_at_is_not_used() -> None:
    found = cloud_error(google(429, "", retry_after="Sat, 21 Nov 2026 09:00:00 GMT"), CALL, mutating=True)
    assert isinstance(found, ThrottledError)
    assert found.retry_after is None


@pytest.mark.parametrize("error", [DefaultCredentialsError("none were found"), RefreshError("invalid_grant")])
def test_F1_credentials_that_cannot_be_used_are_told_with_what_to_do(error: Exception) -> None:
    found = cloud_error(error, CALL, mutating=True)
    assert isinstance(found, CredentialsError)
    assert "gcloud auth" in found.hint


def test_F6_a_token_from_another_time_points_at_the_clock() -> None:
    words = "Invalid JWT: Token must be a short-lived token and in a reasonable timeframe. Check your iat and exp."
    assert "clock of this machine" in str(cloud_error(google(401, "authError", words), CALL, mutating=True))


def test_R8_a_handle_that_was_used_for_another_request_is_a_mismatch() -> None:
    assert meaning(google(400, "invalid", "Invalid value for field 'requestId': 'x'.")) is MismatchError


def test_a_message_says_where_and_why_without_the_address() -> None:
    found = str(cloud_error(google(403, "forbidden", "no permission"), CALL, mutating=True))
    assert found == "gcp us-central1 instances.bulkInsert: forbidden: no permission"


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("ZONE_RESOURCE_POOL_EXHAUSTED", NoCapacityError),
        ("ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", NoCapacityError),
        ("IP_SPACE_EXHAUSTED_WITH_DETAILS", NoCapacityError),
        ("QUOTA_EXCEEDED", QuotaError),
        ("CONDITION_NOT_MET", RefusedError),
        ("UNSUPPORTED_OPERATION", RefusedError),
        ("PERMISSIONS_ERROR", DeniedError),
        ("RESOURCE_OPERATION_RATE_EXCEEDED", ThrottledError),
        ("INTERNAL_ERROR", UnknownOutcomeError),
        ("SOMETHING_NEW", UnknownOutcomeError),
    ],
)
def test_E7_an_error_inside_an_operation_has_its_meaning(code: str, kind: type[CloudError]) -> None:
    assert type(operation_error(((code, "words"),), CALL)) is kind


def test_the_first_error_that_is_known_decides() -> None:
    errors = (("SOMETHING_NEW", "a"), ("QUOTA_EXCEEDED", "b"))
    found = operation_error(errors, CALL)
    assert isinstance(found, QuotaError)
    assert "a; b" in str(found)
