"""From a plan to what is still to be bought: what is held is used up first, and nothing absurd is bought."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from purchasing import Shop, wanted

from hcloud.catalog.book import PriceBook
from hcloud.catalog.shapes import named_type
from hcloud.errors import EvidenceError, InputError
from hcloud.model.catalog import Offer, OfferKey, Origin, Payment, Provider, PurchaseOption
from hcloud.model.clouds.known import CLOUDS
from hcloud.model.holdings.live import Commitment, CommitmentOrder, CommitmentQuote, Scope
from hcloud.model.holdings.purchase import CommitmentNeed, PurchaseConclusion, PurchaseItem, Refund
from hcloud.model.plans.plan import OWNED, BesideKind, MixLine, Plan
from hcloud.model.usage import CommittedResources
from hcloud.planning.purchases.gates import check_against_plan, check_item
from hcloud.planning.purchases.history import PurchaseHistory, history
from hcloud.planning.purchases.leaving import way_out
from hcloud.planning.purchases.purchase import (
    AccountHoldings,
    PurchaseBasis,
    begins_later,
    bought_for_others,
    expiring,
    held_quantity,
    orders,
    said_of_sizes,
    still_to_buy,
    unplanned,
    wanted_of,
)
from hcloud.planning.purchases.reconciled import reconciled, said_of_parts, sentences
from hcloud.readers.configuration.config import load_config
from hcloud.readers.exit_terms import exit_terms
from hcloud.usecases.live.held import owned_sections, with_held
from hcloud.views.commitments.commit import show_left_out
from hcloud.views.console import Terminal

AT = datetime(2026, 11, 21, 12, tzinfo=UTC)
NOTHING = PurchaseHistory((), ())


def line(option: PurchaseOption, count: str, **more: Any) -> MixLine:
    """A line of a mix; ``total`` is a dollar an hour and instance for a year where nothing is said."""
    fields: dict[str, Any] = {
        "address": f"aws/us-east-1/m5.large/{option}", "provider": Provider.AWS, "region": "us-east-1",
        "instance_type": "m5.large", "option": option, "term_years": 1, "payment": Payment.NONE,
        "count": Decimal(count), "peak": 0, "vcpus": Decimal(2), "memory_gib": Decimal(8), "hourly": Decimal(count),
        "monthly": Decimal(0), "upfront": Decimal(0), "total": Decimal(count) * 8760, "break_even": Decimal("0.6"),
        "starts_hour": 0, "price_day": AT.date(), "derived": "",
    }  # fmt: skip
    return MixLine(**{**fields, **more})


def plan(*mix: MixLine, beside: Sequence[BesideKind] = ()) -> Plan:
    """As much of a plan as purchases are made of."""
    bare = SimpleNamespace(mix=mix, generated_at=AT, beside=beside)
    bare.purchases = Plan.purchases.fget(bare)  # type: ignore[attr-defined]
    return cast("Plan", bare)


def held(option: PurchaseOption, count: int, **more: Any) -> Commitment:
    """A commitment that stands."""
    fields: dict[str, Any] = {
        "id": f"c-{option}-{count}", "option": option, "offering": "o", "instance_type": "m5.large", "count": count,
        "term_years": 1, "payment": Payment.NONE, "state": "active", "starts": AT - timedelta(days=1),
        "ends": AT + timedelta(days=364), "upfront": Decimal(0), "hourly": Decimal(1), "currency": "USD",
    }  # fmt: skip
    return Commitment(**{**fields, **more})


RI, CONVERTIBLE = PurchaseOption.RESERVED, PurchaseOption.CONVERTIBLE
COMPUTE = PurchaseOption.COMPUTE_SAVINGS_PLAN
USE, RESERVATION = PurchaseOption.COMMITTED_USE, PurchaseOption.RESERVATION
CLOUD_OF = {RI: "aws", USE: "gcp", RESERVATION: "azure"}
SIZES = {
    RI: {
        "m5.large": (2, 8),
        "m5.xlarge": (4, 16),
        "m5.8xlarge": (32, 128),
        "m5.metal": (96, 384),
        "g5.xlarge": (4, 16),
        "g5.2xlarge": (8, 32),
        "t3.medium": (2, 4),
        "t3.large": (2, 8),
    },
    USE: {"n2-standard-2": (2, 8), "n2-standard-8": (8, 32), "n2-highmem-4": (4, 32), "n2-highcpu-8": (8, 8)},
    RESERVATION: {
        "Standard_DS2_v2": (2, 7),
        "Standard_DS3_v2": (4, 14),
        "Standard_DS5_v2": (16, 56),
        "Standard_DS12_v2": (4, 28),
        "Standard_E2s_v5": (2, 16),
        "Standard_D2s_v5": (2, 8),
    },
}
TYPES = {
    (Provider(CLOUD_OF[o]), name): named_type(Provider(CLOUD_OF[o]), name, Decimal(vcpus), Decimal(gib))
    for o, sizes in SIZES.items() for name, (vcpus, gib) in sizes.items()
}  # fmt: skip


def missing(made: Plan, *commitments: Commitment, others: Collection[str] = ()) -> list[Decimal]:
    return [n.missing for n in still_to_buy(made, AccountHoldings(commitments, None, others, TYPES), AT)]


def test_what_is_held_is_used_up_first_whatever_its_term() -> None:
    made = plan(line(RI, "10"))
    assert missing(made) == [10]
    assert missing(made, held(RI, 4)) == [6]
    assert missing(made, held(RI, 4), held(CONVERTIBLE, 3, term_years=3)) == [3]
    assert missing(made, held(RI, 40)) == [0]
    assert missing(made, held(RI, 4, instance_type="c5.large"), held(COMPUTE, 0)) == [10]


def of_size(name: str, count: str, prefix: str = "", special: str = "") -> MixLine:
    """A line of instances of a type, or (``OWNED``) of those that the plan counted as owned."""
    option = next(option for option, sizes in SIZES.items() if name in sizes)
    address = f"{prefix}{CLOUD_OF[option]}/somewhere/{name}/{option}{special}"
    return line(option, count, provider=Provider(CLOUD_OF[option]), instance_type=name, address=address)


def there(name: str, count: int, **more: Any) -> Commitment:
    option = next(option for option, sizes in SIZES.items() if name in sizes)
    return held(option, count, **{"id": f"{name}-{count}", "instance_type": name, **more})


ZONAL = there("m5.xlarge", 2, own_size=True)
GOOGLES_OWN = {"instance_type": "n2", "resources": CommittedResources(Decimal(8), Decimal(99))}


@pytest.mark.parametrize(
    ("wanted", "holdings", "left"),
    [
        ([("m5.large", "10")], [there("m5.xlarge", 3)], [4]),
        ([("m5.xlarge", "10")], [there("m5.large", 3)], [8]),  # half a machine is left to on demand
        ([("m5.xlarge", "10")], [there("m5.large", 4), there("m5.metal", 0)], [8]),
        ([("m5.8xlarge", "1")], [there("m5.large", 4)], [1]),  # and of three quarters the whole is bought
        ([("m5.8xlarge", "1"), ("m5.large", "6")], [there("m5.large", 4)], [1, 2]),
        ([("m5.8xlarge", "1"), ("m5.large", "6")], [there("m5.xlarge", 9)], [0, 4]),
        ([("m5.metal", "2")], [there("m5.8xlarge", 3)], [1]),
        ([("m5.large", "10")], [ZONAL], [10]),
        ([("m5.xlarge", "3"), ("m5.large", "6")], [there("m5.xlarge", 3), ZONAL], [0, 2]),
        ([("m5.large", "10")], [there("m5.xlarge", 3, special="/windows")], [10]),
        ([("m5.large", "10", "", "/windows")], [there("m5.xlarge", 3, special="/windows")], [10]),
        ([("g5.xlarge", "10")], [there("g5.2xlarge", 3), there("g5.xlarge", 1)], [9]),
        ([("m5.large", "20")], [held(RI, 2, instance_type="m5.2xlarge")], [12]),  # no price book has these,
        ([("m5.large", "20")], [held(RI, 2, instance_type="m5.metal-7")], [20]),  # and what its name does not say
        ([("n2-standard-8", "9")], [held(USE, 2, instance_type="n2-standard-16")], [5]),
        ([("n2-standard-8", "9")], [held(USE, 2, instance_type="n2-megamem-16")], [9]),
        ([("Standard_E2s_v5", "9")], [held(RESERVATION, 1, instance_type="Standard_E8s_v5")], [5]),
        ([("Standard_DS3_v2", "9")], [held(RESERVATION, 1, instance_type="Standard_DS4_v2")], [9]),
        ([("m5.large", "8", OWNED), ("m5.xlarge", "2")], [there("m5.xlarge", 4)], [2]),
        ([("Standard_DS2_v2", "10")], [there("Standard_DS3_v2", 3)], [4]),
        ([("Standard_DS5_v2", "2")], [there("Standard_DS2_v2", 8), there("Standard_DS3_v2", 3)], [0]),
        ([("Standard_DS2_v2", "10")], [there("Standard_DS12_v2", 3)], [10]),
        ([("Standard_DS3_v2", "4", OWNED), ("Standard_DS5_v2", "2")], [there("Standard_DS2_v2", 16)], [1]),
        ([("n2-standard-8", "3")], [there("n2-standard-2", 4)], [2]),
        ([("n2-standard-2", "9")], [there("n2-highmem-4", 3)], [3]),  # vCPUs for 6, and GiB for 12
        ([("n2-standard-2", "9"), ("n2-highcpu-8", "1")], [there("n2-highcpu-8", 2)], [8, 0]),
        ([("n2-highmem-4", "4"), ("n2-highcpu-8", "8")], [there("n2-highcpu-8", 8)], [4, 0]),  # its GiB are used once
        ([("n2-standard-2", "9")], [there("n2-standard-2", 8, **GOOGLES_OWN)], [5]),
        ([("n2-standard-2", "4", OWNED), ("n2-standard-8", "2")], [there("n2-standard-8", 1)], [2]),
        ([("n2-standard-2", "4", OWNED), ("n2-standard-8", "2")], [there("n2-standard-8", 2)], [1]),
    ],
)  # fmt: skip
def test_what_is_held_in_other_sizes_counts_by_what_sizes_share(
    wanted: Sequence[Sequence[str]], holdings: Sequence[Commitment], left: list[Decimal]
) -> None:
    """What an account had in D4s was bought again in D2s, and what a plan counted as owned in D2s hid what it wanted in
    D4s. Sizes of another system, of families that do not flex and of types without a size in the price book share
    nothing."""
    made = plan(*(of_size(*words) for words in wanted))
    needs = still_to_buy(made, AccountHoldings(holdings, None, (), TYPES), AT)
    assert [need.missing for need in needs] == left
    assert all(need.held + need.missing == need.wanted.quantity for need in needs)
    unsized = ("m5.metal-7", "Standard_DS4_v2", "n2-megamem-16")
    odd = [one.id for one in holdings if one.instance_type in unsized]
    assert [said.split(":")[0] for said in said_of_sizes(needs, AccountHoldings(holdings, types=TYPES), AT)] == odd
    assert bool(list(said_of_parts(needs))) is any(need.rented or need.apart for need in needs)


def test_parts_of_machines_that_are_held_are_told_where_whole_machines_are_bought() -> None:
    """Of 18 vCPUs and 72 GiB an account had 12 and 96: 6 vCPUs alone were missing, and 24 GiB are bought with them."""
    made, highmem = plan(of_size("n2-standard-2", "9")), there("n2-highmem-4", 3)
    account = AccountHoldings([highmem], None, (), TYPES)
    (need,) = still_to_buy(made, account, AT)
    assert [need.missing, *need.apart] == [3, 6, 0]
    (said,) = said_of_parts([need])
    assert said.startswith(f"gcp/somewhere/n2-standard-2/{USE}: of what is bought only 6 vCPUs and 0 GiB are missing")
    # at $0.03 a vCPU and $0.004 a GiB they are 0.18 of 0.276 an hour, of the 3 that the plan has at $1 each
    prices = {"n2-standard-2": "0.092", "n2-highmem-4": "0.248"}
    keys = {OfferKey(Provider.GCP, "us-east-1", name, PurchaseOption.ON_DEMAND): prices[name] for name in prices}
    offers = {key: Offer(key, Decimal(price), Decimal(0), Origin("here", AT.date())) for key, price in keys.items()}
    (said,) = said_of_parts([need], PriceBook(TYPES, offers))
    assert "the rest ($9,141 of $26,280 over its term) is held" in said
    both = plan(of_size("n2-standard-2", "9"), of_size("n2-highmem-4", "1"))  # of its own size first
    assert [list(one.apart) for one in still_to_buy(both, account, AT)] == [[10, 8], []]


def test_a_part_of_a_machine_that_is_not_bought_is_told() -> None:
    """What was planned and neither held nor offered was shown as held alone."""
    wanted = plan(of_size("m5.xlarge", "10"), of_size("m5.8xlarge", "1"))
    needs = still_to_buy(wanted, AccountHoldings([there("m5.large", 3)], None, (), TYPES), AT)
    [said] = said_of_parts(needs)
    assert [need.rented for need in needs] == [Decimal("0.5"), 0]
    assert said.startswith(f"aws/somewhere/m5.xlarge/{RI}: 0.50 of a machine stays on demand")


def test_what_a_cloud_does_not_tell_is_said_where_it_is_left_to_a_person(capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever asked again after the purchase in the console was told to buy the same once more."""
    flexible = replace(wanted("gcp"), option=PurchaseOption.FLEXIBLE_COMMITTED_USE)
    windows = replace(wanted("aws"), option=RI, address=f"{wanted('aws').address}/windows")
    needs = [CommitmentNeed(one, Decimal(0)) for one in (flexible, windows)]
    none: dict[str, Any] = dict.fromkeys(("expiring", "unplanned", "warnings", "later", "elsewhere"), ())
    show_left_out(cast("Any", SimpleNamespace(**none, by_hand=needs)), Terminal.open(color=False))
    told = " ".join(capsys.readouterr().err.split())
    assert told.count("buy them in the cloud's console") == 2
    assert told.count("state them as 'owned' and plan again") == 1


