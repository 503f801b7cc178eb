"""Services that no machine of a plan holds whole: what is said where they are planned for in pieces."""

from __future__ import annotations

import numpy as np

from hcloud.model.workload import JobKind, Jobs, Workload
from hcloud.planning.decide import FleetDecision
from hcloud.planning.forecasting.dividing import SPLITTABLE
from hcloud.planning.settings import Divisible
from hcloud.units import counted_vcpus


def in_pieces(workload: Workload, decision: FleetDecision) -> tuple[str, ...]:
    """That services larger than every machine of the fleet are taken for replicas, unless somebody said that they are:
    the trace of each, or who asked."""
    if not isinstance(workload, Jobs) or workload.provenance.format in SPLITTABLE:
        return ()
    if decision.settings.divisible is not Divisible.SERVICES:
        return ()
    known = {c.shape.name: c.shape for ladder in decision.ladders.values() for c in ladder}
    fleet = decision.machines
    used = {h.offer.key.instance_type for h in fleet.holdings} | {r.offer.key.instance_type for r in fleet.rentals}
    shapes = [known[name] for name in sorted(used)] + [o.shape for o in decision.owned]
    left = workload.kind == JobKind.SERVICE
    if workload.divisible is not None:
        left &= workload.divisible < 0
    for shape in shapes:
        left &= (workload.cores > float(shape.vcpus)) | (workload.memory > float(shape.memory_gib))
    if not shapes or not left.any():
        return ()
    most, gib = float(np.max(workload.cores[left])), float(np.max(workload.memory[left]))
    return (
        f"services of up to {counted_vcpus(most)} and {gib:g} GiB ({int(left.sum()):,} of {len(workload):,} jobs) run in"
        " pieces here, as no machine of the plan holds one: they are taken for replicas (--divisible none: whole)",
    )
