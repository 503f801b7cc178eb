"""What commitments to all sizes of a family cover beside the machines that a run keeps for them, and what of a
reserve is idle beside what is rented."""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal

import numpy as np

from hcloud.catalog.flexibility import covers_all_sizes
from hcloud.control.state import RENTED
from hcloud.policy.records import Reals
from hcloud.sim.run import RunOutcome
from hcloud.units import HOURS_PER_MONTH, cents


def covered_beside(run: RunOutcome) -> Decimal:
    """Dollars a month of what is rented while reserved machines are idle whose commitments cover every size of their
    family: a run keeps these machines, and a bill counts only what is in use. By the samples of the run."""
    types, samples, first = run.setting.shop.types, run.world.tally.samples, 0
    idle: defaultdict[str, Reals] = defaultdict(lambda: np.zeros(samples))
    for lot in run.setting.lots:
        shape, last = types[lot.kind].shape, first + lot.servers
        if covers_all_sizes(lot.offer.key, shape.family):
            idle[shape.family] += float(shape.vcpus) * (run.world.heat[:samples, first:last] == 0).sum(axis=1)
        first = last
    saved, before = np.zeros(samples), 4 + RENTED * len(types)
    for family, free in idle.items():
        vcpus, dollars = np.zeros(samples), np.zeros(samples)
        for at, one in enumerate(types):
            if one.shape.family == family:
                vcpus += float(one.shape.vcpus) * run.world.series[:samples, before + at]
                dollars += float(one.on_demand.effective_hourly) * run.world.series[:samples, before + at]
        saved += dollars * np.minimum(free / np.maximum(vcpus, 1e-9), 1.0)
    return cents(Decimal(repr(float(saved.mean()))) * HOURS_PER_MONTH) if samples else Decimal(0)


def apart_beside(run: RunOutcome) -> float:
    """The share of the reserve that is idle while as many vCPUs are rented on demand, where servers count as full on
    which jobs would slow each other; 0 where they do not. By the samples of the run."""
    types, samples, before = run.setting.shop.types, run.world.tally.samples, 4 + RENTED * len(run.setting.shop.types)
    reserved = sum(float(types[lot.kind].shape.vcpus) * lot.servers for lot in run.setting.lots)
    if not (reserved and samples and run.world.control.rules.interference_is_full):
        return 0.0
    vcpus = np.array([float(one.shape.vcpus) for one in types])
    rented = run.world.series[:samples, before : before + len(types)] @ vcpus
    free = reserved - run.world.series[:samples, 1]
    return float(np.minimum(free, rented).mean() / reserved)
