"""``hcloud profile``: real short runs, what cannot be measured, and that nothing survives whatever way a run ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from waiting import PATIENCE, until

from hcloud.cli import main
from hcloud.model.measured.profile import Aspect, Measured, Profile
from hcloud.profiling.cage import this_machine
from hcloud.profiling.programs import orphans
from hcloud.profiling.session import Advance, ProfilingSession
from hcloud.readers.applications.app import usually_better
from hcloud.readers.applications.profiles import load_profile
from hcloud.store.profiles import save_profile

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="profile run needs Linux")
ROOT = Path(__file__).resolve().parents[3]
QUICK = ("--resources", "none", "--time-cap", "20s")


def run(*words: str) -> int:
    return main.run(["profile", *words])


def script(folder: Path, text: str) -> str:
    path = folder / "app.sh"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def left_behind(token: str = "") -> list[str]:
    """Control groups of profile runs; of one run, if its token is given, with its processes and its watcher."""
    groups = [str(g) for f in this_machine().folders for g in f.glob(f"{orphans.PREFIX}{token}*")]
    processes = [str(p) for p in orphans.marked(token)] if token else []
    watchers = [
        p.name for p in Path("/proc").iterdir() if p.name.isdecimal() and token and is_watcher(int(p.name), token)
    ]
    return groups + processes + watchers


def is_watcher(pid: int, token: str) -> bool:
    return commandline(pid).rstrip(b"\0").split(b"\0")[-2:] == [orphans.__file__.encode(), token.encode()]


def test_a_batch_command_is_measured_in_every_shape(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "sleep.yaml"
    assert run("run", *QUICK, "--out", str(out), "--", "sleep", "0.1") == 0
    found = load_profile(out)
    shapes = found.entries[Aspect.SCALE_UP]
    assert len(shapes) >= min(2, os.cpu_count() or 1)
    for entry in shapes.values():
        assert 0.09 < entry.value < 2.0
        assert entry.low <= entry.value <= entry.high
        assert entry.samples >= 3
    screen = capsys.readouterr()
    assert "completion time" in screen.out
    assert str(out) in screen.err


def test_a_printed_number_is_the_metric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hcloud.usecases.measuring.profile_run.busy_warning", lambda: "other programs run")
    command = script(tmp_path, "echo speed: 1,250 rows; echo speed: 1,500 rows")
    out = tmp_path / "p.yaml"
    words = ("--printed", r"speed: ([\d,]+)", "--metric-name", "speed", "--unit", "rows/s", "--out", str(out))
    assert run("run", *QUICK, *words, "--", command) == 0
    found = load_profile(out)
    assert found.metric.rising
    assert "not known well: other programs run" in found.notes
    assert {e.value for e in found.entries[Aspect.SCALE_UP].values()} == {1500.0}
    assert [usually_better(unit) for unit in ("ms/req", "hrs", "Seconds", "µs", "m", "MB/s")] == ["lower"] * 4 + [
        "higher"
    ] * 2


def test_flags_override_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    described = tmp_path / "app.yaml"
    described.write_text("name: mine\ncommand: [sleep, '60']\ntime_cap: 1h\n")
    out = tmp_path / "p.yaml"
    assert run("run", "-f", str(described), *QUICK, "--out", str(out), "--json", "--", "sleep", "0.05") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["profile"]["app"] == "mine"
    assert document["profile"]["command"] == ["sleep", "0.05"]
    assert {e["value"] < 5 for e in document["profile"]["entries"]["scale_up"].values()} == {True}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("echo broken pipe dream >&2; exit 3", "failed with exit code 3: broken pipe dream"),
        ("kill -9 $$", "was killed by signal 9"),
        ("(setsid sleep 60 &) ; sleep 0.2", "went into the background"),
        ("sleep 60 & sleep 0.2", "went into the background"),
        ("sleep 60", "did not end within 2 s"),
    ],
)
def test_a_command_without_a_figure_is_refused(
    tmp_path: Path, text: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if "setsid" in text and not this_machine().folders:
        text = "sleep 60 & sleep 0.2"  # without control groups only its own session is known of a running command
    cap = "2s" if "did not end" in message else "50s"  # a busy machine may keep a shell waiting for seconds
    out = tmp_path / "p.yaml"
    assert run("run", *QUICK, "--run-cap", cap, "--out", str(out), "--", script(tmp_path, text)) == 1
    assert message in capsys.readouterr().err
    assert not out.exists()
    assert not left_behind(f"{os.getpid()}-{orphans.started_at(os.getpid())}")


@pytest.mark.parametrize(
    ("printed", "message"),
    [("hello", "printed nothing that matches"), ("speed: -1", "it has to be above 0"), ("speed: 0", "above 0")],
)
def test_a_number_that_is_none_is_refused(
    tmp_path: Path, printed: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--printed", "speed: (-?[0-9]+)", "--out", str(tmp_path / "p.yaml"))
    assert run("run", *QUICK, *words, "--", script(tmp_path, f"echo '{printed}'")) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "nothing to measure"),
        (("--", "no-such-program-here"), "no such program"),
        (("--resources", "l9", "--", "true"), "there is no resource 'l9'"),
        (("--vcpus", "5000", "--", "true"), "a number from 0.1 to 1,024"),
        (("--kind", "service", "--", "true"), "a service needs load"),
        (("--budget", "1", "--", "true"), "dollars_per_hour"),
        (("--printed", "([", "--", "true"), "a regular expression"),
        (("--printed", "speed", "--", "true"), "exactly one group"),
        (("--time-cap", "soon", "--", "true"), "time_cap"),
        (("--out", "/proc/nowhere/p.yaml", "--", "true"), "does not exist"),
        (("--out", "/proc/p.yaml", "--", "true"), "cannot be written"),
        (("-f", "missing.yaml"), "no such file"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_anything_runs(
    tmp_path: Path,
    words: tuple[str, ...],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("run", *words) in (1, 64)
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_hostile_yaml_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    described = tmp_path / "app.yaml"
    for text in ("command: !!python/object/apply:os.system [id]", "command: [a]\ncommand: [b]", "a: &a [*a]", "[1]"):
        described.write_text(text)
        assert run("run", "-f", str(described)) == 1
        assert str(described) in capsys.readouterr().err


def test_all_problems_of_an_application_are_shown_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    described = tmp_path / "app.yaml"
    described.write_text("command: sort\nkind: demon\nshape: {vcpus: -1}\nready: {}\nmetric: {url: 'ftp://x'}\n")
    assert run("run", "-f", str(described)) == 1
    shown = capsys.readouterr().err
    for place in ("command", "kind", "shape.vcpus", "ready", "metric.url"):
        assert f"{described}: {place}:" in shown


def started(tmp_path: Path, *words: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "hcloud", "profile", "run", *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    return subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_survives_a_killed_run(tmp_path: Path, number: int) -> None:
    running = started(tmp_path, "--resources", "disk", "--", script(tmp_path, "setsid sleep 300 & sleep 300"))
    token = f"{running.pid}-{orphans.started_at(running.pid)}"
    until(lambda: len(orphans.marked(token)) >= 3)  # the script and both of its sleeps
    assert any(is_watcher(int(p.name), token) for p in Path("/proc").iterdir() if p.name.isdecimal())
    running.send_signal(number)
    running.wait(PATIENCE)
    until(lambda: not left_behind(token))
    assert list(tmp_path.glob(f"{orphans.PREFIX}*")) == []
    assert running.returncode == -number


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_keeps_its_baseline(tmp_path: Path, number: int) -> None:
    out = tmp_path / "p.yaml"
    running = started(tmp_path, "--resources", "disk,memcap,llc,membw", "--out", str(out), "--", "sleep", "0.2")
    token = f"{running.pid}-{orphans.started_at(running.pid)}"
    until(lambda: any(b"kernels.py" in commandline(p) for p in orphans.marked(token)))
    running.send_signal(number)
    running.wait(PATIENCE)
    assert running.returncode == 128 + number
    assert not left_behind(token)
    assert "interrupted; measurements so far are kept" in load_profile(out).notes
    assert Aspect.SCALE_UP in load_profile(out).entries


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_while_the_profile_is_written_loses_nothing(
    tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measure(session: ProfilingSession, advance: Advance) -> None:
        took = Measured(1.0, 0.9, 1.1, 3, datetime(2026, 11, 20, tzinfo=UTC), "here", "true")
        session.record(Aspect.SCALE_UP, "1c", took)
        os.kill(os.getpid(), number)

    def save(found: Profile, path: Path) -> None:
        os.kill(os.getpid(), number)
        save_profile(found, path)

    monkeypatch.setattr(ProfilingSession, "run", measure)
    monkeypatch.setattr("hcloud.usecases.measuring.profile_run.save_profile", save)
    out = tmp_path / "p.yaml"
    assert run("run", "--out", str(out), "--", "true") == 128 + number
    assert "interrupted; measurements so far are kept" in load_profile(out).notes


def commandline(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def test_groups_of_dead_runs_are_removed_at_the_next_start(tmp_path: Path) -> None:
    folders = this_machine().folders
    if not folders:
        pytest.skip("no control group can be made here")
    stray = folders[0] / f"{orphans.PREFIX}1-1"  # process 1 lives, but did not start at tick 1
    stray.mkdir(exist_ok=True)
    assert run("run", *QUICK, "--out", str(tmp_path / "p.yaml"), "--", "true") == 0
    assert not stray.exists()
