"""What holds for every bill and every quote: bounds, order, monotony and sums, on usage and commitments made up."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal

from bill_lines import BillLines, Usage
from hour_bills import bill, bill_hour, sustained_cost, whole_offer
from hypothesis import given, settings
from hypothesis import strategies as st

from hcloud.catalog.book import PriceBook
from hcloud.catalog.cover.sustained import paper_sustained_cost
from hcloud.catalog.quote import (
    amortised_cost,
    billed_seconds,
    commitment_cost,
    monthly_sustained_cost,
    rental_cost,
)
from hcloud.model.catalog import (
    BillingRule,
    InstanceType,
    Offer,
    OfferKey,
    Origin,
    Payment,
    Provider,
    PurchaseOption,
    SustainedUse,
)
from hcloud.model.usage import CommitmentTerm
from hcloud.units import cents

D = Decimal
ORIGIN = Origin("test", date(2026, 1, 1))
NEAR = D("1e-15")
ON_DEMAND = PurchaseOption.ON_DEMAND
N1 = SustainedUse("n1", (D(1), D("0.8"), D("0.6"), D("0.4")))
HOME = {Provider.AWS: "us-east-1", Provider.AZURE: "eastus", Provider.GCP: "us-central1"}
# name, family, vCPUs, GiB, units, list price: prices that do not divide evenly, so that rounding is at work too
SHAPES: dict[Provider, list[tuple[str, str, int, int | str, int, str]]] = {
    Provider.AWS: [
        ("m5.large", "m5", 2, 8, 4, "0.096"), ("m5.xlarge", "m5", 4, 16, 8, "0.192"),
        ("m5.4xlarge", "m5", 16, 64, 32, "0.768"), ("c5.large", "c5", 2, 4, 4, "0.085"),
    ],
    Provider.AZURE: [
        ("Standard_D2s_v5", "Dsv5", 2, 8, 1, "0.096"), ("Standard_D8s_v5", "Dsv5", 8, 32, 4, "0.384"),
        ("Standard_E2s_v5", "Esv5", 2, 16, 1, "0.126"),
    ],
    Provider.GCP: [
        ("n1-standard-2", "n1", 2, "7.5", 2, "0.094999"), ("n1-highmem-4", "n1", 4, 26, 4, "0.236606"),
        ("n1-highcpu-8", "n1", 8, "7.2", 8, "0.283394"),
    ],
}  # fmt: skip
FRACTIONS = {
    Provider.AWS: {
        PurchaseOption.RESERVED: "0.63", PurchaseOption.CONVERTIBLE: "0.7",
        PurchaseOption.INSTANCE_SAVINGS_PLAN: "0.63", PurchaseOption.COMPUTE_SAVINGS_PLAN: "0.73",
    },
    Provider.AZURE: {PurchaseOption.RESERVATION: "0.617", PurchaseOption.SAVINGS_PLAN: "0.6858"},
    Provider.GCP: {PurchaseOption.COMMITTED_USE: "0.63", PurchaseOption.FLEXIBLE_COMMITTED_USE: "0.72"},
}  # fmt: skip


def _book() -> PriceBook:
    types: dict[tuple[Provider, str], InstanceType] = {}
    offers: dict[OfferKey, Offer] = {}
    for provider, shapes in SHAPES.items():
        for number, (name, family, vcpus, gib, units, price) in enumerate(shapes):
            types[provider, name] = InstanceType(provider, name, family, D(vcpus), D(gib), D(units))
            listed = OfferKey(provider, HOME[provider], name, ON_DEMAND)
            offers[listed] = Offer(listed, D(price), D(0), ORIGIN)
            for option, fraction in FRACTIONS[provider].items():
                # a discount of its own for each type, so that the order of discounts matters
                hourly = D(price) * (D(fraction) + D(number) / 100)
                key = replace(listed, option=option, term_years=1)
                offers[key] = Offer(key, hourly, D(0), ORIGIN)
                for payment, upfront in ((Payment.PARTIAL, D("0.5")), (Payment.ALL, D(1))):
                    paid = replace(key, payment=payment)
                    recurring = hourly * (1 - upfront) * D("0.95")
                    offers[paid] = Offer(paid, recurring, hourly * upfront * D("0.95") * 8760, ORIGIN)
    return PriceBook(types, offers, {}, {(Provider.GCP, "n1"): N1})


BOOK = _book()
LISTED = sorted(k for k in BOOK.offers if k.option is ON_DEMAND)
BOUGHT = [o for k, o in sorted(BOOK.offers.items()) if k.option is not ON_DEMAND]

amounts = st.decimals(0, 20, places=2, allow_nan=False, allow_infinity=False)


@st.composite
def usages(draw: st.DrawFn) -> Usage:
    key = draw(st.sampled_from(LISTED))
    return Usage(key, draw(amounts), draw(st.sampled_from(["", "a", "b"])))


@st.composite
def commitments(draw: st.DrawFn) -> CommitmentTerm:
    offer = draw(st.sampled_from(BOUGHT))
    zonal = offer.key.option is PurchaseOption.RESERVED
    zone = draw(st.sampled_from(["", "", "a"])) if zonal else ""
    count = draw(amounts) / (10 if offer.key.option.is_spend_based else 1)
    return CommitmentTerm(offer, count, draw(st.sampled_from([-8759, -8758, -5, 0, 1, 3])), zone)


hours_of = st.lists(st.lists(usages(), max_size=5), min_size=1, max_size=4)
held = st.lists(commitments(), max_size=5)


@st.composite
def months(draw: st.DrawFn) -> list[list[Usage]]:
    """A few different hours, some of them lasting long enough to earn sustained-use discounts."""
    return [hour for hour in draw(hours_of) for _ in range(draw(st.sampled_from([1, 1, 300])))]


spread = st.lists(st.sampled_from([0, 0, 1, 2, 3]), min_size=1, max_size=730)


@settings(max_examples=25, deadline=None)
@given(months(), held)
def test_a_bill_stays_within_its_bounds(hours: list[list[Usage]], owned: list[CommitmentTerm]) -> None:
    result, bare = bill(hours, owned, BOOK), bill(hours, [], BOOK)
    assert result.list_cost == bare.list_cost
    assert -NEAR <= result.on_demand_cost <= bare.on_demand_cost + NEAR
    assert result.total <= bare.total + result.commitment_cost + NEAR
    assert result.unused <= result.commitment_cost + NEAR
    for line in result.usage:
        assert -NEAR <= line.covered_hours <= line.instance_hours + NEAR
        assert -NEAR <= line.sustained_discount <= line.on_demand_cost * D("0.3") + NEAR
    for bought in result.commitments:
        assert -NEAR <= bought.utilisation <= 1
        assert bought.amortised >= 0


@settings(max_examples=25, deadline=None)
@given(hours_of, held)
def test_no_more_is_covered_than_was_committed(hours: list[list[Usage]], owned: list[CommitmentTerm]) -> None:
    for line in bill(hours, owned, BOOK).commitments:
        key = line.commitment.offer.key
        if key.option.is_spend_based:
            assert line.covered_cost * D("0.5") <= line.amortised + NEAR  # no rate of the book is below half of list
        elif key.provider is not Provider.GCP:
            smallest = min(t.units for t in BOOK.types.values() if t.provider is key.provider)
            units = BOOK.instance_type(key.provider, key.instance_type).units
            assert line.covered_hours <= line.commitment.count * line.hours * units / smallest + NEAR
        else:
            listed = BOOK.offer(OfferKey(key.provider, key.region, key.instance_type, ON_DEMAND)).hourly
            assert line.covered_cost <= line.commitment.count * line.hours * listed * D("1.001") + NEAR


@settings(max_examples=25, deadline=None)
@given(st.data(), hours_of, held)
def test_the_order_of_what_is_given_changes_nothing(
    data: st.DataObject, hours: list[list[Usage]], owned: list[CommitmentTerm]
) -> None:
    shuffled = [data.draw(st.permutations(h)) for h in hours]
    assert bill(shuffled, data.draw(st.permutations(owned)), BOOK) == bill(hours, owned, BOOK)
    assert bill_hour(shuffled[0], owned, BOOK, 2) == bill_hour(hours[0], owned[::-1], BOOK, 2)


@settings(max_examples=25, deadline=None)
@given(months(), held, commitments())
def test_more_commitment_never_raises_the_on_demand_part(
    hours: list[list[Usage]], owned: list[CommitmentTerm], more: CommitmentTerm
) -> None:
    before = bill(hours, owned, BOOK)
    after = bill(hours, [*owned, more], BOOK)
    assert after.on_demand_cost <= before.on_demand_cost + NEAR
    for left, was in zip(after.usage, before.usage, strict=True):
        assert left.on_demand_cost <= was.on_demand_cost + NEAR
    if owned:
        larger = [replace(owned[0], count=owned[0].count * 2), *owned[1:]]
        assert bill(hours, larger, BOOK).on_demand_cost <= before.on_demand_cost + NEAR


@settings(max_examples=25, deadline=None)
@given(hours_of, held)
def test_the_parts_give_the_whole(hours: list[list[Usage]], owned: list[CommitmentTerm]) -> None:
    result = bill(hours, owned, BOOK)
    assert cents(result.total) == cents(sum((u.billed for u in result.usage), D(0)) + result.commitment_cost)
    covered = sum((c.covered_cost for c in result.commitments), D(0))
    uncovered = sum((u.on_demand_cost for u in result.usage), D(0))
    assert cents(covered + uncovered) == cents(result.list_cost)
    by_usage = sum((u.covered_hours for u in result.usage), D(0))
    assert abs(by_usage - sum((c.covered_hours for c in result.commitments), D(0))) < NEAR
    single: list[BillLines] = [bill_hour(u, owned, BOOK, h) for h, u in enumerate(hours)]
    whole = replace(result, usage=tuple(replace(u, sustained_discount=D(0)) for u in result.usage))
    for figure in ("list_cost", "total", "cash", "unused"):
        assert cents(sum((getattr(b, figure) for b in single), D(0))) == cents(getattr(whole, figure))


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(BOUGHT), amounts)
def test_a_year_costs_upfront_plus_recurring(offer: Offer, count: Decimal) -> None:
    owned = CommitmentTerm(offer, count, 0)
    whole = whole_offer(owned, BOOK)
    assert cents(amortised_cost(whole, 8760)) == cents(whole.upfront + 8760 * whole.hourly)
    assert commitment_cost(whole, 8760) == whole.upfront + 8760 * whole.hourly
    expected = {Payment.NONE: D(0), Payment.PARTIAL: whole.term_cost / 2, Payment.ALL: whole.term_cost}
    assert abs(whole.upfront - expected[offer.key.payment]) < NEAR


@given(
    st.integers(0, 10_000), st.integers(0, 4_000), st.sampled_from([1, 60, 600, 3600]), st.sampled_from([0, 60, 600])
)
def test_longer_never_costs_less(seconds: int, more: int, step: int, minimum: int) -> None:
    rule, offer = BillingRule(step, minimum), BOOK.offer(LISTED[0])
    assert rental_cost(offer, seconds, rule) <= rental_cost(offer, seconds + more, rule)
    billed = billed_seconds(seconds, rule)
    assert billed >= seconds
    assert billed - seconds < max(step, minimum) or seconds == 0
    assert billed_seconds(billed, rule) == billed


@settings(max_examples=25, deadline=None)
@given(spread)
def test_sustained_use_is_the_sum_of_its_levels(levels: list[int]) -> None:
    total = D(sum(levels))
    cost = sustained_cost([D(x) for x in levels], D(1), N1)
    one_by_one = (D(sum(x >= level for x in levels)) / 730 for level in range(1, 4))
    assert abs(cost - sum((monthly_sustained_cost(D(1), N1, used) for used in one_by_one), D(0))) < NEAR
    assert total * D("0.7") - NEAR <= cost <= total + NEAR
    assert paper_sustained_cost(total, D(1), N1) <= cost + NEAR
