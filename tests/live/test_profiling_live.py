"""Real pressure on real programs: what holds on any machine, and only the directions that a limit makes sure of."""

from __future__ import annotations

import shutil
import socket
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from hcloud.cli import main
from hcloud.model.measured.app import MachineShare
from hcloud.model.measured.profile import Aspect, Measured, Profile
from hcloud.profiling import place, selfcheck
from hcloud.profiling.arena import Arena
from hcloud.profiling.cage import this_machine
from hcloud.profiling.guard import Guard
from hcloud.profiling.injectors import Stressor, stressors
from hcloud.readers.applications.profiles import load_profile

pytestmark = [pytest.mark.alone, pytest.mark.skipif(sys.platform != "linux", reason="profile run needs Linux")]

MOST_TRIES = 10
STREAM = """
import numpy as np
a = np.ones(4 << 20); b = np.ones(4 << 20)
for _ in range(12):
    np.multiply(a, 3.0, out=b)
"""
HOLDER = """
held = bytearray({size})
for _ in range(9):
    held[:: 4096] = bytes(len(range(0, len(held), 4096)))
print(sum(range(9_000_000)))
"""


@pytest.fixture
def arena() -> Iterator[Arena]:
    with Guard() as guard:
        yield Arena.open(guard, place.own_cores(), MachineShare(1.0), this_machine())


def profiled(tmp_path: Path, *words: str) -> Profile:
    out = tmp_path / "p.yaml"
    assert main.run(["profile", "run", "--out", str(out), *words]) == 0
    return load_profile(out)


def test_the_dial_turns_the_stressor_about_linearly(arena: Arena) -> None:
    if not arena.layout.apart:
        pytest.skip("needs a second core")
    injector = arena.injector(Stressor("cpu", "built-in"), arena.layout.apart)
    tried: list[tuple[float, ...]] = []
    while len(tried) < MOST_TRIES and not any(map(is_straight, tried)):  # other work of the machine only bends it
        tried.append(selfcheck.dial(injector))
    injector.close()
    assert any(map(is_straight, tried)), tried


def is_straight(rates: Sequence[float]) -> bool:
    near = all(abs(x / 100 - y) < 0.2 for x, y in zip(selfcheck.DIAL, rates, strict=True))
    return near and list(rates) == sorted(rates)


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


def test_a_streaming_program_has_a_score_or_a_reason(tmp_path: Path) -> None:
    found = profiled(tmp_path, "--resources", "membw", "--time-cap", "14s", "--", sys.executable, "-c", STREAM)
    tolerated = found.entries.get(Aspect.TOLERATED, {})
    assert len(found.entries[Aspect.SCALE_UP]) >= 1
    if "membw" in tolerated:
        score = tolerated["membw"]
        assert 0 <= score.low <= score.value <= score.high <= 100
    else:
        assert "membw" in found.unmeasurable or any(n.startswith("membw: no") for n in found.notes)


def test_who_holds_more_memory_bears_less_pressure_on_it_and_causes_more(tmp_path: Path) -> None:
    if not this_machine().has("memory"):
        pytest.skip("no control group for memory can be made here")
    # neither fits beside a full stressor
    larger, smaller = (holding(size, tmp_path) for size in (400 << 20, 200 << 20))
    for aspect, sign in ((Aspect.TOLERATED, -1), (Aspect.CAUSED, 1)):
        large, small = (score_or_reason(found, aspect) for found in (larger, smaller))
        if large is not None and small is not None:
            assert (large.value - small.value) * sign > 0
        assert aspect is Aspect.CAUSED or large is None or large.high <= 50


def score_or_reason(found: Profile, aspect: Aspect) -> Measured | None:
    """The score for memory; on a machine that was too restless to tell, none, and the profile says so."""
    score = found.entries.get(aspect, {}).get("memcap")
    told = "memcap" in found.unmeasurable or any(n.startswith("memcap: no") for n in found.notes)
    assert score is not None or told
    return score


def holding(size: int, tmp_path: Path) -> Profile:
    words = ("--resources", "memcap", "--memory-gib", "0.5", "--time-cap", "30s")
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
  load: [redis-benchmark, -p, "{port}", -t, get, -n, "20000", -c, "10", --csv]
  pattern: '"GET",(?:"[0-9.]+",){{5}}"([0-9.]+)"'
  name: p99 latency
  unit: ms
  better: lower
"""
    )
    found = profiled(tmp_path, "-f", str(app), "--resources", "none", "--time-cap", "30s")
    assert not found.metric.rising
    assert all(0 < entry.value < 1000 for entry in found.entries[Aspect.SCALE_UP].values())
    with socket.socket() as client:
        assert client.connect_ex(("127.0.0.1", port)) != 0  # it is gone


def test_our_own_load_measures_a_web_server(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (tmp_path / "index.html").write_text("hello")
    words = ("--kind", "service", "--url", f"http://127.0.0.1:{port}/", "--resources", "none", "--time-cap", "14s")
    serve = ("-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", str(tmp_path))
    found = profiled(tmp_path, *words, "--", sys.executable, *serve)
    assert found.metric.name == "p99 latency"
    assert all(0 < entry.value < 1000 for entry in found.entries[Aspect.SCALE_UP].values())
