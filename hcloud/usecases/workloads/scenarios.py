"""Generated scenarios by name: jobs alone, or jobs with the cluster that they run on."""

from __future__ import annotations

from hcloud.errors import UsageError, did_you_mean
from hcloud.model.workload import Jobs
from hcloud.readers.clouds import CLUSTERS, PAPER, load_cloud
from hcloud.readers.clusters import load_clusters
from hcloud.sim.setup.clustered.clusters import ClusterScenario, cluster_scenario
from hcloud.sim.setup.clustered.recipes import RECIPES as ON_CLUSTERS
from hcloud.sim.setup.scenarios import RECIPES, scenario

SCENARIO_NAMES = (*RECIPES, *ON_CLUSTERS)


def has_cluster(name: str | None) -> bool:
    """Whether a scenario of this name comes with a cluster."""
    return name in ON_CLUSTERS


def scenario_on_cluster(name: str, seed: int, load: float | None = None) -> ClusterScenario:
    """A scenario with its cluster, at a load of its own or another. Jobs press as calibrated on clusters of studies, on
    one whose types are sold as in the study of the cloud."""
    cluster = load_clusters().clusters[ON_CLUSTERS[name].cluster]
    return cluster_scenario(name, cluster, load_cloud(CLUSTERS if cluster.sold_by is None else PAPER), seed, load)


def scenario_jobs(name: str, seed: int) -> Jobs:
    """The jobs of any scenario; UsageError for a name that is none."""
    if name in RECIPES:
        return scenario(name, seed)
    if name in ON_CLUSTERS:
        return scenario_on_cluster(name, seed).jobs
    close, listed = did_you_mean(name, SCENARIO_NAMES), ", ".join(SCENARIO_NAMES)
    raise UsageError(f"{name!r} is not a scenario{close}", hint=f"scenarios: {listed}")
