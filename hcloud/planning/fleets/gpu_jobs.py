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
from hcloud.model.catalog import InstanceType, OfferKey, Provider, PurchaseOption, refresh_command
from hcloud.model.clouds.known import CLOUDS
from hcloud.model.requirement import requirement_of
from hcloud.model.workload import OF_GPUS, OF_NO_GPUS, Jobs, Modelled, Workload
from hcloud.planning.fleets.candidates import allowed_shapes
from hcloud.planning.forecasting.demand import TimeGrid, mean_in_use
from hcloud.planning.forecasting.dividing import can_split
from hcloud.planning.forecasting.window import window_of
from hcloud.planning.settings import Divisible, Market
from hcloud.units import SECONDS_PER_HOUR, counted, counted_vcpus, some_of

if TYPE_CHECKING:
    from hcloud.model.workload import Floats

GPUS, KEY, DIVIDED = "GPUs", "markets.families", "workload.options.gpu"
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
            hint="'hcloud plan' and 'hcloud simulate' take them with the --provider, --region and --family of"
            " machines that have GPUs",
        )
    work = workload.cores * workload.duration
    share = 1.0 - float(work[kept].sum()) / float(work.sum())
    left_out = {**workload.provenance.left_out, f"{OF_GPUS}: {share:.1%} of the vCPU-hours": len(workload) - len(kept)}
    return replace(workload.at(kept), provenance=replace(workload.provenance, left_out=left_out))


def said_of(jobs: Jobs) -> Iterator[str]:
    """What a simulation says of jobs that were left out for their GPUs, or for asking for none or other ones."""
    counts = jobs.provenance.left_out.items()
    yield from (f"{counted(n, 'job')} left out: {why}" for why, n in counts if why.startswith((OF_GPUS, OF_NO_GPUS)))


def is_in_gpus(workload: Workload) -> bool:
    """Whether a workload's vCPUs stand for GPUs."""
    return any(rule.column == GPUS for rule in workload.provenance.modelled)


@dataclass(frozen=True, slots=True)
class GpuRules:
    """What decides on which machines GPUs are: which jobs may be split, how many are ``owned`` of a type in the mean of
    the horizon, which costs nothing, and whether to ``drop`` jobs that are too large."""

    divisible: Divisible
    owned: Iterable[tuple[InstanceType, float]] = ()
    drop: bool = False


