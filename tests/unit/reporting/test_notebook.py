"""The Python API: the verbs' own results and refusals, demand from data frames, and nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from decimal import Decimal
from html import unescape
from html.parser import HTMLParser
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from harvesting import MONDAY, daily, util_csv
from showing import EXAMPLES, JOBS, NOW, said
from verbs import command_of

import hcloud
from hcloud import errors
from hcloud.notebook.inputs import in_background, whole
from hcloud.notebook.results import PlanResult, Result

TRACE = EXAMPLES / "six-weeks" / "trace.csv"
JOB_COLUMNS = {"submit": "start_time", "duration": "run time", "cores": "vcpus"}


@pytest.fixture(autouse=True)
def _own_directory(tmp_path: Path, coarse_steps: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("small.csv").write_text(JOBS, encoding="utf-8")
    Path("part.csv").write_text("submit,duration,cores,gpus\n0,7200,4,0\n60,7200,4,1\n", encoding="utf-8")


@pytest.fixture(scope="module")
def made() -> PlanResult:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HYC_PLANNING__STEP", "1h")
        made = hcloud.plan(TRACE, families="m6i", horizon="1y", now=NOW)
    assert isinstance(made, PlanResult)
    return made


def _frame(rows: int = 500) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "start_time": pd.date_range("2026-01-01", periods=rows, freq="20min", tz="Europe/Berlin"),
            "run time": pd.to_timedelta(np.full(rows, 3600), unit="s"),
            "vcpus": np.full(rows, 4),
        }
    )


@pytest.mark.slow
def test_importing_loads_no_library_and_reading_a_file_no_pandas() -> None:
    words = "import sys, hcloud; print(dir(hcloud), *(m for m in ('numpy', 'pandas', 'pyarrow') if m in sys.modules))\n"
    words += "hcloud.read('small.csv').to_json(); print('pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", words], check=True, capture_output=True, text=True)
    assert done.stdout == "['__version__', 'errors', 'plan', 'read', 'report', 'simulate']\nFalse\n"
    assert done.stderr == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("result", "words"),
    [
        (lambda: hcloud.read("small.csv", now=NOW), ["workload", "show", "small.csv"]),
        (
            lambda: hcloud.plan(
                "small.csv", providers="aws", regions=["eu-west-1"], families="m6i", horizon="3y", now=NOW
            ),
            ["plan", "small.csv", "--provider", "aws", "--region", "eu-west-1", "--family", "m6i", "--horizon", "3y"],
        ),
        (lambda: hcloud.simulate("part.csv", "HM", now=NOW), ["simulate", "part.csv", "-s", "HM"]),
        (
            lambda: hcloud.simulate("small.csv", ["HM", "SR"], seeds=2, now=NOW),
            ["compare", "small.csv", "-s", "HM,SR", "--seeds", "2"],
        ),
    ],
)
def test_a_result_is_the_document_of_its_verb(result: Callable[[], Result], words: list[str]) -> None:
    assert result().to_json() == said([*words, "--now", NOW, "-o", "json"]).out


@pytest.mark.slow
def test_a_simulation_with_idle_hours_is_that_of_its_verb(made: PlanResult) -> None:
    util_csv(Path("util.csv"), {"web": daily(8, mean=0.3)})
    rows = [f"w{n},{MONDAY},43200,8,32,service,web" for n in range(2)]
    rows += [f"b{n},{MONDAY + 3600 * n},1800,2,4,batch,load" for n in range(8)]
    Path("idle.csv").write_text("\n".join(["id,submit,duration,cores,memory,kind,app", *rows]), encoding="utf-8")
    found = hcloud.simulate("idle.csv", "HM", divisible="all", harvest="on,off", util="util.csv", now=NOW)
    words = ["simulate", "idle.csv", "-s", "HM", "--divisible", "all", "--harvest", "on,off", "--util", "util.csv"]
    assert found.to_json() == said([*words, "--now", NOW, "-o", "json"]).out
    assert [row.partition(",")[2] for row in found.to_frame().name] in ([" idle hours", ""], [" idle hours unused", ""])
    wrong: tuple[Callable[[], object], ...] = (
        lambda: hcloud.simulate("idle.csv", "HM", harvest="on"),
        lambda: hcloud.simulate(made, harvest="on", util="util.csv"),
        lambda: hcloud.simulate(made, divisible="all"),
    )
    for call in wrong:
        with pytest.raises(errors.UsageError):
            call()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["cost", "savings", "commitments"])
def test_a_report_of_a_plan_is_that_of_its_file(kind: str, made: PlanResult) -> None:
    Path("trace.csv").write_text(made.to_json(), encoding="utf-8")  # reports name the plan
    words = ["report", kind, "trace.csv", "--now", NOW, "-o", "json"]
    assert hcloud.report(made, kind, now=NOW).to_json() == said(words).out  # type: ignore[arg-type]


@pytest.mark.slow
def test_what_was_read_is_planned_as_its_file(made: PlanResult) -> None:
    read = hcloud.read(TRACE, window="21d")
    again = hcloud.plan(read, families="m6i", horizon="1y", now=NOW)
    assert isinstance(again, PlanResult)
    of_file = hcloud.plan(TRACE, families="m6i", window="21d", horizon="1y", now=NOW)
    assert again.to_json() == of_file.to_json() != made.to_json()
    assert hcloud.simulate(again).to_frame().name[0] == "HC"


def test_money_in_frames_is_exact_or_float(made: PlanResult) -> None:
    exact, rounded = made.to_frame(), made.to_frame("float")
    assert list(exact.total) == [line.total for line in made.plan.mix]
    assert rounded.dtypes["total"] == rounded.dtypes["monthly"] == np.float64
    costs = hcloud.report(made, by="type").to_frame()
    assert "keys_type" in costs
    assert "keys_day" not in costs
    groups = json.loads(hcloud.report(made, by="type").to_json())["groups"]
    assert list(costs.costs_effective) == [Decimal(group["costs"]["effective"]) for group in groups]
    with pytest.raises(errors.UsageError, match="amounts"):
        made.to_frame("cents")  # type: ignore[arg-type]


@pytest.mark.slow
def test_jobs_of_a_frame_are_those_of_its_file() -> None:
    frame = _frame()
    utc = frame.assign(start_time=frame.start_time.dt.tz_convert("UTC"), **{"run time": 3600})
    utc.to_csv("jobs.csv", index=False, date_format="%Y-%m-%dT%H:%M:%SZ")
    of_frame, of_file = (hcloud.read(one, columns=JOB_COLUMNS) for one in (frame, "jobs.csv"))
    pd.testing.assert_frame_equal(of_frame.to_frame(), of_file.to_frame())
    assert of_frame.to_frame().cores.tolist() == [4.0] * len(frame)
    assert repr(of_frame) == "<hcloud demand: DataFrame, 500 rows, 11.9 vCPUs mean>"
    assert json.loads(hcloud.plan(frame, columns=JOB_COLUMNS, families="m6i", now=NOW).to_json())["trace"] is None


def test_a_frame_of_machines_adds_up_and_one_of_percent_is_said_to_be() -> None:
    index = pd.date_range("2026-01-01", periods=96, freq="h", tz="UTC", name="when")
    web = pd.Series(np.arange(96.0), index, name="web")
    both = hcloud.read(pd.DataFrame({"web": web, "db": 2 * web})).to_frame()
    assert both.cores.tolist() == (3 * web).tolist()
    assert hcloud.read(web).to_frame().cores.tolist() == web.tolist()
    percent = hcloud.read(web, options={"series_value": "percent", "series_cores": 4}).to_frame()
    assert percent.cores.tolist() == pytest.approx((web / 100 * 4).tolist())
    with pytest.raises(errors.UsageError, match="has no jobs"):
        hcloud.simulate(web)


def test_a_bill_is_its_usage_to_the_cent() -> None:
    bill = EXAMPLES.parent / "tests" / "cases" / "bills" / "focus_1.2.csv"
    read = hcloud.read(bill, now=NOW)
    text = said(["workload", "show", str(bill), "--now", NOW, "-o", "json"]).out
    assert read.to_json() == text
    costs = [Decimal(kind["cost"]) for kind in json.loads(text)["kinds"]]
    assert read.to_frame().cost.tolist() == costs
    assert sum(read.to_frame("float").cost) == pytest.approx(float(sum(costs)))
    assert "<svg" in read._repr_html_() or "&lt;svg" in read._repr_html_()


def test_what_is_wrong_in_a_frame_is_said_with_row_and_column() -> None:
    frame = _frame().astype({"vcpus": object})
    frame.loc[3, "vcpus"] = -1
    frame.loc[7, "vcpus"] = "many"
    with pytest.raises(errors.InputError) as found:
        hcloud.read(frame, columns=JOB_COLUMNS)
    places = [(problem.file, problem.where) for problem in found.value.problems]
    assert places == [("DataFrame", "row 3, column vcpus"), ("DataFrame", "row 7, column vcpus")]
    assert found.value.hint == "correct these rows, or leave them out: frame.drop(frame.index[[3, 7]])"
    with pytest.raises(errors.InputError, match="column submit is missing") as found:
        hcloud.read(frame)
    assert "submit=start_time" in found.value.hint
    assert "/" not in f"{found.value}{found.value.hint}"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: hcloud.plan("nothing.csv"), ["plan", "nothing.csv"]),
        (lambda: hcloud.plan("small.csv", providers="awz"), ["plan", "small.csv", "--provider", "awz"]),
        (lambda: hcloud.plan("small.csv", qos=0.9), ["plan", "small.csv", "--qos", "0.9"]),
        (lambda: hcloud.simulate("small.csv", "XY"), ["simulate", "small.csv", "-s", "XY"]),
        (lambda: hcloud.report("small.csv"), ["report", "cost", "small.csv"]),
        (lambda: hcloud.read("small.csv", format="swv"), ["workload", "show", "small.csv", "--format", "swv"]),
    ],
)
def test_refusals_are_those_of_the_verbs(call: Callable[[], object], words: list[str]) -> None:
    with pytest.raises(errors.HcloudError) as found:
        call()
    told = said(words)
    assert (told.out, told.code) == ("", found.value.exit_code)
    assert "".join(str(found.value).split()) in "".join(told.err.split())


RENAMED = {
    "name": "demand", "workload": "demand", "source": "source", "workload_format": "format", "keys": "options",
    "file": "config", "strategy": "strategies", "family": "families", "from_": "start", "to": "end",
    "cloud": "cloud_model",
}  # fmt: skip
SHOWING = {"ctx", "output", "json_", "out", "picture", "journal", "frontier", "detailed_exitcode", "step", "help"}
"""What a screen, a file or an exit code is asked for with."""


@pytest.mark.parametrize(
    ("function", "verb", "renamed"),
    [
        (hcloud.read, ["workload", "show"], {}),
        (
            hcloud.plan,
            ["plan"],
            {"provider": "providers", "region": "regions", "strategy": "strategy", "cloud_model": "cloud_model"},
        ),
        (hcloud.simulate, ["simulate"], {}),
        (hcloud.report, ["report", "cost"], {"cloud": "cloud"}),
    ],
)
def test_keywords_are_the_flags(function: Callable[..., object], verb: list[str], renamed: dict[str, str]) -> None:
    names = {**RENAMED, **renamed}
    flags = {names.get(option.name, option.name) for option in command_of(verb).params} - SHOWING
    running = {"state"} if verb == ["plan"] else set()  # of a cloud, which is not asked
    own = {"kind"} if verb[0] == "report" else {"seeds"} if verb == ["simulate"] else set()
    assert set(signature(function).parameters) - own == flags - running


@pytest.mark.slow
def test_keywords_that_contradict_are_refused(made: PlanResult) -> None:
    for call in (
        lambda: hcloud.plan(hcloud.read("small.csv"), format="swf"),
        lambda: hcloud.simulate(made, provider="aws"),
        lambda: hcloud.report(made, "savings", by="day"),
        lambda: hcloud.report(made, by="dai"),
        lambda: hcloud.read(3),  # type: ignore[arg-type]
    ):
        with pytest.raises(errors.UsageError):
            call()


class _Frame(HTMLParser):
    """What an element of HTML consists of."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@pytest.mark.slow
