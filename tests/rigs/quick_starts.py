"""``python -m hcloud`` in a tenth of a second: a process with everything loaded, one for all workers, forks itself."""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from benchmarks.children import FROM_NOWHERE, ROOT
from benchmarks.in_front.sitecustomize import ASKING
from benchmarks.loaded import IN_FRONT

LONGEST = 100
"""What a path of a socket may have."""


@pytest.fixture(scope="session")
def loaded(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Path | None]:
    """The socket of the process; None where there can be none, and every start is a fresh one."""
    own = tmp_path_factory.getbasetemp()
    place = (own.parent if hasattr(request.config, "workerinput") else own) / "loaded"
    if sys.platform != "linux" or len(str(place)) > LONGEST:
        yield None
        return
    started = None
    with closing(
        socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ) as staying:  # while it is open, the process stays
        with place.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                staying.connect(str(place))
            except OSError:
                started = _started(place)
                staying.connect(str(place))
        first = [sys.executable, "-m", "hcloud", "--version"]  # waits, without a bound, until all is loaded
        subprocess.run(first, env={**os.environ, **by_way_of(place)}, check=True, stdout=subprocess.DEVNULL)
        yield place
    if started:
        started.wait()


def _started(place: Path) -> subprocess.Popen[bytes]:
    with suppress(FileNotFoundError):
        place.unlink()
    usual = {name: value for name, value in os.environ.items() if not name.startswith("HYC_")}
    environment = {**usual, **FROM_NOWHERE, "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-m", "benchmarks.loaded", str(place)]
    process = subprocess.Popen(words, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process.stdout as told:
        assert told.readline(), "it ended before it listened"
    return process


def by_way_of(place: Path | None) -> dict[str, str]:
    """What an environment needs for ``python -m hcloud`` to be a fork."""
    before = [os.environ["PYTHONPATH"]] if os.environ.get("PYTHONPATH") else []
    return {ASKING: str(place), "PYTHONPATH": os.pathsep.join([str(IN_FRONT), *before])} if place else {}


@pytest.fixture
def quick_starts(loaded: Path | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every ``python -m hcloud`` that this test starts, or what it starts, is a fork. A test of what only a fresh
    process can show does without."""
    for name, value in by_way_of(loaded).items():
        monkeypatch.setenv(name, value)
