"""Several queues need as many servers."""

from __future__ import annotations

from hcloud.errors import UsageError
from hcloud.model.running.strategy import Strategy
from hcloud.policy.placing.searching import MultiClass
from hcloud.policy.registry import rule_of
from hcloud.units import counted


def check_classes(strategy: Strategy, servers: int) -> None:
    """Raises UsageError where a strategy has more classes than its reserve has servers."""
    rule = rule_of(strategy, "queueing")
    if isinstance(rule, MultiClass) and rule.classes > servers:
        raise UsageError(
            f"queueing.classes: {rule.classes} are more than the {counted(servers, 'server')} of the reserve",
            hint="each class has a pool of servers of its own: reserve more (--pool), or state fewer classes in a file"
            " of your own (a copy of policies/admissions/multi-class.yaml, --admission ./mine.yaml)",
        )
