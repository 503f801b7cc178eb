"""M9: a job below its quality of service gets more of its server, or another one (thesis §8.3.3)."""

from __future__ import annotations

from hcloud.policy.rules import Rules


def enlarged(rules: Rules, allocated: int, free: int) -> int:
    """The allocation in thousandths of a vCPU after enlarging in place; the same where the server has no room."""
    more = int(allocated * rules.enlarge) - allocated
    return allocated + more if 0 < more <= free else allocated


def may_move(rules: Rules, moves: int) -> bool:
    """Whether a job may still be rescheduled."""
    return moves < rules.most_moves
