"""The bundled price tables: complete, ordered as prices should be, and refused with file and line where broken."""

from __future__ import annotations

import shutil
import time
from collections import defaultdict
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from hcloud.catalog.book import PriceBook
from hcloud.catalog.quote import amortised_cost, commitment_cost
from hcloud.catalog.shapes import UNSTEADY
from hcloud.errors import InputError
from hcloud.model.catalog import Offer, OfferKey, Origin, Payment, Provider, PurchaseOption
from hcloud.model.clouds.known import CLOUDS
from hcloud.readers.bundle import bundled
from hcloud.readers.prices.shipped.aws import size_units
from hcloud.readers.prices.shipped.bundled import load_bundled
from hcloud.readers.prices.shipped.manifest import MANIFEST, manifest_text, write_manifest
from hcloud.units import HOURS_PER_YEAR

AWS_FAMILIES = (
    "m5 m5a m6i m6a m6g m7i m7a m7g m8g m7i-flex c5 c6i c6a c6g c7i c7a c7g c8g r5 r6i r6a r6g r7i r7a r7g r8g t3 t4g"
)
GCP_SERIES = "n1 e2 n2 n2d c2 c2d c3 c3d c4 n4 t2d t2a c4a m1"
AZURE_FAMILIES = "Dsv5 Ddsv5 Dasv5 Dpsv5 Dsv6 Esv5 Esv6 Easv5 Epsv5 Fsv2 Bsv2 Dsv4 Esv4"
FAMILIES = {Provider.AWS: AWS_FAMILIES, Provider.GCP: GCP_SERIES, Provider.AZURE: AZURE_FAMILIES}
REGIONS = {
    Provider.AWS: ("us-east-1", "us-west-2", "eu-west-1", "ap-northeast-1"),
    Provider.GCP: ("us-central1", "europe-west1", "asia-east1"),
    Provider.AZURE: ("eastus", "westeurope", "eastasia"),
}
D = Decimal
UPFRONT = (Payment.NONE, Payment.PARTIAL, Payment.ALL)
PLACE = tuple[Provider, str, str, str]


@pytest.fixture(scope="module")
def book() -> PriceBook:
    return load_bundled()


@pytest.fixture(scope="module")
def by_place(book: PriceBook) -> dict[PLACE, dict[tuple[PurchaseOption, int, Payment], Offer]]:
    found: dict[PLACE, dict[tuple[PurchaseOption, int, Payment], Offer]] = defaultdict(dict)
    for key, offer in book.offers.items():
        place = key.provider, key.region, key.instance_type, key.os
        found[place][key.option, key.term_years, key.payment] = offer
    return found


def price(book: PriceBook, key: OfferKey) -> Decimal:
    return book.offer(key).effective_hourly


@pytest.mark.slow
@pytest.mark.parametrize("provider", list(Provider))
def test_every_family_is_offered_in_three_regions(book: PriceBook, provider: Provider) -> None:
    seen: dict[str, set[str]] = defaultdict(set)
    for key in book.offers:
        if key.provider == provider and key.option is PurchaseOption.ON_DEMAND:
            seen[book.instance_type(provider, key.instance_type).family].add(key.region)
    missing = {f for f in FAMILIES[provider].split() if len(seen[f]) < 3}
    assert not missing
    # T2A is sold in few regions: its three are others.
    usual = set(REGIONS[provider])
    assert {f for f in FAMILIES[provider].split() if not usual <= seen[f]} <= {"t2a"}


@pytest.mark.slow
def test_every_aws_type_has_every_option(
    by_place: dict[PLACE, dict[tuple[PurchaseOption, int, Payment], Offer]],
) -> None:
    committed = {
        (option, years, payment)
        for option in (
            PurchaseOption.RESERVED,
            PurchaseOption.CONVERTIBLE,
            PurchaseOption.INSTANCE_SAVINGS_PLAN,
            PurchaseOption.COMPUTE_SAVINGS_PLAN,
        )
        for years in (1, 3)
        for payment in Payment
    }
    flexible = {(o, 0, Payment.NONE) for o in (PurchaseOption.ON_DEMAND, PurchaseOption.SPOT)}
    for place, offers in by_place.items():
        if place[0] is Provider.AWS:
            assert set(offers) == committed | flexible, place


