"""``hcloud plan``: from a configuration to a plan, whether it names a trace or a kind of machine in a bill."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from hcloud.readers.configuration.config import Loaded
from hcloud.usecases.deciding.idle_plan import FindIdle
from hcloud.usecases.deciding.plan import READING, READING_FIRST, Beside, DecidedPlan, plan_for
from hcloud.usecases.progress import Progress, part_of, unheard
from hcloud.usecases.workloads.bills import is_bill_named
from hcloud.usecases.workloads.sources import open_workload

if TYPE_CHECKING:
    from hcloud.usecases.deciding.billed.basis import BoughtSince


def make_plan(
    loaded: Loaded,
    now: datetime,
    progress: Progress = unheard,
    idle: FindIdle | None = None,
    since: BoughtSince | None = None,
) -> DecidedPlan:
    """Read the workload and the prices, decide, simulate where a strategy is asked for, and state the plan; ``idle``
    finds what services leave idle, ``since`` what was bought since the end of a bill.

    Raises InputError for unusable files, UsageError for impossible settings, EvidenceError where a price is missing,
    quarantined or older than allowed.
    """
    if is_bill_named(loaded):
        from hcloud.usecases.deciding.billed.plan import plan_kind

        return plan_kind(loaded, now, progress, since)
    simulated = loaded.config.operation.strategy is not None
    read = open_workload(loaded, part_of(progress, 0.0, READING if simulated else READING_FIRST))
    return plan_for(read, loaded, now, progress, Beside(idle=idle))
