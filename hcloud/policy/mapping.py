"""M4: reserved, on demand, large on demand or the local queue (thesis §8.4.2; mapping policies P1 to P8)."""

from __future__ import annotations

from typing import NamedTuple

from hcloud.policy.codes import (
    ABOVE_LIMIT,
    BELOW_LIMIT,
    BELOW_SOFT,
    COIN,
    LARGE,
    MAP_DYNAMIC,
    MAP_ON_DEMAND,
    MAP_QUALITY,
    MAP_RANDOM,
    MAP_RESERVED,
    ON_DEMAND,
    ONLY_ON_DEMAND,
    ONLY_RESERVED,
    POOL_FULL,
    QUEUE,
    RESERVED,
    RESTARTABLE,
    SENSITIVE,
    SPOT,
    TOLERANT,
    TYPE_GOOD_ENOUGH,
    TYPE_TOO_NOISY,
    WAIT_SHORT,
    WAIT_TOO_LONG,
)
from hcloud.policy.quality import SCALE
from hcloud.policy.rules import Rules


class Situation(NamedTuple):
    """What a mapping looks at. ``utilisation`` of the reserved pool and the ``soft`` limit in 0..1; ``room`` is 1 where
    a reserved server can take the job; ``offered`` and ``needed`` are qualities 0..9999 (Q90 of the on-demand type,
    Q_T of the job); ``wait`` and ``large_spin_up`` in seconds, ``wait`` being read at the hard limit only; ``coin`` is
    uniform in 0..1; ``restartable`` is 1 for a job that may be interrupted."""

    utilisation: float
    soft: float
    room: int
    offered: int
    needed: int
    wait: float
    large_spin_up: float
    coin: float
    restartable: int


def choose(rules: Rules, now: Situation) -> tuple[int, int, float]:
    """Where the job goes: action, reason, and by what margin (in the unit of what was compared)."""
    action, reason, margin = _by_rule(rules, now)
    if action == ON_DEMAND and rules.spot and now.restartable and now.needed < rules.spot_quality:
        return SPOT, RESTARTABLE, (rules.spot_quality - now.needed) / SCALE
    if action == RESERVED and not now.room:
        return QUEUE, POOL_FULL, 0.0
    return action, reason, margin


def _by_rule(rules: Rules, now: Situation) -> tuple[int, int, float]:
    if rules.mapping == MAP_DYNAMIC:
        return _dynamic(rules, now)
    if rules.mapping == MAP_RESERVED:
        return RESERVED, ONLY_RESERVED, 0.0
    if rules.mapping == MAP_ON_DEMAND:
        return ON_DEMAND, ONLY_ON_DEMAND, 0.0
    if rules.mapping == MAP_RANDOM:
        margin = rules.reserved_share - now.coin
        return (RESERVED if margin > 0 else ON_DEMAND), COIN, margin
    if rules.mapping == MAP_QUALITY:
        margin = (now.needed - rules.threshold) / SCALE
        return (RESERVED, SENSITIVE, margin) if margin > 0 else (ON_DEMAND, TOLERANT, margin)
    margin = rules.static_limit - now.utilisation
    return (RESERVED, BELOW_LIMIT, margin) if margin > 0 else (ON_DEMAND, ABOVE_LIMIT, margin)


def _dynamic(rules: Rules, now: Situation) -> tuple[int, int, float]:
    """P8: any job below the soft limit; then quality decides; at the hard limit the expected wait does, too."""
    if now.room and now.utilisation < now.soft:
        return RESERVED, BELOW_SOFT, now.soft - now.utilisation
    spare = (now.offered - now.needed) / SCALE
    if spare > 0:
        return ON_DEMAND, TYPE_GOOD_ENOUGH, spare
    if now.room and now.utilisation < rules.hard:
        return RESERVED, TYPE_TOO_NOISY, spare
    margin = now.wait - now.large_spin_up
    return (LARGE, WAIT_TOO_LONG, margin) if margin > 0 else (QUEUE, WAIT_SHORT, margin)
