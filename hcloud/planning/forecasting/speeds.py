"""How fast instance families are for the applications of a workload, relative to each other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from decimal import Decimal

from hcloud.model.catalog import InstanceType

Performance = Mapping[str, float]
"""An application's performance by instance type, more is better, in a unit of its own."""


def family_speeds(performance: Performance, shapes: Mapping[str, InstanceType]) -> dict[str, float]:
    """Performance per vCPU by family, relative to the geometric mean of the families that are known.

    Types without a shape (of another provider, or made up) are left out; several types of one family count as their
    geometric mean. Empty where fewer than two families are known: one alone says nothing about the others.
    """
    known: dict[str, list[float]] = {}
    for name, value in performance.items():
        shape = shapes.get(name)
        if shape is not None and value > 0:
            known.setdefault(shape.family, []).append(math.log(value / float(shape.vcpus)))
    if len(known) < 2:
        return {}
    means = {family: math.fsum(logs) / len(logs) for family, logs in sorted(known.items())}
    middle = math.fsum(means.values()) / len(means)
    return {family: math.exp(mean - middle) for family, mean in means.items()}


def fleet_speeds(apps: Iterable[tuple[float, Mapping[str, float]]]) -> dict[str, Decimal]:
    """Speed by family for all of the work: pairs of an application's share of the vCPU hours and its speeds.

    The vCPUs that work takes on a family are its share over its speed, so shares are weighed harmonically (Amdahl's
    rule); of a family that is not known for an application it counts as 1, as the work of unknown applications does.
    Rounded to three digits, which is more than any estimate holds.
    """
    pairs = [(weight, speeds) for weight, speeds in apps if weight > 0]
    whole = math.fsum(weight for weight, _ in pairs)
    families = sorted({family for _, speeds in pairs for family in speeds})
    needed = {f: math.fsum(w / speeds.get(f, 1.0) for w, speeds in pairs) for f in families}
    return {f: round(Decimal(whole / needed[f]), 3) for f in families}
