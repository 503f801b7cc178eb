"""``hcloud harvest plan``: the hours that are there, what batch can use of them, and the dollars; against a count of
plain Python that shares no code."""

from __future__ import annotations

import csv
import json
import math
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from building import Built
from harvesting import MONDAY, daily, util_csv
from jsonschema import Draft202012Validator

from hcloud.cli.main import run
from hcloud.harvest.policy import HarvestPolicy
from hcloud.harvest.room import carried
from hcloud.harvest.typing import PATTERNS
from hcloud.readers.bundle import bundled
from hcloud.readers.harvest.policy import load_harvest
from hcloud.views.document import schema_of
from hcloud.views.harvesting.documents import HarvestPlanDocument

NOW = ("--now", "2026-11-20T12:00:00Z")
DAYS, PER_DAY = 8, 96
SEVERAL_SIZES = "tenant with servers of several sizes: whole vCPUs are counted on servers of their mean size"
SERVERS = {"w1": ("web", 16), "w2": ("web", 16), "d1": ("db", 32)}
Capture = pytest.CaptureFixture[str]


def use_of() -> dict[str, np.ndarray]:
    day = daily(DAYS, mean=0.35, swing=0.3)
    return {"w1": day, "w2": day, "d1": np.full(len(day), 0.5)}


