"""The verbs on this machine as a cloud: a whole life, and that its price of nothing is said with its reason."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from waiting import until

from hcloud.cli import main
from hcloud.profiling.local.machines import ProcessHost
from hcloud.profiling.programs import orphans

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="machines are processes of Linux")
FLEET = """
live: {project: demo, cloud: local}
fleet:
  - {address: web, instance_type: small, count: 1}
"""


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ProcessHost]:
    (tmp_path / "hcloud.yaml").write_text(FLEET)
    monkeypatch.chdir(tmp_path)
    found = ProcessHost(tmp_path / ".hcloud" / "local" / "running")
    yield found
    found.end({p.name for p in (tmp_path / ".hcloud" / "local" / "running").glob("*")} | found.alive())


def test_a_machine_of_this_machine_lives_and_ends(host: ProcessHost, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["plan", "--detailed-exitcode"]) == 2
    assert "everything costs 0 $/h: this machine" in "".join(capsys.readouterr())
    assert main.run(["apply", "-y"]) == 0
    [name] = host.alive()
    assert main.run(["plan", "--detailed-exitcode"]) == 0
    capsys.readouterr()
    assert main.run(["status", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)
    for pid in host.processes()[name]:
        orphans.kill(pid)
    until(lambda: not host.alive())
    assert main.run(["drift"]) in (0, 2)
    assert main.run(["plan", "--detailed-exitcode"]) == 2, "what died has to come again"
    assert main.run(["apply", "-y"]) == 0
    assert len(host.alive()) == 1
    assert main.run(["destroy", "-y", "--ends", "1"]) == 0
    assert not host.alive()
    assert main.run(["gc"]) == 0


def test_a_type_that_is_not_there_is_told(host: ProcessHost, capsys: pytest.CaptureFixture[str]) -> None:
    Path("hcloud.yaml").write_text(FLEET.replace("small", "m5.large"))
    assert main.run(["plan"]) == 1
    assert "small, medium, large" in capsys.readouterr().err
