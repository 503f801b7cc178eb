"""``hcloud fake up`` as a process that SDKs speak to, and ``hcloud doctor --cloud`` on what it is told."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from hcloud.cli.main import run
from hcloud.fake.aws.shop import sample_shop

pytestmark = pytest.mark.usefixtures("quick_starts")

CONFIG = "live: {project: demo}\nfleet: [{address: web, instance_type: m5.large, count: 2}]\n"


@contextmanager
def fake(*words: str) -> Iterator[dict[str, str]]:
    """A fake that runs, and what it says to export."""
    command = [sys.executable, "-m", "hcloud", "fake", "up", *words]

    def heed() -> None:
        """A shell's background job ignores SIGINT, and so would everything it starts."""
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        preexec_fn=heed,  # noqa: PLW1509
    ) as process:
        assert process.stdout is not None
        exported: dict[str, str] = {}
        while "AWS_SECRET_ACCESS_KEY" not in exported:
            line = process.stdout.readline()
            assert line, "it ended before it listened"
            name, _, value = line.strip().removeprefix("export ").partition("=")
            exported[name] = value
        try:
            yield exported
        finally:
            process.send_signal(signal.SIGINT)
            try:
                assert process.wait(60) == 130
            finally:
                process.kill()


def test_a_fake_listens_and_its_ledger_tells_what_an_apply_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("hcloud.yaml").write_text(CONFIG, encoding="utf-8")
    with fake("aws") as exported:
        for name, value in exported.items():
            monkeypatch.setenv(name, value)
        assert run(["apply", "-y"]) == 0
        with urllib.request.urlopen(f"{exported['AWS_ENDPOINT_URL']}/_hcloud/ledger") as answer:
            ledger = json.load(answer)
        assert len(ledger["machines"]) == 2
        assert {m["tags"]["hcloud-project"] for m in ledger["machines"]} == {"demo"}
        mutating = [r["operation"] for r in ledger["requests"] if r["mutating"]]
        assert mutating == ["RunInstances"]
        capsys.readouterr()
        assert run(["doctor", "--cloud", "aws", "--json"]) == 0
        checks = {c["name"]: c for c in json.loads(capsys.readouterr().out)["checks"]}
        assert checks["credentials"]["status"] == "ok"
        assert checks["machines"]["message"] == "2 with an hcloud tag are visible"
        assert checks["clock"]["status"] == "ok"
        monkeypatch.setenv("HYC_LIVE__ACCOUNT", "'999999999999'")
        assert run(["apply", "-y"]) == 4
        assert "live.account is 999999999999" in capsys.readouterr().err


def test_a_listening_aws_sells_the_servers_that_strategies_reserve() -> None:
    whole = 16  # policies: reserved.instance_vcpus
    assert [t.name for t in sample_shop().types_of("us-east-1") if t.family == "m5" and t.vcpus == whole]


def test_doctor_says_what_is_missing_and_what_that_keeps_from_working(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    once = "{on: scope, answer: throttled, first: 2, retry_after: 0}"  # asked again, as other verbs do
    rules = f"rules: [{once}, {{on: machines, answer: denied}}, {{on: commitments, answer: denied}}]\n"
    Path("faults.yaml").write_text(rules, encoding="utf-8")
    assert run(["doctor", "--cloud", "fake:faults.yaml", "--json"]) == 1
    checks = {c["name"]: c for c in json.loads(capsys.readouterr().out)["checks"]}
    assert checks["credentials"]["status"] == "ok"
    assert checks["machines"]["status"] == "error"
    assert "no 'plan --cloud' and no 'apply'" in checks["machines"]["details"][0]
    assert checks["commitments"]["status"] == "warning"
    Path("faults.yaml").write_text("rules: [{on: scope, answer: expired-credentials}]\n", encoding="utf-8")
    assert run(["doctor", "--cloud", "fake:faults.yaml", "--json"]) == 1
    names = [c["name"] for c in json.loads(capsys.readouterr().out)["checks"]]
    assert "machines" not in names


@pytest.mark.parametrize(("ahead", "said"), [(-3600, "3600 s ahead of"), (3600, "3600 s behind"), (0, "within")])
def test_F6_doctor_tells_how_far_the_clock_is_off(
    ahead: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Elsewhere(BaseHTTPRequestHandler):
        """An endpoint whose clock shows another time, and that refuses everything."""

        def date_time_string(self, timestamp: float | None = None) -> str:
            return formatdate(time.time() + ahead, usegmt=True)

        def do_HEAD(self) -> None:
            self.send_response(403)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_POST = do_HEAD  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Nothing on the terminal."""

    monkeypatch.chdir(tmp_path)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("HYC_LIVE__ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        assert run(["doctor", "--cloud", "aws", "--json"]) == 1
        server.shutdown()
    checks = {c["name"]: c for c in json.loads(capsys.readouterr().out)["checks"]}
    assert checks["clock"]["status"] == ("error" if ahead else "ok")
    assert said in re.sub(r"3(59|60)\d s", "3600 s", checks["clock"]["message"])


def test_old_prices_stop_an_apply_on_a_real_cloud(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from datetime import UTC, datetime

    from hcloud.errors import EvidenceError
    from hcloud.readers.configuration.config import load_config
    from hcloud.usecases.live.ground import opened
    from hcloud.usecases.live.places import CloudSelection

    monkeypatch.chdir(tmp_path)
    Path("hcloud.yaml").write_text(CONFIG, encoding="utf-8")
    with opened(load_config(), CloudSelection("fake"), datetime(2030, 1, 1, tzinfo=UTC)) as ground:
        found = ground.changes(ground.slots(None))
        ground.check_prices(found)
        ground.selection = "aws"
        with pytest.raises(EvidenceError, match="apply accepts prices at most 30 days old"):
            ground.check_prices(found)


def test_fakes_that_are_none_and_ports_that_are_taken(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fake", "up", "mars"]) == 64
    assert "there is no fake 'mars'" in capsys.readouterr().err
    assert run(["fake", "up", "aws", "--port", "80000"]) == 64
    assert "'80000' must be 65535 or less" in " ".join(capsys.readouterr().err.split())
    assert os.environ.get("HYC_LIVE__CLOUD") is None
