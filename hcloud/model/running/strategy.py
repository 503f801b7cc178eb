"""A provisioning strategy as data: what it reserves and rents, by which rules, and where its numbers come from."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from typing import Literal, Self

FORMAT_VERSION = "1.0"
NONE = "none"
"""The rule of a mechanism that follows none."""
ALL_RENTED = " all on demand"
"""What is added to the name of a strategy that is run with nothing reserved."""

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
    """One number (or choice) that a rule needs: its kind, unit and what is allowed. One with a ``default`` may be left
    out."""

    name: str
    kind: Kind
    unit: str = ""
    least: float = -math.inf
    most: float = math.inf
    choices: tuple[str, ...] = ()
    default: Value | None = None

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


@dataclass(frozen=True, slots=True)
class Strategy:
    """A whole strategy: every mechanism once, in the order of :mod:`hcloud.policy.rule`."""

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

    def follows(self, mechanism: str) -> bool:
        """Whether a mechanism follows any rule."""
        return self.mechanism(mechanism).rule != NONE

    def all_rented(self) -> Self:
        """The same with nothing reserved."""
        parts = tuple(replace(m, rule=NONE, parameters=()) if m.name == "reserved" else m for m in self.mechanisms)
        return replace(self, name=f"{self.name}{ALL_RENTED}", mechanisms=parts)

    def digest(self) -> str:
        """sha256 of what the strategy does: rules and values, not the words about them."""
        document = {m.name: {"rule": m.rule, **{p.key: p.value for p in m.parameters}} for m in self.mechanisms}
        return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