def for_markets(
    workload: Workload, book: PriceBook, markets: Sequence[Market], rules: GpuRules
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
    owned = [one for one in rules.owned if one[0].family in {s.family for s in sold}]
    best = _cheapest(jobs, sold, rules.divisible, owned)
    if best.too_large is not None and not rules.drop:
        at = best.too_large
        asked = f"{jobs.gpus[at]:g} {GPUS}, {jobs.cores[at]:g} vCPU, {jobs.memory[at]:g} GiB"
        most = max(s.gpus for s in sold)
        alone = f"plan smaller jobs alone (--set gpu=1-{most}), " if jobs.gpus[at] > most else ""
        raise EvidenceError(
            f"job {jobs.name(at)} ({asked}) fits no machine of {_listed(sold)}, and cannot be split",
            hint=f"name families with larger ones (--family), {alone}or allow splitting: --divisible all",
        )
    shape, said = best.shape, _divided(jobs, sold, rules.divisible, best)
    like = [s for s in sold if _is_alike(s, shape)]
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
        return _unpriced(jobs, markets)
    cheapest = sorted(by_family.items(), key=lambda one: (one[1], one[0]))
    listed = [f"{family} (${each:,.2f})" for family, each in cheapest]
    why = f"no family of that name ({named}) has GPUs and a price" if named else "they do not say which"
    return UsageError(
        f"{jobs.provenance.name}: its jobs ask for GPUs, and {why}",
        hint=f"name a family that has those they need, as --family {cheapest[0][0]}; on demand, a GPU"
        f" and hour at the least: {some_of(listed, _NAMED)}",
    )


def _unpriced(jobs: Jobs, markets: Sequence[Market]) -> EvidenceError:
    """That no machine with GPUs has a price in the markets, and how prices come in: of AWS they are fetched."""
    here = [f"{market.provider}/{region}" for market in markets for region in market.regions]
    ours = [market.regions[0] for market in markets if market.provider is Provider.AWS]
    regions = dict.fromkeys(ours or [CLOUDS[Provider.AWS].home_region])
    fetched = [f"'{refresh_command(Provider.AWS, region)}'" for region in regions]
    imported = "import a table of such with its column gpus ('hcloud pricing import FILE')"
    return EvidenceError(
        f"{jobs.provenance.name}: its jobs ask for GPUs, and the price book has no machine with GPUs in"
        f" {some_of(here, _NAMED)}",
        hint=f"fetch prices of such: {' or '.join(fetched)}; or {imported}"
        if ours
        else f"{imported}; those of AWS can be fetched, for a plan there: {fetched[0]}",
    )


@dataclass(frozen=True, slots=True)
class _Best:
    """A type, what all jobs cost on whole machines of it on demand, and the row of a job that it does not hold."""

    shape: InstanceType
    dollars: float
    too_large: int | None


def _cheapest(
    jobs: Jobs,
    sold: Mapping[InstanceType, Decimal],
    divisible: Divisible,
    owned: Sequence[tuple[InstanceType, float]] = (),
) -> _Best:
    """The type that holds most of the work, and is what jobs require, for the least dollars, in sizes of it that cost
    as much for each GPU, and of types that cost the same the smallest. Of a job on several servers each holds a part.
    """
    servers = np.ones(len(jobs)) if jobs.servers is None else jobs.servers
    window, splits = window_of(jobs), can_split(jobs, divisible) & (servers == 1)
    wanted = [requirement_of(text) for text in jobs.requirements]
    asks = np.full(len(jobs), -1) if jobs.requires is None else jobs.requires
    begins, ends = (np.clip(at, window.start, window.end) for at in (jobs.begins, jobs.ends))
    grid, found = TimeGrid.over(window.start, window.end, SECONDS_PER_HOUR), []
    for shape, hourly in sold.items():
        parts = (_devices(jobs) / shape.gpus, jobs.cores / float(shape.vcpus), jobs.memory / float(shape.memory_gib))
        machines = np.maximum.reduce(parts)
        large = (machines / servers > 1 + _EDGE) & ~splits
        size = shape.name, float(shape.vcpus), float(shape.memory_gib)
        unmet = [at for at, one in enumerate(wanted) if one is not None and not one.is_met(*size)]
        lost = np.where(large | np.isin(asks, unmet), jobs.gpus * (ends - begins), 0.0)
        machines = np.where(lost > 0, 0.0, machines)
        alike = (s for s, its in sold.items() if is_of_shape(s, shape) and its * shape.gpus <= hourly * s.gpus * _ALIKE)
        least = min((s.gpus for s in alike if s.gpus < shape.gpus), default=shape.gpus) / shape.gpus
        paid = sum(count * its.gpus for its, count in owned if _is_alike(its, shape)) / shape.gpus
        needed = np.ceil(mean_in_use(grid, begins, ends, machines) / least - _EDGE) * least
        whole = float(np.maximum(needed - paid, 0.0).sum())
        best = _Best(shape, float(hourly) * whole, int(np.argmax(lost * large)) if (lost * large).any() else None)
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
    commands = f"the same command with --set gpu={levels[0]}-{least - 1}, and again with --set gpu={least}-{levels[-1]}"
    saved = f"{1 - dollars / whole.dollars:.0%} less on demand, each on machines that are their own"
    return (
        Modelled(GPUS, f"jobs of under {least} and the others by themselves would cost {saved}: {commands}", DIVIDED),
    )


def _is_alike(one: InstanceType, other: InstanceType) -> bool:
    """Whether two types with GPUs have as many vCPUs for each."""
    return one.gpus > 0 and abs(one.vcpus * other.gpus - other.vcpus * one.gpus) < _EDGE


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
        f" {counted_vcpus(float(each))}, as on {like.name}; other machines with GPUs are left out",
        KEY,
    )
    origin = replace(jobs.provenance, modelled=(*jobs.provenance.modelled, rule, *said))
    cores = np.maximum(jobs.cores, devices * float(each))
    return replace(_whole(jobs), cores=cores, gpus=np.zeros(len(jobs)), provenance=origin)