def test_google_and_azure_types_have_their_commitments(book: PriceBook) -> None:
    for provider, expected in (
        (Provider.GCP, PurchaseOption.COMMITTED_USE),
        (Provider.AZURE, PurchaseOption.SAVINGS_PLAN),
    ):
        without = {
            key.instance_type
            for key in book.offers
            if key.provider == provider
            and key.option is PurchaseOption.ON_DEMAND
            and {o.key.term_years for o in _commitments(book, key, expected)} != {1, 3}
        }
        assert {name for name in without if not name.startswith("t2a-")} == set()


def _commitments(book: PriceBook, key: OfferKey, option: PurchaseOption) -> list[Offer]:
    wanted = (
        OfferKey(key.provider, key.region, key.instance_type, option, years, Payment.NONE, key.os) for years in (1, 3)
    )
    return [book.offers[k] for k in wanted if k in book.offers]


@pytest.mark.slow
def test_committed_and_spot_prices_are_below_on_demand(
    by_place: dict[PLACE, dict[tuple[PurchaseOption, int, Payment], Offer]],
) -> None:
    for place, offers in by_place.items():
        listed = offers[PurchaseOption.ON_DEMAND, 0, Payment.NONE].hourly
        dearer = [k for k, o in offers.items() if k[0] is not PurchaseOption.ON_DEMAND and o.effective_hourly >= listed]
        assert not dearer, (place, dearer)
        assert all(o.effective_hourly > 0 for o in offers.values())


@pytest.mark.slow
def test_longer_and_more_upfront_is_never_dearer(
    by_place: dict[PLACE, dict[tuple[PurchaseOption, int, Payment], Offer]],
) -> None:
    for place, offers in by_place.items():
        for (option, years, payment), offer in offers.items():
            longer = offers.get((option, 3, payment))
            if years == 1 and longer is not None:
                assert longer.effective_hourly <= offer.effective_hourly, (place, option, payment)
            for more in UPFRONT[UPFRONT.index(payment) + 1 :]:
                cheaper = offers.get((option, years, more))
                assert cheaper is None or cheaper.effective_hourly <= offer.effective_hourly, (place, option, years)


@pytest.mark.parametrize("payment", UPFRONT)
@pytest.mark.parametrize("years", [1, 3])
def test_a_year_of_a_reservation_costs_its_share_of_the_term(book: PriceBook, payment: Payment, years: int) -> None:
    offer = book.offer(OfferKey(Provider.AWS, "us-east-1", "m5.xlarge", PurchaseOption.RESERVED, years, payment))
    year = offer.upfront / years + offer.hourly * HOURS_PER_YEAR
    assert amortised_cost(offer, HOURS_PER_YEAR) == pytest.approx(year, rel=Decimal("1e-20"))
    published = {
        (1, Payment.NONE): "0.63", (1, Payment.PARTIAL): "0.6", (1, Payment.ALL): "0.588",
        (3, Payment.NONE): "0.432", (3, Payment.PARTIAL): "0.4", (3, Payment.ALL): "0.376",
    }[years, payment]  # fmt: skip
    assert offer.effective_hourly == pytest.approx(Decimal("0.192") * Decimal(published), rel=Decimal("1e-20"))
    assert commitment_cost(offer, offer.term_hours) == offer.term_cost


def test_upfront_payments_split_the_cost(book: PriceBook) -> None:
    def offer(payment: Payment) -> Offer:
        return book.offer(
            OfferKey(Provider.AWS, "eu-west-1", "c6i.large", PurchaseOption.COMPUTE_SAVINGS_PLAN, 3, payment)
        )

    assert offer(Payment.NONE).upfront == 0
    assert offer(Payment.PARTIAL).upfront == offer(Payment.PARTIAL).hourly * offer(Payment.PARTIAL).term_hours
    assert offer(Payment.ALL).hourly == 0


