"""Jobs that ask for GPUs are planned by themselves, in vCPUs: each GPU counts as those that a machine has for it, and
only machines count that have as many for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, TypeGuard

import numpy as np

from hcloud.catalog.book import PriceBook
from hcloud.catalog.shapes import is_of_shape
from hcloud.errors import EvidenceError, InputError, UsageError
from hcloud.model.catalog import InstanceType, OfferKey, PurchaseOption
from hcloud.model.workload import Jobs, Modelled, Workload
from hcloud.planning.fleets.candidates import allowed_shapes
from hcloud.planning.forecasting.demand import TimeGrid, mean_in_use
from hcloud.planning.forecasting.dividing import can_split
from hcloud.planning.forecasting.window import window_of
from hcloud.planning.settings import Divisible, Market
from hcloud.units import SECONDS_PER_HOUR, counted, counted_vcpus, some_of

if TYPE_CHECKING:
    from hcloud.model.workload import Floats

GPUS, KEY, DIVIDED = "GPUs", "markets.families", "workload.options.gpu"
APART = "asks for GPUs, planned by themselves with --set gpu=only"
_EDGE = 1e-6
_ALIKE = Decimal("1.002")  # ours: prices of sizes differ by no more where they are rounded
_SAME = 4  # ours: leading digits of dollars that two types must share to cost the same
_NAMED = 12  # ours: families that a refusal lists
_WORTH = 0.05  # ours: parts that save less than this share are not named


def without_gpu_jobs(workload: Workload) -> Workload:
    """The workload without jobs that ask for GPUs, counted as left out. Raises InputError where no other is left."""
    if not isinstance(workload, Jobs) or not workload.gpus.any():
        return workload
    kept = np.flatnonzero(workload.gpus == 0)
    if not len(kept):
        raise InputError(
            f"{workload.provenance.name}: every job asks for GPUs",
            hint="name machines that have them: --provider, --region and --family",
        )
    work = workload.cores * workload.duration
    share = 1.0 - float(work[kept].sum()) / float(work.sum())
    left_out = {**workload.provenance.left_out, f"{APART}: {share:.1%} of the vCPU-hours": len(workload) - len(kept)}
    return replace(workload.at(kept), provenance=replace(workload.provenance, left_out=left_out))


def said_of(jobs: Jobs) -> Iterator[str]:
    """What a simulation says of jobs that were left out for their GPUs."""
    counts = jobs.provenance.left_out.items()
    yield from (f"{counted(n, 'job')} left out: {why}" for why, n in counts if why.startswith(APART))


def is_in_gpus(workload: Workload) -> bool:
    """Whether a workload's vCPUs stand for GPUs."""
    return any(rule.column == GPUS for rule in workload.provenance.modelled)


def for_markets(
    workload: Workload, book: PriceBook, markets: Sequence[Market], divisible: Divisible, *, drop: bool = False
) -> tuple[Workload, tuple[Market, ...]]:
    """The workload without jobs that ask for GPUs; where all ask, the jobs in vCPUs of the machines that run them for
    the least dollars on demand, and the markets with machines alone that have as many vCPUs for each GPU.

    Raises UsageError where no family says which GPUs are meant, EvidenceError where none is priced or large enough
    (unless jobs that are too large are to be dropped).
    """
    if not _all_ask(workload):
        return without_gpu_jobs(workload), tuple(markets)
    sold = dict(_sold(book, markets))
    if not sold or not all(market.families for market in markets):
        raise _unnamed(workload, book, markets)
    jobs = replace(_whole(workload), window=window_of(workload))
    best = _cheapest(jobs, sold, divisible)
    if best.too_large is not None and not drop:
        at = best.too_large
        asked = f"{jobs.gpus[at]:g} {GPUS}, {jobs.cores[at]:g} vCPU, {jobs.memory[at]:g} GiB"
        raise EvidenceError(
            f"job {jobs.name(at)} ({asked}) fits no machine of {_listed(sold)}, and cannot be split",
            hint="name families with larger ones (--family), plan smaller jobs alone (--set"
            f" gpu=1-{max(s.gpus for s in sold)}), or allow splitting: --divisible all",
        )
    shape, said = best.shape, _divided(jobs, sold, divisible, best)
    like = [s for s in sold if abs(s.vcpus * shape.gpus - shape.vcpus * s.gpus) < _EDGE]
    made = _in_vcpus(workload, shape, _listed(like), said)
    return made, tuple(replace(market, gpus=shape.vcpus / shape.gpus) for market in markets)


def for_types(workload: Workload, types: Iterable[InstanceType]) -> Workload:
    """The same on the types of a plan."""
    with_gpus = [t for t in types if t.gpus]
    if not with_gpus or not _all_ask(workload):
        return without_gpu_jobs(workload)
    return _in_vcpus(workload, with_gpus[0], _listed(with_gpus))


def _all_ask(workload: Workload) -> TypeGuard[Jobs]:
    return isinstance(workload, Jobs) and len(workload) > 0 and bool(workload.gpus.all())


def _sold(book: PriceBook, markets: Sequence[Market]) -> Iterator[tuple[InstanceType, Decimal]]:
    """The allowed types with GPUs, and what one costs on demand."""
    for market in (replace(m, gpus=True) for m in markets):
        for shape in (s for s in allowed_shapes(book, market) if s.gpus):
            key = OfferKey(market.provider, "", shape.name, PurchaseOption.ON_DEMAND, os=market.os)
            keys = (replace(key, region=region, tenancy=market.tenancy) for region in market.regions)
            if offers := [book.offers[key] for key in keys if key in book.offers]:
                yield shape, min(offer.hourly for offer in offers)


