"""The ready pipelines run as they stand: their commands are taken from the files."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

pytestmark = pytest.mark.usefixtures("quick_starts")
FOLDER = Path(__file__).parents[2] / "examples" / "ci"
FILES = ("hcloud.yaml", "rules.yaml", "comment.py")
INSTALL = "python -m pip install"
OURS, THEIRS = 7, 8


def github(job: str) -> list[str]:
    content = yaml.safe_load((FOLDER / "github.yml").read_text(encoding="utf-8"))
    return [step["run"] for step in content["jobs"][job]["steps"] if "run" in step]


def gitlab(job: str) -> list[str]:
    found = yaml.safe_load((FOLDER / "gitlab.yml").read_text(encoding="utf-8"))[job]
    return [*found["before_script"], *found["script"], *found.get("after_script", ())]


def readme() -> list[str]:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    return [line for block in re.findall(r"```\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]


class Host(ThreadingHTTPServer):
    """The comments of a pull request (GitHub) or merge request (GitLab), ours and others', a page at a time."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        # somebody else quotes the marker; and there are enough comments for two pages
        told = [{"id": i, "body": "<!-- hcloud-diff: capacity -->\nnot ours", "by": THEIRS} for i in range(120)]
        self.comments: list[dict[str, Any]] = told
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def ours(self) -> list[str]:
        return [c["body"] for c in self.comments if c["by"] == OURS]


class Answer(BaseHTTPRequestHandler):
    """One request of the interface: list, add and change comments, and who asks."""

    server: Host

    def log_message(self, *words: object) -> None:
        pass

    def answer(self, found: object) -> None:
        body = json.dumps(found).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        assert self.headers.get("Authorization") == "Bearer secret" or self.headers.get("PRIVATE-TOKEN") == "secret"
        if self.path.endswith("/user"):
            return self.answer({"id": OURS})
        page = int(re.findall(r"page=(\d+)$", self.path)[0])
        told = self.server.comments[(page - 1) * 100 : page * 100]
        who = [{"user": {"type": "Bot" if c["by"] == OURS else "User"}, "author": {"id": c["by"]}} for c in told]
        return self.answer([{**c, **w} for c, w in zip(told, who, strict=True)])

    def do_POST(self) -> None:
        self.server.asked.append(f"POST {self.path}")
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"]
        self.server.comments.append({"id": 1000 + len(self.server.comments), "body": body, "by": OURS})
        self.answer({})

    def do_PATCH(self) -> None:
        self.server.asked.append(f"{self.command} {self.path}")
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"]
        number = int(self.path.rsplit("/", 1)[-1])
        next(c for c in self.server.comments if c["id"] == number)["body"] = body
        self.answer({})

    do_PUT = do_PATCH


