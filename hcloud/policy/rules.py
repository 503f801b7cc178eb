"""A strategy as the numbers its kernels read."""

from __future__ import annotations

from typing import NamedTuple

from hcloud.policy.codes import BY_OFFER

NEVER_SECONDS = 1e9


class Rules(NamedTuple):
    """Every switch (0 or 1), code and number of a strategy; composed by :func:`hcloud.policy.registry.compose`.

    By default no mechanism follows a rule. Shares lie in 0..1, times are in seconds, qualities are the two leading
    base-100 digits (0..9999).
    """

    informed: int = 0
    mapping: int = 0
    reserved_share: float = 0.0
    threshold: int = 0
    static_limit: float = 1.0
    large: int = 0
    interference_is_full: int = 0
    soft: float = 1.0
    hard: float = 1.0
    feedback: int = 0
    soft_floor: float = 0.0
    gap: float = 0.0
    period: float = NEVER_SECONDS
    lower_gain: float = 0.0
    raise_gain: float = 0.0
    idle_seconds: float = 0.0
    guarantee: float = 0.0
    window: float = 0.0
    prior_first: int = 1
    overtaking: int = 0
    recheck: int = 0
    wait_quantile: float = 1.0
    history: int = 1
    assumes_waits: int = 0
    count_ahead: int = 0
    count_ages: int = 0
    buckets: int = 0
    bucket_hash: int = 0
    closeness: float = 0.0
    bucket_slack: float = 0.0
    release_history: float = 0.0
    release_quantile: float = 0.0
    bound_deviations: float = 0.0
    late_candidates: int = 0
    late_queues: int = 0
    classes: int = 0
    windowed: int = 0
    window_share: float = 0.0
    promise: float = 0.0
    even_edges: int = 0
    printed_objective: int = 0
    shortest_first: int = 0
    mix_history: float = 0.0
    least_jobs: int = 0
    refit_jobs: int = 1
    order: int = 0
    tolerance: int = 0
    full_pressure: int = 0
    join_starting: int = 0
    ranking: int = 0
    candidates: int = 0
    most_candidates: int = 0
    over_all: int = 0
    hash_draw: int = 0
    value_reading: int = 0
    quality: float = 0.0
    miss: float = 0.0
    printed_formula: int = 0
    overcommit: int = 0
    profile_above: float = 0.0
    first_relaxation: int = 1
    most_looks: int = 0
    platform_slack: float = 0.0
    audit: int = 0
    gang: int = 1
    spread: int = 0
    agents: int = 0
    decision: float = 0.0
    candidate_cost: float = 0.0
    longest_decision: float = NEVER_SECONDS
    wire: float = 0.0
    notice: float = 0.0
    copy_least: float = NEVER_SECONDS
    copy_most: float = NEVER_SECONDS
    resample: int = 0
    takeover: float = 0.0
    shared: int = 0
    headroom: float = 0.0
    retain: int = 0
    factor: float = 0.0
    reference_gap: float = 1.0
    longest: float = 0.0
    satisfied: float = 0.0
    needs_quality: int = 0
    probe_before_reuse: int = 0
    monitor: int = 0
    monitor_level: float = 0.0
    monitor_period: float = NEVER_SECONDS
    patience: float = NEVER_SECONDS
    enlarge: float = 1.0
    most_moves: int = 0
    probe_seconds: float = NEVER_SECONDS
    spot: int = 0
    spot_quality: int = 0
    watching: int = 0
    watch_samples: int = 1
    differs: float = 0.0
    migrate: int = 0
    isolate: int = 0
    move_seconds: float = 0.0
    move_gib_seconds: float = 0.0
    shard_mib: int = 0
    shard_seconds: float = 0.0
    sample_every: float = NEVER_SECONDS
    sampled_share: float = 0.0
    above: float = NEVER_SECONDS
    above_samples: int = 1
    apart: float = 0.0
    aim: float = 0.0
    grain: int = 1
    settling: float = 0.0
    grow: int = 0
    evict: int = 0
    queue_first: int = 0
    most_servers: int = 1
    out_rate: float = 0.0
    shrink: int = 0
    learn: int = 0
    learn_from: float = 0.0
    straggling: int = 0
    straggle_period: float = NEVER_SECONDS
    fitted: int = 0
    by_rows: int = 0
    on_top: float = 0.0
    in_vitro: int = 0
    closes: int = 0
    profiling: float = 0.0

    @property
    def acts_between_events(self) -> bool:
        """Whether bounds end between events: each event is decided on by itself."""
        return bool(self.buckets or self.classes or self.watching or self.ranking == BY_OFFER)
