"""How large a reserve has to be for a strategy to keep a share of jobs within 5 % of their performance."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hcloud.errors import UsageError
from hcloud.model.running.strategy import Strategy
from hcloud.sim.outcomes.comparison import ComparedStrategy, SizedReserve, StrategyComparison
from hcloud.sim.outcomes.measure import Measures, measure
from hcloud.sim.setup.fitting import held_by_some
from hcloud.sim.setup.named_servers import last_named
from hcloud.sim.setup.shop import shop_for
from hcloud.usecases.studies.placeable import NeverHeldError
from hcloud.usecases.studies.simulation import Study, simulate_once, wanted_by, with_seed

_USUAL = 100
_MOST = 8 * _USUAL
"""Ours: a reserve is enlarged to so many per cent of its vCPUs at most."""
_NEAR = 5
"""Ours: sizes above the one that bisection finds, in per cent of the usual vCPUs, that have to keep the share too."""
Servers = tuple[int, ...]
"""How many of each type: of the large one, then of those beside it."""


def check_share(share: float | None, loads: Sequence[float]) -> None:
    """Raises UsageError for a share that no reserve could keep or any does, and beside several loads."""
    if share is not None and not 0 < share < 1:
        raise UsageError(f"--size-for {share:g}: write a share of jobs above 0 and below 1, for example 0.95")
    if share is not None and len(loads) > 1:
        raise UsageError("--size-for needs one load", hint="name one, for example --load 0.8")


def check_free_to_size(study: Study, share: float | None) -> None:
    """Raises UsageError where the reserve is to be sized, and jobs require certain servers of it."""
    if share is not None and last_named(wanted_by(study.jobs)) >= 0:
        raise UsageError(
            f"--size-for: some jobs of {study.jobs.provenance.name} require certain reserved servers (server=N), which"
            " another reserve has not",
            hint="leave out --size-for, or the requirement",
        )


def with_sizes(
    study: Study,
    strategies: Sequence[Strategy],
    comparison: StrategyComparison,
    share: float,
    advance: Callable[[float], None] = lambda done: None,
) -> StrategyComparison:
    """A comparison in which every strategy is told with the reserve that keeps the share in the mean of its seeds."""
    studies = [study if seed == study.seed else with_seed(study, seed) for seed in comparison.seeds]
    made: list[ComparedStrategy] = []
    for at, (strategy, one) in enumerate(zip(strategies, comparison.strategies, strict=True)):
        own = replace(study, shop=shop_for(study.shop, strategy))
        ladder = _Ladder.of(own, one.runs[0].pool)
        made.append(replace(one, sized=None if ladder is None else _Sizes(studies, strategy, ladder).least(share)))
        advance((at + 1) / len(strategies))
    return replace(comparison, strategies=tuple(made), sized_for=share)


@dataclass(frozen=True, slots=True)
class _Ladder:
    """Reserves of rising size, each with the servers of the one before and more: so many of every type, as far as
    whole servers allow, and always those that some job needs."""

    servers: tuple[Servers, ...]
    vcpus: tuple[float, ...]
    usual: float

    @classmethod
    def of(cls, study: Study, pool: int) -> _Ladder | None:
        """From the least to eight times a pool of so many servers; None where nothing is reserved."""
        if not pool:
            return None
        usual = (pool - sum(b.servers for b in study.beside), *(b.servers for b in study.beside))
        sizes = _sizes(study)
        held = [0] * len(usual)
        servers, vcpus = [], []
        for kind in _order(usual, sizes, _needed(study, usual)):
            held[kind] += 1
            servers.append(tuple(held))
            vcpus.append(sum(n * size for n, size in zip(held, sizes, strict=True)))
        return cls(tuple(servers), tuple(vcpus), sum(n * size for n, size in zip(usual, sizes, strict=True)))

    def at(self, level: int) -> int:
        """The place of the first reserve with so many per cent of the usual vCPUs."""
        found = np.searchsorted(self.vcpus, self.usual * level / _USUAL - 1e-9)
        return min(int(found), len(self.servers) - 1)


def _sizes(study: Study) -> list[float]:
    """vCPUs of one server of each type."""
    shapes = {t.shape.name: float(t.shape.vcpus) for t in study.shop.types}
    large = study.shop.types[study.shop.large].shape
    return [float(large.vcpus), *(shapes[b.instance_type] for b in study.beside)]


def _needed(study: Study, usual: Servers) -> list[int]:
    """A server of the large type, and of each other type without which some job would find no place."""
    shapes = {t.shape.name: t.shape for t in study.shop.types}
    names = [study.shop.types[study.shop.large].shape.name, *(b.instance_type for b in study.beside)]
    kept = [kind for kind in range(len(usual)) if kind == 0 or usual[kind]]
    holds = held_by_some((shapes[names[kind]] for kind in kept), study.jobs)
    for kind in sorted(kept[1:], key=lambda k: (shapes[names[k]].vcpus, shapes[names[k]].memory_gib)):
        without = [other for other in kept if other != kind]
        if np.array_equal(held_by_some((shapes[names[k]] for k in without), study.jobs), holds):
            kept = without
    return kept


def _order(usual: Servers, sizes: Sequence[float], needed: Sequence[int]) -> Iterator[int]:
    """The types of the servers in the order in which a reserve gets them: first those needed, then so that shares stay
    as they are. The factor at which the number of a type, times that, is rounded to n is where it gets its n-th."""
    ends = [((n + 0.5) / of, sizes[kind], kind) for kind, of in enumerate(usual) for n in range(of * _MOST // _USUAL)]
    first = {(0.5 / usual[kind], sizes[kind], kind) for kind in needed}
    yield from needed
    yield from (end[2] for end in sorted(ends) if end not in first)


class _Sizes:
    """The runs of one strategy at several sizes of its reserve, each made once."""

    def __init__(self, studies: Sequence[Study], strategy: Strategy, ladder: _Ladder) -> None:
        self._studies, self._strategy, self._ladder = studies, strategy, ladder
        self._runs: dict[int, list[Measures]] = {}

    def least(self, share: float) -> SizedReserve | None:
        """The least reserve that keeps the share, and with it the next larger ones; None where eight times the usual
        vCPUs do not keep it.

        Bisection between two sizes takes larger ones to keep no fewer jobs. They nearly do; what chance still moves is
        seen to by looking at the sizes just above.
        """
        high = _USUAL
        while not self._keeps(high, share):
            if high >= _MOST:
                return None
            high *= 2
        low = 0 if high == _USUAL else high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._keeps(middle, share) else (middle, high)
        at, above = high, high
        while above < min(at + _NEAR, _MOST):
            above += 1
            if not self._keeps(above, share):
                at = above + 1
        return self._told(at) if at <= _MOST else None

    def _keeps(self, level: int, share: float) -> bool:
        try:
            return _kept(self._at(level)) >= share
        except NeverHeldError:  # the usual reserve held all jobs on several servers, and this one does not
            return False

    def _at(self, level: int) -> list[Measures]:
        place = self._ladder.at(level)
        if place not in self._runs:
            large, *others = self._ladder.servers[place]
            self._runs[place] = [
                measure(simulate_once(_beside(study, others), self._strategy, pool=large)) for study in self._studies
            ]
        return self._runs[place]

    def _told(self, level: int) -> SizedReserve:
        place, runs = self._ladder.at(level), self._at(level)
        dollars = sum((run.cost.per_ideal_hour for run in runs), start=runs[0].cost.per_ideal_hour * 0) / len(runs)
        return SizedReserve(runs[0].pool, self._ladder.vcpus[place], dollars, _kept(runs))


def _kept(runs: Sequence[Measures]) -> float:
    """The share of jobs that kept their performance, in the mean."""
    return sum(run.service.kept_qos for run in runs) / len(runs)


def _beside(study: Study, servers: Sequence[int]) -> Study:
    """The study with so many servers of each of the other types that it reserves."""
    beside = tuple(replace(b, servers=n) for b, n in zip(study.beside, servers, strict=True) if n)
    return replace(study, beside=beside)