def test_what_is_held_in_a_region_is_nothing_of_another() -> None:
    """What a plan of two regions had bought in the second was taken for that of the first, and bought again."""
    there = {"region": "eu-west-1", "address": f"{OWNED}aws/eu-west-1/m5.large/{RI}"}
    lines = (line(RI, "3", **there), line(RI, "10", region="eu-west-1"), line(RI, "10"), line(COMPUTE, "1"))
    made, scope = plan(*lines), Scope("aws", "1", "us-east-1")
    needs = still_to_buy(made, AccountHoldings([held(RI, 10), held(COMPUTE, 0)], scope), AT)
    assert [need.missing for need in needs] == [10, 0, 0]


@pytest.mark.parametrize(("state", "left"), [("pending", 6), ("queued", 6), ("unknown", 6), ("ended", 10)])
def test_only_what_has_ended_does_not_count(state: str, left: int) -> None:
    assert missing(plan(line(RI, "10")), held(RI, 4, state=state)) == [left]


def test_what_the_plan_counted_as_owned_is_not_used_up_twice() -> None:
    owned = line(RI, "4", address=f"{OWNED}aws/us-east-1/m5.large/{RI}")
    assert missing(plan(owned, line(RI, "10")), held(RI, 4)) == [10]
    assert missing(plan(owned, line(RI, "10")), held(RI, 4), held(RI, 5)) == [5]
    assert missing(plan(owned, line(RI, "10"))) == [10]
    since = held(RI, 10, id="since", starts=AT + timedelta(hours=1))  # what is owned may be in another account
    assert missing(plan(owned, line(RI, "10")), since) == [0]
    assert missing(plan(owned, line(RI, "10")), since, held(RI, 4)) == [0]
    queued = held(RI, 10, state="queued", starts=AT + timedelta(days=90), ends=AT + timedelta(days=455))
    assert missing(plan(owned, line(RI, "10", starts_hour=90 * 24)), queued) == [0]


