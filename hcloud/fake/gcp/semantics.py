"""How Google behaves, for the cloud in memory."""

from __future__ import annotations

from hcloud.fake.semantics import Semantics
from hcloud.model.clouds.gcp import GCP

REGION = "europe-west3"
SEMANTICS = Semantics(
    cloud=GCP.name,
    account="rehearsal-project",
    region=REGION,
    zones=GCP.zones_of(REGION),
    types=("n2-standard-2", "n2-standard-4", "e2-standard-2"),
    replays=True,
    tells_ends=True,
    tells_when=True,
    starts_tomorrow=True,
    codes={
        "throttled": "rateLimitExceeded",
        "no-capacity": "ZONE_RESOURCE_POOL_EXHAUSTED",
        "quota": "quotaExceeded",
        "denied": "forbidden",
        "expired-credentials": "authError",
        "clock-skew": "invalid_grant",
        "mismatch": "alreadyExists",
    },
    listening_account="hcloud-fake",
)
