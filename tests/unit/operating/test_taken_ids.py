"""What is kept of work that goes on for months: the ids of its jobs, exactly and in little room, and not much else."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zlib import crc32

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from operating import World, job, setup_of
from rich.console import Console

from hcloud.cli.groups import ToldAt
from hcloud.cli.live.operating import work
from hcloud.control.operating.fold import Fold
from hcloud.control.operating.job_ids import JobIds
from hcloud.control.operating.records import FoldImage
from hcloud.errors import InputError
from hcloud.model.checked import form_of
from hcloud.model.running.job import ServiceTarget, TargetKind
from hcloud.model.running.note import JobTaken, PassNoted
from hcloud.model.workload import JobKind
from hcloud.readers.configuration.config import load_config
from hcloud.store.journals.journal import checksum, entry_line, read_journal
from hcloud.store.journals.live import read_whole, segment
from hcloud.usecases.live.operating.operate import OpenedWork
from hcloud.views.console import Terminal
from hcloud.views.live.operating import outcome_lines, unlucky_beyond
from hcloud.views.tables import Figures

_IDS = st.text("07a-²٣", max_size=4)


@given(st.sets(_IDS), st.sets(_IDS))
def test_exactly_what_was_added_is_known(added: set[str], asked: set[str]) -> None:
    known = JobIds()
    for name in added:
        known.add(name)
    found = form_of(JobIds).validate_json(form_of(JobIds).dump_json(known.image()))
    assert all((name in found) == (name in added) for name in asked | added)
    assert bool(found) == bool(added)


def test_numbered_jobs_take_less_than_a_byte_each() -> None:
    fold = Fold(setup_of("HM", 1))
    for number in range(20_000):
        fold.known.add(f"job-{number}")
    image = form_of(FoldImage).dump_json(fold.image())
    assert len(image) < 20_000
    assert f"job-{number}" in Fold.of_image(setup_of("HM", 1), form_of(FoldImage).validate_json(image)).known


def test_one_that_is_over_is_known_when_its_record_is_forgotten() -> None:
    fold = Fold(setup_of("HM", 1))
    fold.take([JobTaken(1.0, job("web-7"))])
    fold.active.clear()
    fold.forget()
    assert "web-7" not in fold.jobs
    assert "web-7" in fold.known
    assert "web-07" not in fold.known


def test_jobs_that_failed_are_named_at_the_end_however_often_the_journal_began_anew(tmp_path: Path) -> None:
    """And nothing is kept of what a screen showed."""
    world = World.of(tmp_path / "journal.jsonl", [job(f"j{n:02}", seconds=9.0, submit=20.0 * n) for n in range(20)])
    world.long, world.engine.codes = 4_000, {f"j{n:02}": 7 for n in range(15)}
    with contextlib.closing(world):
        loop = world.run()
        assert "j00" not in loop.fold.jobs
        told = [line for line in outcome_lines(loop.fold, world.now) if isinstance(line, Figures)]
        assert [row[:2] for row in told[0].rows] == [(f"j{n:02}", "failed") for n in range(3, 15)]
        assert "exit code 7" in told[0].rows[0][2]
        said, command = unlucky_beyond(loop.fold, tmp_path)
        assert said.startswith("12 of 15 jobs that failed, were lost or refused are named above")
        listed = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True).stdout
        assert sorted(re.findall(r'"job":"(j\d+)"', listed)) == [f"j{n:02}" for n in range(15)]
        assert Fold.of_image(world.setup, loop.fold.image()).results.unlucky == loop.fold.results.unlucky
        assert not vars(loop)["_expected"], "what came is known by the journal alone"
        assert len(loop.desk.made) == 20
        loop.forget_told()
        assert (loop.desk.made, loop.desk.failed) == ([], [])


def test_work_is_read_from_its_beginning_where_older_files_were_deleted(tmp_path: Path) -> None:
    """A part took the number of the deleted file, and was left out: parts are read by their numbers."""
    older, output = tmp_path / "journal.1.jsonl", tmp_path / "output.7"
    older.touch()
    orders = [job(f"j{n:02}", seconds=9.0, submit=20.0 * n) for n in range(9)]
    world = World.of(tmp_path / "journal.jsonl", orders)
    world.long = 4_000
    with contextlib.closing(world):
        world.run(until=lambda loop: (tmp_path / "journal.2.jsonl").exists())
        older.unlink()
        world.run()
    taken = [line.order.id for line in read_whole(world.path).lines if isinstance(line, JobTaken)]
    assert taken == [order.id for order in orders]
    output.mkdir()
    assert segment(world.path).name == "journal.8.jsonl", "the output of finished work is renamed by the same number"


def test_a_screen_keeps_nothing_of_what_it_showed(tmp_path: Path) -> None:
    """Of a month that were all decisions."""
    world = World.of(tmp_path / "journal.jsonl", [job("a", seconds=9.0), job("b", seconds=9.0)])
    world.engine.codes = {"b": 7}
    console = Console(file=io.StringIO(), force_terminal=True, width=200)
    here: Any = SimpleNamespace(stops=[], is_local=True, loaded=load_config(None))
    with contextlib.closing(world):
        operation = OpenedWork(world.start(), tmp_path, world.origin, goes_on=True)
        with pytest.raises(typer.Exit):  # as one failed
            work(here, operation, Terminal(console, console), ToldAt())
        desk = operation.loop.desk
        assert operation.loop.fold.results.counted == {"completed": 1, "failed": 1}
        assert (desk.made, desk.failed) == ([], [])


def test_what_hindered_a_service_is_no_trouble_any_more_when_it_is_over(tmp_path: Path) -> None:
    target = ServiceTarget(TargetKind.COMMAND, "latency", 100.0)
    world = World.of(tmp_path / "j", [job("web", seconds=60.0, kind=JobKind.SERVICE, target=target)], "HF")

    def measure(_target: ServiceTarget) -> float:
        raise InputError("latency: exit code 1")

    world.measure = measure
    with contextlib.closing(world):
        world.run(until=lambda loop: "latency of web" in loop.desk.troubles)
        assert world.run().desk.troubles == {}


def test_a_snapshot_of_another_version_is_told_as_such(tmp_path: Path) -> None:
    world = World.of(tmp_path / "journal.jsonl", [job(f"j{n}", seconds=9.0) for n in range(9)])
    world.long = 4_000
    with contextlib.closing(world):
        world.run()
    journal = world.path.read_text()
    taken = next(path for path in tmp_path.glob("snapshot.*.json") if f'"{path.name}"' in journal)
    session, fold = taken.read_bytes().splitlines()
    other = session + b"\n" + re.sub(rb'"known":\{[^}]*\}\}', b'"known":["a"]', fold) + b"\n"
    head = "".join(journal.splitlines(keepends=True)[:2])
    head = head.replace(sha256(taken.read_bytes()).hexdigest(), sha256(other).hexdigest())
    world.path.write_text(head + entry_line(PassNoted(world.now, checksum(crc32(head.encode())))))
    taken.write_bytes(other)
    with pytest.raises(InputError, match="is not as this version of hcloud writes it"):
        read_journal(world.path)
