"""``hcloud reproduce``: runs the published studies once with the frozen model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hcloud.errors import UsageError, did_you_mean
from hcloud.readers.clouds import load_cloud
from hcloud.readers.prices.shipped.bundled import load_bundled
from hcloud.readers.strategies import load_strategy
from hcloud.research.studies import costs, over_time, quality, surroundings
from hcloud.research.studies.bench import STRATEGIES, StudyBench
from hcloud.research.studies.report import StudyReport
from hcloud.sim.setup.shop import ShopChoice, open_shop

SYSTEMS = ("hcloud",)
SEEDS = 7
STUDIES: Mapping[str, Callable[[StudyBench], StudyReport]] = {
    "calibration": quality.calibration,
    "performance": quality.performance,
    "cost": costs.cost,
    "price-ratio": costs.price_ratio,
    "duration": costs.duration,
    "spin-up": surroundings.spin_up,
    "external-load": surroundings.external_load,
    "retention": surroundings.retention,
    "pricing": costs.pricing,
    "sensitive": surroundings.sensitive,
    "mapping": quality.mapping,
    "allocation": over_time.allocation,
    "applications": over_time.applications,
    "q90": quality.q90,
    "released-at-once": quality.at_once,
    "demand": costs.demand,
}


def open_bench(seeds: int, advance: Callable[[int], None] = lambda runs: None) -> StudyBench:
    """The study's cloud, prices and strategies, as they are shipped, at seeds 1 and up."""
    wanted = ShopChoice.paper()
    book = load_bundled(providers={wanted.provider}, regions={wanted.region}, systems={wanted.os})
    strategies = {name: load_strategy(name) for name in STRATEGIES}
    return StudyBench(strategies, load_cloud("paper"), open_shop(book, wanted), tuple(range(1, seeds + 1)), advance)


def chosen_studies(system: str, wanted: Sequence[str]) -> tuple[str, ...]:
    """Keys of the studies to run, in the order of the page; UsageError for an unknown system or study."""
    if system not in SYSTEMS:
        raise UsageError(f"there is nothing to reproduce of {system!r}", hint=f"systems: {', '.join(SYSTEMS)}")
    if unknown := [key for key in wanted if key not in STUDIES]:
        raise UsageError(
            f"--study {unknown[0]}: there is no such study{did_you_mean(unknown[0], STUDIES)}",
            hint=f"studies: {', '.join(STUDIES)}",
        )
    return tuple(key for key in STUDIES if key in wanted or not wanted)


def reproduce(bench: StudyBench, keys: Sequence[str], advance: Callable[[float], None]) -> tuple[StudyReport, ...]:
    """The reports of the studies; runs that several of them look at happen once."""
    made = []
    for at, key in enumerate(keys):
        made.append(STUDIES[key](bench))
        advance((at + 1) / len(keys))
    return tuple(made)
