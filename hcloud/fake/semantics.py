"""What sets a cloud apart for those who rehearse against it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from hcloud.fake.bill import BY_THE_MINUTE_AT_LEAST, BY_THE_SECOND
from hcloud.model.catalog import BillingRule, PurchaseOption
from hcloud.model.clouds.known import CLOUDS

LOCAL, SUBSCRIPTION = "local", "00000000-0000-4000-8000-000000000001"


@dataclass(frozen=True, slots=True)
class Semantics:
    """``by_name`` means that a machine's name is derived from its order and is unique (what is there is kept, what is
    missing is made), ``lingers`` that ended machines are told of for a while, ``tells_ends`` that their end is told
    otherwise, and ``tells_when`` with its time; ``warns`` that it tells others than the machine that it takes spot
    capacity back. ``starts_tomorrow`` is of commitments that begin at the next midnight
    of Google's, ``takes_back`` of those that can be returned young or while queued, ``flexes`` of those that cover all
    sizes of a family. ``listening_account`` is that of the fake that listens."""

    cloud: str
    account: str
    region: str
    zones: tuple[str, ...]
    types: tuple[str, ...]
    by_name: bool = True
    replays: bool = False
    lingers: bool = False
    tells_ends: bool = False
    tells_when: bool = False
    warns: bool = False
    starts_tomorrow: bool = False
    takes_back: bool = False
    flexes: bool = False
    rule: BillingRule = BY_THE_MINUTE_AT_LEAST
    codes: Mapping[str, str] = field(default_factory=dict)
    listening_account: str = ""

    @property
    def sold(self) -> tuple[PurchaseOption, ...]:
        """The commitments that it sells."""
        return CLOUDS[self.cloud].sold if self.cloud in CLOUDS else ()

    @property
    def queues(self) -> bool:
        """Whether it takes purchases for a later day."""
        return self.cloud in CLOUDS and CLOUDS[self.cloud].queues

    def in_region(self, region: str) -> Semantics:
        """The same cloud elsewhere."""
        zones = CLOUDS[self.cloud].zones_of(region) if self.cloud in CLOUDS else self.zones
        return replace(self, region=region, zones=zones)


_FAULTS = ("throttled", "no-capacity", "quota", "denied", "expired-credentials", "clock-skew", "mismatch")


def _codes(*codes: str) -> Mapping[str, str]:
    return dict(zip(_FAULTS, codes, strict=True))


_ALL = (
    Semantics(
        "aws",
        account="111122223333",
        region="eu-central-1",
        zones=CLOUDS["aws"].zones_of("eu-central-1"),
        types=("m5.large", "m5.xlarge", "m6i.large"),
        by_name=False,
        replays=True,
        lingers=True,
        warns=True,
        takes_back=True,
        flexes=True,
        codes=_codes(
            "RequestLimitExceeded", "InsufficientInstanceCapacity", "VcpuLimitExceeded", "UnauthorizedOperation",
            "ExpiredToken", "SignatureDoesNotMatch", "IdempotentParameterMismatch",
        ),
    ),
    Semantics(
        "gcp",
        account="rehearsal-project",
        region="europe-west3",
        zones=CLOUDS["gcp"].zones_of("europe-west3"),
        types=("n2-standard-2", "n2-standard-4", "e2-standard-2"),
        replays=True,
        tells_ends=True,
        tells_when=True,
        starts_tomorrow=True,
        codes=_codes(
            "rateLimitExceeded", "ZONE_RESOURCE_POOL_EXHAUSTED", "quotaExceeded", "forbidden", "authError",
            "invalid_grant", "alreadyExists",
        ),
        listening_account="hcloud-fake",
    ),
    Semantics(
        "azure",
        account=SUBSCRIPTION,
        region="germanywestcentral",
        zones=CLOUDS["azure"].zones_of("germanywestcentral"),
        types=("Standard_D2s_v5", "Standard_D4s_v5", "Standard_B2s"),
        tells_ends=True,
        rule=BY_THE_SECOND,
        codes=_codes(
            "TooManyRequests", "AllocationFailed", "QuotaExceeded", "AuthorizationFailed",
            "ExpiredAuthenticationToken", "InvalidAuthenticationToken", "PropertyChangeNotAllowed",
        ),
        listening_account=SUBSCRIPTION,
    ),
    Semantics(LOCAL, LOCAL, LOCAL, (LOCAL,), ("small", "medium", "large")),
)  # fmt: skip


def semantics_of(cloud: str) -> Semantics:
    """Those of a cloud, or of this machine."""
    return next(one for one in _ALL if one.cloud == cloud)
