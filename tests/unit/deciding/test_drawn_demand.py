"""Demand in spans of equal length for pictures, and what is said where a part of a trace does not count."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hcloud.cli.main import run
from hcloud.planning.explanations.statement import in_spans
from hcloud.views.deciding.plan import BLOCKS, sparkline
from hcloud.views.studies.simulation import _sparkline


@pytest.mark.slow
@given(
    arrays(np.float64, st.integers(1, 400), elements=st.floats(0, 1e6, allow_subnormal=False)),
    st.integers(1, 120),
)
def test_spans_last_equally_long_and_keep_the_whole(values: npt.NDArray[np.float64], count: int) -> None:
    means, peaks = in_spans(values, min(count, len(values)))
    assert sum(means) / len(means) == pytest.approx(float(values.mean()), rel=1e-9, abs=1e-6)
    assert max(peaks) == values.max()
    assert all(mean <= peak for mean, peak in zip(means, peaks, strict=True))


def test_days_are_drawn_equally_wide() -> None:
    week = np.where(np.arange(167) % 24 == 2, 10.0, 1.0)
    means, _ = in_spans(week, 120)
    at = [i for i, mean in enumerate(means) if mean > 3]
    days = [np.mean([i for i in at if abs(i - (24 * day + 2.5) / 167 * 120) < 3]) for day in range(7)]
    assert all(b - a == pytest.approx(24 / 167 * 120, abs=1) for a, b in pairwise(days))


def test_a_peak_is_seen_in_a_narrow_line() -> None:
    values = [1.0] * 119
    values[57] = 100.0
    assert sparkline(values, 30).count(BLOCKS[-1]) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("hours", "said"), [(166, "leaves out its first 22h"), (168, "")])
def test_a_day_that_is_left_out_is_told(
    hours: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(f"j{h},{h * 3600},3600,{8 + h % 24},16,batch\n" for h in range(hours))
    trace = tmp_path / "trace.csv"
    trace.write_text(f"id,submit,duration,cores,memory,kind\n{rows}", encoding="utf-8")
    assert run(["plan", str(trace), "--provider", "aws", "--family", "m6i", "--vcpus", "32"]) == 0
    told = " ".join(capsys.readouterr().err.split())
    assert (said in told) if said else ("repeats whole days" not in told)


def test_weeks_that_come_once_more_and_years_that_do_not_count_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Five weeks fill a year ten times and two weeks of it; of two years the last one is planned for; of 11 days three
    weekdays are missing to two weeks."""
    told = {
        35: "repeat, 2 weeks spread over them once more;",
        728: "trace repeat;",
        11: "repeat, 3 days of them once more to fill two weeks;",
    }
    for days, assumed in told.items():
        series = tmp_path / f"{days}.csv"
        series.write_text("time,value\n" + "".join(f"{h * 3600},{8 + h % 24}\n" for h in range(days * 24)))
        flags = ["--provider", "aws", "--family", "m6i", "--set", "series_value=cores", "-o", "json"]
        assert run(["plan", str(series), *flags]) == 0
        plan = json.loads(capsys.readouterr().out)
        assert assumed in next(a["why"] for a in plan["assumptions"] if a["key"] == "planning.horizon")
        assert any("last 364d and leaves out its first 364d" in said for said in plan["warnings"]) == (days == 728)


@pytest.mark.parametrize("name", ["SR", "OdM", "SR+adjust-to-target"])
def test_the_name_of_a_strategy_stands_apart_from_its_bars(name: str) -> None:
    timeline = SimpleNamespace(times=[0.0, 1.0], reserved=4.0, rented={})
    line = _sparkline(cast("Any", SimpleNamespace(timeline=timeline)), name, 60)
    assert line.startswith(f"{name} ")
    assert len(line) <= 60


def test_the_drawn_demand_of_a_plan_says_its_unit_and_height(capsys: pytest.CaptureFixture[str]) -> None:
    trace = str(Path(__file__).parents[3] / "examples" / "six-weeks" / "trace.csv")
    assert run(["plan", trace, "--provider", "aws", "--family", "m6i"]) == 0
    assert "vCPUs over time, means of 8.4h, from 0 to 671:" in capsys.readouterr().out
