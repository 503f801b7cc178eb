"""From a strategy document to the numbers its kernels read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_type_hints

from hcloud.model.running.strategy import RULES, Mechanism, Strategy
from hcloud.policy.codes import BEST_FIT, FIRST_FIT, LEAST_LOADED
from hcloud.policy.quality import SCALE
from hcloud.policy.rules import Rules

_ORDERS = {"best-fit": BEST_FIT, "least-loaded": LEAST_LOADED, "first-fit": FIRST_FIT}
_ALWAYS = 1.0
_NEVER_SECONDS = 1e9


def compose(strategy: Strategy, large: int, qualities: Sequence[int] = ()) -> Rules:
    """The rules of a strategy. ``large`` is the index of the large type; ``qualities`` (0..9999) are those of the jobs
    to come, which a threshold stated as a quantile of the job mix is read from.

    Raises ValueError where such a threshold is stated and no job is known.
    """
    part = {m.name: m for m in strategy.mechanisms}
    informed = part["information"].rule == "profiled"
    numbers = {
        "informed": int(informed),
        "large": large,
        **_mapping(part["mapping"], qualities),
        **_limits(part["limits"]),
        **_quality(part["quality"]),
        **_queueing(part["queueing"]),
        **_placement(part["placement"], informed=informed),
        **_renting(part["on_demand"], part["spot"]),
        **_retention(part["retention"]),
        **_monitoring(part["monitoring"]),
    }
    whole = {name for name, kind in get_type_hints(Rules).items() if kind is int}
    return Rules._make(int(numbers[n]) if n in whole else float(numbers[n]) for n in Rules._fields)


Numbers = dict[str, float]


def _mapping(part: Mechanism, qualities: Sequence[int]) -> Numbers:
    rule = part.rule
    return {
        "mapping": tuple(RULES["mapping"]).index(rule),
        "reserved_share": part.number("reserved_share") if rule == "random" else 0.0,
        "threshold": _threshold(part, qualities) if rule == "quality-threshold" else 0,
        "static_limit": part.number("limit") if rule == "static-limit" else _ALWAYS,
        "interference_is_full": int(rule == "dynamic" and part.switch("interference_is_full")),
    }


def _threshold(part: Mechanism, qualities: Sequence[int]) -> int:
    share = part.number("threshold")
    if part.choice("reading") == "absolute":
        return round(share * SCALE)
    if len(qualities) == 0:
        raise ValueError("a threshold as a quantile of the job mix needs the jobs")
    ranked = sorted(qualities)
    return int(ranked[min(int(share * len(ranked)), len(ranked) - 1)])


def _limits(part: Mechanism) -> Numbers:
    if part.rule == "none":
        return _limit_numbers(_ALWAYS, _ALWAYS, None)
    if part.rule == "fixed":
        return _limit_numbers(part.number("soft"), part.number("hard"), None)
    return _limit_numbers(part.number("soft_start"), part.number("hard"), part)


def _limit_numbers(soft: float, hard: float, loop: Mechanism | None) -> Numbers:
    return {
        "soft": soft,
        "hard": hard,
        "feedback": int(loop is not None),
        "soft_floor": loop.number("soft_floor") if loop else 0.0,
        "gap": loop.number("gap") if loop else 0.0,
        "period": loop.number("period_seconds") if loop else _NEVER_SECONDS,
        "lower_gain": loop.number("lower_gain") if loop else 0.0,
        "raise_gain": loop.number("raise_gain") if loop else 0.0,
        "idle_seconds": loop.number("idle_seconds") if loop else 0.0,
    }


def _quality(part: Mechanism) -> Numbers:
    if part.rule == "none":
        return {"guarantee": 0.0, "window": 0.0, "prior_first": 1, "probe_seconds": _NEVER_SECONDS}
    level = part.number("level")
    return {
        "guarantee": round(1 - level, 9) if part.choice("q90_mode") == "guarantee" else level,
        "window": part.number("window_seconds"),
        "prior_first": int(part.choice("cold_start") == "prior"),
        "probe_seconds": part.number("probe_seconds"),
    }


def _queueing(part: Mechanism) -> Numbers:
    late = part.rule == "late-binding"
    return {
        "overtaking": int(part.rule != "none" and part.switch("overtaking")),
        "recheck": int(late and part.switch("recheck")),
        "wait_quantile": part.number("wait_quantile") if late else _ALWAYS,
        "history": int(part.number("history")) if late else 1,
        "assumes_waits": int(late and part.choice("cold_start") == "assumed"),
        "count_ahead": int(late and part.choice("ahead") == "counted"),
        "count_ages": int(late and part.choice("still_waiting") == "age"),
    }


def _placement(part: Mechanism, *, informed: bool) -> Numbers:
    return {
        "order": _ORDERS[part.choice("order" if informed else "order_unprofiled")],
        "tolerance": int(part.number("violation_tolerance")),
        "full_pressure": int(part.choice("tenant_pressure") == "full"),
        "join_starting": int(part.switch("join_starting")),
    }


def _renting(part: Mechanism, spot: Mechanism) -> Numbers:
    return {
        "shared": int(part.rule != "none" and part.switch("shared")),
        "headroom": part.number("headroom") if part.rule == "full-servers" else 0.0,
        "spot": int(spot.rule != "none"),
        "spot_quality": round(spot.number("below_quality") * SCALE) if spot.rule != "none" else 0,
    }


def _retention(part: Mechanism) -> Numbers:
    kept = part.rule != "none"
    return {
        "retain": int(kept),
        "factor": part.number("factor") if kept else 0.0,
        "reference_gap": part.number("reference_interarrival_seconds") if kept else _ALWAYS,
        "longest": part.number("longest_seconds") if kept else 0.0,
        "satisfied": part.number("satisfied_level") if kept else 0.0,
        "needs_quality": int(kept and part.switch("needs_quality")),
        "probe_before_reuse": int(kept and part.switch("probe_before_reuse")),
    }


def _monitoring(part: Mechanism) -> Numbers:
    watched = part.rule != "none"
    return {
        "monitor": int(watched),
        "monitor_level": part.number("satisfied_level") if watched else 0.0,
        "monitor_period": part.number("sample_seconds") if watched else _NEVER_SECONDS,
        "patience": part.number("patience_seconds") if watched else _NEVER_SECONDS,
        "enlarge": part.number("enlarge_factor") if watched else _ALWAYS,
        "most_moves": int(part.number("most_reschedules")) if watched else 0,
    }
