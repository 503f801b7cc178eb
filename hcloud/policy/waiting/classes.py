"""Several queues by the quality a job needs: classes of jobs, pools of servers, windows of waiting and when a job that
waits is better off one queue below (ARQ: Paragon §4, thesis ch. 6)."""

from __future__ import annotations

import math

from hcloud.policy.placing.placement import RESOURCES, UNTOUCHED
from hcloud.policy.records import Bytes, Ints, Reals

MOST_CLASSES = 50
LEVELS = 99 * RESOURCES + 1
"""Qualities of a job that are told apart: the sum of what it causes."""
SERVER_LEVELS = 101
"""Qualities of a server that are told apart: whole points, 100 without tenants."""
POINTS = 64
"""Moments of a window that are compared for leaving a queue."""


def level_of_job(vector: Bytes) -> int:
    """The quality a job needs: the points that it causes, of all resources."""
    total = 0
    for i in range(RESOURCES):
        total += int(vector[i])
    return total


def level_of_server(pressure: Ints, room: Ints, capacity: int) -> int:
    """What a server offers: the mean points that its tenants still bear."""
    total = 0
    for i in range(RESOURCES):
        bears = 100 * capacity if room[i] >= UNTOUCHED else room[i] - pressure[i]
        total += min(max(bears, 0), 100 * capacity)
    return int(total // (RESOURCES * capacity))


def find_edges(counts: Ints, total: int, edges: Reals, classes: int) -> None:
    """Write where each class begins so that each has as many of ``total`` jobs, counted by level; jobs of one level are
    in one class."""
    passed, level = 0, 0
    for one in range(1, classes):
        while level < LEVELS - 1 and (passed + counts[level]) * classes <= one * total:
            passed += counts[level]
            level += 1
        edges[one] = float(level)
    edges[0] = 0.0


def even_edges(edges: Reals, classes: int) -> None:
    """Write where each class begins if all are as wide."""
    for one in range(classes):
        edges[one] = one * 100.0 * RESOURCES / classes


def class_of(level: int, edges: Reals, classes: int) -> int:
    """The class of a job: the highest that begins at its level or below."""
    one = classes - 1
    while one > 0 and edges[one] > level:
        one -= 1
    return one


def middle_of(one: int, edges: Reals, classes: int) -> float:
    """The middle of a class, of 1."""
    end = edges[one + 1] if one + 1 < classes else 100.0 * RESOURCES
    return float((edges[one] + end) / (200.0 * RESOURCES))


def is_above(before: int, cores: int, target: float) -> bool:
    """Whether a server belongs above a cut: servers ranked better have ``before`` vCPUs together, and pools above the
    cut are to have so many; its own middle decides."""
    return before + 0.5 * cores <= target


def leaving_time(own: Reals, lower: Reals, terms: tuple[float, float, float, float], printed: bool) -> float:
    """When a job leaves a queue for the one below, in seconds from now.

    ``own`` and ``lower`` are the chances of a free server after each 64th of its window; ``terms`` the run stretched as
    far as its promise allows, the window, and the middles of both classes. The printed rule compares staying and going
    by themselves; by the expected one who goes has stayed in vain.
    """
    stretched, window, mine, below = terms
    best, at = -math.inf, 0
    for step in range(POINTS + 1):
        stay = (stretched - window * step / POINTS) * mine * own[step]
        go = (stretched - window) * below * lower[POINTS - step]
        worth = max(stay, go) if printed else stay + (1.0 - own[step]) * go
        if worth > best:
            best, at = worth, step
    return window * at / POINTS
