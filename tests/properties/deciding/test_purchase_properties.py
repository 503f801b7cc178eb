"""What holds for every plan, every holding and every sum of purchases."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from purchasing import OPEN, OPTIONS, Shop, wanted

from hcloud.errors import DeniedByGuardError, HcloudError, InputError
from hcloud.model.catalog import Payment, PurchaseOption
from hcloud.model.holdings.live import Commitment, CommitmentOrder, CommitmentQuote, Scope
from hcloud.model.holdings.purchase import PurchaseConclusion, PurchaseIntent, PurchaseOutcome, committed, snapshot
from hcloud.planning.purchases.gates import check_ceiling, checked_count, checked_dollars, typed_amount
from hcloud.planning.purchases.history import history
from hcloud.planning.purchases.unknown import GRACE, PurchaseVerdict, judge
from hcloud.units import cents

AT = datetime(2026, 11, 21, 12, tzinfo=UTC)
SCOPE = Scope("aws", "111122223333", "eu-central-1")
money = st.decimals(0, 10**7, places=4, allow_nan=False, allow_infinity=False)


def quote(upfront: Decimal, hourly: Decimal, years: int = 1, key: str = "a" * 32) -> CommitmentQuote:
    order = CommitmentOrder(key, PurchaseOption.RESERVED, "m5.large", years, Payment.PARTIAL, 3)
    return CommitmentQuote(order, "offering", upfront, hourly, "USD")


def intent(number: int, quoted: CommitmentQuote) -> PurchaseIntent:
    return PurchaseIntent(number, AT, SCOPE, "d" * 64, "somewhere", quoted, ())


@given(st.lists(st.tuples(money, money, st.sampled_from([1, 3])), max_size=30))
def test_I9_sums_are_exact(parts: list[tuple[Decimal, Decimal, int]]) -> None:
    quotes = [quote(*part) for part in parts]
    entries = [intent(n, q) for n, q in enumerate(quotes, start=1)]
    exact = sum((Fraction(u) + Fraction(h) * 8760 * y for u, h, y in parts), Fraction(0))
    assert Fraction(sum(map(committed, quotes), Decimal(0))) == exact
    assert Fraction(history(entries).committed(AT)) == exact


@given(st.lists(st.tuples(money, st.sampled_from([None, *PurchaseOutcome])), max_size=20), money, money)
def test_I5_nothing_is_bought_above_the_ceiling(
    past: list[tuple[Decimal, PurchaseOutcome | None]], new: Decimal, ceiling: Decimal
) -> None:
    entries: list[PurchaseIntent | PurchaseConclusion] = []
    for number, (upfront, outcome) in enumerate(past, start=1):
        entries.append(intent(number, quote(upfront, Decimal(0))))
        if outcome is not None:
            entries.append(PurchaseConclusion(number, AT, outcome, f"id-{number}"))
    bound = history(entries).committed(AT)
    perhaps = (None, PurchaseOutcome.UNKNOWN, PurchaseOutcome.BOUGHT, PurchaseOutcome.FOUND)
    assert bound == sum((u for u, o in past if o in perhaps), Decimal(0))
    if bound + new > ceiling:
        with pytest.raises(DeniedByGuardError):
            check_ceiling(bound, new, ceiling)
    else:
        check_ceiling(bound, new, ceiling)


@given(st.decimals(allow_nan=True, allow_infinity=True))
def test_I8_only_whole_counts_of_a_believable_size_pass(count: Decimal) -> None:
    try:
        found = checked_count(count, "here")
    except InputError:
        assert not (count.is_finite() and count == int(count) and 1 <= count <= 10_000)
    else:
        assert found == count >= 1


@given(st.decimals(allow_nan=True, allow_infinity=True))
def test_I8_only_dollars_above_zero_pass(dollars: Decimal) -> None:
    try:
        assert 0 < checked_dollars(dollars, "here") <= 100_000
    except InputError:
        assert not dollars.is_finite() or not 0 < dollars <= 100_000


@given(st.text(max_size=12))
def test_I5_what_is_typed_is_an_amount_in_plain_digits_or_nothing(text: str) -> None:
    found = typed_amount(text)
    assert found is None or (found == cents(found) >= 0 and set(text.strip()) <= set("0123456789."))


commitments = st.builds(
    Commitment,
    id=st.sampled_from([f"c{n}" for n in range(6)]),
    option=st.just(PurchaseOption.RESERVED),
    offering=st.sampled_from(["offering", "another", ""]),
    instance_type=st.sampled_from(["m5.large", "c5.large"]),
    count=st.sampled_from([3, 4]),
    term_years=st.just(1),
    payment=st.just(Payment.PARTIAL),
    state=st.sampled_from(["pending", "active", "ended", "unknown"]),
    starts=st.sampled_from([None, AT - timedelta(days=1), AT, AT + timedelta(seconds=30)]),
    ends=st.just(AT + timedelta(days=365)),
    upfront=st.just(Decimal(100)),
    hourly=st.just(Decimal("0.1")),
    currency=st.just("USD"),
    key=st.sampled_from(["", "a" * 32, "b" * 32]),
)
holdings = st.lists(commitments, max_size=4, unique_by=lambda c: c.id)


@given(before=holdings, now=holdings, seconds=st.integers(0, 4000))
def test_I1_a_judgement_rests_on_what_is_listed(before: list[Commitment], now: list[Commitment], seconds: int) -> None:
    asked = replace(intent(1, quote(Decimal(100), Decimal("0.1"))), before=snapshot(tuple(before)))
    at = AT + timedelta(seconds=seconds)
    found = judge(asked, now, frozenset(), at)
    known = {c.id for c in before}
    new = [c for c in now if c.id not in known]
    if found.verdict is PurchaseVerdict.NOT_BOUGHT:
        assert seconds >= GRACE.total_seconds()
        assert {c.id for c in before if c.state != "ended"} <= {c.id for c in now}
        assert not any(c.instance_type == "m5.large" or c.key == asked.key for c in new)
    if found.verdict is PurchaseVerdict.BOUGHT:
        assert found.commitment in now
        assert found.commitment is not None
        assert found.commitment.key in ("", asked.key)


def test_I1_a_cloud_that_does_not_tell_the_offering_is_judged_by_terms_and_price() -> None:
    asked = intent(1, quote(Decimal(100), Decimal("0.1")))
    mine = Commitment(
        id="c1", option=PurchaseOption.RESERVED, offering="", instance_type="m5.large", count=3, term_years=1,
        payment=Payment.PARTIAL, state="active", starts=AT, ends=None, upfront=Decimal("100.0"),
        hourly=Decimal("0.10"), currency="USD",
    )  # fmt: skip
    assert judge(asked, [mine], frozenset(), AT).verdict is PurchaseVerdict.BOUGHT
    for other in (replace(mine, term_years=3), replace(mine, payment=Payment.ALL), replace(mine, upfront=Decimal(90))):
        assert judge(asked, [other], frozenset(), AT + GRACE).verdict is PurchaseVerdict.CANNOT_TELL


def test_I1_what_was_to_begin_earlier_today_begins_when_it_is_bought() -> None:
    asked = intent(1, quote(Decimal(100), Decimal("0.1")))
    mine = Commitment(
        id="c1", option=PurchaseOption.RESERVED, offering="offering", instance_type="m5.large", count=3, term_years=1,
        payment=Payment.PARTIAL, state="active", starts=AT, ends=None, upfront=Decimal(100), hourly=Decimal("0.1"),
        currency="USD",
    )  # fmt: skip
    order = replace(asked.quote.order, starts=AT - timedelta(hours=12))
    asked = replace(asked, quote=replace(asked.quote, order=order))
    assert judge(asked, [mine], frozenset(), AT).verdict is PurchaseVerdict.BOUGHT


@settings(max_examples=15, deadline=None)
@given(
    counts=st.lists(st.integers(1, 40), min_size=1, max_size=5),
    ceiling=st.integers(0, 60),
    lost=st.sets(st.integers(1, 5)),
    kind=st.sampled_from(sorted(OPTIONS)),
)
def test_V2_what_a_cloud_sold_never_exceeds_the_ceiling(
    counts: list[int], ceiling: int, lost: set[int], kind: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    shop = Shop.open(kind, tmp_path_factory.mktemp("shop"))
    most = shop.plan(wanted(kind, 1)).amount * ceiling
    shop.faults(
        {"on": "buy", "answer": "dropped-after", "calls": sorted(lost)} if lost else {"on": "no", "answer": "slow"}
    )
    for number, count in enumerate(counts):
        with suppress(HcloudError):
            shop.apply(shop.plan(wanted(kind, count, f"place/{number}")), replace(OPEN, ceiling=most or None))
        shop.cloud.clock.advance(GRACE.total_seconds() + 1)
        sold = sum((p.upfront + p.hourly * 8760 for p in shop.cloud.ledger.purchases.values()), Decimal(0))
        assert sold <= most
