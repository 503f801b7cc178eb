"""Jobs that ask for GPUs: left out with the command that plans them, and planned on machines that have as many."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from hcloud.catalog.shapes import is_of_shape, named_type
from hcloud.cli.main import run
from hcloud.model.catalog import Provider

pytestmark = pytest.mark.usefixtures("quick_starts")
NOW, HERE = ("--now", "2026-11-20T12:00:00Z"), ("--provider", "aws", "--region", "us-east-1")
OURS = (*HERE, "--family", "g9", *NOW)
SIZES = {
    **{
        "g9.xlarge": (4, 1, "1"),
        "g9.2xlarge": (8, 1, "1.2"),
        "g9.12xlarge": (48, 4, "6"),
        "g9.48xlarge": (192, 8, "16"),
    },
    **{"p9.2xlarge": (8, 1, "2"), "p9.16xlarge": (64, 8, "16")},
}
"""vCPUs, GPUs, and dollars an hour on demand; a year all upfront is three fifths of that."""
DAYS = 28
HISTORY = Path(__file__).parents[3] / "examples" / "idle-hours"
IDLE = ("--util", str(HISTORY / "util.csv"), "--servers", str(HISTORY / "servers.csv"))


@pytest.fixture
def prices(tmp_path: Path) -> None:
    """Prices of families that nobody sells, as the user imports them."""
    head = (
        "provider,region,instance_type,os,tenancy,option,term_years,payment,hourly,upfront,date,source,vcpus,memory_gib"
    )
    rows = [f"{head},gpus"]
    for size, (vcpus, gpus, hourly) in SIZES.items():
        place, rest = f"aws,us-east-1,{size},linux,shared", f"2026-11-19,ours,{vcpus},{vcpus * 4},{gpus}"
        upfront = Decimal(hourly) * 8760 * 3 / 5
        rows += [
            f"{place},on-demand,0,no-upfront,{hourly},0,{rest}",
            f"{place},reserved-instance,1,all-upfront,0,{upfront},{rest}",
        ]
    (tmp_path / "prices.csv").write_text("\n".join(rows) + "\n")
    assert run(["pricing", "import", str(tmp_path / "prices.csv"), *NOW]) == 0


def _trace(path: Path, *each_day: Sequence[float]) -> Path:
    """Batch jobs that come each day: the hour, hours, vCPUs and GPUs."""
    rows = (
        f"{(24 * day + hour) * 3600},{hours * 3600},{vcpus},{vcpus * 2},{gpus}"
        for day in range(DAYS)
        for hour, hours, vcpus, gpus in each_day
    )
    path.write_text("\n".join(["submit,duration,cores,memory,gpus", *rows]) + "\n")
    return path


def _planned(capsys: pytest.CaptureFixture[str], *words: object) -> Any:
    capsys.readouterr()
    assert run(["plan", *map(str, words), "-o", "json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.usefixtures("prices")
def test_jobs_with_gpus_are_planned_by_themselves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They were left out whatever was asked for. Of the size that costs least; a machine holds no more of them than it
    has GPUs, whatever its vCPUs."""
    path = _trace(tmp_path / "mixed.csv", (0, 24, 1, 1), (0, 24, 1, 1), (0, 12, 1, 1), (0, 24, 16, 0))
    others = _planned(capsys, path, *HERE, "--family", "m6i", *NOW)
    share = 2.5 / 18.5
    why = f"asks for GPUs, planned by themselves with --set gpu=only: {share:.1%} of the vCPU-hours"
    assert others["workload"]["left_out"] == {why: 3 * DAYS}
    plan = _planned(capsys, path, *OURS, "--set", "gpu=only", "--out", tmp_path / "plan.json")
    assert {(m["instance_type"], m["option"], m["peak"]) for m in plan["mix"]} == {
        ("g9.xlarge", "reserved-instance", 2),
        ("g9.xlarge", "on-demand", 1),
    }
    hourly = 2 * Decimal("0.6") + Decimal("0.5")  # two always, one half of the time
    assert abs(Decimal(plan["after"]["total"]) / (hourly * 8760) - 1) < Decimal("0.03")  # the window ends early
    assert any("ask for no GPUs" in one and "a --state of its own" in one for one in plan["warnings"])
    (said,) = (one for one in plan["warnings"] if one.startswith("GPUs"))
    assert "those of g9 are assumed. Each counts as 4 vCPUs, as on g9.xlarge" in said
    assert run(["simulate", str(tmp_path / "plan.json"), *NOW, "-o", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    (ran,) = document["strategies"][0]["runs"]
    assert any(one.startswith("GPUs: the trace does not say which; those of g9") for one in document["assumed"])
    assert ran["reserved_servers"] == 2
    rented = sum(charge["seconds"] for charge in ran["charges"])
    assert rented >= DAYS * 12 * 3600  # the vCPUs of all three are fewer than those of one machine


def test_sizes_of_a_shape_have_as_many_vcpus_for_each_gpu() -> None:
    """A simulation rents sizes of a shape: two jobs of one GPU were on one machine with as many GPUs as one of them."""
    one, other = (
        named_type(Provider.AWS, f"g9.{size}", Decimal(n), Decimal(4 * n)) for size, n in (("a", 4), ("b", 8))
    )
    assert not is_of_shape(replace(one, gpus=1), replace(other, gpus=1))
    assert is_of_shape(replace(one, gpus=1), replace(other, gpus=2))


@pytest.mark.usefixtures("prices")
def test_few_gpus_and_many_by_themselves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One plan for both is on machines that hold the largest; what two plans save is said with their commands."""
    path = _trace(tmp_path / "both.csv", *[(0, 24, 2, 1)] * 4, (6, 2, 16, 8), (12, 2, 2, 0.4))
    totals = {}
    for only in ("only", "1-7", "8-8"):
        plan = _planned(capsys, path, *OURS, "--set", f"gpu={only}")
        totals[only] = next(Decimal(a["total"]) for a in plan["alternatives"] if "all on demand" in a["name"])
        said = [one for one in plan["warnings"] if "by themselves would cost" in one]
        assert {m["instance_type"] for m in plan["mix"]} == {"g9.xlarge" if only == "1-7" else "g9.48xlarge"}
        assert bool(said) == (only == "only")
        if said:
            assert "--set gpu=1-7, and again with --set gpu=8-8" in said[0]
            saved = float(said[0].split("would cost ")[1].split("%")[0]) / 100
    whole = _planned(capsys, path, *HERE, "--family", "p9", *NOW)  # of which sizes cost as much for each GPU
    assert not [one for one in whole["warnings"] if "by themselves would cost" in one]
    assert math.isclose(float((totals["1-7"] + totals["8-8"]) / totals["only"]), 1 - saved, abs_tol=0.02)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (
            HERE,
            64,
            "they do not say which\nhint: name a family that has those they need, as --family g9; on demand, a GPU",
        ),
        ((*HERE, "--family", "m6i"), 64, "no family of that name (m6i) has GPUs and a price\nhint: name a family"),
        ((*HERE, "--family", "g9"), 9, "(9 GPUs, 2 vCPU, 4 GiB) fits no machine of g9, and cannot be split"),
        ((*HERE, "--family", "g9", "--set", "gpu=1-4"), 64, "no job asks for so many GPUs"),
        (
            ("--provider", "gcp", "--region", "us-central1", "--family", "n2"),
            9,
            "has no machine with GPUs in gcp/us-central1\nhint: import a table of such with its column gpus",
        ),
        ((*HERE, "--family", "g9", "--divisible", "all", *IDLE), 64, "its jobs ask for GPUs, and idle hours have none"),
        (("--set", "gpu=some"), 64, "is not one of leave-out, demand, only, or numbers as 1-4"),
    ],
)
@pytest.mark.usefixtures("prices")
def test_what_is_missing_is_said(
    words: tuple[str, ...], code: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _trace(tmp_path / "nine.csv", (0, 3, 2, 9))
    assert run(["plan", str(path), *words, *NOW]) == code
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(("family", "code"), [("m6i", 1), ("g9", 0)])
@pytest.mark.usefixtures("prices")
def test_a_configuration_is_checked_for_machines_with_gpus(
    family: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was told to be fine, and the plan refused it."""
    _trace(tmp_path / "jobs.csv", (0, 3, 2, 1))
    file = tmp_path / "hcloud.yaml"
    market = f"markets: [{{provider: aws, families: [{family}]}}]"
    file.write_text(f"workload: {{path: jobs.csv, options: {{gpu: only}}}}\n{market}\n")
    assert run(["validate", str(file), *NOW]) == code
    assert ("no family of that name (m6i) has GPUs" in " ".join(capsys.readouterr().out.split())) == bool(code)
    if code:  # two markets of one region, of which the command was told twice
        here = "{provider: aws, regions: [eu-west-3], vcpus: 4}"
        file.write_text(f"workload: {{path: jobs.csv, options: {{gpu: only}}}}\nmarkets: [{here}, {here}]\n")
        assert run(["validate", str(file), *NOW]) == code
        assert " ".join(capsys.readouterr().out.split()).count("pricing refresh --provider aws --region eu-west-3") == 1


def test_a_reserve_is_sized_for_jobs_that_are_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Jobs with GPUs, which a simulation left out, sized it too."""
    each_day, servers = [(9, 4, 4, 0), (10, 4, 4, 0)], []
    for name, rows in (("all.csv", [*each_day, (9, 5, 64, 8)]), ("others.csv", each_day)):
        path = _trace(tmp_path / name, *rows)
        assert run(["simulate", str(path), *HERE, "--family", "m6i", "-s", "SR", *NOW, "-o", "json"]) == 0
        document = json.loads(capsys.readouterr().out)
        servers.append(document["strategies"][0]["runs"][0]["reserved_servers"])
    assert servers[0] == servers[1]


OWNED = """
markets: [{provider: aws, regions: [us-east-1], families: [g9]}]
owned:
  - {provider: aws, region: us-east-1, instance_type: g9.2xlarge, option: reserved-instance, term_years: 1,
     payment: all-upfront, count: 1, expires: 2027-11-19}
"""


@pytest.mark.parametrize(
    ("columns", "config", "runs_on"),
    [
        ("gpus\n0,2e6,1,1,1", OWNED, "g9.2xlarge"),  # smaller ones were bought beside those paid for
        ("gpus,servers\n0,2e6,2,2,8,2", "", "g9.12xlarge"),  # such jobs were taken for ones that may be split
        ("gpus,requires\n0,2e6,1,1,1,type=g9.2x*", "", "g9.2xlarge"),  # a plan was refused
    ],
)
@pytest.mark.usefixtures("prices")
def test_machines_that_are_owned_hold_a_part_or_are_required(
    columns: str, config: str, runs_on: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "jobs.csv").write_text(f"submit,duration,cores,memory,{columns}\n")
    (tmp_path / "ours.yaml").write_text(config)
    place = () if config else OURS[:-2]
    plan = _planned(capsys, tmp_path / "jobs.csv", "--file", tmp_path / "ours.yaml", *place, *NOW, "--set", "gpu=only")
    assert {m["instance_type"] for m in plan["mix"]} == {runs_on}


@pytest.mark.usefixtures("prices")
def test_a_job_that_is_dropped_picks_no_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _trace(tmp_path / "big.csv", (0, 24, 1, 1), (0, 24, 1, 1), (3, 1, 300, 1))
    words = ("--set", "gpu=only", "--drop-unplaceable", "-s", "OdF", "-o", "json")
    assert run(["simulate", str(path), *OURS, *words]) == 0
    assert any("as on g9.xlarge" in one for one in json.loads(capsys.readouterr().out)["assumed"])
