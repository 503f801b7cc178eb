"""What a cloud does to those who rent in it, as data: start-up times, neighbours, variability, and who feels it how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hcloud.model.measured.profile import RESOURCES
from hcloud.model.running.strategy import Key, Parameter

CLOUD_KEYS: Mapping[str, tuple[Key, ...]] = {
    "neighbours": (
        Key("mean_load", "number", "share of the other slices", 0, 1),
        Key("amplitude", "number", "share of the other slices", 0, 1),
        Key("period_seconds", "number", "s", 1, 86_400),
        Key("resample_seconds", "number", "s", 1, 86_400),
        Key("server_vcpus", "count", "vCPU", 1, 1024),
        Key("network_floor", "number", "exposure of a whole server", 0, 1),
        *(Key(f"weight_{resource}", "number", "points per point of load", 0, 10) for resource in RESOURCES),
    ),
    "batch": (
        Key("sensitivity", "number", "slowdown per 100 points of excess pressure", 0, 100),
        Key("worst_slowdown", "number", "times isolation", 1, 1000),
    ),
    "service": (
        Key("load", "number", "utilisation of its own capacity", 0, 0.99),
        Key("sensitivity", "number", "rise of utilisation per 100 points of excess pressure", 0, 100),
        Key("worst_tail", "number", "times isolation", 1, 100_000),
        Key("waiting_tail", "number", "times isolation", 1, 100_000),
    ),
    "spot": (
        Key("interruptions_per_hour", "number", "per instance and hour", 0, 60),
        Key("lost_share", "number", "share of the work done since the start", 0, 1),
    ),
    "faults": (
        Key("failed_launches", "number", "share of launches", 0, 0.9),
        Key("lost_per_hour", "number", "per machine and hour", 0, 1),
        Key("cancelled", "number", "share of jobs", 0, 1),
        Key("agent_crashes_per_hour", "number", "per agent and hour", 0, 3600),
    ),
    "phases": (
        Key("share", "number", "share of jobs", 0, 1),
        Key("begins", "numbers", "least and most share of the work", 0, 1),
        Key("lasts", "numbers", "least and most share of the work", 0, 1),
        Key("need", "numbers", "least and most times the vCPUs needed before", 0.05, 20),
        Key("pressure", "numbers", "least and most times the pressure before", 0.05, 20),
    ),
    "jobs": (
        Key("batch_tolerant_share", "number", "share of batch jobs", 0, 1),
        Key("batch_tolerant", "numbers", "least and most of the largest entry", 0, 99),
        Key("batch_sensitive", "numbers", "least and most of the largest entry", 0, 99),
        Key("service_sensitive", "numbers", "least and most of the largest entry", 0, 99),
        Key("other_entries", "numbers", "least and most share of the largest entry", 0, 1),
    ),
}
"""Every number a cloud model states, by section; who runs in it (``jobs``) is part of the model."""


@dataclass(frozen=True, slots=True)
class Quantiles:
    """A distribution as the values at rising probabilities from 0 to 1, linear in between."""

    probabilities: tuple[float, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class SizeModel:
    """What differs by instance size: seconds to start; how much more or less than the mean its neighbours press
    (``spread``, a factor drawn once an instance); how much slower than the median instance it is by itself
    (``slowness``, a factor drawn once an instance)."""

    vcpus: int
    spin_up: Quantiles
    spread: Quantiles
    slowness: Quantiles


@dataclass(frozen=True, slots=True)
class CloudModel:
    """One cloud: the parameters of :data:`CLOUD_KEYS` with their origins, and a model for each size (rising)."""

    name: str
    title: str
    source: str
    sections: Mapping[str, tuple[Parameter, ...]]
    sizes: tuple[SizeModel, ...]

    def number(self, section: str, key: str) -> float:
        """A numeric parameter; KeyError where there is none."""
        value = self._value(section, key)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"{section}.{key} is no number")
        return value

    def numbers(self, section: str, key: str) -> tuple[float, ...]:
        """A parameter that is a list of numbers."""
        value = self._value(section, key)
        if not isinstance(value, tuple):
            raise TypeError(f"{section}.{key} is no list")
        return value

    def _value(self, section: str, key: str) -> object:
        return next(p.value for p in self.sections[section] if p.key == key)
