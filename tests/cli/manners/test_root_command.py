"""The root command: exit codes, flags anywhere, colour, guesses, completion, Ctrl-C and a reader that leaves."""

from __future__ import annotations

import io
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hcloud import __version__
from hcloud.cli.main import called_as, run, split_flags
from hcloud.cli.verb_groups import VERBS

pytestmark = pytest.mark.usefixtures("quick_starts")
HCLOUD = [sys.executable, "-m", "hcloud"]


def test_help_lists_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    shown = capsys.readouterr()
    assert all(verb in shown.out for verb in VERBS)
    assert shown.err == ""


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--no-color", "--version"]) == 0
    assert capsys.readouterr().out == f"hcloud {__version__}\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["simulat"], "Did you mean 'simulate'?"),
        (["valdate"], "Did you mean 'validate'?"),
        (["strategy", "lst"], "Did you mean 'list'?"),
        (["frobnicate"], "No such command 'frobnicate'"),
        (["plan", "--horizn", "1y"], "No such option: --horizn. Did you mean --horizon"),
        (["plan", "--harvest"], "Did you mean --harvest-set or --harvest-policy?"),
        (["init", "--forse"], "Did you mean --force?"),
        (["plan", "--term", "1y"], "No such option: --term. hcloud.yaml sets it as markets.terms"),
        (["plan", "--growth", "2"], "hcloud.yaml sets it as planning.growth_per_year"),
        (["plan", "--step", "5m"], "No such option: --step. hcloud.yaml sets it as planning.step"),
        (["plan", "--os", "windows"], "No such option: --os. hcloud.yaml sets it as markets.os"),
        (["operate", "status", "--cloud", "aws"], "hcloud.yaml sets it as operation.cloud or live.cloud"),
        (["plan", "--pol", "3"], "No such option: --pol\n"),
        (["profile", "run", "--horizon", "3y"], "No such option: --horizon\n"),
        (["strategy", "list", "--frobnicate"], "No such option: --frobnicate"),
        (["strategy", "list", "-o", "xml"], "'xml' is not one of 'table', 'json'"),
        (["doctor", "extra"], "unexpected extra argument"),
    ],
)
def test_what_is_unknown_leaves_with_64_and_a_guess(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == 64
    shown = capsys.readouterr()
    assert said in shown.err
    assert shown.out == ""


def test_nothing_to_do_shows_help_and_leaves_with_64(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 64
    assert "Usage: hcloud" in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    "words", [["--quiet", "strategy", "list"], ["strategy", "-q", "list"], ["strategy", "list", "-q"]]
)
def test_flags_may_stand_anywhere(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("before", [None, ""])
@pytest.mark.parametrize("words", [["strategy", "show", "HM"], ["strategy", "show", "nope"]])
def test_no_flag_reaches_the_next_command_of_a_process(
    words: list[str], before: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who had said --unsafe-store once wrote without a condition from then on."""
    for name in ("NO_COLOR", "HYC_UNSAFE_STORE"):
        monkeypatch.setenv(name, before) if before is not None else monkeypatch.delenv(name, raising=False)
    run([*words, "--no-color", "--unsafe-store"])
    assert [os.environ.get(name) for name in ("NO_COLOR", "HYC_UNSAFE_STORE")] == [before, before]


def test_flags_end_at_two_dashes() -> None:
    assert split_flags(["a", "-q", "--", "-v"]) == (["a", "--", "-v"], frozenset({"quiet"}))


@pytest.mark.parametrize("words", [["strategy", "show", "HM"], ["--help"], ["strategy", "show", "nope"]])
@pytest.mark.parametrize("how", ["flag", "variable", "neither"])
def test_colour_only_where_it_is_wanted(words: list[str], how: str) -> None:
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"}
    environment.pop("NO_COLOR", None)
    environment |= {"NO_COLOR": "1"} if how == "variable" else {}
    shown = on_a_terminal([*words, *(["--no-color"] if how == "flag" else [])], environment)
    coloured = "\x1b[3" in shown or "\x1b[1;3" in shown
    assert coloured == (how == "neither" and words == ["--help"])


def on_a_terminal(words: list[str], environment: dict[str, str]) -> str:
    """What a real run writes to a pseudo-terminal."""
    leader, follower = pty.openpty()
    process = subprocess.Popen([*HCLOUD, *words], stdout=follower, stderr=follower, env=environment)
    os.close(follower)
    written = b""
    try:
        while chunk := os.read(leader, 65536):
            written += chunk
    except OSError:  # how Linux says that the other side is closed
        pass
    finally:
        process.wait(timeout=60)
        os.close(leader)
    return written.decode()


class Interrupting(io.StringIO):
    """A stream during whose writing the user presses Ctrl-C."""

    def write(self, text: str) -> int:
        raise KeyboardInterrupt


def test_ctrl_c_leaves_with_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdout", Interrupting())
    assert run(["strategy", "list"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


PRESSED = "import os, signal, weakref\ndef pressed(*_): os.kill(os.getpid(), signal.SIGINT)\n"
MEETING = """
import sys
class Meeting:
    def find_spec(self, name, *_):
        if name == {module!r}:
            sys.meta_path.remove(self)
            exec({code!r}, globals())
sys.meta_path.insert(0, Meeting())
"""
SWALLOWED = {
    "not at all": "pressed()\n",
    "where an object is freed": "class Lock: pass\nlock = Lock()\nfreed = weakref.ref(lock, pressed)\ndel lock\n",
    "by whoever imports": "try: pressed()\nexcept BaseException: pass\n",
    "where a class is made": "class Name:\n    __set_name__ = pressed\nclass Named:\n    name = Name()\n",
}


MODULES = ("typer", "hcloud.cli.deciding.plan", "yaml")
"""The last is imported while the verb works: there it is an exception, which whoever catches it has."""
AT_THE_ENDS = (("typing", "not at all"), ("hcloud.cli.refusal", "not at all"), ("yaml", "where a thread begins late"))
"""Imported as one of the first, and where an error is told; and a busy machine."""
SLOWLY = """
import _thread, threading, time
slow = lambda start: lambda *told: (start(*told), time.sleep(0.1))[0]
_thread.start_new_thread, threading.Thread.start = slow(_thread.start_new_thread), slow(threading.Thread.start)
"""
SWALLOWED_AT = {**SWALLOWED, "where a thread begins late": SLOWLY + SWALLOWED["where an object is freed"]}


@pytest.mark.parametrize(
    ("module", "how"),
    [*((m, how) for m in MODULES for how in SWALLOWED if (m, how) != ("yaml", "by whoever imports")), *AT_THE_ENDS],
)
def test_ctrl_c_before_the_verbs_are_there_is_told_alike(module: str, how: str, tmp_path: Path) -> None:
    """Python takes half a second to import them; its own answer is a page of where it was, or none at all."""
    (tmp_path / "sitecustomize.py").write_text(f"{PRESSED}{MEETING.format(module=module, code=SWALLOWED_AT[how])}")
    words = "import sys; sys.argv[1:] = ['plan']; from hcloud.__main__ import main; main()"
    there = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    done = subprocess.run([sys.executable, "-c", words], check=False, env=there, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("signal.raise_signal(signal.SIGTERM)", -signal.SIGTERM),
        ("signal.raise_signal(signal.SIGHUP)", -signal.SIGHUP),
        ("main._leave_at_once(130)", 130),
    ],
)
def test_a_signal_leaves_no_copy_of_standard_input(end: str, code: int, tmp_path: Path) -> None:
    """Whoever stopped a plan of a large export on a pipe found the copy of it in the temporary folder. Before there is
    one the system's own answer stands: Python hears nothing while compiled code runs."""
    words = (
        "import hcloud.__main__ as main, signal; from hcloud.readers.workloads.source import STDIN, spooled;"
        "signal.signal(signal.SIGHUP, signal.SIG_DFL);"  # nohup ignores it for all that tests start
        "main._hear_it_where_work_is(); default = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL;"
        f"copy = spooled(STDIN); print(copy.__enter__()[0].exists() and default, flush=True); {end}"
    )
    there = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", words], check=False, env=there, input=b"x", capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (code, b"True\n", b"")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("words", ["strategy show HM", "strategy list --json", "--help"])
def test_a_reader_that_leaves_ends_the_run_silently(words: str) -> None:
    line = f'{sys.executable} -m hcloud {words} | true; exit "${{PIPESTATUS[0]}}"'
    done = subprocess.run(["bash", "-c", line], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (141, "")


def test_debug_shows_where() -> None:
    done = subprocess.run([*HCLOUD, "strategy", "show", "nope", "--debug"], check=False, capture_output=True, text=True)
    assert "Traceback" in done.stderr
    done = subprocess.run([*HCLOUD, "strategy", "show", "nope"], check=False, capture_output=True, text=True)
    assert done.returncode == 64
    assert "Traceback" not in done.stderr


COMPLETED = [
    ("hcloud stra", ["strategy"]),
    ("hcloud strategy ", ["list", "show"]),
    ("hcloud strategy show ", ["SR", "OdF", "OdM", "HF", "HM", "HC"]),
    ("hcloud strategy show H", ["HF", "HM", "HC"]),
    ("hcloud strategy list -o ", ["table", "json", "csv"]),
    ("hcloud plan --ho", ["--horizon"]),
    ("hcloud --no-c", ["--no-color"]),
    ("hcloud --no-color strategy show Od", ["OdF", "OdM"]),
]


@pytest.mark.parametrize(("line", "expected"), COMPLETED)
def test_completion_in_bash(
    line: str,
    expected: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)  # folders on the way to a file would be offered, too
    monkeypatch.setenv("_HCLOUD_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(line.count(" ")))
    assert run([]) == 0
    assert capsys.readouterr().out.split() == expected


def test_completion_in_zsh_and_fish(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", "hcloud strategy show H")
    monkeypatch.setenv("_HCLOUD_COMPLETE", "complete_zsh")
    assert run([]) == 0
    assert '"HF"' in capsys.readouterr().out
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    monkeypatch.setenv("_HCLOUD_COMPLETE", "complete_fish")
    assert run([]) == 0
    assert capsys.readouterr().out.split() == ["HF", "HM", "HC"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_shown_and_installed(
    shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert run(["--show-completion", shell]) == 0
    script = capsys.readouterr().out
    assert f"_HCLOUD_COMPLETE=complete_{shell}" in script
    assert run(["--install-completion", shell]) == 0
    assert str(tmp_path) in capsys.readouterr().err
    assert any("_HCLOUD_COMPLETE" in p.read_text() for p in tmp_path.rglob("*") if p.is_file())


def test_bash_itself_completes(tmp_path: Path) -> None:
    """The script that is shown, sourced in a real bash, offers the verbs for the command it was made for."""
    shown = subprocess.run([*HCLOUD, "--show-completion", "bash"], check=True, capture_output=True, text=True)
    wrapper = tmp_path / "hcloud"
    wrapper.write_text(f'#!/bin/sh\nexec {sys.executable} -m hcloud "$@"\n', encoding="utf-8")
    wrapper.chmod(0o755)
    lines = (
        f'COMP_WORDS=(hcloud strategy show S); COMP_CWORD=3\n_hcloud_completion {wrapper}\necho "${{COMPREPLY[*]}}"\n'
    )
    done = subprocess.run(["bash"], input=shown.stdout + lines, check=True, capture_output=True, text=True)
    assert done.stdout == "SR\n"


def test_an_unknown_shell_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--show-completion", "tcsh"]) == 64
    assert "bash, zsh, fish" in capsys.readouterr().err


def test_the_alias_keeps_its_name(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["/somewhere/bin/hyc"])
    assert called_as() == "hyc"
    assert run(["strategy", "--help"]) == 0
    assert "Usage: hyc strategy" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["/somewhere/pytest"])
    assert called_as() == "hcloud"
