"""``hcloud strategy``: the bundled strategies, or one of them or the user's own."""

from __future__ import annotations

from hcloud.model.running.strategy import Strategy
from hcloud.readers.strategies import load_strategy, strategy_names


def list_strategies() -> tuple[Strategy, ...]:
    """Every bundled strategy, the five of the thesis first."""
    return tuple(load_strategy(name) for name in strategy_names())


def show_strategy(name: str) -> Strategy:
    """One strategy by name or by the path of its file; raises UsageError or InputError where it cannot be had."""
    return load_strategy(name)