@pytest.mark.parametrize(("since", "left"), [("0", "2.5"), ("3.1", "2.5"), ("4", "1.6"), ("5.6", "0")])
def test_what_other_kinds_of_a_bill_have_is_theirs(since: str, left: str) -> None:
    """A savings plan of $5 an hour was there before the bill ended: $2 of it in this kind, $3 in others. This kind
    wants $2.50 more and the others $3.10: bought in any order, all is there once, and what was $1 more than the bill
    says before it ended is used first. What nobody knows to be theirs is this kind's: else it would be bought again."""
    end, owned = AT - timedelta(days=9), line(COMPUTE, "2", address=f"{OWNED}aws/us-east-1/m5.large/{COMPUTE}")
    of_others = [("3", False), ("3.1", True)]
    beside = [BesideKind(COMPUTE, "c5.large", Decimal(dollars), to_buy, end) for dollars, to_buy in of_others]
    made = plan(owned, line(COMPUTE, "2.5"), beside=beside)
    before = held(COMPUTE, 0, id="old", hourly=Decimal(5), starts=end - timedelta(days=90))
    new = held(COMPUTE, 0, id="new", hourly=Decimal(since), starts=end + timedelta(days=1))
    assert missing(made, before, new, others={"new"}) == [Decimal(left)]
    assert missing(made, replace(before, hourly=Decimal(6)), new, others={"new"}) == [max(Decimal(left) - 1, 0)]
    assert missing(made, before, new) == [max(Decimal("2.5") - Decimal(since), 0)]
    assert unplanned(made, AccountHoldings([replace(new, instance_type="c5.large")], types=TYPES), AT) == ()


