"""Machines that ran for parts of hours: a plan is of whole machines for whole hours, and may buy what is not used."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from hcloud.model.plans.held import held_now
from hcloud.model.plans.plan import Plan

if TYPE_CHECKING:
    from hcloud.model.workload import Floats

NOTHING_BOUGHT = (
    "machines ran for parts of hours: by the hours that ran, what the plan would buy for whole machines costs more"
    " than on demand, so nothing is bought"
)


def pays(plan: Plan, cores: Floats, on_demand: Decimal) -> bool:
    """Whether what is bought costs less than what it covers of the vCPUs that ran, at ``on_demand`` dollars an hour of
    a vCPU. Commitments meet use within an hour, so parts of machines count as what they are."""
    bought = held_now(plan.purchases)
    vcpus = float(sum((line.vcpus for line in bought), Decimal(0)))
    covered = Decimal(float(np.minimum(cores, vcpus).mean()))
    return sum((line.hourly for line in bought), Decimal(0)) <= covered * on_demand