@pytest.mark.parametrize(
    ("plan", "name", "reserved"),
    [
        (PurchaseOption.INSTANCE_SAVINGS_PLAN, "m6i.xlarge", PurchaseOption.RESERVED),
        (PurchaseOption.COMPUTE_SAVINGS_PLAN, "m5.xlarge", PurchaseOption.CONVERTIBLE),
    ],
)
def test_a_savings_plan_without_a_listed_rate_costs_what_the_reserved_instance_costs_and_says_so(
    book: PriceBook, plan: PurchaseOption, name: str, reserved: PurchaseOption
) -> None:
    key = OfferKey(Provider.AWS, "us-east-1", name, reserved, 1, Payment.ALL)
    same = book.offer(replace(key, option=plan))
    assert same.effective_hourly == price(book, key)
    assert "reserved instance" in same.origin.derived


def test_a_listed_savings_plan_rate_is_taken_as_it_stands(book: PriceBook) -> None:
    key = OfferKey(Provider.AWS, "us-east-1", "m6a.xlarge", PurchaseOption.COMPUTE_SAVINGS_PLAN, 1)
    listed = book.offer(key)
    assert listed.effective_hourly == pytest.approx(D("0.13965"), rel=D("1e-4"))
    assert (listed.origin.derived, listed.origin.day) == ("", date(2026, 7, 20))
    elsewhere = book.offer(replace(key, region="eu-west-1"))
    assert elsewhere.origin.derived == "fraction as in us-east-1"


def test_a_region_has_the_fractions_of_the_home_region_unless_it_has_its_own(book: PriceBook) -> None:
    def fraction(region: str, name: str) -> Decimal:
        key = OfferKey(Provider.AWS, region, name, PurchaseOption.RESERVED, 1, Payment.ALL)
        return price(book, key) / price(book, OfferKey(Provider.AWS, region, name, PurchaseOption.ON_DEMAND))

    for region in REGIONS[Provider.AWS]:
        assert fraction(region, "m7i.xlarge") == pytest.approx(D("0.6174"), abs=D("1e-9"))
    assert fraction("eu-west-1", "m4.xlarge") == pytest.approx(D("0.6357"), abs=D("1e-3"))  # published in 2019
    assert fraction("us-west-2", "m4.xlarge") == pytest.approx(fraction("us-east-1", "m4.xlarge"))


def test_the_home_region_is_read_for_its_fractions_only_where_another_is_asked_for() -> None:
    book = load_bundled(providers=[Provider.AWS], regions=["eu-central-1"], families=["m6i"], systems=["linux"])
    assert {k.region for k in book.offers} == {"eu-central-1"}
    assert any(k.option is PurchaseOption.RESERVED for k in book.offers)


@pytest.mark.parametrize(
    ("provider", "region", "name", "os", "expected"),
    [
        (Provider.AWS, "us-east-1", "m6i.xlarge", "linux", "0.192"),
        (Provider.AWS, "us-east-1", "m6i.32xlarge", "linux", "6.144"),
        (Provider.AWS, "us-east-1", "t3.nano", "linux", "0.0052"),
        (Provider.AWS, "us-east-1", "m7i.metal-24xl", "linux", "5.32224"),
        (Provider.AWS, "eu-west-1", "m5.xlarge", "linux", "0.214"),
        (Provider.AWS, "us-west-2", "r6g.xlarge", "linux", "0.2016"),
        (Provider.AWS, "eu-central-1", "c6i.2xlarge", "linux", "0.388"),
        (Provider.AWS, "ap-southeast-1", "m5.large", "linux", "0.12"),
        (Provider.AWS, "us-east-1", "m6i.xlarge", "windows", "0.376"),
        (Provider.AWS, "us-east-1", "t3.large", "windows", "0.1108"),
        (Provider.GCP, "us-central1", "n2-standard-4", "linux", "0.194236"),
        (Provider.GCP, "us-central1", "n1-standard-4", "linux", "0.189999"),
        (Provider.GCP, "us-central1", "n2-standard-4", "windows", "0.378236"),
        (Provider.AZURE, "eastus", "Standard_D4s_v5", "linux", "0.192"),
        (Provider.AZURE, "eastus", "Standard_D2s_v5", "windows", "0.188"),
        (Provider.AZURE, "eastus", "Standard_E128s_v6", "linux", "8.467"),
        (Provider.AZURE, "westeurope", "Standard_E4s_v5", "linux", "0.304"),
    ],
)
def test_known_list_prices(book: PriceBook, provider: Provider, region: str, name: str, os: str, expected: str) -> None:
    assert price(book, OfferKey(provider, region, name, PurchaseOption.ON_DEMAND, os=os)) == Decimal(expected)


