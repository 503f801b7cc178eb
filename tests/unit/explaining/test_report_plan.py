"""The month of a plan: what is bought now or later, for longer than the horizon, owned, on the spot market."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from billing import BOOK, MONTH, D

from hcloud.cli.main import run
from hcloud.errors import EvidenceError
from hcloud.model.catalog import Offer, OfferKey, Payment, Provider, PurchaseOption
from hcloud.model.plans.plan import OWNED, MixLine, Plan
from hcloud.model.report import ChargeCategory, ChargeFrequency, CommitmentStatus
from hcloud.planning.reports.of_plan import (
    month_of_plan,
    planned_charges,
    planned_counterfactuals,
    planned_holdings,
    planned_notes,
    used_share,
)
from hcloud.planning.reports.report import Report, ReportSource, total
from hcloud.planning.reports.savings import uses
from hcloud.store.plan_file import load_plan
from hcloud.units import HOURS_PER_YEAR, cents

PERIOD = month_of_plan(MONTH)
YEAR = HOURS_PER_YEAR


@pytest.fixture(scope="module")
def drawn_up(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """Any plan, of which the mix is replaced."""
    folder = tmp_path_factory.mktemp("plan")
    rows = ["id,submit,duration,cores,memory,kind", *(f"s{i},0,172800,16,64,service" for i in range(3))]
    (folder / "trace.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    path = folder / "plan.json"
    assert run(["plan", str(folder / "trace.csv"), "--out", str(path), "--now", "2026-11-01T00:00:00Z"]) == 0
    return load_plan(path)


def line(
    option: PurchaseOption, total: str, years: int = 0, upfront: str = "0", count: str = "2", **more: object
) -> MixLine:
    dollars = D(total)
    fields: dict[str, object] = {
        "address": f"aws/us-east-1/m5.large/{option}", "provider": Provider.AWS, "region": "us-east-1",
        "instance_type": "m5.large", "option": option, "term_years": years, "payment": Payment.NONE,
        "count": D(count), "peak": 3, "vcpus": D(4), "memory_gib": D(16), "hourly": dollars / YEAR,
        "monthly": cents(dollars / YEAR * 730), "upfront": D(upfront), "total": dollars, "break_even": None,
        "starts_hour": 0, "price_day": date(2026, 11, 1), "derived": "", **more,
    }  # fmt: skip
    return MixLine(**fields)  # type: ignore[arg-type]


def with_mix(plan: Plan, *mix: MixLine) -> Plan:
    return replace(plan, mix=mix, horizon_hours=YEAR)


@pytest.mark.slow
def test_on_demand_costs_what_the_plan_says_and_is_listed_so(drawn_up: Plan) -> None:
    plan = with_mix(drawn_up, line(PurchaseOption.ON_DEMAND, "1752"))
    found = total(planned_charges(plan, BOOK.offer, PERIOD))
    assert found.list == found.contracted == found.effective == found.billed == D(146)


def test_a_month_that_is_told_to_the_cent_is_no_discount_and_no_surcharge(drawn_up: Plan) -> None:
    """And what is reported is its part of the total: lines rounded by the month were cents beside the plan's sum."""
    dollars = D("0.10") * D("0.22255") * YEAR
    plan = with_mix(drawn_up, line(PurchaseOption.ON_DEMAND, str(dollars), count="0.22255", monthly=D("16.25")))
    found = total(planned_charges(plan, BOOK.offer, PERIOD))
    assert found.list == found.contracted == found.effective == D("16.24615")


def test_a_discount_by_use_is_not_listed(drawn_up: Plan) -> None:
    plan = with_mix(drawn_up, line(PurchaseOption.ON_DEMAND, "1226.40"))
    found = total(planned_charges(plan, BOOK.offer, PERIOD))
    assert found.list == D(146)
    assert found.contracted == found.billed == cents(D(146) * D("0.7"))


def test_spot_is_listed_on_demand(drawn_up: Plan) -> None:
    (row, *_) = planned_charges(with_mix(drawn_up, line(PurchaseOption.SPOT, "525.60")), BOOK.offer, PERIOD)
    assert (row.option, row.address) == (PurchaseOption.SPOT, "spot-m5-large")
    assert row.costs.list > row.costs.contracted == row.costs.billed


def test_a_purchase_is_billed_upfront_and_by_the_hour_and_spread_over_its_term(drawn_up: Plan) -> None:
    plan = with_mix(drawn_up, line(PurchaseOption.RESERVED, "1051.20", 1, "525.60"))
    rows = planned_charges(plan, BOOK.offer, PERIOD)
    found = total(rows)
    assert (found.list, found.effective) == (D(146), D("87.6"))
    assert found.billed == D("525.60") + D("43.8")
    once = [r for r in rows if r.frequency is ChargeFrequency.ONE_TIME]
    assert [(r.start, r.costs.billed) for r in once] == [(MONTH, D("525.60"))]
    assert {r.status for r in rows if r.resource} == {CommitmentStatus.USED}