@pytest.fixture
def host() -> Iterator[Host]:
    """The host's interface on this machine."""
    server = Host()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def surroundings(tmp_path: Path, host: Host) -> Mapping[str, str]:
    """What both hosts set for a job, and an ``hcloud`` and a ``python`` that run with this interpreter."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, words in (("hcloud", "-m hcloud"), ("python", "")):
        (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n', encoding="utf-8")
        (tools / name).chmod(0o755)
    github = {
        "GITHUB_BASE_REF": "main", "GITHUB_API_URL": host.url, "GITHUB_REPOSITORY": "team/capacity",
        "GITHUB_REF": "refs/pull/12/merge", "GITHUB_TOKEN": "secret",
    }  # fmt: skip
    gitlab = {
        "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main", "CI_API_V4_URL": host.url, "CI_PROJECT_ID": "5",
        "CI_MERGE_REQUEST_IID": "12", "GITLAB_TOKEN": "secret",
    }  # fmt: skip
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, **github, **gitlab, "PATH": path, "CI": "true", "GIT_CONFIG_GLOBAL": os.devnull}


def run_all(commands: Sequence[str], work: Path, environment: Mapping[str, str]) -> list[int]:
    """The exit codes of the commands, each run by a shell as the hosts do; what follows a failure still runs."""
    codes = []
    for command in commands:
        if not command.startswith(INSTALL):
            done = subprocess.run(
                ["sh", "-ec", command], cwd=work, env={**environment}, capture_output=True, text=True, check=False
            )
            codes.append(done.returncode)
            assert done.returncode in (0, 3), (command, done.stdout, done.stderr)
    return codes


@pytest.mark.parametrize("pipeline", [lambda: github("rehearse"), lambda: gitlab("rehearse"), readme])
def test_a_pipeline_runs_as_it_stands(pipeline: Callable[[], Sequence[str]], tmp_path: Path, host: Host) -> None:
    work = tmp_path / "work"
    work.mkdir()
    for name in FILES:
        shutil.copy(FOLDER / name, work)
    commands = pipeline()
    assert any(c.startswith("hcloud apply") for c in commands)
    assert not any(run_all(commands, work, surroundings(tmp_path, host)))


def proposed(tmp_path: Path, *, merged: Sequence[str]) -> Path:
    """A clone of a repository with a branch that is proposed, where ``merged`` files are on main already."""

    def git(*words: str, at: Path) -> None:
        author = ("-c", "user.name=a", "-c", "user.email=a@example.invalid", "-c", "init.defaultBranch=main")
        subprocess.run(["git", *author, *words], cwd=at, check=True, capture_output=True)

    origin, work = tmp_path / "origin", tmp_path / "work"
    origin.mkdir()
    git("init", at=origin)
    for name in merged:
        shutil.copy(FOLDER / name, origin)
    git("add", "-A", at=origin)
    git("commit", "--allow-empty", "-m", "what is merged", at=origin)
    git("clone", str(origin), str(work), at=tmp_path)
    for name in FILES:
        shutil.copy(FOLDER / name, work)
    return work


@pytest.mark.parametrize("which", ["github", "gitlab"])
def test_a_gate_says_what_changes_in_one_comment_and_denies_by_the_merged_rules(
    which: str, tmp_path: Path, host: Host
) -> None:
    work, environment = proposed(tmp_path, merged=FILES), surroundings(tmp_path, host)
    commands = {"github": github, "gitlab": gitlab}[which]("gate")
    environment = {**environment, **({"GITLAB_CI": "true"} if which == "gitlab" else {})}
    assert not any(run_all(commands, work, environment))
    (first,) = host.ours()
    assert first.startswith("<!-- hcloud-diff: capacity -->\n### hcloud: no difference")
    fleet = work / "hcloud.yaml"
    fleet.write_text(fleet.read_text(encoding="utf-8").replace("count: 4", "count: 40"), encoding="utf-8")
    (work / "rules.yaml").write_text("rules: [{monthly: 1000000}]", encoding="utf-8")  # a looser gate of its own
    codes = run_all(commands, work, environment)
    assert [c for c in codes if c] == [3]
    (second,) = host.ours()
    assert "4 → 40" in second
    assert "denied" in second
    assert len(second.encode()) <= 65_536
    report = ElementTree.parse(work / "policy.xml").getroot()
    denied = [case.get("name") for case in report.iter("testcase") if case.find("failure") is not None]
    assert "budget" in denied
    assert sum(asked.startswith("POST") for asked in host.asked) == 1
    assert sum(asked.startswith(("PATCH", "PUT")) for asked in host.asked) == 1


@pytest.mark.parametrize("which", ["github", "gitlab"])
def test_a_first_pull_request_has_nothing_to_compare_with(which: str, tmp_path: Path, host: Host) -> None:
    work, environment = proposed(tmp_path, merged=()), surroundings(tmp_path, host)
    (work / "base").mkdir()  # what a pull request may bring to be compared with, or to be run beside comment.py
    (work / "base" / "json.py").write_text("raise SystemExit('not the module')", encoding="utf-8")
    (work / "base.json").write_text("{}", encoding="utf-8")
    commands = {"github": github, "gitlab": gitlab}[which]("gate")
    environment = {**environment, **({"GITLAB_CI": "true"} if which == "gitlab" else {})}
    assert not any(run_all(commands, work, environment))
    (said,) = host.ours()
    assert "a first plan" in said
