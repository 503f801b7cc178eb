"""Jobs that fit no type: the types follow from the workload, and what fits none is an error or is told and counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hcloud.cli.main import run
from hcloud.readers.configuration.config import load_config
from hcloud.readers.strategies import load_strategy
from hcloud.sim.setup.fitting import Room
from hcloud.sim.setup.shop import shop_for
from hcloud.usecases.studies.simulation import SimulationRequest, Study, open_study
from hcloud.usecases.workloads.sources import Flags, with_flags

NOW = ("--now", "2026-11-20T12:00:00Z")
TWO = "id,submit,duration,cores,memory,kind\nweb-1,0,172800,16,64,service\netl-7,36000,7200,8,32,batch\n"
HEAVY = "id,submit,duration,cores,memory,kind\nweb-1,0,36000,16,64,service\nhuge-9,600,{0},2,5000,batch\n"


def written(folder: Path, text: str) -> Path:
    """A trace of jobs."""
    path = folder / "trace.csv"
    path.write_text(text, encoding="utf-8")
    return path


def opened(path: Path, *families: str, **keys: str) -> Study:
    """The study of a trace on AWS, with keys of the configuration."""
    from datetime import date

    from hcloud.model.catalog import Provider

    flags = Flags(workload=str(path), providers=(Provider.AWS,), families=families)
    return open_study(with_flags(load_config(None, keys), flags), SimulationRequest(), date(2026, 11, 20))


@pytest.mark.parametrize("place", [(), ("--provider", "azure")])
def test_no_job_of_the_first_example_is_refused(
    place: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["compare", str(written(tmp_path, TWO)), *place, "-s", "SR,HM", "--seeds", "1", "--json", *NOW]) == 0
    told = json.loads(capsys.readouterr().out)
    for strategy in told["strategies"]:
        (one,) = strategy["runs"]
        assert (one["refused"], one["unfinished"], strategy["compared"]) == (0, 0, True)
        assert float(one["cost_per_ideal_hour"]) > 0.3


def test_the_reserved_type_follows_from_the_memory_of_the_jobs(tmp_path: Path) -> None:
    rows = [f"{at * 60},7200,2,{{0}},batch" for at in range(200)]
    text = "\n".join(["submit,duration,cores,memory,kind", *rows]) + "\n"
    for memory, family in ((4, "c5a"), (8, "m5a"), (16, "r5a")):
        shop = opened(written(tmp_path, text.format(memory))).shop
        assert shop.types[shop.large].shape.family == family
        assert {t.shape.family for t in shop.types} == {family}
    shop = opened(written(tmp_path, text.format(15)), "c7i", "r7i").shop
    assert shop.types[shop.large].shape.family == "r7i", "not the cheapest of the families that were named"


def test_a_job_that_cannot_be_split_asks_for_a_larger_type(tmp_path: Path) -> None:
    """To rent it, or to reserve it where nothing is rented or where it is much of the work."""
    few, much = (opened(written(tmp_path, HEAVY.replace("5000", "300").format(n))).shop for n in (600, 360_000))
    room = Room(2000, 300 * 1024)
    assert room.fits(few.types[-1].shape)
    assert not room.fits(few.types[few.large].shape)
    none = opened(written(tmp_path, HEAVY.replace("5000", "300").format(600)), HYC_OPERATION__LARGER_JOBS="0").shop
    for shop in (shop_for(few, load_strategy("SR")), much, none):
        assert room.fits(shop.types[shop.large].shape)


def test_a_job_that_fits_nothing_is_an_error_with_its_id(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, HEAVY.format(600))
    assert run(["compare", str(path), "--provider", "aws", "--seeds", "1", *NOW]) == 9
    told = capsys.readouterr()
    assert "job huge-9 (2 vCPU, 5000 GiB) fits no type" in told.err
    assert "--drop-unplaceable" in told.err
    assert "cheapest" not in told.out


def test_dropped_jobs_are_counted_and_a_strategy_that_drops_much_is_not_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["-s", "OdF,SR", "--provider", "aws", "--seeds", "1", "--drop-unplaceable", *NOW]
    few = written(tmp_path, HEAVY.format(600))
    assert run(["compare", str(few), *words]) == 0
    told = capsys.readouterr()
    assert "1 job left out (0.2% of the work): no type holds them" in told.err
    assert "cheapest Pareto-optimal strategy" in told.out
    assert run(["compare", str(few), *words, "--json"]) == 0
    strategies = json.loads(capsys.readouterr().out)["strategies"]
    assert [(s["compared"], s["dropped"], s["runs"][0]["refused"]) for s in strategies] == [(True, 1, 0)] * 2
    assert {s["runs"][0]["reserved_servers"] for s in strategies} <= {0, 2}, "what is dropped is not reserved for"
    much = written(tmp_path, HEAVY.format(36000))
    assert run(["compare", str(much), *words]) == 9, "there is nothing to choose from"
    told = capsys.readouterr()
    assert "it is not compared" in told.err
    assert "not compared" in told.out
    assert "cheapest" not in told.out


def test_a_sweep_leaves_out_what_fits_no_type_and_says_how_much(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--strategy", "OdF", "--provider", "aws", "--vary", "price_ratio=1,2", "--workers", "1", *NOW]
    few = written(tmp_path, HEAVY.format(600))
    assert run(["sweep", str(few), *words]) == 9
    assert "--drop-unplaceable" in capsys.readouterr().err
    assert run(["sweep", str(few), *words, "--drop-unplaceable"]) == 0
    told = "".join(capsys.readouterr())
    assert "1 job left out (0.2% of the work): no type holds them" in told
    assert "do not compare" not in told
    much = written(tmp_path, HEAVY.format(36000))
    assert run(["sweep", str(much), *words, "--drop-unplaceable"]) == 0
    assert "OdF with price_ratio=2 left out 11.1% of the work: do not compare its dollars" in " ".join(
        "".join(capsys.readouterr()).split()
    )
