"""What a machine gives when it is measured: also one that others starve is found slow, not passed over."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from types import SimpleNamespace

import pytest

from hcloud.profiling.programs.keeper import probe


@pytest.mark.parametrize("rate", [probe.cpu, probe.memory])
def test_a_machine_that_gets_no_time_gives_next_to_nothing_not_nothing(
    rate: Callable[[float], float], monkeypatch: pytest.MonkeyPatch
) -> None:
    quiet = rate(0.05)
    monkeypatch.setattr(probe, "time", SimpleNamespace(monotonic=count(0.0, 7.0).__next__))
    assert 0 < rate(0.4) < quiet / 10


def test_rates_are_those_of_the_time_that_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "time", SimpleNamespace(monotonic=count(0.0, 0.1).__next__))
    assert probe.cpu(1.0) == pytest.approx(10, rel=0.11)
