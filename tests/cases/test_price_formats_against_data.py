"""Every file of real prices is read: how many rows are good, how many are not, and some prices known by heart."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest

from hcloud.catalog.intake import IntakeResult
from hcloud.model.catalog import OfferKey, Payment, Provider, PurchaseOption
from hcloud.usecases.prices.intake import Hints, take_file

COUNTS = {
    "aws_on-demand_us-east-1_2026-07-20.csv": ("two-columns", 1367, 0),
    "aws_3yr_allupfront_us-east-1_2026-06-09.json": ("annual-cost", 1280, 0),
    "aws_od_spot_ri1y_us-east-1_2023-08-30.txt": ("labelled-text", 3630, 253),
    "aws_on-demand_spot_2024-04-04.json": ("spot-average", 25644, 1686),
    "ec2instances-info_2019-04-05.json.gz": ("ec2instances", 219122, 237),
    "gcp_pricing_2026-07-30.yml.gz": ("cyclenerd", 69338, 231),
}
_read: dict[str, IntakeResult] = {}


def taken(shared_data: Path, name: str) -> IntakeResult:
    """A file read once for all tests."""
    if name not in _read:
        _read[name] = take_file(shared_data / "prices" / name, Hints(), None)
    return _read[name]


@pytest.mark.parametrize("name", COUNTS)
def test_counts(shared_data: Path, name: str) -> None:
    found = taken(shared_data, name)
    assert (found.format, len(found.book.offers), len(found.refused)) == COUNTS[name]
    assert found.book.oldest() is not None
    assert not found.warnings


def test_no_file_of_prices_is_left_out(shared_data: Path) -> None:
    assert {p.name for p in (shared_data / "prices").iterdir()} >= set(COUNTS)


def test_ec2instances_upfront_payments_are_the_published_ones(shared_data: Path) -> None:
    book = taken(shared_data, "ec2instances-info_2019-04-05.json.gz").book
    key = OfferKey(Provider.AWS, "us-east-1", "c5.large", PurchaseOption.RESERVED, 1, Payment.ALL)
    assert book.offer(key).upfront == 438
    options = Counter(k.option for k in book.offers)
    assert options[PurchaseOption.CONVERTIBLE] > 90_000
    whole = [o for o in book.offers.values() if o.key.payment == Payment.ALL]
    assert sum(o.upfront == o.upfront.to_integral_value() for o in whole) / len(whole) > 0.99


def test_google_series_have_their_published_sustained_use(shared_data: Path) -> None:
    book = taken(shared_data, "gcp_pricing_2026-07-30.yml.gz").book
    factors = {series: rule.full_month_factor for (_, series), rule in book.sustained.items()}
    assert factors["n1"] == Decimal("0.7")
    assert factors["n2"] == factors["n2d"] == factors["c2"] == Decimal("0.8002")
    assert "e2" not in factors
    assert "c3" not in factors
    reasons = Counter(q.reason for q in book.quarantine)
    assert reasons["repeats the price without commitment: none is sold"] == 168


def test_a_repeated_price_is_no_spot_price(shared_data: Path) -> None:
    for name in ("aws_od_spot_ri1y_us-east-1_2023-08-30.txt", "aws_on-demand_spot_2024-04-04.json"):
        book = taken(shared_data, name).book
        assert any("no spot market" in q.reason for q in book.quarantine)
        for key, offer in book.offers.items():
            if key.option == PurchaseOption.SPOT:
                listed = OfferKey(key.provider, key.region, key.instance_type, PurchaseOption.ON_DEMAND)
                assert listed not in book.offers or offer.hourly != book.offers[listed].hourly


def test_effective_prices_agree_between_files(shared_data: Path) -> None:
    three_years = taken(shared_data, "aws_3yr_allupfront_us-east-1_2026-06-09.json").book
    listed = taken(shared_data, "aws_on-demand_us-east-1_2026-07-20.csv").book
    shares = sorted(
        o.effective_hourly / listed.offers[od].hourly
        for k, o in three_years.offers.items()
        if (od := OfferKey(k.provider, k.region, k.instance_type, PurchaseOption.ON_DEMAND)) in listed.offers
    )
    assert abs(shares[len(shares) // 2] - Decimal("0.377")) < Decimal("0.01")
