"""Faults that a review found, each with the input that showed it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from simulating import Row, jobs_of, setting_of, tasks_in, with_spot

from hcloud.cli.main import run as command
from hcloud.model.catalog import Provider
from hcloud.model.running.event import EventError
from hcloud.model.workload import Jobs
from hcloud.readers.clouds import load_cloud
from hcloud.readers.prices.shipped.bundled import load_bundled
from hcloud.readers.strategies import load_strategy
from hcloud.sim.outcomes.measure import measure
from hcloud.sim.run import run
from hcloud.sim.setup.build import Setting
from hcloud.sim.setup.shop import ShopChoice, open_shop
from hcloud.store.journals.events import from_line

NOW = ("--now", "2026-11-21T00:00:00Z")


def test_a_run_of_a_year_ends() -> None:
    """Late on the clock a nanosecond of work is less than a float can tell."""
    rows: list[Row] = [(0.0, 60.0, 1.0, 2.0, 0)]
    rows += [(3e7 + 7.3 * i, 90.1 + i / 7, 1.0, 2.0, 0) for i in range(150)]
    setting = setting_of("OdM", 0)
    outcome = run(setting, tasks_in(setting, jobs_of(rows)))
    assert measure(outcome).use.unfinished == 0


def test_a_run_ends_with_its_jobs_where_spot_machines_would_have_been_taken_back_later() -> None:
    """It went on, ten seconds at a time, until years after its machines were given back; its journal had no room."""
    setting = replace(setting_of(with_spot(load_strategy("HM"), 0.99), 1), cloud=load_cloud("measured-aws"))
    rows: list[Row] = [(10.0 * i, 60.0, 16.0, 2.0, 0) for i in range(6)]
    outcome = run(setting, tasks_in(setting, jobs_of(rows)), journal=True)
    assert measure(outcome).use.unfinished == 0
    assert outcome.of_lines("time")[-1] < outcome.seconds + 3600


@pytest.mark.slow
def test_no_server_holds_more_memory_than_it_has() -> None:
    """A whole server is rented of a type that the job fits, and a reserve that holds no such job refuses it."""
    book = load_bundled(providers={Provider.GCP}, regions={"us-central1"}, systems={"linux"})
    shop = open_shop(book, ShopChoice(Provider.GCP, "us-central1", ("n2-standard*", "n2-highmem*"), 16))
    small = shop.types[shop.large].shape
    rows: list[Row] = [(10.0 * i, 60.0, 4.0, 100.0, 0) for i in range(2)]
    assert float(small.memory_gib) < 100
    for name, pool in (("OdF", 0), ("HF", 1), ("HM", 1)):
        setting = Setting(load_strategy(name), load_cloud("measured-gcp"), shop, pool, 7)
        outcome = run(setting, tasks_in(setting, jobs_of(rows)))
        rented = {shop.types[int(k)].shape.memory_gib for k in outcome.of_rentals("kind")}
        assert measure(outcome).use.unfinished == 0
        assert min(rented) >= 100, name
    setting = Setting(load_strategy("SR"), load_cloud("measured-gcp"), shop, 2, 7)
    assert measure(run(setting, tasks_in(setting, jobs_of(rows)))).use.refused == 2


def test_services_that_come_together_fill_servers_without_gaps() -> None:
    """Placed from the smallest on, four of 4 vCPUs filled one server, and two of 12 found none as long as they ran."""
    sizes = [*[4.0] * 6, *[12.0] * 6]
    rows: list[Row] = [(0, 864_000.0 + i, c, 1, 1) for i, c in enumerate(sizes)]
    tasks = tasks_in(setting := setting_of("SR", 6), jobs_of([*rows, (0, 100.0, 1, 1, 0)]))
    assert tasks.need.tolist() == [*[12_000] * 6, *[4000] * 6, 1000], "batch comes after them"
    began = run(setting, tasks).of_tasks("began")
    assert (began[:12] < 60).all()


def test_of_services_that_come_together_one_with_much_memory_is_large_too() -> None:
    """By vCPUs alone, 50 services of which half take much memory needed 19 servers where 17 do."""
    rows: list[Row] = [(0, 864_000.0, c, m, 1) for c, m in [(4.0, 8.0), (1.0, 32.0), (6.0, 8.0), (1.0, 8.0)]]
    assert tasks_in(setting_of("SR", 6), jobs_of(rows)).memory.tolist() == [32 * 1024, 8192, 8192, 8192]


def test_the_order_of_rows_changes_nothing_where_applications_are_profiled_first() -> None:
    rows: list[Row] = [(5.0 * (i // 4), 60.0 + i % 3, 1.0 + i % 4, 4.0, i % 2) for i in range(80)]
    made = jobs_of(rows)
    apps = np.array([i % 5 for i in range(80)], np.int32)
    one = replace(made, app=apps, apps=("a", "b", "c", "d", "e"))
    chance = np.random.default_rng(3)
    turned = np.array([4, 2, 0, 1, 3], np.int32)  # the same names under other codes
    names = tuple("abcde"[int(np.flatnonzero(turned == i)[0])] for i in range(5))
    other = shuffled(replace(one, app=turned[apps], apps=names), chance)
    setting = setting_of("HM", 2)
    tables = [tasks_in(setting, jobs) for jobs in (one, other)]
    for field in ("submit", "decide", "work", "need", "memory", "vector"):
        assert np.array_equal(getattr(tables[0], field), getattr(tables[1], field)), field


def shuffled(jobs: Jobs, chance: np.random.Generator) -> Jobs:
    """Rows of equal submission in another order."""
    order = np.lexsort((chance.random(len(jobs)), jobs.submit))
    names = ("submit", "duration", "cores", "memory", "gpus", "kind", "app", "qos")
    return replace(jobs, **{name: getattr(jobs, name)[order] for name in names})


@pytest.mark.slow
def test_a_resumed_sweep_knows_its_cells_in_any_order_of_keys(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = tmp_path / "jobs.csv"
    lines = [f"{i * 9},{100 + i},{1 + i % 3},4\n" for i in range(40)]
    trace.write_text("submit,duration,cores,memory\n" + "".join(lines), encoding="utf-8")
    keys = ("--vary", "price_ratio=1,4"), ("--vary", "retention.factor=1,4")
    words = ("sweep", str(trace), "--strategy", "HM", "--workers", "1", "--json", *NOW)
    folder = ("--out", str(tmp_path / "rows"))
    assert command([*words, *keys[0], *keys[1], *folder]) == 0
    capsys.readouterr()
    assert command([*words, *keys[1], *keys[0], *folder]) == 0
    resumed = json.loads(capsys.readouterr().out)["rows"]
    assert command([*words, *keys[1], *keys[0]]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == resumed


@pytest.mark.parametrize("ratio", ["nan", "inf", "1e-320", "0", "-1"])
def test_a_price_ratio_that_is_none_is_refused(ratio: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["simulate", "scenario:static", "-s", "SR", f"--price-ratio={ratio}", *NOW]) == 64
    assert "is not possible; write one from" in capsys.readouterr().err


def test_a_number_of_thousands_of_digits_is_no_event() -> None:
    with pytest.raises(EventError, match="not JSON"):
        from_line('{"at":' + "1" * 5000 + "}")


def test_names_cannot_steer_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "\x1b[31mred.csv"
    (tmp_path / name).write_text("submit,duration,cores,memory\n0,60,1,2\n1,60,1,2\n", encoding="utf-8")
    assert command(["simulate", str(tmp_path / name), "-s", "SR", *NOW]) == 0
    captured = capsys.readouterr()
    assert "\x1b" not in captured.out + captured.err
    assert command(["simulate", str(tmp_path / "\x1b[31mnone.csv"), *NOW]) == 1
    assert "\x1b" not in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda head: head["journal"].update(pool=10**12), "out of range"),
        (lambda head: head["journal"].update(start="x"), "a number is none"),
        (lambda head: head["types"][0].update(cores="x"), "a number is none"),
        (lambda head: head["rules"].update(period=0.0), "out of range"),
        (lambda head: head["types"][0].update(name="\x1b[31m"), "cannot be printed"),
    ],
)
def test_the_head_of_a_journal_is_checked(
    tmp_path: Path, change: object, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    trace, journal = tmp_path / "jobs.csv", tmp_path / "run.journal"
    trace.write_text("submit,duration,cores,memory\n0,60,1,2\n1,60,1,2\n", encoding="utf-8")
    assert command(["simulate", str(trace), "-s", "HM", "--journal", str(journal), *NOW]) == 0
    first, *rest = journal.read_text(encoding="utf-8").splitlines()
    head = json.loads(first)
    assert callable(change)
    change(head)
    journal.write_text("\n".join([json.dumps(head), *rest]) + "\n", encoding="utf-8")
    capsys.readouterr()
    assert command(["explain", "--job", "0", str(journal)]) == 1
    assert said in capsys.readouterr().err
