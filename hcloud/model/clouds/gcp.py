"""The facts of Google Cloud."""

from __future__ import annotations

import re
from decimal import Decimal

from hcloud.model.catalog import Provider, PurchaseOption
from hcloud.model.clouds.facts import SHARED_CORE, CloudFacts, ListedNames, Seller, TypeNames

_CATEGORIES = {
    "highcpu": "compute", "highmem": "memory", "megamem": "memory", "ultramem": "memory", "hypermem": "memory",
    "highgpu": "accelerated", "megagpu": "accelerated", "ultragpu": "accelerated",
}  # fmt: skip
_COMPUTE_SERIES = ("c2", "c2d", "h3", "h4d")
_SHARED_CORE = re.compile(r"e2-(?:micro|small|medium)|f1-micro|g1-small", re.ASCII)


def family(name: str) -> str:
    """The series: ``n2`` of ``n2-standard-4``."""
    return name.partition("-")[0]


def units(_: str, vcpus: Decimal) -> Decimal:
    """The vCPUs."""
    return vcpus


def category(name: str) -> str:
    """By the word after the series, else by the series."""
    if _SHARED_CORE.fullmatch(name):
        return SHARED_CORE
    series, _, rest = name.partition("-")
    return _CATEGORIES.get(rest.partition("-")[0], "compute" if series in _COMPUTE_SERIES else "general")


GCP = CloudFacts(
    name=Provider.GCP,
    maker="Google",
    classes="Google",
    extra=("google-cloud-compute", "google-auth", "requests"),
    endpoint="https://compute.googleapis.com",
    home_region="us-central1",
    zones=("{region}-a", "{region}-b", "{region}-c"),
    zone=r"{region}-[a-z]",
    small_type="n2-standard-2",
    series=("n2-standard*",),
    sold=(PurchaseOption.COMMITTED_USE, PurchaseOption.FLEXIBLE_COMMITTED_USE),
    console=(PurchaseOption.FLEXIBLE_COMMITTED_USE,),
    seller=Seller(
        "Google Cloud",
        "Compute Engine",
        "Google Cloud project",
        re.compile(r"(?i)google|gcp"),
        re.compile(r"(?i)compute engine"),
        (
            ("spend", PurchaseOption.FLEXIBLE_COMMITTED_USE),
            ("flex", PurchaseOption.FLEXIBLE_COMMITTED_USE),
            ("", PurchaseOption.COMMITTED_USE),
        ),
    ),
    names=TypeNames(re.compile(r"[a-z]\d+[a-z]*(-[a-z0-9]+)+", re.ASCII), family, units, category),
    listed=ListedNames(
        "prices.csv",
        "series",
        (("shapes.csv", "{series}-{shape}-{{n}}", "vcpus"), ("sizes.csv", "{machine_type}", "")),
    ),
    price_list="gcp-skus",
    account="project",
    account_variables=("GOOGLE_CLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT"),
    beside="prices",
    bucket=("gs", "google-auth"),
)