def _unnamed(jobs: Jobs, book: PriceBook, markets: Sequence[Market]) -> UsageError | EvidenceError:
    """That it has to be said which GPUs are meant, with those that are priced."""
    by_family: dict[str, Decimal] = {}
    for shape, hourly in _sold(book, [replace(m, families=("*",), vcpus=0) for m in markets]):
        by_family[shape.family] = min(hourly / shape.gpus, by_family.get(shape.family, hourly))
    named = ", ".join(family for market in markets for family in market.families)
    if not by_family:
        first = markets[0]
        return EvidenceError(
            f"{jobs.provenance.name}: its jobs ask for GPUs, and the price book has no machine with GPUs there",
            hint=f"import prices of such: 'hcloud pricing import FILE', or on AWS 'hcloud pricing refresh --provider"
            f" {first.provider} --region {first.regions[0]}'",
        )
    listed = [
        f"{family} (${each:,.2f})" for family, each in sorted(by_family.items(), key=lambda one: (one[1], one[0]))
    ]
    why = f"no size of {named} has GPUs and a price" if named else "they do not say which"
    return UsageError(
        f"{jobs.provenance.name}: its jobs ask for GPUs, and {why}",
        hint=f"name a family that has those they need, as --family {next(iter(sorted(by_family)))}; on demand, a GPU"
        f" and hour at the least: {some_of(listed, _NAMED)}",
    )


@dataclass(frozen=True, slots=True)
class _Best:
    """A type, what all jobs cost on whole machines of it on demand, and the row of a job that it does not hold."""

    shape: InstanceType
    dollars: float
    too_large: int | None


def _cheapest(jobs: Jobs, sold: Mapping[InstanceType, Decimal], divisible: Divisible) -> _Best:
    """The type that holds most of the work for the least dollars, in sizes of it that cost as much for each GPU, and of
    types that cost the same the smallest."""
    window, splits = window_of(jobs), can_split(jobs, divisible)
    begins, ends = (np.clip(at, window.start, window.end) for at in (jobs.begins, jobs.ends))
    grid, found = TimeGrid.over(window.start, window.end, SECONDS_PER_HOUR), []
    for shape, hourly in sold.items():
        parts = (_devices(jobs) / shape.gpus, jobs.cores / float(shape.vcpus), jobs.memory / float(shape.memory_gib))
        machines = np.maximum.reduce(parts)
        lost = np.where((machines > 1 + _EDGE) & ~splits, jobs.gpus * (ends - begins), 0.0)
        alike = (s for s, its in sold.items() if is_of_shape(s, shape) and its * shape.gpus <= hourly * s.gpus * _ALIKE)
        least = min((s.gpus for s in alike if s.gpus < shape.gpus), default=shape.gpus) / shape.gpus
        whole = float(np.ceil(mean_in_use(grid, begins, ends, machines) / least - _EDGE).sum()) * least
        best = _Best(shape, float(hourly) * whole, int(np.argmax(lost)) if lost.any() else None)
        found.append((float(lost.sum()), float(f"{best.dollars:.{_SAME}g}"), shape.vcpus, shape.name, best))
    return min(found)[-1]


def _divided(
    jobs: Jobs, sold: Mapping[InstanceType, Decimal], divisible: Divisible, whole: _Best
) -> tuple[Modelled, ...]:
    """What to say where jobs of few GPUs and those of many cost less by themselves, each on machines of their own."""
    devices = np.ceil(_devices(jobs)).astype(np.int64)
    levels, found = np.unique(devices), []
    for least in levels[1:]:
        parts = [_cheapest(jobs.at(np.flatnonzero(at)), sold, divisible) for at in (devices < least, devices >= least)]
        found.append((sum(part.dollars for part in parts), int(least)))
    dollars, least = min(found, default=(whole.dollars, 0))
    if whole.too_large is not None or dollars >= whole.dollars * (1 - _WORTH):
        return ()
    commands = f"the same command with --set gpu=1-{least - 1}, and again with --set gpu={least}-{levels[-1]}"
    saved = f"{1 - dollars / whole.dollars:.0%} less on demand, each on machines that are their own"
    return (
        Modelled(GPUS, f"jobs of under {least} and the others by themselves would cost {saved}: {commands}", DIVIDED),
    )


def _devices(jobs: Jobs) -> Floats:
    """The GPUs that jobs take: whole ones, or the smallest of equal parts of one that is large enough."""
    parts: Floats = np.where(jobs.gpus < 1, 1 / np.floor(1 / np.minimum(jobs.gpus, 1) + _EDGE), np.ceil(jobs.gpus))
    return parts


def _whole(jobs: Jobs) -> Jobs:
    """The jobs with those whole of which the trace does not say that they may be split: GPUs of one job are on one
    machine."""
    stated = np.full(len(jobs), -1, np.int8) if jobs.divisible is None else jobs.divisible
    return replace(jobs, divisible=np.maximum(stated, 0))


def _listed(types: Iterable[InstanceType]) -> str:
    return " and ".join(sorted({shape.family for shape in types}))


def _in_vcpus(jobs: Jobs, like: InstanceType, families: str, said: Iterable[Modelled] = ()) -> Jobs:
    """The jobs with the vCPUs of such a machine that their GPUs take, where those are more than what they ask for."""
    each, devices = like.vcpus / like.gpus, _devices(jobs)
    rule = Modelled(
        GPUS,
        f"the trace does not say which; those of {families} are assumed. Each counts as"
        f" {counted_vcpus(float(each))}, as on {like.name}; only machines with as many for each GPU count",
        KEY,
    )
    origin = replace(jobs.provenance, modelled=(*jobs.provenance.modelled, rule, *said))
    cores = np.maximum(jobs.cores, devices * float(each))
    return replace(_whole(jobs), cores=cores, gpus=np.zeros(len(jobs)), provenance=origin)
