"""``hcloud report`` as a user runs it: of a plan, of a journal, and of what is rented on a fake cloud."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import jsonschema
import pytest
from focus_rules import problems

from hcloud.cli.main import run
from hcloud.readers.configuration.config import load_config
from hcloud.store.plan_file import load_plan
from hcloud.units import percent
from hcloud.usecases.live.ground import opened
from hcloud.usecases.live.places import CloudSelection
from hcloud.views.document import schema_of
from hcloud.views.reports.documents import CommitmentsDocument, CostDocument, SavingsDocument

NOW = ("--now", "2026-11-20T12:00:00Z")
REPORT_SCHEMA = schema_of(CostDocument, SavingsDocument, CommitmentsDocument)
KINDS = ("cost", "savings", "commitments")
D = Decimal
Said = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plan with a reserve and machines on demand."""
    folder = tmp_path_factory.mktemp("plan")
    rows = ["id,submit,duration,cores,memory,kind"]
    rows += [f"s{i},0,172800,16,64,service" for i in range(10)]
    rows += [f"b{d}{i},{d * 86400 + 36000 + i},7200,8,32,batch" for d in range(2) for i in range(60)]
    rows += ["end,172799,1,1,4,batch"]
    (folder / "trace.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    path = folder / "plan.json"
    assert run(["plan", str(folder / "trace.csv"), "--out", str(path), "--provider", "aws", *NOW]) == 0
    return path


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """A pool of two, a machine on demand for half an hour, one that stays, and one on the spot market."""
    trace = tmp_path / "trace.csv"
    rows = ["id,submit,duration,cores,memory,kind", *(f"j{i},{i * 60},1800,8,32,batch" for i in range(12))]
    trace.write_text("\n".join(rows) + "\n", encoding="utf-8")
    path = tmp_path / "journal.jsonl"
    words = ["simulate", str(trace), "-s", "HM", "--journal", str(path), "--provider", "aws", "--pool", "1"]
    assert run(words) == 0
    return path


@pytest.fixture
def rented(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Five machines on a fake cloud in memory, for two days."""
    monkeypatch.chdir(tmp_path)
    text = (
        "markets: [{provider: aws, regions: [us-east-1]}]\n"
        "live: {cloud: fake, project: demo}\n"
        "fleet:\n  - {address: web, instance_type: m5.large, count: 3}\n"
        "  - {address: batch, instance_type: c5.xlarge, count: 2}\n"
    )
    (tmp_path / "hcloud.yaml").write_text(text, encoding="utf-8")
    assert run(["plan", "--out", "p.json"]) == 0
    assert run(["apply", "p.json", "-y"]) == 0
    assert run(["fake", "wait", "2d"]) == 0
    return tmp_path


def document(capsys: Said, *words: str) -> dict[str, object]:
    capsys.readouterr()
    assert run(["report", *words, "--json"]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator(REPORT_SCHEMA).validate(found)
    return found


def costs(found: dict[str, object]) -> dict[str, Decimal]:
    told = found["costs"]
    assert isinstance(told, dict)
    return {name: D(text) for name, text in told.items()}


def test_the_month_of_a_plan_costs_what_the_plan_says(planned: Path, capsys: Said) -> None:
    plan = load_plan(planned)
    found = document(capsys, "cost", str(planned), *NOW)
    assert abs(costs(found)["effective"] - plan.after.monthly) <= D("0.05")
    upfront = sum((line.upfront for line in plan.purchases), D(0))
    assert costs(found)["billed"] >= upfront > 0
    told = document(capsys, "savings", str(planned), *NOW)["counterfactuals"]
    assert isinstance(told, list)
    assert D(told[0]["dollars"]) == plan.now.monthly


def test_the_commitments_of_a_plan_are_used_in_full(planned: Path, capsys: Said) -> None:
    found = document(capsys, "commitments", str(planned), *NOW)
    assert found["utilisation"] == "1"
    assert "as planned" in str(found["notes"])


@pytest.mark.parametrize("width", [80, 100, 200])
@pytest.mark.parametrize("kind", KINDS)
def test_tables_fit(planned: Path, kind: str, width: int, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    capsys.readouterr()
    assert run(["report", kind, str(planned), *NOW]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    assert "effective" in lines[0] or "effective" in lines[1]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["csv", "md", "html", "focus"])
def test_every_form_is_whole(planned: Path, kind: str, form: str, capsys: Said) -> None:
    capsys.readouterr()
    assert run(["report", kind, str(planned), "-o", form, *NOW]) == 0
    out = capsys.readouterr().out
    if form == "html":
        assert out.startswith("<!DOCTYPE html>")
        assert "<script" not in out
    elif form == "md":
        assert out.startswith("## ")
    else:
        rows = list(csv.reader(io.StringIO(out)))
        assert len({len(row) for row in rows}) == 1
    if form == "focus":
        assert problems(out) == []


def test_a_journal_is_charged_from_launch_to_release(journal: Path, capsys: Said) -> None:
    found = document(capsys, "cost", str(journal), "--provider", "aws", "--by", "type", *NOW)
    assert costs(found)["effective"] > 0
    period = found["period"]
    assert isinstance(period, dict)
    assert period["start"] == "2026-11-20T00:00:00Z"
    moved = document(capsys, "cost", str(journal), "--provider", "aws", "--from", "2026-12-01", *NOW)
    assert costs(moved)["effective"] == costs(found)["effective"]
    held = document(capsys, "commitments", str(journal), "--provider", "aws", *NOW)["commitments"]
    assert isinstance(held, list)
    assert [(h["id"], h["count"]) for h in held] == [("pool", "1")]


def test_a_pool_is_bought_as_asked(journal: Path, capsys: Said) -> None:
    words = ("cost", str(journal), "--provider", "aws", *NOW)
    usual = costs(document(capsys, *words))
    other = costs(document(capsys, *words, "--commitment", "reserved-instance-1y-no-upfront"))
    assert other["billed"] < usual["billed"]
    assert other["list"] == usual["list"]
    assert run(["report", *words, "--commitment", "lease"]) == 64
    assert "reserved-instance-1y-all-upfront" in capsys.readouterr().err


def test_what_is_rented_is_charged_to_now(rented: Path, capsys: Said) -> None:
    since = datetime.now(UTC).date().isoformat()
    found = document(capsys, "cost", "--by", "app", "--from", since)
    groups = found["groups"]
    assert isinstance(groups, list)
    hours = {g["keys"]["app"]: D(g["machine_hours"]) for g in groups}
    assert hours == {"web": pytest.approx(D(144), abs=D("0.2")), "batch": pytest.approx(D(96), abs=D("0.2"))}
    assert costs(found)["billed"] == pytest.approx(D("0.628") * 48, abs=D("0.1"))
    assert "still running" in str(found["notes"])


@pytest.mark.parametrize(("count", "is_said"), [(2, False), (9, True)])
def test_unused_commitments_may_be_used_by_others(rented: Path, count: int, is_said: bool, capsys: Said) -> None:
    owned = (
        "owned:\n  - {provider: aws, region: us-east-1, instance_type: m5.large, option: reserved-instance,\n"
        f"     term_years: 1, payment: all-upfront, count: {count}, expires: 2027-06-30}}\n"
    )
    path = rented / "hcloud.yaml"
    path.write_text(path.read_text(encoding="utf-8") + owned, encoding="utf-8")
    since = (datetime.now(UTC).date() + timedelta(days=1)).isoformat()
    found = document(capsys, "commitments", "--from", since)
    assert ("counts as unused here" in str(found["notes"])) is is_said


def test_a_machine_that_was_ended_by_hand_is_charged_until_then(rented: Path, capsys: Said) -> None:
    since = datetime.now(UTC).date().isoformat()
    with opened(load_config(None), CloudSelection(None, None), datetime.now(UTC)) as ground:
        web = [m.id for m in ground.cloud.machines("") if m.address == "web"]
        ground.cloud.terminate(web[:1])
    assert run(["fake", "wait", "30m"]) == 0
    found = document(capsys, "cost", "--by", "app", "--from", since)
    groups = found["groups"]
    assert isinstance(groups, list)
    hours = {g["keys"]["app"]: D(g["machine_hours"]) for g in groups}
    assert hours["web"] == pytest.approx(D(3 * 48 + 1), abs=D("0.2"))
    assert "4 machines still running" in str(found["notes"])


def test_a_machine_the_cloud_shows_no_more_is_named(rented: Path, capsys: Said) -> None:
    since = datetime.now(UTC).date().isoformat()
    with opened(load_config(None), CloudSelection(None, None), datetime.now(UTC)) as ground:
        ground.cloud.terminate([m.id for m in ground.cloud.machines("") if m.address == "web"])
    assert run(["fake", "wait", "30d"]) == 0
    found = document(capsys, "cost", "--by", "app", "--from", since)
    assert "of 3 machines the cloud reported no end" in str(found["notes"])
    assert "2 machines still running" in str(found["notes"])


def test_the_month_so_far_is_said_where_no_time_was(rented: Path, capsys: Said) -> None:
    assert run(["report", "cost"]) == 0
    assert "this month so far; --from/--month for another" in capsys.readouterr().err
    assert run(["report", "cost", "--from", datetime.now(UTC).date().isoformat()]) == 0
    assert "this month so far" not in capsys.readouterr().err


def test_a_time_without_rentals_is_told(rented: Path, capsys: Said) -> None:
    assert "has no machine in this period" in str(document(capsys, "cost", "--month", "2020-01")["notes"])


def test_what_the_configuration_says_is_owned_covers_what_is_rented(rented: Path, capsys: Said) -> None:
    owned = (
        "owned:\n  - {provider: aws, region: us-east-1, instance_type: m5.large, option: reserved-instance,\n"
        "     term_years: 1, payment: all-upfront, count: 2, expires: 2027-06-30}\n"
    )
    path = rented / "hcloud.yaml"
    path.write_text(path.read_text(encoding="utf-8") + owned, encoding="utf-8")
    found = document(capsys, "commitments", "--from", datetime.now(UTC).date().isoformat())
    assert D(str(found["covered"])) == pytest.approx(D("0.096") * 2 * 48, abs=D("0.1"))
    assert "section owned" in str(found["notes"])


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["cost", "nowhere.json"], 1, "no such plan"),
        (["cost", "--month", "November"], 64, "write for example 2026-11"),
        (["cost", "--month", "2026-11", "--to", "2026-11-02"], 64, "both ends"),
        (["cost", "--from", "1.11."], 64, "not a day"),
        (["cost", "--month", "9999-12"], 64, "1970 to 9900"),
        (["cost", "--to", "0001-01-01"], 64, "1970 to 9900"),
        (["cost", "--from", "2026-11-05", "--to", "2026-11-05"], 64, "end before it starts"),
        (["cost", "--from", "2126-11-05"], 64, "still to come"),
        (["cost", "--provider", "aws"], 64, "--provider: for a journal"),
        (["cost", "--cloud", "local"], 64, "nothing to report"),
    ],
)
def test_mistakes_are_told(rented: Path, words: list[str], code: int, said: str, capsys: Said) -> None:
    capsys.readouterr()
    assert run(["report", *words]) == code
    assert said in capsys.readouterr().err


def test_what_a_plan_or_a_journal_has_no_use_for_is_refused(
    planned: Path, journal: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A report of a plan was taken for one of the cloud that was named beside it."""
    monkeypatch.setattr("hcloud.usecases.reports.opened.report_of_plan", None)  # refused before it is made
    for source, flag in ((planned, "--cloud"), (planned, "--provider"), (journal, "--state")):
        capsys.readouterr()
        assert run(["report", "cost", str(source), flag, "aws"]) == 64
        assert f"{flag}: for " in capsys.readouterr().err


def test_a_price_that_is_missing_ends_with_nine(journal: Path, capsys: Said) -> None:
    assert run(["report", "cost", str(journal), "--provider", "asure", *NOW]) == 64
    assert "did you mean azure?" in capsys.readouterr().err
    assert run(["report", "cost", str(journal), "--provider", "gcp", *NOW]) == 9
    out, err = capsys.readouterr()
    assert out == ""
    assert "the price book" in err


def test_a_price_of_a_provider_that_nobody_named_is_told_with_the_flag(journal: Path, capsys: Said) -> None:
    own = journal.with_name("own.jsonl")
    words = ["simulate", str(journal.with_name("trace.csv")), "-s", "HM", "--journal", str(own), "--pool", "1"]
    assert run(words) == 0
    assert run(["report", "cost", str(own), *NOW]) == 9
    assert "--provider names the cloud whose types these are" in capsys.readouterr().err
    assert run(["report", "cost", str(own), "--provider", "gcp", *NOW]) == 0


def test_dollars_an_hour_of_a_commitment_have_the_places_of_a_rate(planned: Path, capsys: Said) -> None:
    assert run(["report", "commitments", str(planned), *NOW]) == 0
    assert re.search(r"\$\d+\.\d{4}/h", capsys.readouterr().out)


def test_a_negotiated_price_is_contracted_and_not_listed(journal: Path, tmp_path: Path, capsys: Said) -> None:
    rules = "rules:\n  - {name: ours, match: {provider: aws, option: on-demand}, percent: 10, valid_from: 2026-01-01}\n"
    (tmp_path / "ours.yaml").write_text(rules, encoding="utf-8")
    (tmp_path / "with.yaml").write_text("prices: {overlay: ours.yaml}\n", encoding="utf-8")
    words = ("cost", str(journal), "--provider", "aws", *NOW)
    before, after = costs(document(capsys, *words)), costs(document(capsys, *words, "-f", str(tmp_path / "with.yaml")))
    assert after["list"] == before["list"]
    assert after["contracted"] == pytest.approx(before["contracted"] * D("0.9"))


def test_a_team_is_named_by_the_tag_that_is_configured(rented: Path, capsys: Said) -> None:
    since = datetime.now(UTC).date().isoformat()
    found = document(capsys, "cost", "--by", "team", "--team-tag", "hcloud-project", "--from", since)
    groups = found["groups"]
    assert isinstance(groups, list)
    assert [g["keys"]["team"] for g in groups] == ["demo"]


def test_a_dimension_that_is_said_twice_groups_once(planned: Path, capsys: Said) -> None:
    found = document(capsys, "cost", str(planned), "--by", "day", "--by", "day", *NOW)
    assert found["by"] == ["day"]


def test_machines_that_ended_earlier_in_the_month_count_for_sustained_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    monkeypatch.chdir(tmp_path)
    markets = "markets: [{provider: gcp, regions: [us-central1]}]\nlive: {cloud: 'fake:gcp', project: demo}\n"
    first = datetime.now(UTC).date().replace(day=1)
    month = (first + timedelta(days=32)).replace(day=1)
    for address, days in (("first", (month - datetime.now(UTC).date()).days + 10), ("second", 10)):
        fleet = f"fleet:\n  - {{address: {address}, instance_type: n1-standard-4, count: 1}}\n"
        (tmp_path / "hcloud.yaml").write_text(markets + fleet, encoding="utf-8")
        assert run(["apply", "-y", "--ends", "1" if address == "second" else "0"]) == 0
        assert run(["fake", "wait", f"{days}d"]) == 0
    middle = month.replace(day=15).isoformat()
    whole = costs(document(capsys, "cost", "--from", month.isoformat()))["billed"]
    before = costs(document(capsys, "cost", "--from", month.isoformat(), "--to", middle))["billed"]
    assert before + costs(document(capsys, "cost", "--from", middle))["billed"] == whole


def test_a_share_that_is_nothing_has_no_sign() -> None:
    assert percent(Decimal("-0.00001")) == "0.0%"
    assert percent(Decimal("-0.01")) == "-1.0%"
