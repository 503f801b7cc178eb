"""A provisioning strategy as data: what it reserves and rents, by which rules, and where its numbers come from."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Literal

FORMAT_VERSION = "1.0"

Value = bool | int | float | str | tuple[float, ...]
Kind = Literal["number", "count", "switch", "choice", "numbers"]


class ParameterOrigin(StrEnum):
    """Who says so: the thesis, arithmetic on what it says, another publication, or we where all are silent."""

    PUBLISHED = "T"
    DERIVED = "D"
    OURS = "C"
    OTHER = "X"

    @property
    def label(self) -> str:
        """The origin in a word."""
        return {"T": "published", "D": "derived", "C": "ours", "X": "other publication"}[self.value]


@dataclass(frozen=True, slots=True)
class Key:
    """One number (or choice) that a rule needs: its kind, unit and what is allowed."""

    name: str
    kind: Kind
    unit: str = ""
    least: float = -math.inf
    most: float = math.inf
    choices: tuple[str, ...] = ()

    @property
    def allowed(self) -> str:
        """What may stand there, for people."""
        if self.choices:
            return " or ".join(self.choices)
        if self.kind == "switch":
            return "true or false"
        what = {"count": "a whole number", "numbers": "a rising list of numbers"}.get(self.kind, "a number")
        if self.most < math.inf:
            return f"{what} from {self.least:g} to {self.most:g}"
        return what if self.least == -math.inf else f"{what} of at least {self.least:g}"

    def accepts(self, value: object) -> bool:
        """Whether a value read from a file may stand there."""
        if self.kind == "numbers":
            return isinstance(value, tuple) and self._accepts_list(value)
        if self.kind == "switch":
            return isinstance(value, bool)
        if self.kind == "choice":
            return value in self.choices
        return self._accepts_number(value) and (self.kind == "number" or isinstance(value, int))

    def _accepts_list(self, values: tuple[object, ...]) -> bool:
        numbers = [v for v in values if isinstance(v, int | float)]
        rising = all(a < b for a, b in pairwise(numbers))
        return bool(values) and rising and all(map(self._accepts_number, values))

    def _accepts_number(self, value: object) -> bool:
        return isinstance(value, int | float) and not isinstance(value, bool) and self.least <= value <= self.most


@dataclass(frozen=True, slots=True)
class Parameter:
    """One number of a strategy with its unit, its origin and the reason for it."""

    key: str
    value: Value
    unit: str
    origin: ParameterOrigin
    source: str
    why: str


@dataclass(frozen=True, slots=True)
class Mechanism:
    """One decision of a strategy: the rule it follows and the numbers of that rule."""

    name: str
    rule: str
    origin: ParameterOrigin
    source: str
    why: str
    parameters: tuple[Parameter, ...] = ()

    def parameter(self, key: str) -> Parameter:
        """The parameter of a key; KeyError names the mechanism and rule that lack it."""
        for parameter in self.parameters:
            if parameter.key == key:
                return parameter
        raise KeyError(f"{self.name}: the rule {self.rule} has no {key}")

    def number(self, key: str) -> float:
        """A numeric parameter."""
        value = self.parameter(key).value
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"{self.name}.{key} is no number")
        return value

    def switch(self, key: str) -> bool:
        """A parameter that is on or off."""
        value = self.parameter(key).value
        if not isinstance(value, bool):
            raise TypeError(f"{self.name}.{key} is no switch")
        return value

    def choice(self, key: str) -> str:
        """A parameter that names one of several readings."""
        value = self.parameter(key).value
        if not isinstance(value, str):
            raise TypeError(f"{self.name}.{key} is no choice")
        return value

    def numbers(self, key: str) -> tuple[float, ...]:
        """A parameter that is a list of numbers."""
        value = self.parameter(key).value
        if not isinstance(value, tuple):
            raise TypeError(f"{self.name}.{key} is no list")
        return value


@dataclass(frozen=True, slots=True)
class Strategy:
    """A whole strategy: every mechanism of :data:`RULES` once, in that order."""

    name: str
    title: str
    summary: str
    source: str
    mechanisms: tuple[Mechanism, ...]

    def mechanism(self, name: str) -> Mechanism:
        """The mechanism of a name; KeyError where there is none."""
        for mechanism in self.mechanisms:
            if mechanism.name == name:
                return mechanism
        raise KeyError(f"{self.name} has no mechanism {name}")

    def digest(self) -> str:
        """sha256 of what the strategy does: rules and values, not the words about them."""
        document = {m.name: {"rule": m.rule, **{p.key: p.value for p in m.parameters}} for m in self.mechanisms}
        return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def _share(name: str, unit: str) -> Key:
    return Key(name, "number", unit, 0, 1)


def _choice(name: str, *choices: str) -> Key:
    return Key(name, "choice", "", choices=choices)


_REQUESTED = (
    _share("oversized_share", "share of requests"),
    Key("oversized_factor", "number", "times the need", 1, 1000),
    _share("undersized_share", "share of requests"),
    Key("undersized_factor", "number", "times below the need", 1, 1000),
)
_INFORMATION = (
    Key("injected_sources", "count", "sources of interference", 0, 10),
    Key("vector_error", "number", "points", 0, 100),
    Key("profiling_seconds", "number", "s", 0, 86_400),
    Key("classification_seconds", "number", "s", 0, 86_400),
    Key("decision_seconds", "number", "s", 0, 86_400),
    *_REQUESTED,
)
_COMMITMENT = (
    Key("instance_vcpus", "count", "vCPU", 1, 1024),
    _choice("rounding", "up", "nearest", "down"),
)
_SHARED = Key("shared", "switch")
_HARD = _share("hard", "share of reserved vCPUs")
_MONITORED = (
    _choice("q90_mode", "guarantee", "literal"),
    _share("level", "share of observations"),
    Key("window_seconds", "number", "s", 1, 604_800),
    Key("probe_seconds", "number", "s", 1, 604_800),
    _choice("cold_start", "prior", "reserved"),
)

RULES: Mapping[str, Mapping[str, tuple[Key, ...]]] = {
    "information": {"profiled": _INFORMATION, "requested": _INFORMATION},
    "reserved": {
        "none": (),
        "peak-overprovisioned": (
            *_COMMITMENT,
            Key("overprovision", "number", "share above the peak", 0, 10),
            Key("overprovision_unprofiled", "number", "share above the peak", 0, 10),
        ),
        "steady-minimum": (*_COMMITMENT, _share("load_quantile", "quantile of the load")),
    },
    "on_demand": {
        "none": (),
        "full-servers": (_SHARED, Key("headroom", "number", "share above what jobs ask for", 0, 10)),
        "smallest-fitting": (Key("sizes_vcpus", "numbers", "vCPU", 1, 1024), _SHARED),
    },
    "mapping": {
        "reserved-only": (),
        "on-demand-only": (),
        "random": (_share("reserved_share", "share of jobs"),),
        "quality-threshold": (_share("threshold", "quality"), _choice("reading", "absolute", "job-quantile")),
        "static-limit": (_share("limit", "share of reserved vCPUs"),),
        "dynamic": (Key("interference_is_full", "switch"),),
    },
    "limits": {
        "none": (),
        "fixed": (_share("soft", "share of reserved vCPUs"), _HARD),
        "feedback": (
            _share("soft_start", "share of reserved vCPUs"),
            _share("soft_floor", "share of reserved vCPUs"),
            _share("gap", "share of reserved vCPUs"),
            _HARD,
            Key("period_seconds", "number", "s", 0.1, 86_400),
            Key("lower_gain", "number", "share per job/s", 0, 100),
            Key("raise_gain", "number", "share per s", 0, 100),
            Key("idle_seconds", "number", "s", 0, 86_400),
        ),
    },
    "quality": {"none": (), "monitored": _MONITORED},
    "queueing": {
        "none": (),
        "arrival-order": (Key("overtaking", "switch"),),
        "late-binding": (
            Key("overtaking", "switch"),
            Key("recheck", "switch"),
            _share("wait_quantile", "quantile of waits"),
            Key("history", "count", "recent waits", 1, 1_000_000),
            _choice("cold_start", "assumed", "unbounded"),
            _choice("ahead", "counted", "ignore"),
            _choice("still_waiting", "age", "ignore"),
        ),
    },
    "placement": {
        "greedy": (
            _choice("order", "best-fit", "least-loaded", "first-fit"),
            _choice("order_unprofiled", "best-fit", "least-loaded", "first-fit"),
            Key("violation_tolerance", "number", "points of pressure", 0, 100),
            _choice("tenant_pressure", "host-share", "full"),
            Key("join_starting", "switch"),
        ),
    },
    "spot": {
        "none": (),
        "tolerant-batch": (_share("below_quality", "quality"),),
    },
    "retention": {
        "none": (),
        "spin-up-multiple": (
            Key("factor", "number", "times spin-up", 0, 10_000),
            Key("reference_interarrival_seconds", "number", "s", 0.001, 86_400),
            Key("longest_seconds", "number", "s", 0, 604_800),
            _share("satisfied_level", "share of expected performance"),
            Key("needs_quality", "switch"),
            Key("probe_before_reuse", "switch"),
        ),
    },
    "monitoring": {
        "none": (),
        "enlarge-then-reschedule": (
            Key("sample_seconds", "number", "s", 0.1, 86_400),
            _share("satisfied_level", "share of expected performance"),
            Key("patience_seconds", "number", "s", 0, 86_400),
            Key("enlarge_factor", "number", "times the allocation", 1, 100),
            Key("most_reschedules", "count", "moves of a job", 0, 1000),
        ),
    },
}
"""Every mechanism a strategy consists of, the rules it may follow, and the keys each rule needs."""
