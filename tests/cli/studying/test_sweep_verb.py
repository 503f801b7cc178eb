"""``hcloud sweep``: the same bytes however it is spread and whatever happened to it on the way."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import pytest
from waiting import PATIENCE, until

from hcloud.cli.main import run
from hcloud.errors import HcloudError, InputError
from hcloud.installation import install_command
from hcloud.sim.outcomes.interval import Interval
from hcloud.sim.outcomes.measure import Measures, measure
from hcloud.sim.run import RunOutcome
from hcloud.store.sweep_rows import ROWS, open_rows
from hcloud.usecases import extras
from hcloud.usecases.studies.sweep_engines import in_processes

JOBS = 60
NOW = "2026-11-20T12:00:00Z"
VARY = ("--vary", "limits.hard=0.7,0.85", "--vary", "price_ratio=1,2.74", "--strategy", "HM,HF", "--seeds", "2")
MANY = ("--vary", "limits.hard=0.70,0.75,0.8,0.85,0.9", "--vary", "retention.factor=0,5,10,20", "--strategy", "HM")


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A small trace."""
    path = tmp_path / "jobs.csv"
    kinds = ("service", "batch", "batch", "batch")
    rows = [f"{i * 7},{60 + i % 11 * 20},{1 + i % 4},{2 + i % 3},{kinds[i % 4]}" for i in range(JOBS)]
    path.write_text("submit,duration,cores,memory,kind\n" + "\n".join(rows) + "\n")
    return path


def swept(trace: Path, *options: str) -> list[str]:
    return ["sweep", str(trace), "--provider", "gcp", "--family", "n1-standard*", "--now", NOW, *options]


def in_process_of_its_own(arguments: list[str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-X", "faulthandler", "-m", "hcloud", *arguments]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ, start_new_session=True
    )


def last_words(process: subprocess.Popen[bytes]) -> bytes:
    """What it said until it ended by itself; one that does not end shows where it stands."""
    try:
        return process.communicate(timeout=PATIENCE)[1]
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)
        raise AssertionError(process.communicate()[1].decode()) from None


