"""A process without threads that has the SDKs loaded and forks itself into hcloud: an apply costs a tenth of a second.

Spoken to by ``benchmarks.children``: a JSON object a line comes in on stdin (number, argv, env, cwd, out, err), and a
line goes out when the child was made ({"made": NUMBER, "pid": PID}) and when it is over ({"over": NUMBER, "code": N};
below zero the signal); {"signal": N, "to": NUMBER} sends a child a signal. No child can reach anything but loopback.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import selectors
import signal
import sys
import threading
from contextlib import suppress
from typing import Any

from benchmarks.before_forks import load_sdks, stay_at_home, woken_by_children
from benchmarks.shipped_once import read_once

ROOMS = ("cli", "live", "sim", "store", "views", "usecases.deciding", "usecases.live", "usecases.studies")
STREAMS = (0, 1, 2)
_numbers: dict[int, int] = {}  # of the children that live, by process id


def main(clouds: list[str]) -> None:
    """Load, then fork for every line until stdin ends."""
    read_once()
    load_sdks(tuple(clouds))
    for name in rooms():
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)  # no child lives long enough to gain by looking more often
    stay_at_home()
    woken = woken_by_children()
    tell({"ready": os.getpid()})
    waiting = selectors.DefaultSelector()
    waiting.register(0, selectors.EVENT_READ)
    waiting.register(woken, selectors.EVENT_READ)
    rest = b""
    while True:
        ready = {key.fd for key, _ in waiting.select()}
        if woken in ready:
            with suppress(BlockingIOError):
                os.read(woken, 4096)
            bury()
        if 0 not in ready:
            continue
        data = os.read(0, 1 << 16)
        if not data:
            return
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            begin(json.loads(line))


def rooms() -> list[str]:
    """What verbs load late, and each child would load again."""
    packages = [importlib.import_module(f"hcloud.{name}") for name in ROOMS]
    return [m.name for package in packages for m in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]


def tell(document: dict[str, object]) -> None:
    """One line to whoever started this."""
    os.write(1, json.dumps(document).encode() + b"\n")


def bury() -> None:
    """Tell of every child that is over."""
    with suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            if pid in _numbers:
                tell({"over": _numbers.pop(pid), "code": os.waitstatus_to_exitcode(status)})


def begin(job: dict[str, Any]) -> None:
    """Fork one child, or end one; a job of which nobody will be killed runs in this process."""
    if "signal" in job:
        for pid, number in _numbers.items():  # a process id is nobody else's before it was waited for here
            if number == job["to"]:
                os.kill(pid, job["signal"])
        return
    if job.get("here"):
        tell({"made": job["number"], "pid": os.getpid()})
        tell({"over": job["number"], "code": here(job)})
        return
    assert threading.active_count() == 1
    pid = os.fork()
    if not pid:
        live_on(job)
    _numbers[pid] = job["number"]
    tell({"made": job["number"], "pid": pid})


def here(job: dict[str, Any]) -> int:
    """Run something in this process, which costs less than half of a fork; its exit code."""
    kept = [os.dup(number) for number in STREAMS]
    before = dict(os.environ)
    nobody_speaks()
    settle(job)
    try:
        code = play(job["argv"])
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        for number, own in zip(STREAMS, kept, strict=True):
            os.dup2(own, number)
            os.close(own)
        os.environ.clear()
        os.environ.update(before)
    if job["warm"]:
        gc.collect()
        gc.freeze()
    return code


def nobody_speaks() -> None:
    """Nothing comes in."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)


def settle(job: dict[str, Any]) -> None:
    """Be where the job is, with its environment and streams."""
    os.chdir(job["cwd"])
    os.environ.clear()
    os.environ.update(job["env"])
    for number, name in ((1, "out"), (2, "err")):
        target = os.open(job[name], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(target, number)
        os.close(target)


def live_on(job: dict[str, Any]) -> None:
    """Be the child: hcloud with these arguments, until it is over or killed."""
    code = 70
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        nobody_speaks()
        settle(job)
        code = play(job["argv"])
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)


def play(argv: list[str]) -> int:
    """hcloud, or the naive loop that it is compared with."""
    if argv[:1] == ["naive"]:
        from benchmarks.naive_loop import run as naive

        return naive(argv[1:])
    from hcloud.cli.main import run

    return run(argv)


if __name__ == "__main__":
    main(sys.argv[1:])
