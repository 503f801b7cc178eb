"""Long work shows that it goes on: a bar or a sign on a terminal, in a pipe a line now and then for waits."""

from __future__ import annotations

import io
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from threading import Timer
from types import SimpleNamespace

import pytest
from rich.console import Console
from waiting import until

from hcloud import __main__ as command
from hcloud.cli import acting as live
from hcloud.cli import options
from hcloud.live.patience import Patience, RetryLimits
from hcloud.live.site import ProgressStep
from hcloud.sim.machine_code import compiled
from hcloud.views.console import Terminal

pytestmark = pytest.mark.usefixtures("quick_starts")

ROOT = Path(__file__).resolve().parents[3]
SIGN = "looking"


def terminal(*, is_terminal: bool, quiet: bool = False) -> tuple[Terminal, io.StringIO]:
    said = io.StringIO()
    err = Console(file=said, force_terminal=is_terminal, width=80, color_system=None)
    return Terminal(Console(file=io.StringIO()), err, quiet), said


@pytest.mark.parametrize(("ended", "told"), [(None, True), (0, False), ("never begun", False)])
def test_who_waits_for_the_simulator_to_be_compiled_is_told(
    ended: int | str | None, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A first plan of a hundred thousand jobs stood at 70 % for half a minute, without a word."""
    makers = [] if ended == "never begun" else [SimpleNamespace(poll=lambda: ended)]
    monkeypatch.setattr(compiled, "_makers", makers)
    monkeypatch.setattr(options, "_SOON", 0.0)
    shown, said = terminal(is_terminal=False)
    with options.first_use_told(shown) as _:
        until(lambda: not any(isinstance(one, Timer) for one in threading.enumerate()))
    monkeypatch.setattr(options, "_SOON", 3600.0)
    before = threading.active_count()
    with options.first_use_told(shown):
        assert threading.active_count() == before + 1
    assert threading.active_count() == before, "who forks next has no thread beside it"
    assert ("compiled in the background, once" in said.getvalue()) == told


@pytest.mark.parametrize(
    ("is_terminal", "quiet", "soon", "shown"),
    [(True, False, 0.0, True), (True, False, 3600.0, False), (True, True, 0.0, False), (False, False, 0.0, False)],
)
def test_a_sign_is_shown_for_what_takes_long_on_a_terminal(
    is_terminal: bool, quiet: bool, soon: float, shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hcloud.views.console.SOON_SECONDS", soon)
    where, said = terminal(is_terminal=is_terminal, quiet=quiet)
    with where.busy(SIGN):
        time.sleep(0.05)
        until(lambda: SIGN in said.getvalue() or not shown)
    assert (SIGN in said.getvalue()) == shown


def test_an_error_ends_the_sign() -> None:
    where, said = terminal(is_terminal=True)
    with pytest.raises(ValueError, match="no"), where.busy(SIGN):
        raise ValueError("no")
    assert SIGN not in said.getvalue()


class Ticking:
    """A clock whose sleeps take no time."""

    def __init__(self) -> None:
        self.at = 0.0

    def now(self) -> float:
        return self.at

    def passed(self) -> float:
        return self.at

    def sleep(self, seconds: float) -> None:
        self.at += seconds


def test_a_wait_says_again_and_again_what_for() -> None:
    told: list[str] = []

    def heard(text: str, *, at_once: bool = False) -> None:
        told.append(text)

    Patience(Ticking(), RetryLimits(), lambda: False, heard).pause(5.0)
    assert len(told) == 10
    assert set(told) == {"waiting until the cloud has done it"}


@pytest.mark.parametrize(("quiet", "lines"), [(False, 1), (True, 0)])
def test_a_pipe_hears_of_a_wait_now_and_then(quiet: bool, lines: int) -> None:
    where, said = terminal(is_terminal=False, quiet=quiet)
    clock = Ticking()
    with live.told(where, "applying", 4, clock.passed) as tell:
        tell(ProgressStep("web: launched", 1, 4))
        clock.sleep(live.SILENT_SECONDS)
        tell(ProgressStep("waiting until the cloud has done it"))
        tell(ProgressStep("running", 1, 4))
    expected = ["applying: waiting until the cloud has done it"] * lines
    assert said.getvalue().splitlines() == expected


@pytest.mark.parametrize("is_terminal", [False, True])
def test_what_is_waited_for_is_said_as_soon_as_it_is(is_terminal: bool) -> None:
    where, said = terminal(is_terminal=is_terminal, quiet=False)
    sentence = "waiting for 2 machines to start, until 10:00:00 UTC at the latest"
    with live.told(where, "applying", 4, Ticking().passed) as tell:
        tell(ProgressStep("web: launched", 2, 4))
        tell(ProgressStep(sentence, at_once=True))
        assert sentence in said.getvalue()


def test_on_a_terminal_a_bar_and_in_a_pipe_nothing(tmp_path: Path) -> None:
    rows = "".join(f"{at},3600,2,8\n" for at in range(200_000))
    (tmp_path / "big.csv").write_text("submit,duration,cores,memory\n" + rows, encoding="utf-8")
    words = [sys.executable, "-m", "hcloud", "workload", "validate", "big.csv"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "80"}
    leader, follower = pty.openpty()
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=follower, env=environment, cwd=tmp_path)
    os.close(follower)
    written = b""
    try:
        while chunk := os.read(leader, 65536):
            written += chunk
    except OSError:  # how Linux says that the other side is closed
        pass
    finally:
        process.communicate(timeout=60)
        os.close(leader)
    assert b"checking files" in written
    piped = subprocess.run(words, check=True, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert piped.stderr == ""


def test_ctrl_c_stays_ignored_in_what_a_script_starts_in_its_background(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell ignores it there for what it starts, and Python leaves it so."""
    stays, said = terminal(is_terminal=False)
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)  # which the command takes for itself
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        command._hear_ctrl_c()
        command._hear_it_where_work_is()
        with live.stopping(stays) as stop:
            signal.raise_signal(signal.SIGINT)
            assert not stop()
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    assert not said.getvalue()
