"""A plan that buys one offer on several dates: what is said of it counts what is held at one time."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from plan_figures import committed, rented
from plan_figures import plan as figures

from hcloud.cli.main import run
from hcloud.errors import UsageError
from hcloud.model.catalog import Provider, PurchaseOption
from hcloud.model.plans.bill_plan import KindPlan
from hcloud.model.plans.plan import MixLine, Plan, ReserveUse
from hcloud.planning.explanations.asked import find_purchase
from hcloud.planning.explanations.plan_diff import difference_of
from hcloud.planning.explanations.plan_figures import figures_of
from hcloud.store.plan_file import load_plan
from hcloud.units import format_money
from hcloud.usecases.deciding.replan import advice_of
from hcloud.views.deciding.diff import options, totals
from hcloud.views.deciding.plan import markdown_explanation
from hcloud.views.deciding.plan_charts import demand_picture, use_picture
from hcloud.views.deciding.plan_page import plan_page
from hcloud.views.deciding.plan_tables import due_upfront, grouped, instances
from hcloud.views.explanations.commitment import explain_commitment
from hcloud.views.explanations.plan import explain_plan

DAY, YEAR = 24, 8760
Lots = list[tuple[int, int]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """A plan of the bundled scenario that buys one offer."""
    target = tmp_path_factory.mktemp("plan") / "plan.json"
    asked = ("scenario:static", "--family", "m6i", "--vcpus", "16", "--now", "2026-11-20T12:00:00Z")
    assert run(["-q", "plan", *asked, "--out", str(target)]) == 0
    return load_plan(target)


def lot(plan: Plan, count: int, day: int) -> MixLine:
    """So many instances from a day on, of 4 vCPUs and $100 upfront each, $10 a month over the horizon."""
    bought = next(line for line in plan.mix if line.option.is_commitment)
    number = Decimal(count)
    return replace(
        bought, count=number, vcpus=4 * number, upfront=100 * number, total=100 * number, monthly=10 * number,
        starts_hour=day * DAY, term_years=1, break_even=Decimal("0.6"),
    )  # fmt: skip


def bought(plan: Plan, lots: Lots) -> Plan:
    """The plan with these lots beside what it rents, without a word on sizes."""
    rents = [line for line in plan.mix if not line.option.is_commitment]
    mix = (*(lot(plan, count, day) for count, day in lots), *rents)
    return replace(plan, mix=mix, horizon_hours=3 * YEAR, sizing=())


def held_most(lots: Lots) -> int:
    """Day by day: a lot of a day is held for the 365 days from it on."""
    return max(sum(count for count, day in lots if day <= at < day + 365) for at in range(3 * 365))


@pytest.mark.parametrize(
    ("lots", "said"),
    [
        ([(1, 365), (1, 730)], "on day 365 and 730"),
        ([(2, 365)], "on day 365"),
        ([(3, 365), (5, 730)], "3 on day 365, 5 on day 730"),
        ([(1, 21), (1, 29), (1, 37), (1, 400)], "on 4 days from day 21 to 400"),
    ],
)
def test_a_line_of_later_purchases_counts_what_is_held_at_one_time(made: Plan, lots: Lots, said: str) -> None:
    (label, line), *rest = grouped(bought(made, lots).mix)
    assert label.endswith(f", {said}")
    assert instances(line.count) == str(held_most(lots))
    assert line.total == 100 * sum(count for count, _ in lots)
    assert not any(other.option.is_commitment for _, other in rest)


@pytest.mark.parametrize(
    ("lots", "said"),
    [
        ([(1, 0), (1, 365), (1, 730)], "again on day 365 and 730"),
        ([(1, 0), (2, 21), (1, 182)], "again on day 21 and 182"),
    ],
)
def test_a_commitment_is_explained_with_all_its_dates(made: Plan, lots: Lots, said: str) -> None:
    plan, total = bought(made, lots), sum(count for count, _ in lots)
    found = explain_commitment(plan, find_purchase(plan, "all"))
    assert found.answer.startswith(f"{lots[0][0]} m6i.4xlarge as ")
    assert f"{said} (at most {held_most(lots)} at once): " in found.answer
    assert f": ${10 * total} a month, ${100 * total} committed over 3 y" in found.answer
    why = next(line.text for line in found.lines if line.about == "why")
    now, most = 4 * lots[0][0], 4 * held_most(lots)
    assert why.startswith("its break-even is 60.0%; what is bought follows the demand")
    assert why.endswith(f": {now} vCPUs now, at most {most} at once")


def test_a_purchase_of_a_later_day_alone_is_found_and_explained(made: Plan) -> None:
    plan = bought(made, [(2, 0)])
    later = replace(lot(made, 3, 180), address="aws/us-east-1/m6i.large/reserved-instance-1y-no-upfront")
    plan = replace(plan, mix=(*plan.mix, replace(later, instance_type="m6i.large")))
    found = find_purchase(plan, "m6i.large")
    assert found.starts_hour == 180 * DAY
    assert explain_commitment(plan, found).answer.startswith("3 m6i.large as ")
    assert ", on day 180: " in explain_commitment(plan, found).answer
    with pytest.raises(UsageError, match="the plan buys no x9"):
        find_purchase(plan, "x9")


def test_a_term_that_is_not_renewed_says_when_it_ends(made: Plan) -> None:
    plan = bought(made, [(2, 0)])
    why = next(line.text for line in explain_commitment(plan, plan.mix[0]).lines if line.about == "why")
    assert why == (
        "its break-even is 60.0%; its term ends on day 365 of 1,095, and for the rest another one would not pay"
    )


@pytest.mark.parametrize(("lots", "now", "later"), [([(2, 0), (2, 365), (3, 730)], 2, 5), ([(2, 0)], 2, 0)])
def test_cash_is_told_by_when_it_is_due(made: Plan, lots: Lots, now: int, later: int) -> None:
    plan = bought(made, lots)
    due, said = due_upfront(plan)
    assert due == 100 * now
    assert said == (f"{format_money(Decimal(100 * later))} more on day 365 and 730" if later else "")
    figure = next(f for f in plan_page(plan).key_figures if f.label.startswith("due upfront"))
    assert (figure.label, figure.value) == ("due upfront now" if later else "due upfront", f"${100 * now}")
    assert figure.note == f"{said}; bound for 1 year" if later else "bound for 1 year"


def test_pictures_are_of_what_is_reserved_now(made: Plan) -> None:
    drawn = replace(bought(made, [(2, 0), (9, 365)]), reserve=ReserveUse(8.0, 0.5, 0.9))
    assert "8 vCPUs are reserved now and take 50% of it" in demand_picture(drawn).caption
    assert use_picture(bought(made, [(9, 365)])) is None


def test_a_difference_counts_the_instances_of_an_option_that_are_held_at_one_time() -> None:
    lots = [committed(2, "0.5", starts_hour=YEAR * year) for year in range(3)]
    renewed = figures(rented("4", "1.00"), *lots, horizon_hours=3 * YEAR)
    found = difference_of(figures(committed(1, "0.5")), renewed)
    (shown,) = (o for o in found.options if o.option is PurchaseOption.RESERVED)
    assert (str(shown.count.before), str(shown.count.after)) == ("1", "2")
    assert next(row for row in options(found).rows if row[0] == "reserved-instance")[1] == "1 → 2"


def test_a_difference_tells_the_cash_that_is_due_now_apart() -> None:
    """$4,380 for each of two instances on each of three dates: a third of it is due now."""
    renewed = figures(*(committed(2, "0.5", starts_hour=YEAR * year) for year in range(3)), horizon_hours=3 * YEAR)
    once = figures(committed(1, "0.5"))
    rows = {row[0]: row[1:] for row in totals(difference_of(once, renewed)).rows}
    assert rows["$ upfront, due now"] == ["4,380.00", "8,760.00", "+4,380.00"]
    assert rows["$ upfront, later ones too"] == ["4,380.00", "26,280.00", "+21,900.00"]
    assert "$ upfront" in {row[0] for row in totals(difference_of(once, once)).rows}


def test_a_kind_of_a_bill_buys_what_it_holds_at_one_time_and_pays_now_what_is_due_now(made: Plan) -> None:
    lots = [(2, 0), (2, 365), (3, 730)]
    kind = KindPlan("m6i", Provider.AWS, "us-east-1", Decimal(1), None, None, 8.0, 0.0, bought(made, lots))
    assert (kind.bought_vcpus, kind.upfront) == (Decimal(4 * held_most(lots)), Decimal(200))
    # eight t3.nano are one t3.medium of as many vCPUs, and eight times its memory
    small = bought(made, lots)
    small = replace(small, mix=tuple(replace(line, memory_gib=line.vcpus / 4) for line in small.mix))
    assert replace(kind, plan=small, gib_per_vcpu=Decimal(2)).bought_vcpus == kind.bought_vcpus / 8


def test_what_is_advised_again_and_again_is_what_is_bought_now(made: Plan) -> None:
    """$100 for a year of each instance: 8.33 a month while it is held, a third of that over three years."""
    plan = bought(made, [(2, 0), (2, 365), (2, 730)])
    words, monthly, later = advice_of(plan)
    assert (len(words), monthly) == (1, Decimal("16.67"))
    assert f"of ${200 / 8760:.4f}/h for m6i.4xlarge for 1 year" in words[0]
    assert ": $17 a month, $200 upfront" in words[0]
    assert later == ["the plan has 2 later purchases, on day 365 and 730"]
    assert advice_of(bought(made, [(2, 0)]))[2] == []


@pytest.mark.parametrize(("expires", "ends"), [("2027-05-19", 180), ("2028-05-19", None)])
def test_what_is_owned_says_when_it_ends_within_the_horizon(tmp_path: Path, expires: str, ends: int | None) -> None:
    config = tmp_path / "hcloud.yaml"
    config.write_text(
        "markets: [{provider: aws, regions: [us-east-1], families: [m6i], vcpus: 16}]\nplanning: {horizon: 1y}\n"
        "owned: [{provider: aws, region: us-east-1, instance_type: m6i.4xlarge, option: reserved-instance,"
        f" term_years: 3, payment: no-upfront, count: 2, expires: {expires}}}]\n"
    )
    trace = tmp_path / "trace.csv"
    trace.write_text("id,submit,duration,cores,memory,kind\na,0,86400,48,150,service\n")
    asked = ("-f", str(config), str(trace), "--now", "2026-11-20T00:00:00Z", "--out", str(tmp_path / "p.json"))
    assert run(["-q", "plan", *asked]) == 0
    stored = load_plan(tmp_path / "p.json")
    (owned,) = (line for line in stored.mix if line.is_owned)
    assert (owned.expires_hour, owned.ends_hour) == (ends and ends * DAY, ends and ends * DAY)
    assert ('"expires_hour"' in (tmp_path / "p.json").read_text()) == bool(ends)
    label = next(label for label, line in grouped(stored.mix) if line.is_owned)
    assert label.endswith(f", until day {ends}" if ends else "no upfront")
    assert figures_of(stored).parts[-1].expires_hour == owned.expires_hour


def test_the_answer_tells_later_purchases(made: Plan) -> None:
    assert ", the rest rented, 2 purchases later: $" in explain_plan(bought(made, [(2, 0), (2, 365), (2, 730)])).answer
    assert ", the rest rented: $" in explain_plan(bought(made, [(2, 0)])).answer


def test_every_date_of_an_offer_is_told_in_full(made: Plan) -> None:
    plan = bought(made, [(2, 0), (2, 365)])
    told = markdown_explanation(plan, plan.mix[0].address).splitlines()
    assert "2, $" in told[0]
    assert "2 from day 365, $" in told[1]


def test_a_page_leads_with_what_is_bought_now(made: Plan) -> None:
    lead = plan_page(bought(made, [(2, 0), (2, 365), (2, 730)])).lead[0]
    assert lead.startswith("Reserving 2 × m6i.4xlarge ")
    assert "renting the rest on demand (2 purchases later) saves " in lead
    assert "day" not in lead
    assert "Committing to nothing now and renting on demand (1 purchase later) " in " ".join(
        plan_page(bought(made, [(2, 365)])).lead
    )
