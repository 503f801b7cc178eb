"""Rules: how their file is read, and what each check says of a plan."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from plan_figures import committed, fallen, plan, predicted, rented

from hcloud.errors import InputError, UsageError
from hcloud.model.catalog import PurchaseOption
from hcloud.model.plans.figures import PlanFigures
from hcloud.model.plans.gate import Check, Finding, GateRule, Level, Status, Verdict
from hcloud.model.plans.operation import Band
from hcloud.planning.gates.gate import Around, check_plan
from hcloud.readers.rules import load_rules, parse_rules

TODAY = date(2026, 11, 21)


def found(rule: dict[str, object], checked: PlanFigures, around: Around | None = None) -> Finding:
    (finding,) = check_plan(checked, parse_rules({"rules": [rule]}, "rules.yaml"), around or Around(TODAY))
    return finding


PLAN = plan(
    rented("4", "1.00"),
    committed(6, "0.50", years=3),
    what_if=(fallen("0.3", "9000", "7000"),),
    history_hours=Decimal(480),
)

# what a rule allows just so, and what it just so does not
BOUNDS: list[tuple[dict[str, object], dict[str, object]]] = [
    ({"hourly": 7}, {"hourly": Decimal("6.9999")}),
    ({"monthly": 5110}, {"monthly": Decimal("5109.99")}),
    ({"commitment": 78840}, {"commitment": 78839}),
    ({"committed_share": Decimal("0.6")}, {"committed_share": Decimal("0.59")}),
    ({"longest_term": "3y"}, {"longest_term": 1}),
    ({"upfront": 78840}, {"upfront": 0}),
    ({"instances": 11}, {"instances": 10}),
    ({"price_age": "20d"}, {"price_age": "19d"}),
    ({"regret": {"fall": Decimal("0.3"), "dollars": 2000}}, {"regret": {"fall": Decimal("0.3"), "dollars": 1999}}),
    ({"history": {"minimum": "20d"}}, {"history": {"minimum": "21d"}}),
    ({"providers": ["aws", "gcp"]}, {"providers": ["gcp"]}),
    ({"regions": ["us-*"]}, {"regions": ["eu-*", "us-west-2"]}),
    ({"types": ["m9.*"]}, {"types": ["m9.large"]}),
    ({"denied_types": ["m8.*"]}, {"denied_types": ["*.4xlarge"]}),
    ({"options": ["on-demand", "reserved-instance"]}, {"options": ["on-demand"]}),
]


@pytest.mark.parametrize(("kept", "broken"), BOUNDS, ids="-".join)
def test_each_rule_holds_at_its_bound_and_not_beyond(kept: dict[str, object], broken: dict[str, object]) -> None:
    good, bad = found(kept, PLAN), found(broken, PLAN)
    assert (good.status, good.where, good.advice) == (Status.PASSED, (), "")
    assert bad.status is Status.FAILED
    assert bad.advice
    assert bad.where
    assert set(bad.where) <= {p.address for p in PLAN.parts}


def test_every_check_is_tried_above_or_below() -> None:
    tried = {key for rules in BOUNDS for rule in rules for key in rule}
    apart = {"increase_hourly", "increase_monthly", "increase_share", "tags", "kept_qos"}
    assert tried | apart == {check.value for check in Check}


@pytest.mark.parametrize(("key", "kept", "broken"), [
    ("increase_hourly", "2", "1.99"), ("increase_monthly", "1460", "1459.99"), ("increase_share", "0.4", "0.39"),
])  # fmt: skip
def test_increases_are_measured_from_the_plan_before(key: str, kept: str, broken: str) -> None:
    base = Around(TODAY, plan(rented("5", "1.00")))
    assert found({key: Decimal(kept)}, PLAN, base).status is Status.PASSED
    assert found({key: Decimal(broken)}, PLAN, base).status is Status.FAILED
    without = found({key: Decimal(kept)}, PLAN)
    assert without.status is Status.UNKNOWN
    assert "--base" in without.advice


def test_predicted_quality_has_a_floor() -> None:
    checked = plan(rented("4", "1.00"), kept=Band(0.93, 0.01))
    assert found({"kept_qos": Decimal("0.93")}, checked).status is Status.PASSED
    bad = found({"kept_qos": Decimal("0.94")}, checked)
    assert (bad.status, bad.actual) == (Status.FAILED, "93% ±1.0%")


def test_budgets_hold_on_what_was_simulated() -> None:
    checked = plan(rented("4", "1.00"), quality=predicted(0.93))  # 10 $/h as simulated, 4 in the arithmetic
    assert found({"hourly": 10}, checked).status is Status.PASSED
    assert found({"hourly": Decimal("9.99")}, checked).status is Status.FAILED
    assert found({"monthly": Decimal("7299.99")}, checked).status is Status.FAILED
    arithmetic = Around(TODAY, plan(rented("3", "1.00")))
    assert found({"increase_hourly": 1}, checked, arithmetic).status is Status.PASSED
    simulated = Around(TODAY, plan(rented("3", "1.00"), quality=predicted(0.8)))
    assert found({"increase_monthly": 0}, checked, simulated).status is Status.PASSED
    assert found({"increase_hourly": 9}, checked, Around(TODAY, None, first=True)).status is Status.FAILED


def test_a_first_plan_increases_from_nothing() -> None:
    first = Around(TODAY, None, first=True)
    assert found({"increase_hourly": 7}, PLAN, first).status is Status.PASSED
    assert found({"increase_hourly": 6}, PLAN, first).status is Status.FAILED
    assert found({"increase_share": 6}, PLAN, first).status is Status.UNKNOWN


def test_what_is_owned_already_is_not_held_against_a_plan() -> None:
    owned = committed(2, "0.5", name="old.large", bought=False, upfront=Decimal(0), term_total=Decimal(0))
    checked = plan(rented("1", "1.00"), owned)
    assert found({"types": ["m9.*"]}, checked).status is Status.PASSED
    assert found({"commitment": 0}, checked).status is Status.PASSED
    assert found({"longest_term": 0}, checked).status is Status.PASSED
    assert found({"committed_share": Decimal("0.5")}, checked).status is Status.FAILED


def renewed(*counts: int) -> PlanFigures:
    """Reserved instances of 16 vCPUs for $4,380 upfront each, in other numbers every year, beside 4 rented ones."""
    lots = [committed(count, "0.5", starts_hour=8760 * year) for year, count in enumerate(counts)]
    return plan(rented("4", "1.00"), *lots, horizon_hours=8760 * len(counts))


@pytest.mark.parametrize("counts", [(3, 3, 3), (2, 5, 1), (0, 4, 0)])
def test_what_renews_another_is_not_held_beside_it(counts: tuple[int, ...]) -> None:
    checked, mean = renewed(*counts), Decimal(sum(counts)) / len(counts)
    share = mean / (mean + 4)
    assert found({"instances": max(counts) + 5}, checked).actual == f"{max(counts) + 5} at one moment"
    assert found({"instances": max(counts) + 4}, checked).status is Status.FAILED
    told = found({"committed_share": share + Decimal("0.000001")}, checked)
    assert (told.status, told.actual.endswith("% in the mean")) == (Status.PASSED, True)
    assert found({"committed_share": share - Decimal("0.000001")}, checked).status is Status.FAILED


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ((3, 3, 3), "$13,140.00 due now"),
        ((2, 5, 1), "$21,900.00 due on day 365"),
        ((0, 0, 4), "$17,520.00 due on day 730"),
    ],
)
def test_cash_is_what_is_due_on_one_day(counts: tuple[int, ...], said: str) -> None:
    checked, most = renewed(*counts), max(counts) * 4380
    assert found({"upfront": most}, checked).actual == said
    bad = found({"upfront": most - 1}, checked)
    assert (bad.status, len(bad.where)) == (Status.FAILED, 1)


def test_what_is_due_within_the_first_day_is_due_now() -> None:
    checked = plan(committed(1, "0.5"), committed(1, "0.5", starts_hour=23))
    assert found({"upfront": 8760}, checked).actual == "$8,760.00 due now"
    assert found({"upfront": 0}, plan(rented("4", "1.00"))).actual == "$0.00"


def test_what_replaces_an_owned_commitment_is_not_held_beside_it() -> None:
    """Two that are owned until the middle of the horizon and two that are bought then are two, and 32 of 96 vCPUs."""
    owned = committed(2, "0.5", name="m9.4xlarge", bought=False, upfront=Decimal(0), expires_hour=4380)
    owned, later = replace(owned, address=f"owned/{owned.address}"), committed(2, "0.5", starts_hour=4380)
    checked = plan(rented("4", "1.00"), owned, later)
    assert found({"instances": 5 + 2}, checked).status is Status.PASSED
    assert found({"committed_share": Decimal("0.3334")}, checked).status is Status.PASSED
    assert found({"committed_share": Decimal("0.3333")}, checked).status is Status.FAILED


def test_a_term_that_outlasts_the_horizon_counts_within_it() -> None:
    """16 vCPUs committed for the second of two half years, with 64 rented: 8 of 72 in the mean."""
    checked = plan(rented("4", "1.00"), committed(1, "0.5", starts_hour=4380))
    assert found({"committed_share": Decimal("0.1112")}, checked).status is Status.PASSED
    assert found({"committed_share": Decimal("0.1111")}, checked).status is Status.FAILED


def test_types_that_may_take_the_place_of_a_part_count() -> None:
    checked = plan(rented("1", "1.00", others=("x9.huge",)))
    assert found({"types": ["m9.*"]}, checked).actual == "x9.huge"
    assert found({"denied_types": ["x9.*"]}, checked).status is Status.FAILED


def test_history_is_asked_of_the_terms_that_are_bought_only() -> None:
    rule: dict[str, object] = {"history": {"minimum": "4w"}}
    assert found(rule, plan(rented("4", "1.00"), history_hours=Decimal(2))).status is Status.PASSED
    two_hours = plan(committed(6, "0.50"), history_hours=Decimal(2))
    assert (found(rule, two_hours).status, found(rule, two_hours).actual) == (Status.FAILED, "2h of trace")
    three_years: dict[str, object] = {"history": {"minimum": "13w", "term": "3y"}}
    assert found(three_years, two_hours).actual == "buys no commitment for 3 years or longer"
    assert found(rule, replace(two_hours, history_hours=None)).status is Status.UNKNOWN


def test_tags_are_known_of_plans_for_a_cloud_only() -> None:
    rule: dict[str, object] = {"tags": ["hcloud-project", "team"]}
    assert found(rule, PLAN).status is Status.UNKNOWN
    bearing = plan(rented("1", "1.00", tags=("hcloud-project", "hcloud-key")))
    assert found(rule, bearing).actual == "without team"
    assert found({"tags": ["hcloud-project"]}, bearing).status is Status.PASSED


def test_without_evidence_a_rule_is_unknown_and_says_how_to_get_it() -> None:
    bare = plan(replace(rented("1", "1.00"), vcpus=None), price_day=None)
    rules: list[dict[str, object]] = [{"kept_qos": 1}, {"regret": {"fall": Decimal("0.2"), "dollars": 1}}]
    assert all(found(rule, bare).status is Status.UNKNOWN and found(rule, bare).advice for rule in rules)
    rules = [{"price_age": "1d"}, {"committed_share": 1}]
    assert all(found(rule, bare).status is Status.UNKNOWN for rule in rules)
    unpriced = plan(rented("1", "1.00"), unpriced=("z9.large",))
    assert found({"monthly": 10_000}, unpriced).status is Status.UNKNOWN
    assert found({"price_age": "30d"}, plan(price_day=date(2027, 1, 1))).status is Status.UNKNOWN


def test_the_exit_code_is_that_of_the_worst() -> None:
    def code(*rules: dict[str, object]) -> int:
        parsed = parse_rules({"rules": list(rules)}, "r")
        return Verdict("p", "r", check_plan(plan(rented("1", "1.00")), parsed, Around(TODAY))).exit_code

    good: dict[str, object] = {"hourly": 1}
    denied: dict[str, object] = {"monthly": 1}
    unknown: dict[str, object] = {"kept_qos": 1}
    assert code(good) == 0
    assert code(good, unknown) == 9
    assert code(unknown, denied, good) == 3
    assert code(good, {**denied, "level": "warn"}) == 0
    assert code({**unknown, "required": False}) == 0
    assert code({**unknown, "level": "warn"}) == 0
    assert code({**unknown, "level": "warn", "required": True}) == 9


def test_rules_are_named_by_their_check_and_level() -> None:
    rules = parse_rules({"rules": [{"monthly": 2}, {"monthly": 1, "level": "warn"}, {"name": "x", "hourly": 1}]}, "r")
    assert [r.name for r in rules] == ["monthly", "monthly (warn)", "x"]
    assert [r.level for r in rules] == [Level.DENY, Level.WARN, Level.DENY]


def test_every_problem_of_a_file_is_shown_with_its_place_and_a_hint(tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(
        """
