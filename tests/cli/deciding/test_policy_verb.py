"""``hcloud policy check`` as a user and a pipeline run it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plan_figures import MADE

from hcloud.cli.main import run
from hcloud.model.plans.gate import Check, Finding, GateRule, Level, Status, Verdict
from hcloud.readers.rules import rules_schema
from hcloud.readers.safe_yaml import load_yaml
from hcloud.store.diff_codec import verdict_schema
from hcloud.units import harmless
from hcloud.views.deciding.gate import junit_report, markdown_verdict

pytestmark = pytest.mark.usefixtures("coarse_steps")

EXAMPLES = Path(__file__).parents[3] / "examples"
NOW = ("--now", "2026-11-20T12:00:00Z")
Checked = Callable[..., tuple[int, str]]

# what readers of JUnit reports (Jenkins' schema, GitLab, GitHub's actions) know of each element
JUNIT = {
    "testsuites": ({"name", "tests", "failures", "errors", "time"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors", "skipped", "time", "timestamp", "hostname"},
        {"testcase"},
    ),
    "testcase": ({"classname", "name", "file", "time"}, {"failure", "error", "skipped", "system-out"}),
    "failure": ({"message", "type"}, set()),
    "error": ({"message", "type"}, set()),
    "skipped": ({"message"}, set()),
    "system-out": (set(), set()),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plan with its own fleet simulated, and the same without."""
    made = tmp_path_factory.mktemp("plans")
    example = str(EXAMPLES / "high-variability" / "hcloud.yaml")
    assert run(["plan", "-f", example, *NOW, "--out", str(made / "simulated.json")]) == 0
    whole = json.loads((made / "simulated.json").read_text(encoding="utf-8"))
    (made / "plan.json").write_text(json.dumps({**whole, "prediction": None}), encoding="utf-8")
    return made


