"""What the parts of the fake AWS share: the ledger, the clock, the faults, the shop, the default network, the request
at hand, how AWS says no (a code, a message and an HTTP status), and the service models that come with botocore."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, TypeVar

from hcloud.fake.aws.shop import AwsShop, sample_shop
from hcloud.fake.faults import FaultKind, FaultPlan, FaultRule, Lag
from hcloud.fake.ledger import Rented
from hcloud.fake.world import FakeWorld, Images
from hcloud.model.catalog import InstanceType

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


Wire = dict[str, Any]
"""What an operation takes or gives, by the names of the service model."""


@lru_cache
def service_model(service: str) -> Any:
    """The model of a service: a ServiceModel of botocore."""
    from botocore.loaders import Loader
    from botocore.model import ServiceModel

    return ServiceModel(Loader().load_service_model(service, "service-2"), service)


@lru_cache
def operation_at(service: str, uri: str) -> str:
    """The operation behind a path, for services that say it in the path; empty where there is none."""
    model = service_model(service)
    found = [n for n in model.operation_names if model.operation_model(n).http.get("requestUri") == uri]
    return str(found[0]) if found else ""


DEFAULT_VPC = "vpc-" + "0" * 17
DEFAULT_GROUP = "sg-" + "0" * 17


def subnet_in(zone: str) -> str:
    """The id of the default subnet of a zone, always the same."""
    return "subnet-" + hashlib.sha256(zone.encode()).hexdigest()[:17]


ACCOUNT = "123456789012"
MOST_FILTER_VALUES = 200
T = TypeVar("T")


@dataclass(slots=True)
class TokenAnswer:
    """What was answered to a client token, and for which parameters."""

    asked: str
    ids: tuple[str, ...]


class AwsWorld(FakeWorld):
    """One account. ``home`` is the region where a person launches; ``largest_page`` limits the pages of every list
    below what is asked for, None does not; ``has_hourly_costs`` says whether Cost Explorer tells of single hours."""

    name = "aws"

    def __init__(self, plan: FaultPlan | None = None, shop: AwsShop | None = None, account: str = ACCOUNT) -> None:
        super().__init__(plan)
        self.shop = shop or sample_shop()
        self.account = account
        self.home = "us-east-1"
        self.largest_page: int | None = None
        self.has_hourly_costs = False
        self.regions: set[str] = set()
        self.tokens: dict[tuple[str, str, str], TokenAnswer] = {}
        self.images = Images()

    def shape_of(self, instance_type: str) -> InstanceType | None:
        """A type of the shop."""
        return self.shop.types.get(instance_type)

    def hourly(self, machine: Rented) -> Decimal:
        """What a machine costs an hour, for the ledger's bill."""
        return self.price(self.shop.hourly(region_of(machine), machine.instance_type, spot=machine.spot))


@dataclass(frozen=True, slots=True)
class Ask:
    """A request at hand: its world and region, who asks, when, and the fault that struck it; ``behind`` is by how much
    a list that answers it is late."""

    world: AwsWorld
    region: str
    principal: str
    operation: str
    now: float
    rule: FaultRule | None = None
    wire: Wire = field(default_factory=dict)
    behind: Lag = field(default_factory=Lag)

    @property
    def machines(self) -> list[Rented]:
        """All machines of the region that there ever were, by id."""
        return [m for _, m in sorted(self.world.ledger.machines.items()) if region_of(m) == self.region]

    def struck(self, kind: FaultKind) -> FaultRule | None:
        """The fault at hand where it is of this kind."""
        return self.rule if self.rule is not None and self.rule.answer is kind else None

    def refuse_dry_run(self) -> None:
        """What a request that would have succeeded is told where it was only to be tried."""
        if self.wire.get("DryRun"):
            raise DenialError("DryRunOperation", "Request would have succeeded, but DryRun flag is set.", 412)

    def filtered(self, items: list[T], reader: Callable[[str], Callable[[T], Sequence[str]] | None]) -> list[T]:
        """Those that all filters of the request let through; ``reader`` tells by the name of a filter what it looks
        at."""
        for each in self.wire.get("Filters", []):
            read, wanted = reader(str(each.get("Name"))), [str(v) for v in each.get("Values", [])]
            if read is None:
                raise DenialError("InvalidParameterValue", f"The filter '{each.get('Name')}' is invalid")
            if len(wanted) > MOST_FILTER_VALUES:
                raise DenialError("FilterLimitExceeded", "The maximum number of filter values is 200")
            patterns = [w for w in wanted if any(c in w for c in "*?[")]
            plain = set(wanted).difference(patterns)
            read_all = ((item, read(item)) for item in items)
            items = [
                item
                for item, values in read_all
                if not plain.isdisjoint(values)
                or (patterns and any(fnmatchcase(v, pattern) for pattern in patterns for v in values))
            ]
        return items

    def page(self, items: list[T], most: int | None = None) -> tuple[list[T], str | None]:
        """The page that is asked for, and the token of the next one.

        ``most`` is the largest page that the operation knows of.
        """
        asked = self.wire.get("MaxResults", self.wire.get("maxResults"))
        sizes = [int(asked) if asked else None, self.world.largest_page, most]
        size = min((s for s in sizes if s), default=len(items) or 1)
        token = self.wire.get("NextToken", self.wire.get("nextToken"))
        if token and not str(token).startswith("page-"):
            raise DenialError("InvalidNextToken", f"The token {token!r} is invalid")
        start = int(str(token).removeprefix("page-")) if token else 0
        following = start + size
        return items[start:following], f"page-{following}" if following < len(items) else None


def by_column(columns: Mapping[str, str]) -> Callable[[str], Callable[[Wire], Sequence[str]] | None]:
    """What filters look at in answers, by their columns."""

    def reader(name: str) -> Callable[[Wire], Sequence[str]] | None:
        column = columns.get(name)
        return None if column is None else lambda row: [_as_filtered(row.get(column))]

    return reader


def _as_filtered(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def moment(seconds: float) -> datetime:
    """A time of the fake as AWS tells it, in whole seconds."""
    return datetime.fromtimestamp(int(seconds), UTC)


def region_of(machine: Rented) -> str:
    """The region of a machine: its zone without the letter."""
    return machine.zone[:-1]