@pytest.fixture
def pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Days of three servers and batch that runs each night, in the current directory."""
    monkeypatch.chdir(tmp_path)
    lines = [f"{name},{tenant},{cores},reserved" for name, (tenant, cores) in SERVERS.items()]
    Path("servers.csv").write_text("\n".join(["server,tenant,cores,market", *lines]) + "\n", encoding="utf-8")
    util_csv(Path("util.csv"), use_of())
    batch(nightly())
    return tmp_path


Rows = list[tuple[str, float, float, int, str, str]]


def nightly() -> Rows:
    """Each day at 17, when services are least busy: an hour of 12 jobs of an application, and six hours of another."""
    rows: Rows = []
    for night in range(DAYS):
        at = MONDAY + night * 86_400 + 17 * 3600.0
        rows += [(f"s{night}-{n}", at, 3600.0, 1, "batch", "sort") for n in range(12)]
        rows += [(f"t{night}", at, 6 * 3600.0, 4, "batch", "train")]
    return rows


def batch(rows: Rows, name: str = "batch.csv") -> None:
    with Path(name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "submit", "duration", "cores", "memory", "kind", "app"])
        writer.writerows((i, s, d, c, 4 * c, k, a) for i, s, d, c, k, a in rows)


def document(capsys: Capture, *words: str, name: str = "batch.csv") -> dict[str, Any]:
    capsys.readouterr()
    asked = ["harvest", "plan", "util.csv", "--servers", "servers.csv", "--workload", name, *words, "--json", *NOW]
    assert run(asked) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    Draft202012Validator(schema_of(HarvestPlanDocument)).validate(found)
    return found


@pytest.fixture
def usual(pool: Path, built: Built, capsys: Capture) -> dict[str, Any]:
    """What is planned of the directory as it is; made once."""

    def fill(directory: Path) -> None:
        (directory / "plan.json").write_text(json.dumps(document(capsys)), encoding="utf-8")

    found: dict[str, Any] = json.loads((built("harvest-plan", fill) / "plan.json").read_text(encoding="utf-8"))
    return found


def idle_by_count(reserve: float) -> float:
    """vCPU-hours beside the reserve in the history, counted sample by sample in whole vCPUs of each server."""
    total = 0.0
    for name, row in use_of().items():
        size = SERVERS[name][1]
        for used in row.tolist():
            free = size - math.ceil(size * reserve - 1e-9) - math.ceil(size * round(used, 4) - 1e-6)
            total += max(free, 0) * 24 / PER_DAY
    return total


def test_what_ends_in_idle_hours_counts_though_most_batch_finds_no_room_there(pool: Path, capsys: Capture) -> None:
    """Small jobs had the share of idle hours that is their share of all work; and where nothing of the last week is
    left for machines, the demand of the rest fell, that of batch did not."""
    week = MONDAY + 7 * 86_400
    wide = [(f"w{day}", MONDAY + day * 86_400 + 3600.0, 72_000.0, 12, "batch", "wide") for day in range(7)]
    narrow = [row for row in nightly() if row[1] > week and row[5] == "sort"]
    batch([*wide, *narrow])
    found = document(capsys)
    assert found["played"]["ended"] == len(narrow)
    month = 730 / found["batch_hours"]
    assert found["carried_vcpu_hours"]["mean"] == pytest.approx(len(narrow) * month, rel=1e-6)
    left, whole = (Decimal(found["money"][name]) for name in ("on_demand_left_monthly", "on_demand_monthly"))
    assert Decimal(0) < left < whole


def test_the_idle_hours_are_those_that_a_plain_count_finds(usual: dict[str, Any]) -> None:
    month = 730 / (24 * DAYS)
    assert usual["idle_vcpu_hours"] == pytest.approx(idle_by_count(1 / 3) * month, rel=1e-6)
    assert usual["batch_vcpu_hours"] == pytest.approx(DAYS * (12 + 24) * month, rel=1e-9)
    by_hour = sum(row["room_short_vcpus"] for row in usual["hours"])
    assert by_hour * 730 / 24 == pytest.approx(usual["idle_vcpu_hours"], rel=1e-9)


def test_nothing_is_carried_that_is_not_there_or_not_asked_for(usual: dict[str, Any]) -> None:
    for row in usual["hours"]:
        got = [row[f"carried_{length}_vcpus"] for length in ("short", "medium", "long")]
        assert sum(got) <= row["room_short_vcpus"] + 1e-9
        assert got[2] <= row["room_long_vcpus"] + 1e-9
        if not 17 <= row["hour"] < 23:
            assert got == [0, 0, 0]
    carried_hours = sum(one["carried_vcpu_hours"] for one in usual["jobs"])
    assert carried_hours == pytest.approx(usual["carried_vcpu_hours"]["mean"], rel=1e-6)
    assert carried_hours <= min(usual["batch_vcpu_hours"], usual["arithmetic_vcpu_hours"])
    played = usual["played"]
    assert played["ended"] + played["no_class_had_room"] + played["moved"] == DAYS * 13
    assert usual["carried_vcpu_hours"]["low"] <= usual["carried_vcpu_hours"]["high"]


def test_the_dollars_are_the_on_demand_price_of_what_is_carried(usual: dict[str, Any]) -> None:
    """Everything fits at night: nothing is left to rent, and all of it was on demand before."""
    money = usual["money"]
    assert Decimal(money["on_demand_left_monthly"]) == 0
    assert Decimal(money["not_rented_monthly"]) == Decimal(money["on_demand_monthly"]) > 0
    assert Decimal(money["saved_monthly"]) == Decimal(money["planned_monthly"])


def test_the_dollars_on_demand_are_those_of_whole_machines_hour_by_hour(pool: Path, capsys: Capture) -> None:
    """Three vCPUs for 90 minutes and one for a minute, each day, with 4 GiB a vCPU: in machines of two vCPUs at
    AWS's list prices, the fewest dollars of those with 4 GiB (c6a.large) and with 8 (m5a.large). Of the minute by
    itself the last hour counts, of all jobs it does not: that was told as a bug."""
    rows: Rows = []
    for day in range(DAYS):
        at = MONDAY + day * 86_400 + 17 * 3600.0
        rows += [(f"a{day}", at, 5400.0, 3, "batch", "long"), (f"b{day}", at + 4 * 3600.0, 60.0, 1, "batch", "short")]
    batch(rows)
    found = document(capsys)
    hours = (3.0, 1.5, 1 / 60)  # vCPUs in the mean of each hour
    mixes = [(small, large) for small in range(4) for large in range(4)]
    dollars = [
        min(0.0765 * s + 0.086 * g for s, g in mixes if 2 * (s + g) >= cores and 4 * s + 8 * g >= 4 * cores)
        for cores in hours
    ]
    assert float(found["money"]["on_demand_monthly"]) == pytest.approx(sum(dollars) * 365 / 12, abs=0.006)
    assert found["batch_vcpu_hours"] == pytest.approx(sum(hours) * 730 / 24, rel=1e-9)


def test_batch_by_day_meets_the_peak_of_the_services(pool: Path, capsys: Capture) -> None:
    """The same work when services are busy finds less room, and what is left costs money."""
    batch([(i, s - 12 * 3600, d, 8 * c, k, a) for i, s, d, c, k, a in nightly()], "noon.csv")
    batch([(i, s, d, 8 * c, k, a) for i, s, d, c, k, a in nightly()], "evening.csv")
    noon, evening = document(capsys, name="noon.csv"), document(capsys, name="evening.csv")
    assert noon["carried_vcpu_hours"]["mean"] < evening["carried_vcpu_hours"]["mean"]
    assert Decimal(noon["money"]["on_demand_left_monthly"]) > Decimal(evening["money"]["on_demand_left_monthly"]) > 0


def test_the_screen_ends_in_three_numbers_and_says_what_they_rest_on(pool: Path, capsys: Capture) -> None:
    batch(
        [
            *nightly(),
            ("web", float(MONDAY), 86_400.0 * DAYS, 4, "service", ""),
            ("big", float(MONDAY), 9e3, 64, "batch", ""),
        ]
    )
    asked = ["harvest", "plan", "util.csv", "--servers", "servers.csv", "--workload", "batch.csv", *NOW]
    assert run(asked) == 0
    told = " ".join(capsys.readouterr().out.split())
    for part in (
        "idle vCPU-hours a month beside the reserve",
        "Batch can use",
        "a month (",
        "against on-demand machines at",
        "1 job not counted: a service",
        "1 job not counted: more vCPUs than a server has beside the reserve",
        "Trust: unknown; 14 days of history",
        "The month and its dollars rest on ",
    ):
        assert part in told
    assert SEVERAL_SIZES not in told
    assert run([*asked, "-o", "md"]) == 0
    assert "| periodic-1 |" in capsys.readouterr().out
    assert run([*asked, "-o", "csv"]) == 0
    assert len(list(csv.DictReader(capsys.readouterr().out.splitlines()))) == 2 * 24


def test_where_no_job_finds_room_nothing_is_saved(pool: Path, capsys: Capture) -> None:
    """That was told as $0 a month against on-demand machines at $0.0000 a vCPU-hour."""
    batch([("wide", float(MONDAY), 7 * 86_400.0, 10, "batch", "")])
    assert run(["harvest", "plan", "util.csv", "--servers", "servers.csv", "--workload", "batch.csv", *NOW]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "Batch can use 0 of them" in told
    assert "That saves nothing: the best plan of batch's own machines costs $" in told


def test_the_picture_shows_what_is_paid_for_in_four_parts(pool: Path, capsys: Capture) -> None:
    asked = ["harvest", "plan", "util.csv", "--servers", "servers.csv", "--workload", "batch.csv", *NOW]
    assert run([*asked, "--picture", "week.svg"]) == 0
    drawn = Path("week.svg").read_text(encoding="utf-8")
    assert all(word in drawn for word in ("services", "batch", "idle", "reserve", "64 vCPUs paid for", "days (the"))
    ticks = re.findall(r">(\d+)</text>", drawn)
    assert ticks[-3:] == ["5", "6", "7"], "hours had ticks at 10, 20, 30 ..., which no night begins at"
    assert run([*asked, "--picture", "week.bmp"]) == 64


@pytest.mark.parametrize(("key", "value", "told"), [
    ("rise_exceeded", "0.5", "reserve_needed"), ("short_below", "60", "jobs"), ("long_above", "60", "jobs"),
])  # fmt: skip
def test_every_number_of_a_plan_changes_it(
    usual: dict[str, Any], capsys: Capture, key: str, value: str, told: str
) -> None:
    text = (bundled("policies") / "harvest.yaml").read_text(encoding="utf-8")
    head, found, rest = text.partition(f"      {key}:\n        value: ")
    assert found
    Path("mine.yaml").write_text(f"{head}{found}{value}\n{rest.partition(chr(10))[2]}", encoding="utf-8")
    assert document(capsys, "--policy", "mine.yaml")[told] != usual[told]


def test_servers_that_differ_in_size_are_said_to_count_as_alike(pool: Path, capsys: Capture) -> None:
    text = Path("servers.csv").read_text(encoding="utf-8")
    asked = ["harvest", "plan", "util.csv", "--servers", "servers.csv", "--workload", "batch.csv", *NOW]
    Path("servers.csv").write_text(text.replace("w2,web,16", "w2,web,32"), encoding="utf-8")
    assert run(asked) == 0
    assert f"1 {SEVERAL_SIZES}" in " ".join(capsys.readouterr().out.split())


def test_what_cannot_be_answered_is_refused(pool: Path, capsys: Capture) -> None:
    asked = ["harvest", "plan", "util.csv", "--workload", "batch.csv"]
    assert run(asked) == 9
    assert "the vCPUs of" in capsys.readouterr().err
    assert run(["harvest", "plan", "util.csv", "--servers", "servers.csv"]) == 64
    assert "--workload batch.csv" in capsys.readouterr().err
    batch([("web", float(MONDAY), 86_400.0, 4, "service", "")], "services.csv")
    assert run(["harvest", "plan", "util.csv", "--servers", "servers.csv", "--workload", "services.csv"]) == 9
    assert "no batch job" in capsys.readouterr().err


def test_long_jobs_choose_first_and_each_in_its_own_order() -> None:
    """By hand: one hour, one class a pattern with 10 vCPUs for short and medium jobs and 4 for long ones."""
    policy: HarvestPolicy = load_harvest()
    assert policy.reserve_cores == pytest.approx(1 / 3)
    room = np.array([[[10.0]] * 3, [[10.0]] * 3, [[4.0]] * 3])
    got = carried(np.array([[6.0], [12.0], [9.0]]), room, PATTERNS)[:, :, 0]
    periodic, constant, unpredictable = range(3)
    assert got[2, [constant, periodic, unpredictable]].tolist() == [4, 4, 1]
    assert got[1, [periodic, constant, unpredictable]].tolist() == [6, 6, 0]
    assert got[0, [unpredictable, periodic, constant]].tolist() == [6, 0, 0]


def test_percent_is_said_with_what_to_add(pool: Path, capsys: Capture) -> None:
    util_csv(Path("percent.csv"), {name: 100 * use for name, use in use_of().items()})
    words = ["harvest", "plan", "percent.csv", "--servers", "servers.csv", "--workload", "batch.csv", *NOW]
    assert run(words) == 1
    asked = "percent (the largest is 65; if they are vCPUs in use, say series_value=cores), read it with: hcloud "
    asked += f"{' '.join(words)} --set series_value=percent"
    assert asked in " ".join(capsys.readouterr().err.split())
