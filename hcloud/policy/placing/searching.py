"""What a strategy asks of quality windows and the queue.

These rules stand apart from their kernels (quality, queueing), whose tables need NumPy: what only reads
strategies does without it.
"""

from __future__ import annotations

from hcloud.policy.rule import SECONDS, Known, Rule, choice, count, number, share, switch

_WEEK = 604_800
BUCKETS = ("bands", "lsh-centred", "lsh")
"""What units of one bucket have in common: a band of quality, or a hash of how their servers are pressed."""


class Monitored(Rule, of="quality", name="monitored"):
    """The quality of instance types is what their samples reached lately."""

    q90_mode: str = choice("guarantee", "literal")
    level: float = share("share of observations")
    window_seconds: float = number(SECONDS, 1, _WEEK, "window")
    probe_seconds: float = number(SECONDS, 1, _WEEK, "probe_seconds")
    cold_start: str = choice("prior", "reserved", feeds="prior_first", on="prior")

    def numbers(self, known: Known) -> dict[str, float]:
        guarantee = round(1 - self.level, 9) if self.q90_mode == "guarantee" else self.level
        return {**super().numbers(known), "guarantee": guarantee}


class ArrivalOrder(Rule, of="queueing", name="arrival-order"):
    """Jobs wait for the reserve in the order in which they came; later ones may overtake those that fit nowhere."""

    overtaking: bool = switch("overtaking")


class LateBinding(ArrivalOrder, of="queueing", name="late-binding"):
    """They go elsewhere where they would wait longer than a large instance takes to start."""

    recheck: bool = switch("recheck")
    wait_quantile: float = share("quantile of waits", "wait_quantile")
    history: int = count("recent waits", 1, 1_000_000, "history")
    cold_start: str = choice("assumed", "unbounded", feeds="assumes_waits", on="assumed")
    ahead: str = choice("counted", "ignore", feeds="count_ahead", on="counted")
    still_waiting: str = choice("age", "ignore", feeds="count_ages", on="age")


class MultiClass(ArrivalOrder, of="queueing", name="multi-class"):
    """Several queues by the quality a job needs, each with a pool of servers of its own; nobody waits longer than a
    window (ARQ: Paragon §4)."""

    classes: int = count("classes", 1, 50, "classes")
    edges: str = choice("quantile", "equal", feeds="even_edges", on="equal")
    window: str = choice("promise", "none", feeds="windowed", on="promise")
    promise: float = share("share of the best performance", "promise")
    window_share: float = share("share of the window", "window_share")
    objective: str = choice("expected", "printed", feeds="printed_objective", on="printed")
    order: str = choice("arrival", "shortest-first", feeds="shortest_first", on="shortest-first")
    history_seconds: float = number(SECONDS, 1, _WEEK, "mix_history")
    least_jobs: int = count("jobs", 1, 1024, "least_jobs")
    refit_jobs: int = count("jobs that came", 1, 1_000_000, "refit_jobs")


class BucketCounters(Rule, of="queueing", name="bucket-counters", overtaking=1):
    """Jobs wait for a unit that suits them while hardly any is free, not beyond a bound; then at the servers with the
    best units of a larger sample (Tarcil §7.4)."""

    buckets: int = count("buckets of free units", 1, 1000, "buckets")
    buckets_by: str = choice(*BUCKETS, default=BUCKETS[0])
    closeness: float = number("times the units asked for", 0, 100, "closeness")
    bucket_slack: float = share("share below the best platform", "bucket_slack")
    history_seconds: float = number(SECONDS, 1, _WEEK, "release_history")
    release_quantile: float = share("quantile of intervals between releases", "release_quantile")
    bound_deviations: float = number("standard deviations above the mean", 0, 100, "bound_deviations")
    late_candidates: int = count("candidates a vCPU", 1, 1024, "late_candidates")
    late_queues: int = count("servers waited at", 1, 16, "late_queues")

    def numbers(self, known: Known) -> dict[str, float]:
        return {**super().numbers(known), "bucket_hash": BUCKETS.index(self.buckets_by)}
