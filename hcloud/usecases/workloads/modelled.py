"""What was assumed of a workload that changes its dollars most, in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hcloud.model.workload import Modelled
from hcloud.planning.fleets.gpu_jobs import GPUS
from hcloud.planning.forecasting.needs import KEY, NO_PROFILE, RESIZED
from hcloud.readers.workloads.formats.jobs.recorded import FEATURES, NO_ZONE
from hcloud.readers.workloads.formats.jobs.stated_units import OF_G
from hcloud.units import counted_vcpus

MEMORY_KEY, CORES_KEY = "memory_per_core", "default_cores"


def of_rules(rules: Iterable[Modelled]) -> Iterator[str]:
    """Of what was assumed of the workload that which changes most."""
    for rule in rules:
        if rule.key in (MEMORY_KEY, CORES_KEY):
            each = f"{counted_vcpus(float(rule.rule))} for each job" if rule.key == CORES_KEY else rule.rule
            yield f"no column of the workload is read as {rule.column}; assumed: {each} (workload.options.{rule.key})"
        if rule.rule == NO_ZONE:
            yield f"{rule.column} of the workload are read as {rule.rule}"
        if rule.column == FEATURES:
            yield f"{rule.column} are {rule.rule}"
        if rule.column == GPUS:
            yield f"{GPUS}: {rule.rule} ({rule.key})"
        if rule.rule == OF_G:
            yield f"{rule.column} of the workload is taken {rule.rule}"
        if rule.key == KEY and rule.rule.startswith(NO_PROFILE):
            yield f"{rule.column} of the workload have {rule.rule}"
        elif rule.key == KEY and RESIZED in rule.rule:
            yield f"{rule.column} is sized by its profile, not as asked for: {rule.rule.partition('; ')[0]}"
