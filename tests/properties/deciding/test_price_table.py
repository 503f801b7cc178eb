"""Whatever prices a book holds, its table gives them back, and no negotiated rule makes a price negative or dearer."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from hcloud.catalog.book import PriceBook
from hcloud.catalog.checks import checked
from hcloud.catalog.intake import PriceSource, refusal
from hcloud.catalog.overlay import Match, OverlayRule, apply_overlay
from hcloud.catalog.shapes import named_type
from hcloud.catalog.table import read_table, write_table
from hcloud.model.catalog import Offer, OfferKey, Origin, Payment, Provider, PurchaseOption

DAY = date(2026, 7, 1)
_LETTERS, _DIGITS = "abcdefghijklmnopqrstuvwxyz", "0123456789"
NAMES = st.builds(
    "{}{}.{}".format,
    st.sampled_from(_LETTERS),
    st.text(_LETTERS + _DIGITS, max_size=5),
    st.text(_LETTERS + _DIGITS, min_size=1, max_size=8),
)
TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), max_size=20).map(str.strip)
AMOUNTS = st.decimals("0.0001", "1000", places=6)


@st.composite
def offers(draw: st.DrawFn) -> Offer:
    option = draw(st.sampled_from(PurchaseOption))
    years = draw(st.sampled_from((1, 3))) if option.is_commitment else 0
    payment = draw(st.sampled_from(Payment)) if years else Payment.NONE
    name, region = draw(NAMES), draw(st.sampled_from(("us-east-1", "eu-west-1")))
    key = OfferKey(draw(st.sampled_from(Provider)), region, name, option, years, payment)
    hourly = Decimal(0) if payment == Payment.ALL else draw(AMOUNTS)
    upfront = Decimal(0) if payment == Payment.NONE else draw(AMOUNTS)
    origin = Origin(draw(TEXTS) or "source", draw(st.dates()), draw(TEXTS))
    return Offer(key, hourly, upfront, origin, draw(st.none() | st.sampled_from((0, 1)) | st.integers(0, 1000)))


@st.composite
def books(draw: st.DrawFn) -> PriceBook:
    listed = draw(st.lists(offers(), min_size=1, max_size=8, unique_by=lambda o: o.key))
    sizes = st.decimals("0.25", "1000", places=2)
    types = {
        (o.key.provider, o.key.instance_type): named_type(
            o.key.provider, o.key.instance_type, draw(sizes), draw(sizes)
        )
        for o in listed
    }  # fmt: skip
    return PriceBook(types, {o.key: o for o in listed})


@settings(max_examples=60, deadline=None)
@given(books())
def test_a_table_gives_back_the_book_and_checks_only_take_away_and_say_why(book: PriceBook) -> None:
    again = read_table(write_table(book), PriceSource("x", DAY))
    assert again.quarantine == ()
    assert again.offers == book.offers
    assert again.types == book.types
    assert again.digest() == book.digest()
    good, warnings = checked(book)
    refused = {q.key: q.reason for q in good.quarantine}
    assert set(good.offers) | set(refused) == set(book.offers)
    assert not set(good.offers) & set(refused)
    assert all(refused.values())
    assert all(w.key in good.offers for w in warnings)
    assert checked(good)[0].offers.keys() <= good.offers.keys()


@settings(max_examples=20, deadline=None)
@given(books(), st.decimals("0.1", "99", places=1), st.none() | st.integers(1, 50))
def test_a_discount_never_makes_a_price_dearer_or_unusable(book: PriceBook, percent: Decimal, left: int | None) -> None:
    rule = OverlayRule("r", Match(region="us-*"), percent=percent, capacity=left)
    priced = apply_overlay(book, [rule], DAY)
    assert set(priced.offers) == set(book.offers)
    for key, offer in priced.offers.items():
        before = book.offers[key]
        if key.region.startswith("us-"):
            assert 0 < offer.effective_hourly < before.effective_hourly
            assert refusal(key, offer.hourly, offer.upfront) == ""
            assert "overlay 'r'" in offer.origin.derived
            assert left is None or (offer.remaining is not None and offer.remaining <= left)
        else:
            assert offer == before
