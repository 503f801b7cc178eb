"""AWS's words and ours: orders to requests, answers to values, codes to errors."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

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
    UsageError,
)
from hcloud.model.catalog import Payment, PurchaseOption
from hcloud.model.holdings.live import CommitmentOrder, CommitmentQuote, Launch, MachineState, Owner
from hcloud.providers.aws import commitments as words
from hcloud.providers.aws import translate
from hcloud.providers.aws.errors import understood
from hcloud.providers.aws.settings import AwsSettings

CALL = Call("aws", "eu-central-1", "RunInstances")
ORDER = Launch("ab" * 16, "web-1", "m5.large", "eu-central-1a", 7, Owner("1" * 32, "shop", "0123456789ab"))
RESERVED = CommitmentOrder("cd" * 16, PurchaseOption.RESERVED, "m5.large", 1, Payment.PARTIAL, count=3)
PLAN = CommitmentOrder(
    "ef" * 16,
    PurchaseOption.INSTANCE_SAVINGS_PLAN,
    "m5.large",
    3,
    Payment.NONE,
    dollars_per_hour=Decimal("0.33"),
)


class AnsweredError(Exception):
    """As botocore's ClientError holds an answer."""

    def __init__(
        self, code: str, status: int = 400, message: str = "no", headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(message)
        metadata = {"HTTPStatusCode": status, "HTTPHeaders": headers or {}}
        self.response = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": metadata}


def told(code: str, status: int = 400, message: str = "no", *, mutating: bool = True) -> CloudError:
    return understood(AnsweredError(code, status, message), CALL, mutating=mutating)


# requests


def test_a_launch_is_one_request_with_its_key_as_token_and_all_its_tags() -> None:
    request = translate.launch_request(ORDER, AwsSettings("eu-central-1"))
    assert (request["MinCount"], request["MaxCount"], request["ClientToken"]) == (1, 7, ORDER.key)
    assert request["Placement"] == {"AvailabilityZone": "eu-central-1a"}
    for each in request["TagSpecifications"]:
        assert {t["Key"]: t["Value"] for t in each["Tags"]} == ORDER.tags()
    assert "InstanceMarketOptions" not in request
    assert "UserData" not in request


def test_F6_the_request_of_an_order_is_the_same_whenever_it_is_made() -> None:
    settings = AwsSettings("eu-central-1", subnets={"eu-central-1a": "subnet-1"}, security_groups=("sg-1",))
    assert translate.launch_request(ORDER, settings) == translate.launch_request(ORDER, settings)
    assert translate.launch_request(ORDER, settings)["SubnetId"] == "subnet-1"


@pytest.mark.parametrize(
    ("name", "arch"),
    [
        ("m5.large", "x86_64"),
        ("g4dn.xlarge", "x86_64"),
        ("m6g.large", "arm64"),
        ("c7gn.xlarge", "arm64"),
        ("t4g.nano", "arm64"),
        ("a1.large", "arm64"),
        ("im4gn.large", "arm64"),
        ("r7i.large", "x86_64"),
    ],
)
def test_the_image_fits_the_architecture_of_the_type(name: str, arch: str) -> None:
    assert translate.arch_of(name) == arch


def test_a_look_asks_for_two_hundred_at_a_time() -> None:
    requests = list(translate.look_requests([f"i-{n:017x}" for n in range(450)] * 2))
    assert [len(r["Filters"][0]["Values"]) for r in requests] == [200, 200, 50]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("m5.large", "standard"),
        ("i4i.large", "standard"),
        ("g5.xlarge", "g"),
        ("p4d.24xlarge", "p"),
        ("inf1.xlarge", ""),
        ("trn1.2xlarge", ""),
        ("x1.16xlarge", "x"),
        ("mac1.metal", ""),
        ("", ""),
    ],
)
def test_a_type_counts_against_the_quota_of_its_class(name: str, kind: str) -> None:
    assert translate.quota_class(name) == kind


