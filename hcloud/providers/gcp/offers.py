"""Fetches the SKUs of Compute Engine from Google's Cloud Billing API with an API key or an access token."""

from __future__ import annotations

import os
import urllib.parse
from collections.abc import Mapping
from dataclasses import replace

from hcloud.errors import HcloudError
from hcloud.providers.http import Fetcher, Progress
from hcloud.providers.pages import fetch_pages

ENDPOINT = "https://cloudbilling.googleapis.com"
ENDPOINT_VARIABLE = "HYC_GCP_PRICE_ENDPOINT"
KEY_VARIABLE, TOKEN_VARIABLE = "HYC_GCP_API_KEY", "HYC_GCP_ACCESS_TOKEN"
# Compute Engine's service id in the Cloud Billing catalogue
_PATH = "/v1/services/6F81-5844-456A/skus"
_PAGE_SIZE = "5000"


def credentials(environment: Mapping[str, str]) -> dict[str, str]:
    """The header that carries the key or token, never the URL; raises HcloudError where neither is set."""
    if key := environment.get(KEY_VARIABLE):
        return {"X-Goog-Api-Key": key}
    if token := environment.get(TOKEN_VARIABLE):
        return {"Authorization": f"Bearer {token}"}
    raise HcloudError(
        "Google's price list needs an API key or an access token",
        hint=f"set {KEY_VARIABLE} (a key that may only use the Cloud Billing API) or {TOKEN_VARIABLE}",
    )


def fetch_offers(_: str, fetcher: Fetcher, progress: Progress) -> bytes:
    """Every page of SKUs, of all regions, as one JSON array."""
    fetcher = replace(fetcher, headers={**fetcher.headers, **credentials(os.environ)})
    base = f"{fetcher.url(_PATH)}?{urllib.parse.urlencode({'currencyCode': 'USD', 'pageSize': _PAGE_SIZE})}"

    def next_page(page: dict[str, object]) -> str:
        token = page.get("nextPageToken")
        return f"{base}&{urllib.parse.urlencode({'pageToken': token})}" if isinstance(token, str) and token else ""

    return fetch_pages(base, fetcher, next_page, progress)
