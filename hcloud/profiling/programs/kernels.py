"""Programs that use one shared resource each, run by path in a process of their own; they count what they do.

A kernel is a victim when nothing else runs and a stressor when it runs beside something. The count of work done stands
in a small mapped file, so that its rate can be read at any time without asking the process.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import mmap
import os
import re
import socket
import struct
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

MIB = 1 << 20
PAGE = 4096
PERIOD = 0.02  # ours: on and off within a period where a kernel keeps its own intensity
SLICE = 4 * MIB
STREAM_BYTES = 64 * MIB  # ours: beyond what a virtual machine is left of the last-level cache
LLC_BYTES = 16 * MIB
TLB_BYTES = 768 * MIB
L1_BYTES = 24 * 1024
FLOWS = 3
DISK_BLOCK = MIB
DISK_FILE = 64 * MIB
TOUCHED = 256  # pages of held memory touched a step
COUNTER_BYTES = 16

Step = Iterator[int]


class Counter:
    """Sixteen bytes in a file: how much was done since the start, and in how many nanoseconds without the rests."""

    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            self.shared = memoryview(mmap.mmap(file.fileno(), COUNTER_BYTES)).cast("q")
        self.count = self.busy = 0

    def add(self, more: int, busy: int) -> None:
        """Count more work as done; each number in one piece, as it is read meanwhile."""
        self.count, self.busy = self.count + more, self.busy + busy
        self.shared[0], self.shared[1] = self.count, self.busy


def cpu() -> Step:
    """Integer arithmetic in registers and nothing else."""
    value = 1
    while True:
        for _ in range(20_000):
            value = (value * 1_103_515_245 + 12_345) & 0x7FFFFFFF
        yield 1


def membw() -> Step:
    """Streams over two arrays far larger than the caches."""
    import numpy as np

    source = np.ones(STREAM_BYTES // 8)
    target = np.ones(STREAM_BYTES // 8)  # not zeros, whose pages would only be made on the first pass
    width = SLICE // 8
    while True:
        for at in range(0, len(source), width):
            np.multiply(source[at : at + width], 3.0, out=target[at : at + width])
            yield 1


def llc() -> Step:
    """Gathers at random from an array that the last-level cache holds and the second level does not."""
    import numpy as np

    data = np.ones(LLC_BYTES // 8)
    places = np.random.default_rng(1).permutation(len(data))
    width = 1 << 14
    found = np.empty(width)
    while True:
        for at in range(0, len(data), width):
            data.take(places[at : at + width], out=found, mode="clip")
            yield 1


def llcbw() -> Step:
    """Streams over an array that the last-level cache holds and the second level does not."""
    import numpy as np

    data = np.ones(LLC_BYTES // 8)
    width = MIB // 8
    while True:
        for at in range(0, len(data), width):
            data[at : at + width].sum()
            yield 1


def tlb() -> Step:
    """Touches one byte a page over many more pages than address translation holds."""
    import numpy as np

    data = np.ones(TLB_BYTES, dtype=np.uint8)
    width = 16 * MIB
    while True:
        for at in range(0, len(data), width):
            data[at : at + width : PAGE].sum()
            yield 1


def l1d() -> Step:
    """Reads an array that just fits the first-level data cache, over and over."""
    import numpy as np

    data = np.ones(L1_BYTES // 8)
    while True:
        for _ in range(50):
            data.sum()
        yield 1


def l1i() -> Step:
    """Goes round many different compiled routines, more code than the first-level instruction cache holds."""
    text = json.dumps({"rows": [[i, i * 0.5, f"name{i}"] for i in range(8)]})
    raw = text.encode()
    pattern = re.compile(r'"name([0-9]+)"')
    routines: tuple[Callable[[], object], ...] = (
        lambda: json.loads(text),
        lambda: hashlib.sha256(raw).digest(),
        lambda: hashlib.md5(raw, usedforsecurity=False).digest(),
        lambda: hashlib.blake2b(raw).digest(),
        lambda: zlib.compress(raw, 1),
        lambda: zlib.crc32(raw),
        lambda: pattern.findall(text),
        lambda: sorted(text),
        lambda: text.upper().split(","),
        lambda: struct.pack("<4d", 1.0, 2.0, 3.0, 4.0),
        lambda: f"{3.14159:.3f}{2**70}",
    )
    while True:
        for _ in range(5):
            for routine in routines:
                routine()
        yield 1


def memcap(size: int) -> Step:
    """Holds so many bytes of memory and touches their pages from time to time, too seldom to take bandwidth."""
    pages = max(size // PAGE, 1)
    held = mmap.mmap(-1, pages * PAGE)
    for at in range(pages):
        held[at * PAGE] = 1
    while True:
        for at in range(pages):
            held[at * PAGE] = 2
            if at % TOUCHED == 0:
                yield 1


def disk(folder: Path) -> Step:
    """Writes blocks past the page cache, over and over, into a file that is gone when the process is."""
    handle, name = tempfile.mkstemp(dir=folder)
    os.close(handle)
    flags = os.O_WRONLY | getattr(os, "O_DIRECT", 0)
    try:
        file = os.open(name, flags)
    except OSError:
        file = os.open(name, os.O_WRONLY | os.O_DSYNC)
    Path(name).unlink()
    block = mmap.mmap(-1, DISK_BLOCK)  # aligned to pages, as direct writes ask
    while True:
        for at in range(0, DISK_FILE, DISK_BLOCK):
            os.pwrite(file, block, at)
            yield 1


def network() -> Step:
    """Sends over several connections of the loopback at once."""
    server = socket.create_server(("127.0.0.1", 0))
    block = bytes(64 * 1024)
    sinks = [_flow(server) for _ in range(FLOWS)]
    for sink in sinks:
        sink.setblocking(False)
    while True:
        sent = 0
        for sink in sinks:
            try:
                sent += sink.send(block)
            except BlockingIOError:
                continue
        if not sent:
            time.sleep(0.0005)
        yield sent


def _flow(server: socket.socket) -> socket.socket:
    sender = socket.create_connection(server.getsockname())
    receiver, _ = server.accept()
    threading.Thread(target=_drain, args=(receiver,), daemon=True).start()
    return sender


def _drain(receiver: socket.socket) -> None:
    buffer = bytearray(256 * 1024)
    while receiver.recv_into(buffer):
        pass


PLAIN: dict[str, Callable[[], Step]] = {
    "cpu": cpu, "membw": membw, "llc": llc, "llcbw": llcbw, "tlb": tlb, "l1d": l1d, "l1i": l1i, "network": network,
}  # fmt: skip
RESOURCES = (*PLAIN, "memcap", "disk")


def kernel(resource: str, size: int, folder: Path) -> Step:
    """The kernel of a resource."""
    if resource == "memcap":
        return memcap(size)
    return disk(folder) if resource == "disk" else PLAIN[resource]()


def work(steps: Step, counter: Counter, share: float) -> None:
    """Does steps for a share of every period, for ever."""
    next(steps)  # what is made ready on the first step is no work
    while True:
        began = now = time.monotonic_ns()
        while now - began < share * PERIOD * 1e9 or share >= 1:
            done, before = next(steps), now
            now = time.monotonic_ns()
            counter.add(done, now - before)
        time.sleep(max(PERIOD - (now - began) / 1e9, 0.0))


def main() -> None:
    """Run one kernel until killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("resource", choices=RESOURCES)
    parser.add_argument("counter", type=Path)
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--bytes", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=Path("/tmp"))
    given = parser.parse_args()
    work(kernel(given.resource, given.bytes, given.folder), Counter(given.counter), given.share)


if __name__ == "__main__":
    main()
