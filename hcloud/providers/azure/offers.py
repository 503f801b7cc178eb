"""Fetches the prices of one region's virtual machines from Azure's public Retail Prices API; no account is needed."""

from __future__ import annotations

import re
import urllib.parse

from hcloud.errors import UsageError
from hcloud.providers.http import Fetcher, Progress
from hcloud.providers.pages import fetch_pages

ENDPOINT = "https://prices.azure.com"
ENDPOINT_VARIABLE = "HYC_AZURE_PRICE_ENDPOINT"
_PATH = "/api/retail/prices"
# Savings plans are in this version of the API and not in the one without a version
_VERSION = "2023-01-01-preview"


def fetch_offers(region: str, fetcher: Fetcher, progress: Progress) -> bytes:
    """Every page of a region's virtual machine prices in dollars, as one JSON array."""
    if re.fullmatch(r"[a-z0-9]{1,60}", region) is None:
        raise UsageError(f"{region!r} is no Azure region", hint="write it as Azure does: eastus, westeurope, ...")
    wanted = f"serviceName eq 'Virtual Machines' and armRegionName eq '{region}'"
    query = urllib.parse.urlencode({"api-version": _VERSION, "currencyCode": "USD", "$filter": wanted}, safe="$")
    return fetch_pages(f"{fetcher.url(_PATH)}?{query}", fetcher, _next_page, progress)


def _next_page(page: dict[str, object]) -> str:
    link = page.get("NextPageLink")
    return link if isinstance(link, str) else ""
