"""All rules that a strategy may follow; a strategy's rules, and the numbers that its kernels read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import get_type_hints

from hcloud.model.running.strategy import Strategy
from hcloud.policy import limits, mapping, renting, repair, retention
from hcloud.policy.placing import placements, searching
from hcloud.policy.rule import MECHANISMS, RULES, Known, Rule
from hcloud.policy.rules import Rules
from hcloud.policy.sizes import information, sizing
from hcloud.policy.stragglers import WAYS

__all__ = [
    "MECHANISMS",
    "RULES",
    "compose",
    "copies_pieces",
    "most_servers",
    "rents_whole_servers",
    "rule_of",
    "sizing_of",
]
_MODULES = (
    information,
    sizing,
    renting,
    mapping,
    limits,
    searching,
    placements,
    retention,
    repair,
)  # they enter their rules


def rule_of(strategy: Strategy, mechanism: str) -> Rule:
    """The rule that a mechanism of a strategy follows, with its keys."""
    part = strategy.mechanism(mechanism)
    return RULES[mechanism][part.rule]({p.key: p.value for p in part.parameters})


def sizing_of(strategy: Strategy) -> information.SizingRule | None:
    """How much jobs are given; None where the rule of ``information`` says it."""
    if not any(part.name == "sizing" for part in strategy.mechanisms):
        return None
    rule = rule_of(strategy, "sizing")
    assert isinstance(rule, information.SizingRule)
    return rule


def copies_pieces(strategy: Strategy) -> bool:
    """Whether pieces of jobs that lag behind the others are begun a second time."""
    return getattr(rule_of(strategy, "monitoring"), "stragglers", WAYS[0]) != WAYS[0]


def most_servers(strategy: Strategy) -> int:
    """How many servers a service may have that runs."""
    return int(getattr(rule_of(strategy, "monitoring"), "servers", 1))


def rents_whole_servers(strategy: Strategy) -> bool:
    """Whether what is rented on demand, if anything is, is the large type only."""
    return not isinstance(rule_of(strategy, "on_demand"), renting.SmallestFitting)


def compose(strategy: Strategy, large: int, qualities: Sequence[int] = ()) -> Rules:
    """The numbers of a strategy. ``large`` is the index of the large type; ``qualities`` (0..9999) are those of the
    jobs to come, which a threshold stated as a quantile of the job mix is read from.

    Raises ValueError where such a threshold is stated and no job is known.
    """
    known = Known(isinstance(rule_of(strategy, "information"), information.Profiled), qualities)
    numbers: dict[str, float] = {"large": large}
    for part in strategy.mechanisms:
        numbers |= rule_of(strategy, part.name).numbers(known)
    if not getattr(rule_of(strategy, "monitoring"), "sizes_next", False):
        numbers.pop("by_rows", None)  # what a job was measured to need is its own alone
    kinds = _kinds()
    return Rules(**{name: kinds[name](value) for name, value in numbers.items()})


@cache
def _kinds() -> dict[str, type]:
    """What each number of the rules is."""
    return get_type_hints(Rules)