def test_upfront_cents_of_a_savings_plan_leave_no_need_behind() -> None:
    """$0.7140685 an hour for a year are $6,255.24 at once, which are a millionth of a dollar an hour less."""
    dollars = Decimal("0.7140685")
    made = plan(line(COMPUTE, "1", total=dollars * 8760, hourly=dollars))
    assert missing(made, held(COMPUTE, 0, hourly=Decimal(0), upfront=Decimal("6255.23"))) == [0]


def test_reserved_instances_of_another_system_are_neither_bought_nor_counted() -> None:
    """Clouds are asked for those of Linux on shared hardware, and their price was near enough to be believed."""
    windows = line(RI, "10", address=f"aws/us-east-1/m5.large/{RI}/windows")
    assert missing(plan(windows), held(RI, 4), held(RI, 3, special="/windows")) == [7]
    assert missing(plan(line(RI, "10")), held(RI, 4), held(RI, 3, special="/windows")) == [6]
    dedicated = wanted("aws", 5, address=f"aws/us-east-1/m5.large/{RI}/dedicated")
    assert CommitmentNeed(dedicated, Decimal(0)).by_hand
    with pytest.raises(InputError, match="Linux on shared hardware only"):
        check_item(PurchaseItem(dedicated.address, quoted("0.1")))


@pytest.mark.parametrize("cloud", ["aws", "gcp", "azure"])
def test_what_an_api_does_not_sell_is_left_to_the_console(cloud: str) -> None:
    """One savings plan of Azure had the whole purchase plan refused, reservations too: its API quotes none here."""
    assert not CommitmentNeed(wanted(cloud), Decimal(0)).by_hand
    for option in CLOUDS[cloud].console:
        assert CommitmentNeed(replace(wanted(cloud), option=option), Decimal(0)).by_hand
        of_old = quoted("0.1")  # as purchase plans of earlier versions have it
        of_old = replace(of_old, order=replace(of_old.order, option=option))
        with pytest.raises(InputError, match="buy it in the cloud's console"):
            check_item(PurchaseItem(f"{cloud}/x/any/{option}", of_old))
    assert bool(CLOUDS[cloud].console) is (cloud != "aws")


