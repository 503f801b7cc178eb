"""``hcloud report quality`` and ``accuracy`` as a user runs them, in every form."""

from __future__ import annotations

import contextlib
import csv
import io
import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import pytest
import yaml
from building import Built
from operating import World, job, setup_of

from hcloud.cli.main import run
from hcloud.policy.facts import TypeFacts
from hcloud.store.journals.journal import LiveOrigin
from hcloud.views.document import schema_of
from hcloud.views.reports.documents import AccuracyDocument, QualityDocument

NOW = ("--now", "2026-11-20T12:00:00Z")


@pytest.fixture(scope="module")
def there(built: Built) -> Path:
    """A plan with a strategy, and a run of that strategy on the same trace with the reserve that was chosen."""
    return built("reported-quality", reported)


def reported(here: Path) -> None:
    """Plan and run in a directory."""
    rows = ["id,submit,duration,cores,memory,kind"]
    rows += [f"s{i},0,21600,8,16,service" for i in range(6)]
    rows += [f"b{h}-{i},{h * 3600 + 600 + 7 * i},900,2,4,batch" for h in range(6) for i in range(12)]
    (here / "trace.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    market = ["--family", "m6i", "--vcpus", "16"]
    words = ["plan", str(here / "trace.csv"), *market, *NOW, "--seeds", "2", "-s", "HF", "-q"]
    assert run([*words, "--out", str(here / "plan.json")]) == 0
    plain = ["plan", str(here / "trace.csv"), *market, *NOW, "-q", "--out", str(here / "plain.json")]
    assert run(plain) == 0
    reserve = json.loads((here / "plan.json").read_text(encoding="utf-8"))["operation"]["reserve"]
    ran = ["simulate", str(here / "trace.csv"), "-s", "HF", "--provider", "aws", "--family", "m6i", "--vcpus", "16"]
    ran += ["--pool", str(reserve), *NOW]
    assert run([*ran, "-q", "--journal", str(here / "run.journal")]) == 0
    with (here / "same.json").open("w") as told, contextlib.redirect_stdout(told):
        assert run([*ran, "--json"]) == 0


def test_the_quality_of_a_journal_in_every_form(there: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["report", "quality", str(there / "run.journal"), *NOW]
    capsys.readouterr()
    assert run([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator(schema_of(QualityDocument)).validate(document)
    groups = {g["group"]: g for g in document["groups"]}
    assert groups["all jobs"]["jobs"] == 78
    assert groups["batch"]["jobs"] == 72
    assert groups["service"]["jobs"] == 6
    assert run([*words, "-o", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [r["group"] for r in rows] == list(groups)
    assert float(rows[0]["kept"]) == groups["all jobs"]["kept"]
    assert run([*words, "-o", "md"]) == 0
    assert "| all jobs | 78 |" in capsys.readouterr().out
    assert run([*words, "-o", "html"]) == 0
    assert "<!DOCTYPE html>" in capsys.readouterr().out


@pytest.mark.parametrize("width", [80, 120, 200])
def test_tables_fit(
    there: Path, width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    capsys.readouterr()
    assert run(["report", "quality", str(there / "run.journal"), *NOW]) == 0
    assert run(["report", "quality", str(there / "plan.json"), *NOW]) == 0
    assert (
        run(["report", "accuracy", "--plan", str(there / "plan.json"), "--journal", str(there / "run.journal"), *NOW])
        == 0
    )
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= width
    for words in ("kept 95% of their", "violations", "are asked for", "cost simulated, $/h", "demand", "actual"):
        assert words in " ".join(out.split())


def test_what_a_plan_predicts(there: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run(["report", "quality", str(there / "plan.json"), "--json", *NOW]) == 0
    document = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator(schema_of(QualityDocument)).validate(document)
    assert [p["strategy"] for p in document["predicted"]] == ["HF", "HF"]
    assert run(["report", "quality", str(there / "plan.json"), "-o", "csv"]) == 0
    assert capsys.readouterr().out.startswith("strategy,reserve,kept_qos")


def test_what_the_own_fleet_of_a_plan_is_predicted_to_do(
    there: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run(["report", "quality", str(there / "plain.json"), "--json", *NOW]) == 0
    document = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator(schema_of(QualityDocument)).validate(document)
    plain = json.loads((there / "plain.json").read_text(encoding="utf-8"))
    (point,) = document["predicted"]
    assert point["kept_qos"] == {"mean": plain["prediction"]["kept_qos"], "half": None}
    assert run(["report", "quality", str(there / "plain.json")]) == 0
    assert "asked for" not in capsys.readouterr().out
    (tmp_path / "none.json").write_text(json.dumps({**plain, "prediction": None}), encoding="utf-8")
    assert run(["report", "quality", str(tmp_path / "none.json")]) == 9
    assert "no strategy was simulated" in capsys.readouterr().err


def test_predictions_beside_what_happened(there: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["report", "accuracy", "--plan", str(there / "plan.json"), "--journal", str(there / "run.journal"), *NOW]
    capsys.readouterr()
    assert run([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator(schema_of(AccuracyDocument)).validate(document)
    figures = {(f["figure"], f["unit"]): f for f in document["figures"]}
    cost = figures["cost simulated", "$/h"]
    assert abs(Decimal(cost["error"])) < Decimal("0.1")  # the same trace, strategy and seed
    error = Decimal(cost["actual"]) / Decimal(cost["predicted"]) - 1
    assert abs(error - Decimal(cost["error"])) < Decimal("0.00001")
    assert figures["jobs that kept QoS", "share"]["actual"] is not None
    (same,) = json.loads((there / "same.json").read_text())["strategies"]
    in_use = float(figures["reserve in use", "share"]["actual"])
    assert in_use == pytest.approx(same["runs"][0]["utilisation"], abs=1e-6), "it was of another span"
    demand = figures["mean demand", "vCPU"]
    assert float(demand["actual"]) == pytest.approx(float(demand["predicted"]), rel=0.001), "it was of other steps"
    found = {name: Decimal(dollars) for name, dollars in document["effects"].items()}
    assert found["price"] + found["volume"] + found["mix"] == found["actual"] - found["predicted"]
    assert run([*words, "-o", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {r["figure"] for r in rows} >= {"coverage", "wait p95", "effect of price"}
    for form, begin in (("md", "## Accuracy"), ("html", "<!DOCTYPE html>")):
        assert run([*words, "-o", form]) == 0
        assert capsys.readouterr().out.startswith(begin)


def test_a_plan_without_strategies_is_judged_by_its_dollars(there: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["report", "accuracy", "--plan", str(there / "plain.json"), "--journal", str(there / "run.journal"), *NOW]
    capsys.readouterr()
    assert run([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator(schema_of(AccuracyDocument)).validate(document)
    assert {f["figure"] for f in document["figures"]} >= {"cost of the mix", "reserve in use"}


def test_the_dollars_of_a_run_are_of_the_time_and_the_purchases_of_its_plan(
    there: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = json.loads((there / "plain.json").read_text(encoding="utf-8"))
    plan["workload"]["window"]["end"] = 10_800
    other = "owned/aws/us-east-1/m6i.2xlarge/reserved-instance-1y-no-upfront"
    owned = {**plan["mix"][0], "address": other, "instance_type": "m6i.2xlarge", "payment": "no-upfront"}
    bought = plan["mix"][0]
    third = {**bought, "address": bought["address"].rpartition("/")[0] + "/reserved-instance-3y-all-upfront"}
    costs = []
    once = [{**third, "count": "1"}, {**bought, "count": "99"}]
    for mix in (plan["mix"], [owned, *plan["mix"]], [{**third, "count": "99"}], once):
        (tmp_path / "plan.json").write_text(json.dumps({**plan, "mix": mix}), encoding="utf-8")
        capsys.readouterr()
        words = ["--plan", str(tmp_path / "plan.json"), "--journal", str(there / "run.journal"), "--json", *NOW]
        assert run(["report", "accuracy", *words]) == 0
        document = json.loads(capsys.readouterr().out)
        assert Decimal(document["hours"]) == 3
        costs.append(document["figures"][0]["actual"])
    assert costs[0] == costs[1]
    plain, _, dearer, mixed = map(Decimal, costs)
    reserve = json.loads((there / "plan.json").read_text(encoding="utf-8"))["operation"]["reserve"]
    assert abs(mixed - plain - (dearer - plain) / reserve) < Decimal("0.001"), "one of the reserve as 3 years"
    assert dearer != plain
    unknown = {**owned, "address": other.replace("no-upfront", "half-upfront")}
    (tmp_path / "plan.json").write_text(
        json.dumps({**plan, "mix": [{**unknown, "instance_type": "m6i.4xlarge"}]}), encoding="utf-8"
    )
    assert run(["report", "accuracy", *words]) == 9
    assert "reserved-instance-1y-half-upfront: the plan has it, the price book does not" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("rule", "start", "hours", "shown"),
    [("asked", 36_000, 6, 6), ("fallen", 36_000, 6, 6), ("asked", 7_200, 1, 1), ("arrivals", 90_000, 6, None)],
)
def test_a_run_of_a_window_alone_begins_with_it(
    there: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    rule: str,
    start: int,
    hours: int,
    shown: int | None,
) -> None:
    """What is cut out of a trace before it is played: dollars and demand were of hours of the trace, if any."""
    plan = json.loads((there / "plan.json").read_text(encoding="utf-8"))
    plan["workload"]["window"] |= {"start": start, "end": start + 3600 * hours, "rule": rule}
    (tmp_path / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    capsys.readouterr()
    words = ["--plan", str(tmp_path / "plan.json"), "--journal", str(there / "run.journal"), "--json", *NOW]
    assert run(["report", "accuracy", *words]) == (9 if shown is None else 0)
    if shown is None:
        assert "ends before the window begins" in capsys.readouterr().err
        return
    document = json.loads(capsys.readouterr().out)
    assert Decimal(document["hours"]) == shown
    demand = next(f for f in document["figures"] if f["figure"] == "mean demand")
    assert float(demand["actual"]) == pytest.approx(54, rel=0.05), "6 services, and batch for a quarter of each hour"


def test_a_window_in_which_nothing_runs_at_first_is_the_one_of_the_journal(
    there: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The two hours before the first job were taken from the end, and those after the last one did not count."""
    plan = json.loads((there / "plan.json").read_text(encoding="utf-8"))
    plan["workload"]["window"] |= {"start": 28_800, "end": 64_800, "rule": "asked"}
    (tmp_path / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    header, *lines = (there / "run.journal").read_text(encoding="utf-8").splitlines()
    told = json.loads(header)
    told["journal"]["window"] = [-7200.0, 28_800.0]
    (tmp_path / "run.journal").write_text("\n".join([json.dumps(told), *lines, ""]), encoding="utf-8")
    capsys.readouterr()
    words = ["--plan", str(tmp_path / "plan.json"), "--journal", str(tmp_path / "run.journal"), "--json", *NOW]
    assert run(["report", "accuracy", *words]) == 0
    document = json.loads(capsys.readouterr().out)
    assert Decimal(document["hours"]) == 10
    figures = {f["figure"]: f for f in document["figures"]}
    assert float(figures["mean demand"]["actual"]) == pytest.approx(54 * 6 / 10, rel=0.05)
    assert Decimal(figures["commitments rented"]["actual"]) == 1
    assert any("read as 2026-11-20" in note for note in document["notes"])


def test_predictions_beside_what_is_rented_now(
    there: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fleet = [{"address": "web", "instance_type": "m6i.4xlarge", "count": 3}]
    config = {"live": {"cloud": "fake:aws", "project": "demo"}, "fleet": fleet}
    Path("hcloud.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    market = ("--cloud", "fake:aws", "--family", "m6i", "--vcpus", "16")
    assert run(["plan", *market, str(there / "trace.csv"), "--out", "live.json", "-q"]) == 0
    assert run(["apply", "live.json", "-y", "-q"]) == 0
    capsys.readouterr()
    assert run(["report", "accuracy", "--plan", str(there / "plan.json"), "--json", "-q"]) == 0
    document = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator(schema_of(AccuracyDocument)).validate(document)
    figures = {(f["figure"], f["unit"]): f for f in document["figures"]}
    assert Decimal(figures["cost of the mix", "$/h"]["actual"]) >= 0
    assert document["effects"]["volume_by_demand"] is None


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["quality", "nowhere.journal"], 1, "no such plan"),
        (["accuracy", "--plan", "nowhere.json", "--journal", "no.journal"], 1, "no such plan"),
        (["accuracy", "--plan", "p.json", "--journal", "j", "--month", "2026-11"], 64, "judged as a whole"),
        (["accuracy", "--plan", "p.json", "--month", "November"], 64, "2026-11"),
        (["accuracy", "--plan", "nowhere.json"], 1, "no such plan"),
    ],
)
def test_what_cannot_be_reported(
    words: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert run(["report", *words]) == code
    assert said in capsys.readouterr().err


def test_L1_L2_a_name_from_outside_is_harmless_in_every_form(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Job names make up applications: no formula in CSV, no tag in HTML, no cell or link in Markdown, no escapes."""
    evil = "=cmd|' /C calc'!A0<script>alert(1)</script>[x](y)|z"
    lines = [
        {"at": 0, "event": "arrival", "job": f"{evil}/1", "cores": 1},
        {"at": 9, "event": "completion", "job": f"{evil}/1", "performance": 1.0},
    ]
    journal = tmp_path / "evil.journal"
    text = "".join(json.dumps(line) + "\n" for line in lines).encode()
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(text), isatty=lambda: False))
    assert run(["decide", "--strategy", "SR", "--pool", "1", "--journal", str(journal), "--plain"]) == 0
    capsys.readouterr()
    assert run(["report", "quality", str(journal), "-o", "csv"]) == 0
    assert any(row[0].startswith("'=cmd") for row in csv.reader(io.StringIO(capsys.readouterr().out)))
    assert run(["report", "quality", str(journal), "-o", "html"]) == 0
    assert "<script>alert" not in capsys.readouterr().out
    assert run(["report", "quality", str(journal), "-o", "md"]) == 0
    out = capsys.readouterr().out
    assert "<script>" not in out
    assert "[x](y)" not in out


@pytest.mark.parametrize(
    ("report", "broken"), [("quality", "NaN"), ("quality", "1e999"), ("quality", "-Infinity"), ("cost", "NaN")]
)
def test_a_journal_whose_decision_was_made_at_no_time_is_refused(
    there: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], broken: str, report: str
) -> None:
    lines = (there / "run.journal").read_text(encoding="utf-8").splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if '"decision"' in line)
    lines[at] = lines[at].replace(lines[at].partition(":")[2].partition(",")[0], broken, 1)
    (tmp_path / "broken.journal").write_text("".join(lines), encoding="utf-8")
    assert run(["report", report, str(tmp_path / "broken.journal"), *NOW]) == 1
    captured = capsys.readouterr()
    assert f"line {at + 1} is damaged" in captured.err
    assert captured.out == ""


def test_a_plan_beside_live_work(there: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Live work counts as a whole, and what was expected at its decisions stands below the figures of the plan."""
    world = World.of(tmp_path / "j", [job(f"j{n}", cores=4, seconds=600.0) for n in range(4)], "SR", 1)
    names = ("m6i.large", "m6i.4xlarge")
    sizes = zip(names, (2000, 8000), strict=True)
    world.setup = setup_of("SR", 2, tuple(TypeFacts(n, c, 4 * c, 5.0, 9000) for n, c in sizes))
    world.cloud.world.semantics = replace(world.cloud.world.semantics, types=tuple(sorted(names)))
    world.origin = LiveOrigin("0" * 32, "aws", "test", "us-east-1", "fake")
    world.rhythm = replace(world.rhythm, period=10.0, look=60.0)
    world.run()
    world.close()
    words = ["report", "accuracy", "--plan", str(there / "plan.json"), "--journal", str(world.path), *NOW, "--json"]
    assert run(words) == 0
    figures = {f["figure"]: f for f in json.loads(capsys.readouterr().out)["figures"]}
    assert float(figures["mean demand"]["actual"]) == pytest.approx(16.0, rel=0.05)
    assert 0.5 < float(figures["reserve in use"]["actual"]) <= 1.0
    assert figures["run of 4 jobs with expected seconds"]["actual"] == "600"


@pytest.mark.parametrize("verb", [["report", "quality"], ["simulate", "-s", "OdF"]])
def test_a_job_that_ends_without_having_come_is_refused(
    there: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: list[str]
) -> None:
    journal = tmp_path / "ghost.journal"
    header = (there / "run.journal").read_text(encoding="utf-8").splitlines()[0]
    journal.write_text(f'{header}\n{{"at": 5.0, "event": "cancelled", "job": "ghost"}}\n', encoding="utf-8")
    assert run([*verb, str(journal), *NOW]) == 1
    assert "ghost.journal: the journal contains an impossible event: at 5 s: 'ghost'" in capsys.readouterr().err
    assert run(["explain", str(journal), "--job", "ghost"]) == 64
    assert "hint: it has no event of kind arrival" in capsys.readouterr().err


def test_a_service_that_still_runs_is_no_miss(there: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal, run_journal = tmp_path / "cut.journal", (there / "run.journal").read_text(encoding="utf-8")
    entries = run_journal.splitlines(keepends=True)
    first = next(at for at, line in enumerate(entries) if '"event":"completion"' in line)
    journal.write_text("".join(entries[:first]), encoding="utf-8")
    capsys.readouterr()
    assert run(["report", "quality", str(journal), *NOW, "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)["groups"][0]
    assert whole["unfinished"] == whole["jobs"] > 0, "no job has ended"
    assert whole["wait_max"] is not None, "some run"
    assert whole["kept"] is None, "nothing is known of jobs that run, and none waits"


def test_pieces_of_divided_jobs_are_told_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They count as jobs: of a trace of three more were reported, and nothing said why."""
    trace, journal = tmp_path / "trace.csv", tmp_path / "run.jsonl"
    trace.write_text("id,submit,duration,cores,memory,divisible\na,0,60,64,64,yes\nb,0,60,2,8,\nc,9,60,2,8,\n")
    assert run(["simulate", str(trace), "--strategy", "OdF", "--journal", str(journal)]) == 0
    capsys.readouterr()
    assert run(["report", "quality", str(journal), *NOW, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    jobs = told["groups"][0]["jobs"]
    assert jobs > 3
    expected = f"{jobs - 2} of these are pieces of 1 divided job (named JOB.1, JOB.2 and so on): each counts"
    assert expected in told["notes"]
