"""A fleet over the horizon: what is held under commitment, what is rented on demand, and what both cost."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from hcloud.catalog.cover.sustained import charged_unit_hours
from hcloud.catalog.quote import usage_cost
from hcloud.model.catalog import Offer, SustainedUse
from hcloud.planning.fleets.candidates import Candidate
from hcloud.planning.forecasting.forecast import WEEK, Forecast
from hcloud.units import SECONDS_PER_HOUR

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats

    Counts = NDArray[np.int64]

SLACK = 1e-9  # a demand this little above a whole instance is rounding noise, not a reason for another instance
_BLOCK = 8192  # ours: steps that are covered at once, so that what is compared stays in the cache of a processor


@dataclass(frozen=True, slots=True)
class Holding:
    """``count`` instances of a commitment, bought at ``start_hour`` of the horizon and paid for its whole term."""

    offer: Offer
    count: int
    start_hour: int = 0

    @property
    def cost(self) -> Decimal:
        """Dollars for the whole term of all instances: an unexpired term is charged in full."""
        return self.offer.term_cost * self.count

    def steps(self, forecast: Forecast) -> slice:
        """The steps of the forecast that it covers."""
        first = self.start_hour * SECONDS_PER_HOUR // forecast.step_seconds
        return slice(first, first + self.offer.term_hours * SECONDS_PER_HOUR // forecast.step_seconds)


@dataclass(frozen=True, slots=True)
class PlannedRental:
    """Pay-as-you-go use of one offer: instance-hours used, instance-hours charged (fewer under a sustained-use
    discount), the most instances at once, and the fewest and the most at once in the first weeks."""

    offer: Offer
    hours: Decimal
    charged_hours: Decimal
    peak: int
    first_least: int
    first_peak: int

    @property
    def cost(self) -> Decimal:
        """Dollars for all of it."""
        return usage_cost(self.offer, self.charged_hours)


@dataclass(frozen=True, slots=True)
class Fleet:
    """A way to serve the whole forecast; ``cost`` is exact, in dollars of the horizon."""

    holdings: tuple[Holding, ...]
    rentals: tuple[PlannedRental, ...]

    @property
    def commitments_cost(self) -> Decimal:
        """Dollars of all commitments, each for its whole term."""
        return sum((h.cost for h in self.holdings), Decimal(0))

    @property
    def rentals_cost(self) -> Decimal:
        """Dollars of all pay-as-you-go use."""
        return sum((r.cost for r in self.rentals), Decimal(0))

    @property
    def cost(self) -> Decimal:
        """Commitments in full plus usage."""
        return self.commitments_cost + self.rentals_cost


def instances_needed(cores: Floats, memory: Floats, candidate: Candidate) -> Counts:
    """Whole instances of one type that cover vCPUs and GiB at every step."""
    return np.ceil(_load(cores, memory, candidate) - SLACK).astype(np.int64)


def hours_in_use(forecast: Forecast, candidate: Candidate) -> float:
    """Hours of machines of one type that run for a forecast, parts as parts."""
    return float(_load(forecast.cores, forecast.memory, candidate).sum()) * forecast.step_hours


def _load(cores: Floats, memory: Floats, candidate: Candidate) -> Floats:
    vcpus, gib = map(float, candidate.capacity)
    load: Floats = np.maximum(np.maximum(cores / vcpus, memory / gib), 0.0)
    return load


def cover(cores: Floats, memory: Floats, candidates: Sequence[Candidate]) -> list[Counts]:
    """Whole instances of each type that cover every step at least on-demand cost, mixing at most two types a step.

    Two types suffice for the fractional optimum (a basic solution of two constraints); of each pair the fractional
    count of the first is rounded both ways and the second fills up.
    """
    best = [np.zeros(len(cores), dtype=np.int64) for _ in candidates]
    for first in range(0, len(cores), _BLOCK):
        some = slice(first, first + _BLOCK)
        choices = _choices(cores[some], memory[some], candidates)
        cheapest, chosen = np.full(len(cores[some]), np.inf), np.zeros(len(cores[some]), dtype=np.int64)
        for which, counts in enumerate(choices):
            cost = sum(n * float(candidates[i].on_demand.hourly) for i, n in counts.items())
            better = cost < cheapest - SLACK
            np.copyto(cheapest, cost, where=better)
            np.copyto(chosen, which, where=better)
        for which, counts in enumerate(choices):
            for i, n in counts.items():
                np.copyto(best[i][some], n, where=chosen == which, casting="unsafe")
    return best


def _choices(cores: Floats, memory: Floats, candidates: Sequence[Candidate]) -> list[dict[int, Floats]]:
    """Every single type, then every pair with the first type's fractional share rounded down and up."""
    choices = [{i: np.ceil(_load(cores, memory, c) - SLACK)} for i, c in enumerate(candidates)]
    for i, j in itertools.combinations(range(len(candidates)), 2):
        (a, a_gib), (b, b_gib) = candidates[i].capacity, candidates[j].capacity
        determinant = float(a * b_gib - b * a_gib)
        if determinant == 0:
            continue
        share = (cores * float(b_gib) - memory * float(b)) / determinant
        for first in (np.floor(share), np.ceil(share)):
            n = np.maximum(first, 0.0)
            left = _load(cores - n * float(a), memory - n * float(a_gib), candidates[j])
            choices.append({i: n, j: np.ceil(left - SLACK)})
    return choices


