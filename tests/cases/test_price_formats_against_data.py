"""Every file of real prices is read: how many rows are good, how many are not, and some prices known by heart.

Of the three largest files only some machines are read, and those with odd rows: the others have rows of the same kinds.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from pathlib import Path

import pytest

from hcloud.catalog.intake import IntakeResult
from hcloud.model.catalog import OfferKey, Payment, Provider, PurchaseOption
from hcloud.usecases.prices.intake import Hints, take_file

COUNTS = {
    "aws_on-demand_us-east-1_2026-07-20.csv": ("two-columns", 1367, 0),
    "aws_3yr_allupfront_us-east-1_2026-06-09.json": ("annual-cost", 1280, 0),
    "aws_od_spot_ri1y_us-east-1_2023-08-30.txt": ("labelled-text", 3630, 253),
    "aws_on-demand_spot_2024-04-04.json": ("spot-average", 962, 68),
    "ec2instances-info_2019-04-05.json.gz": ("ec2instances", 11097, 179),
    "gcp_pricing_2026-07-30.yml.gz": ("cyclenerd", 2771, 98),
}
Taken = Callable[[str], IntakeResult]
SHARE = 27
"""Of so many machines of a large file one is read."""


def _thinned_ec2(text: str) -> str:
    machines = json.loads(text)
    return json.dumps(machines[::SHARE] + [m for m in machines if m["instance_type"] in ("t3.nano", "c5.large")])


def _thinned_google(text: str) -> str:
    head, instance, rest = text.partition("\n  instance:\n")
    machines = re.split(r"(?m)^(?=    \S)", re.split(r"(?m)^  \S", rest)[0])
    odd = ("    f1-micro:", "    c2-standard-4:", "    m4n-")
    return head + instance + "".join(m for i, m in enumerate(machines) if i % SHARE == 0 or m.startswith(odd))


def _thinned_spot(text: str) -> str:
    rows = json.loads(text)["data"]
    free = [row for row in rows if row["ondemand"] and not float(row["ondemand"])]
    return json.dumps({"data": rows[::SHARE] + free})


THINNED: dict[str, Callable[[str], str]] = {
    "aws_on-demand_spot_2024-04-04.json": _thinned_spot,
    "ec2instances-info_2019-04-05.json.gz": _thinned_ec2,
    "gcp_pricing_2026-07-30.yml.gz": _thinned_google,
}


@pytest.fixture(scope="module")
def taken(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Taken:
    """A file read once for all tests."""

    def read(name: str) -> IntakeResult:
        path = shared_data / "prices" / name
        if thinned := THINNED.get(name):
            data = path.read_bytes()
            packed = name.endswith(".gz")
            text = thinned((gzip.decompress(data) if packed else data).decode()).encode()
            path = tmp_path_factory.mktemp("thinned") / name
            path.write_bytes(gzip.compress(text, 1) if packed else text)
        return take_file(path, Hints(), None)

    return cache(read)


@pytest.mark.parametrize("name", COUNTS)
def test_counts(name: str, taken: Taken) -> None:
    found = taken(name)
    assert (found.format, len(found.book.offers), len(found.refused)) == COUNTS[name]
    assert found.book.oldest() is not None
    assert not found.warnings


def test_no_file_of_prices_is_left_out(shared_data: Path) -> None:
    assert {p.name for p in (shared_data / "prices").iterdir()} >= set(COUNTS)


def test_ec2instances_upfront_payments_are_the_published_ones(taken: Taken) -> None:
    book = taken("ec2instances-info_2019-04-05.json.gz").book
    key = OfferKey(Provider.AWS, "us-east-1", "c5.large", PurchaseOption.RESERVED, 1, Payment.ALL)
    assert book.offer(key).upfront == 438
    options = Counter(k.option for k in book.offers)
    assert options[PurchaseOption.CONVERTIBLE] > 5_000
    whole = [o for o in book.offers.values() if o.key.payment == Payment.ALL]
    assert sum(o.upfront == o.upfront.to_integral_value() for o in whole) / len(whole) > 0.99


def test_google_series_have_their_published_sustained_use(taken: Taken) -> None:
    book = taken("gcp_pricing_2026-07-30.yml.gz").book
    factors = {series: rule.full_month_factor for (_, series), rule in book.sustained.items()}
    assert factors["n1"] == Decimal("0.7")
    assert factors["n2"] == factors["n2d"] == factors["c2"] == Decimal("0.8002")
    assert "e2" not in factors
    assert "c3" not in factors
    reasons = Counter(q.reason for q in book.quarantine)
    assert reasons["repeats the price without commitment: none is sold"] == 84


def test_a_repeated_price_is_no_spot_price(taken: Taken) -> None:
    for name in ("aws_od_spot_ri1y_us-east-1_2023-08-30.txt", "aws_on-demand_spot_2024-04-04.json"):
        book = taken(name).book
        assert any("no spot market" in q.reason for q in book.quarantine)
        for key, offer in book.offers.items():
            if key.option == PurchaseOption.SPOT:
                listed = OfferKey(key.provider, key.region, key.instance_type, PurchaseOption.ON_DEMAND)
                assert listed not in book.offers or offer.hourly != book.offers[listed].hourly


def test_effective_prices_agree_between_files(taken: Taken) -> None:
    three_years = taken("aws_3yr_allupfront_us-east-1_2026-06-09.json").book
    listed = taken("aws_on-demand_us-east-1_2026-07-20.csv").book
    shares = sorted(
        o.effective_hourly / listed.offers[od].hourly
        for k, o in three_years.offers.items()
        if (od := OfferKey(k.provider, k.region, k.instance_type, PurchaseOption.ON_DEMAND)) in listed.offers
    )
    assert abs(shares[len(shares) // 2] - Decimal("0.377")) < Decimal("0.01")