def test_what_is_owned_for_a_part_of_the_horizon_is_owned_in_full_until_then() -> None:
    """$2.50 an hour for half of the horizon are $1.25 an hour of it: the other half was taken for more that is held."""
    dollars = Decimal("2.5") * 4380
    address = f"{OWNED}aws/us-east-1/m5.large/{COMPUTE}"
    owned = line(COMPUTE, "4", address=address, hourly=dollars / 8760, total=dollars, expires_hour=4380)
    assert missing(plan(owned, line(COMPUTE, "6")), held(COMPUTE, 0, hourly=Decimal("2.5"))) == [6]


def test_dollars_of_one_family_and_term_are_one_purchase_whatever_the_sizes() -> None:
    """A plan of 2 m5.4xlarge and 1 m5.xlarge told two purchases of the same savings plan, of $0.84 and $0.12 an hour:
    one of $0.96, for $8,409.60 over the year. Another term, family, payment or day stays apart, and so do instances."""
    family = PurchaseOption.INSTANCE_SAVINGS_PLAN

    def of(size: str, dollars: str, option: PurchaseOption = family, **more: Any) -> MixLine:
        total = Decimal(dollars) * 8760 * more.get("term_years", 1)
        return line(option, "1", instance_type=size, address=f"a/{size}/{option}", total=total, **more)

    alike = of("m5.4xlarge", "0.84", upfront=Decimal(5)), of("m5.xlarge", "0.12", break_even=Decimal("0.7"))
    apart = (
        of("m5.xlarge", "0.1", term_years=3),
        of("c5.xlarge", "0.1"),
        of("m5.xlarge", "0.1", payment=Payment.ALL),
        of("m5.xlarge", "0.1", starts_hour=4380, term_years=1),
        of("m5.xlarge", "0.1", RI),
        of("m5.xlarge", "0.1", RI, term_years=1),
    )
    one, *others = wanted_of(plan(*alike, *apart), AT)
    assert (one.dollars_per_hour, one.total, one.upfront) == (Decimal("0.96"), Decimal("8409.60"), Decimal(5))
    assert (one.address, one.break_even) == (alike[0].address, Decimal("0.7"))
    assert len(others) == len(apart)
    assert missing(plan(*alike), held(family, 0, hourly=Decimal("0.9"))) == [Decimal("0.06")]


def test_dollars_an_hour_are_used_up_likewise() -> None:
    made = plan(line(COMPUTE, "10", total=Decimal("6") * 8760))
    assert wanted_of(made, AT)[0].dollars_per_hour == 6
    assert missing(made, held(COMPUTE, 0, hourly=Decimal("2.5"))) == [Decimal("3.5")]
    assert held_quantity(held(COMPUTE, 0, hourly=Decimal(0), upfront=Decimal(8760))) == 1


def test_what_begins_later_is_not_covered_by_what_is_held_now() -> None:
    made = plan(line(RI, "10"), line(RI, "10", starts_hour=8760))
    assert missing(made, held(RI, 15)) == [0, 10]
    assert still_to_buy(made, AccountHoldings(()), AT)[1].wanted.starts == AT + timedelta(hours=8760)


def test_what_is_queued_for_a_later_day_is_not_bought_again_and_covers_nothing_now() -> None:
    made = plan(line(RI, "10"), line(RI, "6", starts_hour=8760), line(RI, "4", starts_hour=17520))
    later = AT + timedelta(hours=8760)
    queued = held(RI, 6, state="queued", starts=later, ends=later + timedelta(days=365))
    assert missing(made, queued) == [10, 0, 4]
    assert missing(made, held(RI, 10), queued) == [0, 0, 4]
    assert missing(made, held(RI, 10), replace(queued, count=5)) == [0, 1, 4]
    soon = replace(queued, starts=AT + timedelta(hours=3), ends=AT + timedelta(days=365))
    assert missing(made, soon) == [4, 6, 4]


