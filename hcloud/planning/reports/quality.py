"""What jobs got: performance kept, waits, violations, moves, by kind and application."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hcloud.model.plans.operation import OperatingPoint
from hcloud.model.running.job import KEPT
from hcloud.planning.reports.journeys import BATCH, SERVICE, Journey

_PART = 0.5  # of a step: less is no step of its own
ALL = "all jobs"


@dataclass(frozen=True, slots=True)
class GroupQuality:
    """Jobs of a group. ``kept`` is the share of those that are ``judged`` that ended with 95 % of their performance or
    more, None where none is; ``p5`` and ``median`` are of those of which it is known, waits (seconds) of those that
    began, None where there are none. ``below`` is violations of the quality of service that were told, ``unfinished``
    jobs that had not ended; ``failed``, ``cancelled`` and ``lost`` are jobs that ended so."""

    group: str
    jobs: int
    kept: float | None
    p5: float | None
    median: float | None
    wait_p50: float | None
    wait_p95: float | None
    wait_max: float | None
    queued: float
    below: int
    moves: int
    enlarged: int
    interrupted: int
    refused: int
    unfinished: int
    failed: int
    cancelled: int
    lost: int
    judged: int


@dataclass(frozen=True, slots=True)
class AskedCapacity:
    """What was asked for over a run: mean and peak vCPUs of jobs from their arrival for as long as their work takes
    alone, without waits, by steps, within a window."""

    mean_cores: float
    peak_cores: float


@dataclass(frozen=True, slots=True)
class QualityReport:
    """Of a journal what each group of jobs got, of a plan the ``points`` that were simulated for it, what it takes
    first; the other one is empty. ``asked`` is the share of jobs that shall keep their performance."""

    name: str
    strategy: str
    groups: tuple[GroupQuality, ...] = ()
    points: tuple[OperatingPoint, ...] = ()
    asked: float | None = None
    notes: tuple[str, ...] = ()


def qualities(journeys: Sequence[Journey]) -> tuple[GroupQuality, ...]:
    """All jobs, then each kind, then each application that is named, by name."""
    found = [quality_of(ALL, journeys)]
    for kind in (BATCH, SERVICE):
        mine = [j for j in journeys if j.kind == kind]
        if mine:
            found.append(quality_of(kind, mine))
    for app in sorted({j.app for j in journeys if j.app}):
        found.append(quality_of(f"{app}/", [j for j in journeys if j.app == app]))
    return tuple(found)


def quality_of(group: str, journeys: Sequence[Journey]) -> GroupQuality:
    """What some jobs got."""
    reached = [r for j in journeys if (r := j.reached) is not None]
    waits = [w for j in journeys if (w := j.waited) is not None]
    count = max(len(journeys), 1)
    counted = [j for j in journeys if j.is_judged]
    return GroupQuality(
        group=group,
        jobs=len(journeys),
        kept=sum(r >= KEPT for j in counted if (r := j.reached) is not None) / len(counted) if counted else None,
        p5=_quantile(reached, 0.05),
        median=_quantile(reached, 0.5),
        wait_p50=_quantile(waits, 0.5),
        wait_p95=_quantile(waits, 0.95),
        wait_max=max(waits, default=None),
        queued=sum(j.queued for j in journeys) / count,
        below=sum(j.below for j in journeys),
        moves=sum(j.moves for j in journeys),
        enlarged=sum(j.enlarged for j in journeys),
        interrupted=sum(j.interrupted for j in journeys),
        refused=sum(j.refused for j in journeys),
        unfinished=sum(j.ended is None and not j.refused for j in journeys),
        failed=sum(j.failed for j in journeys),
        cancelled=sum(j.cancelled for j in journeys),
        lost=sum(j.lost for j in journeys),
        judged=len(counted),
    )


def _quantile(values: Sequence[float], level: float) -> float | None:
    return float(np.quantile(values, level)) if values else None


def span_of(
    journeys: Sequence[Journey],
    ends: float,
    step_seconds: int,
    window: tuple[float, float] | None = None,
) -> AskedCapacity:
    """Demand of a run that was told until ``ends``, within a window of seconds, else up to the last arrival."""
    if not journeys:
        return AskedCapacity(0.0, 0.0)
    first, last = journeys[0].arrived, max(j.arrived for j in journeys)
    start, until = window or (first, max(last, first + 1.0))
    edges = np.linspace(start, until, max(math.ceil((until - start) / step_seconds - _PART), 1) + 1)
    held = np.zeros(len(edges) - 1)
    for j in journeys:
        end = ends if j.ended is None else j.arrived + j.needed
        held += j.ask / 1000 * np.clip(np.minimum(edges[1:], end) - np.maximum(edges[:-1], j.arrived), 0.0, None)
    return AskedCapacity(float(held.sum() / (until - start)), float((held / np.diff(edges)).max()))
