"""dags.json as graphs of tasks that are to be run: sizes as engines count them."""

from __future__ import annotations

import math
from pathlib import Path

from hcloud.harvest.tasks.dags import Dag
from hcloud.model.running.job_graph import GraphVertex, JobGraph
from hcloud.readers.harvest.dags import read_dags
from hcloud.readers.job_fields import DEFAULT_MEMORY_MIB

_ROUNDING = 3


def read_graphs(path: Path, began: float) -> tuple[JobGraph, ...]:
    """The graphs of a file, which come so many seconds after ``began`` as they say. InputError with everything that is
    wrong with it."""
    return tuple(_graph(dag, began) for dag in read_dags(path, is_live=True))


def _graph(dag: Dag, began: float) -> JobGraph:
    names = [vertex.name for vertex in dag.vertices]
    return JobGraph(
        dag.name,
        began + dag.submit,
        tuple(
            GraphVertex(
                v.name,
                v.tasks,
                v.seconds,
                math.ceil(round(v.cores * 1000, _ROUNDING)),
                math.ceil(round(v.memory_gib * 1024, _ROUNDING)) or DEFAULT_MEMORY_MIB,
                v.command,
                tuple(dict.fromkeys(names[at] for at in v.after)),
            )
            for v in dag.vertices
        ),
        dag.app,
    )