def test_of_an_old_plan_what_is_over_is_not_bought_and_what_was_for_a_day_that_passed_is_bought_now() -> None:
    """400 days after a plan of 10 for a year, 6 renewed on day 365, 4 more from day 380 and 2 from day 730."""
    days, old = 24, AT + timedelta(days=400)
    dates = [("10", 0), ("6", 365 * days), ("4", 380 * days), ("2", 730 * days)]
    made = plan(*(line(RI, count, starts_hour=hour) for count, hour in dates))
    needs = still_to_buy(made, AccountHoldings(()), old)
    assert [n.missing for n in needs] == [6, 4, 2]
    assert [begins_later(n.wanted, old) for n in needs] == [False, False, True]
    standing = held(RI, 7, starts=old - timedelta(days=9), ends=old + timedelta(days=300))
    assert [n.missing for n in still_to_buy(made, AccountHoldings((standing,)), old)] == [0, 3, 2]
    basis = PurchaseBasis("l", Scope("aws", "1", "us-east-1"), "p", old, timedelta(days=1), 0)
    ordered = [order for _, order in orders(needs, basis)]
    assert [o.starts for o in ordered] == [None, None, AT + timedelta(days=730)]
    assert len({o.key for o in ordered}) == 3
    way = reconciled(made, needs, {"later": needs[2:]}, [cast("Any", SimpleNamespace(amount=87600))], old)
    assert [way.over, way.left["later"], way.elsewhere, way.amount] == [87600, 2 * 8760, 0, 87600]


def test_what_was_owned_when_an_old_plan_was_made_and_ended_since_takes_nothing_from_what_is_held() -> None:
    address = f"{OWNED}aws/us-east-1/m5.large/{RI}"
    made = plan(line(RI, "4", address=address, expires_hour=24), line(RI, "10"))
    bought = held(RI, 10)
    assert [n.missing for n in still_to_buy(made, AccountHoldings((bought,)), AT)] == [4]
    assert [n.missing for n in still_to_buy(made, AccountHoldings((bought,)), AT + timedelta(days=2))] == [0]


def test_what_the_plan_counted_as_owned_is_first_what_has_begun() -> None:
    later = AT + timedelta(hours=8760)
    queued = held(RI, 6, state="queued", starts=later, ends=later + timedelta(days=365))
    owned = line(RI, "4", address=f"{OWNED}aws/us-east-1/m5.large/{RI}")
    made = plan(owned, line(RI, "10"), line(RI, "6", starts_hour=8760))
    assert missing(made, queued, held(RI, 4)) == [10, 0]


def test_the_missing_part_costs_its_share() -> None:
    need = still_to_buy(plan(line(RI, "10")), AccountHoldings([held(RI, 4)]), AT)[0]
    assert need.expected == 6 * 8760


@pytest.mark.parametrize("count", ["2.5", "-1", "0", "1e9", "NaN"])
def test_I8_a_plan_with_a_count_that_cannot_be_is_refused(count: str) -> None:
    with pytest.raises(InputError, match="cannot be bought"):
        still_to_buy(plan(line(RI, count, total=Decimal(1))), AccountHoldings(), AT)


def test_what_ends_soon_and_what_the_plan_does_not_know_is_told() -> None:
    soon = held(RI, 4, id="soon", ends=AT + timedelta(days=9))
    strange = held(RI, 4, id="strange", instance_type="c5.large")
    assert expiring([held(RI, 1), soon, strange], AT) == (soon,)
    assert unplanned(plan(line(RI, "10")), AccountHoldings([soon, strange], types=TYPES), AT) == (strange,)


@pytest.mark.parametrize(
    ("option", "name", "special", "is_known"),
    [
        (PurchaseOption.RESERVATION, "Standard_D4s_v5", "", True),
        (PurchaseOption.RESERVATION, "Standard_D4as_v5", "", False),
        (RI, "m5.xlarge", "", True),
        (RI, "m5.xlarge", "/windows", False),
    ],
)
def test_what_the_plan_counts_in_another_size_is_no_stranger_to_it(
    option: PurchaseOption, name: str, special: str, is_known: bool
) -> None:
    """Reservations for D4s were told to be added to owned beside the same in D2s, and so were those that what is wanted
    in another size is less for."""
    counted = "Standard_D2s_v5" if option is PurchaseOption.RESERVATION else "m5.large"
    address = f"azure/eastus/{counted}/{option}{special}"
    owned, wanted = (line(option, "8", address=a, instance_type=counted) for a in (f"{OWNED}{address}", address))
    there = held(option, 4, instance_type=name, special=special)
    assert unplanned(plan(owned), AccountHoldings([there], types=TYPES), AT) == (() if is_known else (there,))
    assert unplanned(plan(wanted), AccountHoldings([there], types=TYPES), AT) == (() if is_known else (there,))


def test_what_the_plan_knows_to_cover_nothing_is_no_stranger_to_it() -> None:
    address, none = "owned/aws/us-east-1/c5.large/reserved-instance", Decimal(0)
    useless = line(RI, "4", address=address, instance_type="c5.large", vcpus=none, memory_gib=none)
    made, there = plan(useless, line(RI, "10")), held(RI, 4, instance_type="c5.large")
    assert unplanned(made, AccountHoldings([there], types=TYPES), AT) == ()
    assert [need.missing for need in still_to_buy(made, AccountHoldings([there]), AT)] == [10]


