"""What a cloud repeats of a signed request is taken out of what is said of it, and nothing else is."""

from __future__ import annotations

import pytest

from hcloud.errors import REDACTED, Call, CloudError, without_secrets

SECRET = "s3cr3t"


@pytest.mark.parametrize(
    "said",
    [
        f"authorization: AWS4-HMAC-SHA256 Credential={SECRET}/20261121, SignedHeaders=a;b, Signature={SECRET}",
        f"Authorization: Bearer {SECRET}.{SECRET}",
        f"X-Amz-Security-Token: {SECRET}; host: here",
        f"https://host/path?sig={SECRET}%2F&se=1&X-Amz-Signature={SECRET}",
        f'{{"access_token": "{SECRET}", "secretAccessKey":"{SECRET}"}}',
        f"AWS_SECRET_ACCESS_KEY={SECRET} token={SECRET} password: {SECRET}",
        f"bearer {SECRET}",
        f"the key AKIA{SECRET.upper()}ABCDEF12 is not known",
    ],
)
def test_V7_a_secret_that_is_repeated_is_not_told(said: str) -> None:
    assert SECRET not in without_secrets(said).lower()
    error = CloudError(said, Call("aws", "us-east-1", "RunInstances"))
    assert SECRET not in str(error).lower()
    assert REDACTED in str(error)


@pytest.mark.parametrize(
    "said",
    [
        "ExpiredToken: The security token included in the request is expired",
        "InvalidClientTokenId: the token is bad",
        "InvalidSignatureException: Signature expired",
        "ZONE_RESOURCE_POOL_EXHAUSTED: the zone 'projects/p/zones/us-central1-a' has not enough",
        "the limit 5 of vCPUs (L-1216C47A) is reached",
    ],
)
def test_what_a_cloud_says_otherwise_is_told_as_it_is(said: str) -> None:
    assert without_secrets(said) == said