@pytest.fixture
def checked(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Checked:
    """Checks the plan against rules: the exit code and stdout."""
    monkeypatch.chdir(folder)

    def once(rules: str, *words: str) -> tuple[int, str]:
        (folder / "rules.yaml").write_text(rules, encoding="utf-8")
        capsys.readouterr()
        code = run(["policy", "check", "plan.json", *words, *NOW])
        return code, capsys.readouterr().out

    return once


def test_a_plan_that_keeps_its_rules_is_allowed(checked: Checked) -> None:
    code, out = checked("rules: [{monthly: 20000}, {regions: [us-east-1]}]")
    assert code == 0
    assert "allowed: 2 rules, 2 passed" in out


def test_a_rule_that_is_broken_is_told_with_figure_bound_place_and_advice(checked: Checked) -> None:
    code, out = checked("rules: [{name: cash, upfront: 1000, why: the quarter is closed}]")
    assert code == 3
    for words in ("denied cash", "$137,071.10", "at most $1,000.00", "savings-plan-1y-all-upfront",
                  "why: the quarter is closed", "do: allow payments with less upfront"):  # fmt: skip
        assert words in out


def test_what_a_strategy_would_rent_is_held_to_rules_where_the_arithmetic_rents_nothing(folder: Path) -> None:
    words = ["plan", "scenario:static", "--provider", "aws", "--region", "us-east-1", "--strategy", "HC", *NOW]
    assert run([*words, "--seeds", "1", "--out", str(folder / "static.json")]) == 0
    stored = json.loads((folder / "static.json").read_text())
    assert {line["option"] for line in stored["mix"]} == {"ec2-instance-savings-plan"}
    assert "m5a.large" in stored["operation"]["on_demand_types"]
    for rule, code in (
        ("denied_types: [m5a.large]", 3),
        ("options: [ec2-instance-savings-plan]", 3),
        ("types: [m5a.*]", 0),
    ):
        (folder / "rules.yaml").write_text(f"rules: [{{{rule}}}]", encoding="utf-8")
        assert run(["policy", "check", str(folder / "static.json"), "--rules", str(folder / "rules.yaml")]) == code


def test_missing_evidence_exits_nine_only_where_it_is_required(checked: Checked) -> None:
    assert checked("rules: [{kept_qos: 0.9}]")[0] == 9
    assert checked("rules: [{kept_qos: 0.9, required: false}]")[0] == 0
    assert checked("rules: [{kept_qos: 0.9}, {monthly: 1}]")[0] == 3
    assert checked("rules: [{monthly: 1, level: warn}]")[0] == 0


def test_quality_of_a_plan_s_own_fleet_is_held_to_its_floor(folder: Path) -> None:
    kept = json.loads((folder / "simulated.json").read_text(encoding="utf-8"))["prediction"]["kept_qos"]
    for least, code in ((kept, 0), (min(kept + 0.001, 1), 0 if kept == 1 else 3)):
        (folder / "rules.yaml").write_text(f"rules: [{{kept_qos: {least}}}]", encoding="utf-8")
        words = ["policy", "check", str(folder / "simulated.json"), "--rules", str(folder / "rules.yaml")]
        assert run(words) == code


def test_increases_need_a_base(checked: Checked) -> None:
    rules = "rules: [{increase_monthly: 100}]"
    assert checked(rules)[0] == 9
    assert checked(rules, "--base", "plan.json")[0] == 0
    assert checked(rules, "--base", "-")[0] == 3
    assert checked(rules, "--base", "absent.json")[0] == 64
    assert checked(rules, "--base", "absent.json", "--base-missing-ok")[0] == 3


def test_prices_age_until_the_day_of_the_check(folder: Path, checked: Checked) -> None:
    rules = "rules: [{price_age: 1178d}]"
    assert checked(rules)[0] == 0
    assert run(["policy", "check", "plan.json", "--now", "2026-11-21T12:00:00Z"]) == 3


def test_json_follows_the_published_schema(checked: Checked) -> None:
    code, out = checked("rules: [{monthly: 1, level: warn}, {kept_qos: 1}, {committed_share: 0.5}]", "-o", "json")
    document = json.loads(out)
    jsonschema.Draft202012Validator(dict(verdict_schema())).validate(document)
    assert document["exit_code"] == code == 3
    assert [f["status"] for f in document["findings"]] == ["failed", "unknown", "failed"]
    assert document["findings"][2]["figure"] == "0.816495"


def test_the_rules_of_the_example_follow_the_published_schema() -> None:
    path = EXAMPLES / "ci" / "rules.yaml"
    content = load_yaml(path.read_text(encoding="utf-8"), path.name)
    jsonschema.Draft202012Validator(rules_schema()).validate(content)
    jsonschema.Draft202012Validator(rules_schema()).validate({"rules": [{"price_age": "30 Days"}]})
    bad: list[object] = [{"rules": []}, {"rules": [{"monthly": 1, "hourly": 1}]}, {"rules": [{"montly": 1}]}]
    for wrong in bad:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.Draft202012Validator(rules_schema()).validate(wrong)


@pytest.mark.parametrize("width", ["80", "200"])
def test_it_fits_its_terminal(width: str, checked: Checked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", width)
    _, out = checked((EXAMPLES / "ci" / "rules.yaml").read_text(encoding="utf-8"))
    assert max(map(len, out.splitlines())) <= int(width)


def structure(element: ElementTree.Element) -> None:
    """Every element and attribute is one that readers of JUnit know, and the required ones are there."""
    attributes, children = JUNIT[element.tag]
    assert set(element.attrib) <= attributes
    assert set(element.attrib) >= attributes - {"file", "hostname"}
    for child in element:
        assert child.tag in children
        structure(child)


def test_the_junit_report_is_as_readers_want_it(folder: Path, checked: Checked) -> None:
    unknown = "{kept_qos: 1}, {tags: [x], required: false}"
    rules = f"rules: [{{monthly: 1}}, {{hourly: 1, level: warn}}, {unknown}, {{upfront: 200000}}]"
    code, out = checked(rules, "-o", "junit", "--junit", "policy.xml")
    assert code == 3
    assert (folder / "policy.xml").read_text(encoding="utf-8") == out
    root = ElementTree.fromstring(out)
    structure(root)
    (suite,) = root
    assert [[child.tag for child in case] for case in suite] == [
        ["failure"],
        ["system-out"],
        ["error"],
        ["skipped"],
        [],
    ]
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "5", "failures": "1", "errors": "1", "skipped": "1",
    }  # fmt: skip
    names = [case.get("name") for case in suite]
    assert len(set(names)) == len(names)
    assert all(float(case.get("time", "")) >= 0 for case in root.iter() if case.get("time") is not None)
    failure = suite[0][0]
    assert "at most $1.00" in (failure.get("message") or "")
    assert "ec2-instance-savings-plan" in (failure.text or "")


def test_a_report_replaces_a_report_and_nothing_else(folder: Path, checked: Checked) -> None:
    assert checked("rules: [{monthly: 20000}]", "--junit", "again.xml")[0] == 0
    assert checked("rules: [{monthly: 20000}]", "--junit", "again.xml")[0] == 0
    (folder / "precious.xml").write_text("<mine/>", encoding="utf-8")
    assert checked("rules: [{monthly: 20000}]", "--junit", "precious.xml")[0] == 1
    assert (folder / "precious.xml").read_text(encoding="utf-8") == "<mine/>"
    assert checked("rules: [{monthly: 20000}]", "--junit", "absent/x.xml")[0] == 64


words = st.text(min_size=1, max_size=30)
findings = st.builds(
    Finding,
    st.builds(GateRule, words, st.sampled_from(Check), st.sampled_from(Level), required=st.booleans(), why=words),
    st.sampled_from(Status),
    words,
    words,
    where=st.lists(words, max_size=2).map(tuple),
    advice=words,
)


@given(st.lists(findings, max_size=3).map(tuple), words)
def test_L2_a_junit_report_says_again_what_was_put_in(found: tuple[Finding, ...], name: str) -> None:
    root = ElementTree.fromstring(junit_report(Verdict(name, "rules.yaml", found), MADE))
    structure(root)
    (suite,) = root
    assert len(suite) == len(found)
    for case, finding in zip(suite, found, strict=True):
        tags = {child.tag for child in case}
        assert ("failure" in tags) == finding.denies
        assert ("error" in tags) == finding.lacks
        assert case.get("name") == "\n".join(map(harmless, finding.rule.name.split("\n")))
    assert suite.get("failures") == str(sum(f.denies for f in found))
    assert suite.get("errors") == str(sum(f.lacks for f in found))


def test_L2_names_of_rules_do_nothing_in_markdown(checked: Checked) -> None:
    name, why = "<script>x</script> | @all", "[a](javascript:x) <!-- -->"
    code, out = checked(json.dumps({"rules": [{"name": name, "monthly": 1, "why": why}]}), "-o", "md")
    assert code == 3
    assert "<" not in out
    assert not re.search(r"@\w", out)
    assert "](" not in out


def test_a_verdict_fits_beside_a_difference() -> None:
    def finding(index: int) -> Finding:
        rule = GateRule(f"{index} " + "|" * 70, Check.MONTHLY)
        return Finding(rule, Status.FAILED, "<" * 500, "@" * 500, where=("&" * 500,) * 9, advice="do")

    out = markdown_verdict(Verdict("p", "r", tuple(map(finding, range(500)))))
    assert 10_000 < len(out.encode()) <= 65_536 // 4
    assert re.search(r"lines left out", out)


def test_a_plan_that_does_not_add_up_is_not_judged(folder: Path, checked: Checked) -> None:
    document: dict[str, Any] = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    document["after"]["monthly"] = document["after"]["hourly"] = "1.00"
    (folder / "cheap.json").write_text(json.dumps(document), encoding="utf-8")
    (folder / "rules.yaml").write_text("rules: [{monthly: 1}]", encoding="utf-8")
    assert run(["policy", "check", "cheap.json"]) == 1
