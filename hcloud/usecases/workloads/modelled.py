"""What was assumed of a workload that changes its dollars most, in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hcloud.model.workload import Modelled
from hcloud.planning.fleets.gpu_jobs import GPUS
from hcloud.planning.forecasting.needs import AS_ASKED, KEPT, KEY, NO_PROFILE, RESIZED
from hcloud.readers.workloads.formats.jobs.jobs_table import START_KEY
from hcloud.readers.workloads.formats.jobs.recorded import FEATURES, NO_ZONE
from hcloud.readers.workloads.formats.jobs.stated_units import OF_G
from hcloud.units import counted_vcpus, some_of

NAMED = 5
MEMORY_KEY, CORES_KEY = "memory_per_core", "default_cores"


def of_rules(rules: Iterable[Modelled]) -> Iterator[str]:
    """Of what was assumed of the workload that which changes most, and what profiles changed or did not."""
    rules = tuple(rules)
    for rule in rules:
        if rule.key in (MEMORY_KEY, CORES_KEY) or (rule.column, rule.key) == ("start", START_KEY):
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
    yield from _of_profiles(rule for rule in rules if rule.key == KEY)


def _of_profiles(rules: Iterable[Modelled]) -> Iterator[str]:
    as_asked: dict[str, list[str]] = {}
    for rule in rules:
        told = rule.rule.partition("; ")[0]
        if rule.rule.startswith(NO_PROFILE):
            yield f"{rule.column} of the workload have {rule.rule}"
        elif RESIZED in rule.rule:
            yield f"{rule.column} is sized by its profile, not as asked for: {told}"
        elif rule.rule.startswith(AS_ASKED):
            why = told.partition(", Q_T")[0].removeprefix(AS_ASKED).removeprefix(", as ")
            as_asked.setdefault(why or f"no smaller size surely keeps {KEPT:.0%} of the performance", []).append(
                rule.column
            )
    for why, apps in as_asked.items():
        yield f"profiled, and sized as asked for: {some_of(apps, NAMED)} ({why})"
