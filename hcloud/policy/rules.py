"""A strategy as the numbers its kernels read."""

from __future__ import annotations

from typing import NamedTuple


class Rules(NamedTuple):
    """Every switch (0 or 1), code and number of a strategy; composed by :func:`hcloud.policy.compose.compose`.

    Shares lie in 0..1, times are in seconds, qualities are the two leading base-100 digits (0..9999).
    """

    informed: int
    mapping: int
    reserved_share: float
    threshold: int
    static_limit: float
    large: int
    interference_is_full: int
    soft: float
    hard: float
    feedback: int
    soft_floor: float
    gap: float
    period: float
    lower_gain: float
    raise_gain: float
    idle_seconds: float
    guarantee: float
    window: float
    prior_first: int
    overtaking: int
    recheck: int
    wait_quantile: float
    history: int
    assumes_waits: int
    count_ahead: int
    count_ages: int
    order: int
    tolerance: int
    full_pressure: int
    join_starting: int
    shared: int
    headroom: float
    retain: int
    factor: float
    reference_gap: float
    longest: float
    satisfied: float
    needs_quality: int
    probe_before_reuse: int
    monitor: int
    monitor_level: float
    monitor_period: float
    patience: float
    enlarge: float
    most_moves: int
    probe_seconds: float
    spot: int
    spot_quality: int
