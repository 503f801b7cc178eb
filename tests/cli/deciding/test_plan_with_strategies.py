"""``hcloud plan --strategy`` as a user runs it: dollars and predicted quality of each strategy, one of them chosen."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path

import jsonschema
import pytest

from hcloud.cli.main import run
from hcloud.store.plan_file import load_plan, plan_schema

pytestmark = pytest.mark.usefixtures("coarse_steps")

NOW = ("--now", "2026-11-20T12:00:00Z")


@pytest.fixture(autouse=True)
def few_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """No seeds beyond the two of every point: what adding them does is tested with the choice itself."""
    monkeypatch.setenv("HYC_OPERATION__RUNS", "1")


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Six hours: a few long services and a burst of short jobs every hour; small enough to run uncompiled."""
    rows = ["id,submit,duration,cores,memory,kind"]
    rows += [f"s{i},0,21600,8,16,service" for i in range(6)]
    rows += [f"b{h}-{i},{h * 3600 + 600 + 7 * i},900,2,4,batch" for h in range(6) for i in range(12)]
    path = tmp_path / "trace.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def planned(trace: Path, *more: str) -> list[str]:
    return ["plan", str(trace), "--family", "m6i", "--vcpus", "16", *NOW, "--seeds", "2", *more]


def test_every_strategy_is_told_in_dollars_and_quality(
    trace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("HYC_PLANNING__STEP")
    assert run(planned(trace, "--strategy", "auto")) == 0
    out = capsys.readouterr().out
    for words in ("SR ", "OdF ", "OdM ", "HF ", "HM ", "kept %", "chosen", "operate it as", "±", "measured-aws"):
        assert words in out, words
    assert len(out.splitlines()) <= 47
    assert max(map(len, out.splitlines())) <= 100


def test_it_fits_eighty_columns(
    trace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run(planned(trace, "-s", "auto", "--frontier")) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert "…" not in out


def test_the_plan_file_holds_what_was_simulated_and_buys_the_chosen_reserve(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "plan.json"
    assert run(planned(trace, "-s", "SR,HF", "--out", str(target), "-o", "json")) == 0
    document = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator(dict(plan_schema())).validate(document)
    plan = load_plan(target)
    operation = plan.operation
    assert operation is not None
    bought = sum(line.count for line in plan.purchases if not line.starts_hour)
    assert bought == operation.reserve == operation.chosen.reserve
    assert operation.seeds[:2] == (42, 43)
    assert operation.runs == sum(len(p.kept_by_seed) for p in operation.points)
    assert {p.strategy for p in operation.points} == {"SR", "HF"}
    assert all(isinstance(p["hourly"], str) for p in document["operation"]["points"])
    assert run(["explain", str(target), "--full"]) == 0
    out = capsys.readouterr().out
    assert all(p.verdict in out.replace("\n  ", " ") for p in operation.points)
    assert run(["explain", str(target), "-o", "md"]) == 0
    assert f"| **{operation.strategy}** | {operation.reserve} |" in capsys.readouterr().out


def test_seeds_are_added_until_the_choice_is_settled(
    trace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    operations = []
    for most in ("4", "60"):
        monkeypatch.setenv("HYC_OPERATION__RUNS", most)
        assert run(planned(trace, "-s", "OdF,OdM", "--qos", "0.9", "-o", "json")) == 0
        operations.append(json.loads(capsys.readouterr().out)["operation"])
    short, long = operations
    assert (short["runs"], short["settled"]) == (4, False)
    assert long["settled"]
    assert 4 < long["runs"] <= 60
    assert "operation.runs" in " ".join(short["reasons"])
    assert len(long["seeds"]) == max(len(p["kept_by_seed"]) for p in long["points"]) > 2


def test_an_on_demand_strategy_buys_nothing(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(planned(trace, "-s", "OdF", "-o", "json")) == 0
    document = json.loads(capsys.readouterr().out)
    assert {line["option"] for line in document["mix"]} == {"on-demand"}
    assert document["operation"]["commitment"] == ""
    assert run(planned(trace, "-s", "OdF", "--detailed-exitcode")) == 0


def test_a_hybrid_is_also_tried_with_nothing_reserved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """For jobs of which no reserve pays HC with one was proposed, or OdM, which costs twice as much as HC with none."""
    monkeypatch.chdir(tmp_path)
    rows = [f"j{n},{n * 3600 + 60 * (n % 7)},600,4,16" for n in range(72)]
    Path("trace.csv").write_text("\n".join(["id,submit,duration,cores,memory", *rows]), encoding="utf-8")
    for options in ("", ", options: [on-demand]"):
        market = f"markets: [{{provider: aws, families: [m5]{options}}}]"
        Path("hcloud.yaml").write_text(f"workload: {{path: trace.csv}}\n{market}\n", encoding="utf-8")
        assert run(["plan", "-s", "auto", "--qos", "0.1", "--seeds", "2", *NOW, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)["operation"]
        assert (found["strategy"], found["reserve"]) == ("HC", 0)
        costs = {(p["strategy"], p["reserve"]): float(p["monthly"]) for p in found["points"]}
        assert costs["HC", 0] < 0.7 * costs["OdM", 0]


def test_a_reserve_dearer_than_no_reserve_says_so_first(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ["0,600,16,batch"] * 8 + ["60,72000,1,batch"]
    trace.write_text("\n".join(["submit,duration,cores,kind", *rows]) + "\n", encoding="utf-8")
    assert run(planned(trace, "-s", "SR")) == 0
    out = capsys.readouterr().out
    assert re.search(r"all on demand \$\S+/month +→ +this plan \$\S+/month +costs more: \$", out)
    assert re.search(r"within [\d.]+% of the optimum .*simulated reserve; gap", " ".join(out.split()))


def test_a_target_nothing_keeps_is_the_first_line_and_the_exit_code(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("HYC_PLANNING__STEP")
    target = tmp_path / "plan.json"
    assert run(planned(trace, "-s", "OdM,HM", "--qos", "1", "--out", str(target))) == 3
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert re.match(r"None of \d+ simulated points keeps the target: HM with \d+ reserved keeps", lines[0])
    assert "of jobs, 100.0% are asked for (operation.qos)." in lines[0]
    assert [line.split(":")[0] for line in lines[1:3]] == ["cheapest", "best"]
    assert "no strategy keeps the target of 100.0% of jobs (exit code 3)" in " ".join(err.split())
    operation = load_plan(target).operation
    assert operation is not None
    assert operation.is_missed
    assert not operation.meets_target


def test_larger_servers_are_tried_where_the_smaller_ones_miss_the_target(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Services of 4 and 8 vCPUs on servers of 8 disturb each other; the plan without strategies buys some of 16."""
    rows = [f"base{i},0,86400,8,32,service" for i in range(3)]
    rows += [f"w{i},{3600 * (i % 12) + 97 * i},21600,4,16,service" for i in range(24)]
    trace.write_text("\n".join(["id,submit,duration,cores,memory,kind", *rows]) + "\n", encoding="utf-8")
    asked = ["plan", str(trace), "--family", "m5a", *NOW, "--seeds", "2", "-s", "HC", "-o", "json"]
    assert run([*asked, "--vcpus", "8", "--qos", "0.8"]) == 3
    capsys.readouterr()
    assert run([*asked, "--qos", "0.8"]) == 0
    operation = json.loads(capsys.readouterr().out)["operation"]
    assert operation["reserved_type"] == "m5a.4xlarge"
    assert "on m5a.2xlarge none of" in operation["reasons"][-1]
    assert run([*asked, "--qos", "1"]) == 3
    assert json.loads(capsys.readouterr().out)["operation"]["reserved_type"] == "m5a.2xlarge", "neither keeps it"


def test_servers_are_as_large_as_jobs_require(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Jobs of two vCPUs that fit servers of 2, on a machine of 60 GiB or more, as the plan without strategies buys."""
    rows = [f"{3600 * hour},3600,2,8,batch,memory>=60" for hour in range(24)]
    trace.write_text("\n".join(["submit,duration,cores,memory,kind,requires", *rows]) + "\n", encoding="utf-8")
    assert run(["plan", str(trace), "--family", "m6i", *NOW, "--seeds", "2", "-s", "OdM", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["operation"]["reserved_type"] == "m6i.4xlarge"


def test_a_budget_nobody_keeps_is_warned_about(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(planned(trace, "-s", "OdF,OdM", "--budget", "1")) == 3
    out, err = capsys.readouterr()
    assert out.startswith("None of 2 simulated points stays within the budget of $1/month: Od")
    assert "no strategy stays within the budget" in " ".join(err.split())


def test_owned_instances_are_part_of_the_reserve_and_not_bought_again(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "hcloud.yaml"
    config.write_text(
        f"workload: {{path: {trace}}}\nmarkets: [{{provider: aws, families: [m6i], vcpus: 16}}]\n"
        "operation: {strategy: SR, seeds: 1}\n"
        "owned: [{provider: aws, region: us-east-1, instance_type: m6i.4xlarge, option: reserved-instance,"
        " term_years: 1, payment: all-upfront, count: 2, expires: 2027-12-31}]\n",
        encoding="utf-8",
    )
    assert run(["plan", "-f", str(config), *NOW, "-o", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    bought = sum(Decimal(m["count"]) for m in document["mix"] if m["term_years"])
    assert bought == document["operation"]["reserve"]
    owned = sum(Decimal(m["count"]) for m in document["mix"] if m["address"].startswith("owned/"))
    assert owned == 2
    assert document["operation"]["points"][0]["kept_qos"]["half"] is None


def test_all_on_demand_costs_the_same_with_and_without_strategies(
    trace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert run(planned(trace, "-s", "HM", "--qos", "0.5", "-o", "json")) == 0
    document = json.loads(capsys.readouterr().out)
    assert {p["strategy"] for p in document["operation"]["points"]} == {"HM"}
    baseline, chosen = document["operation"]["baseline"], document["operation"]
    assert (baseline["strategy"], baseline["reserve"]) == ("HM", 0), "OdF keeps whole servers: a straw man"
    assert run(planned(trace, "-s", "HM", "--qos", "0.5")) == 0
    first, *more = capsys.readouterr().out.splitlines()[:3]
    second = " ".join(map(str.strip, more))
    point = next(p for p in chosen["points"] if not p["verdict"])
    before, after = (float(p["monthly"]) for p in (baseline, point))
    assert first.startswith(f"all on demand ${before:,.0f}/month  →  this plan ${after:,.0f}/month   saves")
    kept, beside = (f"{p['kept_qos']['mean']:.1%}" for p in (point, baseline))
    assert second.startswith("simulated as HM, with starts, gaps, idle instances and jobs kept apart that slow each ")
    assert f"other: {kept} of jobs kept, {beside} all on demand; by use alone, as in the mix" in second
    by_use = [f"${float(document[name]['monthly']):,.0f}" for name in ("now", "after")]
    assert second.strip().endswith(" and ".join(by_use))
    assert run(["plan", str(trace), "--family", "m6i", "--vcpus", "16", *NOW]) == 0
    assert capsys.readouterr().out.startswith(f"all on demand {by_use[0]}/month")


def test_a_point_that_others_are_compared_with_has_one_figure(
    trace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seeds were added to what a choice is compared with after its row was made: the headline said $6,268, the row
    $6,359."""
    monkeypatch.setenv("HYC_OPERATION__RUNS", "40")
    assert run(planned(trace, "-s", "OdF,HM", "-o", "json")) == 0
    found = json.loads(capsys.readouterr().out)["operation"]
    base = found["baseline"]
    same = next(p for p in found["points"] if (p["strategy"], p["reserve"]) == (base["strategy"], 0))
    assert [same[key] for key in ("monthly", "kept_by_seed")] == [base[key] for key in ("monthly", "kept_by_seed")]
    assert found["runs"] == sum(len(p["kept_by_seed"]) for p in found["points"])
    keeping = [p for p in found["points"] if not p["reserve"] and p["kept_qos"]["mean"] >= found["qos_target"]]
    assert float(base["monthly"]) == min(float(p["monthly"]) for p in keeping)


def test_the_baseline_has_the_seeds_of_the_choice(
    trace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seeds are added to points that the choice is open between: it had three, and what it was compared with two."""
    monkeypatch.setenv("HYC_OPERATION__RUNS", "40")
    assert run(planned(trace, "-s", "HM", "-o", "json")) == 0
    found = json.loads(capsys.readouterr().out)["operation"]
    chosen = next(p for p in found["points"] if not p["verdict"])
    assert len(found["baseline"]["kept_by_seed"]) == len(chosen["kept_by_seed"]) > 2


def test_services_that_cannot_begin_are_no_cheap_plan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A twentieth of them found no room on what was reserved for three weeks; nine tenths of the jobs are kept."""
    monkeypatch.setenv("HYC_OPERATION__SEEDS", "1")
    rows = [f"s{i},0,1814400,6,24,service" for i in range(20)]
    path = tmp_path / "services.csv"
    path.write_text("\n".join(["id,submit,duration,cores,memory,kind", *rows]) + "\n", encoding="utf-8")
    assert run(planned(path, "-s", "SR,HC", "--qos", "0.5", "-o", "json")) == 0
    operation = json.loads(capsys.readouterr().out)["operation"]
    assert operation["strategy"] == "HC"
    everything = next(p for p in operation["points"] if p["strategy"] == "SR")
    assert "1% of services wait 21d or longer before they begin (1d allowed, operation.s" in everything["verdict"]
    for key in ("SERVICE_WAIT", "JOB_WAIT"):
        monkeypatch.setenv(f"HYC_OPERATION__{key}", "null")
    assert run(planned(path, "-s", "SR,HC", "--qos", "0.5", "-o", "json")) == 0
    assert json.loads(capsys.readouterr().out)["operation"]["strategy"] == "SR"
    monkeypatch.delenv("HYC_OPERATION__SERVICE_WAIT")
    assert run(planned(path, "-s", "SR", "--qos", "0.5")) == 3
    out, err = capsys.readouterr()
    assert "nothing on demand: where demand rises above the reserve, jobs wait for room" in out
    assert "are asked for (operation.qos); 1% of services wait 21d or longer before they" in " ".join(out.split())
    assert "no strategy that begins jobs in time keeps the target of 50.0% of jobs (exit code 3)" in err
    assert run(["compare", str(path), "--family", "m6i", "--vcpus", "16", "-s", "SR,OdF", "--seeds", "1", *NOW]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "before they begin (1d allowed, operation.service_wait); OdF is the cheapest that keeps" in said


def test_beside_what_is_owned_no_reserve_is_simulated_that_no_commitment_allows(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan was told to run as SR with 20 reserved, of which five were owned and nothing could be bought."""
    monkeypatch.setenv("HYC_OPERATION__SEEDS", "1")
    config = tmp_path / "hcloud.yaml"
    config.write_text(
        "markets: [{provider: aws, regions: [us-east-1], families: [m6i], vcpus: 16, options: [on-demand]}]\n"
        "owned: [{provider: aws, region: us-east-1, instance_type: m6i.4xlarge, option: reserved-instance,"
        " term_years: 1, count: 1, expires: 2031-12-31}]\n",
        encoding="utf-8",
    )
    assert run(["plan", str(trace), "-f", str(config), *NOW, "-s", "SR,HF,OdF", "-o", "json"]) in {0, 3}
    points = json.loads(capsys.readouterr().out)["operation"]["points"]
    assert {(p["strategy"], p["reserve"]) for p in points} == {("SR", 1), ("HF", 1), ("OdF", 0)}


def test_servers_are_doubled_until_the_target_is_kept(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Servers of 4 miss the target and those of 8 keep it: the 16 of the plan without strategies are not needed."""
    rows = [f"s{i},0,{6 * 3600},{1 + i % 2},{3.5 * (1 + i % 2)},service" for i in range(14)]
    rows += [f"b{h}-{i},{h * 3600 + 7 * i},{900 + i % 3 * 300},{1 + i % 2},4,batch" for h in range(6) for i in range(6)]
    trace.write_text("\n".join(["id,submit,duration,cores,memory,kind", *rows]) + "\n", encoding="utf-8")
    asked = ["plan", str(trace), "--family", "m5a", *NOW, "--seeds", "2", "-s", "HC", "-o", "json"]
    assert run(asked) == 0
    operation = json.loads(capsys.readouterr().out)["operation"]
    assert operation["reserved_type"] == "m5a.2xlarge"
    assert "on m5a.large none of" in operation["reasons"][-1]


def test_larger_servers_are_taken_where_they_keep_the_target_for_less(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Servers that others share keep it on demand alone, at a price far above that of larger ones that are reserved."""
    monkeypatch.setenv("HYC_OPERATION__RUNS", "40")
    rows = [f"s{i},0,864000,{4 + 2 * (i % 3)},{16 + 8 * (i % 3)},service" for i in range(14)]
    trace = tmp_path / "services.csv"
    trace.write_text("\n".join(["id,submit,duration,cores,memory,kind", *rows]) + "\n", encoding="utf-8")
    words = ["plan", str(trace), "--family", "m5a", "-s", "OdF,HC", "--seeds", "3", "--qos", "0.9", *NOW]
    assert run([*words, "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["operation"]
    chosen = next(p for p in found["points"] if not p["verdict"])
    assert (found["reserved_type"], chosen["strategy"], found["meets_target"]) == ("m5a.4xlarge", "HC", True)
    (said,) = (reason for reason in found["reasons"] if "m5a.2xlarge" in reason)
    dollars = said.removeprefix("on m5a.2xlarge the choice would cost $").partition(" ")[0]
    assert float(dollars.replace(",", "")) > float(chosen["monthly"])
    assert run([*words, "-o", "json", "--budget", "3000"]) == 0
    reasons = json.loads(capsys.readouterr().out)["operation"]["reasons"]
    assert reasons[-1].startswith("on m5a.2xlarge none of "), "OdF keeps it, at $3,516"
    assert " keeps the target within the budget; m5a.4xlarge" in reasons[-1]


def test_the_front_is_drawn(trace: Path, tmp_path: Path) -> None:
    target = tmp_path / "front.svg"
    assert run(planned(trace, "-s", "OdM,HC", "--budget", "9000", "--picture", str(target))) == 0
    assert ": chosen</text>" in target.read_text(encoding="utf-8")


def test_the_same_flags_give_the_same_bytes(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = []
    for _ in range(2):
        assert run(planned(trace, "-s", "OdF,HC", "-o", "json")) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--qos", "0.9"), "--qos needs a simulated strategy, and none is given"),
        (("--frontier",), "--frontier needs a simulated strategy"),
        (("--picture", "x.png"), "--picture needs a simulated strategy"),
        (("--strategy", "HX"), "there is no strategy 'HX'"),
        (("--strategy", "HF", "--qos", "2"), "Invalid value for '--qos'"),
        (("--strategy", "HF", "--budget", "0"), "operation.budget"),
        (("--region", "us-est-1"), "did you mean us-east-1?"),
        (("--strategy", "HF", "--cloud-model", "mars"), "there is no cloud"),
        (("--strategy", "HF", "--picture", "front.gif"), "the file name must end in"),
    ],
)
def test_bad_flags_say_what_to_do(
    trace: Path, more: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", str(trace), "--family", "m6i", "--vcpus", "16", *NOW, *more]) == 64
    assert said in " ".join(capsys.readouterr().err.split())


def test_a_demand_series_cannot_be_simulated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "series.csv"
    path.write_text("timestamp,cores\n" + "".join(f"{h * 3600},{20 + h % 5}\n" for h in range(48)), "utf-8")
    assert run(["plan", str(path), "--strategy", "HF", *NOW]) == 64
    assert "a demand series has no jobs" in capsys.readouterr().err


def _with_one(trace: Path, large: str) -> Path:
    """The trace and one batch job of so many vCPUs and GiB."""
    trace.write_text(f"{trace.read_text(encoding='utf-8')}large,3600,1800,{large},batch\n", encoding="utf-8")
    return trace


@pytest.mark.parametrize("held", [("40,900", "gcp"), ("200,400", "aws")])
def test_types_of_which_no_size_holds_the_largest_job_are_refused(held: tuple[str, str], trace: Path) -> None:
    large, provider = held
    words = ["plan", str(_with_one(trace, large)), "--provider", provider, *NOW]
    plain, simulated = trace.with_name("plain.json"), trace.with_name("simulated.json")
    assert run([*words, "--out", str(plain)]) == 0
    assert run([*words, "-s", "OdF", "--seeds", "1", "--qos", "0.01", "--out", str(simulated)]) == 0
    plan = load_plan(simulated)
    families = [{line.instance_type.split("-")[0].split(".")[0] for line in p.mix} for p in (load_plan(plain), plan)]
    assert families[0] == families[1]
    said = f"no size of it holds job large ({large.replace(',', ' vCPU, ')} GiB)"
    assert any(r.reason == said for r in plan.refusals)
