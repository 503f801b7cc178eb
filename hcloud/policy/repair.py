"""M9: a job below its quality of service gets more of its server, or another one (thesis §8.3.3)."""

from __future__ import annotations

from hcloud.policy.rule import DAY, SECONDS, Rule, count, number, share
from hcloud.policy.rules import Rules


class EnlargeThenReschedule(Rule, of="monitoring", name="enlarge-then-reschedule", monitor=1):
    """A job that runs badly for long gets more of its server, then another one."""

    sample_seconds: float = number(SECONDS, 0.1, DAY, "monitor_period")
    satisfied_level: float = share("share of expected performance", "monitor_level")
    patience_seconds: float = number(SECONDS, 0, DAY, "patience")
    enlarge_factor: float = number("times the allocation", 1, 100, "enlarge")
    most_reschedules: int = count("moves of a job", 0, 1000, "most_moves")


def enlarged(rules: Rules, allocated: int, free: int) -> int:
    """The allocation in thousandths of a vCPU after enlarging in place; the same where the server has no room."""
    more = int(allocated * rules.enlarge) - allocated
    return allocated + more if 0 < more <= free else allocated


def may_move(rules: Rules, moves: int) -> bool:
    """Whether a job may still be rescheduled."""
    return moves < rules.most_moves
