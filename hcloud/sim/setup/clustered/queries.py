"""Queries of several stages on a cluster: each stage is a job that waits for the one before, the first runs where its
data is; residents hold a part of every server."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hcloud.model.running.cluster import Cluster
from hcloud.model.workload import Jobs, Window, WindowRule
from hcloud.sim.setup.clustered.cluster_jobs import Applications, ClusterRecipe, Queries
from hcloud.sim.setup.scenarios import ScenarioCheck
from hcloud.sim.setup.streams import stream

if TYPE_CHECKING:
    from hcloud.model.workload import Floats
    from hcloud.policy.records import Ints


_EXACT = 1e-9
"""What a sum of shares may be off by rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class QueryStages:
    """The stages of queries in the order in which these come: the query of each, and its ``place`` in it from 0."""

    query: Ints
    place: Ints

    @classmethod
    def drawn(cls, recipe: ClusterRecipe, plan: Queries, seed: int) -> QueryStages:
        """Each query has as many stages as chance gives it."""
        numbers, shares = zip(*plan.stages, strict=True)
        count = recipe.arrivals.count
        stages = stream(seed, f"{recipe.name}: stages").choice(numbers, count, p=shares)
        query = np.repeat(np.arange(count), stages)
        return cls(query, np.arange(len(query)) - np.repeat(np.cumsum(stages) - stages, stages))


def residents_of_servers(recipe: ClusterRecipe, found: Applications, cluster: Cluster) -> tuple[Ints, Floats]:
    """The applications of the jobs that hold their part of every server, one on each, and the vCPUs of each."""
    held = _held(recipe, cluster)
    resident = np.flatnonzero(np.array([g.resident > 0 for g in recipe.groups])[found.group])
    return np.resize(resident, np.count_nonzero(held)).astype(np.int64), held[held > 0]


def as_queries(
    jobs: Jobs, recipe: ClusterRecipe, cluster: Cluster, stages: QueryStages, seed: int
) -> tuple[Jobs, Ints]:
    """The jobs, residents first, with names, what they wait for and where they may run; and the row that each had."""
    assert recipe.queries is not None
    residents, held = len(jobs) - len(stages.query), _held(recipe, cluster)
    mine = np.flatnonzero(held).tolist()
    later = residents + np.flatnonzero(stages.place > 0)
    after = np.column_stack([later, later - 1]).astype(np.int64)
    tables = _tables(recipe, recipe.queries, _vcpus(cluster) - held, seed)
    table_of = stream(seed, f"{recipe.name}: data").integers(len(tables), size=recipe.arrivals.count)
    first = np.where(stages.place == 0, residents + table_of[stages.query], -1)
    names = [f"resident-{server}" for server in mine]
    names += [f"{q}-{p}" for q, p in zip(stages.query.tolist(), (stages.place + 1).tolist(), strict=True)]
    made = replace(
        jobs,
        submit=_earliest(jobs, later, stages.place[later - residents]),
        ids=np.array([name.encode() for name in names]),
        serial=np.arange(len(jobs), dtype=np.int32),
        after=after,
        requires=np.r_[np.arange(residents), first].astype(np.int32),
        requirements=(*(f"server={server}" for server in mine), *tables),
    )
    order = np.argsort(made.submit, kind="stable")
    return made.at(order), order


def _earliest(jobs: Jobs, rows: Ints, places: Ints) -> Floats:
    """When each job comes if nobody waits for a server: these rows, by their places from 1, at the soonest when the job
    before them ends."""
    made = jobs.submit.copy()
    for place in range(1, int(places.max(initial=0)) + 1):
        here = rows[places == place]
        made[here] = np.maximum(made[here], made[here - 1] + jobs.duration[here - 1])
    return made


def _held(recipe: ClusterRecipe, cluster: Cluster) -> Floats:
    """Whole vCPUs of each server that residents hold: of all servers up to one their part."""
    return np.diff(np.floor(np.cumsum(_vcpus(cluster)) * recipe.resident + _EXACT), prepend=0.0)


def _vcpus(cluster: Cluster) -> Floats:
    """Those of each server in the order of their numbers: the largest type first, then the others by name of the
    cluster."""
    types = (cluster.largest, *(t for t in cluster.types if t.name != cluster.largest.name))
    return np.repeat([float(t.vcpus) for t in types], [t.servers for t in types])


def _tables(recipe: ClusterRecipe, plan: Queries, free: Floats, seed: int) -> tuple[str, ...]:
    """Where tables are: each on some servers with room for a stage beside residents."""
    need = max(vcpus for group in recipe.groups if not group.resident for vcpus in group.vcpus)
    able, chance = np.flatnonzero(free >= need), stream(seed, f"{recipe.name}: tables")
    chosen = (np.sort(chance.choice(able, plan.holders, replace=False)) for _ in range(plan.tables))
    return tuple(f"server={'|'.join(map(str, servers))}" for servers in chosen)


def window_of_queries(plan: Queries, jobs: Jobs) -> Window:
    """What counts: the time in which queries come, but for its begin."""
    return Window(plan.left_out, plan.seconds, 0.0, float(jobs.ends.max()), WindowRule.TRACE)


def query_checks(
    recipe: ClusterRecipe, stages: QueryStages, held: float, load: tuple[float, float]
) -> tuple[ScenarioCheck, ...]:
    """What the source states beside what was generated; ``held`` is the part of all vCPUs that residents hold."""
    assert recipe.queries is not None
    count = recipe.arrivals.count
    return (
        ScenarioCheck("queries a second", 33.3, count / recipe.queries.seconds, 0.001),
        ScenarioCheck("stages of a query", recipe.queries.mean_stages, len(stages.query) / count, 0.01),
        *((ScenarioCheck("vCPUs that residents hold", recipe.resident, held, 0.02),) if recipe.resident else ()),
        ScenarioCheck("vCPUs needed / vCPUs available", *load, 0.02),
    )
