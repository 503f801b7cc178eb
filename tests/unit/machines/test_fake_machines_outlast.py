"""Machines of a cloud in memory that really run: they outlast the controller that launched them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from waiting import until

from hcloud.errors import UsageError
from hcloud.fake.execute import LastingExecutor
from hcloud.fake.in_memory.memory import MemoryCloud
from hcloud.model.holdings.live import Launch, Owner
from hcloud.profiling.cage import Hierarchy
from hcloud.profiling.local.machines import ProcessHost

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="machines of processes need Linux")
OWNER = Owner("5e1f" * 8, "test", "0123456789ab")


def _launch(cloud: MemoryCloud, key: str) -> str:
    script = "#!/bin/sh\necho started >> starts\nexec sleep 1000\n"
    zone = cloud.zones("m5.large")[0]
    order = Launch(key * 32, f"operate-{key}", "m5.large", zone, 1, OWNER, start_up=script)
    return cloud.launch(order).machines[0].id


def test_machines_go_on_under_the_next_controller_and_end_with_their_cloud(tmp_path: Path) -> None:
    cloud, host = MemoryCloud("aws"), ProcessHost(tmp_path, Hierarchy(0))
    try:
        with LastingExecutor(cloud.ledger, cloud.clock, host):
            first, second = _launch(cloud, "a"), _launch(cloud, "b")
            until(lambda: host.alive() == {first, second})
        assert host.alive() == {first, second}
        cloud.terminate([first])  # nobody watches: whoever comes next ends it
        with LastingExecutor(cloud.ledger, cloud.clock, host):
            assert host.alive() == {second}
            cloud.terminate([second])
        assert not host.alive()
        assert not list(tmp_path.glob("i-*"))
    finally:
        host.end(host.alive())


@pytest.mark.slow
def test_a_machine_begins_once_however_many_controllers_look(tmp_path: Path) -> None:
    cloud, host = MemoryCloud("aws"), ProcessHost(tmp_path, Hierarchy(0))
    try:
        for _ in range(3):
            with LastingExecutor(cloud.ledger, cloud.clock, host):
                machine = next(iter(cloud.ledger.machines), None) or _launch(cloud, "a")
                until(lambda: host.alive() == {machine})  # noqa: B023
                until((tmp_path / machine / "starts").exists)
        assert (tmp_path / machine / "starts").read_text() == "started\n"
    finally:
        host.end(host.alive())


def test_without_root_a_rehearsal_says_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    from typing import Any

    from hcloud.usecases.live.operating.fake_machines import executed

    monkeypatch.setattr("os.geteuid", lambda: 1000)
    here: Any = type("Here", (), {"cloud": MemoryCloud("aws"), "selection": "fake"})()
    with pytest.raises(UsageError, match="machines run here"), executed(here, joins=True):
        raise AssertionError
    with executed(here, joins=False):
        pass
