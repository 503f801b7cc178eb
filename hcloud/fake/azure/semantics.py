"""How Azure behaves, for the cloud in memory."""

from __future__ import annotations

from hcloud.fake.bill import BY_THE_SECOND
from hcloud.fake.semantics import Semantics
from hcloud.model.clouds.azure import AZURE

REGION, SUBSCRIPTION = "germanywestcentral", "00000000-0000-4000-8000-000000000001"
SEMANTICS = Semantics(
    cloud=AZURE.name,
    account=SUBSCRIPTION,
    region=REGION,
    zones=AZURE.zones_of(REGION),
    types=("Standard_D2s_v5", "Standard_D4s_v5", "Standard_B2s"),
    tells_ends=True,
    rule=BY_THE_SECOND,
    codes={
        "throttled": "TooManyRequests",
        "no-capacity": "AllocationFailed",
        "quota": "QuotaExceeded",
        "denied": "AuthorizationFailed",
        "expired-credentials": "ExpiredAuthenticationToken",
        "clock-skew": "InvalidAuthenticationToken",
        "mismatch": "PropertyChangeNotAllowed",
    },
    listening_account=SUBSCRIPTION,
)
