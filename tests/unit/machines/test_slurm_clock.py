"""Slurm is asked again in time, whatever a clock is set to."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hcloud.fake.clock import FakeClock
from hcloud.providers.slurm.answers import SlurmJob
from hcloud.providers.slurm.engine import FRESH_SECONDS, SlurmEngine
from hcloud.providers.slurm.site import MARK, PARTITION, SlurmSite


class SetBack(FakeClock):
    """A clock that was set back by some seconds."""

    seconds = 0.0

    def now(self) -> float:
        return super().now() - self.seconds

    def passed(self) -> float:
        return super().now()


def test_jobs_are_seen_although_the_clock_was_set_back_a_year(tmp_path: Path) -> None:
    """What slurmctld told before was new for a year: no job came, and none ended."""
    queued: list[SlurmJob] = []
    commands: Any = SimpleNamespace(jobs=lambda: list(queued))
    clock = SetBack(speed=0.0)
    engine = SlurmEngine(SlurmSite(tmp_path), commands, clock)
    assert engine.new().orders == ()
    queued.append(SlurmJob("1", PARTITION, "PENDING", held=True, admin_comment=MARK))
    clock.seconds = 365 * 86_400.0
    clock.advance(2 * FRESH_SECONDS)
    assert [order.id for order in engine.new().orders] == ["1"]
