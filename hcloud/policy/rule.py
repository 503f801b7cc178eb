"""What a rule of a strategy is: a class whose attributes are its keys, with units and bounds, beside its kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

from hcloud.model.running.strategy import NONE, Key, Value
from hcloud.policy.rules import Rules

MECHANISMS = (
    *("information", "reserved", "on_demand", "mapping", "limits", "quality", "queueing", "placement", "spot"),
    *("retention", "monitoring", "sizing"),
)
"""What a strategy decides, in the order in which it is shown."""
OPTIONAL = ("sizing",)
"""What a strategy may leave out: it then follows from the others."""
_ALWAYS_RULED = ("information", "mapping", "placement", *OPTIONAL)

POOL, SECONDS, QUALITY = "share of reserved vCPUs", "s", "quality"
DAY = 86_400


class Known(NamedTuple):
    """What the numbers of a rule may depend on beside its keys: whether jobs are profiled, and the qualities (0..9999)
    of the jobs to come."""

    informed: bool
    qualities: Sequence[int]


class DeclaredKey(NamedTuple):
    """A key of a rule: the number of :class:`Rules` that it becomes (none: other code reads the attribute), and how."""

    key: Key
    feeds: str
    becomes: Callable[[Any], float]


class Rule:
    """A rule of a mechanism. The class itself is the rule ``none``: without keys, all numbers as they are by default.

    A subclass with a ``name`` is in :data:`RULES`. ``sets`` are numbers that follow from the rule alone: what is given
    to the class beside its name.
    """

    sets: ClassVar[Mapping[str, float]] = {}
    keys: ClassVar[tuple[Key, ...]] = ()
    _declared: ClassVar[Mapping[str, DeclaredKey]] = {}

    def __init__(self, values: Mapping[str, Value]) -> None:
        vars(self).update({key.name: _stated(key, values) for key in self.keys})

    def __init_subclass__(cls, of: str = "", name: str = "", **sets: float) -> None:
        cls.sets = sets
        own = {attribute: d for attribute, d in vars(cls).items() if isinstance(d, DeclaredKey)}
        cls._declared = {**cls._declared, **own}
        cls.keys = tuple(replace(d.key, name=attribute) for attribute, d in cls._declared.items())
        fed = {d.feeds for d in own.values() if d.feeds} | set(sets)
        if unread := fed - set(Rules._fields):
            raise TypeError(f"{cls.__name__}: no kernel reads {', '.join(sorted(unread))}")
        if name:
            RULES[of][name] = cls

    def numbers(self, known: Known) -> dict[str, float]:
        """The numbers of :class:`Rules` that differ from those by default."""
        made = {d.feeds: d.becomes(getattr(self, name)) for name, d in self._declared.items() if d.feeds}
        return {**self.sets, **made}

    def misfits(self) -> Iterable[tuple[str, str, str]]:
        """Keys that cannot stand together: which, what stands there and what it would need."""
        return ()


def _stated(key: Key, values: Mapping[str, Value]) -> Value:
    return values[key.name] if key.default is None else values.get(key.name, key.default)


RULES: Mapping[str, dict[str, type[Rule]]] = {m: {} if m in _ALWAYS_RULED else {NONE: Rule} for m in MECHANISMS}
"""Every rule that a mechanism may follow, by name; complete where :mod:`hcloud.policy.registry` is imported."""


def number(unit: str, least: float, most: float, feeds: str = "", becomes: Callable[[Any], float] = float) -> Any:
    """A key that is a number."""
    return DeclaredKey(Key("", "number", unit, least, most), feeds, becomes)


def share(unit: str, feeds: str = "", becomes: Callable[[Any], float] = float) -> Any:
    """A key that is a number from 0 to 1."""
    return number(unit, 0, 1, feeds, becomes)


def count(unit: str, least: float, most: float, feeds: str = "", default: int | None = None) -> Any:
    """A key that is a whole number."""
    return DeclaredKey(Key("", "count", unit, least, most, default=default), feeds, float)


def counts(unit: str, least: float, most: float) -> Any:
    """A key that is a rising list of numbers."""
    return DeclaredKey(Key("", "numbers", unit, least, most), "", float)


def switch(feeds: str = "", default: bool | None = None) -> Any:
    """A key that is on or off."""
    return DeclaredKey(Key("", "switch", default=default), feeds, float)


def choice(*choices: str, feeds: str = "", on: str = "", default: str | None = None) -> Any:
    """A key that names one of several; as a number it is 1 for the one that is ``on``."""
    return DeclaredKey(Key("", "choice", choices=choices, default=default), feeds, lambda chosen: float(chosen == on))
