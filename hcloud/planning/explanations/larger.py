"""Jobs that no machine of a plan's lines holds: services that are planned for in pieces, and whole jobs that take a
larger machine of a family, which a commitment then covers a part of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from hcloud.model.catalog import InstanceType
from hcloud.model.workload import JobKind, Jobs, Workload
from hcloud.planning.decide import FleetDecision
from hcloud.planning.forecasting.dividing import SPLITTABLE, can_split
from hcloud.planning.settings import Divisible
from hcloud.units import counted_vcpus

if TYPE_CHECKING:
    from numpy.typing import NDArray


def larger_jobs(workload: Workload, decision: FleetDecision) -> tuple[str, ...]:
    """What to say of jobs that are larger than every machine that the fleet is stated in."""
    if not isinstance(workload, Jobs):
        return ()
    known = {c.shape.name: c.shape for chosen in decision.types for c in decision.ladders[chosen.address]}
    fleet = decision.machines
    used = {h.offer.key.instance_type for h in fleet.holdings} | {r.offer.key.instance_type for r in fleet.rentals}
    larger = np.ones(len(workload), np.bool_)
    for shape in (
        *(known[name] for name in used),
        *_spot_for_all(decision),
        *(o.shape for o in decision.owned if o.is_used),
    ):
        larger &= ~_held_by(shape, workload)
    sizes = sorted((known[name] for name in known if name not in used), key=lambda s: (s.vcpus, s.memory_gib, s.name))
    return (*_in_pieces(workload, larger, decision), *_whole(workload, larger, decision, sizes))


def _spot_for_all(decision: FleetDecision) -> Iterator[InstanceType]:
    """The sizes of spot machines, where all batch work runs on such."""
    shapes = {c.shape.name: c.shape for ladder in decision.ladders.values() for c in ladder}
    if decision.settings.spot_share_of_batch >= 1.0:
        yield from (shapes[r.offer.key.instance_type] for r in decision.spot.rentals)


def _in_pieces(jobs: Jobs, larger: NDArray[np.bool_], decision: FleetDecision) -> Iterator[str]:
    """That services are taken for replicas, unless somebody said so: the trace of each, or who asked."""
    if decision.settings.divisible is not Divisible.SERVICES or jobs.provenance.format in SPLITTABLE:
        return
    of = larger & (jobs.kind == JobKind.SERVICE)
    if jobs.divisible is not None:
        of &= jobs.divisible < 0
    if of.any():
        yield (
            f"services {_sized(jobs, of)} are larger than any machine of the plan: hcloud treats them as"
            " replicas (--divisible none keeps them whole)"
        )


def _whole(jobs: Jobs, larger: NDArray[np.bool_], decision: FleetDecision, sizes: list[InstanceType]) -> Iterator[str]:
    """Which size the largest needs that cannot be split, where the fleet is not stated in it."""
    of = larger & ~can_split(jobs, decision.settings.divisible)
    if not of.any():
        return
    holding = next((s for s in sizes if _held_by(s, jobs)[of].all()), None)
    if holding is not None:
        yield (
            f"whole jobs {_sized(jobs, of)} need a machine as large as {holding.name}: it runs in place of smaller ones"
            " of the mix, at the same price by the vCPU, and a commitment covers its part of it"
        )


def _held_by(shape: InstanceType, jobs: Jobs) -> NDArray[np.bool_]:
    held: NDArray[np.bool_] = (jobs.cores <= float(shape.vcpus)) & (jobs.memory <= float(shape.memory_gib))
    return held


def _sized(jobs: Jobs, of: NDArray[np.bool_]) -> str:
    most, gib = float(np.max(jobs.cores[of])), float(np.max(jobs.memory[of]))
    return f"of up to {counted_vcpus(most)} and {gib:g} GiB ({int(of.sum()):,} of {len(jobs):,} jobs)"
