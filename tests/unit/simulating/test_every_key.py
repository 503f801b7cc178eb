"""Every key of a strategy and of a cloud is read: changing it alone changes a small run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Literal

import numpy as np
import pytest
from simulating import paper_shop

from hcloud.model.running.cloud import CLOUD_KEYS, CloudModel, Quantiles
from hcloud.model.running.strategy import Strategy
from hcloud.model.target import GoalKind, JobTarget, TargetedSize
from hcloud.model.workload import JobKind, Jobs
from hcloud.policy.registry import RULES
from hcloud.readers.clouds import load_cloud
from hcloud.readers.strategies import SIZINGS, WITH, load_strategy, part_names
from hcloud.sim.outcomes.measure import measure
from hcloud.sim.run import RunOutcome, run
from hcloud.sim.setup.scenarios import scenario
from hcloud.sim.setup.shop import Shop, SmallerReserve
from hcloud.sim.setup.variation import parse_axis, varied_cloud, varied_strategy
from hcloud.usecases.studies.simulation import Study, setting_for, tasks_for

COUNT = 300


@cache
def crowded() -> Jobs:
    """Jobs of every size in quick succession, for a short time each."""
    jobs, chance = scenario("high-variability"), np.random.default_rng(5)
    names = ("memory", "gpus", "app", "qos")
    submit = np.sort(chance.uniform(0.0, 500.0, COUNT))
    cores = chance.choice([0.5, 1.0, 2.0, 4.0, 8.0, 12.0], COUNT)
    kind = np.where(chance.random(COUNT) < 0.4, JobKind.SERVICE, JobKind.BATCH).astype(jobs.kind.dtype)
    memory = cores * np.where(chance.random(COUNT) < 0.3, 4.5, 1.0)
    columns = {name: getattr(jobs, name)[:COUNT] for name in names} | {"memory": memory}
    duration = chance.uniform(10.0, 250.0, COUNT)
    return replace(jobs, submit=submit, duration=duration, cores=cores, kind=kind, **columns)


def happened(strategy: Strategy, cloud: CloudModel, jobs: Jobs | None = None) -> tuple[str, RunOutcome]:
    """A run, and a hash of its journal and its record over time."""
    profiled = strategy.mechanism("information").rule == "profiled"
    study = Study(crowded() if jobs is None else jobs, cloud, shop(), profiled, 3)
    setting, tasks = setting_for(study, strategy), tasks_for(study, strategy)
    if WITH in strategy.name:  # the types suit half of the jobs better the larger they are, the others the smaller
        speeds = np.linspace(0.8, 1.0, len(setting.shop.types))
        smaller = SmallerReserve(setting.shop.types[0].shape.name, 12, setting.shop.reserved)
        setting = replace(setting, speeds=np.array([speeds, speeds[::-1]]), beside=(smaller,), audit=True)
        tasks = replace(tasks, platform=np.arange(len(tasks)) % 2)
    made = run(setting, tasks, journal=True)
    columns = [np.ascontiguousarray(made.of_lines(n)) for n in ("code", "a", "b", "time", "value")]
    return hashlib.sha256(b"".join(c.tobytes() for c in (*columns, made.world.series))).hexdigest(), made


def differ(one: tuple[str, RunOutcome], other: tuple[str, RunOutcome]) -> bool:
    """Whether something that happened is not the same in both; figures, which few keys change alone, are asked last."""
    return one[0] != other[0] or repr(measure(one[1])) != repr(measure(other[1]))


@cache
def shop() -> Shop:
    """What is sold in all of these runs."""
    return paper_shop()


@cache
def paper_cloud() -> CloudModel:
    """Read once, as are strategies."""
    return load_cloud("paper")


@cache
def bundled(name: str) -> Strategy:
    """A strategy by its name."""
    return load_strategy(name)


HM = ("HM",)
REQUESTED = ("HM", "information.rule=requested")
SPOT = ("HM", "spot.rule=tolerant-batch,below_quality=0.9", "cloud.spot.interruptions_per_hour=20")
PATIENT = ("HM", "queueing.wait_quantile=0.5")
"""Jobs queue where half of them are expected to start in time; hardly any where 99 % have to."""
ADMISSION = "tarcil-admission"
STALE = ("SR+tarcil", "placement.notices=none")
"""Agents that know of each other only what a copy says that is seconds old."""
CRASHING = ("SR+tarcil", "cloud.faults.agent_crashes_per_hour=3600", "placement.decision_seconds=1")
ON_SEVERAL = "on several servers"
BEST_EFFORT = "some of them best effort"
SEVERAL = ("SR+tarcil", ON_SEVERAL)
CROWDED = "reserved.rule=steady-minimum,load_quantile=0.3"
"""A reserve so small that no server is without harm."""
CROWDED_HYBRID = "reserved.load_quantile=0.3"
PHASED = ("cloud.phases.share=0.6", "monitoring.sampling_period=60")
ADJUSTED = ("HM+adjust-to-target", CROWDED_HYBRID, *PHASED)
BY_RULE: dict[str, tuple[str, ...]] = {
    "reserved peak-overprovisioned": ("SR",),
    "on_demand full-servers": ("HF",),
    "mapping random": ("HM", "mapping=P1"),
    "mapping quality-threshold": ("HM", "mapping=P2"),
    "mapping static-limit": ("HM", "mapping=P5"),
    "limits fixed": ("HM", "limits.rule=fixed,soft=0.6,hard=0.8"),
    "queueing late-binding": PATIENT,
    "queueing arrival-order": ("SR", CROWDED, "queueing.overtaking=false"),
    "spot tolerant-batch": SPOT,
    **{
        f"placement {name}": (f"HM+{name}",)
        for name in part_names("placement")[1:]
        if name not in ("sparrow", "two-level", ADMISSION)
    },
    "placement sparrow": ("SR+sparrow", CROWDED),
    "placement two-level": ("SR+two-level",),
    "queueing bucket-counters": (f"SR+{ADMISSION}", CROWDED),
    "queueing multi-class": ("SR+multi-class", CROWDED, "queueing.overtaking=false"),
    **{f"sizing {name}": (f"HM+{name}",) for name in SIZINGS},
    "monitoring reclassify": ("HM+sampled", CROWDED_HYBRID, *PHASED),
    "monitoring adjust-to-target": ADJUSTED,
    "monitoring autoscale": ("SR+requested+autoscale", "cloud.phases.share=0.9", "cloud.service.load=0.6"),
}
HARSH = "cloud.batch.sensitivity=100"
"""Who is pressed is several times as slow."""
BY_KEY: dict[str, tuple[str, ...]] = {
    **{f"information.{over}sized_{what}": REQUESTED for over in ("over", "under") for what in ("share", "factor")},
    "reserved.instance_vcpus": ("SR", "reserved.rounding=down"),  # servers are no larger than the type: it rounds
    "reserved.overprovision_unprofiled": ("SR", "information.rule=requested"),
    "placement.order_unprofiled": REQUESTED,
    "placement.copy_seconds": STALE,
    "placement.commit": STALE,
    "placement.takeover_seconds": CRASHING,
    "placement.gang": SEVERAL,
    "placement.locality": SEVERAL,
    "placement.rack_servers": (*SEVERAL, "placement.rack_servers=1", "placement.locality=spread-racks"),
    "placement.zone_racks": (
        *SEVERAL,
        "placement.rack_servers=1",
        "placement.zone_racks=1",
        "placement.locality=spread-zones",
    ),
    "placement.first_relaxation": ("SR+paragon", CROWDED),
    "placement.formula": ("SR+paragon-sampled", CROWDED),
    "placement.most_looks": ("SR+paragon", CROWDED),
    "placement.draw": ("SR+paragon-sampled", CROWDED, "placement.candidates=1"),
    "placement.miss": ("HM+tarcil", "placement.quality=0.5"),
    "placement.overcommit_memory": ("SR+least-loaded", CROWDED),
    "limits.soft_floor": ("HM", "queueing.wait_quantile=0.5", "limits.lower_gain=2"),
    "limits.lower_gain": PATIENT,
    "queueing.cold_start": ("HM", "reserved.load_quantile=0.2", "limits.hard=0.7"),
    "queueing.history": ("HM", "limits.soft_start=0.5", "limits.hard=0.6"),
    **{f"monitoring.shard_{of}": (*ADJUSTED, "monitoring.servers=1") for of in ("mib", "seconds")},  # it moves
    "monitoring.isolate": ("SR+sampled", CROWDED, *PHASED),
    "monitoring.closes_server": ("SR+sampled", CROWDED, *PHASED),
    "monitoring.queue_first": ("SR+adjust-to-target", CROWDED, *PHASED),
    "monitoring.evict": ("SR+adjust-to-target", BEST_EFFORT, CROWDED, *PHASED),
    "monitoring.measured_on": ("SR+sampled", *PHASED),
    **{f"monitoring.straggler{of}": ("SR+adjust-to-target", ON_SEVERAL, CROWDED, HARSH) for of in ("s", "_seconds")},
    "monitoring.sizes_next": ("SR+target+adjust-to-target", "sizing.row_error=0.3"),
    "monitoring.settling_seconds": ("SR+requested+adjust-to-target", *PHASED, "monitoring.above_samples=3"),
}
"""The strategy, with changes, in which a key is read: by its rule, or by the key itself; HM everywhere else."""

OTHERWISE = {
    "information.injected_sources": "5",
    "information.vector_error": "12",
    "information.profiling_seconds": "20",
    "information.classification_seconds": "1",
    "information.decision_seconds": "1",
    "information.oversized_share": "0.3",
    "information.oversized_factor": "3",
    "information.undersized_share": "0.05",
    "information.undersized_factor": "2",
    "reserved.instance_vcpus": "4",
    "reserved.rounding": "down",
    "reserved.overprovision": "1",
    "reserved.overprovision_unprofiled": "3",
    "reserved.load_quantile": "0.5",
    "on_demand.sizes_vcpus": "4:16",
    "on_demand.shared": "false",
    "on_demand.headroom": "0.5",
    "mapping.reserved_share": "0.9",
    "mapping.threshold": "0.3",
    "mapping.reading": "job-quantile",
    "mapping.limit": "0.2",
    "mapping.interference_is_full": "false",
    "limits.soft": "0.3",
    "limits.soft_start": "0.5",
    "limits.soft_floor": "0.62",
    "limits.gap": "0.17",
    "limits.hard": "0.9",
    "limits.period_seconds": "30",
    "limits.lower_gain": "0.2",
    "limits.raise_gain": "0.001",
    "limits.idle_seconds": "0",
    "quality.q90_mode": "literal",
    "quality.level": "0.5",
    "quality.window_seconds": "20",
    "quality.probe_seconds": "60",
    "quality.cold_start": "reserved",
    "queueing.overtaking": "true",
    "queueing.recheck": "false",
    "queueing.wait_quantile": "0.9",
    "queueing.history": "1",
    "queueing.cold_start": "unbounded",
    "queueing.ahead": "ignore",
    "queueing.still_waiting": "ignore",
    "queueing.buckets": "3",
    "queueing.buckets_by": "lsh",
    "queueing.closeness": "5",
    "queueing.bucket_slack": "0.5",
    "queueing.history_seconds": "20",
    "queueing.release_quantile": "0.5",
    "queueing.bound_deviations": "4",
    "queueing.late_candidates": "2",
    "queueing.late_queues": "1",
    "queueing.classes": "3",
    "queueing.edges": "equal",
    "queueing.window": "none",
    "queueing.promise": "0.5",
    "queueing.window_share": "0.5",
    "queueing.objective": "printed",
    "queueing.order": "shortest-first",
    "queueing.least_jobs": "10",
    "queueing.refit_jobs": "8",
    "placement.order": "least-loaded",
    "placement.order_unprofiled": "first-fit",
    "placement.violation_tolerance": "30",
    "placement.tenant_pressure": "full",
    "placement.join_starting": "false",
    "placement.gang": "false",
    "placement.locality": "spread",
    "placement.rack_servers": "2",
    "placement.zone_racks": "2",
    "placement.first_relaxation": "40",
    "placement.most_looks": "1",
    "placement.candidates": "16",
    "placement.probes": "1",
    "placement.offer_seconds": "20",
    "placement.over": "all",
    "placement.decision_seconds": "1",
    "placement.candidate_seconds": "0.1",
    "placement.wire_seconds": "1",
    "placement.agents": "2",
    "placement.notice_seconds": "5",
    "placement.notices": "none",
    "placement.copy_seconds": "20:40",
    "placement.commit": "resample",
    "placement.takeover_seconds": "30",
    "placement.unit_seconds": "0.01",
    "placement.longest_seconds": "0.001",
    "placement.formula": "printed",
    "placement.draw": "hash",
    "placement.reading": "value",
    "placement.quality": "0.5",
    "placement.miss": "0.1",
    "placement.profile_above": "1000",
    "placement.overcommit_memory": "true",
    "placement.most_candidates": "1",
    "placement.platform_slack": "0.5",
    "sizing.oversized_share": "0.3",
    "sizing.oversized_factor": "3",
    "sizing.undersized_share": "0.05",
    "sizing.undersized_factor": "2",
    "sizing.row_error": "0.3",
    "sizing.headroom": "0.5",
    "spot.below_quality": "0.3",
    "retention.factor": "1",
    "retention.reference_interarrival_seconds": "10",
    "retention.longest_seconds": "30",
    "retention.satisfied_level": "0.2",
    "retention.needs_quality": "false",
    "retention.probe_before_reuse": "false",
    "monitoring.sample_seconds": "60",
    "monitoring.satisfied_level": "0.5",
    "monitoring.patience_seconds": "60",
    "monitoring.enlarge_factor": "3",
    "monitoring.most_reschedules": "0",
    "monitoring.samples": "5",
    "monitoring.changed_share": "0.01",
    "monitoring.isolate": "false",
    "monitoring.closes_server": "true",
    "monitoring.apart_seconds": "60",
    "monitoring.move_seconds": "60",
    "monitoring.move_gib_seconds": "30",
    "monitoring.shard_mib": "0",
    "monitoring.shard_seconds": "1",
    "monitoring.sampling_period": "30",
    "monitoring.sampled_share": "1",
    "monitoring.above": "3",
    "monitoring.above_samples": "2",
    "monitoring.aim": "0.2",
    "monitoring.settling_seconds": "0",
    "monitoring.grow": "false",
    "monitoring.evict": "false",
    "monitoring.queue_first": "true",
    "monitoring.migrate": "false",
    "monitoring.shrink": "false",
    "monitoring.written_back": "false",
    "monitoring.written_back_from": "1",
    "monitoring.sizes_next": "true",
    "monitoring.stragglers": "hadoop",
    "monitoring.straggler_seconds": "3",
    "monitoring.measured_on": "empty-server",
    "monitoring.busy": "0.65",
    "monitoring.idle": "0.1",
    "monitoring.servers": "1",
}
"""Another value for every key of a strategy."""

CLOUD_OTHERWISE = {
    "neighbours.mean_load": "0.5",
    "neighbours.amplitude": "0.2",
    "neighbours.period_seconds": "300",
    "neighbours.resample_seconds": "10",
    "neighbours.server_vcpus": "32",
    "neighbours.network_floor": "0.9",
    "batch.sensitivity": "1",
    "batch.worst_slowdown": "2",
    "service.load": "0.7",
    "service.sensitivity": "3",
    "service.worst_tail": "5",
    "service.waiting_tail": "10",
    "spot.interruptions_per_hour": "60",
    "spot.lost_share": "0",
    "faults.failed_launches": "0.5",
    "faults.lost_per_hour": "1",
    "faults.cancelled": "0.3",
    "faults.agent_crashes_per_hour": "60",
    "phases.share": "0.5",
    "phases.begins": "0.1:0.2",
    "phases.lasts": "0.3:0.4",
    "phases.need": "1:3",
    "phases.pressure": "0.1:0.2",
    "jobs.batch_tolerant_share": "0.1",
    "jobs.batch_tolerant": "45:60",
    "jobs.batch_sensitive": "80:90",
    "jobs.service_sensitive": "20:30",
    "jobs.other_entries": "0.9:0.95",
}
"""Another value for every key of a cloud but the weights of the resources, which are all tried with 9."""
CLOUD_BASES = {
    "phases": ADJUSTED,
    "spot": SPOT,
    "faults.agent_crashes_per_hour": ("SR+tarcil", "placement.decision_seconds=1"),
}
"""The strategy in which keys of a section, or a key, are read where that is not OdM."""


@cache
def unvaried(base: tuple[str, ...]) -> tuple[str, RunOutcome]:
    """A base as it is: several keys are changed in it."""
    return varied(base)


def varied(base: tuple[str, ...], change: str = "") -> tuple[str, RunOutcome]:
    """A base with one more change of it or of the cloud."""
    texts = [text for text in (*base[1:], change) if text not in ("", ON_SEVERAL, BEST_EFFORT)]
    changes = [c for text in texts for c in parse_axis(text)]
    cloud = varied_cloud(paper_cloud(), changes)
    jobs = on_several(crowded()) if ON_SEVERAL in base else crowded()
    jobs = with_best_effort(jobs) if BEST_EFFORT in base else jobs
    return happened(varied_strategy(bundled(base[0]), changes), cloud, jobs)


def on_several(jobs: Jobs) -> Jobs:
    """Jobs of which two of three run on several servers, on less of each."""
    servers = np.arange(len(jobs), dtype=np.int32) % 3 + 1
    return replace(jobs, servers=servers)


def with_best_effort(jobs: Jobs) -> Jobs:
    """Jobs of which one of three takes what others leave."""
    spare = np.where(np.arange(len(jobs)) % 3 == 0, 0, -1).astype(np.int32)
    return replace(jobs, target=spare, targets=(TargetedSize(JobTarget(GoalKind.NONE)),))


def strategy_cases() -> Iterator[tuple[tuple[str, ...], str]]:
    for mechanism, rules in RULES.items():
        for rule, followed in rules.items():
            for name in (f"{mechanism}.{key.name}" for key in followed.keys):
                base = BY_KEY.get(name) or BY_RULE.get(f"{mechanism} {rule}") or HM
                yield base, f"{name}={OTHERWISE[name]}"


def cloud_cases() -> Iterator[tuple[tuple[str, ...], str]]:
    for section, keys in CLOUD_KEYS.items():
        for name in (f"{section}.{key.name}" for key in keys):
            value = "9" if ".weight_" in name else CLOUD_OTHERWISE[name]
            base = CLOUD_BASES.get(name) or CLOUD_BASES.get(section) or ("OdM",)
            yield base, f"cloud.{name}={value}"
    yield ("OdM",), "cloud.spin_up=x3"


@pytest.mark.slow
def test_every_key_changes_a_run() -> None:
    cases = dict.fromkeys((*strategy_cases(), *cloud_cases()))
    assert [(base, change) for base, change in cases if not differ(varied(base, change), unvaried(base))] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["spread", "slowness"])
def test_what_differs_by_size_changes_a_run(name: Literal["spread", "slowness"]) -> None:
    cloud, strategy = load_cloud("paper"), load_strategy("OdM")
    sizes = []
    for size in cloud.sizes:
        usual: Quantiles = getattr(size, name)
        larger = Quantiles(usual.probabilities, tuple(1.5 * value for value in usual.values))
        sizes.append(replace(size, spread=larger) if name == "spread" else replace(size, slowness=larger))
    assert differ(happened(strategy, replace(cloud, sizes=tuple(sizes))), happened(strategy, cloud))