def numbers(text: str) -> list[Decimal]:
    return [Decimal(word) for word in text.split()]


def test_shapes_and_flexibility_weights(book: PriceBook) -> None:
    def shape(provider: Provider, name: str) -> list[Decimal]:
        found = book.instance_type(provider, name)
        return [found.vcpus, found.memory_gib, found.units]

    assert shape(Provider.AWS, "m5.xlarge") == numbers("4 16 8")
    assert shape(Provider.AWS, "m5.metal") == numbers("96 384 192")
    assert shape(Provider.AWS, "t3.nano") == numbers("2 0.5 0.25")
    assert shape(Provider.AWS, "c4.8xlarge") == numbers("36 60 64")
    assert shape(Provider.GCP, "n2-highmem-128") == numbers("128 864 128")
    assert shape(Provider.GCP, "e2-micro") == numbers("0.25 1 0.25")
    assert shape(Provider.AZURE, "Standard_D8s_v5") == numbers("8 32 4")
    assert shape(Provider.AZURE, "Standard_E96s_v5") == numbers("96 672 48")
    for machine in book.types.values():  # as those that other price files name, beside which they are counted
        assert machine.units == CLOUDS[machine.provider].names.units(machine.name, machine.vcpus), machine.name


def test_windows_is_not_offered_on_arm(book: PriceBook) -> None:
    arm = {name for (_, name), shape in book.types.items() if shape.arch == "arm64"}
    assert {"m7g.xlarge", "c4a-standard-4", "Standard_D4ps_v5"} <= arm
    assert not [k for k in book.offers if k.os == "windows" and k.instance_type in arm]


def test_types_that_do_not_always_run_at_full_speed_say_so_in_the_tables_as_their_names_do(book: PriceBook) -> None:
    unsteady = {t.name: t.category for t in book.types.values() if t.category in UNSTEADY}
    by_name = {t.name: CLOUDS[t.provider].names.category(t.name) for t in book.types.values()}
    assert unsteady == {name: category for name, category in by_name.items() if category in UNSTEADY}
    assert {"m7i-flex.large", "c7i-flex.large", "t2.nano", "e2-small", "Standard_B2s_v2"} <= set(unsteady)


@pytest.mark.parametrize(("size", "units"), [("nano", "0.25"), ("2xlarge", "16"), ("metal-48xl", "384")])
def test_normalisation_factors(size: str, units: str) -> None:
    assert size_units(size) == Decimal(units)


def test_a_bare_metal_size_has_no_factor_of_its_own() -> None:
    with pytest.raises(ValueError, match="metal"):
        size_units("metal")


def test_sustained_use_only_on_the_published_series(book: PriceBook) -> None:
    factors = {series: rule.full_month_factor for (_, series), rule in book.sustained.items()}
    assert {s for s, f in factors.items() if f == Decimal("0.7")} == {"n1", "m1", "m2"}
    assert {s for s, f in factors.items() if abs(f - Decimal("0.8")) < Decimal("0.001")} == {"n2", "n2d", "c2"}
    assert len(factors) == 6


def test_billing_rules(book: PriceBook) -> None:
    rules = {p: (r.step_seconds, r.minimum_seconds) for p, r in book.billing.items()}
    assert rules == {Provider.AWS: (1, 60), Provider.GCP: (1, 60), Provider.AZURE: (1, 1)}