def test_a_term_of_three_years_is_spread_over_three(drawn_up: Plan) -> None:
    plan = with_mix(drawn_up, line(PurchaseOption.RESERVED, "2628", 3))
    assert total(planned_charges(plan, BOOK.offer, PERIOD)).effective == D(73)


def test_what_begins_later_is_told_and_not_charged(drawn_up: Plan) -> None:
    soon = line(PurchaseOption.RESERVED, "1051.20", 1, starts_hour=700)
    later = line(PurchaseOption.RESERVED, "1051.20", 1, starts_hour=800)
    rows = planned_charges(with_mix(drawn_up, soon, later), BOOK.offer, PERIOD)
    assert total(rows).effective == D("0.12") * 30
    assert {r.commitment for r in rows} == {"aws/us-east-1/m5.large/reserved-instance, hour 700"}
    assert "1 purchase of the plan" in " ".join(planned_notes(with_mix(drawn_up, soon, later), BOOK.offer, PERIOD))


def test_what_is_owned_and_ends_within_the_horizon_has_its_mean_in_a_month(drawn_up: Plan) -> None:
    """Beside it the plan has the mean of what is rented when it is gone: both together are the plan's own dollars."""
    dollars = str(D("0.06") * 2 * YEAR / 4)
    owned = line(PurchaseOption.RESERVED, dollars, 1, address=f"{OWNED}aws/x", expires_hour=YEAR // 4)
    rented = line(PurchaseOption.ON_DEMAND, str(D("0.10") * D("1.5") * YEAR), count="1.5")
    plan = with_mix(drawn_up, owned, rented)
    found = total(planned_charges(plan, BOOK.offer, PERIOD))
    assert found.effective == found.billed == D("0.06") * 2 * 730 / 4 + D("0.10") * D("1.5") * 730
    assert found.list == D("0.10") * 2 * 730, "as many machines as run, at all times"
    (holding,) = planned_holdings(plan, BOOK.offer, PERIOD)
    assert (holding.count, holding.dollars_per_hour) == (D(2), None)
    assert any("ends within the plan's horizon" in note for note in planned_notes(plan, BOOK.offer, PERIOD))


def test_what_is_owned_and_covers_nothing_is_not_used(drawn_up: Plan) -> None:
    """It is paid for where the markets allow no machine: its dollars are unused, and at list price nothing ran."""
    owned = line(PurchaseOption.RESERVED, "1051.20", 1, address=f"{OWNED}aws/x", vcpus=D(0), memory_gib=D(0))
    rows = planned_charges(with_mix(drawn_up, owned), BOOK.offer, PERIOD)
    assert (total(rows).list, total(rows).effective) == (D(0), D("0.06") * 2 * 730)
    assert {r.status for r in rows if r.category is ChargeCategory.USAGE} == {CommitmentStatus.UNUSED}


def test_machines_of_another_system_are_listed_at_its_price(drawn_up: Plan) -> None:
    asked: list[OfferKey] = []

    def offers(key: OfferKey) -> Offer:
        asked.append(key)
        return BOOK.offer(replace(key, os="linux"))

    windows = line(PurchaseOption.RESERVED, "1051.20", 1, address="aws/us-east-1/m5.large/reserved-instance/windows")
    planned_charges(with_mix(drawn_up, windows), offers, PERIOD)
    assert {(key.os, key.option) for key in asked} == {("windows", PurchaseOption.ON_DEMAND)}


def test_what_is_owned_is_paid_at_its_own_price_without_an_upfront_payment(drawn_up: Plan) -> None:
    owned = line(PurchaseOption.RESERVED, "1051.20", 1, payment=Payment.NONE, address=f"{OWNED}aws/x")
    plan = with_mix(drawn_up, owned)
    found = total(planned_charges(plan, BOOK.offer, PERIOD))
    assert found.effective == found.billed == D("0.06") * 2 * 730
    (holding,) = planned_holdings(plan, BOOK.offer, PERIOD)
    assert (holding.count, holding.ends) == (D(2), None)


def test_a_bought_commitment_says_when_it_ends(drawn_up: Plan) -> None:
    plan = with_mix(drawn_up, line(PurchaseOption.RESERVED, "1051.20", 1))
    (holding,) = planned_holdings(plan, BOOK.offer, PERIOD)
    assert holding.ends == datetime(2027, 11, 1, tzinfo=UTC)


def test_the_other_ways_are_those_of_the_plan(drawn_up: Plan) -> None:
    names = {c.name: c.dollars for c in planned_counterfactuals(drawn_up)}
    assert names["all on demand"] == drawn_up.now.monthly
    assert "this plan" not in names
    assert "lower bound" not in names


def test_a_list_price_that_is_missing_is_an_error(drawn_up: Plan) -> None:
    def nothing(key: OfferKey) -> Offer:
        return replace(BOOK, offers={}).offer(key)

    with pytest.raises(EvidenceError):
        planned_charges(with_mix(drawn_up, line(PurchaseOption.ON_DEMAND, "1752")), nothing, PERIOD)


@pytest.mark.parametrize("dollars", ["1751.99", "1752.01"])
def test_a_difference_of_rounding_is_no_discount(drawn_up: Plan, dollars: str) -> None:
    found = total(planned_charges(with_mix(drawn_up, line(PurchaseOption.ON_DEMAND, dollars)), BOOK.offer, PERIOD))
    assert found.list == found.contracted
    assert abs(found.list - Decimal(146)) < D("0.01")


def test_the_folder_of_a_plan_is_left_alone(tmp_path: Path) -> None:
    assert run(["report", "cost", str(tmp_path / "none.json")]) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_report_saves_what_its_plan_saves(drawn_up: Plan) -> None:
    """Use at list price is what all on demand would cost: hours in which a commitment is idle are no use."""
    bought = line(PurchaseOption.RESERVED, "1051.20", 1)
    rented = line(PurchaseOption.ON_DEMAND, "438", count="0.5")
    on_demand = D("1708.20")  # two machines at $0.10 in use 72.5 % of a year of 8,760 hours, and half a machine beside
    plan = replace(with_mix(drawn_up, bought, rented), now=replace(drawn_up.now, total=on_demand))
    rows = planned_charges(plan, BOOK.offer, PERIOD)
    found = total(rows)
    assert cents(found.list) == cents(on_demand / 12)
    assert found.effective == D("87.6") + D("36.5")
    (use,) = uses(Report(ReportSource.PLAN, "x", PERIOD, rows, planned_holdings(plan, BOOK.offer, PERIOD), (), None))
    assert use.amortised == D("87.6")
    assert use.utilisation == pytest.approx(D("0.725"), abs=D("0.00001"))
    assert cents(use.unused) == cents(D("87.6") * D("0.275"))
    assert {r.resource for r in rows if r.status is CommitmentStatus.UNUSED} == {""}
    assert "in use 72.5% of its hours" in " ".join(planned_notes(plan, BOOK.offer, PERIOD))


def test_renewals_of_a_reserve_are_no_idle_hours_of_it(drawn_up: Plan) -> None:
    """Two machines at $0.10, bought anew for each of three years, in use 72.5 % of 26,280 hours."""
    lots = [line(PurchaseOption.RESERVED, "1051.20", 1, starts_hour=YEAR * year) for year in range(3)]
    saved = 2 * D("0.10") * D("0.725") * 3 * YEAR
    plan = replace(drawn_up, mix=tuple(lots), horizon_hours=3 * YEAR, now=replace(drawn_up.now, total=saved))
    assert used_share(plan, BOOK.offer) == D("0.725")
    assert cents(total(planned_charges(plan, BOOK.offer, PERIOD)).list) == cents(saved / 36)


OWNED_TWICE = """markets:
  - {provider: aws, regions: [us-east-1], families: [m5], options: [on-demand]}
owned:
  - {provider: aws, region: us-east-1, instance_type: m5.large, option: reserved-instance, term_years: 1,
     payment: no-upfront, count: 3, expires: 2029-03-01}
  - {provider: aws, region: us-east-1, instance_type: m5.large, option: reserved-instance, term_years: 1,
     payment: no-upfront, count: 1, expires: 2027-02-01}
"""


@pytest.mark.slow
def test_commitments_that_are_owned_show_when_they_end_and_each_its_own_dollars(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Within the plan's horizon or not; two of one offer were one, with the dollars of both on each."""
    (tmp_path / "hcloud.yaml").write_text(OWNED_TWICE, encoding="utf-8")
    (tmp_path / "trace.csv").write_text("submit,duration,cores,memory,kind\n0,172800,40,160,service\n", "utf-8")
    place, now = ["-c", str(tmp_path / "hcloud.yaml")], ["--now", "2026-11-01T10:00:00Z"]
    plan = str(tmp_path / "plan.json")
    assert run(["plan", str(tmp_path / "trace.csv"), *place, "--out", plan, *now]) == 0
    capsys.readouterr()
    assert run(["report", "commitments", plan, *place, "--json", *now]) == 0
    document = json.loads(capsys.readouterr().out)
    first, second = document["commitments"]
    assert [(c["ends"], c["count"]) for c in (first, second)] == [
        ("2027-02-01T00:00:00Z", "1"),
        ("2029-03-01T00:00:00Z", "3"),
    ]
    amortised = [D(c["amortised"]) for c in (first, second)]
    assert sum(amortised) == D(document["used"]) + D(document["unused"])
    assert amortised[1] > 3 * amortised[0], "three of them, and for all of the horizon"
    for form in ("csv", "md", "table"):
        assert run(["report", "commitments", plan, *place, "-o", form, *now]) == 0
        assert "2029-03-01" in capsys.readouterr().out
