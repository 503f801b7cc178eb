"""``hcloud plan`` and ``hcloud explain`` as a user runs them."""

from __future__ import annotations

import csv
import html
import json
import os
import re
import resource
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import jsonschema
import pytest
from building import base_and_burst
from drawing import told_also

from hcloud.cli.main import run
from hcloud.store.plan_file import load_plan, plan_schema
from hcloud.units import format_money

EXAMPLE = str(Path(__file__).parents[3] / "examples" / "high-variability" / "hcloud.yaml")
NOW = ("--now", "2026-11-20T12:00:00Z")
THREE = ("--family", "m6i", "--family", "m5a", "--family", "c6i")
"""Families to choose among, where a claim is not about how many there are."""


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Two days of services and a burst."""
    return base_and_burst(tmp_path / "trace.csv")


def test_the_example_plans_on_one_screen(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "-f", EXAMPLE, *NOW]) == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) <= 45
    assert max(map(len, out.splitlines())) <= 100
    for words in ("saves", "all on demand", "reserved for the peak + 15%", "static hybrid", "this plan", "lower bound"):
        assert words in out
    assert "proven optimal" in out
    assert "days old" in err
    rows = [line for line in out.splitlines() if "static hybrid" in line]  # as costly as the plan: named beside it once
    assert [row.split("  ")[0] for row in rows] == ["this plan = static hybrid"]


def test_it_says_what_commit_buys_now_and_what_later(
    trace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(trace.parent)
    Path("hcloud.yaml").write_text(
        f"""format_version: "1.0"
