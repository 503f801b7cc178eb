"""Finds the reader of a price file by what stands in it, whatever the file is called."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime

from hcloud.catalog.book import PriceBook
from hcloud.catalog.intake import PriceSource
from hcloud.catalog.table import REQUIRED, read_table
from hcloud.errors import InputError, UsageError, did_you_mean
from hcloud.model.files import HEAD, check_sort
from hcloud.readers.prices import (
    aws_offer,
    aws_small_files,
    azure_retail,
    cyclenerd,
    ec2instances,
    gcp_skus,
    skypilot,
)

Read = Callable[[str, PriceSource], PriceBook]
_HEAD = 400_000
_PUBLISHED = re.compile(r'"publicationDate"\s*:\s*"(\d{4}-\d\d-\d\d)', re.ASCII)
_STAMPED = re.compile(r"^about:\s*$.*?^  timestamp: (\d{1,10})\s*$", re.ASCII | re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Format:
    """One price format: how its files are told from others (``sign`` matches near their start) and who reads them."""

    name: str
    about: str
    sign: re.Pattern[str]
    read: Read


def _sign(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL | re.MULTILINE)


# The order decides: the formats with the most specific signs come first
FORMATS = (
    Format(
        "own-csv", "hcloud's own table of prices",
        _sign(r"\A(?=[^\n]*\binstance_type\b)(?=[^\n]*\boption\b)[^\n]*\bhourly\b"), read_table,
    ),
    Format("two-columns", "CSV of instance_type,usd_per_hour", _sign(r"\A\s*instance_type,usd_per_hour\s*$"),
           aws_small_files.read_two_columns),
    Format("skypilot", "SkyPilot catalogue CSV", _sign(r"\A(?=[^\n{]*\bInstanceType\b)[^\n{]*\bSpotPrice\b"),
           skypilot.read_skypilot),
    Format("labelled-text", "lines of 'Instance type: m5.large, Linux OD cost in us-east-1: 0.096, ...'",
           _sign(r"\A\s*Instance type: "), aws_small_files.read_labelled_text),
    Format("aws-offer", "AWS Price List offer file",
           _sign(r'\A\s*\{.*(?:"offerCode"\s*:\s*"AmazonEC2"|"products"\s*:\s*\{)'), aws_offer.read_aws_offer),
    Format("azure-retail", "pages of Azure's Retail Prices API", _sign(r'\A\s*[\[{].*"Items"\s*:'),
           azure_retail.read_azure_retail),
    Format("gcp-skus", "pages of Google's Cloud Billing SKUs", _sign(r'\A\s*[\[{].*"skus"\s*:'),
           gcp_skus.read_gcp_skus),
    Format("ec2instances", "instances.json of ec2instances.info", _sign(r'\A\s*\[.*"instance_type"\s*:.*"pricing"\s*:'),
           ec2instances.read_ec2instances),
    Format("annual-cost", "annual cost of three years all upfront", _sign(r'\A\s*\{.*"annual_cost"\s*:'),
           aws_small_files.read_annual_cost),
    Format("spot-average", "EC2 on-demand and average spot", _sign(r'\A\s*\{\s*"data"\s*:.*"spot_avg"\s*:'),
           aws_small_files.read_spot_average),
    Format("cyclenerd", "pricing.yml of Cyclenerd's calculator", _sign(r"^compute:\s*$.*^\s+instance:\s*$"),
           cyclenerd.read_cyclenerd),
)  # fmt: skip


def own_day(text: str) -> date | None:
    """The day a file says of itself it was published: AWS's ``publicationDate``, Cyclenerd's ``timestamp``."""
    head = text[:_HEAD]
    try:
        if found := _PUBLISHED.search(head):
            return date.fromisoformat(found[1])
        if found := _STAMPED.search(head):
            return datetime.fromtimestamp(int(found[1]), UTC).date()
    except (ValueError, OverflowError, OSError):
        return None
    return None


def recognise(text: str, name: str) -> Format:
    """The format of a text; raises InputError where none fits."""
    head = text[:_HEAD]
    for candidate in FORMATS:
        if candidate.sign.search(head):
            return candidate
    check_sort(name, text[:HEAD].encode(), "a price file", "a table of prices")
    raise InputError(
        f"{name} is in none of the price formats hcloud reads",
        hint=f"a table of your own has the columns {', '.join(REQUIRED)}; 'hcloud pricing list -o csv' prints one."
        f" --format names another: {', '.join(f.name for f in FORMATS)}",
    )


def format_named(name: str) -> Format:
    """The format of a name; raises UsageError for an unknown one."""
    for candidate in FORMATS:
        if candidate.name == name:
            return candidate
    names = [f.name for f in FORMATS]
    raise UsageError(f"there is no price format {name!r}{did_you_mean(name, names)}", hint="one of " + ", ".join(names))
