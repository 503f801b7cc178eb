"""A fork of the loaded process is to whoever started it what a process of its own would be."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from quick_starts import by_way_of
from waiting import until

HCLOUD = [sys.executable, "-m", "hcloud"]
DECIDE = ["decide", "--strategy", "HM", "--pool", "2", "--plain", "--journal", "journal"]
ARRIVAL = '{"at": 0, "event": "arrival", "job": "a", "cores": 2, "memory_gib": 4}\n'


@pytest.fixture
def place(loaded: Path | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if loaded is None:
        pytest.skip("no loaded process on this system")
    monkeypatch.chdir(tmp_path)
    return loaded


def deciding(place: Path) -> subprocess.Popen[str]:
    """One that has read a line and waits for the next."""
    environment = {**os.environ, **by_way_of(place)}
    pipe = subprocess.PIPE
    process = subprocess.Popen([*HCLOUD, *DECIDE], stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment)
    assert process.stdin is not None
    process.stdin.write(ARRIVAL)
    process.stdin.flush()
    until(lambda: Path("journal").is_file() or process.poll() is not None)
    return process


def forks() -> set[str]:
    """The processes that have this folder's journal open."""
    here = str(Path("journal").resolve())
    found = set()
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if str(link.readlink()) == here:
                found.add(link.parts[2])
        except OSError:  # gone, or somebody else's
            continue
    return found


def test_it_says_and_ends_as_a_fresh_one_does(place: Path) -> None:
    def told(**more: str) -> tuple[int, str, str]:
        words, environment = [*HCLOUD, "strategy", "show", "nope"], {**os.environ, "COLUMNS": "60", **more}
        done = subprocess.run(words, check=False, capture_output=True, text=True, env=environment)
        return done.returncode, done.stdout, done.stderr

    assert told() == told(**by_way_of(place))
    assert told()[0] == 64


def test_it_reads_writes_and_ends_when_its_input_does(place: Path) -> None:
    process = deciding(place)
    assert len(forks() - {str(process.pid)}) == 1, "it is another process"
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert '"job"' in out


def test_ctrl_c_reaches_it(place: Path) -> None:
    process = deciding(place)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130, "by that alone: its input has not ended"
    process.communicate()


def test_it_goes_with_who_is_killed(place: Path) -> None:
    process = deciding(place)
    assert forks()
    process.kill()
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    until(lambda: not forks())
