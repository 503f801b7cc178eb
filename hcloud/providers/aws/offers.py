"""Fetches the public EC2 offer file of one region from the AWS Price List; no account is needed."""

from __future__ import annotations

import re
from dataclasses import replace

from hcloud.errors import UsageError
from hcloud.providers.http import Fetcher, Progress

ENDPOINT = "https://pricing.us-east-1.amazonaws.com"
ENDPOINT_VARIABLE = "HYC_AWS_PRICE_ENDPOINT"
_PATH = "/offers/v1.0/aws/AmazonEC2/current/{region}/index.json"


def fetch_offers(region: str, fetcher: Fetcher, progress: Progress) -> bytes:
    """The offer file of a region as it was sent, gzipped where the server does so: it is hundreds of megabytes."""
    if re.fullmatch(r"[a-z0-9-]{1,60}", region) is None:
        raise UsageError(f"{region!r} is no AWS region")
    packed = replace(fetcher, headers={**fetcher.headers, "Accept-Encoding": "gzip"})
    return packed.get(packed.url(_PATH.format(region=region)), progress)
