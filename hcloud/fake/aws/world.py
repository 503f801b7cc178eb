"""What the parts of the fake AWS share: the ledger, the clock, the faults, the shop, the default network, the request
at hand and the service models that come with botocore."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any, TypeVar

from hcloud.fake.aws.denial import DenialError
from hcloud.fake.aws.shop import AwsShop, sample_shop
from hcloud.fake.faults import FaultKind, FaultPlan, FaultRule, Lag
from hcloud.fake.ledger import Rented
from hcloud.fake.world import FakeWorld, Images
from hcloud.model.catalog import InstanceType

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

    def struck(self, kind: FaultKind) -> FaultRule | None:
        """The fault at hand where it is of this kind."""
        return self.rule if self.rule is not None and self.rule.answer is kind else None

    def refuse_dry_run(self) -> None:
        """What a request that would have succeeded is told where it was only to be tried."""
        if self.wire.get("DryRun"):
            raise DenialError("DryRunOperation", "Request would have succeeded, but DryRun flag is set.", 412)

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


def moment(seconds: float) -> datetime:
    """A time of the fake as AWS tells it, in whole seconds."""
    return datetime.fromtimestamp(int(seconds), UTC)


def region_of(machine: Rented) -> str:
    """The region of a machine: its zone without the letter."""
    return machine.zone[:-1]
