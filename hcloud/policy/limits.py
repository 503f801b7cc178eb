"""M5: the soft limit follows the queue (thesis §8.4.2, Fig. 8.9a; gains and period are ours)."""

from __future__ import annotations

from collections.abc import Iterable

from hcloud.policy.rule import DAY, POOL, SECONDS, Rule, number, share
from hcloud.policy.rules import Rules


class Fixed(Rule, of="limits", name="fixed"):
    """Limits that stay as they are."""

    soft: float = share(POOL, "soft")
    hard: float = share(POOL, "hard")

    def misfits(self) -> Iterable[tuple[str, str, str]]:
        if self.soft > self.hard:
            yield "soft", f"{self.soft:g}", "must not exceed hard"


class Feedback(Rule, of="limits", name="feedback", feedback=1):
    """A soft limit that is lowered while the queue grows and raised once it is empty."""

    soft_start: float = share(POOL, "soft")
    soft_floor: float = share(POOL, "soft_floor")
    gap: float = share(POOL, "gap")
    hard: float = share(POOL, "hard")
    period_seconds: float = number(SECONDS, 0.1, DAY, "period")
    lower_gain: float = number("share per job/s", 0, 100, "lower_gain")
    raise_gain: float = number("share per s", 0, 100, "raise_gain")
    idle_seconds: float = number(SECONDS, 0, DAY, "idle_seconds")

    def misfits(self) -> Iterable[tuple[str, str, str]]:
        if not self.soft_floor <= self.soft_start <= self.hard - self.gap + 1e-12:
            yield "soft_start", f"{self.soft_start:g}", "must lie from soft_floor to hard - gap"


def next_soft_limit(rules: Rules, soft: float, growth: int, empty_seconds: float) -> float:
    """The soft limit after one period: lower by the growth of the queue, higher once it has long been empty.

    ``growth`` is in jobs over the period. The result lies from ``soft_floor`` to ``hard - gap``.
    """
    if growth > 0:
        soft -= rules.lower_gain * growth / rules.period
    elif empty_seconds >= rules.idle_seconds:
        soft += rules.raise_gain * rules.period
    return min(max(soft, rules.soft_floor), rules.hard - rules.gap)
