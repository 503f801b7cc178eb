"""L4, L9, L10. What verbs that only think do to the machine around them: no socket, no file beside, no foreign code."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hcloud.cli.main import run
from hcloud.usecases.measuring.profile_run import file_name

ROOT = Path(__file__).resolve().parents[3]
WATCH = """
import os, sys
def watch(event, details):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        if not isinstance(details[-1], (str, bytes)) or event == "socket.getaddrinfo":  # a path is a local socket
            with open(os.environ["WATCHED"], "a") as file:
                file.write(f"{event} {details[1:]!r}\\n")
sys.addaudithook(watch)
"""
TRACE = "submit,duration,cores\n0,600,2\n60,600,1\n120,1200,4\n"
QUIET_VERBS = (
    ("--help",),
    ("--version",),
    ("plan", "trace.csv"),
    ("sweep", "trace.csv", "--vary", "limits.hard=0.8", "--strategy", "HF", "--workers", "1"),
    ("classify", "awk"),
    ("strategy", "list"),
    ("pricing", "list", "--region", "us-east-1", "--family", "m5"),
    ("workload", "show", "trace.csv"),
    ("validate",),
)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, coarse_steps: None) -> Path:
    """A directory with a trace and a configuration, where the user is."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    Path("trace.csv").write_text(TRACE)
    Path("hcloud.yaml").write_text("workload: {path: trace.csv}\nmarkets: [{provider: aws, families: [m6i]}]\n")
    return tmp_path / "work"


def ended(command: list[str], **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "100", **more}
    return subprocess.run(command, env=environment, check=False, capture_output=True, text=True, timeout=120)


# ---- L10: no socket


IN_TURN = """
import importlib, json, os, pkgutil, sys
import hcloud
from hcloud.cli.main import run
for words in json.loads(sys.argv[1]):
    assert run(words) == 0, words
    assert not os.path.exists(os.environ["WATCHED"]), (words, open(os.environ["WATCHED"]).read())
found = [m.name for m in pkgutil.walk_packages(hcloud.__path__, "hcloud.")]
[importlib.import_module(n) for n in found if not n.endswith("__main__")]
print(len(found))
"""


def test_L10_verbs_that_think_and_importing_every_module_open_no_socket(here: Path, tmp_path: Path) -> None:
    """In the process that runs them and in every one that it starts, by the interpreter's own audit of what is
    called."""
    (tmp_path / "watch").mkdir()
    (tmp_path / "watch" / "sitecustomize.py").write_text(WATCH)
    seen = tmp_path / "seen"
    watched = {"PYTHONPATH": f"{tmp_path / 'watch'}{os.pathsep}{ROOT}", "WATCHED": str(seen)}
    probe = "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(('127.0.0.1', 9))"
    ended([sys.executable, "-S", "-c", WATCH + probe], **watched)
    assert "socket.connect" in seen.read_text(), "the watch sees what it is to see"
    seen.unlink()
    done = ended([sys.executable, "-W", "ignore", "-c", IN_TURN, json.dumps(QUIET_VERBS)], **watched)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.splitlines()[-1]) > 300
    assert not seen.exists(), seen.read_text()


# ---- L9: modules that lie about


LYING_ABOUT = ("numpy", "yaml", "boto3", "typer", "json", "decimal", "hcloud", "sitecustomize", "usercustomize")


def test_L9_the_command_runs_no_module_of_the_directory_it_is_called_in(here: Path) -> None:
    script = Path(sys.executable).with_name("hcloud")
    for name in LYING_ABOUT:
        Path(f"{name}.py").write_text(f"open({str(here / 'ran')!r}, 'a').write({name!r}); raise SystemExit(99)\n")
    done = ended([sys.executable, str(script), "simulate", "trace.csv", "--strategy", "HF"], PYTHONPATH=str(ROOT))
    assert done.returncode == 0, done.stderr
    assert not Path("ran").exists()


def test_L9_files_on_their_way_have_names_that_nobody_can_know(here: Path, tmp_path: Path) -> None:
    """Links planted under every name that one process after another would use lead nowhere."""
    outside = tmp_path / "outside"
    outside.write_text("untouched")
    for number in range(os.getpid() - 50, os.getpid() + 200):
        for name in (".plan.json", ".hcloud.yaml"):
            for planted in (f"{name}.{number}.tmp", f"{name}.{number}", f"{name}.tmp", f"{name}.new"):
                link = here / planted
                if not link.is_symlink():
                    link.symlink_to(outside)
    assert run(["plan", "trace.csv", "--out", "plan.json"]) == 0
    assert run(["init", "--force"]) == 0
    assert outside.read_text() == "untouched"
    assert Path("plan.json").is_file()
    assert not Path("hcloud.yaml").is_symlink()


