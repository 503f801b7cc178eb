"""Spans and counts in words."""

from __future__ import annotations

import pytest

from hcloud.units import counted, format_age, format_span


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (81.3, "81.3s"), (120, "2min"), (450, "7.5min"), (7560, "2.1h"), (1_209_600, "14d")],
)
def test_spans(seconds: float, text: str) -> None:
    assert format_span(seconds) == text


def test_counts() -> None:
    assert [counted(n, "row") for n in (0, 1, 2, 71_616)] == ["0 rows", "1 row", "2 rows", "71,616 rows"]
    assert counted(2, "batch", "batch") == "2 batch"
    assert [format_age(n) for n in (0, 1, 2)] == ["today", "1 day old", "2 days old"]
