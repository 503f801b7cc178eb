"""A process with all of hcloud loaded that is hcloud for others: who starts ``python -m hcloud`` with the folder
``in_front`` on PYTHONPATH gets a fork of it, with its own words, folder, environment, streams, signals and largest
file, in a tenth of the time.

Asked over a Unix socket, a message each: words, folder, environment, signals that are heard, umask and largest file,
with the three streams; then numbers of signals. Answered with the exit code, below zero the signal. A client that goes
takes its fork with it, and when nobody is left the process ends.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import io
import marshal
import os
import pkgutil
import resource
import runpy
import selectors
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any, NoReturn

from benchmarks.before_forks import SDKS, load_sdks, stay_at_home, woken_by_children
from benchmarks.shipped_once import read_once

IN_FRONT = Path(__file__).parent / "in_front"
LEFT_OUT = ("hcloud.research", "hcloud.notebook", "hcloud.__main__")
FORKING = "benchmarks.forking"
MOST_BYTES = 200_000
USUALLY: dict[int, Callable[..., Any] | int] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
}
WARMING = (("plan", "scenario:high-variability"), ("strategy", "list"))
"""What many verbs read and none changes."""


class Loaded:
    """Listens, forks, and tells of the end; ``serve`` returns when nobody is there any more."""

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening
        self._asking: dict[int, socket.socket] = {}  # of the forks that live, by process id
        self._there: set[socket.socket] = set()
        self._waiting = selectors.DefaultSelector()

    def serve(self) -> None:
        """Answer until the last one has gone."""
        woken = woken_by_children()
        self._waiting.register(woken, selectors.EVENT_READ)
        self._waiting.register(self._listening, selectors.EVENT_READ)
        self._greet()
        while self._there:
            for key, _ in self._waiting.select():
                if key.fileobj == woken:
                    with suppress(BlockingIOError):
                        os.read(woken, 4096)
                    self._bury()
                elif key.fileobj is self._listening:
                    self._greet()
                elif isinstance(key.fileobj, socket.socket) and key.fileobj in self._there:
                    self._hear(key.fileobj)

    def _greet(self) -> None:
        client, _ = self._listening.accept()
        self._there.add(client)
        self._waiting.register(client, selectors.EVENT_READ)

    def _hear(self, client: socket.socket) -> None:
        try:
            said, streams, _, _ = socket.recv_fds(client, MOST_BYTES, 3)
        except ConnectionResetError:
            said, streams = b"", []
        fork = next((pid for pid, asking in self._asking.items() if asking is client), None)
        if streams:
            self._fork(client, marshal.loads(said), streams)
        elif said and fork:
            os.kill(fork, marshal.loads(said))
        elif not said:
            if fork:
                os.kill(fork, signal.SIGKILL)
                os.waitpid(fork, 0)  # gone before anybody who saw its client die can ask for another
                del self._asking[fork]
            self._part(client)

    def _fork(self, client: socket.socket, asked: tuple[Any, ...], streams: list[int]) -> None:
        if asked[0][0] == FORKING:  # as every worker has one
            load_sdks(tuple(SDKS))
            gc.freeze()
        assert threading.active_count() == 1
        signal.pthread_sigmask(signal.SIG_BLOCK, USUALLY)  # until it listens to them: here, some are ignored
        pid = os.fork()
        if not pid:
            self._waiting.close()
            for other in (self._listening, *self._there):
                other.close()
            live_on(asked, streams)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, USUALLY)
        for stream in streams:
            os.close(stream)
        self._asking[pid] = client

    def _bury(self) -> None:
        with suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    return
                client = self._asking.pop(pid, None)  # none: a compiler that warming began
                if client in self._there:
                    with suppress(OSError):
                        client.send(marshal.dumps(os.waitstatus_to_exitcode(status)))
                    self._part(client)

    def _part(self, client: socket.socket) -> None:
        self._waiting.unregister(client)
        self._there.remove(client)
        client.close()


def live_on(asked: tuple[Any, ...], streams: list[int]) -> NoReturn:
    """Be the fork: a process of hcloud, until it is over or killed."""
    code = 1
    try:
        settle(asked, streams)
        code = played(sys.argv[0])
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)


def settle(asked: tuple[Any, ...], streams: list[int]) -> None:
    """Be where the client is, and hear, read and write what it would."""
    sys.argv, folder, environment, heard, umask, largest = asked
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, usual in USUALLY.items():
        signal.signal(number, usual if number in heard else signal.SIG_IGN)
    os.umask(umask)
    resource.setrlimit(resource.RLIMIT_FSIZE, largest)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    for at, stream in enumerate(streams):
        os.dup2(stream, at)
        os.close(stream)
    at_once = bool(environment.get("PYTHONUNBUFFERED"))
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)))
    sys.stdout = _writing(1, "strict", lines=os.isatty(1), at_once=at_once)
    sys.stderr = _writing(2, "backslashreplace", lines=True, at_once=at_once)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, USUALLY)


def _writing(number: int, errors: str, *, lines: bool, at_once: bool) -> io.TextIOWrapper:
    raw = io.FileIO(number, "w", closefd=False)
    buffer = raw if at_once else io.BufferedWriter(raw)
    return io.TextIOWrapper(buffer, errors=errors, line_buffering=lines, write_through=at_once)


def played(module: str) -> int:
    """Run a module as ``python -m`` does; its exit code."""
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as left:
        if left.code is None or isinstance(left.code, int):
            return left.code or 0
        sys.stderr.write(f"{left.code}\n")
        return 1
    return 0


def load() -> None:
    """All modules that verbs load, and the caches that every plan fills."""
    import hcloud
    from hcloud.cli.main import run

    read_once()
    for found in pkgutil.walk_packages(hcloud.__path__, "hcloud."):
        if not found.name.startswith(LEFT_OUT):
            importlib.import_module(found.name)
    with tempfile.TemporaryDirectory() as empty, Path(os.devnull).open("w") as nowhere:
        os.environ.update(HYC_PRICES=empty, XDG_CONFIG_HOME=empty)
        with redirect_stdout(nowhere), redirect_stderr(nowhere):
            for words in WARMING:
                run([*words])


def main(place: str) -> None:
    """Listen at a place, load meanwhile, then serve."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(place)
        listening.listen(128)
        os.write(1, b"listening\n")
        load()
        gc.collect()
        gc.freeze()
        stay_at_home()
        Loaded(listening).serve()


if __name__ == "__main__":
    main(sys.argv[1])
