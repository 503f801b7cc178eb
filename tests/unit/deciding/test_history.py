"""Too short a history for what is bought is the first warning, on every form of a plan and where money goes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from builders import reserved

from hcloud.cli.deciding.page import html_of
from hcloud.cli.main import run
from hcloud.planning.fleets.fleet import Holding
from hcloud.planning.fleets.history import history_of, said_of_history
from hcloud.planning.settings import HistorySettings
from hcloud.store.plan_file import load_plan
from hcloud.views.deciding.plan import markdown

NOW = ("--now", "2026-11-20T12:00:00Z")
HOUR = "id,submit,duration,cores,memory,kind\n"


def held(years: int, count: int = 10) -> Holding:
    return Holding(reserved("m9.4xlarge", "0.60", years), count)


@pytest.mark.parametrize(
    ("hours", "years", "enough"), [(647, 1, False), (648, 1, True), (672, 3, False), (2159, 3, False), (2160, 3, True)]
)
def test_four_weeks_for_one_year_and_a_quarter_for_three(hours: float, years: int, enough: bool) -> None:
    found = history_of(hours, [held(years)], HistorySettings())
    assert found is not None
    assert found.is_enough is enough
    assert bool(said_of_history(found)) is not enough


def test_only_the_dollars_of_terms_that_deserve_more_are_told() -> None:
    found = history_of(1000, [held(1), held(3)], HistorySettings())
    assert said_of_history(found) == (
        "41.7d of history is too short for a commitment of $157,680 over 3 years (all upfront): measure at least 13w "
        "before you buy (planning.history_3y)",
    )


def test_what_begins_in_a_year_is_not_bought_with_todays_history() -> None:
    renewed = replace(held(1), start_hour=8760)
    assert history_of(100, [held(1), renewed], HistorySettings()) == history_of(100, [held(1)], HistorySettings())
    later = history_of(100, [renewed], HistorySettings())
    assert later is not None
    assert not later.is_enough, "who queues it today has no more of it"


def test_who_buys_nothing_needs_no_history() -> None:
    assert history_of(2, [], HistorySettings()) is None


@pytest.fixture
def short(tmp_path: Path, coarse_steps: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two hours of jobs in a directory of their own."""
    monkeypatch.chdir(tmp_path)
    rows = [f"j{minute}-{n},{60 * minute},3600,8,32,service" for minute in range(121) for n in range(4)]
    Path("trace.csv").write_text(HOUR + "\n".join(rows) + "\n", encoding="utf-8")
    return tmp_path


WORDS = ("of history is too short for a commitment of", "upfront)", "measure at least 4w before you buy")


@pytest.mark.slow
def test_of_less_than_an_hour_no_form_of_a_plan_tells_a_saving(
    short: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HYC_PLANNING__STEP", "30min")  # whole hours hide it
    Path("trace.csv").write_text(HOUR + "".join(f"j{n},{n},60,8,32,batch\n" for n in range(20)), encoding="utf-8")
    asked = ["plan", "trace.csv", "--family", "m6i", "--vcpus", "8", *NOW]
    assert run([*asked, "--out", "plan.json"]) == 0
    made = load_plan(Path("plan.json"))
    page = str(html_of(made))
    for told in (capsys.readouterr().out, str(markdown(made)), page[page.index("<body") :]):
        first = " ".join(told.split())
        assert "is too short to estimate savings; if it stayed the same all month: " in first
        assert " saves " not in first.partition("too short to estimate")[2][:600]


@pytest.mark.slow
def test_every_form_of_a_plan_warns_of_it_first(short: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["plan", "trace.csv", "--family", "m6i", "--vcpus", "8", *NOW]
    assert run([*asked, "--out", "plan.json"]) == 0
    first = capsys.readouterr().err.partition("warning:")[2].partition("warning:")[0]
    assert all(words in " ".join(first.split()) for words in WORDS)
    document = json.loads(Path("plan.json").read_text(encoding="utf-8"))
    assert WORDS[0] in document["warnings"][0]
    assert (document["history"]["is_enough"], document["history"]["least_hours"]) == (False, 672)
    assert float(document["history"]["upfront"]) > 0
    rows = str(markdown(load_plan(Path("plan.json")))).splitlines()
    assert WORDS[0] in rows[rows.index("") + 1]  # below the dollars, above all else
    assert run(["page", "plan.json", "--out", "plan.html"]) == 0
    page = Path("plan.html").read_text(encoding="utf-8")
    assert page.index(WORDS[0]) < page.index('class="lead"')
    capsys.readouterr()
    assert run(["explain", "plan.json"]) == 0
    assert "of trace, where a 1-year term needs 4w" in " ".join(capsys.readouterr().out.split())
    bought = next(m["address"] for m in document["mix"] if m["term_years"])
    assert run(["explain", "plan.json", "--commitment", bought]) == 0
    assert "of trace, where a 1-year term needs 4w" in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
def test_the_verbs_that_buy_warn_of_it_first(short: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("hcloud.yaml").write_text("commitments: {enabled: true, ceiling: 1000000000}\n", encoding="utf-8")
    Path("fake.yaml").write_text("clock: {start: 2026-11-20T12:30:00Z, speed: 0}\n", encoding="utf-8")
    assert run(["plan", "trace.csv", "--family", "m6i", "--vcpus", "8", *NOW, "--out", "plan.json", "-q"]) == 0
    capsys.readouterr()
    assert run(["commit", "recommend", "plan.json", *NOW]) == 0
    assert WORDS[0] in " ".join(capsys.readouterr().err.split()).split("warning:")[1]
    bought = ["commit", "plan", "plan.json", "--out", "buy.json", "--cloud", "fake:fake.yaml", "--max-price-age", "9y"]
    assert run([*bought, *NOW]) == 0
    assert WORDS[0] in " ".join(capsys.readouterr().err.split()).split("warning:")[1]


@pytest.mark.slow
def test_the_length_is_a_key(short: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("hcloud.yaml").write_text("planning: {history_1y: 1h}\n", encoding="utf-8")
    assert run(["plan", "trace.csv", "--family", "m6i", "--vcpus", "8", *NOW]) == 0
    assert WORDS[0] not in " ".join(capsys.readouterr().err.split())
