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


def cpu(seconds: float) -> float:
    """Rounds of integer arithmetic a second, over about so many seconds of the steady clock; one round at least, so
    that a machine that gives next to nothing is found slow."""
    value, rounds = 1, 0
    began = time.monotonic()
    while (passed := time.monotonic() - began) < seconds or not rounds:
        for _ in range(2000):
            value = (value * 1_103_515_245 + 12_345) & 0x7FFFFFFF
        rounds += 1
    return rounds / passed


def memory(seconds: float) -> float:
    """Slices a second that are copied between two blocks, over about so many seconds of the steady clock; one at
    least."""
    source, target = memoryview(bytearray(os.urandom(_SLICE)) * (_BLOCK // _SLICE)), memoryview(bytearray(_BLOCK))
    slices = 0
    began = time.monotonic()
    while (passed := time.monotonic() - began) < seconds or not slices:
        at = slices * _SLICE % _BLOCK
        target[at : at + _SLICE] = source[at : at + _SLICE]
        slices += 1
    return slices / passed


def on_all(cores: int) -> list[float]:
    """Rounds and slices a second, of so many processes at once."""
    ends = []
    for _ in range(cores):
        reads, writes = os.pipe()
        if not os.fork():
            os.write(writes, json.dumps([cpu(CPU_SECONDS), memory(MEMORY_SECONDS)]).encode())
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
