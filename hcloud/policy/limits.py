"""M5: the soft limit follows the queue (thesis §8.4.2, Fig. 8.9a; gains and period are ours)."""

from __future__ import annotations

from hcloud.policy.rules import Rules


def next_soft_limit(rules: Rules, soft: float, growth: int, empty_seconds: float) -> float:
    """The soft limit after one period: lower by the growth of the queue, higher once it has long been empty.

    ``growth`` is in jobs over the period. The result lies from ``soft_floor`` to ``hard - gap``.
    """
    if growth > 0:
        soft -= rules.lower_gain * growth / rules.period
    elif empty_seconds >= rules.idle_seconds:
        soft += rules.raise_gain * rules.period
    return min(max(soft, rules.soft_floor), rules.hard - rules.gap)