# answers


def test_N7_an_answer_without_most_of_its_fields_is_a_machine_in_an_unknown_state() -> None:
    machine = translate.machine_of({"InstanceId": "i-1", "State": {"Name": "ascending"}, "New": 1, "Tags": None})
    assert (machine.id, machine.state, machine.launched, machine.tags) == ("i-1", MachineState.UNKNOWN, None, {})
    assert machine.state.is_live


def test_a_machine_that_is_being_stopped_is_not_on_its_way_out() -> None:
    assert translate.machine_of({"State": {"Name": "stopping"}}).state.is_live
    assert not translate.machine_of({"State": {"Name": "shutting-down"}}).state.is_live


def test_a_machine_on_two_pages_is_told_once() -> None:
    pages = [{"Instances": [{"InstanceId": "i-2"}, {"InstanceId": "i-1"}]}, {"Instances": [{"InstanceId": "i-1"}]}, {}]
    assert [m.id for m in translate.machines_of(pages)] == ["i-1", "i-2"]


def test_the_ids_that_a_message_names_are_found() -> None:
    message = "The instance IDs 'i-0123456789abcdef0, i-01234567' do not exist"
    assert translate.named_ids(message) == {"i-0123456789abcdef0", "i-01234567"}


def test_figures_are_exact() -> None:
    assert translate.exact(0.1) == Decimal("0.1")
    assert translate.exact("1.15800000") == Decimal("1.158")
    assert translate.exact(None) == translate.exact("much") == translate.exact(float("nan")) == 0


# errors


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("InsufficientInstanceCapacity", NoCapacityError),
        ("Unsupported", NoCapacityError),
        ("InsufficientVolumeCapacity", NoCapacityError),
        ("ReservationCapacityExceeded", NoCapacityError),
        ("MaxFleetCountExceeded", QuotaError),
        ("VcpuLimitExceeded", QuotaError),
        ("MaxSpotInstanceCountExceeded", QuotaError),
        ("RequestLimitExceeded", ThrottledError),
        ("ThrottlingException", ThrottledError),
        ("UnauthorizedOperation", DeniedError),
        ("OptInRequired", DeniedError),
        ("AuthFailure", CredentialsError),
        ("ExpiredToken", CredentialsError),
        ("RequestExpired", CredentialsError),
        ("InvalidInstanceID.NotFound", NotFoundError),
        ("IdempotentParameterMismatch", MismatchError),
        ("IdempotentInstanceTerminated", MismatchError),
        ("InvalidParameterValue", RefusedError),
        ("InvalidAMIID.NotFound", RefusedError),
        ("SomethingNobodyEverSaw", RefusedError),
    ],
)
def test_a_code_is_one_kind_of_error_whatever_its_status(code: str, kind: type[CloudError]) -> None:
    error = told(code)
    assert type(error) is kind
    assert error.call.code == code
    if kind is not RefusedError:
        assert type(told(code, 500)) is kind


def test_an_image_of_others_is_refused_with_credentials_that_are_right() -> None:
    error = told("AuthFailure", message="Not authorized for images: [ami-0123]")
    assert type(error) is DeniedError
    assert not error.hint


@pytest.mark.parametrize(("code", "status"), [("InternalError", 500), ("Unavailable", 503), ("502", 502), ("Odd", 200)])
def test_a_failure_of_the_server_leaves_the_outcome_open(code: str, status: int) -> None:
    assert type(told(code, status)) is UnknownOutcomeError
    assert type(told(code, status, mutating=False)) is UnavailableError


def test_a_failure_without_an_answer_leaves_the_outcome_open() -> None:
    assert type(understood(ConnectionResetError("reset"), CALL, mutating=True)) is UnknownOutcomeError
    assert type(understood(ValueError("no XML"), CALL, mutating=False)) is UnavailableError


def test_F6_a_refused_signature_names_the_clock() -> None:
    for code in ("RequestExpired", "SignatureDoesNotMatch", "RequestTimeTooSkewed", "AuthFailure"):
        assert "clock" in told(code, 403).hint


