"""What an application shares with a memory stressor says how much of a usual machine it needs."""

from __future__ import annotations

from itertools import pairwise

from hcloud.profiling.place import free_memory
from hcloud.profiling.session import GIB, shared_memory


def test_scores_spread_over_the_scale() -> None:
    """An application that holds its peak loses when the stressor holds the rest: the score is that rest's share."""
    peaks = [0.1, 0.5, 1.0, 2.0, 3.0, 3.6, 6.0]
    scores = [100 * (1 - peak * GIB / shared_memory(1, int(peak * GIB), 64 * GIB)) for peak in peaks]
    assert all(more > less for more, less in pairwise(scores))
    assert scores[0] > 95
    assert scores[3] == 50
    assert scores[-1] < 10


def test_no_more_is_shared_than_is_free_and_no_less_than_it_needs() -> None:
    assert shared_memory(2, GIB, 64 * GIB) == 8 * GIB
    assert shared_memory(2, GIB, 5 * GIB) == 4 * GIB
    assert shared_memory(64, GIB, 512 * GIB) == 16 * GIB
    assert shared_memory(1, 10 * GIB, 64 * GIB) == 11 * GIB
    assert free_memory() > 0
