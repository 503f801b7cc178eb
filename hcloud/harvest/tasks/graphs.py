"""Graphs of tasks that are to be run live, as simulations see them."""

from __future__ import annotations

from collections.abc import Mapping

from hcloud.harvest.tasks.dags import Dag, Vertex
from hcloud.model.running.job_graph import JobGraph

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
