"""What other wishes would choose among simulated points: another target of quality, another budget."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

from hcloud.model.operation import OperatingPoint, Operation
from hcloud.planning.operation import Target, choose, is_affordable, meets
from hcloud.units import CENT


@dataclass(frozen=True, slots=True)
class Wish:
    """A target or a budget from which on another point is chosen, and that point."""

    qos: float
    budget: Decimal | None
    chosen: OperatingPoint


def target_of(operation: Operation) -> Target:
    """What was wished for."""
    return Target(operation.qos_target, operation.budget)


def next_best(operation: Operation) -> OperatingPoint | None:
    """What would be chosen if the chosen point were not there."""
    others = [p for p in operation.points if p is not operation.chosen]
    return choose(others, target_of(operation)) if others else None


def lower_target(operation: Operation) -> Wish | None:
    """The highest target below the present one at which something cheaper is chosen; None where nothing cheaper is
    affordable."""
    chosen, wish = operation.chosen, target_of(operation)
    short = [
        p.kept_qos.mean
        for p in operation.points
        if p.hourly < chosen.hourly and is_affordable(p, wish) and not meets(p, wish)
    ]
    return _at(operation, max(short), operation.budget) if short and operation.meets_target else None


def higher_target(operation: Operation) -> Wish | None:
    """The target above which the chosen point no longer does, and what would be chosen then; None where it stays."""
    chosen = operation.chosen
    above = math.nextafter(chosen.kept_qos.mean, math.inf)
    found = _at(operation, max(above, operation.qos_target), operation.budget)
    return None if found.chosen is chosen else Wish(chosen.kept_qos.mean, operation.budget, found.chosen)


def lower_budget(operation: Operation) -> Wish | None:
    """The budget under which the chosen point is too dear, and what would be chosen then; None where it stays."""
    if not operation.within_budget:
        return None
    found = _at(operation, operation.qos_target, operation.chosen.monthly - CENT)
    return (
        None if found.chosen is operation.chosen else Wish(operation.qos_target, operation.chosen.monthly, found.chosen)
    )


def _at(operation: Operation, qos: float, budget: Decimal | None) -> Wish:
    return Wish(qos, budget, choose(operation.points, Target(qos, budget)))
