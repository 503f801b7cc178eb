"""B5: the exact commitment plan beside OR-tools and HiGHS on the same instances, interleaved in one run.

``python -m benchmarks.b5_commitments`` prints ``name value unit | peer x | limit y | ratio`` per term. Solving only:
models are built, kernels compiled and files read outside the clock; hcloud's figure includes checking its input and
its certificate. Peers run in each formulation that fits in memory, and the fastest of them is the peer. The limit is
the closed form (one pass over the demand).
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import highspy
import numpy as np
import numpy.typing as npt

from benchmarks.demand import pool_demand
from hcloud.planning.reserving.reserve import CommitmentKind, optimal_reserve

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

TERMS = (168, 720, 4380, 8760)
SHARE = 0.6
MOST_NONZEROS = 2_000_000  # a window LP beyond this only measures memory
OBJECTIVE_TOLERANCE = 1e-6
POOLS, POOL_HOURS = 50, 3 * 8760


class Instance(NamedTuple):
    """One pool: hourly demand and the commitments on offer; renting costs 1 per unit-hour."""

    demand: Ints
    kinds: tuple[CommitmentKind, ...]


Run = Callable[[], tuple[float, float]]  # seconds and objective of one solve, the model having been built before


def timed(solve: Callable[[], object], objective: Callable[[], float]) -> tuple[float, float]:
    begin = time.perf_counter()
    solve()
    return time.perf_counter() - begin, objective()


def hcloud_run(instance: Instance) -> tuple[float, float]:
    cost = []
    return timed(
        lambda: cost.append(optimal_reserve(instance.demand, 1.0, instance.kinds).cost), lambda: float(cost[0])
    )


def flow_arcs(instance: Instance) -> tuple[Ints, Ints, Floats]:
    """Tails, heads and costs of the differenced problem: rent, surplus, commitments."""
    hours = len(instance.demand)
    t = np.arange(hours)
    tail, head, cost = [t, t + 1], [t + 1, t], [np.ones(hours), np.zeros(hours)]
    for kind in instance.kinds:
        tail.append(t)
        head.append(np.minimum(t + kind.term_hours, hours))
        cost.append(np.full(hours, kind.cost))
    return np.concatenate(tail), np.concatenate(head), np.concatenate(cost)


def supplies(demand: Ints) -> Ints:
    return np.diff(np.concatenate(([0], demand, [0])))


def or_tools_run(instance: Instance) -> tuple[float, float]:
    """Costs scaled by the smallest power of ten that makes them whole: larger ones cost its scaling more rounds.

    OR-tools carries a HiGHS under the same library name as highspy's; bound lazily, its flow never asks for it.
    """
    sys.setdlopenflags(os.RTLD_LAZY)
    from ortools.graph.python import min_cost_flow

    tail, head, cost = flow_arcs(instance)
    scale = next(s for s in (1, 10, 100, 1000, 10**6) if np.allclose(cost * s, np.rint(cost * s), rtol=0, atol=1e-6))
    model = min_cost_flow.SimpleMinCostFlow()
    room = np.full(len(tail), int(instance.demand.max()) * len(instance.demand), np.int64)
    whole = np.rint(cost * scale).astype(np.int64)
    model.add_arcs_with_capacity_and_unit_cost(tail.astype(np.int32), head.astype(np.int32), room, whole)
    model.set_nodes_supplies(np.arange(len(instance.demand) + 1, dtype=np.int32), supplies(instance.demand))
    return timed(model.solve, lambda: model.optimal_cost() / scale)


def highs_run(instance: Instance, differenced: bool, solver: str) -> tuple[float, float]:
    lp = differenced_lp(instance) if differenced else window_lp(instance)
    highs = highspy.Highs()  # type: ignore[no-untyped-call]
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("threads", 1)
    highs.setOptionValue("solver", solver)
    highs.setOptionValue("run_crossover", "off")  # in the interior point's favour: its objective is all that is used
    highs.passModel(lp)
    return timed(highs.run, lambda: float(highs.getInfo().objective_function_value))


def differenced_lp(instance: Instance) -> highspy.HighsLp:
    """Flow conservation per node: outflow minus inflow is the rise in demand."""
    tail, head, cost = flow_arcs(instance)
    columns = len(tail)
    lp = empty_lp(columns, cost, supplies(instance.demand).astype(float))
    lp.row_upper_ = lp.row_lower_
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = 2 * np.arange(columns + 1)
    lp.a_matrix_.index_ = np.stack((tail, head), axis=1).ravel()
    lp.a_matrix_.value_ = np.tile([1.0, -1.0], columns)
    return lp


def window_lp(instance: Instance) -> highspy.HighsLp:
    """The covering problem as it is defined: a commitment has a one in every hour it covers."""
    hours = len(instance.demand)
    t = np.arange(hours)
    starts, ends, cost = [t], [t + 1], [np.ones(hours)]
    for kind in instance.kinds:
        starts.append(t)
        ends.append(np.minimum(t + kind.term_hours, hours))
        cost.append(np.full(hours, kind.cost))
    start, end = np.concatenate(starts), np.concatenate(ends)
    lp = empty_lp(len(start), np.concatenate(cost), instance.demand.astype(float))
    lp.row_upper_ = np.full(hours, highspy.kHighsInf)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = np.concatenate(([0], np.cumsum(end - start)))
    lp.a_matrix_.index_ = np.concatenate([np.arange(a, b) for a, b in zip(start, end, strict=True)])
    lp.a_matrix_.value_ = np.ones(int((end - start).sum()))
    return lp


def empty_lp(columns: int, cost: Floats, rows: Floats) -> highspy.HighsLp:
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = columns, len(rows)
    lp.col_cost_ = cost
    lp.col_lower_, lp.col_upper_ = np.zeros(columns), np.full(columns, highspy.kHighsInf)
    lp.row_lower_ = rows
    return lp


def peers_of(instance: Instance) -> dict[str, Run]:
    peers: dict[str, Run] = {
        "OR-tools flow": lambda: or_tools_run(instance),
        "HiGHS flow simplex": lambda: highs_run(instance, True, "simplex"),
        "HiGHS flow ipm": lambda: highs_run(instance, True, "ipm"),
    }
    if sum(kind.term_hours for kind in instance.kinds) * len(instance.demand) <= MOST_NONZEROS:
        peers["HiGHS window simplex"] = lambda: highs_run(instance, False, "simplex")
        peers["HiGHS window ipm"] = lambda: highs_run(instance, False, "ipm")
    return peers


def compare(name: str, instance: Instance, rounds: int) -> None:
    """Interleaved rounds, best of each; stops with an error when two objectives differ."""
    whole = CommitmentKind("horizon", len(instance.demand), SHARE * len(instance.demand))
    runs: dict[str, Run] = {
        "hcloud": lambda: hcloud_run(instance),
        "limit": lambda: hcloud_run(Instance(instance.demand, (whole,))),
        **peers_of(instance),
    }
    runs["hcloud"]()  # loads the compiled kernels
    best = dict.fromkeys(runs, float("inf"))
    objective = dict.fromkeys(runs, 0.0)
    for _ in range(rounds):
        for run, solve in runs.items():
            seconds, objective[run] = solve()
            best[run] = min(best[run], seconds)
    for run in set(runs) - {"limit"}:
        if abs(objective[run] - objective["hcloud"]) > OBJECTIVE_TOLERANCE * objective["hcloud"]:
            raise SystemExit(f"{name}: {run} finds {objective[run]}, hcloud {objective['hcloud']}")
    peer = min(set(runs) - {"hcloud", "limit"}, key=best.__getitem__)
    milli = {run: 1000 * seconds for run, seconds in best.items()}
    print(
        f"{name} {milli['hcloud']:.2f} ms | peer {milli[peer]:.1f} ({peer}) | limit {milli['limit']:.2f}"
        f" | ratio {best[peer] / best['hcloud']:.1f}",
        flush=True,
    )
    others = ", ".join(f"{run} {milli[run]:.0f}" for run in runs if run not in {"hcloud", "limit"})
    print(f"  objective {objective['hcloud']:.2f} in all; {others} ms", flush=True)


def many_pools(rounds: int) -> None:
    """Pools of 20 to 2,600 units that shrink or grow, one-year and three-year terms; the peer's one is scaled up."""
    kinds = (
        CommitmentKind("one year", 8760, SHARE * 8760),
        CommitmentKind("three years", POOL_HOURS, 0.5 * POOL_HOURS),
    )
    pools = [
        Instance(pool_demand(POOL_HOURS, seed, scale=0.1 * 1.1**seed, growth=-0.6 + 0.7 * (seed % 4)), kinds)
        for seed in range(POOLS)
    ]
    best, peer, limit = float("inf"), float("inf"), float("inf")
    for _ in range(rounds):
        found = [hcloud_run(pool) for pool in pools]
        best = min(best, sum(seconds for seconds, _ in found))
        limit = min(limit, sum(hcloud_run(Instance(pool.demand, kinds[1:]))[0] for pool in pools))
        seconds, cost = or_tools_run(pools[POOLS // 2])
        peer = min(peer, seconds * POOLS)
        if abs(cost - found[POOLS // 2][1]) > OBJECTIVE_TOLERANCE * cost:
            raise SystemExit(f"pools: OR-tools finds {cost}, hcloud {found[POOLS // 2][1]}")
    print(
        f"b5.pools-{POOLS}x{POOL_HOURS}h {best:.3f} s | peer {peer:.1f} (OR-tools flow, one pool x {POOLS})"
        f" | limit {limit:.3f} | ratio {peer / best:.0f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="interleaved rounds, best of each (at least 3)")
    rounds = parser.parse_args().rounds
    if hasattr(os, "sched_setaffinity"):  # one core: every contender is single-threaded
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    demand = pool_demand()
    print(f"demand: {len(demand)} h, mean {demand.mean():.0f}, p99 {np.percentile(demand, 99):.0f}, max {demand.max()}")
    for term in TERMS:
        compare(f"b5.term-{term}h", Instance(demand, (CommitmentKind(str(term), term, SHARE * term),)), rounds)
    many_pools(rounds)


if __name__ == "__main__":
    main()