def test_flexible_commitments_take_28_and_46_percent_off(book: PriceBook) -> None:
    listed = price(book, OfferKey(Provider.GCP, "us-central1", "n2-standard-4", PurchaseOption.ON_DEMAND))
    for years, fraction in ((1, "0.72"), (3, "0.54")):
        key = OfferKey(Provider.GCP, "us-central1", "n2-standard-4", PurchaseOption.FLEXIBLE_COMMITTED_USE, years)
        assert price(book, key) == listed * Decimal(fraction)
    flexible = {k.instance_type for k in book.offers if k.option is PurchaseOption.FLEXIBLE_COMMITTED_USE}
    assert "e2-standard-4" in flexible
    assert not [name for name in flexible if name.startswith(("e2-micro", "t2d-", "t2a-"))]


def test_what_is_derived_from_a_price_moves_with_a_new_one() -> None:
    """Windows on Google was cheaper than Linux after a refresh, which brings no licences, and a flexible commitment at
    the old price took 70 % off."""
    book = load_bundled(providers={Provider.GCP}, regions={"us-central1"}, families={"n2"})
    usual = OfferKey(Provider.GCP, "us-central1", "n2-standard-4", PurchaseOption.ON_DEMAND)
    windows = replace(usual, os="windows")
    flexible = [replace(k, option=PurchaseOption.FLEXIBLE_COMMITTED_USE, term_years=1) for k in (usual, windows)]
    origin = Origin("a refresh", date(2026, 11, 30))
    twice = replace(book.offers[usual], hourly=2 * price(book, usual), origin=origin)
    anew = book.merged(PriceBook({}, {usual: twice}))
    for key in (windows, *flexible):  # as old as the list, all ages said that nothing was refreshed
        assert anew.offers[key].origin == replace(origin, derived=book.offers[key].origin.derived)
    licence = price(book, windows) - price(book, usual)
    assert price(anew, windows) == twice.hourly + licence
    flat = 2 * price(book, flexible[0])
    assert [price(anew, key) for key in flexible] == [flat, flat + licence]
    own = replace(twice, key=windows, hourly=Decimal(9))
    assert price(book.merged(PriceBook({}, {usual: twice, windows: own})), windows) == own.hourly
    untouched = replace(windows, instance_type="n2-standard-8")
    assert price(anew, untouched) == price(book, untouched)


def test_filters_leave_only_what_was_asked_for() -> None:
    book = load_bundled(providers=[Provider.AWS], regions=["eu-west-1"], families=["m6i"], systems=["linux"])
    assert {(k.provider, k.region, k.os) for k in book.offers} == {(Provider.AWS, "eu-west-1", "linux")}
    assert {t.family for t in book.types.values()} == {"m6i"}
    assert set(book.billing) == {Provider.AWS}
    few: Any = {"regions": ["us-east-1", "us-central1", "eastus"], "families": ["m6i", "n2", "Dsv5"]}
    every = load_bundled(**few).offers
    terms = {(k.option, k.term_years, k.payment) for k in every}
    for term in terms:
        wanted = {
            k: o
            for k, o in every.items()
            if (k.option, k.term_years, k.payment) == term or k.option == PurchaseOption.ON_DEMAND
        }
        assert load_bundled(**few, terms={term}).offers == wanted


def test_an_unknown_key_is_missing_not_zero(book: PriceBook) -> None:
    key = OfferKey(Provider.AWS, "us-east-1", "m6i.7xlarge", PurchaseOption.ON_DEMAND)
    assert key not in book.offers
    assert len(book.offers) == sum(1 for _ in book.offers)


@pytest.mark.slow
def test_items_and_values_are_those_of_the_keys(book: PriceBook) -> None:
    keys = list(book.offers)
    assert [k for k, _ in book.offers.items()] == keys
    assert [o.key for o in book.offers.values()] == keys
    assert (keys[0], book.offers[keys[0]]) in book.offers.items()
    assert len(set(keys)) == len(keys)