workload: {{path: {trace.name}}}
prices: {{book: bundled}}
markets: [{{families: [m6i], options: [compute-savings-plan], terms: [1], payments: [all-upfront]}}]
planning: {{horizon: 2y}}
live: {{cloud: fake}}
commitments: {{enabled: true, ceiling: 1000000, max_price_age: 10y}}
""",
        encoding="utf-8",
    )
    assert run(["plan", "--out", "plan.json", *NOW]) == 0
    said = re.search(
        r"'commit plan' buys (\S+), and with --later (\S+) more", " ".join(capsys.readouterr().out.split())
    )
    assert said

    def bought(*more: str) -> Decimal:
        assert run(["commit", "plan", "plan.json", "--out", f"{len(more)}.json", "--json", *more, *NOW]) == 0
        items = json.loads(capsys.readouterr().out)["purchase_plan"]["items"]
        return sum((Decimal(item["quote"]["upfront"]) for item in items), Decimal(0))

    now, all_of_it = bought(), bought("--later")
    assert [format_money(now), format_money(all_of_it - now)] == list(said.groups())
    assert 0 < now < all_of_it


def test_it_fits_eighty_columns(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("HYC_PLANNING__STEP", "1h")
    assert run(["plan", "-f", EXAMPLE, *NOW, "-v"]) == 0
    out, err = capsys.readouterr()
    assert max(map(len, out.splitlines())) <= 80
    assert "…" not in out
    assert "planning.horizon = 1y" in err  # verbose says what is assumed


def test_json_follows_the_published_schema_and_money_is_text(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HYC_PLANNING__STEP", "1h")
    assert run(["plan", "-f", EXAMPLE, *NOW, "-o", "json"]) == 0
    document = json.loads(capsys.readouterr().out, parse_float=lambda text: pytest.approx(float(text)))
    jsonschema.Draft202012Validator(dict(plan_schema())).validate(
        json.loads(json.dumps(document, default=lambda v: v.expected))
    )
    assert document["format_version"] == "1.0"
    assert document["currency"] == "USD"
    assert isinstance(document["after"]["total"], str)
    parts = sum(Decimal(line["total"]) for line in document["mix"])
    assert abs(parts - Decimal(document["after"]["total"])) <= Decimal("0.01") * len(document["mix"])


def test_every_form_says_of_each_line_the_day_of_its_price_and_marks_a_derived_one(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = tmp_path / "plan.json"
    asked = ("plan", str(trace), *NOW, "--region", "eu-west-1", "--family", "m7i", "--vcpus", "16")
    with told_also("md", "html", "json") as forms:
        assert run([*asked, "--out", str(stored)]) == 0
    lines = [(f"{line.price_day}~" if line.derived else f"{line.price_day}") for line in load_plan(stored).mix]
    assert {line.endswith("~") for line in lines} == {True, False}  # the reserve's price is us-east-1's fraction
    forms["table"] = capsys.readouterr().out
    assert run([*asked, "-o", "csv"]) == 0
    forms["csv"], said = capsys.readouterr()
    assert "derived prices are in use" in " ".join(said.split())  # a table has no place for it
    forms["md"] = html.unescape(forms["md"])  # as a reader of Markdown sees it
    for form in ("table", "md", "html"):
        assert all(line in forms[form] for line in lines), form
    assert "marks a derived price" in forms["table"]
    assert "marks a derived price" in forms["md"]
    rows = list(csv.DictReader(forms["csv"].splitlines()))
    told = [(row["price_day"], row["derived"]) for row in rows]
    assert told == [(line["price_day"], line["derived"]) for line in json.loads(forms["json"])["mix"]]
    assert any("fraction as in us-east-1" in derived for _, derived in told)


@pytest.mark.usefixtures("coarse_steps")
def test_the_same_inputs_give_the_same_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    """In this process and in another, in which sets have another order."""
    words = ["plan", "-f", EXAMPLE, *NOW, "-o", "json"]
    other = {**os.environ, "PYTHONHASHSEED": "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"}
    done = subprocess.run(
        [sys.executable, "-m", "hcloud", *words], check=True, capture_output=True, text=True, env=other
    )
    assert run(words) == 0
    assert capsys.readouterr().out == done.stdout


def test_rows_in_another_order_give_the_same_plan(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", str(trace), *NOW, *THREE, "-o", "json"]) == 0
    first = json.loads(capsys.readouterr().out)
    head, *rows = trace.read_text(encoding="utf-8").splitlines()
    trace.write_text("\n".join([head, *sorted(rows)]) + "\n", encoding="utf-8")
    assert run(["plan", str(trace), *NOW, *THREE, "-o", "json"]) == 0
    second = json.loads(capsys.readouterr().out)
    for document in (first, second):
        document["digests"].pop("workload")
        document["workload"].pop("repaired")
        document.pop("warnings")
    assert first == second


def test_out_and_explain(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan_file = tmp_path / "plan.json"
    assert run(["plan", str(trace), *NOW, "--out", str(plan_file), "--family", "m6i", "--family", "m7i"]) == 0
    plan = load_plan(plan_file)
    bought = plan.purchases[0]
    assert bought.instance_type == "m6i.4xlarge"
    assert bought.count == 10
    capsys.readouterr()
    assert run(["explain", str(plan_file), bought.address]) == 0
    assert "its break-even is" in capsys.readouterr().out
    assert run(["explain", str(plan_file), bought.address, "--full"]) == 0
    assert "pays where an instance is in use more than" in capsys.readouterr().out
    assert run(["explain", str(plan_file), "aws/us-east-1/m7i.4xlarge"]) == 0
    assert "the cheapest plan with it costs more for the same demand" in capsys.readouterr().out
    assert run(["explain", str(plan_file), "--full"]) == 0
    assert "planning.horizon" in capsys.readouterr().out
    assert run(["explain", str(plan_file), "aws/moon/x"]) == 64


def test_a_plan_says_of_how_many_first_weeks_it_was_made_where_that_is_not_four(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {}
    for weeks in ("4", "1"):
        monkeypatch.setenv("HYC_PLANNING__FIRST_WEEKS", weeks)
        assert run(["plan", str(trace), "--family", "m6i", "--out", str(tmp_path / f"{weeks}.json")]) == 0
        found[weeks] = load_plan(tmp_path / f"{weeks}.json")
    assert {weeks: plan.first_weeks for weeks, plan in found.items()} == {"4": 4, "1": 1}
    assert found["4"].digests.policy != found["1"].digests.policy
    documents = {weeks: json.loads((tmp_path / f"{weeks}.json").read_text(encoding="utf-8")) for weeks in found}
    assert {weeks: d.get("first_weeks") for weeks, d in documents.items()} == {"4": None, "1": 1}
    for document in documents.values():
        jsonschema.Draft202012Validator(dict(plan_schema())).validate(document)


@pytest.mark.usefixtures("coarse_steps")
def test_detailed_exitcode_says_whether_something_would_be_bought(trace: Path) -> None:
    assert run(["plan", str(trace), *NOW, "--family", "m6i", "--detailed-exitcode"]) == 2
    idle = trace.with_name("idle.csv")
    idle.write_text(
        "id,submit,duration,cores,memory,kind\na,0,60,16,64,batch\nb,80000,60,16,64,batch\n", encoding="utf-8"
    )
    assert run(["plan", str(idle), *NOW, "--family", "m6i", "--detailed-exitcode"]) == 0


def test_a_file_of_bad_prices_only_is_counted_and_takes_the_price_out_of_use(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = "provider,region,instance_type,os,tenancy,option,term_years,payment,hourly,upfront,date,source"
    row = "aws,us-east-1,m6i.4xlarge,linux,shared,on-demand,0,no-upfront,0,0,2026-11-01,me"
    prices = tmp_path / "bad.csv"
    prices.write_text(f"{columns}\n{row}\n", encoding="utf-8")
    assert run(["pricing", "import", "--strict", str(prices)]) == 9
    assert run(["plan", str(trace), *NOW, "--family", "m6i"]) == 0
    assert run(["pricing", "import", str(prices)]) == 9
    assert run(["plan", str(trace), *NOW, "--family", "m6i", "--vcpus", "16"]) == 9
    assert "quarantined: the price is zero" in capsys.readouterr().err
    assert run(["plan", str(trace), *NOW, *THREE]) == 0
    assert "1 type not considered" in capsys.readouterr().err
    prices.write_text(f"{columns}\n{row.replace(',0,0,2026', ',0.8,0,2020')}\n", encoding="utf-8")
    assert run(["pricing", "import", str(prices), "--replace"]) == 0
    assert run(["plan", str(trace), *NOW, "--family", "m6i"]) == 0
    warned = " ".join(capsys.readouterr().err.split())
    assert "1 imported price hides a newer bundled one: aws/us-east-1/m6i.4xlarge/on-demand costs $0.800000/h" in warned
    assert "of 2020-11-01, bundled $0.768000/h of 2026-07-20" in warned


def test_markdown(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", str(trace), *NOW, "--family", "m6i", "-o", "md"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("**$")
    assert "| mix | type | region |" in out


def test_beside_what_is_owned_no_screen_calls_it_all_on_demand(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A plan said 'with what you own' above and, of the same dollars, 'all on demand' in its tables and in explain."""
    plan, config = tmp_path / "plan.json", tmp_path / "hcloud.yaml"
    config.write_text(
        "owned: [{provider: aws, region: us-east-1, instance_type: m6i.4xlarge, option: reserved-instance,"
        " term_years: 1, count: 2, expires: 2031-12-31}]\n",
        encoding="utf-8",
    )
    given = [str(Path(EXAMPLE).parents[1] / "six-weeks" / "trace.csv"), "-f", str(config), "--family", "m6i", *NOW]
    assert run(["plan", *given, "--out", str(plan)]) == 0
    screen = " ".join(capsys.readouterr().out.split())
    assert run(["explain", str(plan)]) == 0
    screen += " ".join(capsys.readouterr().out.split())
    assert run(["plan", *given, "-o", "md"]) == 0
    screen += capsys.readouterr().out
    for words in ("buying nothing more", "all on demand"):
        assert run(["explain", str(plan), "--why-not", words]) == 0
        assert capsys.readouterr().out.startswith("buying nothing more: +$")
    assert screen.count("buying nothing more") >= 3
    assert re.findall("all on demand (?!would have)", screen) == [], "what turns the plan round has no purchase at all"
    assert screen.count("with what you own") == 2


