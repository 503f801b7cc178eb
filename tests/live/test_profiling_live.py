"""Real pressure on real programs: what holds on any machine, and only the directions that a limit makes sure of."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from hcloud.cli import main
from hcloud.model.measured.app import MachineShare
from hcloud.model.measured.profile import Aspect, Measured, Profile
from hcloud.profiling import place, selfcheck
from hcloud.profiling.arena import Arena
from hcloud.profiling.cage import this_machine
from hcloud.profiling.guard import Guard
from hcloud.profiling.injectors import Injector, Stressor, stressors
from hcloud.readers.applications.profiles import load_profile

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="profile run needs Linux")

MOST_TRIES = 10
TAKEN_SHARE = 0.1
"""Of a core: where other programs take more, a stressor there is not expected to follow its dial."""
STREAM = """
data = bytes(32 << 20)
for _ in range(9):
    bytearray(data)
"""
HOLDER = """
held = bytearray({size})
for _ in range(9):
    held[:: 4096] = bytes(len(range(0, len(held), 4096)))
print(sum(range(4_000_000)))
"""


@pytest.fixture
def arena() -> Iterator[Arena]:
    with Guard() as guard:
        yield Arena.open(guard, place.own_cores(), MachineShare(1.0), this_machine())


def profiled(tmp_path: Path, *words: str) -> Profile:
    out = tmp_path / "p.yaml"
    out.unlink(missing_ok=True)
    assert main.run(["profile", "run", "--out", str(out), *words]) == 0
    return load_profile(out)


def test_the_dial_turns_the_stressor_about_linearly(arena: Arena) -> None:
    if not arena.layout.apart:
        pytest.skip("needs a second core")
    injector = arena.injector(Stressor("cpu", "built-in"), arena.layout.apart)
    tried: list[tuple[float, ...]] = []
    taken: list[float] = []
    while len(tried) < MOST_TRIES and not any(map(is_straight, tried)):
        with others_on(arena.layout.apart, injector) as found:
            tried.append(selfcheck.dial(injector))
        taken += found
    injector.close()
    assert any(map(is_straight, tried)) or min(taken) > TAKEN_SHARE, (tried, taken)


def is_straight(rates: Sequence[float]) -> bool:
    near = all(abs(x / 100 - y) < 0.2 for x, y in zip(selfcheck.DIAL, rates, strict=True))
    return near and list(rates) == sorted(rates)


@contextmanager
def others_on(cores: Sequence[int], injector: Injector) -> Iterator[list[float]]:
    """The share of the cores that other programs took meanwhile: such bend what is straight."""
    found: list[float] = []
    begun, busy, own = time.monotonic(), busy_seconds(cores), injector.work().cpu_seconds
    yield found
    ours = (injector.work().cpu_seconds or 0.0) - (own or 0.0)
    found.append((busy_seconds(cores) - busy - ours) / (time.monotonic() - begun) / len(cores))


def busy_seconds(cores: Sequence[int]) -> float:
    """What the kernel says that these cores have worked: all but the fourth and the fifth column, idle and waiting."""
    rows = [line.split() for line in Path("/proc/stat").read_text().splitlines() if line.startswith("cpu")]
    worked = {row[0]: [int(c) for c in row[1:9]] for row in rows}
    ticks = sum(sum(worked[f"cpu{core}"]) - sum(worked[f"cpu{core}"][3:5]) for core in cores)
    return ticks / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("resource", ["l1d", "membw", "tlb"])
def test_every_stressor_of_a_resource_runs_and_counts(arena: Arena, resource: str) -> None:
    if not shutil.which("stress-ng"):
        pytest.skip("stress-ng is not installed")
    cores = arena.layout.apart or arena.layout.app
    found = stressors(resource)
    assert {s.program for s in found} == {"built-in", "stress-ng"}
    for stressor in found:
        injector = arena.injector(stressor, cores)
        injector.turn(100.0)
        before = injector.work()
        used = selfcheck.watched(injector, seconds=0.4) if injector.counts else None
        after = injector.work()
        assert not injector.broken
        injector.close()
        assert used is None or used > 0
        if used is None and before.cpu_seconds is not None and after.cpu_seconds is not None:
            selfcheck.watched(injector, seconds=0.0)
        assert before.cpu_seconds is None or before.cpu_seconds > 0


@pytest.mark.long
def test_a_streaming_program_has_a_score_or_a_reason(tmp_path: Path) -> None:
    found = profiled(tmp_path, "--resources", "membw", "--time-cap", "4s", "--", sys.executable, "-c", STREAM)
    tolerated = found.entries.get(Aspect.TOLERATED, {})
    assert len(found.entries[Aspect.SCALE_UP]) >= 1
    if "membw" in tolerated:
        score = tolerated["membw"]
        assert 0 <= score.low <= score.value <= score.high <= 100
    else:
        assert "membw" in found.unmeasurable or any(n.startswith("membw: no") for n in found.notes)


@pytest.mark.long
def test_no_interval_says_that_who_holds_more_memory_bears_more_pressure_or_causes_less(tmp_path: Path) -> None:
    if not this_machine().has("memory"):
        pytest.skip("no control group for memory can be made here")
    # neither fits beside a full stressor
    larger, smaller = (holding(size, tmp_path) for size in (400 << 20, 200 << 20))
    large, small = (score_or_reason(found, Aspect.TOLERATED) for found in (larger, smaller))
    assert large is None or large.low <= 50
    assert large is None or small is None or large.low < small.high
    large, small = (score_or_reason(found, Aspect.CAUSED) for found in (larger, smaller))
    assert large is None or small is None or small.low < large.high


def score_or_reason(found: Profile, aspect: Aspect) -> Measured | None:
    """The score for memory; on a machine that was too restless to tell, none, and the profile says so."""
    score = found.entries.get(aspect, {}).get("memcap")
    told = "memcap" in found.unmeasurable or any(n.startswith("memcap: no") for n in found.notes)
    assert score is not None or told
    return score


def holding(size: int, tmp_path: Path) -> Profile:
    words = ("--resources", "memcap", "--memory-gib", "0.5", "--time-cap", "5s")
    return profiled(tmp_path, *words, "--", sys.executable, "-c", HOLDER.format(size=size))


def test_redis_is_measured_under_load(tmp_path: Path) -> None:
    if not (shutil.which("redis-server") and shutil.which("redis-benchmark")):
        pytest.skip("redis is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    app = tmp_path / "redis.yaml"
    app.write_text(
        f"""
