"""How AWS behaves, for the cloud in memory."""

from __future__ import annotations

from hcloud.fake.semantics import Semantics
from hcloud.model.clouds.aws import AWS

REGION = "eu-central-1"
SEMANTICS = Semantics(
    cloud=AWS.name,
    account="111122223333",
    region=REGION,
    zones=AWS.zones_of(REGION),
    types=("m5.large", "m5.xlarge", "m6i.large"),
    by_name=False,
    replays=True,
    lingers=True,
    warns=True,
    takes_back=True,
    flexes=True,
    codes={
        "throttled": "RequestLimitExceeded",
        "no-capacity": "InsufficientInstanceCapacity",
        "quota": "VcpuLimitExceeded",
        "denied": "UnauthorizedOperation",
        "expired-credentials": "ExpiredToken",
        "clock-skew": "SignatureDoesNotMatch",
        "mismatch": "IdempotentParameterMismatch",
    },
)
