"""What one measurement counts: the program's own time, and the number that it printed; and how a stressor starts."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from hcloud.model.measured.app import App, MachineShare
from hcloud.model.workload import JobKind
from hcloud.profiling import bench, place
from hcloud.profiling.arena import Arena
from hcloud.profiling.budget import OutOfTimeError, TimeBudget
from hcloud.profiling.cage import Cage, Hierarchy
from hcloud.profiling.injectors import Injector, Stressor, StressorContext
from hcloud.profiling.place import ProcessPlacement, TrialError
from hcloud.profiling.programs import launcher

SLOW = "import runpy, time\ntime.sleep({seconds})\nrunpy.run_path({path!r}, run_name='__main__')\n"


def test_what_the_launcher_takes_is_not_the_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """/bin/true took 0.12 s on a busy machine, all of it the start of an interpreter."""
    (tmp_path / "slow.py").write_text(SLOW.format(seconds=1.0, path=launcher.__file__))
    monkeypatch.setattr(launcher, "__file__", str(tmp_path / "slow.py"))
    guard = SimpleNamespace(folder=tmp_path, environment=dict(os.environ))
    app = App("true", JobKind.BATCH, ("true",))
    measured = bench.BatchBench(guard, app, ProcessPlacement())  # type: ignore[arg-type]
    assert measured.measure(20.0).figure < 1.0


def test_a_comma_is_no_decimal_point() -> None:
    """12,5 counted as 125 and 9,75 as 975: what was slower looked faster."""
    assert bench.last_number("rate 1,012.5", "rate (.+)", ("app",)) == 1012.5
    with pytest.raises(TrialError, match="printed '12,5'") as refused:
        bench.last_number("rate 12,5", "rate (.+)", ("app",))
    assert "decimal point" in refused.value.hint


class StillHeld:
    """A control group whose programs are ended and free their memory after some looks."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    def set_memory(self, amount: int | None) -> None:
        if self.looks:
            self.looks -= 1
            raise OSError(errno.EBUSY, "Device or resource busy")


def test_memory_is_limited_once_ended_programs_freed_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run over several resources ended with "device or resource busy" and lost all of it: a stressor that was killed
    still held 330 MiB when 192 MiB became the limit."""
    group = StillHeld(looks=2)
    there = Hierarchy(1, {"memory": Path("/")})
    arena = Arena(None, there, group, group, group, place.layout((0,), 1), MachineShare())  # type: ignore[arg-type]
    arena.limit_together(1 << 20)
    assert group.looks == 0
    monkeypatch.setattr("hcloud.profiling.arena._FREED_PATIENCE", 0.0)
    group.looks = 1 << 30
    with pytest.raises(TrialError, match="memory cannot be limited here"):
        arena.limit_together(1 << 20)


def test_the_start_of_a_stressor_ends_with_the_time_and_what_presses_goes_on(tmp_path: Path) -> None:
    """Memory was filled anew for each of many looks, each for up to 20 s whatever time was left: 54 s instead of 18."""
    counter = tmp_path / "counter"

    def new_file(content: bytes) -> Path:
        counter.write_bytes(content)
        return counter

    guard = SimpleNamespace(folder=tmp_path, environment=dict(os.environ), new_file=new_file)
    ground = StressorContext(Cage(Hierarchy(0), ""), ProcessPlacement(), footprint=1 << 20)
    held = Injector(guard, Stressor("memcap", "built-in"), ground)  # type: ignore[arg-type]
    try:
        held.turn(100.0)
        first = held._running[0]
        held.turn(100.0)
        assert (held._running[0], first.ended) == (first, False)
        held.ground = replace(ground, clock=TimeBudget.start(0.0, 60.0))
        with pytest.raises(OutOfTimeError, match="used up"):
            held.turn(50.0)
        assert (held._running, first.ended) == ([], True)
    finally:
        held.close()