def test_a_region_that_does_not_fit_is_named() -> None:
    error = told("InvalidSignatureException", 403, "Credential should be scoped to a valid region, not 'x'.")
    assert "--region" in error.hint
    assert "redirects" in str(told("307", 307))


def test_V7_what_was_signed_is_not_in_the_message() -> None:
    message = "The request signature does not match.\n\nThe Canonical String:\nx-amz-security-token:CANARY"
    assert "CANARY" not in str(told("SignatureDoesNotMatch", 403, message))


def test_D4_the_seconds_to_wait_are_taken_over() -> None:
    error = understood(AnsweredError("SlowDown", 503, headers={"retry-after": "30"}), CALL, mutating=False)
    assert isinstance(error, ThrottledError)
    assert error.retry_after == 30
    other = understood(AnsweredError("SlowDown", 503, headers={"retry-after": "soon"}), CALL, mutating=False)
    assert isinstance(other, ThrottledError)
    assert other.retry_after is None


# settings


@pytest.mark.parametrize("region", ["", "Frankfurt", "eu-central", "eu-central-1a", "eu-central-1/../x"])
def test_what_is_no_region_is_refused(region: str) -> None:
    with pytest.raises(UsageError):
        AwsSettings(region)


@pytest.mark.parametrize("endpoint", ["http://example.com", "ftp://x", "https://user@host", "example.com"])
def test_L8_an_endpoint_that_would_carry_credentials_in_the_open_is_refused(endpoint: str) -> None:
    with pytest.raises(UsageError):
        AwsSettings("eu-central-1", endpoint)


def test_V7_settings_do_not_show_their_key() -> None:
    assert "CANARY" not in repr(AwsSettings("eu-central-1", access_key=("id", "CANARY")))


# commitments


def offering(**changes: object) -> dict[str, object]:
    return {
        "ReservedInstancesOfferingId": "o-1",
        "InstanceType": "m5.large",
        "OfferingClass": "standard",
        "OfferingType": "Partial Upfront",
        "ProductDescription": "Linux/UNIX",
        "Duration": words.YEAR_SECONDS,
        "FixedPrice": 250.5,
        "RecurringCharges": [{"Amount": 0.029, "Frequency": "Hourly"}],
        "CurrencyCode": "USD",
        **changes,
    }


def test_a_quote_is_for_all_of_the_order() -> None:
    quote = words.reserved_quote(RESERVED, [offering()])
    assert quote is not None
    assert (quote.upfront, quote.hourly) == (Decimal("751.5"), Decimal("0.087"))


@pytest.mark.parametrize(
    "changes",
    [
        {"InstanceType": "m5.xlarge"},
        {"OfferingClass": "convertible"},
        {"OfferingType": "No Upfront"},
        {"CurrencyCode": "CNY"},
        {"Marketplace": True},
        {"Duration": 3 * words.YEAR_SECONDS},
        {"ProductDescription": "Windows"},
        {"AvailabilityZone": "eu-central-1a"},
        {"ReservedInstancesOfferingId": None},
    ],
)
def test_I4_an_offering_of_other_terms_is_not_taken(changes: dict[str, object]) -> None:
    assert words.reserved_quote(RESERVED, [offering(**changes)]) is None


def test_of_two_offerings_the_cheaper_is_quoted() -> None:
    found = words.reserved_quote(
        RESERVED, [offering(FixedPrice=300), offering(ReservedInstancesOfferingId="o-2", FixedPrice=200)]
    )
    assert found is not None
    assert found.offering == "o-2"


def test_I4_a_purchase_states_the_most_it_may_cost() -> None:
    quote = CommitmentQuote(RESERVED, "o-1", Decimal("751.5"), Decimal("0.087"), "USD")
    assert words.purchase_request(quote) == {
        "InstanceCount": 3,
        "ReservedInstancesOfferingId": "o-1",
        "LimitPrice": {"Amount": Decimal("751.5"), "CurrencyCode": "USD"},
    }


