"""``--interference off``: no job slows another down, and nobody is rated anew."""

from __future__ import annotations

import json

import pytest

from hcloud.cli import main

WORDS = ("simulate", "scenario:local-40-oversubscribed", "--strategy", "SR+first-fit", "--json")


def performance(capsys: pytest.CaptureFixture[str], *more: str) -> tuple[str, float]:
    assert main.run(["-q", *WORDS, *more]) == 0
    found = json.loads(capsys.readouterr().out)
    (run,) = found["strategies"][0]["runs"]
    return found["cloud"], run["batch_performance"]["mean"]


@pytest.mark.slow
def test_jobs_that_do_not_slow_each_other_down_lose_only_by_their_type(capsys: pytest.CaptureFixture[str]) -> None:
    cloud, usual = performance(capsys)
    off, calm = performance(capsys, "--interference", "off")
    assert (cloud, off) == ("clusters", "clusters, without interference")
    assert usual < calm - 0.005


def test_another_word_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run([*WORDS, "--interference", "maybe"]) == 64
    assert "'on', 'off'" in capsys.readouterr().err
