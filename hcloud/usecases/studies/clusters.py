"""What a study on a scenario's own cluster consists of, and what cannot be asked of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from hcloud.errors import UsageError
from hcloud.model.running.cloud import CloudModel
from hcloud.model.running.strategy import Parameter, ParameterOrigin, Strategy
from hcloud.readers.clouds import load_cloud
from hcloud.readers.clusters import load_clusters
from hcloud.sim.setup.clustered.clusters import MOST_LOAD, OWN, ClusterScenario, cluster_shop
from hcloud.sim.setup.shop import Shop, SmallerReserve
from hcloud.units import counted, format_money
from hcloud.usecases.workloads.scenarios import scenario_on_cluster

_NEIGHBOURS = ("mean_load", "amplitude")


@dataclass(frozen=True, slots=True)
class ClusterGround:
    """A scenario on its cluster, with the servers as a run reserves them and the cloud that they are in."""

    found: ClusterScenario
    shop: Shop
    beside: tuple[SmallerReserve, ...]
    cloud: CloudModel


def open_cluster(name: str, cloud: str, seed: int, load: float | None) -> ClusterGround:
    """A scenario with a cluster, opened."""
    found, book = scenario_on_cluster(name, seed, load), None
    if found.cluster.sold_by is not None:
        from hcloud.readers.prices.shipped.bundled import load_bundled

        provider, region = found.cluster.sold_by
        book = load_bundled(providers={provider}, regions={region})
    shop, beside = cluster_shop(found.cluster, book, load_clusters().price)
    return ClusterGround(found, shop, beside, _unshared(load_cloud(cloud)))


def _unshared(model: CloudModel) -> CloudModel:
    """A cloud whose servers are not shared with others: nobody's load is beside that of the scenario."""
    why = "The servers of the scenario's cluster are not shared with others."
    neighbours = tuple(
        Parameter(p.key, 0, p.unit, ParameterOrigin.OURS, "", why) if p.key in _NEIGHBOURS else p
        for p in model.sections["neighbours"]
    )
    return replace(model, sections={**model.sections, "neighbours": neighbours})


def check_rents(found: ClusterScenario, shop: Shop, strategies: Sequence[Strategy]) -> None:
    """UsageError where a strategy would rent servers that nobody sells."""
    renting = [s.name for s in strategies if s.follows("on_demand")]
    if renting and shop.reserved.key.region == OWN:
        raise UsageError(
            f"scenario:{found.name} is a cluster of {counted(found.cluster.servers, 'server')} of a study:"
            f" {' and '.join(renting)} cannot rent more of them",
            hint="name a strategy that rents nothing: --strategy SR",
        )


def refuse_beside_a_cluster(name: str, flags: Sequence[tuple[str, object]]) -> None:
    """UsageError where a flag says what the scenario's cluster says."""
    given = [flag for flag, value in flags if value]
    if given:
        raise UsageError(
            f"{', '.join(given)}: scenario:{name} has its own servers, prices and jobs",
            hint="leave that out, or name a trace or scenario:high-variability",
        )


def parse_loads(text: str | None) -> tuple[float, ...]:
    """The loads that ``--load`` names; UsageError where one is not possible."""
    if text is None:
        return ()
    try:
        found = [float(word) for word in text.split(",")]
    except ValueError:
        raise UsageError(f"--load {text}: not numbers", hint="write for example --load 0.5,0.8,0.95") from None
    return checked_loads(found)


def checked_loads(found: Sequence[float]) -> tuple[float, ...]:
    """Loads that are possible, none twice; else UsageError."""
    for load in found:
        if not 0 < load <= MOST_LOAD:
            raise UsageError(
                f"--load {load:g}: must be above 0 and at most {MOST_LOAD:g}",
                hint="a load is vCPUs needed / vCPUs available: 0.8 needs 80% of the cluster",
            )
    if len(set(found)) < len(found):
        listed = ",".join(f"{load:g}" for load in found)
        raise UsageError(f"--load {listed}: the same load twice", hint="name each once")
    return tuple(found)


def refuse_load(name: str) -> UsageError:
    """Why a workload without a cluster has no load to set."""
    return UsageError(
        f"--load: {name} comes without a cluster, and its jobs run as long as they ran",
        hint="--load is for scenarios with a cluster, such as scenario:local-40; --pool states the servers of a trace",
    )


def told_of(ground: ClusterScenario, shop: Shop) -> str:
    """The cluster in a sentence: servers, vCPUs, and where their prices are from."""
    cluster = ground.cluster
    size = f"{counted(cluster.servers, 'server')} of {counted(len(cluster.types), 'type')}, {cluster.vcpus:,} vCPUs"
    if shop.reserved.key.region != OWN:
        return f"the scenario's cluster: {size}, at the prices of the book"
    price = load_clusters().price
    vcpu, gib = (format_money(Decimal(dollars), 4) for dollars in (price.vcpu_hourly, price.gib_hourly))
    return (
        f"the scenario's cluster: {size}; no provider sells them, so hcloud assumes {vcpu} per vCPU-hour"
        f" and {gib} per GiB-hour (policies/clusters)"
    )
