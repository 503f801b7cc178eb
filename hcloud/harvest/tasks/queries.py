"""Synthetic queries: seeded graphs of maps and reduces, for pools without jobs of their own."""

from __future__ import annotations

import numpy as np

from hcloud.harvest.tasks.dags import Dag, Vertex

COUNT = 52
"""OSDI'16 §6.1 runs as many."""
_CORES, _MEMORY = 1.0, 2.75
_MEDIAN_SECONDS, _SPREAD_SECONDS, _MOST_SECONDS = 25.0, 0.6, 180.0
_MEDIAN_TASKS, _SPREAD_TASKS, _MOST_TASKS = 18.0, 1.2, 469
"""Ours but the last, the most containers that the study names of a query (its figure 7)."""


def queries(seed: int, count: int = COUNT) -> tuple[Dag, ...]:
    """Queries of 1 to 4 scans that are joined one after the other, then summed up; containers of one vCPU."""
    chance = np.random.default_rng([seed, 7])
    return tuple(_query(f"query-{at + 1}", chance) for at in range(count))


def _query(name: str, chance: np.random.Generator) -> Dag:
    scans = int(chance.integers(1, 5))
    made = [_vertex(f"scan {at + 1}", chance, ()) for at in range(scans)]
    joined = 0
    for at in range(1, scans):
        made.append(_vertex(f"join {at}", chance, (joined, at), 0.5))
        joined = len(made) - 1
    for at in range(int(chance.integers(1, 4))):
        made.append(_vertex(f"reduce {at + 1}", chance, (joined,), 0.25))
        joined = len(made) - 1
    return Dag(name, tuple(made))


def _vertex(name: str, chance: np.random.Generator, after: tuple[int, ...], share: float = 1.0) -> Vertex:
    tasks = min(max(round(share * _MEDIAN_TASKS * np.exp(chance.normal(0.0, _SPREAD_TASKS))), 1), _MOST_TASKS)
    seconds = min(_MEDIAN_SECONDS * np.exp(chance.normal(0.0, _SPREAD_SECONDS)), _MOST_SECONDS)
    return Vertex(name, tasks, round(float(seconds), 1), _CORES, _MEMORY, after)