def test_a_result_shows_itself_as_the_page_of_the_verb_in_a_frame(made: PlanResult) -> None:
    parser = _Frame()
    parser.feed(made._repr_html_())
    [(tag, attributes)] = parser.found
    page = attributes["srcdoc"] or ""
    assert (tag, attributes["sandbox"]) == ("iframe", "")
    words = ["plan", str(TRACE), "--family", "m6i", "--horizon", "1y", "--now", NOW, "-o", "html"]
    assert page.strip() == said(words).out.strip()
    assert "<svg" in page
    assert "<table" in page
    assert "<script" not in page
    for other in (hcloud.read("small.csv"), hcloud.simulate("small.csv", "HM"), hcloud.report(made)):
        assert "<iframe" in other._repr_html_()
        assert repr(other).count("\n") == 0


@pytest.mark.slow
def test_it_prints_nothing_and_works_in_threads(capfd: pytest.CaptureFixture[str]) -> None:
    found: list[str] = []

    def plan() -> None:
        found.append(hcloud.plan(TRACE, families="m6i", horizon="1y", now=NOW).to_json())

    threads = [threading.Thread(target=plan) for _ in "ab"]
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 2
    assert found[0] == found[1]
    assert hcloud.read("small.csv", now=NOW).to_json() == hcloud.read("small.csv", now=NOW).to_json()
    assert handlers == [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    assert capfd.readouterr() == ("", "")


def test_an_interrupted_call_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(empty))
    frame = pd.DataFrame({"submit": np.arange(100_000.0), "duration": 60.0})
    hcloud.read(frame[:9])
    before = set(threading.enumerate())

    def read_for_ever() -> None:
        while True:
            hcloud.read(frame)

    threading.Timer(0.05, os.kill, [os.getpid(), signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        read_for_ever()
    for _ in range(100):
        left = [thread.name for thread in threading.enumerate() if thread not in before]
        if any(not name.startswith("Dummy") for name in left):  # those are of pyarrow
            time.sleep(0.05)
    assert [name for name in left if not name.startswith("Dummy")] == []
    assert list(empty.iterdir()) == []


def test_what_was_interrupted_ends_at_its_next_step() -> None:
    ended = threading.Event()

    def work(progress: Callable[[float], None]) -> None:
        try:
            while True:
                progress(0.0)
                time.sleep(0.01)
        finally:
            ended.set()

    threading.Timer(0.05, os.kill, [os.getpid(), signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        in_background(work)
    assert ended.wait(10.0)


@pytest.mark.slow
def test_the_cluster_of_a_scenario_at_several_loads() -> None:
    found = hcloud.simulate("scenario:local-40", load=[0.3, 0.8])
    assert list(found.to_frame()["name"]) == ["SR at 0.3", "SR at 0.8"]
    assert set(found.to_frame()["reserved_servers"]) == {40}
    for wrong in ({"pool": 3}, {"load": 1.6}, {"strategies": "HM"}):
        with pytest.raises(errors.UsageError):
            hcloud.simulate("scenario:local-40", **wrong)


def test_a_frame_with_a_time_zone_in_one_column_only_is_refused() -> None:
    times = pd.to_datetime(pd.Series(["2026-11-01T08:00:00", "2026-11-01T09:00:00"]))
    frame = pd.DataFrame({"submit": times.dt.tz_localize("Europe/Berlin"), "end": times + pd.Timedelta(hours=2)})
    with pytest.raises(
        errors.UsageError, match=r"submit of the DataFrame has a time zone \(Europe/Berlin\) and end has none"
    ):
        hcloud.read(frame)
    frame["end"] = frame["end"].dt.tz_localize("Europe/Berlin")
    assert hcloud.read(frame).to_frame()["duration"].tolist() == [7200.0, 7200.0]


@pytest.mark.slow
def test_placements_are_named_audited_and_sized() -> None:
    found = hcloud.simulate("scenario:local-40", placement=["greedy", "tarcil"], audit=True, size_for=0.5)
    assert list(found.to_frame()["name"]) == ["SR", "SR+tarcil"]
    assert all(one["sized"] is not None for one in json.loads(found.to_json())["strategies"])


def test_a_keyword_of_the_other_verb_is_refused_with_the_one_that_is_meant() -> None:
    keyword: dict[str, Any] = {"provider": "aws"}
    with pytest.raises(errors.UsageError, match="has no keyword 'provider'; did you mean providers"):
        hcloud.plan(str(TRACE), **keyword)
    keyword = {"providers": "aws"}
    with pytest.raises(errors.UsageError, match="has no keyword 'providers'; did you mean provider"):
        hcloud.simulate(str(TRACE), **keyword)


@pytest.mark.parametrize(
    ("keyword", "said"),
    [
        ({"seeds": 0}, "seeds=0: must be a whole number, 1 or more"),
        ({"seeds": "two"}, "seeds='two': must be a whole number, 1 or more"),
        ({"pool": -1}, "pool=-1: must be a whole number, 0 or more"),
        ({"pool": 1.5}, "pool=1.5: must be a whole number, 0 or more"),
    ],
)
def test_a_number_of_things_is_a_whole_one(keyword: dict[str, Any], said: str) -> None:
    """It was what zip() or numpy said."""
    with pytest.raises(errors.UsageError, match=said):
        hcloud.simulate("small.csv", "SR", **keyword)


@pytest.mark.parametrize(
    ("verb", "keyword", "said"),
    [
        (hcloud.read, {"now": 3}, "now=3: must be a text or a datetime"),
        (hcloud.read, {"window": 14}, "window=14: must be a text"),
        (hcloud.simulate, {"load": "x"}, "load='x': must be a number or several numbers"),
        (hcloud.simulate, {"load": [0.5, "x"]}, r"load=\[0.5, 'x'\]: must be a number or several numbers"),
        (hcloud.simulate, {"price_ratio": "x"}, "price_ratio='x': must be a number"),
        (hcloud.simulate, {"audit": 1}, "audit=1: must be True or False"),
        (hcloud.plan, {"config": 3}, "config=3: must be a text or a Path"),
        (hcloud.read, {"columns": 3}, "columns=3: must be a text or a mapping"),
        (hcloud.read, {"options": "x"}, "options='x': must be a mapping of keys"),
        (hcloud.plan, {"regions": 3}, "regions=3: must be a name or several"),
        (hcloud.simulate, {"strategies": [3]}, r"strategies=\[3\]: must be a name or several"),
        (hcloud.report, {"kind": 3}, "kind=3: must be a text"),
        (hcloud.report, {"now": 3}, "now=3: must be a text or a datetime"),
    ],
)
def test_a_value_of_another_kind_is_refused(verb: Any, keyword: dict[str, Any], said: str) -> None:
    """It was a TypeError of whatever used it first."""
    with pytest.raises(errors.UsageError, match=said):
        verb("small.csv", **keyword)


def test_numbers_of_numpy_and_pandas_are_whole_numbers_too() -> None:
    assert whole("seeds", np.int64(3), 1) == 3
    with pytest.raises(errors.UsageError, match="seeds=True"):
        whole("seeds", True, 1)


def test_columns_of_one_name_are_refused() -> None:
    frame = pd.DataFrame([[0, 10, 20]], columns=["submit", "duration", "duration"])
    with pytest.raises(errors.UsageError, match="several columns named duration"):
        hcloud.read(frame)
    series = pd.DataFrame({"timestamp": [1.0]}, index=pd.date_range("2026-01-01", periods=1))
    with pytest.raises(errors.UsageError, match="several columns named timestamp"):
        hcloud.read(series)


def test_the_page_of_a_simulation_names_the_market() -> None:
    small = "submit,duration,cores\n0,3600,4\n3600,3600,4\n"
    Path("small.csv").write_text(small, encoding="utf-8")
    plain = unescape(hcloud.simulate("small.csv", "SR", now=NOW)._repr_html_())
    assert "Dollars are of n1-" in plain
    assert "in gcp us-central1" in plain
    assert "the machines of the HCloud study; name a provider for another cloud" in plain
    there = unescape(hcloud.simulate("small.csv", "SR", provider="aws", now=NOW)._repr_html_())
    assert "in aws us-east-1" in there
    assert "HCloud study" not in there