def rent(candidate: Candidate, counts: Counts, forecast: Forecast) -> PlannedRental:
    """The on-demand use of ``counts`` instances step by step, less the parts of one that are not rented."""
    hours = whole = _hours(int(counts.sum()), forecast)
    parts = np.zeros(len(counts))
    if forecast.has_parts and whole:
        parts = np.where(counts > 0, parts_not_rented(candidate, forecast), 0.0)
        hours = whole - _part_hours(float(parts.sum()), forecast)
    charged = hours if candidate.sustained is None else _sustained_hours(counts, parts, forecast, candidate.sustained)
    first = counts[: max(forecast.first_weeks * WEEK // forecast.step_seconds, 1)]
    bounds = (counts.max(initial=0), first.min(), first.max())
    return PlannedRental(candidate.on_demand, hours, charged, *map(int, bounds))


def parts_not_rented(candidate: Candidate, forecast: Forecast) -> Floats:
    """What of one more machine is not rented at each step, as a part of it from 0 to 1: what is rented by part runs no
    longer than it is in use; other machines run whole, and what flexes covers parts of them."""
    demand = forecast.cores, forecast.memory
    if forecast.by_part:
        unused = instances_needed(*demand, candidate) - _load(*demand, candidate)
        return np.where(unused > SLACK, np.minimum(unused, 1.0), 0.0)
    vcpus = float(candidate.capacity[0])
    if not forecast.covered:
        return np.zeros(len(forecast))
    fitting = [p for p in forecast.covered if p.fits(candidate.on_demand.key, candidate.shape.family)]
    cores, memory = (np.sum([getattr(p, name) for p in fitting], axis=0) for name in ("vcpus", "memory"))
    run = instances_needed(forecast.cores + cores, forecast.memory + memory, candidate)
    left = instances_needed(*demand, candidate)
    parts: Floats = np.clip(left - (run - cores / vcpus), 0.0, 1.0) * (left > 0)
    return parts


def steps_in_use(units: Counts, parts: Floats) -> Floats:
    """The steps in which each concurrent instance is in use, the busiest first, less the parts of one that are not
    rented at each step."""
    used: Floats = steps_at_or_above(units).astype(np.float64)
    if len(used):
        used -= np.bincount(np.maximum(units, 1) - 1, np.where(units > 0, parts, 0.0), len(used))
    return used


def _hours(instance_steps: int, forecast: Forecast) -> Decimal:
    return Decimal(instance_steps) * forecast.step_seconds / SECONDS_PER_HOUR


def _part_hours(steps: float, forecast: Forecast) -> Decimal:
    return Decimal(repr(round(steps * forecast.step_hours, 6)))


def _sustained_hours(counts: Counts, parts: Floats, forecast: Forecast, rule: SustainedUse) -> Decimal:
    """List-price hours under sustained use, month by month; types of one series are not pooled, which Google would. A
    machine that is rented by part runs for so much of a step; one of which a part is owned runs for all of it."""
    charged, whole, owned = Decimal(0), _hours(int(counts.sum()), forecast), _part_hours(float(parts.sum()), forecast)
    months = forecast.months
    for month in range(int(months[-1]) + 1):
        at = slice(*np.searchsorted(months, [month, month + 1]))
        charged += charged_unit_hours(_levels(counts[at], parts[at] * forecast.by_part, forecast), rule)
    return charged if forecast.by_part or not owned else charged * (whole - owned) / whole


def _levels(counts: Counts, parts: Floats, forecast: Forecast) -> dict[Decimal, Decimal]:
    """For how many hours how many instances ran together, one fewer for the parts of steps in which one rests."""
    steps, rest = np.bincount(counts), np.bincount(counts, parts)
    levels = dict[Decimal, Decimal]()
    for value in np.flatnonzero(steps):
        number, part = steps[value], rest[value]
        rests = _part_hours(float(part), forecast)
        for level, hours in ((int(value), _hours(int(number), forecast) - rests), (int(value) - 1, rests)):
            if hours:
                levels[Decimal(level)] = levels.get(Decimal(level), Decimal(0)) + hours
    return levels


def steps_at_or_above(counts: Counts) -> Counts:
    """Entry k-1 is the number of steps with at least k instances, for k = 1 .. peak."""
    histogram = np.bincount(counts)
    return np.asarray(histogram[::-1].cumsum()[::-1][1:], dtype=np.int64)


def serve(forecast: Forecast, candidates: Sequence[Candidate], holdings: Sequence[Holding]) -> Fleet:
    """The fleet that runs the holdings' instances first and rents the rest on demand, step by step.

    A holding counts for the candidate of its own instance type; a holding of another type is an error (KeyError).
    """
    counts = rented_counts(forecast, candidates, holdings)
    forecast = forecast if len(candidates) == 1 else forecast.in_whole_machines
    rentals = tuple(rent(c, n, forecast) for c, n in zip(candidates, counts, strict=True) if n.any())
    return Fleet(tuple(holdings), rentals)


def rented_counts(forecast: Forecast, candidates: Sequence[Candidate], holdings: Sequence[Holding]) -> list[Counts]:
    """Instances of each candidate on demand at every step, beside those that are held."""
    held = {c.on_demand.key.instance_type: np.zeros(len(forecast), dtype=np.int64) for c in candidates}
    for holding in holdings:
        held[holding.offer.key.instance_type][holding.steps(forecast)] += holding.count
    forecast = forecast.beside(np.sum([held[c.shape.name] * float(c.capacity[0]) for c in candidates], axis=0))
    if len(candidates) == 1:
        needed = instances_needed(forecast.cores, forecast.memory, candidates[0])
        return [np.maximum(needed - held[candidates[0].shape.name], 0)]
    cores, memory = forecast.cores.copy(), forecast.memory.copy()
    for candidate in candidates:
        vcpus, gib = candidate.capacity
        cores -= held[candidate.shape.name] * float(vcpus)
        memory -= held[candidate.shape.name] * float(gib)
    return cover(np.maximum(cores, 0.0), np.maximum(memory, 0.0), candidates)


def vcpus_held(fleet: Fleet, candidates: Sequence[Candidate], forecast: Forecast) -> Floats:
    """vCPUs under commitment at every step."""
    each = {c.shape.name: float(c.capacity[0]) for c in candidates}
    held = np.zeros(len(forecast))
    for holding in fleet.holdings:
        held[holding.steps(forecast)] += holding.count * each[holding.offer.key.instance_type]
    return held
