"""About a second of arithmetic and of copying memory on every core of a machine: how much it gives, as JSON.

The same loops everywhere, and no program that may be installed on one machine and not on another: what they count is
compared between machines.
"""

from __future__ import annotations

import json
import os
import sys
import time

CPU_SECONDS, MEMORY_SECONDS = 0.6, 0.4  # ours: what a launch may be held up by
_BLOCK = 16 << 20  # ours: beyond what a core has of the caches
_SLICE = 1 << 20


def cpu(until: float) -> int:
    """Rounds of integer arithmetic until a moment of the steady clock."""
    value, rounds = 1, 0
    while time.monotonic() < until:
        for _ in range(2000):
            value = (value * 1_103_515_245 + 12_345) & 0x7FFFFFFF
        rounds += 1
    return rounds


def memory(until: float) -> int:
    """Slices copied between two blocks until a moment of the steady clock."""
    source, target = memoryview(bytearray(os.urandom(_SLICE)) * (_BLOCK // _SLICE)), memoryview(bytearray(_BLOCK))
    slices = 0
    while time.monotonic() < until:
        at = slices * _SLICE % _BLOCK
        target[at : at + _SLICE] = source[at : at + _SLICE]
        slices += 1
    return slices


def on_all(cores: int) -> list[float]:
    """Rounds and slices a second, of so many processes at once."""
    ends = []
    for _ in range(cores):
        reads, writes = os.pipe()
        if not os.fork():
            began = time.monotonic()
            rounds = cpu(began + CPU_SECONDS) / CPU_SECONDS
            slices = memory(time.monotonic() + MEMORY_SECONDS) / MEMORY_SECONDS
            os.write(writes, json.dumps([rounds, slices]).encode())
            os._exit(0)
        os.close(writes)
        ends.append(reads)
    told = []
    for reads in ends:
        with os.fdopen(reads, "rb") as file:
            told.append(json.loads(file.read()))
        os.wait()
    return [sum(part[kind] for part in told) for kind in (0, 1)]


def main(cores: int = 0) -> None:
    """Measure on so many cores, or on all that this process may use."""
    used = cores or len(os.sched_getaffinity(0))
    json.dump({"cores": used, "rates": on_all(used)}, sys.stdout)
