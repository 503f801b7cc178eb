"""``hcloud harvest simulate``: what it prints, that it repeats itself, and what it refuses."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harvesting import daily, util_csv
from jsonschema import Draft202012Validator

from hcloud.cli.main import run
from hcloud.readers.harvest.dags import dags_schema
from hcloud.sim.harvesting import compiled
from hcloud.views.document import schema_of
from hcloud.views.harvesting.documents import HarvestSimulationDocument

EXAMPLE = Path(__file__).parents[3] / "examples" / "idle-hours"
POOL = (str(EXAMPLE / "util.csv"), "--servers", str(EXAMPLE / "servers.csv"))
FEW = ("--jobs", str(EXAMPLE / "dags.json"), "--hours", "0.25", "--seeds", "2", "--now", "2026-11-20T12:00:00Z")
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def plainly() -> Iterator[None]:
    """Short runs stay in plain Python, however many there were before."""
    compiled.SET.spent[""] = -(10**9)
    yield
    compiled.SET.spent[""] = 0


@pytest.fixture
def pool(tmp_path: Path) -> tuple[str, ...]:
    """Four servers of three tenants, one of each pattern."""
    odd = np.clip(0.3 + np.cumsum(np.random.default_rng(5).normal(0, 0.03, 8 * 96)), 0, 1)
    use = {"day": daily(8), "flat": np.full(8 * 96, 0.4), "odd": odd}
    servers = tmp_path / "servers.csv"
    servers.write_text("server,tenant,cores\ns1,day,32\ns2,day,64\ns3,flat,64\ns4,odd,64\n", encoding="utf-8")
    return str(util_csv(tmp_path / "util.csv", use)), "--servers", str(servers)


def test_systems_stand_side_by_side_and_the_books_balance(pool: tuple[str, ...], capsys: Capture) -> None:
    words = ["harvest", "simulate", *pool, *FEW, "--every", "60s", "--scale", "0.3", "--system", "stock,aware,history"]
    assert run([*words, "--json"]) == 0, capsys.readouterr().err
    text = capsys.readouterr().out
    told: dict[str, Any] = json.loads(text)
    Draft202012Validator(schema_of(HarvestSimulationDocument)).validate(told)
    assert [one["system"] for one in told["systems"]] == ["stock", "aware", "history"]
    for system in told["systems"]:
        assert [one["seed"] for one in system["runs"]] == [0, 1]
        for one in system["runs"]:
            hours = one["vcpu_hours"]
            parts = ("services", "useful", "wasted", "unfinished", "reserve", "idle")
            assert sum(hours[part] for part in parts) == pytest.approx(224 * 0.25, rel=1e-9)
            assert one["no_class"] + one["one_class"] + one["several_classes"] == one["jobs"]
    stock, aware, history = (system["runs"] for system in told["systems"])
    assert [one["jobs"] for one in stock] == [one["jobs"] for one in history]
    assert all(one["longest_broken_seconds"] <= 3 for one in (*aware, *history))
    assert all(one["no_class"] == one["jobs"] for one in (*stock, *aware))
    assert sum(one["one_class"] for one in history) > 0
    assert run([*words, "--json"]) == 0
    assert capsys.readouterr().out == text


def test_table_markdown_and_csv_say_the_same(pool: tuple[str, ...], capsys: Capture) -> None:
    words = ["harvest", "simulate", *pool, *FEW, "--system", "aware,history", "--seeds", "1", "--hours", "0.2"]
    assert run([*words, "-o", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["system"] for row in rows] == ["aware", "history"]
    assert run(words) == 0
    screen = capsys.readouterr().out
    assert f"{float(rows[1]['mean_seconds']):,.0f}s" in screen
    assert "of the jobs got one class" in " ".join(screen.split())
    assert run([*words, "-o", "md"]) == 0
    assert "| history |" in capsys.readouterr().out


def test_the_example_follows_the_schema() -> None:
    Draft202012Validator(dags_schema()).validate(json.loads((EXAMPLE / "dags.json").read_text(encoding="utf-8")))


def refused(capsys: Capture, *words: str) -> tuple[int, str]:
    code = run(["harvest", "simulate", *words])
    return code, " ".join(capsys.readouterr().err.split())


def write(path: Path, content: object) -> str:
    path.write_text(json.dumps(content), encoding="utf-8")
    return str(path)


def test_all_problems_of_a_file_of_jobs_are_told_together(tmp_path: Path, capsys: Capture) -> None:
    circle = [{"name": "a", "tasks": 1, "seconds": 5, "after": ["b"]},
              {"name": "b", "tasks": 1, "seconds": 5, "after": ["a"]}]  # fmt: skip
    odd = [{"name": "a", "tasks": 0, "seconds": -4, "after": ["A"]}, {"name": "a", "tasks": 1, "seconds": 1, "core": 1}]
    fine = [{"name": "a", "tasks": 1, "seconds": 5}]
    stated: tuple[tuple[str, list[Any]], ...] = (("x", circle), ("y", odd), ("x", fine), ("z", []))
    path = write(tmp_path / "dags.json", {"jobs": [{"id": name, "vertices": some} for name, some in stated]})
    code, told = refused(capsys, *POOL, "--jobs", path)
    assert code == 1
    for words in (
        "jobs[0].vertices: a cycle: a, b", "jobs[1].vertices[0].tasks: 0", "jobs[1].vertices[0].seconds: -4",
        "jobs[1].vertices[1].core: unknown key (did you mean cores?)", "jobs[1].vertices[1].name: 'a'",
        "jobs[2].id: 'x'", "jobs[3].vertices: []", "jobs[1].vertices[0].after[0]: 'A'",
    ):  # fmt: skip
        assert words in told, told


def test_last_runs_sizes_and_systems_are_checked(tmp_path: Path, capsys: Capture) -> None:
    large = write(tmp_path / "large.json", {"jobs": [{"id": "x", "vertices": [
        {"name": "a", "tasks": 1, "seconds": 5, "cores": 64}]}]})  # fmt: skip
    code, told = refused(capsys, *POOL, "--jobs", large)
    assert code == 1
    assert "jobs[0].vertices[0].cores: 64 (at most" in told
    runs = write(tmp_path / "runs.json", {"runs": {"train": -3, "trian": 5}})
    code, told = refused(capsys, *POOL, "--jobs", str(EXAMPLE / "dags.json"), "--runs", runs)
    assert code == 1
    assert "runs.train: -3 (seconds above 0" in told
    assert "did you mean train?" in told
    code, told = refused(capsys, *POOL, "--jobs", "scenario:querys")
    assert code == 64
    assert "queries" in told
    code, told = refused(capsys, *POOL, *FEW, "--system", "histroy")
    assert code == 64
    assert "history" in told


def test_jobs_come_some_time_apart(capsys: Capture) -> None:
    for given, why in (
        ("banana", "--every: 'banana' is not a duration"),
        ("0s", "--every 0s: jobs come a second apart"),
    ):
        code, told = refused(capsys, *POOL, *FEW, "--every", given)
        assert (code, why in told) == (64, True), told


def test_too_little_history_is_not_guessed(tmp_path: Path, capsys: Capture) -> None:
    util = util_csv(tmp_path / "util.csv", {"s1": daily(2)})
    servers = tmp_path / "servers.csv"
    servers.write_text("server,tenant,cores\ns1,t1,8\n", encoding="utf-8")
    code, told = refused(capsys, str(util), "--servers", str(servers), *FEW)
    assert code == 9
    assert "the history is 2 days long" in told
    assert "hint: give a longer history" in told
    month = util_csv(tmp_path / "more.csv", {"s1": daily(5)})
    code, told = refused(capsys, str(month), "--servers", str(servers), *FEW, "--hours", "96")
    assert (code, "hint: --hours 72 at most" in told) == (9, True)
    code, told = refused(capsys, str(util), *FEW)
    assert code == 9
    assert "the vCPUs of" in told
