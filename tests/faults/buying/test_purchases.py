"""Rows I1 to I9 of the fault matrix: whatever breaks, a commitment is bought once, as approved, or not at all."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from purchasing import KEYED, OPEN, OPTIONS, CrashAt, Died, Shop, approved, changed, go_on, later, wanted

from hcloud.errors import (
    Call,
    CredentialsError,
    DeniedByGuardError,
    EvidenceError,
    HcloudError,
    InputError,
    LockedError,
    PartialError,
    RefusedError,
    StaleError,
    ThrottledError,
    UnavailableError,
)
from hcloud.fake.in_memory.memory import MemoryCloud
from hcloud.live.buying import cancelling as purchase_cancel
from hcloud.live.buying import purchase
from hcloud.live.buying.purchase import execute
from hcloud.model.catalog import Payment, PurchaseOption
from hcloud.model.holdings.live import Commitment, CommitmentOrder, CommitmentQuote
from hcloud.model.holdings.purchase import PurchaseOutcome, PurchasePlan
from hcloud.planning.purchases.gates import PurchaseApproval
from hcloud.planning.purchases.unknown import GRACE

A_WHILE = GRACE.total_seconds() + 60
LOST = ("dropped-after", "dropped-before", "nonsense", "nonsense-before", "server-error", "unavailable")


@pytest.fixture(params=sorted(OPTIONS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def points(kind: str, directory: Path, **fault: object) -> list[str]:
    """The crash points of a purchase, in the order in which it comes to them."""
    shop, crash = Shop.open(kind, directory), CrashAt()
    plan = shop.plan()
    if fault:
        shop.faults({"on": "buy", **fault})
    with suppress(HcloudError):
        shop.apply(plan, crash=crash)
    return crash.met


def told(shop: Shop, plan: PurchasePlan, crash: Callable[[str], None] = go_on) -> str | None:
    """What is said where the outcome is unknown (exit 6); None where it is not."""
    try:
        shop.apply(plan, crash=crash)
    except PartialError as error:
        return f"{error} (exit {error.exit_code})"
    return None


# ---- I1, I2: lost answers and crashes


@pytest.mark.parametrize("answer", LOST)
def test_I1_I2_a_lost_answer_never_buys_twice(kind: str, answer: str, tmp_path: Path) -> None:
    shop = Shop.open(kind, tmp_path)
    plan = shop.plan()
    shop.faults({"on": "buy", "answer": answer, "first": 1})
    said = told(shop, plan)
    assert said is None or all(word in said for word in ("unknown", plan.items[0].key))
    assert shop.bought <= 1
    shop.cloud.clock.advance(A_WHILE)
    (result,) = shop.apply(plan)
    assert (shop.bought, result.id) == (1, next(iter(shop.cloud.ledger.purchases)))
    assert result.outcome in (PurchaseOutcome.BOUGHT, PurchaseOutcome.FOUND)


def test_I1_I2_what_cannot_be_read_after_a_purchase_was_not_refused(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Shop.open(kind, tmp_path)
    plan, crash, buy = shop.plan(), CrashAt(), shop.cloud.buy

    def unread(quote: CommitmentQuote) -> Commitment:
        buy(quote)
        raise UnavailableError("no answer", Call("fake", "here", "read"))

    monkeypatch.setattr(shop.cloud, "buy", unread)
    (result,) = shop.apply(plan, crash=crash)
    assert (shop.bought, result.outcome) == (1, PurchaseOutcome.FOUND)
    assert "commit.refused" not in crash.met


@pytest.mark.parametrize(
    ("answer", "delay"), [("", 0), ("dropped-before", 0), ("dropped-after", 0), ("dropped-after", 60)]
)
def test_I1_I2_a_crash_at_each_boundary_never_buys_twice(kind: str, answer: str, delay: int, tmp_path: Path) -> None:
    for number in range(1, 12):
        (tmp_path / str(number)).mkdir()
        shop = Shop.open(kind, tmp_path / str(number))
        plan = shop.plan()
        rules = ({"on": "buy", "answer": answer, "first": 1},) if answer else ()
        shop.faults(*rules, visibility_delay=delay)
        crash = CrashAt(number)
        with suppress(Died):
            told(shop, plan, crash)
        said = told(shop, plan)  # at once, by somebody in a hurry
        assert said is None or "(exit 6)" in said
        assert shop.bought <= 1
        shop.faults()
        shop.cloud.clock.advance(A_WHILE)
        shop.apply(plan)
        assert shop.bought == 1
        assert [p.outcome for p in shop.history.purchases][-1] in (PurchaseOutcome.BOUGHT, PurchaseOutcome.FOUND)
        assert not shop.history.open
        if len(crash.met) < number:
            return
    pytest.fail("the sweep did not come to its end")


def test_I1_no_crash_point_of_a_purchase_is_dead(tmp_path: Path) -> None:
    source = "".join(Path(str(m.__file__)).read_text(encoding="utf-8") for m in (purchase, purchase_cancel))
    named = set(re.findall(r'crash\("([^"]+)"\)', source))
    met: set[str] = set()
    for number, fault in enumerate(({}, {"answer": "dropped-after"}, {"answer": "denied"})):
        (tmp_path / str(number)).mkdir()
        met |= set(points("aws", tmp_path / str(number), **fault))
    cancelling = {n for n in named if ".cancel." in n}
    assert met | cancelling == named


def test_I1_without_a_key_nothing_is_sent_twice(tmp_path: Path) -> None:
    shop = Shop.open("aws", tmp_path)
    plan = shop.plan()
    shop.faults({"on": "buy", "answer": "dropped-before"})
    with pytest.raises(PartialError, match="unknown whether"):
        shop.apply(plan)
    assert (shop.asked, shop.bought) == (1, 0)


@pytest.mark.parametrize("kind", KEYED)
def test_I2_under_a_key_the_same_order_is_sent_again_and_bought_once(kind: str, tmp_path: Path) -> None:
    shop = Shop.open(kind, tmp_path)
    plan = shop.plan()
    shop.faults({"on": "buy", "answer": "dropped-after", "first": 2}, visibility_delay=300)
    (result,) = shop.apply(plan)
    assert (shop.asked, shop.bought, result.outcome) == (3, 1, PurchaseOutcome.BOUGHT)


@pytest.mark.parametrize("kind", KEYED)
def test_I2_a_refusal_after_a_lost_answer_is_not_taken_for_an_answer_to_it(kind: str, tmp_path: Path) -> None:
    shop = Shop.open(kind, tmp_path)
    plan = shop.plan()
    lost: dict[str, object] = {"on": "buy", "answer": "dropped-after", "calls": [1]}
    shop.faults(lost, {"on": "buy", "answer": "expired-credentials", "from_call": 2}, visibility_delay=600)
    with pytest.raises(PartialError):
        shop.apply(plan)
    assert [p.outcome for p in shop.history.purchases] == [PurchaseOutcome.UNKNOWN]
    shop.faults(visibility_delay=0)
    assert shop.apply(plan)[0].outcome is PurchaseOutcome.FOUND
    assert shop.bought == 1


def test_I1_every_later_purchase_waits_until_an_unknown_one_is_settled(tmp_path: Path) -> None:
    shop = Shop.open("aws", tmp_path)
    first = shop.plan()
    other = shop.plan(wanted("aws-plan"))
    shop.faults({"on": "buy", "answer": "dropped-before", "first": 1})
    with pytest.raises(PartialError):
        shop.apply(first)
    for plan in (first, other):
        with pytest.raises(PartialError, match="nothing else is bought"):
            shop.apply(plan)
    assert (shop.asked, shop.bought) == (1, 0)


@pytest.mark.parametrize("queued", [True, False])
def test_I1_one_like_it_of_another_time_is_not_taken_for_it(tmp_path: Path, queued: bool) -> None:
    """Where the answer to a renewal was lost and it was not bought, one for today that somebody bought meanwhile was
    taken for it: there was none from its day on."""
    shop = Shop.open("aws", tmp_path)
    day = later(shop.now(), days=30)
    mine, theirs = (day, None) if queued else (None, day)
    plan = shop.plan(replace(wanted("aws"), starts=mine))
    shop.faults({"on": "buy", "answer": "dropped-before", "first": 1})
    with pytest.raises(PartialError):
        shop.apply(plan)
    order = plan.items[0].quote.order
    shop.cloud.buy(shop.cloud.quote(replace(order, key="f" * 32, starts=theirs)))
    shop.cloud.clock.advance(20 * 60)
    with pytest.raises(PartialError, match="not as ordered"):
        shop.apply(plan)


def test_I1_a_second_like_it_that_somebody_else_bought_cannot_be_told_apart(tmp_path: Path) -> None:
    shop = Shop.open("aws", tmp_path)
    plan = shop.plan()
    shop.faults({"on": "buy", "answer": "dropped-after", "first": 1}, visibility_delay=120)
    with pytest.raises(PartialError):
        shop.apply(plan)
    shop.cloud.buy(plan.items[0].quote)  # a person, in the console
    shop.cloud.clock.advance(A_WHILE)
    with pytest.raises(PartialError, match="which of them"):
        shop.apply(plan)
    assert shop.asked == 2


def test_I1_an_empty_list_says_nothing_about_a_purchase(tmp_path: Path) -> None:
    shop = Shop.open("aws", tmp_path)
    shop.apply(shop.plan())
    plan = shop.plan(wanted("aws", 3, "another/place"))
    shop.faults(
        {"on": "buy", "answer": "dropped-after", "first": 1}, {"on": "commitments", "answer": "empty", "from_call": 3}
    )
    with pytest.raises(PartialError):
        shop.apply(plan)
    shop.cloud.clock.advance(A_WHILE)
    with pytest.raises(PartialError, match="does not list"):
        shop.apply(plan)
    assert shop.bought == 2
    shop.faults()
    assert shop.apply(plan)[0].outcome is PurchaseOutcome.FOUND
    assert shop.bought == 2


def test_I1_a_refusal_buys_nothing_and_the_same_plan_may_be_tried_again(kind: str, tmp_path: Path) -> None:
    for answer, error in (
        ("denied", HcloudError), ("expired-credentials", CredentialsError), ("throttled", ThrottledError),
    ):  # fmt: skip
        place = tmp_path / answer
        place.mkdir()
        shop = Shop.open(kind, place)
        plan = shop.plan()
        shop.faults({"on": "buy", "answer": answer, "first": 1})
        with pytest.raises(error):
            shop.apply(plan)
        assert (shop.bought, shop.asked, shop.history.open) == (0, 1, ())
        shop.apply(plan)
        assert shop.bought == 1


def test_A6_nothing_is_asked_when_the_intent_cannot_be_noted(kind: str, tmp_path: Path) -> None:
    shop = Shop.open(kind, tmp_path)
    plan = shop.plan()
    ground = shop.ground()
    refusing = replace(ground, ledger=Refusing(ground.ledger))  # type: ignore[arg-type]
    with pytest.raises(HcloudError, match="no room"):
        execute(plan, OPEN, approved, refusing)
    assert (shop.asked, shop.bought) == (0, 0)


class Refusing:
    """A ledger on a full disk."""

    def __init__(self, ledger: object) -> None:
        self._ledger = ledger

    def __getattr__(self, name: str) -> object:
        return getattr(self._ledger, name)

    def intend(self, intent: object) -> None:
        raise HcloudError("no room")


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_I1_I2_any_sequence_of_faults_and_crashes_buys_at_most_once(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    kind = data.draw(st.sampled_from(sorted(OPTIONS)))
    shop = Shop.open(kind, tmp_path_factory.mktemp("shop"))
    plan = shop.plan()
    for _ in range(data.draw(st.integers(1, 5))):
        rules = [
            {"on": data.draw(st.sampled_from(["buy", "commitments", "quote", "*"])), "answer": answer, "first": 2}
            for answer in data.draw(st.lists(st.sampled_from([*LOST, "throttled", "empty", "denied"]), max_size=2))
        ]
        shop.faults(*rules, visibility_delay=data.draw(st.sampled_from([0, 5, 120, 600])))
        with suppress(HcloudError, Died):
            shop.apply(plan, crash=CrashAt(data.draw(st.integers(0, 8))))
        assert shop.bought <= 1
        shop.cloud.clock.advance(data.draw(st.sampled_from([0, 30, 400, 1000])))
    shop.faults()
    shop.cloud.clock.advance(A_WHILE)
    shop.apply(plan)
    assert (shop.bought, len(shop.history.open)) == (1, 0)


# ---- I3: the same plan twice


def test_I3_the_same_plan_in_sequence_is_a_no_op(kind: str, tmp_path: Path) -> None:
    shop = Shop.open(kind, tmp_path)
    plan = shop.plan()
    shop.apply(plan)
    asked = len(shop.cloud.ledger.requests)
    shop.cloud.clock.advance(40 * 86_400)  # long after it has expired
    (again,) = execute(plan, OPEN, nobody, shop.ground())
    assert again.before
    assert (shop.bought, shop.asked) == (1, 1)
    assert len(shop.cloud.ledger.requests) - asked <= 1


def nobody(plan: object) -> PurchaseApproval:
    raise AssertionError("nobody is asked")


def test_I3_the_same_plan_at_once_works_for_exactly_one(kind: str, tmp_path: Path) -> None:
    shop = Shop.open(kind, tmp_path)
    plan = shop.plan()
    inside, out = threading.Event(), threading.Event()

    def slowly(shown: object) -> PurchaseApproval:
        inside.set()
        assert out.wait(60)
        return approved(plan)

    worker = threading.Thread(target=lambda: execute(plan, OPEN, slowly, shop.ground()))
    worker.start()
    try:
        assert inside.wait(60)
        with pytest.raises(LockedError, match="commit apply"):
            shop.apply(plan)
    finally:
        out.set()
        worker.join()
    assert shop.bought == 1


def test_I3_another_plan_for_the_same_need_is_stale_once_one_was_bought(kind: str, tmp_path: Path) -> None:
    shop = Shop.open(kind, tmp_path)
    first, second = shop.plan(), shop.plan(wanted(shop.kind, 7))
    assert [i.key for i in first.items] == [i.key for i in second.items]
    shop.faults(visibility_delay=3600)
    shop.apply(first)
    with pytest.raises(StaleError, match="purchases were made since"):
        shop.apply(second)
    assert (shop.asked, shop.bought) == (1, 1)


def test_I3_a_plan_is_worth_nothing_beside_another_ledger(kind: str, tmp_path: Path) -> None:
    shop = Shop.open(kind, tmp_path)
    plan = shop.plan()
    shop.apply(plan)
    (tmp_path / "elsewhere").mkdir()
    elsewhere = replace(shop, directory=tmp_path / "elsewhere" / ".hcloud")
    for begun in (False, True):
        if begun:
            elsewhere.ledger.begin()
        with pytest.raises(StaleError, match="ledger"):
            elsewhere.apply(plan)
    assert shop.bought == 1


# ---- I4, J1: what moved since


@pytest.mark.parametrize("factor", [1.01, 0.5, 100.0, 0.01])
def test_I4_a_price_that_moved_is_refused(kind: str, factor: float, tmp_path: Path) -> None:
    shop = Shop.open(kind, tmp_path)
    plan = shop.plan()
    if OPTIONS[kind].is_spend_based:
        return  # what is committed is dollars: their price is 1
    shop.faults(price_factor=factor)
    with pytest.raises(StaleError) as caught:
        shop.apply(plan)
    assert caught.value.exit_code == 4
    assert (shop.asked, shop.bought) == (0, 0)


def test_I4_within_the_tolerance_it_is_bought_at_the_price_that_was_shown(tmp_path: Path) -> None:
    shop, shown = Shop.open("aws", tmp_path), list[PurchasePlan]()

    def read(plan: PurchasePlan) -> PurchaseApproval:
        shown.append(plan)
        return approved(plan)

    plan = shop.plan()
    shop.faults(price_factor=1.01)
    execute(plan, replace(OPEN, tolerance=Decimal("0.02")), read, shop.ground())
    (bought,) = shop.cloud.ledger.purchases.values()
    assert bought.hourly == shown[0].items[0].quote.hourly > plan.items[0].quote.hourly


def test_I4_what_was_typed_for_the_old_price_does_not_buy_at_the_new_one(tmp_path: Path) -> None:
    shop = Shop.open("aws", tmp_path)
    plan = shop.plan()
    shop.faults(price_factor=1.01)
    with pytest.raises(DeniedByGuardError, match=r"was approved.*nothing was bought"):
        execute(plan, replace(OPEN, tolerance=Decimal("0.02")), lambda _: approved(plan), shop.ground())
    assert shop.bought == 0


def test_I4_a_price_that_rises_after_it_was_shown_is_refused_by_the_cloud(tmp_path: Path) -> None:
    shop = Shop.open("aws", tmp_path)
    plan = shop.plan()

    def slowly(shown: object) -> PurchaseApproval:
        shop.faults(price_factor=1.2)
        return approved(plan)

    with pytest.raises(RefusedError):
        execute(plan, OPEN, slowly, shop.ground())
    assert (shop.bought, [p.outcome for p in shop.history.purchases]) == (0, [PurchaseOutcome.REFUSED])


class Selling:
    """A cloud that sells something else than was planned."""

    def __init__(self, cloud: MemoryCloud, change: dict[str, object]) -> None:
        self._cloud = cloud
        self._change = change

    def __getattr__(self, name: str) -> object:
        return getattr(self._cloud, name)

    def quote(self, order: CommitmentOrder) -> CommitmentQuote:
        quote = self._cloud.quote(order)
        fields = {k: v for k, v in self._change.items() if k in ("term_years", "payment", "count")}
        others = {k: v for k, v in self._change.items() if k not in fields}
        return replace(quote, order=replace(order, **fields), **others)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "change", [{"term_years": 3}, {"payment": Payment.ALL}, {"offering": "another"}, {"currency": "EUR"}, {"count": 50}]
)
def test_I4_another_term_payment_currency_or_offering_is_refused(change: dict[str, object], tmp_path: Path) -> None:
    shop = Shop.open("aws", tmp_path)
    plan = shop.plan()
    ground = shop.ground(cloud=Selling(shop.cloud, change))  # type: ignore[arg-type]
    with pytest.raises((StaleError, EvidenceError)):
        execute(plan, replace(OPEN, tolerance=Decimal(1)), approved, ground)
    assert shop.asked == 0


def test_J1_commitments_that_came_or_went_make_a_plan_stale(kind: str, tmp_path: Path) -> None:
    shop = Shop.open(kind, tmp_path)
    plan = shop.plan()
    other = replace(plan.items[0].quote, order=replace(plan.items[0].quote.order, key="e" * 32))
    shop.cloud.buy(other)  # a person, in the console
    with pytest.raises(StaleError, match="commitments changed"):
        shop.apply(plan)
    assert shop.bought == 1


def test_J1_another_account_or_region_is_refused(kind: str, tmp_path: Path) -> None:
    shop = Shop.open(kind, tmp_path)
    plan = shop.plan()
    with pytest.raises(StaleError, match="these credentials"):
        execute(plan, OPEN, approved, shop.ground(cloud=shop.cloud.as_principal("another-account")))
    assert shop.bought == 0


def test_J3_an_expired_plan_is_refused(kind: str, tmp_path: Path) -> None:
    shop = Shop.open(kind, tmp_path)
    plan = shop.plan()
    for seconds in (-3600, 3600 + 86_400):
        shop.cloud.clock.advance(seconds)
        with pytest.raises(StaleError, match="held until"):
            shop.apply(plan)
    assert shop.asked == 0


# ---- I5: gates


def test_I5_each_closed_gate_refuses_in_its_own_words_before_the_cloud_is_asked(kind: str, tmp_path: Path) -> None:
    shop = Shop.open(kind, tmp_path)
    plan = shop.plan()
    asked = len(shop.cloud.ledger.requests)
    for gates, said in (
        (replace(OPEN, enabled=False, allowed=False), "not enabled"),
        (replace(OPEN, allowed=False), "HYC_ALLOW_PURCHASE"),
    ):
        with pytest.raises(DeniedByGuardError, match=said) as caught:
            shop.apply(plan, gates)
        assert caught.value.exit_code == 3
    assert len(shop.cloud.ledger.requests) == asked
    with pytest.raises(DeniedByGuardError, match="ceiling is not set"):
        shop.apply(plan, replace(OPEN, ceiling=None))
    assert shop.asked == 0


@pytest.mark.parametrize("amount", ["", "0", "1", "-1", "nan", "1e9", "2,628.00", "2628.001", "٢", "2 628.00", "all"])
def test_I5_another_amount_than_the_shown_one_is_refused(amount: str, tmp_path: Path) -> None:
    shop = Shop.open("aws", tmp_path)
    plan = shop.plan()
    assert plan.amount == Decimal("2628")
    with pytest.raises(DeniedByGuardError):
        execute(plan, OPEN, lambda p: PurchaseApproval(p.digest, amount), shop.ground())
    with pytest.raises(DeniedByGuardError, match="is "):
        execute(plan, OPEN, lambda p: PurchaseApproval("0" * 64, "2628.00"), shop.ground())
    assert shop.asked == 0


def test_I5_the_ceiling_holds_for_past_and_new_purchases_together(kind: str, tmp_path: Path) -> None:
    shop = Shop.open(kind, tmp_path)
    first = shop.plan()
    gates = replace(OPEN, ceiling=first.amount * Decimal("1.5"))
    shop.apply(first, gates)
    second = shop.plan(wanted(kind, 5, "another/place"))
    with pytest.raises(DeniedByGuardError, match="on top of"):
        shop.apply(second, gates)
    assert shop.bought == 1
    shop.apply(second, replace(OPEN, ceiling=first.amount * 2))
    assert shop.bought == 2


def test_I5_a_purchase_that_is_unknown_counts_against_the_ceiling_once(tmp_path: Path) -> None:
    shop = Shop.open("gcp", tmp_path)
    plan = shop.plan()
    shop.faults({"on": "buy", "answer": "dropped-before", "first": 3})
    gates = replace(OPEN, ceiling=plan.amount)
    with pytest.raises(PartialError):
        shop.apply(plan, gates)
    assert shop.history.committed(shop.now()) == plan.amount
    shop.apply(plan, gates)
    assert shop.bought == 1


# ---- I8, I9: quantities and sums


@pytest.mark.parametrize("count", [-1, 0, 10**9])
def test_I8_a_count_that_cannot_be_is_refused_before_any_call(kind: str, count: int, tmp_path: Path) -> None:
    shop = Shop.open(kind, tmp_path)
    plan = shop.plan()
    quote = plan.items[0].quote
    spends = quote.order.dollars_per_hour is not None
    order = replace(quote.order, dollars_per_hour=Decimal(count)) if spends else replace(quote.order, count=count)
    asked = len(shop.cloud.ledger.requests)
    with pytest.raises(InputError):
        shop.apply(changed(plan, items=(replace(plan.items[0], quote=replace(quote, order=order)),)))
    assert len(shop.cloud.ledger.requests) == asked


@pytest.mark.parametrize(("kind", "option"), [("gcp", "committed-use"), ("azure", "reservation")])
def test_I9_a_cloud_that_sells_for_today_only_refuses_a_later_day_in_memory_too(kind: str, option: str) -> None:
    cloud = MemoryCloud(kind)
    name = cloud.world.semantics.types[0]
    order = CommitmentOrder("k" * 32, PurchaseOption(option), name, 1, Payment.NONE, 1, None)
    assert cloud.quote(order).order == order
    with pytest.raises(RefusedError, match="not on a day of choice"):
        cloud.quote(replace(order, starts=datetime(2030, 1, 1, tzinfo=UTC)))


@pytest.mark.parametrize("price", ["0", "-0.5", "NaN", "Infinity"])
def test_K8_a_price_that_is_no_price_is_refused_before_any_call(price: str, tmp_path: Path) -> None:
    shop = Shop.open("aws", tmp_path)
    plan = shop.plan()
    quote = replace(plan.items[0].quote, hourly=Decimal(price), upfront=Decimal(0))
    asked = len(shop.cloud.ledger.requests)
    with pytest.raises(EvidenceError) as caught:
        shop.apply(replace(plan, items=(replace(plan.items[0], quote=quote),)))
    assert caught.value.exit_code == 9
    assert len(shop.cloud.ledger.requests) == asked


def test_I9_a_hundred_thousand_purchases_add_up_to_the_cent(tmp_path: Path) -> None:
    plan = Shop.open("aws", tmp_path).plan()
    quote = replace(plan.items[0].quote, upfront=Decimal("0.1"), hourly=Decimal("0.2"))
    item = replace(plan.items[0], quote=quote)
    many = replace(plan, items=(item,) * 100_000)
    assert many.amount == (Decimal("0.1") + Decimal("0.2") * 8760) * 100_000 == Decimal("175210000.0")


def test_a_part_that_was_bought_is_told_and_the_same_plan_buys_the_rest(tmp_path: Path) -> None:
    shop = Shop.open("aws", tmp_path)
    plan = shop.plan(wanted("aws"), wanted("aws-plan"))
    shop.faults({"on": "buy", "answer": "denied", "calls": [2]})
    with pytest.raises(PartialError, match="1 of 2") as caught:
        shop.apply(plan)
    assert (caught.value.exit_code, shop.bought) == (6, 1)
    first, second = shop.apply(plan)
    assert (first.before, second.before, shop.bought) == (True, False, 2)
