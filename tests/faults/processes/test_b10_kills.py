"""A3. A dozen kills of applies over three fake clouds, by the harness of benchmark B10, which does a thousand."""

from __future__ import annotations

import pytest

from benchmarks.b10_leaks import BETWEEN_GOAL, leaks
from benchmarks.children import Forker
from benchmarks.kills import between

KILLS = 12
MOST_TRIALS = 90
SEED = 25
"""Of each cloud one process is killed that was started whole, which costs twenty forks."""


@pytest.mark.long
def test_A3_a_dozen_kills_lose_and_double_nothing(forker: Forker) -> None:
    tallies, peer = leaks(forker, MOST_TRIALS, seed=SEED, kills=KILLS, peers=2)
    assert sum(t.kills for t in tallies) >= KILLS
    for tally in tallies:
        assert tally.clean, (tally.name, tally.orphans, tally.doubles, tally.missing, tally.unfinished)
        assert tally.killed, "not one of them was a SIGKILL"
    assert any(tally.whole for tally in tallies), "none was started whole"
    assert between(tallies) >= BETWEEN_GOAL
    assert peer.orphans, "the same kills lose machines of a loop without a journal"
