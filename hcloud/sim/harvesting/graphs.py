"""The tables of what jobs are: their tasks, and which of these wait for which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hcloud.harvest.tasks.dags import Dag
from hcloud.sim.harvesting.world import NEVER

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats

    Ints = NDArray[np.int64]

VCPU, MIB = 1000, 1024
ROUNDING = 1e-6


class Graphs(NamedTuple):
    """What DagWork has of each vertex and each DAG, and the first vertex of each DAG and of one more."""

    first: Ints
    seconds: Floats
    cores: Ints
    memory: Ints
    tasks: Ints
    needs: Ints
    chain: Floats
    after_first: Ints
    after: Ints
    dag_needed: Ints
    dag_cores: Ints
    dag_memory: Ints
    dag_chain: Floats
    last: Floats


def of_dags(dags: Sequence[Dag]) -> Graphs:
    """The tables of some DAGs, in their order."""
    vertices = [v for dag in dags for v in dag.vertices]
    first = _sums([len(dag.vertices) for dag in dags])
    after = _followers(dags, first)
    cores, memory = _containers(np.array([(v.cores, v.memory_gib) for v in vertices], np.float64).reshape(-1, 2))
    begins = first[:-1]
    return Graphs(
        first=first,
        seconds=np.array([v.seconds for v in vertices], np.float64),
        cores=cores,
        memory=memory,
        tasks=np.array([v.tasks for v in vertices], np.int64),
        needs=np.array([len(set(v.after)) for v in vertices], np.int64),
        chain=np.array([c for dag in dags for c in dag.chains], np.float64),
        after_first=_sums([len(one) for one in after]),
        after=np.array([one for some in after for one in some], np.int64),
        dag_needed=np.array([dag.concurrency for dag in dags], np.int64),
        dag_cores=np.maximum.reduceat(cores, begins) if dags else cores,
        dag_memory=np.maximum.reduceat(memory, begins) if dags else memory,
        dag_chain=np.array([max(dag.chains) for dag in dags], np.float64),
        last=np.array([NEVER if dag.last is None else dag.last for dag in dags], np.float64),
    )


def of_single_tasks(tasks: Ints, seconds: Floats, containers: Floats, last: Floats) -> Graphs:
    """The tables of jobs of one vertex each: how many tasks, how long, vCPUs and GiB of each (jobs, 2), and how long
    the job took last (NaN: not known)."""
    cores, memory = _containers(containers)
    count = len(tasks)
    return Graphs(
        first=np.arange(count + 1),
        seconds=seconds,
        cores=cores,
        memory=memory,
        tasks=tasks,
        needs=np.zeros(count, np.int64),
        chain=seconds,
        after_first=np.zeros(count + 1, np.int64),
        after=np.zeros(0, np.int64),
        dag_needed=tasks,
        dag_cores=cores,
        dag_memory=memory,
        dag_chain=seconds,
        last=np.where(np.isnan(last), NEVER, last),
    )


def _containers(asked: Floats) -> tuple[Ints, Ints]:
    """Thousandths of vCPUs and MiB of (vCPUs, GiB), one of each at least where anything is asked."""
    cores = np.maximum(np.rint(asked[:, 0] * VCPU), 1).astype(np.int64)
    return cores, np.ceil(asked[:, 1] * MIB - ROUNDING).astype(np.int64)


def _sums(counts: Sequence[int]) -> Ints:
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)


def _followers(dags: Sequence[Dag], first: Ints) -> list[list[int]]:
    """Of each vertex of all DAGs those that wait for it."""
    found: list[list[int]] = [[] for _ in range(int(first[-1]))]
    for begin, dag in zip(first[:-1].tolist(), dags, strict=True):
        for at, vertex in enumerate(dag.vertices):
            for before in sorted(set(vertex.after)):
                found[begin + before].append(begin + at)
    return found
