"""Batch jobs as graphs: vertices of like tasks, each begun when those before it are done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hcloud.model.running.job_graph import JobGraph


@dataclass(frozen=True, slots=True)
class Vertex:
    """So many like tasks, each of so many seconds on so many vCPUs and GiB; ``after`` are the places of the vertices
    that have to be done before, ``command`` is what each task runs (empty: nobody says)."""

    name: str
    tasks: int
    seconds: float
    cores: float
    memory_gib: float
    after: tuple[int, ...] = ()
    command: tuple[str, ...] = ()


@dataclass(frozen=True)
class Dag:
    """A job that runs again and again: its vertices, and the seconds that its last run took (None: not known); and,
    where it is run live, of which application it is, and how many seconds after the start it comes."""

    name: str
    vertices: tuple[Vertex, ...]
    last: float | None = None
    app: str = ""
    submit: float = 0.0

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """Of each vertex one more than its deepest predecessor."""
        found = [0] * len(self.vertices)
        for at in in_order([v.after for v in self.vertices])[0]:
            found[at] = 1 + max((found[before] for before in self.vertices[at].after), default=0)
        return tuple(found)

    @cached_property
    def concurrency(self) -> int:
        """The most containers at once: the largest sum of tasks over one depth (OSDI'16 §4.1)."""
        sums = dict.fromkeys(self.depths, 0)
        for depth, vertex in zip(self.depths, self.vertices, strict=True):
            sums[depth] += vertex.tasks
        return max(sums.values())

    @cached_property
    def chains(self) -> tuple[float, ...]:
        """Of each vertex the seconds from its begin to the end of the job, where every task has a server at once."""
        found = [v.seconds for v in self.vertices]
        for at in reversed(in_order([v.after for v in self.vertices])[0]):
            for before in self.vertices[at].after:
                found[before] = max(found[before], self.vertices[before].seconds + found[at])
        return tuple(found)

    @property
    def work(self) -> float:
        """All its vCPU-seconds."""
        return sum(v.tasks * v.seconds * v.cores for v in self.vertices)


def in_order(after: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    """The places in an order in which each stands behind those that it comes after; and those for which there is none,
    because they come after themselves."""
    if not any(after):  # of thousands of jobs most are one vertex
        return list(range(len(after))), []
    blocked = [len(set(before)) for before in after]
    followers: list[list[int]] = [[] for _ in after]
    for at, before in enumerate(after):
        for one in set(before):
            followers[one].append(at)
    order = [at for at, count in enumerate(blocked) if not count]
    for at in order:  # grows while it is read
        for one in followers[at]:
            blocked[one] -= 1
            if not blocked[one]:
                order.append(one)
    return order, [at for at, count in enumerate(blocked) if count]


def times(dag: Dag, factor: float) -> Dag:
    """A job with so many times the tasks, each so many times as long."""
    vertices = tuple(
        Vertex(v.name, max(round(v.tasks * factor), 1), v.seconds * factor, v.cores, v.memory_gib, v.after)
        for v in dag.vertices
    )
    return Dag(dag.name, vertices, None if dag.last is None else dag.last * factor)


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


_VCPU, _GIB = 1000, 1024


def dag_of(graph: JobGraph) -> Dag:
    """The same graph without its commands."""
    place = {vertex.name: at for at, vertex in enumerate(graph.vertices)}
    return Dag(
        graph.id,
        tuple(
            Vertex(v.name, v.tasks, v.seconds, v.cores / _VCPU, v.memory / _GIB, tuple(place[name] for name in v.after))
            for v in graph.vertices
        ),
    )


def largest_of(graph: JobGraph) -> tuple[int, int]:
    """The thousandths of a vCPU and the MiB that hold any of its tasks."""
    return max(v.cores for v in graph.vertices), max(v.memory for v in graph.vertices)


def slip_of(graph: JobGraph, undone: Mapping[str, int], waited: float) -> tuple[float, float]:
    """How many seconds a graph has lost that came so many seconds ago and still has so many tasks of each vertex to do,
    and how many it takes to do the rest, where every task has a machine at once."""
    chains = dag_of(graph).chains
    left = max((chain for v, chain in zip(graph.vertices, chains, strict=True) if undone[v.name]), default=0.0)
    return waited - (max(chains) - left), left
