"""Spot machines for the batch work that may be interrupted, of sizes that hold the jobs that run whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from hcloud.errors import EvidenceError
from hcloud.planning.fleets.candidates import Candidate
from hcloud.planning.fleets.evaluate import all_on_demand
from hcloud.planning.fleets.fleet import Fleet
from hcloud.planning.fleets.options import Option, region_of
from hcloud.planning.fleets.sizes import ladder_of, stated
from hcloud.planning.forecasting.forecast import Forecast
from hcloud.planning.forecasting.packing import RunningJobs

_ROUNDING = 1e-9


def spot_fleet(options: Sequence[Option], near: Candidate, part: Forecast, running: RunningJobs | None) -> Fleet:
    """Spot instances of the cheapest family of the plan's region, in as few machines as there can be: none smaller than
    holds a whole batch job, and one at least that holds the largest.

    Raises EvidenceError where no size with a spot price does.
    """
    if not part.cores.any():
        return Fleet((), ())
    local = [_spot_sizes(o) for o in options if region_of(o.candidate) == region_of(near)]
    if not any(local):
        raise EvidenceError(
            f"{near.address}: no spot price in this region", hint="set planning.spot_share_of_batch to 0 or import one"
        )
    fleets = [fleet for sizes in local if sizes for fleet in _fleets(sizes, part, running)]
    if not fleets:
        raise EvidenceError(
            f"{near.address}: no size with a spot price in this region holds the largest batch job",
            hint="set planning.spot_share_of_batch to 0, or import a spot price of a larger size",
        )
    return min(fleets, key=lambda f: f.cost)


def _spot_sizes(option: Option) -> list[Candidate]:
    """The sizes of a type that have a spot price, at that price."""
    return [replace(c, on_demand=c.spot, commitments=(), sustained=None) for c in option.ladder if c.spot]


def _fleets(sizes: Sequence[Candidate], part: Forecast, running: RunningJobs | None) -> Iterator[Fleet]:
    """The part in machines from the size on that holds the smallest job, where one of them holds the largest; and in
    machines that all do."""
    vcpus, gib = map(float, sizes[0].capacity)
    least, most = (0.0, 0.0) if running is None else running.whole_batch(gib / vcpus)
    able = [c for c in sizes if float(c.capacity[0]) >= least * (1 - _ROUNDING)]
    large = [c for c in able if float(c.capacity[0]) >= most * (1 - _ROUNDING)]
    if not large:
        return
    ladder = ladder_of(able[0], able)
    fleet = stated(all_on_demand(able[0], part), able[:1], {able[0].address: ladder}, part)
    if {r.offer.key for r in fleet.rentals} & {c.on_demand.key for c in large}:
        yield fleet
    else:
        yield all_on_demand(large[0], part)
