"""The JSON schema of what ``hcloud simulate`` and ``hcloud compare`` print."""

from __future__ import annotations

from collections.abc import Mapping

from hcloud.usecases.published.screens import (
    COUNT,
    DECIMAL,
    DOLLARS,
    FLAG,
    NUMBER,
    TEXT,
    WINDOW,
    Schema,
    by_name,
    closed,
    maybe,
    printed,
    several,
)

_SPREAD = closed({"count": COUNT, **{n: maybe(NUMBER) for n in ("mean", "p5", "p25", "p50", "p75", "p95", "p99")}})
_MONEY = ("reserved", "unused_reservation", "rented")
_RUN = closed(
    {
        "seed": COUNT,
        "reserved_servers": COUNT,
        **dict.fromkeys(
            ("batch_performance", "service_tail", "completion_seconds", "waiting_seconds", "queued_seconds"), _SPREAD
        ),
        "kept_qos": maybe(NUMBER),
        "utilisation": maybe(NUMBER),
        "spin_ups": COUNT,
        "reuses": COUNT,
        "released_at_once_per_use": maybe(NUMBER),
        "released_at_once_per_instance": maybe(NUMBER),
        **dict.fromkeys(("reschedules", "enlargements", "interrupted", "refused", "unfinished"), COUNT),
        **dict.fromkeys(("refused_work", "hours"), NUMBER),
        **{f"{n}_cost": DECIMAL for n in _MONEY},
        "cost_per_ideal_hour": DECIMAL,
        "cost_per_hour": DECIMAL,
        "cumulative_cost": by_name(DECIMAL),
        "charges": several(closed({"offer": TEXT, "instances": COUNT, "seconds": COUNT, "cost": DECIMAL})),
    }
)
SIMULATED: Mapping[str, Schema] = {
    "simulation": printed(
        "hcloud simulate and compare",
        {"currency": DOLLARS, "workload": TEXT, "jobs": COUNT, "cloud": TEXT, "seeds": several(COUNT), "profiled": FLAG}
        | {
            "strategies": several(
                closed(
                    {
                        "name": TEXT,
                        "on_front": maybe(FLAG),
                        "compared": FLAG,
                        "dropped": COUNT,
                        "dropped_work": NUMBER,
                        "runs": several(_RUN),
                    }
                )
            ),
            "window": maybe(WINDOW),
        },
    ),
}
"""By the name of its file."""
