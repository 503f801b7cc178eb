"""M8: how long an idle instance is kept (thesis §8.3.2)."""

from __future__ import annotations

from hcloud.policy.rule import DAY, SECONDS, Rule, number, share, switch
from hcloud.policy.rules import Rules

_GAP_SMOOTHING = 0.05
"""Weight of the newest gap in the mean seconds between jobs."""


class SpinUpMultiple(Rule, of="retention", name="spin-up-multiple", retain=1):
    """An idle instance that behaved well is kept for a multiple of what it took to start."""

    factor: float = number("times spin-up", 0, 10_000, "factor")
    reference_interarrival_seconds: float = number(SECONDS, 0.001, DAY, "reference_gap")
    longest_seconds: float = number(SECONDS, 0, 7 * DAY, "longest")
    satisfied_level: float = share("share of expected performance", "satisfied")
    needs_quality: bool = switch("needs_quality")
    probe_before_reuse: bool = switch("probe_before_reuse")


def gap_with(mean: float, newest: float) -> float:
    """The mean seconds between jobs with one gap more; the first counts whole."""
    return mean + (newest - mean) * (_GAP_SMOOTHING if mean > 0.0 else 1.0)


def keep_seconds(rules: Rules, spin_up: float, mean_gap: float) -> float:
    """Seconds an idle instance is kept: a multiple of its own spin-up, more where jobs come more rarely."""
    if not rules.retain:
        return 0.0
    return min(rules.factor * spin_up * max(1.0, mean_gap / rules.reference_gap), rules.longest)


def behaved(rules: Rules, performance: float, reaches_quality: bool) -> bool:
    """Whether an instance whose job ran at ``performance`` (share of what was expected) is worth keeping."""
    return performance >= rules.satisfied and (reaches_quality or not rules.needs_quality)
