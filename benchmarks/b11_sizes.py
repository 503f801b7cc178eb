"""B11: the default plan beside the plans that name one size or one family, one by one.

``python -m benchmarks.b11_sizes [--traces DIR] [--provider aws] [--only WORD]`` prints a line a trace: what the plain
command pays a month, the cheapest of all ``--vcpus`` and of all ``--family`` choices (and of the sizes of the three
cheapest families), which that is, and their ratio. Said before the run: no ratio is above 1.02. A choice that cannot
hold a job of the trace is left out, and one that comes to machines that do not always run at full speed (burstable,
shared cores), which only who names them gets; so is a file of the directory that is no workload, with the reason. The
traces are those of the bundled examples, the generated scenarios, and every file of the directory; prices are the
bundled ones.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from hcloud.catalog.book import PriceBook
from hcloud.catalog.shapes import UNSTEADY
from hcloud.errors import HcloudError
from hcloud.model.catalog import Provider
from hcloud.model.workload import Demand, Jobs
from hcloud.planning.decide import FleetDecision, Given, decide
from hcloud.planning.fleets.gpu_jobs import without_gpu_jobs
from hcloud.planning.settings import Market, PlanSettings, RiskSettings
from hcloud.readers.configuration.config import load_config
from hcloud.units import HOURS_PER_MONTH
from hcloud.usecases.deciding.known_of_jobs import leanest_of, running_of
from hcloud.usecases.deciding.plan import planned_demand
from hcloud.usecases.workloads.sources import Flags, open_prices, open_workload, with_flags

MOST = 1.02
CHEAPEST_FAMILIES = 3
EXAMPLES = Path(__file__).parents[1] / "examples"
SCENARIOS = ("scenario:static", "scenario:low-variability", "scenario:high-variability")
NEEDED = {
    "nab_elb_request_count_8c0756.csv": "requests_per_core_second=0.002",
    "nab_Twitter_volume_AMZN.csv": "requests_per_core_second=0.002",
    "azure_llm_conv.csv": "requests_per_core_second=0.1",
}
"""What a history of requests does not say itself."""


@dataclass(frozen=True)
class Case:
    """A workload by name, with what its reader has to be told."""

    name: str
    workload: str
    options: tuple[str, ...] = ()


def cases(traces: Path) -> Iterator[Case]:
    """The bundled examples, the scenarios, and every file of the directory."""
    yield Case("examples/own-trace", str(EXAMPLES / "own-trace" / "trace.csv"))
    yield from (Case(name, name) for name in SCENARIOS)
    if not traces.is_dir():
        print(f"b11 not run on real traces: there is no directory {traces} (--traces DIR)")
        return
    for path in sorted(traces.iterdir()):
        yield Case(path.name, str(path), (NEEDED[path.name],) if path.name in NEEDED else ())


@dataclass(frozen=True, eq=False)
class Ground:
    """One workload with its prices, ready to be planned under any market."""

    workload: Jobs | Demand
    book: PriceBook
    settings: PlanSettings

    def decision(self, market: Market) -> FleetDecision:
        """The plan for a market."""
        settings = replace(self.settings, markets=(market,))
        demand = planned_demand(self.workload, settings)
        running = running_of(self.workload, settings.divisible, demand)
        return decide(self.book, demand, settings, (), Given(running, leanest=leanest_of(self.workload, demand)))


def ground(case: Case, provider: Provider) -> Ground:
    """The workload read; futures and falls of demand, which change no fleet, are left out."""
    loaded = with_flags(load_config(None), Flags(workload=case.workload, options=case.options, providers=(provider,)))
    workload = without_gpu_jobs(open_workload(loaded))
    book, _ = open_prices(loaded, datetime.now(UTC).date())
    settings = replace(loaded.config.settings(), risk=RiskSettings(futures=0, falls=()))
    return Ground(workload, book, settings)


def monthly(decision: FleetDecision) -> float:
    """Dollars a month of a plan."""
    return float(decision.machines.cost) / decision.horizon_hours * HOURS_PER_MONTH


def choices(given: Ground, plain: FleetDecision) -> Iterator[Market]:
    """Every size, every family, and every size of the cheapest families."""
    market = given.settings.markets[0]
    shapes = [s for (p, _), s in given.book.types.items() if p == market.provider and ".metal" not in s.name]
    sizes = sorted({int(s.vcpus) for s in shapes if s.vcpus >= 1})
    families = list(dict.fromkeys(e.candidate.shape.family for e in plain.evaluations))
    yield from (replace(market, vcpus=v) for v in sizes)
    yield from (replace(market, families=(f,)) for f in families)
    for family in families[:CHEAPEST_FAMILIES]:
        own = {int(s.vcpus) for s in shapes if s.family == family}
        yield from (replace(market, families=(family,), vcpus=v) for v in sorted(own))


def report(case: Case, provider: Provider) -> float:
    """One line; the ratio of the plain plan to the best of the others."""
    start = time.perf_counter()
    given = ground(case, provider)
    plain = given.decision(given.settings.markets[0])
    planned = time.perf_counter() - start
    best, named, tried = float("inf"), "", 0
    for market in choices(given, plain):
        try:
            decision = given.decision(market)
        except HcloudError:  # a size too small for a job, or without a type
            continue
        if any(c.shape.category in UNSTEADY for c in decision.types):
            continue
        cost = monthly(decision)
        tried += 1
        words = [f"--family {f}" for f in market.families] + ([f"--vcpus {market.vcpus}"] if market.vcpus else [])
        if cost < best:
            best, named = cost, " ".join(words)
    ratio = monthly(plain) / best
    names = "+".join(c.shape.name for c in plain.types)
    found = f"default ${monthly(plain):,.2f} ({names}) | best of {tried} ${best:,.2f} ({named})"
    print(f"{case.name} | {provider} | {found} | {ratio:.4f} | {planned:.1f} s", flush=True)
    return ratio


def main() -> None:
    """Print every case, and the highest ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=Path, default=Path(__file__).parents[2] / "shared" / "data" / "workloads")
    parser.add_argument("--provider", choices=[p.value for p in Provider], action="append")
    parser.add_argument("--only", default="", help="only traces with this in their name")
    chosen = parser.parse_args()
    ratios = []
    for case in cases(chosen.traces):
        for provider in map(Provider, chosen.provider or ["aws"]):
            if chosen.only not in case.name:
                continue
            try:
                ratios.append(report(case, provider))
            except HcloudError as error:
                print(f"{case.name} | {provider} | not planned: {error}", flush=True)
    print(f"b11 highest ratio {max(ratios, default=0.0):.4f} over {len(ratios)} plans (at most {MOST} was said before)")


if __name__ == "__main__":
    main()