def test_every_price_has_a_source_and_a_day(book: PriceBook) -> None:
    assert all(o.origin.source and o.origin.day.year >= 2017 for o in book.offers.values())
    derived = [o for o in book.offers.values() if o.origin.derived]
    assert 0 < len(derived) < len(book.offers)


@pytest.mark.slow
def test_one_region_is_loaded_at_a_small_part_of_the_work_of_all() -> None:
    whole = min(_work() for _ in range(3))
    part = min(_work(Provider.AWS, "us-east-1") for _ in range(3))
    assert part < whole / 2


def _work(provider: Provider | None = None, region: str = "") -> float:
    start = time.process_time()
    root = bundled("pricing")  # named, it is read anew each time: see conftest
    load_bundled(root, [provider] if provider else None, [region] if region else None)
    return time.process_time() - start


def test_the_manifest_lists_every_table_with_its_checksum() -> None:
    root = bundled("pricing")
    assert (root / MANIFEST).read_text(encoding="utf-8") == manifest_text(root), (
        "rewrite it with: python -m hcloud.readers.prices.shipped.manifest"
    )


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    return shutil.copytree(bundled("pricing"), tmp_path / "pricing")


def test_the_manifest_can_be_rewritten(copied: Path) -> None:
    (copied / MANIFEST).unlink()
    assert write_manifest(copied).read_text(encoding="utf-8") == manifest_text(bundled("pricing"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "old", "new", "said"),
    [
        ("aws/on_demand.csv", "m6i,us-east-1,xlarge,0.192", "m6i,us-east-1,xlarge,nan", "usd_per_hour: 'nan'"),
        ("aws/on_demand.csv", "m6i,us-east-1,xlarge,0.192", "m6i,us-east-1,xlarge,0", "usd_per_hour: '0'"),
        ("aws/on_demand.csv", "m6i,us-east-1,xlarge,0.192", "m6i,us-east-1,7xlarge,0.192", "'m6i.7xlarge'"),
        ("aws/discounts.csv", "m6i,us-east-1,standard,3,,", "m6i,us-east-1,standard,2,,", "years: '2'"),
        ("aws/families.csv", "large xlarge 2xlarge", "large xlarge huge", "sizes: 'huge'"),
        ("aws/spot.csv", "2024-04-04", "April", "date: 'April'"),
        ("gcp/prices.csv", "n2,us-central1,on-demand", "n2,us-central1,sometimes", "option: 'sometimes'"),
        ("gcp/series.csv", "series,arch", "serie,arch", "the header series,arch"),
        ("azure/discounts.csv", "0.59", "1.59", "fraction: '1.59'"),
        ("azure/pay_as_you_go.csv", "Standard_D4s_v5", "Standard_D5s_v5", "size: 'Standard_D5s_v5'"),
        ("billing.csv", "azure,1,1", "azure,1", "6 cells"),
        ("aws/on_demand.csv", "m5,eu-west-1,xlarge", "m5,us-east-1,xlarge", "'m5 us-east-1 xlarge' (one line only)"),
        (
            "aws/discounts.csv",
            "m4,eu-west-1,standard,3",
            "m4,eu-west-1,standard,1",
            "one price for a term and payment",
        ),
        ("gcp/prices.csv", "n2,us-central1,spot", "n2,us-central1,on-demand", "one line only"),
    ],
)
def test_a_bad_cell_is_reported_with_file_line_and_value(
    copied: Path, table: str, old: str, new: str, said: str
) -> None:
    path = copied / table
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    of = table.partition("/")[0]
    with pytest.raises(InputError) as caught:
        load_bundled(copied, providers=[Provider(of)] if of in set(Provider) else None)
    assert said in str(caught.value)
    assert table in str(caught.value)
    assert "line" in str(caught.value)


def test_a_missing_table_is_reported(copied: Path) -> None:
    (copied / "aws" / "spot.csv").unlink()
    with pytest.raises(InputError, match=r"spot\.csv"):
        load_bundled(copied)


def test_a_missing_directory_is_reported() -> None:
    with pytest.raises(InputError, match="no-such-directory"):
        bundled("no-such-directory")
