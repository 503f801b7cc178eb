"""What tests of verbs share."""

from __future__ import annotations

import pytest


@pytest.fixture
def coarse_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans are made by the hour: a trace of some hours stands for a year, which by default has 105,120 steps."""
    monkeypatch.setenv("HYC_PLANNING__STEP", "1h")