def test_what_renewing_saves_is_the_first_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It was the fifth of a dozen remarks: who followed the first line reserved 56 vCPUs beside 40 for four months."""
    series, config = tmp_path / "use.csv", tmp_path / "hcloud.yaml"
    rows = [f"{1_790_812_800 + 3600 * hour},{58 + 12 * (8 <= hour % 24 < 20)}" for hour in range(24 * 28)]
    series.write_text("\n".join(["timestamp,value", *rows]) + "\n", encoding="utf-8")
    config.write_text(
        "owned: [{provider: gcp, region: us-central1, instance_type: e2-standard-8, option: committed-use,"
        " term_years: 1, count: 5, expires: 2027-03-30}]\n",
        encoding="utf-8",
    )
    market = ["--provider", "gcp", "--region", "us-central1", "--family", "e2", "--set", "series_value=cores"]
    assert run(["plan", str(series), "-f", str(config), *market, *NOW, "--json"]) == 0
    first, *others = json.loads(capsys.readouterr().out)["warnings"]
    assert first.startswith("you own 5 x e2-standard-8 until 2027-03-30: reserving 18 vCPUs now and renewing those")
    assert re.search(r"\$[\d,]+ less than reserving \d\d vCPUs now", first)
    assert not any("renewing" in other for other in others)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["plan"], 64, "no workload given"),
        (["plan", "nowhere.csv"], 1, "nowhere.csv"),
        (["plan", "scenario:mars"], 64, "mars"),
        (["plan", "-f", EXAMPLE, "--provider", "ibm"], 64, "must be one of aws, gcp, azure"),
        (["plan", "-f", EXAMPLE, "--region", "moon-1"], 64, "no prices for region"),
        (["plan", "-f", EXAMPLE, "--max-price-age", "1d"], 9, "pricing refresh --provider aws"),
        (["plan", "-f", EXAMPLE, "--horizon", "soon"], 64, "not a duration"),
        (["plan", "-f", EXAMPLE, "--horizon", "100y"], 64, "at most 10y"),
        (["plan", "-f", EXAMPLE, "--vcpus", "0"], 64, "--vcpus"),
        (["plan", "-f", EXAMPLE, "--now", "yesterday"], 64, "ISO 8601"),
        (["plan", "-f", EXAMPLE, "--bogus"], 64, "--bogus"),
        (["plan", "-f", EXAMPLE, "--vcpus", "7"], 64, "no type has 7 vCPUs"),
        (["plan", "-f", EXAMPLE, "--family", "m7i.lrge"], 64, "did you mean m7i.large?"),
        (["explain", "nowhere.json"], 1, "nowhere.json: no such plan"),
    ],
)
def test_errors_say_what_and_leave_with_their_code(
    words: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert run(words) == code
    out, err = capsys.readouterr()
    assert said in err
    assert "Traceback" not in err
    assert out == ""


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format_version": "2.0"}', '{"format_version": "1.0"}'])
def test_a_damaged_plan_file_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(text, encoding="utf-8")
    assert run(["explain", str(path)]) == 1


def test_a_plan_overwrites_a_plan_and_nothing_else(trace: Path, tmp_path: Path) -> None:
    before = trace.read_bytes()
    words = ["plan", str(trace), *NOW, "--family", "m6i", "--out"]
    assert run([*words, str(trace)]) == 1
    assert trace.read_bytes() == before
    for _ in range(2):
        assert run([*words, str(tmp_path / "plan.json")]) == 0
    assert run([*words, str(tmp_path / "nowhere" / "plan.json")]) == 64


def test_each_provider_takes_the_regions_and_families_it_knows(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--provider", "aws", "--provider", "azure", "--region", "us-east-1", "--region", "eastus"]
    assert run(["plan", str(trace), *NOW, *words, "--family", "m6i.4xlarge", "-o", "json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert {r["address"].split("/")[0] for r in plan["refusals"]} | {m["provider"] for m in plan["mix"]} == {
        "aws",
        "azure",
    }


def test_work_left_running_after_the_last_submission_counts_where_it_is_most_of_the_trace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "two.csv"
    path.write_text("id,submit,duration,cores,memory\nweb,0,172800,16,64\netl,36000,7200,8,32\n", encoding="utf-8")
    assert run(["plan", str(path), *NOW, "--family", "m6i", "-o", "json"]) == 0
    workload = json.loads(capsys.readouterr().out)["workload"]
    assert (workload["hours"], workload["peak_cores"]) == (48.0, 24.0)


@pytest.mark.parametrize(
    ("step", "said"), [(3600, ""), (7200, "the series has means of 2h: how use varies within them")]
)
def test_what_steps_longer_than_an_hour_hide_is_said_to_be_unknown(
    step: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "series.csv"
    path.write_text("timestamp,value\n" + "".join(f"{n * step},{20 + n % 3}\n" for n in range(200)), encoding="utf-8")
    assert run(["plan", str(path), *NOW, "--set", "series_value=cores", "--family", "m6i", "-o", "json"]) == 0
    warnings = [w for w in json.loads(capsys.readouterr().out)["warnings"] if "the series has means" in w]
    assert [w[: len(said)] for w in warnings] == [said] * bool(said)


def test_jobs_of_minutes_that_begin_together_are_not_reserved_for_as_if_they_ran_for_an_hour(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"{h * 3600},60,4,16,batch" for h in range(7 * 24) for _ in range(30)]
    Path("cron.csv").write_text("\n".join(["submit,duration,cores,memory,kind", *rows]) + "\n")
    command = ["plan", "cron.csv", "--family", "m5a", *NOW]
    assert run(command) == 0
    assert "even the busiest instance is in use 8.3% of the time" in capsys.readouterr().out
    within = "machines are counted by means of 1h, and at least 92% of use is above these means."
    ends = " and a horizon in which no term ends (planning.horizon: 1y, or terms: [3] of markets)"
    for step, horizon, way in (("1h", "1y", ""), ("auto", "3y", ends), ("5min", "3y", ends)):
        monkeypatch.setenv("HYC_PLANNING__STEP", step)
        assert run([*command, "--horizon", horizon]) == 0
        told = capsys.readouterr()
        assert "in use 100.0% of the time" in told.out
        said = " ".join(told.err.split())
        save_less = "Commitments save less than this plan says: set planning.step: 5min"
        assert f"{within} {save_less}{way}, or compare by simulation with --strategy auto" in said
    monkeypatch.setenv("HYC_PLANNING__STEP", "1h")
    assert run([*command, "-s", "OdF", "--seeds", "1"]) in {0, 3}
    said = " ".join(capsys.readouterr().err.split())
    assert "set planning.step: 5min" in said
    assert "--strategy auto" not in said, "that is what was done"


def test_what_splitting_jobs_would_save_is_said_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "threes.csv"  # three jobs of three vCPUs: nine of twelve are used
    rows = [f"2026-01-{day:02d}T00:00:00Z,86400,3,6" for day in range(1, 29) for _ in range(3)]
    path.write_text("\n".join(["submit,duration,cores,memory", *rows]) + "\n", encoding="utf-8")
    assert run(["plan", str(path), "--region", "us-east-1", *THREE]) == 0
    said = capsys.readouterr().out
    assert (said.count("splitting"), said.count("would not bring it nearer")) == (1, 0)


@pytest.mark.parametrize(("memory", "also"), [(48, True), (32, False)])
def test_a_gap_to_families_that_no_job_can_be_spread_over_is_told_as_one(
    memory: int, also: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Services of 6 GiB a vCPU: by sums half of the machines have 4 and half 8, but none of them has 6."""
    path = tmp_path / "six.csv"
    rows = [f"2026-01-{d:02d}T00:00:00Z,86400,8,{memory},service" for d in range(1, 29) for _ in range(3)]
    rows += [f"2026-01-{d:02d}T{h:02d}:00:00Z,1800,4,{memory // 2},batch" for d in range(1, 29) for h in range(24)]
    path.write_text("\n".join(["submit,duration,cores,memory,kind", *rows]) + "\n", encoding="utf-8")
    assert run(["plan", str(path), "--region", "us-east-1", "--family", "m5a", "--family", "r5a"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert ("one machine must hold a job's vCPUs and its GiB" in said) is also


def test_explanations_as_documents(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan_file = tmp_path / "plan.json"
    assert run(["plan", str(trace), *NOW, *THREE, "--out", str(plan_file)]) == 0
    capsys.readouterr()
    assert run(["explain", str(plan_file), "-o", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["format_version"] == "1.0"
    assert document["refusals"]
    assert {a["key"] for a in document["assumptions"]} >= {"planning.horizon", "planning.step"}
    assert run(["explain", str(plan_file), "aws/us-east-1/m5a.4xlarge", "-o", "md"]) == 0
    assert "| rejected | margin | why | unless |" in capsys.readouterr().out


INTERRUPTED = """
import signal, threading
from hcloud import __main__
from hcloud.cli import main
signal.signal(signal.SIGVTALRM, lambda *_: signal.raise_signal(signal.SIGINT))
def start(thread, start=threading.Thread.start):
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.7)
    start(thread)
threading.Thread.start = start
__main__.main()
"""
"""Ctrl-C after 0.7 s of work in the thread that plans, however long the neighbours let it wait for them; the whole plan
takes nine and more."""


def worked() -> float:
    """Seconds that processors spent on processes which this one waited for."""
    return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


def test_ctrl_c_ends_a_long_plan_at_once(tmp_path: Path) -> None:
    path = tmp_path / "hours.csv"
    rows = "\n".join(f"{h * 3600},3600,{16 + h * 7919 % 640}" for h in range(24 * 364))
    path.write_text(f"submit,duration,cores\n{rows}\n", encoding="utf-8")
    command = [sys.executable, "-c", INTERRUPTED, "plan", str(path), "--horizon", "10y", "--divisible", "all"]
    before = worked()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert worked() - before < 4
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


def test_a_plan_is_not_written_through_a_link(trace: Path, tmp_path: Path) -> None:
    link = tmp_path / "plan.json"
    link.symlink_to(tmp_path / "elsewhere")
    assert run(["plan", str(trace), *NOW, "--family", "m6i", "--out", str(link)]) == 1
    assert not (tmp_path / "elsewhere").exists()


def test_a_plan_says_that_prices_of_commitments_were_refused(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prices = Path(__file__).parents[2] / "cases" / "prices" / "ec2instances.json"
    assert run(["pricing", "import", str(prices), *NOW]) == 0
    capsys.readouterr()
    assert run(["plan", str(trace), "--provider", "aws", "--family", "m6i", *NOW]) == 0
    warned = " ".join(capsys.readouterr().err.split())
    assert "1 price of commitments in the price book cannot be used, for example ec2instances.json" in warned
    assert "yrTerm9Standard.noUpfront: is no reserved term hcloud knows" in warned
