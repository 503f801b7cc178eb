"""``hcloud explain``: answers in under ten lines, for a plan, another plan, a commitment, a purchase plan and a job."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import jsonschema
import pytest
from building import Built
from purchasing import Shop, wanted

from hcloud.cli.main import run
from hcloud.model.plans.operation import Operation
from hcloud.model.plans.plan import Lever
from hcloud.planning.explanations.asked import find
from hcloud.planning.strategies.choice import OperatingTarget, choose
from hcloud.planning.strategies.choice_reasons import why
from hcloud.planning.strategies.flips_of_target import best_of, higher_target, lower_budget, lower_target, target_of
from hcloud.store.plan_file import load_plan
from hcloud.store.purchase_file import save_purchase_plan
from hcloud.views.document import schema_of
from hcloud.views.explanations.documents import AnswerDocument
from hcloud.views.explanations.plan import explain_why_not

EXAMPLE = str(Path(__file__).parents[3] / "examples" / "high-variability" / "hcloud.yaml")
NOW = ("--now", "2026-11-20T12:00:00Z")
Say = Callable[..., list[str]]


@pytest.fixture(scope="module")
def plan_file(built: Built) -> Path:
    def fill(here: Path) -> None:
        assert run(["plan", "-f", EXAMPLE, *NOW, "--out", str(here / "plan.json"), "-q"]) == 0

    return built("explained", fill) / "plan.json"


@pytest.fixture(scope="module")
def operated(built: Built) -> Path:
    """A plan with simulated strategies, of a trace small enough to run uncompiled."""
    return built("explained-operation", plan_operation) / "plan.json"


def plan_operation(here: Path) -> None:
    """Trace and plan in a directory."""
    rows = ["id,submit,duration,cores,memory,kind"]
    rows += [f"s{i},0,21600,8,16,service" for i in range(6)]
    rows += [f"b{h}-{i},{h * 3600 + 600 + 7 * i},900,2,4,batch" for h in range(6) for i in range(12)]
    (here / "trace.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    words = ["plan", str(here / "trace.csv"), "--family", "m6i", "--vcpus", "16", *NOW, "--seeds", "1"]
    assert run([*words, "--strategy", "OdF,OdM,HF,HM", "--qos", "0.8", "--out", str(here / "plan.json"), "-q"]) == 0


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Say:
    """The lines that explain prints at a width; every line fits it, and there are fewer than ten."""

    def said(*words: object, width: int = 80) -> list[str]:
        monkeypatch.setenv("COLUMNS", str(width))
        capsys.readouterr()
        assert run(["explain", *map(str, words)]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert 0 < len(lines) < 10
        assert max(map(len, lines)) <= width
        return lines

    return said


@pytest.mark.parametrize("width", [80, 120, 200])
def test_a_plan_is_explained_in_under_ten_lines_with_numbers(plan_file: Path, say: Say, width: int) -> None:
    text = " ".join(" ".join(say(plan_file, width=width)).split())
    plan = load_plan(plan_file)
    assert f"{plan.purchases[0].count:.0f} {plan.purchases[0].instance_type}" in text
    for words in ("why", "cost", "risks", "unless", "less than all on demand", "in use 66.7%", "$0.7680/h"):
        assert words in text


@pytest.mark.parametrize(
    "words", ["m7i.4xlarge", "3y", "no-upfront", "Compute SP", "convertible ri 1y", "all on demand", "static hybrid",
              "reserved for the peak", "aws/us-east-1/m7i.4xlarge", "m6i.4xlarge", "lower bound"]
)  # fmt: skip
@pytest.mark.parametrize("width", [80, 120])
def test_why_not_something_is_answered_in_under_ten_lines(plan_file: Path, say: Say, words: str, width: int) -> None:
    assert say(plan_file, "--why-not", words, width=width) == say(plan_file, words, width=width)


def test_why_not_a_type_says_by_how_many_dollars_and_which_price_would_do(plan_file: Path, say: Say) -> None:
    refusal = next(r for r in load_plan(plan_file).refusals if r.address.endswith("/m7i.4xlarge"))
    text = " ".join(" ".join(say(plan_file, "--why-not", "m7i.4xlarge")).split())
    assert refusal.margin is not None
    assert refusal.flip is not None
    assert f"+${refusal.margin:,.0f} over 1 y" in text
    assert f"${refusal.flip.at:.4f}/h on demand" in text


def test_a_plan_that_is_cheaper_than_the_one_for_the_forecast_is_not_called_dearer_than_the_cheapest(
    plan_file: Path,
) -> None:
    made = load_plan(plan_file)
    by_regret = replace(made, after=replace(made.after, total=made.after.total - 74))  # buys what the floor leaves out
    (why_not,) = (
        line for line in explain_why_not(by_regret, find(made, "m7i.4xlarge", best_of), "").lines if line.about == "why"
    )
    assert f"${made.after.total:,.0f} for what the forecast alone asks for" in why_not.text
    assert f"(this plan, ${by_regret.after.total:,.0f}, was not sized by that alone)" in why_not.text


def test_totals_of_what_was_refused_include_what_is_owned_as_the_plans_own_does(tmp_path: Path) -> None:
    there = Path(EXAMPLE).parent
    given = Path(EXAMPLE).read_text(encoding="utf-8").replace("./", f"{there}/")
    owned = (
        "\nowned:\n  - {provider: aws, region: us-east-1, instance_type: m5.4xlarge, option: reserved-instance,\n"
        "     term_years: 1, payment: all-upfront, count: 3, expires: 2027-06-30}\n"
    )
    config, out = tmp_path / "hcloud.yaml", tmp_path / "plan.json"
    config.write_text(given + owned, encoding="utf-8")
    assert run(["plan", "-f", str(config), *NOW, "--out", str(out), "-q"]) == 0
    plan = load_plan(out)
    assert plan.refusals[0].margin is not None
    assert {r.total - r.margin for r in plan.refusals if r.total and r.margin is not None} == {plan.after.total}
    (unbought,) = (a for a in plan.told_alternatives if a.name == "buying nothing more")
    assert "what is owned" in unbought.description
    (turn,) = (f.then for f in plan.flips if f.lever is Lever.DEMAND)
    assert turn == "buying nothing more would have been cheaper"  # what the plan is compared with
    unless = [
        x.text for x in explain_why_not(plan, find(plan, "all on demand", best_of), "").lines if x.about == "unless"
    ]
    assert any(turn in text for text in unless)


def test_why_not_an_offer_says_which_use_it_needs(plan_file: Path, say: Say) -> None:
    text = " ".join(" ".join(say(plan_file, "--why-not", "compute-savings-plan-1y-no-upfront")).split())
    assert "break-even against on demand is 80.8%" in text
    assert "instance 33 is in use 66.7%" in text


def test_why_not_a_term_beyond_the_horizon_is_compared_with_buying_nothing(plan_file: Path, say: Say) -> None:
    text = " ".join(" ".join(say(plan_file, "--why-not", "3y")).split())
    assert re.search(r"none of it is worth buying, and all on demand costs \$[\d,]+ more over 1 y \(", text)
    assert "in all against" not in text
    assert "for the same demand" not in text


def test_a_strategy_of_a_plan_that_simulated_none_is_answered_with_the_flag(
    plan_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["explain", str(plan_file), "--why-not", "hf"]) == 64
    told = capsys.readouterr().err
    assert "compared no strategies, so it cannot say why not HF" in told
    assert "--strategy auto" in told


def test_an_unknown_name_gets_a_suggestion(plan_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", str(plan_file), "--why-not", "m7.4xlarg"]) == 64
    assert "did you mean" in capsys.readouterr().err
    assert run(["explain", str(plan_file), "--why-not", "zzzzzz"]) == 64
    assert "--full lists all" in capsys.readouterr().err
    assert run(["explain", str(plan_file), "--commitment", "c5.xlarge"]) == 64
    assert "it buys aws/us-east-1/m6i.4xlarge" in capsys.readouterr().err
    assert run(["explain", str(plan_file), "--commitment", "all", "--job", "1"]) == 64


@pytest.mark.parametrize("words", ["all", "m6i.4xlarge", "instance sp"])
def test_a_commitment_is_explained_by_its_last_instance_and_the_next(plan_file: Path, say: Say, words: str) -> None:
    size = load_plan(plan_file).sizing[0]
    text = " ".join(" ".join(say(plan_file, "--commitment", words)).split())
    assert f"instance {size.count} is in use {float(size.last_use):.1%}" in text
    assert f"of the time, the next {float(size.next_use):.1%}" in text
    assert f"break-even is {float(size.pays_above):.1%}" in text
    assert all(said in text for said in ("regret", "demand -45.6%", "saves $331", "loses $229"))


def test_full_still_lists_every_refusal_and_assumption(plan_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", str(plan_file), "--full"]) == 0
    out = capsys.readouterr().out
    assert all(r.address in out for r in load_plan(plan_file).refusals)
    assert "planning.horizon" in out


@pytest.mark.parametrize("words", [["--why-not", "m7i.4xlarge"], ["--commitment", "all"], ["--why-not", "static"]])
def test_documents_follow_the_published_schema(
    plan_file: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run(["explain", str(plan_file), *words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator(schema_of(AnswerDocument)).validate(document)
    assert document["format_version"] == "1.0"
    assert document["facts"]
    assert run(["explain", str(plan_file), *words, "-o", "md"]) == 0
    assert capsys.readouterr().out.startswith("**")


def test_a_plan_written_before_turning_points_were_is_still_explained(
    plan_file: Path, tmp_path: Path, say: Say
) -> None:
    document = json.loads(plan_file.read_text(encoding="utf-8"))
    for name in ("sizing", "flips"):
        del document[name]
    for refusal in document["refusals"]:
        del refusal["flip"]
        del refusal["pays_above"]
    old = tmp_path / "old.json"
    old.write_text(json.dumps(document), encoding="utf-8")
    text = " ".join(" ".join(say(old)).split())
    assert "instance 33 of the reserve" in text
    assert "m7i.4xlarge if its prices fall by 4.8%" in text
    say(old, "--why-not", "m7i.4xlarge")
    say(old, "--commitment", "all")


def test_L2_names_from_a_file_neither_steer_a_terminal_nor_end_markdown(
    plan_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(plan_file.read_text(encoding="utf-8"))
    document["refusals"][0]["reason"] = "\x1b[31mred\x1b[0m `x` <script> [a](b)\n# head @octo #12 https://a.example"
    evil = tmp_path / "evil.json"
    evil.write_text(json.dumps(document), encoding="utf-8")
    address = document["refusals"][0]["address"]
    capsys.readouterr()
    assert run(["explain", str(evil), "--why-not", address]) == 0
    assert "\x1b" not in capsys.readouterr().out
    assert run(["explain", str(evil), "--why-not", address, "-o", "md"]) == 0
    out = capsys.readouterr().out
    assert "\n# head" not in out
    assert "<script>" not in out.replace("\\<script\\>", "")
    assert not any(active in out for active in ("@octo", "#12", "https://"))


@pytest.mark.parametrize(
    "words", [[], ["--why-not", "OdF"], ["--why-not", "HM"], ["--commitment", "all"], ["m6i.4xlarge"]]
)
def test_a_plan_with_strategies_is_explained_in_under_ten_lines(operated: Path, say: Say, words: list[str]) -> None:
    for width in (80, 120):
        say(operated, *words, width=width)


def test_wishes_turn_exactly_where_they_are_said_to(operated: Path) -> None:
    operation = load_plan(operated).operation
    assert operation is not None
    found = 0
    for made in _every_target(operation):
        cheaper, better, poorer = lower_target(made), higher_target(made), lower_budget(made)
        if cheaper is not None:
            found += 1
            assert choose(made.points, OperatingTarget(cheaper.qos, made.budget)) == cheaper.chosen != made.chosen
            reasons = " ".join(why(made.points, made.chosen, target_of(made)))
            assert f"--qos {cheaper.qos:.3f} takes it" in reasons  # as the plan's own screen says it
        if better is not None:
            found += 1
            assert choose(made.points, OperatingTarget(better.qos, made.budget)) == made.chosen
            assert choose(made.points, OperatingTarget(better.qos + 1e-9, made.budget)) == better.chosen
        if poorer is not None and poorer.budget is not None:
            found += 1
            assert choose(made.points, OperatingTarget(made.qos_target, poorer.budget)) == made.chosen
            less = poorer.budget - Decimal("0.01")
            assert choose(made.points, OperatingTarget(made.qos_target, less)) == poorer.chosen != made.chosen
    assert found >= 3


def _every_target(operation: Operation) -> list[Operation]:
    """The same points with other targets, and so other choices; by their means, as two seeds tell hardly any apart."""
    made = []
    bare = [replace(p, hourly_by_seed=(), kept_by_seed=()) for p in operation.points]
    for kept in sorted({p.kept_qos.mean for p in bare}):
        chosen = choose(bare, OperatingTarget(kept, None))
        points = tuple(replace(p, verdict="" if p is chosen else "another") for p in bare)
        made.append(replace(operation, qos_target=kept, points=points, meets_target=True, within_budget=True))
    return made


def test_a_purchase_plan_says_what_it_binds(tmp_path: Path, say: Say) -> None:
    shop = Shop.open("aws", tmp_path)
    path = tmp_path / "purchases.json"
    save_purchase_plan(shop.plan(wanted("aws", 5), wanted("aws-plan", 3)), path)
    text = " ".join(say(path))
    assert "2 purchases" in text
    assert "committed over the terms" in text


@pytest.mark.parametrize("strategy", ["HM", "SR", "OdM"])
def test_every_job_of_a_journal_is_explained_in_under_ten_lines(strategy: str, tmp_path: Path, say: Say) -> None:
    jobs, journal = tmp_path / "jobs.csv", tmp_path / "run.journal"
    rows = [f"{i},{90 + 13 * (i % 5)},{(1, 2, 8, 16)[i % 4]},{(2, 4, 3, 8)[i % 4]},batch\n" for i in range(60)]
    jobs.write_text("submit,duration,cores,memory,kind\n" + "".join(rows), encoding="utf-8")
    assert run(["simulate", str(jobs), "-s", strategy, "--pool", "2", "--journal", str(journal), *NOW, "-q"]) == 0
    told = [" ".join(" ".join(say(journal, "--job", job)).split()) for job in range(0, 60, 7)]
    assert all("ran on" in text or "waited" in text for text in told)
    assert run(["explain", str(journal), "--job", "none"]) == 64, "a journal of a run, not of live work"
    if strategy == "SR":
        assert any("waited" in text and "unless" in text and "reserved server" in text for text in told)


def test_of_a_job_in_several_queues_every_turn_is_told(tmp_path: Path, say: Say) -> None:
    """Class and window, where it was diverted, how the wait ended, and each adjustment, in as few lines as ever."""
    jobs, journal = tmp_path / "jobs.csv", tmp_path / "run.journal"
    rows = [f"{i * 5},{300 + 97 * (i % 9)},{(2, 4, 8)[i % 3]},4,{('batch', 'service')[i % 2]}\n" for i in range(40)]
    jobs.write_text("submit,duration,cores,memory,kind\n" + "".join(rows), encoding="utf-8")
    words = ["--admission", "multi-class", "--watching", "adjust-to-target", "--pool", "10", "--journal", str(journal)]
    assert run(["simulate", str(jobs), "-s", "SR+requested+paragon", *words, *NOW, "-q"]) == 0
    entries = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
    reasons = {(e["job"], e["reason"]) for e in entries if "decision" in e}
    job = min(j for j, reason in reasons if reason == "below-qos" and (j, "diverted-down") in reasons)
    told = " ".join(" ".join(say(journal, "--job", job)).split())
    assert re.search(r"it is of class \d+ of 10; .* so it waits until [\d,.]+ s, for .* at most", told)
    assert re.search(r"then down to class \d at [\d,.]+ s.* likelier to be free\. [\d,.]+ s: ", told)
    assert re.search(r"adjusted [\d,.]+ s: (more|less) of server .* of its target, (below 95|above 115)%;", told)


@pytest.mark.parametrize("words", [("-o", "md"), ("--json",)])
def test_the_argument_takes_what_why_not_takes_in_every_output(
    plan_file: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    for asked in ("all on demand", "m7i.4xlarge"):
        capsys.readouterr()
        assert run(["explain", str(plan_file), asked, *words]) == 0
        assert asked in capsys.readouterr().out
    assert run(["explain", str(plan_file), "no-such", *words]) == 64


@pytest.mark.parametrize("words", ["", " ", "-"])
def test_nothing_asked_is_no_plan_of_the_alternatives(
    plan_file: Path, capsys: pytest.CaptureFixture[str], words: str
) -> None:
    assert run(["explain", str(plan_file), f"--why-not={words}"]) == 64
    assert "has no" in capsys.readouterr().err


@pytest.fixture(scope="module")
def of_series(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plan of any family that the rules allow."""
    here = tmp_path_factory.mktemp("series")
    rows = [f"{300 * i},{30 + i % 40}" for i in range(600)]
    (here / "util.csv").write_text("\n".join(["timestamp,value", *rows]) + "\n", encoding="utf-8")
    assert (
        run(["plan", str(here / "util.csv"), *NOW, "--set", "series_cores=8", "--out", str(here / "plan.json"), "-q"])
        == 0
    )
    return here / "plan.json"


def test_a_family_is_its_own_types_before_those_whose_name_begins_alike(of_series: Path, say: Say) -> None:
    text = " ".join(" ".join(say(of_series, "--why-not", "m7i")).split())
    assert "not m7i.large" in text
    assert "more fit" in text


def test_a_family_that_a_rule_leaves_out_is_answered_with_the_rule(of_series: Path, say: Say) -> None:
    text = " ".join(" ".join(say(of_series, "--why-not", "m6g")).split())
    assert "excluded by a rule" in text
    assert "arm64" in text


@pytest.mark.parametrize(("words", "option"), [("spot", "spot_share_of_batch"), ("azure", "--provider azure")])
def test_what_was_not_asked_for_is_told_with_the_option_that_asks(
    plan_file: Path, capsys: pytest.CaptureFixture[str], words: str, option: str
) -> None:
    assert run(["explain", str(plan_file), "--why-not", words]) == 64
    told = " ".join(capsys.readouterr().err.split())
    assert f"was not asked for {words}" in told
    assert option in told