rulez: []
rules:
  - {montly: 10}
  - {monthly: 10, hourly: 1}
  - {monthly: -1}
  - {providers: [awz]}
  - {options: [reserved]}
  - {longest_term: 18d}
  - {price_age: 30}
  - {regions: []}
  - {regret: {fal: 0.3, dollars: 1}}
  - {hourly: .nan}
""",
        encoding="utf-8",
    )
    with pytest.raises(InputError) as caught:
        load_rules(path)
    shown = str(caught.value)
    for words in (
        "rulez: unknown key (did you mean rules?)",
        "rules.0.montly: unknown key (did you mean monthly?)",
        "not hourly and monthly at once",
        "rules.2.monthly",
        "rules.3.providers.0: 'awz'",
        "rules.4.options.0",
        "whole years",
        "must be a duration",
        "rules.7.regions",
        "rules.8.regret.fal: unknown key (did you mean fall?)",
        "rules.9.hourly: '.nan'",
    ):
        assert words in shown


@pytest.mark.parametrize(
    "text", ["", "[]", "rules: []", "rules: {a: 1}", "a: 1\na: 2\n", "rules: [{hourly: 1}, {hourly: 2}]"]
)
def test_a_file_that_would_let_everything_pass_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError):
        load_rules(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no rules"),
        ("# none yet\n", "holds no rules"),
        ("rules: []\n", "rules: [] (must have at least one entry)"),
        ("rules: [{committed_share: {at_most: 0.5}}]\n", "1 problem in the rules"),
        ("rules:\n", "must be a list"),
        ("rules: [{types: []}]\n", "rules.0.types: [] (must have at least one entry)"),
    ],
)
def test_a_file_without_rules_is_refused_in_plain_words(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_rules(tmp_path / "rules.yaml")
    assert said in str(caught.value)
    assert "uple" not in str(caught.value)


def test_no_file_of_rules_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a folder, and no file of rules"):
        load_rules(tmp_path)
    with pytest.raises(UsageError, match="no such file of rules"):
        load_rules(tmp_path / "rules.yaml")


def test_bounds_are_read_exactly() -> None:
    (rule,) = load_rules_text("rules: [{hourly: 0.1}]")
    assert rule.bound == Decimal("0.1")


def load_rules_text(text: str) -> tuple[GateRule, ...]:
    from hcloud.readers.safe_yaml import load_yaml

    content = load_yaml(text, "r", decimals=True)
    assert isinstance(content, dict)
    return parse_rules(content, "r")


def test_options_are_the_terms_of_plans() -> None:
    (rule,) = parse_rules({"rules": [{"options": [o.value for o in PurchaseOption]}]}, "r")
    assert len(rule.allowed) == len(PurchaseOption)
