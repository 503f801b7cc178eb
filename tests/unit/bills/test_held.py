"""What commitments in a bill hold of each kind of machine, where several of them were used to a different part."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from hcloud.model.bill import Bill, BilledCommitment, BilledUsage, CoveredUse, LineKind, LineSum, Service, UsageKind
from hcloud.model.bill_figures import figures_of
from hcloud.model.catalog import Offer, OfferKey, Origin, Payment, Provider, PurchaseOption
from hcloud.planning.billed.held import HeldRule, HeldShares, held_of
from hcloud.planning.billed.kinds import kinds_of
from hcloud.readers.bills.reading import read_bill
from hcloud.readers.prices.shipped.bundled import load_bundled
from hcloud.views.workloads.bills import bill_figures, chart_of

HOURS = 24 * 28
START = datetime(2026, 10, 1, tzinfo=UTC)
RULE = HeldRule(datetime(2026, 11, 1, tzinfo=UTC), None, 8760, 24 * 7)
FLAT = np.ones(HOURS)
BOOK = load_bundled(providers={Provider.AWS}, regions={"us-east-1"})
TYPES = BOOK.types
COMPUTE_PLAN = PurchaseOption.COMPUTE_SAVINGS_PLAN


def machines(
    name: str, on_demand: int, covered: int, rate: str = "0.07", option: PurchaseOption = COMPUTE_PLAN
) -> BilledUsage:
    """Machines of a type that ran all the time, some of them covered at ``rate`` dollars an hour each."""
    bore = Decimal(rate) * covered * HOURS
    cost = Decimal("0.096") * on_demand * HOURS + bore
    listed = Decimal("0.096") * (on_demand + covered) * HOURS
    kind = UsageKind(Provider.AWS, "1", "us-east-1", name.partition(".")[0], name)
    return BilledUsage(
        kind, (on_demand + covered) * FLAT, cost, listed, covered={option: covered * FLAT}, covered_cost={option: bore}
    )


def fargate(vcpus: int, hourly: str) -> BilledUsage:
    """Fargate that a Compute Savings Plan covers at ``hourly`` dollars for all of it."""
    bore = Decimal(hourly) * HOURS
    kind = UsageKind(Provider.AWS, "1", "us-east-1", "fargate", "", service=Service.FARGATE)
    covered = {COMPUTE_PLAN: vcpus * FLAT}
    return BilledUsage(kind, vcpus * FLAT, bore, bore, covered=covered, covered_cost={COMPUTE_PLAN: bore})


def plan(name: str, hourly: str, used: str) -> BilledCommitment:
    """A Compute Savings Plan of so many dollars an hour, so many of them used."""
    paid, spent = Decimal(hourly) * HOURS, Decimal(used) * HOURS
    return BilledCommitment(name, Provider.AWS, COMPUTE_PLAN, "1", "", "", "", Decimal(hourly), paid, spent)


def shares_of(usage: list[BilledUsage], *commitments: BilledCommitment, rule: HeldRule = RULE) -> HeldShares:
    lines = {LineKind.ON_DEMAND: LineSum(1, Decimal(1))}
    bill = Bill("acme", "cur-2.0", "d" * 64, START, HOURS, False, tuple(usage), commitments, lines)
    return held_of(bill, kinds_of(bill, TYPES)[0], TYPES, rule)


def vcpus_of(shares: HeldShares) -> dict[str, float]:
    return {
        kind.label: round(float(sum(o.count * o.shape.vcpus for o in owned)), 2)
        for kind, owned in shares.by_kind.items()
    }


def dollars_of(shares: HeldShares) -> dict[str, float]:
    """Dollars an hour, by kind."""
    return {
        kind.label: round(float(sum(o.count * o.offer.hourly for o in owned)), 4)
        for kind, owned in shares.by_kind.items()
    }


@pytest.mark.parametrize(
    "commitments",
    [
        [plan("a", "1.4", "0.7")],
        [plan("a", "0.7", "0.7"), plan("b", "0.7", "0")],
        [plan("a", "0.7", "0.35"), plan("b", "0.7", "0.35")],
    ],
)
def test_one_plan_holds_what_two_of_the_same_dollars_do_however_they_were_used(
    commitments: list[BilledCommitment],
) -> None:
    shares = shares_of([machines("m5.large", 20, 10)], *commitments)
    # ten m5.large of two vCPUs at $0.07 are $0.70 an hour: $1.40 are twenty of them
    assert vcpus_of(shares) == {"m5": 40.0}
    assert dollars_of(shares) == {"m5": 1.4}


def test_a_plan_used_by_half_beside_one_used_in_full_holds_as_much_as_its_dollars() -> None:
    shares = shares_of([machines("m5.large", 20, 30)], plan("a", "1.4", "1.4"), plan("b", "1.4", "0.7"))
    assert vcpus_of(shares) == {"m5": 80.0}  # $2.80 an hour at $0.07: forty m5.large


def test_a_plan_that_was_not_used_at_all_holds_at_the_price_of_the_one_that_was() -> None:
    shares = shares_of([machines("m5.large", 1, 1)], plan("a", "0.1", "0.07"), plan("b", "0.5", "0"))
    assert vcpus_of(shares) == {"m5": 17.14}  # $0.60 an hour at $0.035 a vCPU
    assert dollars_of(shares) == {"m5": 0.6}


@pytest.mark.parametrize("term", [None, 1])
def test_a_plan_whose_cost_the_bill_does_not_say_holds_what_it_covered_while_it_has_lines(term: int | None) -> None:
    """A bill of actual costs: its machines were planned for as if nothing covered them, where it says the term; and
    what had ended was taken to last."""
    usage = machines("m5.large", 3, 2, "0")
    covered = replace(plan("a", "0", "0"), covered={usage.kind: CoveredUse(2 * HOURS, Decimal(0))}, term_years=term)
    sold = {o.key: o for o in BOOK.offers.values() if o.key.option is COMPUTE_PLAN}
    rule = replace(RULE, offers=sold, bill_end=START + timedelta(hours=HOURS))
    shares = shares_of([usage], covered, rule=rule)
    assert vcpus_of(shares) == {"m5": 4.0}
    assert (dollars_of(shares), shares.unused) == ({"m5": 0.0}, {})
    last = START + timedelta(days=9)
    assert shares_of([usage], replace(covered, last=last), rule=rule).stopped == {"a": last}


def ending(name: str, hours: int) -> BilledCommitment:
    """Ten reserved instances of m5.large that end so many hours after a plan begins."""
    return BilledCommitment(
        name, Provider.AWS, PurchaseOption.RESERVED, "1", "us-east-1", "m5", "m5.large", Decimal(10), Decimal(470),
        used=None, end=RULE.now + timedelta(hours=hours),
    )  # fmt: skip


def test_a_plan_covers_what_reserved_instances_covered_from_their_end_on() -> None:
    usage = [machines("m5.large", 0, 10, option=PurchaseOption.RESERVED), machines("r5.large", 0, 10)]
    held = replace(plan("a", "1.4", "0.7"), end=RULE.now + timedelta(hours=3000))
    by_kind = {kind.label: owned for kind, owned in shares_of(usage, held, ending("ri", 1000)).by_kind.items()}
    [m5] = (one for one in by_kind["m5"] if one.offer.key.option is COMPUTE_PLAN)
    [r5] = by_kind["r5"]
    assert [float(np.mean(one.at(999))) for one in (m5, r5)] == pytest.approx([0, 20])  # half of it is idle
    assert [float(np.mean(one.at(1000))) for one in (m5, r5)] == pytest.approx([10, 10])  # 20 machines, $1.40
    assert float(m5.count) == pytest.approx(10 * 2000 / 3000, abs=1e-3)


@pytest.mark.parametrize(("first", "lasts"), [(24, 3000), (1000, 3 * 8760)])
def test_a_plan_is_divided_anew_however_soon_others_end_and_long_it_lasts(first: int, lasts: int) -> None:
    """Of one of three years only what ended after nine months counted, and of one of a year after three."""
    usage = [machines("m5.large", 0, 10, option=PurchaseOption.RESERVED), machines("r5.large", 0, 10)]
    held = replace(plan("a", "1.4", "0.7"), end=RULE.now + timedelta(hours=lasts))
    by_kind = {kind.label: owned for kind, owned in shares_of(usage, held, ending("ri", first)).by_kind.items()}
    [m5] = (one for one in by_kind["m5"] if one.offer.key.option is COMPUTE_PLAN)
    assert [float(np.mean(m5.at(hour))) for hour in (first - 1, first)] == pytest.approx([0, 10])
    assert float(m5.count) == pytest.approx(10 * (1 - first / min(lasts, 8760)), abs=1e-3)


@pytest.mark.parametrize("others", [1, 3, 4, 12])
def test_a_plan_is_divided_four_times_at_most(others: int) -> None:
    usage = [machines("m5.large", 0, 10, option=PurchaseOption.RESERVED), machines("r5.large", 0, 10)]
    several = [ending(f"ri{n}", 100 + n) for n in range(others)]
    by_kind = shares_of(usage, replace(plan("a", "1.4", "0.7"), end=RULE.now + timedelta(hours=5000)), *several).by_kind
    (phases,) = {len(one.phases) for owned in by_kind.values() for one in owned if one.phases}
    assert min(others + 1, 3) <= phases <= 4


def test_a_plan_that_floats_leaves_out_machines_that_the_bill_has_no_price_of() -> None:
    """Dollars were divided by nothing in hours in which these ran alone."""
    by_day = np.where(np.arange(HOURS) % 24 < 12, 1.0, 0.0)
    free = replace(machines("r5.large", 0, 0), hours=10 * FLAT, cost=Decimal(0), list_cost=Decimal(0))
    paid = replace(machines("m5.large", 10, 10), hours=20 * by_day)
    assert vcpus_of(shares_of([paid, free], plan("a", "0.7", "0.7"))) == {
        "m5": 20
    }  # 10 machines of 2, as many as $0.70 pay for


def test_a_plan_moves_only_to_kinds_that_it_is_sold_for() -> None:
    usage = [machines("m5.large", 10, 10), machines("r5.large", 20, 0), machines("c5.large", 20, 0)]
    lines = {LineKind.ON_DEMAND: LineSum(1, Decimal(1))}
    bill = Bill("acme", "cur-2.0", "d" * 64, START, HOURS, False, tuple(usage), (plan("a", "0.7", "0.7"),), lines)
    rule = replace(RULE, floating=frozenset({(Provider.AWS, "us-east-1", "c5.large", "linux", "shared")}))
    assert vcpus_of(held_of(bill, kinds_of(bill, TYPES)[0], TYPES, rule)) == {"m5": 10.0, "c5": 10.0}


@pytest.mark.parametrize(("payments", "vcpus"), [((Payment.NONE,), 20.0), (tuple(Payment), 14.58)])
def test_a_plan_whose_payment_is_not_said_holds_at_the_only_price_that_is_sold(
    payments: tuple[Payment, ...], vcpus: float
) -> None:
    """Bills of Azure and Google name a term without its payment: of these one price is sold, of AWS three."""
    offers = {
        key: Offer(key, Decimal("0.07"), Decimal(0), Origin("here", START.date()))
        for payment in payments
        for key in (OfferKey(Provider.AWS, "us-east-1", "m5.large", COMPUTE_PLAN, 1, payment),)
    }
    lines = {LineKind.ON_DEMAND: LineSum(1, Decimal(1))}
    held = replace(plan("a", "0.7", "0"), term_years=1)
    bill = Bill("acme", "f", "d" * 64, START, HOURS, False, (machines("m5.large", 10, 0),), (held,), lines)
    shares = held_of(bill, kinds_of(bill, TYPES)[0], TYPES, replace(RULE, offers=offers))
    assert vcpus_of(shares) == {"m5": vcpus}  # $0.70 an hour at $0.07, else at $0.096, the price on demand


def test_what_covers_fargate_is_neither_paid_nor_held_by_machines() -> None:
    usage = [machines("m5.large", 0, 10), fargate(100, "3.2")]
    shares = shares_of(usage, plan("a", "3.9", "3.9"))
    assert vcpus_of(shares) == {"m5": 20.0}
    assert dollars_of(shares) == {"m5": 0.7}  # 3.90 less the 3.20 of Fargate


def test_the_idle_part_of_a_plan_that_covers_fargate_is_for_machines() -> None:
    usage = [machines("m5.large", 20, 10), fargate(20, "0.7")]
    shares = shares_of(usage, plan("a", "2.1", "1.4"))
    assert vcpus_of(shares) == {"m5": 40.0}  # the idle $0.70 an hour are ten m5.large more
    assert dollars_of(shares) == {"m5": 1.4}


def test_the_idle_part_of_a_plan_that_covers_fargate_alone_is_for_machines_at_its_discount() -> None:
    held = replace(plan("a", "2.0", "1.0"), covered_list_cost=Decimal("1.25") * HOURS)
    shares = shares_of([machines("m5.large", 20, 0), fargate(20, "1.0")], held)
    assert vcpus_of(shares) == {"m5": 26.04}  # $1 idle covers $1.25 at list prices, at $0.048 a vCPU
    assert dollars_of(shares) == {"m5": 1.0}


def test_a_plan_that_fargate_uses_in_full_is_not_said_to_be_left_without_machines() -> None:
    shares = shares_of([machines("m5.large", 20, 0), fargate(20, "1.0")], plan("a", "1.0", "1.0"))
    assert not shares.by_kind
    assert shares.unused == {"a": "$730/month; it covers what is not planned here"}


def test_of_one_plan_the_kinds_bear_what_it_cost_there() -> None:
    usage = [machines("m5.large", 0, 10, "0.07"), machines("r5.large", 0, 10, "0.09")]
    shares = shares_of(usage, plan("a", "1.6", "1.6"))
    assert vcpus_of(shares) == {"m5": 20.0, "r5": 20.0}
    assert dollars_of(shares) == {"m5": 0.7, "r5": 0.9}


def test_what_is_sold_by_memory_is_told_with_its_dollars_and_fargate_is_no_instance() -> None:
    kind = UsageKind(Provider.AWS, "1", "us-east-1", "lambda", "", service=Service.LAMBDA)
    bore = Decimal("0.25") * HOURS
    functions = BilledUsage(kind, 0 * FLAT, bore, bore, memory=20 * FLAT)
    lines = {LineKind.ON_DEMAND: LineSum(1, Decimal(1))}
    usage = (machines("m5.large", 0, 10), fargate(100, "3.2"), functions)
    bill = Bill("acme", "cur-2.0", "d" * 64, START, HOURS, False, usage, (), lines)
    _, unplanned = kinds_of(bill, TYPES)
    assert {one.name: one.cost for one in unplanned} == {
        "aws/us-east-1/Fargate": Decimal("3.2") * 672,
        "aws/us-east-1/Lambda": Decimal("0.25") * 672,
    }
    rows = {row[0]: row[1] for row in bill_figures(figures_of(bill)).rows}
    assert rows["instance-hours"] == "6,720, 10 at a time"  # 10 machines in each of 672 hours
    assert rows["vCPU-hours"] == "67,200, 100 at a time, of Fargate"
    chart = chart_of(bill)
    assert (chart.subtitle, chart.unit) == ("mean 10, peak 10 in an hour", "machines in use")
    alone = replace(bill, usage=(fargate(100, "3.2"),))
    assert (chart_of(alone).subtitle, chart_of(alone).unit) == ("mean 100, peak 100 in an hour", "vCPUs in use")


def test_a_reservation_that_covered_nothing_and_names_no_place_is_not_shared_out() -> None:
    idle = BilledCommitment("ri", Provider.AWS, PurchaseOption.RESERVED, "", "", "", "", None, Decimal(672), Decimal(0))
    shares = shares_of([machines("m5.large", 0, 10, option=PurchaseOption.RESERVED)], idle)
    assert not shares.by_kind
    assert shares.unused == {"ri": "$730/month; it covered nothing, and the bill does not say what it is for"}


def azure_day(size: str, quantity: int, reservation: str, hourly: str, charge: str = "Usage") -> str:
    """A row of Azure cost details: so many hours of a size on the first of October."""
    info = f'"{{""ServiceType"": ""{size}""}}"' if size else ""
    cost = Decimal(hourly) * quantity
    model = "Reservation" if reservation else "OnDemand"
    return f"10/01/2026,s,Virtual Machines,{info},eastus,1 Hour,{model},{charge},{reservation},{cost},{quantity}\n"


AZURE_COLUMNS = (
    "Date,SubscriptionId,MeterCategory,AdditionalInfo,ResourceLocation,UnitOfMeasure,PricingModel,ChargeType,"
    "ReservationId,CostInBillingCurrency,Quantity\n"
)


def test_what_a_reservation_of_azure_leaves_idle_is_of_the_series_and_region_that_it_covers(tmp_path: Path) -> None:
    d, e = "Standard_D4s_v5", "Standard_E4s_v5"
    rows = [
        azure_day("", 240, "res-d", "0.113", "UnusedReservation"),
        azure_day(d, 240, "res-d", "0.113"),
        azure_day(e, 240, "res-e", "0.148"),
        azure_day(e, 480, "", "0.252"),
    ]
    path = tmp_path / "azure.csv"
    path.write_text(AZURE_COLUMNS + "".join(rows))
    bill = read_bill(path)
    places = {c.id: (c.family, c.region) for c in bill.commitments}
    assert places == {"res-d": ("Dsv5", "eastus"), "res-e": ("Esv5", "eastus")}
    types = load_bundled(providers={Provider.AZURE}, regions={"eastus"}).types
    shares = held_of(bill, kinds_of(bill, types)[0], types, RULE)
    # twenty D4s are reserved and ten run, ten E4s are reserved and run: of four vCPUs each
    assert vcpus_of(shares) == {"Dsv5": 80.0, "Esv5": 40.0}


def test_a_reservation_of_azure_that_was_not_used_at_all_is_of_the_size_of_its_meter(tmp_path: Path) -> None:
    def metered(row: str) -> str:
        return row.replace(",Virtual Machines,", ",Virtual Machines,D4s v5,")

    path = tmp_path / "azure.csv"
    rows = [
        azure_day("", 480, "idle", "0.113", "UnusedReservation"),
        azure_day("Standard_D4s_v5", 240, "used", "0.113"),
        azure_day("Standard_D4s_v5", 960, "", "0.192"),
    ]
    columns = AZURE_COLUMNS.replace("MeterCategory,", "MeterCategory,MeterName,")
    path.write_text(columns + "".join(metered(row) for row in rows))
    bill = read_bill(path)
    assert {c.id: (c.family, c.used) for c in bill.commitments} == {
        "idle": ("Dsv5", 0),
        "used": ("Dsv5", Decimal("0.113") * 240),
    }
    types = load_bundled(providers={Provider.AZURE}, regions={"eastus"}).types
    shares = held_of(bill, kinds_of(bill, types)[0], types, RULE)
    assert vcpus_of(shares) == {"Dsv5": 120.0}  # twenty idle and ten used D4s of four vCPUs


def focus_hour(name: str, count: int, reservation: str, cost: str, status: str = "Used") -> str:
    """A row of FOCUS of AWS: so many machines of a type in the first hour of October."""
    hour = "2026-10-01T00:00:00Z,2026-10-01T01:00:00Z"
    usage = f"BoxUsage:{name},RunInstances:0002,{count},Hours" if name else ",,,"
    return (
        f"AWS,Usage,Compute,Amazon Elastic Compute Cloud,1,us-east-1,{hour},0,{cost},{reservation},Reserved Instance,"
        f"{status if reservation else ''},{usage},USD\n"
    )


FOCUS_COLUMNS = (
    "ProviderName,ChargeCategory,ServiceCategory,ServiceName,SubAccountId,RegionId,ChargePeriodStart,ChargePeriodEnd,"
    "BilledCost,EffectiveCost,CommitmentDiscountId,CommitmentDiscountType,CommitmentDiscountStatus,x_UsageType,"
    "x_Operation,ConsumedQuantity,ConsumedUnit,BillingCurrency\n"
)


def test_what_a_reserved_instance_of_focus_leaves_idle_is_of_the_family_and_system_that_it_covers(
    tmp_path: Path,
) -> None:
    rows = [
        focus_hour("", 0, "ri-m5", "0.5", "Unused"),
        focus_hour("m5.large", 5, "ri-m5", "0.5"),
        focus_hour("r5.large", 5, "ri-r5", "0.6"),
        focus_hour("r5.large", 10, "", "1.26"),
    ]
    path = tmp_path / "focus.csv"
    path.write_text(FOCUS_COLUMNS + "".join(rows))
    bill = read_bill(path)
    places = {c.id: (c.family, c.region, c.os) for c in bill.commitments}
    assert places == {"ri-m5": ("m5", "us-east-1", "windows"), "ri-r5": ("r5", "us-east-1", "windows")}
    shares = held_of(bill, kinds_of(bill, TYPES)[0], TYPES, RULE)
    # ten m5.large of two vCPUs are reserved and half of them run, five r5.large are reserved and run
    assert vcpus_of(shares) == {"m5.large": 20.0, "r5.large": 10.0}


def test_what_idle_reservations_are_for_is_told_by_their_service_or_category(tmp_path: Path) -> None:
    """A reserved machine that its description says is for a database was dropped; reservations of Azure for databases
    that nobody used were told to be for machines."""
    machine, database = (focus_hour("", 0, name, "0.5", "Unused") for name in ("ri-idle", "ri-db"))
    rows = machine.replace("Compute Cloud,", "Compute Cloud,m5.large for our database,")
    rows += database.replace("Elastic Compute Cloud,", "Relational Database Service,,")
    columns = FOCUS_COLUMNS.replace("ServiceName", "ServiceName,ChargeDescription")
    (tmp_path / "focus.csv").write_text(columns + rows)
    vm = azure_day("", 240, "vm", "0.1", "UnusedReservation")
    sql = azure_day("", 240, "sql", "0.1", "UnusedReservation").replace("Virtual Machines", "SQL Database")
    (tmp_path / "azure.csv").write_text(AZURE_COLUMNS + vm + sql)
    categories = {"vm": "Virtual Machines", "documents": "Azure Cosmos DB"}
    both = [focus_hour("", 0, name, "0.5", "Unused").replace("\n", f",{of}\n") for name, of in categories.items()]
    both = [row.replace("AWS,", "Microsoft,").replace("Reserved Instance", "Reservation") for row in both]
    (tmp_path / "of_azure.csv").write_text(FOCUS_COLUMNS.replace("\n", ",x_SkuMeterCategory\n") + "".join(both))
    names = ("focus.csv", "azure.csv", "of_azure.csv")
    found = [[c.id for c in read_bill(tmp_path / name).commitments] for name in names]
    assert found == [["ri-idle"], ["vm"], ["vm"]]


def test_a_commitment_of_focus_with_nothing_but_unused_lines_was_not_used(tmp_path: Path) -> None:
    path = tmp_path / "focus.csv"
    rows = focus_hour("", 0, "ri-idle", "0.5", "Unused") + focus_hour("m5.large", 5, "", "0.5")
    path.write_text(FOCUS_COLUMNS + rows)
    (held,) = read_bill(path).commitments
    assert (held.paid, held.used) == (Decimal("0.5"), Decimal(0))


@pytest.mark.parametrize("covers", ["Databases,Amazon Relational Database Service", ""])
def test_a_savings_plan_for_databases_covers_no_machines(covers: str, tmp_path: Path) -> None:
    """What of it was not used was held for machines, and too little was bought."""
    unused = focus_hour("", 0, "sp-db", "0.5", "Unused").replace("Reserved Instance", "Savings Plan")
    used = focus_hour("", 0, "sp-db", "1.5").replace("Reserved Instance", "Savings Plan")
    rows = [focus_hour("m5.large", 5, "", "0.5"), unused]
    if covers:
        rows.append(used.replace("Compute,Amazon Elastic Compute Cloud", covers))
    else:
        rows[-1] = unused.replace("Amazon Elastic Compute Cloud", "Savings Plans for AWS Database usage")
    path = tmp_path / "focus.csv"
    path.write_text(FOCUS_COLUMNS + "".join(rows))
    assert read_bill(path).commitments == ()


@pytest.mark.parametrize(
    ("provider", "kind", "described", "held"),
    [
        ("AWS", "Savings Plan", "Other,Amazon Elastic Container Service,AWS Fargate Windows - vCPU", ["plan"]),
        ("AWS", "Savings Plan", "Compute,AWS Lambda,AWS Lambda - Provisioned Concurrency", ["plan"]),
        ("AWS", "Savings Plan", "Other,Amazon Relational Database Service,", []),
        ("Microsoft", "Reservation", "AI and Machine Learning,Azure Machine Learning,Virtual Machines D11", ["plan"]),
        ("Microsoft", "Reservation", "Databases,SQL Database,vCore", []),
        ("Microsoft", "Savings Plan", "Web,Azure App Service,P1 v3 App", ["plan"]),
        ("Google Cloud", "Spend-based", "Other,Kubernetes Engine,Autopilot Pod mCPU Requests", ["plan"]),
        ("Google Cloud", "Spend-based", "Other,Cloud Spanner,Server Node", []),
    ],
)
def test_a_commitment_is_held_for_machines_if_it_covered_compute_of_another_service(
    provider: str, kind: str, described: str, held: list[str], tmp_path: Path
) -> None:
    """AWS puts its containers under "Other", Azure the machines of a service there; what is idle covers machines."""
    rows = focus_hour("", 0, "plan", "1.5") + focus_hour("", 0, "plan", "0.5", "Unused")
    rows = rows.replace("AWS", provider).replace("Reserved Instance", kind)
    columns = FOCUS_COLUMNS.replace("ServiceName", "ServiceName,ChargeDescription")
    usual = "Compute,Amazon Elastic Compute Cloud"
    path = tmp_path / "focus.csv"
    path.write_text(columns + rows.replace(usual, described, 1).replace(usual, f"{usual},"))
    found = read_bill(path).commitments
    assert [c.id for c in found] == held
    assert {c.unused for c in found} <= {Decimal("0.5")}, "a cost of 0 of what is covered is no discount"


def test_machines_of_azure_are_known_by_details_of_its_own(tmp_path: Path) -> None:
    """FOCUS has ``x_`` before names that it does not define: no machine of such a bill was known."""
    path = tmp_path / "focus.csv"
    details = '"{""x_ServiceType"": ""Standard_D4s_v5"", ""x_ImageType"": ""Windows Server""}"'
    row = (
        focus_hour("", 0, "", "0.376")
        .replace("AWS,", "Microsoft,")
        .replace("Amazon Elastic Compute Cloud", "Virtual Machines")
    )
    row = row.replace(",,,,,USD", f",,,2,Hours,USD,{details}")
    columns = FOCUS_COLUMNS.replace("\n", ",SkuPriceDetails\n")
    path.write_text(columns + row)
    (used,) = read_bill(path).usage
    assert (used.kind.instance_type, used.kind.os, float(used.hours.sum())) == ("Standard_D4s_v5", "windows", 2.0)
    # their licences, where they stand in lines of their own, were as many machines more
    with path.open("a") as bill:
        bill.write(row.replace("Virtual Machines", "Virtual Machines Licenses").replace("0.376", "0.184"))
    (used,), lines = (getattr(read_bill(path), name) for name in ("usage", "lines"))
    assert (float(used.hours.sum()), lines[LineKind.LICENCE].rows) == (2.0, 1)
    # in Azure's own export their service is that of the machine, and the category of the meter tells them
    named = [row.replace("\n", f",{of}\n") for of in ("Virtual Machines", "Virtual Machines Licenses", "Defender")]
    path.write_text(columns.replace("\n", ",x_SkuMeterCategory\n") + "".join(named))
    (used,), lines = (getattr(read_bill(path), name) for name in ("usage", "lines"))
    assert (float(used.hours.sum()), lines[LineKind.LICENCE].rows, lines[LineKind.OTHER_COMPUTE].rows) == (2.0, 1, 1)


@pytest.mark.parametrize("name", ["plan", ""])
def test_a_savings_plan_of_azure_is_of_no_series_whatever_it_covered(name: str, tmp_path: Path) -> None:
    """Named by its benefit, or, where a bill leaves that out, by the pricing model of the line alone."""
    row = azure_day("Standard_D4s_v5", 240, "is-here", "0.14").replace(",Reservation,", ",SavingsPlan,")
    path = tmp_path / "azure.csv"
    path.write_text(AZURE_COLUMNS.replace("ReservationId", "BenefitId") + row.replace("is-here", name))
    (held,) = read_bill(path).commitments
    assert (held.option, held.family, held.region) == (PurchaseOption.SAVINGS_PLAN, "", "")
    assert list(held.covered or ()) == [used.kind for used in read_bill(path).usage]


def test_a_reservation_that_covered_several_series_is_of_none(tmp_path: Path) -> None:
    path = tmp_path / "azure.csv"
    rows = azure_day("Standard_D4s_v5", 240, "res", "0.113") + azure_day("Standard_E4s_v5", 240, "res", "0.148")
    path.write_text(AZURE_COLUMNS + rows)
    (held,) = read_bill(path).commitments
    assert (held.family, held.region) == ("", "eastus")


def renewed(day: int) -> str:
    """Two rows of FOCUS an hour of a day: twenty machines under a plan of $1 an hour, from the 21st on under another of
    $0.60, and ten on demand."""
    name, cost = ("old", "1.0") if day <= 20 else ("new", "0.6")
    rows = focus_hour("m5.large", 20, f"{name}-plan", cost) + focus_hour("m5.large", 10, "", "0.96")
    rows = rows.replace(",Reserved Instance,", ",Compute Savings Plans,").replace("RunInstances:0002", "RunInstances")
    first = "2026-10-01T00:00:00Z,2026-10-01T01:00:00Z"
    hours = (f"2026-10-{day:02}T{h:02}:00:00Z,2026-10-{day:02}T{h:02}:59:59Z" for h in range(24))
    return "".join(rows.replace(first, hour) for hour in hours)


def test_a_plan_that_follows_another_holds_what_it_covers_itself(tmp_path: Path) -> None:
    path = tmp_path / "focus.csv"
    path.write_text(FOCUS_COLUMNS + "".join(renewed(day) for day in range(1, 31)))
    bill = read_bill(path)
    rule = replace(RULE, bill_end=datetime(2026, 10, 31, tzinfo=UTC))
    shares = held_of(bill, kinds_of(bill, TYPES)[0], TYPES, rule)
    # shared by dollars it held 0.6 * 10 / 26 of 600 machine-days in ten days: 13.8 machines
    assert vcpus_of(shares) == {"m5": 40.0}
    assert dollars_of(shares) == {"m5": 0.6}
    assert shares.stopped == {"old-plan": datetime(2026, 10, 21, tzinfo=UTC)}


def test_a_plan_without_an_end_that_nothing_follows_is_held_though_it_rests_for_some_days(tmp_path: Path) -> None:
    path = tmp_path / "focus.csv"
    rows = "".join(renewed(day) for day in range(1, 24)).splitlines(keepends=True)
    path.write_text(FOCUS_COLUMNS + "".join(row for row in rows if "new-plan" not in row))
    bill = read_bill(path)
    rule = replace(RULE, bill_end=datetime(2026, 10, 24, tzinfo=UTC))
    assert "old-plan" in held_of(bill, kinds_of(bill, TYPES)[0], TYPES, rule).endless
    later = replace(RULE, bill_end=datetime(2026, 10, 28, tzinfo=UTC))
    assert "old-plan" in held_of(bill, kinds_of(bill, TYPES)[0], TYPES, later).stopped