@pytest.mark.parametrize("hourly", ["100", "0.01", "1.3", "0.7"])
def test_K8_a_quote_far_from_the_price_book_is_not_believed(hourly: str) -> None:
    need = CommitmentNeed(replace(wanted("aws", 1), total=Decimal(8760), break_even=Decimal("0.6")), Decimal(0))
    with pytest.raises(EvidenceError) as caught:
        check_against_plan(need, quoted(hourly))
    assert caught.value.exit_code == 9
    check_against_plan(need, quoted("1.2"))


def test_K8_reserved_that_is_no_cheaper_than_on_demand_is_refused() -> None:
    need = CommitmentNeed(replace(wanted("aws", 1), total=Decimal(8760), break_even=Decimal("0.9")), Decimal(0))
    check_against_plan(need, quoted("1.1"))
    with pytest.raises(EvidenceError, match="as much as on demand"):
        check_against_plan(need, quoted("1.12"))


def quoted(hourly: str) -> CommitmentQuote:
    order = CommitmentOrder("k" * 32, RI, "m5.large", 1, Payment.NONE, 1)
    return CommitmentQuote(order, "o", Decimal(0), Decimal(hourly), "USD")


def test_what_the_cloud_holds_can_be_stated_as_owned() -> None:
    scope = Scope("aws", "111122223333", "us-east-1")
    unbound = held(COMPUTE, 0, instance_type="")
    section, windows, plan_ = owned_sections(
        [
            held(RI, 4),
            held(RI, 2, special="/windows/dedicated"),
            held(RI, 3, state="ended"),
            held(COMPUTE, 0, hourly=Decimal("2.5")),
            unbound,
        ],
        scope,
        AT,
    )
    assert (plan_.count, plan_.dollars_per_hour) == (None, Decimal("2.5"))
    assert str(section.key) == "aws/us-east-1/m5.large/reserved-instance-1y-no-upfront"
    assert section.count == 4
    assert (windows.os, windows.tenancy) == ("windows", "dedicated")
    assert section.expires == (AT + timedelta(days=364)).date()


def test_what_a_bill_says_is_held_is_not_owned_a_second_time_by_the_account() -> None:
    """With ``--cloud`` the plan of a kind counted the account's commitments beside those of the bill."""
    config = load_config(None)
    workload = config.config.workload.model_copy(update={"path": Path("acme.csv"), "format": "bill"})
    loaded = replace(config, config=config.config.model_copy(update={"workload": workload}))
    cloud = SimpleNamespace(scope=lambda: Scope("aws", "1", "us-east-1"), commitments=lambda: (held(RI, 4),))
    key = OfferKey(Provider.AWS, "us-east-1", "m5.large", RI, 1)
    ground = SimpleNamespace(
        place=SimpleNamespace(provider=Provider.AWS, region="us-east-1"), cloud=cloud, loaded=loaded,
        patience=lambda: SimpleNamespace(ask=lambda asked: asked()), book=SimpleNamespace(offers={key: None}, types={}),
    )  # fmt: skip
    counted, said = with_held(cast("Any", ground), AT)
    assert (counted.config.owned, said) == ((), ())


# ---- ways out


def test_the_terms_cover_every_commitment_that_is_sold() -> None:
    terms = exit_terms()
    for cloud in ("aws", "gcp", "azure"):
        for option in Shop.open(cloud, Path()).cloud.world.semantics.sold:
            assert terms[cloud, option].source
            assert terms[cloud, option].day >= "2026-01-01"


def test_a_savings_plan_goes_back_within_its_window_month_and_size() -> None:
    terms = exit_terms()["aws", COMPUTE]
    mine = held(COMPUTE, 0, starts=datetime(2026, 11, 16, tzinfo=UTC))
    assert way_out(mine, terms, NOTHING, AT).is_open
    assert not way_out(mine, terms, NOTHING, datetime(2026, 11, 23, 0, 1, tzinfo=UTC)).is_open
    last_month = held(COMPUTE, 0, starts=datetime(2026, 10, 31, tzinfo=UTC))
    way = way_out(last_month, terms, NOTHING, datetime(2026, 11, 2, tzinfo=UTC))
    assert (way.is_open, "another month" in way.why, terms.source in way.why) == (False, True, True)
    assert not way_out(replace(mine, hourly=Decimal("100.01")), terms, NOTHING, AT).is_open


def test_a_reserved_instance_goes_back_only_while_it_is_queued() -> None:
    terms = exit_terms()["aws", RI]
    assert terms.refund is Refund.NONE
    assert not way_out(held(RI, 1), terms, NOTHING, AT).is_open
    assert way_out(held(RI, 1, state="queued"), terms, NOTHING, AT).is_open
    assert not way_out(held(RI, 1, state="ended"), terms, NOTHING, AT).is_open


def test_refunds_of_a_year_are_limited_in_dollars() -> None:
    option = PurchaseOption.RESERVATION
    terms = exit_terms()["azure", option]
    assert way_out(held(option, 1, hourly=Decimal(5)), terms, NOTHING, AT).is_open
    assert not way_out(held(option, 1, hourly=Decimal(6)), terms, NOTHING, AT).is_open
    commitment = exit_terms()["gcp", PurchaseOption.COMMITTED_USE]
    assert not way_out(held(PurchaseOption.COMMITTED_USE, 1), commitment, NOTHING, AT).is_open
    assert not way_out(held(option, 1), None, NOTHING, AT).is_open


