"""Charges against a second-by-second reckoning, and what holds of them whatever ran and was committed to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from billing import BOOK, DAY, HOUR, MONTH, commitment, machine, tariff
from hypothesis import given, settings
from hypothesis import strategies as st

from hcloud.catalog.bills.billing import charges
from hcloud.model.catalog import Provider, PurchaseOption
from hcloud.model.holdings.live import Commitment
from hcloud.model.report import Costs, MachineRental, Period
from hcloud.planning.reports.report import Dimension, grouped, shown, to_cents, total
from hcloud.planning.reports.savings import coverage, savings
from hcloud.units import cents

D = Decimal
NEAR = D("1e-9")
SPAN = 3 * HOUR
PRICE = D("0.10")
starts = st.integers(-HOUR, SPAN)
lengths = st.one_of(st.none(), st.integers(0, 2 * HOUR), st.sampled_from([59, 60, 61, HOUR, 2 * HOUR]))
options = st.sampled_from([PurchaseOption.ON_DEMAND, PurchaseOption.ON_DEMAND, PurchaseOption.SPOT])


@st.composite
def fleets(draw: st.DrawFn, span: int = SPAN) -> list[MachineRental]:
    found = []
    for number in range(draw(st.integers(0, 4))):
        start, length = draw(starts), draw(lengths)
        end = None if length is None else MONTH + start + length
        kind = draw(st.sampled_from(["m5.large", "m5.large", "m5.xlarge", "c5.large"]))
        tags = draw(st.sampled_from([{}, {"team": "red"}, {"team": "blue"}]))
        address = draw(st.sampled_from(["web", "batch"]))
        found.append(
            machine(
                f"i-{number}", MONTH + start, end, instance_type=kind, option=draw(options), tags=tags, address=address
            )
        )
    return found


@st.composite
def holdings(draw: st.DrawFn) -> list[Commitment]:
    found = []
    for number in range(draw(st.integers(0, 3))):
        begins = datetime.fromtimestamp(MONTH + draw(st.integers(-HOUR, HOUR)), UTC)
        option = draw(st.sampled_from([PurchaseOption.RESERVED, PurchaseOption.COMPUTE_SAVINGS_PLAN]))
        kind, count = ("m5.large", draw(st.integers(1, 3))) if option is PurchaseOption.RESERVED else ("", 0)
        hourly, upfront = draw(st.sampled_from([("0.06", "0"), ("0", "525.6"), ("0.031", "262.77"), ("0.2", "100")]))
        more = {"instance_type": kind, "count": count, "starts": begins, "ends": begins + timedelta(days=365)}
        found.append(commitment(f"c-{number}", option, hourly, upfront, **more))
    return found


def reckoned(rented: list[MachineRental], count: int, start: int, end: int) -> tuple[Decimal, int]:
    """(dollars on demand, machine-seconds covered) of m5.large with ``count`` reserved instances, counted second by
    second: the minimum of 60 s falls on a rental's first second."""
    dollars, covered = D(0), 0
    for hour in range(start // HOUR, -(-end // HOUR)):
        seconds = range(max(hour * HOUR, start), min((hour + 1) * HOUR, end))
        charged = 0
        for one in rented:
            for second in seconds:
                lives = one.start <= second and (one.end is None or second < one.end)
                if lives:
                    charged += 60 if second == one.start else int(second - one.start >= 60)
        free = min(charged, count * len(seconds))
        covered += free
        dollars += (charged - free) * PRICE / HOUR
    return dollars, covered


@settings(max_examples=25, deadline=None)
@given(
    ends=st.lists(st.tuples(st.integers(-400, 5000), st.integers(1, 4000)), max_size=3),
    count=st.integers(0, 2),
    cut=st.integers(1, 5400),
)
def test_charges_are_those_of_a_reckoning_second_by_second(ends: list[tuple[int, int]], count: int, cut: int) -> None:
    rented = [machine(f"i-{n}", MONTH + a, MONTH + a + length) for n, (a, length) in enumerate(ends)]
    held = [commitment(count=count, starts=datetime.fromtimestamp(MONTH - DAY, UTC))] if count else []
    period = Period(MONTH, MONTH + cut)
    found = total(c for c in charges(rented, held, tariff(), period) if c.resource)
    dollars, covered = reckoned(rented, count, period.start, period.end)
    assert abs(found.billed - dollars) < NEAR
    assert abs(found.list - dollars - covered * PRICE / HOUR) < NEAR


@settings(max_examples=25, deadline=None)
@given(fleets(), holdings(), st.integers(1, SPAN))
def test_the_parts_of_a_report_add_up_however_it_is_grouped(
    rented: list[MachineRental], held: list[Commitment], cut: int
) -> None:
    rows = charges(rented, held, tariff(), Period(MONTH, MONTH + cut))
    whole = total(rows)
    for by in (
        [],
        [Dimension.APP],
        [Dimension.TEAM, Dimension.TYPE],
        [Dimension.OPTION],
        [Dimension.DAY, Dimension.APP],
    ):
        groups = grouped(rows, by)
        added = Costs()
        for group in groups:
            added = added + group.costs
        assert added == whole
        rounded = shown([g.costs for g in groups])
        assert sum((c.effective for c in rounded), D(0)) == cents(whole.effective)


@settings(max_examples=60, deadline=None)
@given(fleets(), holdings(), st.integers(1, SPAN))
def test_coverage_and_utilisation_are_shares(rented: list[MachineRental], held: list[Commitment], cut: int) -> None:
    rows = charges(rented, held, tariff(), Period(MONTH, MONTH + cut))
    found = coverage(rows)
    for share in (found.coverage, found.utilisation):
        assert share is None or 0 <= share <= 1
    made = savings(rows)
    assert made.saved == made.commitments + made.spot + made.sustained


@settings(max_examples=40, deadline=None)
@given(fleets(), holdings(), st.integers(1, SPAN), st.integers(1, SPAN))
def test_successive_periods_add_up_to_the_whole(
    rented: list[MachineRental], held: list[Commitment], hours: int, more: int
) -> None:
    """Cut at a full hour, where commitments begin anew."""
    cut = MONTH + (hours // HOUR + 1) * HOUR
    whole = total(charges(rented, held, tariff(), Period(MONTH, cut + more)))
    parts = [total(charges(rented, held, tariff(), p)) for p in (Period(MONTH, cut), Period(cut, cut + more))]
    for name in ("list", "contracted", "effective", "billed"):
        assert abs(getattr(whole, name) - sum((getattr(p, name) for p in parts), D(0))) < NEAR


@settings(max_examples=40, deadline=None)
@given(fleets(), holdings())
def test_a_commitment_that_nobody_uses_lowers_no_bill(rented: list[MachineRental], held: list[Commitment]) -> None:
    period = Period(MONTH, MONTH + SPAN)
    alone = charges(rented, held, tariff(), period)
    idle = commitment("idle", hourly="0.05", instance_type="c5.large", starts=datetime.fromtimestamp(MONTH, UTC))
    more = charges([u for u in rented if u.instance_type != "c5.large"], [*held, idle], tariff(), period)
    without = charges([u for u in rented if u.instance_type != "c5.large"], held, tariff(), period)
    assert total(more).billed >= total(without).billed
    assert total(alone).list >= total(without).list


@settings(max_examples=4, deadline=None)
@given(
    st.integers(0, 40),
    st.integers(1, 3),
    st.sampled_from([("0.06", "0"), ("0", "525.6"), ("0.031", "262.77")]),
)
def test_over_its_term_a_commitment_is_as_effective_as_it_was_billed(
    days: int, count: int, price: tuple[str, str]
) -> None:
    held = [commitment("c", PurchaseOption.RESERVED, *price, count=count)]
    rows = charges([machine(end=MONTH + days * DAY + 1234)], held, tariff(), Period(MONTH, MONTH + 366 * DAY))
    mine = [c for c in rows if c.commitment == "c"]
    assert total(mine).effective == total(mine).billed


@given(st.lists(st.decimals(-1000, 1000, places=7), max_size=12))
def test_rounded_parts_add_up_to_the_rounded_whole_and_are_near_themselves(amounts: list[Decimal]) -> None:
    rounded = to_cents(amounts)
    assert sum(rounded, D(0)) == cents(sum(amounts, D(0)))
    assert all(abs(a - b) < D("0.01") + NEAR for a, b in zip(amounts, rounded, strict=True))


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 31), st.integers(1, 3))
def test_sustained_use_never_costs_more_than_its_list_price(days: int, count: int) -> None:
    end = MONTH + days * DAY
    rented = [machine(f"g-{n}", MONTH + n * 1000, end, instance_type="n1-standard-4") for n in range(count)]
    found = total(charges(rented, [], tariff(Provider.GCP, BOOK), Period(MONTH, MONTH + 30 * DAY)))
    assert found.list * D("0.7") - NEAR <= found.billed <= found.list