def output_of(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert run(arguments) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def test_M1_one_worker_two_workers_and_a_killed_sweep_give_the_same_bytes(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is killed leaves some rows and a part of the next one."""
    printed, kept, tables = set(), set(), set()
    for name, options in {"one": ("--workers", "1"), "two": ("--workers", "2")}.items():
        files = ("--out", str(tmp_path / name), "--csv", str(tmp_path / f"{name}.csv"))
        assert run(swept(trace, *VARY, *files, *options, "-o", "json")) == 0
        captured = capsys.readouterr()
        printed.add(captured.out)
        kept.add((tmp_path / name / ROWS).read_bytes())
        tables.add((tmp_path / f"{name}.csv").read_bytes())
        if name == "one":
            rows = (tmp_path / name / ROWS).read_bytes().splitlines(keepends=True)
            (tmp_path / "two").mkdir()
            (tmp_path / "two" / ROWS).write_bytes(b"".join([*rows[:3], rows[3][:40]]))
    assert "3 rows found" in captured.err
    assert (len(printed), len(kept), len(tables)) == (1, 1, 1)
    assert len(kept.pop().splitlines()) == 2 * 2 * 2 * 2
    document = json.loads(printed.pop())
    assert [(r["strategy"], *r["changes"].values()) for r in document["rows"]] == [
        (s, h, p) for s in ("HM", "HF") for h in ("0.7", "0.85") for p in ("1", "2.74")
    ]


@pytest.mark.filterwarnings("ignore")  # what a cluster warns about on its way up and down is not ours
def test_a_dask_cluster_gives_the_same_bytes(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    distributed = pytest.importorskip("distributed")
    here = output_of(swept(trace, *VARY, "--workers", "1", "--out", str(tmp_path / "here")), capsys)
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "protocol": "tcp", "host": "127.0.0.1"}
    with distributed.LocalCluster(dashboard_address=None, **options) as cluster:
        there = ("--engine", "dask", "--scheduler", cluster.scheduler_address, "--out", str(tmp_path / "there"))
        assert output_of(swept(trace, *VARY, *there), capsys) == here
    assert (tmp_path / "there" / ROWS).read_bytes() == (tmp_path / "here" / ROWS).read_bytes()


def test_without_dask_its_install_command_is_named(
    trace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(extras, "version_of", lambda name: None)
    assert run(swept(trace, *VARY, "--engine", "dask")) == 1
    assert install_command("dask") in " ".join(capsys.readouterr().err.split())


def wait_for_rows(process: subprocess.Popen[bytes], folder: Path, most: int) -> None:
    """Until some rows are there and others are not."""
    begin = time.monotonic()
    while not rows_in(folder):
        assert process.poll() is None, process.communicate()[1].decode()
        assert time.monotonic() - begin < PATIENCE
        time.sleep(0.002)
    assert rows_in(folder) < most


def left_by_orphans(group: int) -> None:
    """Waits until no worker of a killed sweep is left."""

    def are_gone() -> bool:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        return False

    until(are_gone, "workers outlive a killed sweep")


@pytest.mark.parametrize("ended_by", [signal.SIGINT, signal.SIGKILL])
def test_M6_what_ends_a_sweep_leaves_whole_rows(trace: Path, tmp_path: Path, ended_by: signal.Signals) -> None:
    """Ctrl-C reaches all its processes, a kill the verb alone."""
    out = tmp_path / "out"
    process = in_process_of_its_own(swept(trace, *MANY, "--seeds", "20", "--out", str(out), "--workers", "2"))
    wait_for_rows(process, out, 400)
    if ended_by == signal.SIGINT:
        os.killpg(process.pid, ended_by)
    else:
        process.kill()
    said = last_words(process)
    assert process.returncode == (130 if ended_by == signal.SIGINT else -ended_by)
    assert b"Traceback" not in said
    assert b"leaked" not in said or ended_by == signal.SIGKILL
    left_by_orphans(process.pid)
    with open_rows(out, inputs_of(out)) as file:
        assert 0 < len(file.found) < 400


@dataclass(frozen=True)
class Numbers:
    """A bench whose rows are its batches, larger than what a pipe holds."""

    jobs: bytes = bytes(1 << 20)

    def rows(self, batch: Any) -> Any:
        return (batch,)


def test_ctrl_c_is_told_between_two_answers_and_not_within_the_pool() -> None:
    handed_out, ready = list[int](), list[bool]()
    started = multiprocessing.active_children if sys.platform == "linux" else list[Any]

    def batches() -> Iterator[Any]:
        for number in range(100):
            signal.raise_signal(signal.SIGINT)
            handed_out.append(number)
            ready.extend("numpy" in Path(f"/proc/{one.pid}/maps").read_text() for one in started())
            yield number

    with pytest.raises(KeyboardInterrupt):
        list(in_processes(cast("Any", Numbers()), batches(), 1))
    assert handed_out == [0, 1, 2, 3]
    assert not any(ready[:1]), "the first worker was waited for, and meanwhile Ctrl-C unheard"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.skipif(sys.platform != "linux", reason="looks for the worker in /proc")
def test_ctrl_c_while_a_worker_starts_is_heard_by_the_verb_alone(trace: Path) -> None:
    process = in_process_of_its_own(swept(trace, *MANY, "--seeds", "20", "--workers", "2"))
    begin = time.monotonic()
    while not is_worker_of(process.pid):
        assert process.poll() is None, process.communicate()[1].decode()
        assert time.monotonic() - begin < PATIENCE
        time.sleep(0.002)
    time.sleep(0.3)  # its interpreter is up, and imports what it needs
    os.killpg(process.pid, signal.SIGINT)
    said = last_words(process)
    assert process.returncode == 130
    assert b"Traceback" not in said
    left_by_orphans(process.pid)


def is_worker_of(parent: int) -> bool:
    """Whether a worker of that process has begun."""
    born = " ".join(p.read_text() for p in Path(f"/proc/{parent}/task").glob("*/children")).split()
    return any(b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes() for child in born)


def inputs_of(folder: Path) -> str:
    return str(json.loads((folder / ROWS).read_bytes().splitlines()[0])["inputs"])


def test_a_wider_grid_takes_over_the_rows_of_a_narrower_one(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ("--strategy", "HM", "--workers", "1", "--out", str(tmp_path / "out"))
    output_of(swept(trace, "--vary", "limits.hard=0.7,0.8", *out), capsys)
    assert run(swept(trace, "--vary", "limits.hard=0.8,0.9,0.7", *out)) == 0
    captured = capsys.readouterr()
    assert "2 rows found" in captured.err
    assert captured.out == output_of(swept(trace, "--vary", "limits.hard=0.8,0.9,0.7", *out[:4]), capsys)


def test_rows_of_other_inputs_are_refused(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = ("--strategy", "HM", "--vary", "limits.hard=0.8", "--workers", "1", "--out", str(tmp_path / "out"))
    output_of(swept(trace, *out), capsys)
    trace.write_text(trace.read_text().replace("\n7,80,", "\n7,81,"))
    assert run(swept(trace, *out)) == 1
    assert "comes from other inputs" in capsys.readouterr().err


def test_damage_elsewhere_than_at_the_end_is_an_error(tmp_path: Path) -> None:
    (tmp_path / ROWS).write_bytes(b'{"format_version": "1.0"\n{}\n')
    with pytest.raises(InputError, match="not a row of a sweep"), open_rows(tmp_path, "-"):
        pass


def test_two_sweeps_do_not_share_a_folder(tmp_path: Path) -> None:
    with open_rows(tmp_path, "-"), pytest.raises(HcloudError, match="another sweep"), open_rows(tmp_path, "-"):
        pass


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--vary", "limits.hrad=1"), "did you mean limits.hard?"),
        ((), "nothing to vary"),
        (("--vary", "limits.hard=0.5,0.9", "--strategy", "SR"), "SR follows limits.rule=none"),
        (("--vary", "strategy=HX,HM", "--vary", "pool=1"), "did you mean HM?"),
        (("--vary", "limits.hard=0.1", "--strategy", "HM"), "must lie from soft_floor"),
        (("--vary", "strategy=HF,HM", "-s", "HC"), "--strategy and --vary strategy=... say the same"),
        (("--vary", "seed=1,2", "--seeds", "3"), "--seeds and --vary seed=... say the same"),
        (("--vary", "seed=1,2", "--seed", "3"), "--seed and --vary seed=... say the same"),
        (("--vary", "pool=1000000"), "100000"),
        (("--vary", "pool=3", "--scheduler", "tcp://127.0.0.1:1"), "--scheduler goes with --engine dask"),
        (("--vary", "pool=3", "--picture", "a.gif"), "the file name must end in"),
    ],
)
def test_what_cannot_be_swept_is_refused_before_anything_runs(
    trace: Path, options: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(swept(trace, *options)) == 64
    captured = capsys.readouterr()
    assert said in captured.err
    assert not captured.out


def test_a_pool_is_only_varied_for_those_that_reserve(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(swept(trace, "--vary", "pool=1,2", "--workers", "1")) == 0
    captured = capsys.readouterr()
    assert "OdF is left out: OdF reserves nothing" in captured.err
    assert "OdM" not in captured.out
    assert "reserved, cloud measured-gcp" in captured.out


def test_strategies_without_the_rule_are_left_out_with_a_note(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(swept(trace, "--vary", "limits.hard=0.8", "--workers", "1")) == 0
    captured = capsys.readouterr()
    assert "SR is left out" in captured.err
    assert [line.split()[0] for line in captured.out.splitlines() if "0.8" in line[:20]] == ["HF", "HM"]


def test_a_trace_is_read_as_its_columns_are_called(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And as every verb that simulates reads it; such a trace could only be swept with hcloud.yaml."""
    vary = ("--vary", "price_ratio=1,2.74", "--strategy", "HM", "-o", "csv")
    known = output_of(swept(trace, *vary, "--window", "0..300", "--divisible", "all"), capsys)
    trace.write_text(
        trace.read_text().replace("submit,duration,cores,memory", "queued_at;takes;ncpu;ram", 1).replace(",", ";")
    )
    columns = ("--columns", "submit=queued_at,duration=takes,cores=ncpu,memory=ram")
    assert output_of(swept(trace, *vary, *columns, "--window", "0..300", "--divisible", "all"), capsys) == known
    assert known != output_of(swept(trace, *vary, *columns, "--divisible", "all"), capsys)


def test_prices_are_looked_at_without_another_run(
    trace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from hcloud.usecases.studies import sweep_engines

    runs = list[Measures]()

    def counted(outcome: RunOutcome) -> Measures:
        runs.append(measure(outcome))
        return runs[-1]

    monkeypatch.setattr(sweep_engines, "measure", counted)
    prices = ("--vary", "price_ratio=1,2,4", "--vary", "pricing=aws,gce,azure", "--vary", "duration_weeks=1,60")
    document = json.loads(output_of(swept(trace, *prices, "--strategy", "HM", "--workers", "1", "--json"), capsys))
    assert (len(runs), len(document["rows"])) == (1, 18)
    assert len({json.dumps(r["figures"]["performance_mean"]) for r in document["rows"]}) == 1
    dollars = {tuple(r["changes"].values()): Decimal(r["figures"]["dollars"]["mean"]) for r in document["rows"]}
    assert dollars["1", "aws", "1"] > dollars["2", "aws", "1"] > dollars["4", "aws", "1"]
    assert dollars["1", "azure", "1"] == dollars["4", "azure", "1"] > dollars["4", "gce", "1"]


@pytest.mark.parametrize("suffix", ["png", "svg", "html"])
def test_a_sweep_is_drawn(trace: Path, tmp_path: Path, suffix: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / f"sweep.{suffix}"
    axes = ("--vary", "mapping=P1,P8", "--vary", "price_ratio=0.1,100", "--vary", "pool=1,2")
    assert run(swept(trace, *axes, "--strategy", "HM", "--seeds", "2", "--workers", "1", "--picture", str(path))) == 0
    assert path.stat().st_size > 5000
    if suffix == "html":
        assert "gcp us-central1, n1-standard-16 reserved, cloud measured-gcp." in path.read_text()


def test_intervals_are_students() -> None:
    interval = Interval.of([1.0, 2.0, 3.0])
    assert (interval.mean, round(interval.half, 3)) == (2.0, 2.484)
    assert interval.is_cut()
    assert interval.ends(3.0) == (0.0, 3.0), "a figure that is never below 0, and at most 3"
    assert not Interval.of([1.9, 2.0, 2.1]).is_cut(3.0)
    assert Interval(99.96, 0.08).is_cut(100.0)
    assert not Interval(99.96, 0.04).is_cut(100.0, 1), "100.0 ±0.0 reaches nowhere"
    assert Interval(99.96, 0.08).is_cut(100.0, 1), "100.0 ±0.1 does"
    assert Interval(0.98, math.nan).ends(1.0) == (0.98, 0.98)
    alone = Interval.of([7.0])
    assert alone.mean == 7.0
    assert math.isnan(alone.half)


@pytest.mark.skipif(sys.platform != "linux", reason="ends one of the verb's own processes by its number")
def test_a_worker_that_dies_is_reported_and_rows_are_kept(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The verb runs here, so that only its workers are started anew."""
    found: list[int] = []

    def end_one() -> None:
        until(lambda: rows_in(tmp_path) > 0, "the sweep writes no row")
        found.append(rows_in(tmp_path))
        multiprocessing.active_children()[0].kill()

    ending = threading.Thread(target=end_one)
    ending.start()
    code = run(swept(trace, *MANY, "--seeds", "60", "--out", str(tmp_path), "--workers", "2"))
    ending.join()
    assert (code, found[0] < 1200) == (1, True)
    assert "a worker process ended unexpectedly" in capsys.readouterr().err
    assert found[0] <= rows_in(tmp_path) < 1200
    assert multiprocessing.active_children() == []


def rows_in(folder: Path) -> int:
    """How many rows are whole."""
    return (folder / ROWS).read_bytes().count(b"\n") if (folder / ROWS).is_file() else 0