def test_a_later_conclusion_goes_over_an_earlier_one(tmp_path: Path) -> None:
    shop = Shop.open("aws", tmp_path)
    shop.apply(shop.plan())
    (recorded,) = shop.history.purchases
    assert recorded.conclusion is not None
    entries = [recorded.intent, replace(recorded.conclusion), replace(recorded.conclusion, why="again")]
    found = history(cast("list[PurchaseConclusion]", entries)).purchases[0]
    assert found.conclusion is not None
    assert found.conclusion.why == "again"


def test_a_purchase_is_of_the_kind_in_its_address_whatever_the_size(tmp_path: Path) -> None:
    """A plan of the same kind that was made anew may be in another size."""
    shop = Shop.open("aws", tmp_path)
    shop.apply(shop.plan())
    (recorded,) = shop.history.purchases
    cloud, region, name, option = recorded.intent.address.split("/")
    family = name.partition(".")[0]
    sizes = {name: (2, 8), f"{family}.24xlarge": (96, 384), f"{family}.8xlarge": (32, 64)}
    aws = Provider.AWS
    types = {(aws, n): named_type(aws, n, Decimal(vcpus), Decimal(gib)) for n, (vcpus, gib) in sizes.items()}
    for address, is_other in (
        (f"{cloud}/{region}/{family}.24xlarge/{option}", False),
        (f"{cloud}/{region}/{family}.8xlarge/{option}", True),  # of other ratios: a kind of its own
        (f"{cloud}/{region}/{name}/{COMPUTE}-3y-no-upfront", False),
        (f"{cloud}/{region}/z9.large/{option}", True),
        (f"{cloud}/{region}/{name}/{option}/windows", True),
        (f"{cloud}/eu-west-9/{name}/{option}", True),
    ):
        found = bought_for_others([address], shop.history, types)
        assert found == ({recorded.id} if is_other else frozenset())


@pytest.mark.parametrize(
    ("wanted", "of_another", "bought", "left"),
    [
        ("n2-highmem-4", "n2-standard-8", there("n2-standard-8", 5), 5),
        ("n2-highmem-4", "n2-standard-8", there("n2-standard-8", 8), 2),  # of more than the other wants: the rest
        ("n2-standard-8", "n2-highmem-4", there("n2-highmem-4", 5), 5),
        ("n2-standard-8", "n2-standard-2", there("n2-standard-2", 20), 0),  # of the same ratios: nobody can tell
        ("t3.large", "t3.medium", there("t3.medium", 5), 5),
    ],
)
def test_what_was_bought_for_a_kind_of_other_ratios_is_not_taken_for_this_one(
    wanted: str, of_another: str, bought: Commitment, left: int
) -> None:
    """Each kind of a family's machines is planned apart; what was bought of the first plan hid the second's wishes,
    as all sizes of a family are one pool."""
    other = of_size(of_another, "5")
    beside = BesideKind(other.option, of_another, Decimal(5), to_buy=True, bill_end=AT - timedelta(days=9))
    made = plan(of_size(wanted, "5"), beside=[beside])
    others = bought_for_others([made.mix[0].address], NOTHING, TYPES, [bought])
    assert missing(made, bought, others=others) == [left]


def test_a_purchase_plan_and_its_plan_tell_the_same_dollars_or_why_not() -> None:
    made = plan(
        line(RI, "10", monthly=Decimal(7300)),
        line(RI, "2", starts_hour=4380),
        line(RI, "3", region="us-west-2"),
    )
    here = [n for n in still_to_buy(made, AccountHoldings([held(RI, 4)]), AT) if n.wanted.region == "us-east-1"]
    later = {"begins later": [n for n in here if n.wanted.starts is not None]}
    item = cast("Any", SimpleNamespace(amount=Decimal(6 * 8760 + 100)))
    found = reconciled(made, here, later, [item], AT)
    assert found.planned == 15 * 8760
    assert [found.held, *found.left.values(), found.elsewhere] == [4 * 8760, 2 * 8760, 3 * 8760]
    assert found.amount == item.amount
    [said] = sentences(found)
    assert said.startswith(
        "the plan commits $131,400.00 over the terms; - $35,040.00 held already, - $17,520.00 begins"
    )
    assert "+ $100.00 difference between quotes and plan prices = $52,660.00 to buy" in said
    alone = plan(line(RI, "10", monthly=Decimal(7300)))
    [agrees] = sentences(
        reconciled(
            alone, still_to_buy(alone, AccountHoldings([]), AT), {}, [cast("Any", SimpleNamespace(amount=87600))], AT
        )
    )
    assert agrees.startswith(
        "agrees with the plan, which commits $87,600.00 over the terms; the plan shows $7,300/month"
    )