name: redis
kind: service
command: [redis-server, --port, "{port}", --save, "", --bind, 127.0.0.1]
ready: {{port: {port}}}
warm_up: 1s
metric:
  load: [redis-benchmark, -p, "{port}", -t, get, -n, "4000", -c, "10", --csv]
  pattern: '"GET",(?:"[0-9.]+",){{5}}"([0-9.]+)"'
  name: p99 latency
  unit: ms
  better: lower
"""
    )
    found = profiled(tmp_path, "-f", str(app), "--resources", "none", "--time-cap", "6s")
    assert not found.metric.rising
    assert all(0 < entry.value < 1000 for entry in found.entries[Aspect.SCALE_UP].values())
    with socket.socket() as client:
        assert client.connect_ex(("127.0.0.1", port)) != 0  # it is gone


def test_our_own_load_measures_a_web_server(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (tmp_path / "index.html").write_text("hello")
    words = ("--kind", "service", "--url", f"http://127.0.0.1:{port}/", "--resources", "none", "--time-cap", "4s")
    serve = ("-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", str(tmp_path))
    found = profiled(tmp_path, *words, "--", sys.executable, *serve)
    assert found.metric.name == "p99 latency"
    assert all(0 < entry.value < 1000 for entry in found.entries[Aspect.SCALE_UP].values())
