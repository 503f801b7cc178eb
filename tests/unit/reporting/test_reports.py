"""Reports made of charges: groups, savings, commitments, and every form they are given in."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import jsonschema
import pytest
from billing import DAY, MONTH, D, commitment, machine, tariff
from focus_rules import problems
from rich.console import Console

from hcloud.catalog.bills.billing import charges
from hcloud.model.catalog import Provider, PurchaseOption
from hcloud.model.holdings.live import Commitment
from hcloud.model.report import MachineRental, Period
from hcloud.planning.reports.report import (
    COMMITMENTS,
    Counterfactual,
    Dimension,
    Report,
    ReportSource,
    grouped,
    to_cents,
)
from hcloud.planning.reports.savings import all_reserved, coverage, peak_counts, savings, uses
from hcloud.units import harmless
from hcloud.usecases.reports.report import counterfactuals, holding_of
from hcloud.views.console import Terminal
from hcloud.views.document import schema_of
from hcloud.views.escaped import neutral
from hcloud.views.markdown import markdown
from hcloud.views.page.render import render
from hcloud.views.reports.documents import (
    CommitmentsDocument,
    CostDocument,
    SavingsDocument,
    commitments_csv,
    commitments_document,
    cost_csv,
    cost_document,
    savings_csv,
    savings_document,
)
from hcloud.views.reports.focus import COLUMNS, focus_csv
from hcloud.views.reports.page import report_page
from hcloud.views.reports.report import commitments_sections, cost_sections, savings_sections, show_sections

AT = datetime(2026, 11, 21, tzinfo=UTC)
PERIOD = Period(MONTH, MONTH + 3 * DAY)
BY = [Dimension.APP, Dimension.OPTION]
REPORT_SCHEMA = schema_of(CostDocument, SavingsDocument, CommitmentsDocument)
EVIL = ('=cmd|"/C calc"!A0', "+1+1", "-2+3", "@SUM(A1)", "\tx", "\rx", "<script>alert(1)</script>", "](javascript:x)")


def report(rented: list[MachineRental], held: list[Commitment], provider: Provider = Provider.AWS) -> Report:
    place = tariff(provider)
    return Report(
        source=ReportSource.LIVE,
        name="aws 111122223333 us-east-1",
        period=PERIOD,
        charges=charges(rented, held, place, PERIOD),
        holdings=tuple(holding_of(c, place.region) for c in held),
        counterfactuals=counterfactuals(rented, place, PERIOD),
        price_day=None,
        notes=("a note",),
    )


@pytest.fixture
def made() -> Report:
    """Three machines of two teams, one of them spot, one reserved instance for half of the rest, and one for nobody."""
    rented = [
        machine("i-1", end=MONTH + 2 * DAY, tags={"team": "red"}),
        machine("i-2", end=None, tags={"team": "blue"}, address="batch"),
        machine("i-3", option=PurchaseOption.SPOT, address="batch"),
    ]
    held = [commitment("ri-1", hourly="0.03", upfront="262.8"), commitment("ri-2", instance_type="c5.large")]
    return report(rented, held)


def printed(sections: object, width: int) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, no_color=True, highlight=False)
    show_sections(sections, Terminal(console, Console(file=io.StringIO())))  # type: ignore[arg-type]
    return out.getvalue()


def test_costs_by_application_name_whom_they_are_for(made: Report) -> None:
    found = {g.keys[0]: g.costs for g in grouped(made.charges, [Dimension.APP])}
    assert set(found) == {"web", "batch", COMMITMENTS}
    assert found["web"].list == D("4.8")
    assert found[COMMITMENTS].billed == D("262.8") + D("0.03") * 72 + D("0.06") * 72


def test_the_team_is_what_its_tag_says_and_nobody_where_there_is_none(made: Report) -> None:
    names = {g.keys[0] for g in grouped(made.charges, [Dimension.TEAM])}
    assert names == {"red", "blue", "(none)", COMMITMENTS}
    assert {g.keys[0] for g in grouped(made.charges, [Dimension.TEAM], "owner")} == {"(none)", COMMITMENTS}


def test_days_come_in_their_order(made: Report) -> None:
    days = [g.keys[0] for g in grouped(made.charges, [Dimension.DAY])]
    assert days == ["2026-11-01", "2026-11-02", "2026-11-03"]


@pytest.mark.parametrize("seconds", range(3600, 3700, 7))
def test_savings_show_the_list_price_of_the_headline_and_add_up(seconds: int) -> None:
    rented = [machine("i-1", MONTH, MONTH + 50 * seconds), machine("i-2", MONTH, MONTH + 50 * seconds + 997)]
    section = savings_sections(report(rented, [commitment()]))[0]
    amounts = {row[0]: D(row[1].replace("$", "").replace(",", "")) for row in section.tables[0].rows}
    assert f"${amounts['list price of usage']:,.2f} at list price" in section.words[0]
    parts = [amount for name, amount in amounts.items() if name.startswith("saved by")]
    assert amounts["list price of usage"] - sum(parts) == amounts["effective cost"]


def test_savings_say_where_they_come_from(made: Report) -> None:
    found = savings(made.charges)
    assert found.costs.list == D("4.8") + D("7.2") + D("2.4")
    assert found.spot == D("2.4") * D("0.7")
    assert found.sustained == 0
    assert found.unused == D("0.06") * 72
    assert found.commitments == D("7.2") - D("0.06") * 72 - found.unused
    assert found.rate == found.saved / found.costs.list


def test_a_commitment_tells_its_use_its_cost_and_its_end(made: Report) -> None:
    first, second = uses(made)
    assert (first.holding.id, first.utilisation, first.unused) == ("ri-1", D(1), D(0))
    assert (second.holding.id, second.utilisation, second.saved) == ("ri-2", D(0), -D("0.06") * 72)
    assert first.days_left(AT) == (datetime(2027, 11, 1, tzinfo=UTC) - AT).days
    assert first.upfront == D("262.8")
    whole = coverage(made.charges)
    assert (whole.coverage, whole.utilisation) == (D("7.2") / D("12"), D("0.5"))


def test_days_left_are_counted_from_now_and_not_from_the_end_of_a_report_to_come(made: Report) -> None:
    now = datetime(2026, 11, 1, tzinfo=UTC)
    [section] = commitments_sections(made, now)
    assert section.tables[0].rows[0][-1] == "365"
    assert json.loads(json.dumps(commitments_document(made, now), default=str))["commitments"][0]["days_left"] == 365


def test_without_commitments_there_is_nothing_to_use() -> None:
    whole = coverage(report([], []).charges)
    assert (whole.coverage, whole.utilisation, savings([]).rate) == (None, None, None)


def test_counterfactuals_are_priced_by_the_same_formula(made: Report) -> None:
    by_name = {c.name: c.dollars for c in made.counterfactuals}
    assert by_name["all on demand"] == D("14.4")
    assert by_name["all reserved"] == pytest.approx(3 * D("0.06") * 72)


def test_the_peak_is_of_what_ran_at_once() -> None:
    after = [machine("i-1"), machine("i-2", start=MONTH + DAY, end=MONTH + 2 * DAY), machine("i-3", end=MONTH + 5)]
    assert peak_counts(after, PERIOD) == {"m5.large": 2}
    assert peak_counts(after, Period(MONTH + DAY, MONTH + 2 * DAY)) == {"m5.large": 1}


def test_what_would_have_cost_the_same_is_not_less(made: Report) -> None:
    """A part of a cent less was '-0.0%'."""
    least = replace(made, counterfactuals=(Counterfactual("all reserved", "", made.costs.effective - D("0.0001")),))
    text = printed(savings_sections(least), 80)
    assert " 0.0%" in text
    assert "-0.0%" not in text


def test_what_is_sold_under_no_commitment_has_no_reserved_counterfactual() -> None:
    rented = [machine(instance_type="n1-highmem-4")]
    assert all_reserved(rented, tariff(Provider.GCP), PERIOD) is not None
    bare = tariff(Provider.GCP)
    offers = {k: o for k, o in bare.book.offers.items() if not k.option.is_commitment}
    bare = tariff(Provider.GCP, type(bare.book)(bare.book.types, offers, bare.book.billing))
    assert all_reserved(rented, bare, PERIOD) is None


@pytest.mark.parametrize("width", [80, 100, 200])
def test_tables_fit_and_their_parts_add_up(made: Report, width: int) -> None:
    for sections in (cost_sections(made, BY), savings_sections(made), commitments_sections(made, AT)):
        text = printed(sections, width)
        assert max(map(len, text.splitlines())) <= width
        assert "…" not in text
    below = printed(cost_sections(made, [Dimension.TYPE]), width).rpartition("─\n")[2]
    rows = [r.split() for r in below.splitlines() if r]
    amounts = [D(r[-1].replace(",", "")) for r in rows]
    assert sum(amounts[:-1], D(0)) == amounts[-1] == to_cents([made.costs.billed])[0]


def test_json_fits_its_schema_and_is_exact(made: Report) -> None:
    documents = [cost_document(made, BY, AT), savings_document(made, AT), commitments_document(made, AT)]
    for document in documents:
        jsonschema.Draft202012Validator(REPORT_SCHEMA).validate(json.loads(json.dumps(document)))
    groups = documents[0]["groups"]
    assert isinstance(groups, list)
    assert sum(Decimal(g["costs"]["effective"]) for g in groups) == made.costs.effective
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(REPORT_SCHEMA).validate({**documents[0], "costs": 1.5})


def test_the_csv_adds_up_to_the_cent(made: Report) -> None:
    rows = list(csv.DictReader(io.StringIO(cost_csv(made, BY))))
    assert list(rows[0]) == ["app", "option", "machine_hours", "list", "contracted", "effective", "billed"]
    assert sum(D(r["billed"]) for r in rows) == to_cents([made.costs.billed])[0]
    assert len(list(csv.DictReader(io.StringIO(savings_csv(made))))) == 8
    assert [r["id"] for r in csv.DictReader(io.StringIO(commitments_csv(made, AT)))] == ["ri-1", "ri-2"]


def test_focus_files_keep_the_rules_of_focus(made: Report) -> None:
    assert problems(focus_csv(made)) == []
    plan = commitment("sp", PurchaseOption.COMPUTE_SAVINGS_PLAN, "0.14", upfront="100", instance_type="", count=0)
    assert problems(focus_csv(report([machine()], [plan]))) == []
    google = [machine(instance_type="n1-standard-4", end=None), machine("i-2", instance_type="n1-highmem-4")]
    cud = commitment("cud", PurchaseOption.COMMITTED_USE, "0.1", instance_type="n1-standard-4")
    assert problems(focus_csv(report(google, [cud], Provider.GCP))) == []
    reservation = commitment("r", PurchaseOption.RESERVATION, "0.05", instance_type="Standard_D2s_v5")
    assert problems(focus_csv(report([machine(instance_type="Standard_D2s_v5")], [reservation], Provider.AZURE))) == []


def test_focus_costs_are_those_of_the_report_and_its_quantities_those_of_the_commitment(made: Report) -> None:
    rows = list(csv.DictReader(io.StringIO(focus_csv(made))))
    assert tuple(rows[0]) == COLUMNS
    assert sum(D(r["EffectiveCost"]) for r in rows) == made.costs.effective
    assert sum(D(r["BilledCost"]) for r in rows) == made.costs.billed
    assert sum(D(r["ListCost"]) for r in rows if r["ChargeCategory"] == "Usage") == made.costs.list
    mine = [r for r in rows if r["CommitmentDiscountId"] == "ri-1"]
    quantity = {s: sum(D(r["CommitmentDiscountQuantity"]) for r in mine if r["ChargeFrequency"] == s) for s in (
        "Usage-Based", "Recurring", "One-Time")}  # fmt: skip
    assert quantity == {"Usage-Based": D(72), "Recurring": D(72), "One-Time": D(8760)}


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("BilledCost", "", "BilledCost is null"),
        ("ChargeCategory", "Rent", "may not be Rent"),
        ("ChargePeriodStart", "2026-11-01", "is no time"),
        ("ListUnitPrice", "9", "list price"),
        ("EffectiveCost", "9", "costs what is billed"),
        ("Tags", "team=red", "is no json"),
        ("CommitmentDiscountStatus", "Unused", "covered use has a status"),
    ],
)
def test_the_rules_of_focus_are_not_kept_by_just_anything(column: str, value: str, said: str) -> None:
    rows = list(csv.DictReader(io.StringIO(focus_csv(report([machine()], [])))))
    rows[0][column] = value
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    assert any(said in problem for problem in problems(out.getvalue()))


@pytest.mark.parametrize("name", EVIL[:6])
def test_L1_a_name_that_a_spreadsheet_would_run_is_neutralised(name: str) -> None:
    hostile = report([machine(name, address=name, tags={"team": name, name: name})], [commitment(name)])
    for text in (cost_csv(hostile, [*Dimension]), commitments_csv(hostile, AT), focus_csv(hostile)):
        cells = [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]
        assert not any(cell.startswith(("=", "+", "@", "\t", "\r")) for cell in cells)
        assert not any(cell.startswith("-") and not cell[1:].replace(".", "").isdigit() for cell in cells)
        assert (f"'{name}" if name.isprintable() else harmless(name)) in cells
    assert problems(focus_csv(hostile)) == []


@pytest.mark.parametrize("name", EVIL)
def test_L1_json_keeps_names_byte_for_byte(name: str) -> None:
    hostile = report([machine(name, address=name)], [])
    groups = json.loads(json.dumps(cost_document(hostile, BY, AT)))["groups"]
    assert [g["keys"]["app"] for g in groups] == [name]


def test_L1_a_number_below_zero_stays_a_number() -> None:
    assert [neutral(text) for text in ("-1.5", "0", "-", "-x", "")] == ["-1.5", "0", "-", "'-x", ""]


def test_L2_markdown_and_the_page_show_names_and_obey_none() -> None:
    hostile = report([machine(EVIL[6], address=EVIL[6]), machine("b", address=EVIL[7] + "|x\n# y")], [])
    text = markdown(cost_sections(hostile, BY))
    assert "<script" not in text
    assert "](javascript:" not in text
    assert not any(line.startswith("# ") for line in text.splitlines())
    assert len({line.count("|") for line in text.splitlines() if line.startswith("|")}) == 1
    page = render(report_page(hostile, cost_sections(hostile, BY)))
    assert "<script>alert" not in page


def test_L2_a_terminal_obeys_no_name() -> None:
    hostile = report([machine("i", address="\x1b[31mred")], [])
    assert "\x1b" not in printed(cost_sections(hostile, BY), 100)


def test_the_page_says_and_draws_the_cost_by_day(made: Report) -> None:
    page = report_page(made, cost_sections(made, BY))
    (figure,) = page.sections[0].figures
    assert "2026-11-01 to 2026-11-03" in figure.alternative
    assert figure.svg.count("p-reserve") >= 3
    assert "Effective cost by day" in render(page)
