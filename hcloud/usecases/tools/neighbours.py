"""Neighbours that press on this machine while a step of the demo runs: real processes that compute and copy."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

A_CORE = 8
"""Ours: processes on each core. With as many, a machine that is measured beside them got a quarter to two fifths."""
_PROGRAM = """
import os, sys
parent = os.getpid()
for _ in range(int(sys.argv[1])):
    if not os.fork():
        os.setsid()  # Linux may share cores between sessions, not processes
        source, target = bytearray(1 << 22), bytearray(1 << 22)
        while os.getppid() == parent:
            target[:] = source
            for _ in range(20000):
                pass
        os._exit(0)
sys.stdin.read()
"""


@contextmanager
def pressing() -> Iterator[None]:
    """Neighbours on all cores; they end with the context, and also where this process is killed."""
    count = A_CORE * len(os.sched_getaffinity(0))
    words = [sys.executable, "-I", "-S", "-c", _PROGRAM, str(count)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as found:
        try:
            yield
        finally:
            found.kill()  # its children see that it is gone
