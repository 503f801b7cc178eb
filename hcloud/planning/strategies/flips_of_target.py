"""What other wishes would choose among simulated points: another target of quality, another budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from hcloud.model.plans.operation import OperatingPoint, Operation
from hcloud.planning.strategies.choice import OperatingTarget, choose, in_doubt, is_affordable, model_of
from hcloud.planning.strategies.choice_reasons import settled_below
from hcloud.units import CENT


@dataclass(frozen=True, slots=True)
class Wish:
    """A target or a budget from which on another point is chosen, and that point."""

    qos: float
    budget: Decimal | None
    chosen: OperatingPoint


def target_of(operation: Operation) -> OperatingTarget:
    """What was wished for."""
    return OperatingTarget(
        operation.qos_target,
        operation.budget,
        operation.confidence,
        operation.alike,
        operation.service_wait,
        operation.job_wait,
    )


def next_best(operation: Operation) -> OperatingPoint | None:
    """What would be chosen if the chosen point were not there."""
    others = [p for p in operation.points if p is not operation.chosen]
    return _settled(others, target_of(operation)) if others else None


def best_of(operation: Operation, strategy: str) -> OperatingPoint | None:
    """Of a strategy the chosen point, else what would be chosen if no other strategy were there; None where it was not
    simulated."""
    mine = [p for p in operation.points if p.strategy.lower() == strategy.lower()]
    if not mine or operation.chosen in mine:
        return operation.chosen if mine else None
    return _settled(mine, target_of(operation))


def lower_target(operation: Operation) -> Wish | None:
    """The highest target below the present one at which these runs settle on something cheaper; None where they settle
    on nothing cheaper that is affordable, or nothing keeps the present one."""
    wanted = target_of(operation)
    found = settled_below(operation.points, operation.chosen, wanted) if operation.meets_target else ()
    return next((Wish(qos, operation.budget, chosen) for qos, chosen in found), None)


def higher_target(operation: Operation) -> Wish | None:
    """The target above which the chosen point no longer is, and what would be chosen then; None where it stays."""
    for level in sorted({kept for kept in _kept(operation) if kept >= operation.qos_target}):
        found = _at(operation, math.nextafter(level, math.inf), operation.budget)
        if found.chosen is not operation.chosen:
            return Wish(level, operation.budget, found.chosen)
    return None


def lower_budget(operation: Operation) -> Wish | None:
    """The budget under which another point is chosen, and which; None where the chosen one stays."""
    levels = sorted({p.monthly for p in operation.points if is_affordable(p, target_of(operation))}, reverse=True)
    for level in levels if operation.within_budget else ():
        found = _at(operation, operation.qos_target, level - CENT)
        if found.chosen is not operation.chosen:
            return Wish(operation.qos_target, level, found.chosen)
    return None


def _kept(operation: Operation) -> list[float]:
    """The shares of jobs that what is affordable keeps: only there a target turns a choice."""
    return [p.kept_qos.mean for p in operation.points if is_affordable(p, target_of(operation))]


def _at(operation: Operation, qos: float, budget: Decimal | None) -> Wish:
    wanted = replace(target_of(operation), qos=qos, budget=budget)
    stays = choose(operation.points, wanted) is operation.chosen
    return Wish(qos, budget, operation.chosen if stays else _settled(operation.points, wanted))


def _settled(points: Sequence[OperatingPoint], target: OperatingTarget) -> OperatingPoint:
    """What these runs settle on; where they leave it open, what keeps the target in the mean: seeds too few to tell a
    point to be worse would answer a wish for more quality with less."""
    affordable = [p for p in points if is_affordable(p, target)]
    return model_of(affordable, target) if in_doubt(points, target) else choose(points, target)
