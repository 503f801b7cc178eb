"""Implausible prices: impossible ones and cents go to quarantine, odd ones give warnings; negotiated prices on top."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from hcloud.catalog.book import PriceBook
from hcloud.catalog.checks import check_prices, checked
from hcloud.catalog.overlay import Match, OverlayRule, apply_overlay, idle_rules
from hcloud.catalog.shapes import family_of, guess_provider, named_type
from hcloud.errors import InputError
from hcloud.model.catalog import Offer, OfferKey, Origin, Payment, Provider, PurchaseOption, QuarantinedPrice
from hcloud.model.clouds.known import CLOUDS
from hcloud.model.prices import PriceWarning
from hcloud.readers.prices.overlay import parse_overlay, read_overlay

D = Decimal
CASES = Path(__file__).parents[2] / "cases" / "prices"
ORIGIN = Origin("invented", date(2026, 7, 1))
OD, SPOT, RI = PurchaseOption.ON_DEMAND, PurchaseOption.SPOT, PurchaseOption.RESERVED
SIZES = {"large": 2, "xlarge": 4, "2xlarge": 8, "4xlarge": 16}
TODAY = date(2026, 7, 2)


def od(name: str = "q7.large", region: str = "us-east-1") -> OfferKey:
    return OfferKey(Provider.AWS, region, name, OD)


def reserved(name: str = "q7.large") -> OfferKey:
    return replace(od(name), option=RI, term_years=1, payment=Payment.ALL)


def book(*prices: tuple[OfferKey, str] | tuple[OfferKey, str, str]) -> PriceBook:
    offers = {p[0]: Offer(p[0], D(p[1]), D(p[2]) if len(p) > 2 else D(0), ORIGIN) for p in prices}
    names = {k.instance_type for k in offers}
    types = {(Provider.AWS, n): named_type(Provider.AWS, n, D(SIZES[n.partition(".")[2]]), D(8)) for n in names}
    return PriceBook(types, offers)


FAMILY = book(*((od(f"q7.{size}"), str(D("0.05") * vcpus)) for size, vcpus in SIZES.items()))


@pytest.mark.parametrize(
    ("price", "why"), [("0", "zero"), ("-1", "negative"), ("NaN", "finite"), ("Infinity", "finite"), ("1E9", "beyond")]
)
def test_impossible_prices_go_to_quarantine(price: str, why: str) -> None:
    (found,) = check_prices(book((od(), price)))
    assert isinstance(found, QuarantinedPrice)
    assert found.key == od()
    assert why in found.reason


def test_sound_prices_pass() -> None:
    assert check_prices(FAMILY) == ()
    assert check_prices(book((od(), "0.1"), (reserved(), "0", "525.6"), (replace(od(), option=SPOT), "0.03"))) == ()


def test_cents_among_the_sizes_of_a_family_go_to_quarantine() -> None:
    wrong = replace(FAMILY, offers={**FAMILY.offers, od("q7.xlarge"): Offer(od("q7.xlarge"), D(20), D(0), ORIGIN)})
    (found,) = check_prices(wrong)
    assert isinstance(found, QuarantinedPrice)
    assert found.key == od("q7.xlarge")
    assert "100 times" in found.reason
    assert "cents" in found.reason


def test_cents_against_other_regions_go_to_quarantine() -> None:
    prices = book((od(), "0.1"), (od(region="eu-west-1"), "0.11"), (od(region="sa-east-1"), "15"))
    (found,) = check_prices(prices)
    assert isinstance(found, QuarantinedPrice)
    assert found.key == od(region="sa-east-1")


def test_a_whole_file_in_cents_is_found_by_the_prices_known_before() -> None:
    cents = replace(FAMILY, offers={k: replace(o, hourly=o.hourly * 100) for k, o in FAMILY.offers.items()})
    assert {f.key for f in check_prices(cents, FAMILY) if isinstance(f, QuarantinedPrice)} == set(FAMILY.offers)


def test_cents_of_a_size_that_nobody_priced_are_found_by_the_trusted_sizes_of_its_family_on_the_same_terms() -> None:
    new = book((od("q7.large"), "3"))
    trusted = book(*((k, str(o.hourly)) for k, o in FAMILY.offers.items() if k != od("q7.large")))
    (found,) = check_prices(new, trusted)
    assert isinstance(found, QuarantinedPrice)
    assert "30 times what the other sizes of its family cost" in found.reason
    spot = replace(trusted, offers={replace(k, option=SPOT): o for k, o in trusted.offers.items()})
    assert check_prices(new, spot) == (), "on other terms another price is usual"


def test_a_whole_file_in_cents_is_found_without_any_other_prices() -> None:
    cents = replace(FAMILY, offers={k: replace(o, hourly=o.hourly * 100) for k, o in FAMILY.offers.items()})
    assert {f.key for f in check_prices(cents) if isinstance(f, QuarantinedPrice)} == set(FAMILY.offers)


def test_reserved_dearer_than_on_demand_loses_the_commitment_only() -> None:
    good, warnings = checked(book((od(), "0.1"), (reserved(), "0", "900")))
    assert list(good.offers) == [od()]
    assert "more than on-demand" in good.quarantine[0].reason
    assert warnings == ()
    with pytest.raises(Exception, match="quarantined"):
        good.offer(reserved())


def test_reserved_is_compared_with_the_trusted_on_demand_price_too() -> None:
    (found,) = check_prices(book((reserved(), "0", "900")), book((od(), "0.1")))
    assert isinstance(found, QuarantinedPrice)


def test_spot_above_on_demand_and_a_commitment_for_nothing_are_warnings() -> None:
    found = check_prices(book((od(), "0.1"), (replace(od(), option=SPOT), "0.2"), (reserved(), "0", "10")))
    assert [type(f) for f in found] == [PriceWarning, PriceWarning]
    assert "unit right" in found[0].reason
    assert "above on-demand" in found[1].reason


RULES = read_overlay(CASES / "overlay.yaml")


def test_first_rule_in_force_wins_and_is_named() -> None:
    priced = apply_overlay(book((od(), "0.1"), (reserved(), "0", "525.6")), RULES, TODAY)
    offer = priced.offers[od()]
    assert (offer.hourly, offer.remaining) == (D("0.088"), 40)
    assert "'frame contract': 12% off" in offer.origin.derived
    assert priced.offers[reserved()].upfront == D("262.8")


def test_rules_outside_their_dates_change_nothing() -> None:
    plain = book((replace(od(), option=SPOT), "0.1"))
    assert apply_overlay(plain, RULES, TODAY).offers == plain.offers
    late = apply_overlay(book((od("q7.xlarge"), "0.2")), RULES, date(2027, 1, 1))
    assert late.offers[od("q7.xlarge")].hourly == D("0.2")
    assert late.offers[od("q7.xlarge")].origin.derived == ""


def test_rules_that_do_nothing_are_told() -> None:
    found = {w.row: w.reason for w in idle_rules(book((od(), "0.1")), RULES, TODAY)}
    assert "comes after" in found["never reached"]
    assert "matches no offer" in found["reserved deal"]
    assert "not in force" in found["last year"]


def test_an_absolute_price_keeps_the_split_of_a_commitment() -> None:
    key = replace(reserved(), payment=Payment.PARTIAL)
    rule = OverlayRule("r", Match(), hourly=D("0.03"))
    offer = apply_overlay(book((key, "0.03", "262.8")), [rule], TODAY).offers[key]
    assert (offer.hourly, offer.upfront, offer.effective_hourly) == (D("0.015"), D("131.4"), D("0.03"))


def test_every_problem_of_an_overlay_is_reported_at_once() -> None:
    text = (
        "rule: 3\nrules:\n"
        "  - {name: a, match: {provider: awz, regoin: x}, percent: 1_000, capcity: 3}\n"
        "  - {name: b, match: {}, percent: 5, valid_from: 2026-13-01}\n"
        "  - {match: {}, percent: .nan}\n"
        "  - {name: c, match: {}, percent: 10, hourly: 1}\n"
        "  - {name: d, match: {}, hourly: 0, capacity: 1.5}\n"
    )
    with pytest.raises(InputError) as error:
        parse_overlay(text, "o.yaml")
    shown = str(error.value)
    for words in (
        "'awz'", "did you mean region?", "'1_000' (is not a number", "did you mean capacity?", "month must be",
        "rules.2.name: missing", "'.nan'", "either percent or hourly", "rules.4.hourly", "rules.4.capacity",
        "did you mean rules?",
    ):  # fmt: skip
        assert words in shown, words


@pytest.mark.parametrize("text", ["", "rules: []", "3", "rules:\n - {name: a, match: {}, percent: 1}\n" * 2])
def test_overlays_without_rules_are_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_overlay(text, "o.yaml")


def test_two_rules_of_one_name_are_refused() -> None:
    rule = " - {name: a, match: {}, percent: 1}\n"
    with pytest.raises(InputError, match="two rules are called 'a'"):
        parse_overlay("rules:\n" + rule + rule, "o.yaml")


@pytest.mark.parametrize(
    ("provider", "name", "family", "category"),
    [
        (Provider.AWS, "m6i.large", "m6i", "general"), (Provider.AWS, "r5.metal", "r5", "memory"),
        (Provider.AWS, "trn1.32xlarge", "trn1", "accelerated"), (Provider.GCP, "n2-highmem-8", "n2", "memory"),
        (Provider.GCP, "c2-standard-4", "c2", "compute"), (Provider.AZURE, "Standard_D4s_v5", "Dsv5", "general"),
        (Provider.AZURE, "Standard_E96-24ads_v5", "Eadsv5", "memory"),
        (Provider.AZURE, "Standard_NC24ads_A100_v4", "NCadsv4", "accelerated"),
        (Provider.AWS, "t3a.micro", "t3a", "burstable"), (Provider.AWS, "trn1.2xlarge", "trn1", "accelerated"),
        (Provider.AWS, "m8i-flex.4xlarge", "m8i-flex", "flex"), (Provider.AWS, "r8i-flex.large", "r8i-flex", "flex"),
        (Provider.GCP, "e2-medium", "e2", "shared-core"), (Provider.GCP, "f1-micro", "f1", "shared-core"),
        (Provider.GCP, "e2-highcpu-4", "e2", "compute"), (Provider.AZURE, "Standard_B8ms", "Bms", "burstable"),
        (Provider.AZURE, "Standard_B4als_v2", "Balsv2", "burstable"),
        (Provider.AZURE, "Standard_DS3_v2", "DSv2", "general"),
        (Provider.AZURE, "Standard_DS13-2_v2", "DSv2-high-memory", "memory"),
        (Provider.AZURE, "Standard_D13", "D-high-memory", "memory"),
    ],
)  # fmt: skip
def test_names_tell_family_category_and_cloud(provider: Provider, name: str, family: str, category: str) -> None:
    assert family_of(provider, name) == family
    assert CLOUDS[provider].names.category(name) == category
    assert guess_provider(name) == provider


@pytest.mark.parametrize(
    ("name", "units"), [("t3.nano", "0.25"), ("m5.large", "4"), ("m5.24xlarge", "192"), ("m7i.metal-24xl", "192")]
)
def test_ec2_normalisation_factors(name: str, units: str) -> None:
    assert CLOUDS[Provider.AWS].names.units(name, D(1)) == D(units)


@pytest.mark.parametrize(("small", "large"), [("Standard_B1s", "Standard_B2s"), ("Standard_B1ms", "Standard_B2ms")])
def test_the_smallest_of_series_b_are_a_quarter_of_the_next(small: str, large: str) -> None:
    """Microsoft's list of instance size flexibility ratios; a reservation of one covered half of the next."""
    units = CLOUDS[Provider.AZURE].names.units
    assert 4 * units(small, D(1)) == units(large, D(2)) == units("Standard_B2s_v2", D(2))
