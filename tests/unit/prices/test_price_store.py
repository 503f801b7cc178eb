"""The user's prices on disk: what goes in comes out, a failed write changes nothing, the last version is kept."""

from __future__ import annotations

import stat
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from hcloud.catalog.book import PriceBook
from hcloud.catalog.shapes import named_type
from hcloud.errors import HcloudError, InputError
from hcloud.model.catalog import (
    Offer,
    OfferKey,
    Origin,
    Payment,
    Provider,
    PurchaseOption,
    QuarantinedPrice,
    SustainedUse,
)
from hcloud.store.prices import META, TABLE, Choice, PriceStore

D = Decimal
ORIGIN = Origin('a, "quoted" source', date(2026, 7, 1), "half; of it")
KEY = OfferKey(Provider.AWS, "us-east-1", "q7.large", PurchaseOption.ON_DEMAND)
OTHERS = (
    replace(KEY, region="eu-west-1"),
    replace(KEY, instance_type="r7.large"),
    replace(KEY, option=PurchaseOption.RESERVED, term_years=3, payment=Payment.PARTIAL),
    replace(KEY, provider=Provider.GCP, region="us-central1", instance_type="q2-standard-2"),
)
BOOK = PriceBook(
    {(k.provider, k.instance_type): named_type(k.provider, k.instance_type, D(2), D(8)) for k in (KEY, *OTHERS)},
    {
        k: Offer(k, D("0.1"), D(100) if k.term_years else D(0), ORIGIN, 3 if k.term_years else None)
        for k in (KEY, *OTHERS)
    },
    {},
    {(Provider.GCP, "q2"): SustainedUse("q2", (D(1), D("0.5")))},
    (QuarantinedPrice("line 7", "is zero", replace(KEY, instance_type="q7.zero")), QuarantinedPrice("line 8", "?")),
)


@pytest.fixture
def store() -> PriceStore:
    return PriceStore.open()


def test_nothing_is_stored_at_first(store: PriceStore) -> None:
    assert store.load() is None


def test_what_goes_in_comes_out(store: PriceStore) -> None:
    store.save(BOOK, {"imported": "x"})
    loaded = store.load()
    assert loaded is not None
    assert loaded.offers == BOOK.offers
    assert loaded.types == BOOK.types
    assert loaded.sustained == BOOK.sustained
    assert loaded.quarantine == BOOK.quarantine[:1]
    assert loaded.digest() == BOOK.digest()


def test_only_the_part_asked_for_is_loaded(store: PriceStore) -> None:
    store.save(BOOK, {})
    google = store.load(Choice(providers=[Provider.GCP]))
    assert google is not None
    assert {k.provider for k in google.offers} == {Provider.GCP}
    assert google.quarantine == ()
    place = store.load(Choice([Provider.AWS], ["us-east-1"], "q7.large"))
    assert place is not None
    assert {(k.region, k.instance_type) for k in place.offers} == {("us-east-1", "q7.large")}
    region = store.load(Choice(regions=["eu-west-1"]))
    assert region is not None
    assert list(region.offers) == [OTHERS[0]]


def test_the_previous_version_is_kept(store: PriceStore) -> None:
    store.save(BOOK, {})
    first = store.table.read_bytes()
    store.save(replace(BOOK, offers={KEY: BOOK.offers[KEY]}), {})
    assert store.table.with_name(f"{TABLE}.previous").read_bytes() == first
    assert {p.name for p in store.directory.iterdir()} == {
        TABLE, META, f"{TABLE}.previous", f"{META}.previous",
    }  # fmt: skip


def test_a_write_that_fails_leaves_the_old_prices(store: PriceStore) -> None:
    store.save(BOOK, {})
    before = store.table.read_bytes()
    blocked = store.directory / f"{TABLE}.previous"
    blocked.mkdir()
    with pytest.raises(HcloudError, match="cannot be stored"):
        store.save(replace(BOOK, offers={}), {})
    assert store.table.read_bytes() == before
    assert not [p for p in store.directory.iterdir() if p.suffix == ".tmp"]


def test_damaged_files_are_errors_not_empty_books(store: PriceStore) -> None:
    store.save(BOOK, {})
    meta = store.directory / META
    for text, words in (
        ("{", "cannot be read"),
        ('{"format_version": "2.0"}', "format_version '2.0'"),
        ("[]", "has no format_version"),
        ('{"format_version": "1.0", "quarantine": [{"row": "2"}]}', "prices.json is damaged: 'reason'"),
        ('{"format_version": "1.0", "quarantine": [{"row": "2", "reason": "r", "provider": "aws"}]}', "'region'"),
        ('{"format_version": "1.0", "sustained": [{"provider": "aws"}]}', "prices.json is damaged: 'tiers'"),
    ):
        meta.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=words):
            store.load()
    store.save(BOOK, {})
    store.table.write_text("nonsense\n", encoding="utf-8")
    with pytest.raises(InputError, match="not a price table"):
        store.load()


def test_the_platform_directory_is_used_without_the_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("HYC_PRICES")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert PriceStore.open().directory == tmp_path / "hcloud-hybrid" / "prices"


def test_the_table_is_an_ordinary_readable_file(store: PriceStore) -> None:
    store.save(BOOK, {})
    assert stat.S_ISREG(store.table.stat().st_mode)
    assert store.table.read_text(encoding="utf-8").startswith("provider,region,instance_type,")