def test_a_queued_purchase_says_when() -> None:
    starts = datetime(2027, 1, 1, tzinfo=UTC)
    order = CommitmentOrder("k", PurchaseOption.RESERVED, "m5.large", 1, Payment.NONE, count=1, starts=starts)
    quote = CommitmentQuote(order, "o-1", Decimal(0), Decimal("0.06"), "USD")
    assert words.purchase_request(quote)["PurchaseTime"] == starts


def test_I2_a_savings_plan_is_bought_by_its_key() -> None:
    quote = words.plan_quote(
        PLAN,
        [
            {
                "offeringId": "p-1",
                "planType": "EC2Instance",
                "paymentOption": "No Upfront",
                "durationSeconds": 3 * words.YEAR_SECONDS,
                "currency": "USD",
                "properties": [
                    {"name": "region", "value": "eu-central-1"},
                    {"name": "instanceFamily", "value": "m5"},
                ],
            }
        ],
        "eu-central-1",
    )
    assert quote is not None
    request = words.create_request(quote)
    assert (request["clientToken"], request["commitment"]) == (PLAN.key, "0.33")
    assert "upfrontPaymentAmount" not in request


@pytest.mark.parametrize(
    ("payment", "upfront", "hourly"),
    [(Payment.NONE, "0", "10"), (Payment.ALL, "87600", "0"), (Payment.PARTIAL, "43800.00", "5")],
)
def test_I9_a_savings_plan_is_split_exactly(payment: Payment, upfront: str, hourly: str) -> None:
    assert words.split(Decimal(10), payment, 1) == (Decimal(upfront), Decimal(hourly))


@pytest.mark.parametrize("dollars", ["NaN", "-1", "0", "Infinity", "1e9"])
def test_I8_dollars_that_are_no_commitment_are_refused(dollars: str) -> None:
    order = CommitmentOrder(
        "k", PurchaseOption.COMPUTE_SAVINGS_PLAN, "m5.large", 1, Payment.NONE, dollars_per_hour=Decimal(dollars)
    )
    assert words.wrong_with(order)


@pytest.mark.parametrize("count", [0, -1, 10**9])
def test_I8_counts_that_are_no_order_are_refused(count: int) -> None:
    order = CommitmentOrder("k", PurchaseOption.RESERVED, "m5.large", 1, Payment.NONE, count=count)
    assert words.wrong_with(order)


def test_N7_a_commitment_in_an_unknown_state_is_neither_held_nor_over() -> None:
    held = words.reserved_held({"ReservedInstancesId": "r-1", "State": "pondering", "InstanceCount": None})
    assert (held.id, held.state, held.count) == ("r-1", "unknown", 0)


@pytest.mark.parametrize(
    ("system", "tenancy", "special"),
    [
        ("Linux/UNIX (Amazon VPC)", "default", ""),
        ("Windows (Amazon VPC)", "default", "/windows"),
        ("Red Hat Enterprise Linux", "dedicated", "/rhel/dedicated"),
        ("Windows with SQL Server Web", "default", "/windows-sql-web"),
        ("Red Hat Enterprise Linux with HA and SQL Server Standard", "default", "/rhel-ha-sql-standard"),
    ],
)
def test_what_is_held_says_of_which_system_it_is(system: str, tenancy: str, special: str) -> None:
    told = {"ReservedInstancesId": "r-1", "ProductDescription": system, "InstanceTenancy": tenancy}
    assert words.reserved_held(told).special == special
    assert words.reserved_held({**told, "Scope": "Availability Zone"}).own_size
    assert not words.reserved_held({**told, "Scope": "Region"}).own_size


def test_a_plan_of_another_kind_is_not_listed() -> None:
    assert words.plan_held({"savingsPlanId": "p", "savingsPlanType": "SageMaker"}) is None