# ---- L4: names of files


HOSTILE = ("../../etc/x", "..", "x" * 300, "a\x00b", "a\nb", "-rf")
ALIKE = (*HOSTILE, "/etc/passwd", ".", "a/../../b", "~root", "C:\\x", "a\u2044b", "\u202egnp")


@pytest.mark.parametrize("name", HOSTILE, ids=lambda n: repr(n[:12]))
def test_L4_a_profile_is_written_into_the_directory_or_not_at_all(here: Path, tmp_path: Path, name: str) -> None:
    before = {p for p in tmp_path.rglob("*") if p.parent != here}
    code = run(["profile", "run", "--resources", "none", "--time-cap", "20s", "--name", name, "--", "true"])
    assert code in (0, 1, 64)
    assert {p for p in tmp_path.rglob("*") if p.parent != here} == before
    made = {p.name for p in here.iterdir()} - {"trace.csv", "hcloud.yaml"}
    assert len(made) == (code == 0)
    assert all(m.endswith(".profile.yaml") for m in made)


@pytest.mark.parametrize("name", ALIKE, ids=lambda n: repr(n[:12]))
def test_L4_the_name_of_a_profiles_file_is_one_plain_word(name: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9._-]+\.profile\.yaml", file_name(name))


@pytest.mark.parametrize("names", [("Web", "web"), ("a b", "a-b"), ("a+b", "a b")])
def test_L4_two_applications_never_share_a_file(
    here: Path, names: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("apps").mkdir()
    for number, name in enumerate(names):
        Path(f"apps/{number}.yaml").write_text(f"name: {name!r}\ncommand: ['true']\n")
    assert run(["profile", "run", "-f", "apps", "--resources", "none", "--time-cap", "20s"]) == 64
    said = capsys.readouterr().err
    assert all(repr(name) in said for name in names)
    assert not list(here.glob("*.profile.yaml"))


@pytest.mark.parametrize(
    "words",
    [
        ("plan", "trace.csv", "--out", "link"),
        ("plan", "trace.csv", "--cloud", "fake", "--out", "link"),
        ("simulate", "trace.csv", "--strategy", "HF", "--journal", "link"),
        ("simulate", "trace.csv", "--strategy", "HF", "--picture", "link.svg"),
        ("sweep", "trace.csv", "--vary", "limits.hard=0.8", "--strategy", "HF", "--workers", "1", "--csv", "link"),
        ("sweep", "trace.csv", "--vary", "limits.hard=0.8", "--strategy", "HF", "--workers", "1", "--out", "rows"),
        ("workload", "convert", "trace.csv", "--to", "link.csv"),
        ("profile", "run", "--resources", "none", "--out", "link", "--", "true"),
        ("classify", "awk", "--save-matrices", "link.json"),
        ("init", "--force"),
        ("commit", "plan", "--cloud", "fake", "--out", "link"),
    ],
    ids=lambda words: " ".join(words[:1] + words[-2:]),
)
def test_L4_nothing_is_written_through_a_link(
    words: tuple[str, ...], here: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is refused, or a file takes the link's place."""
    outside = tmp_path / "outside"
    outside.write_text("untouched")
    Path("rows").mkdir()
    for link in ("link", "link.svg", "link.csv", "link.json", "rows/rows.ndjson", "rows/rows.jsonl"):
        Path(link).symlink_to(outside)
    if words[0] == "init":
        Path("hcloud.yaml").unlink()
        Path("hcloud.yaml").symlink_to(outside)
    before = {p for p in tmp_path.rglob("*") if here not in p.parents}
    links = {p for p in here.rglob("*") if p.is_symlink()}
    code = run(list(words))
    if code == 0:
        assert len([p for p in links if not p.is_symlink()]) == 1
    else:
        assert "symbolic link" in capsys.readouterr().err
    assert outside.read_text() == "untouched"
    assert {p for p in tmp_path.rglob("*") if here not in p.parents} == before
