"""What jobs need by their application's estimate, instead of what is asked for them: size and interference."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hcloud.model.measured.profile import (
    RESOURCES,
    UNKNOWN_SCORE,
    Aspect,
    Estimate,
    Predicted,
    Profile,
    measured_of,
    size_of,
)
from hcloud.model.workload import JobKind, Jobs, Modelled
from hcloud.policy.codes import SCALE
from hcloud.policy.quality import encode, leading
from hcloud.units import seconds_of_unit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats

KEPT = 0.95
"""Share of the performance at the size asked for that a smaller one must keep (the thesis' quality of service)."""
HIGHEST = 99
LARGEST_ERROR = HIGHEST / math.sqrt(12)
"""Standard deviation in points of a score however vague it is: any is as likely as any other."""
_SIGMAS = 1.96
"""Half of a 95 % interval in standard deviations."""
KEY, NO_PROFILE, RESIZED = "profiles.folder", "no profile: as requested", " vCPU ("
AS_ASKED = "sizes as asked for"


class SizePoint(NamedTuple):
    """A size (vCPUs, GiB; 0 GiB: memory was not limited) with the performance predicted there (more is better) and the
    least that is certain."""

    vcpus: float
    gib: float
    performance: float
    certain: float
    measured: bool


class RateSpan(NamedTuple):
    """A performance (more is better) with the ends of its 95 % interval, and whether it was measured or predicted."""

    value: float
    low: float
    high: float
    measured: bool


@dataclass(frozen=True, slots=True)
class ApplicationNeed:
    """What one application's jobs need: its sizes by rising vCPUs, its interference vector (0..99 in the order of
    RESOURCES; None where nothing is known) with the standard deviation of each entry in points (infinite where only
    that entry is not known), its performance by instance type and by number of servers (more is better), and what each
    rests on, for people; ``by_runs`` says that performance counts runs, whose time was measured, in seconds;
    ``no_rate`` names a measure that does not say how much is done a second (``p99 latency in ms``), so that no size
    follows from it."""

    app: str
    sizes: tuple[SizePoint, ...]
    vector: tuple[int, ...] | None
    types: Mapping[str, float]
    because: str
    errors: tuple[float, ...] = ()
    nodes: Mapping[int, float] = field(default_factory=dict)
    spans: Mapping[str, RateSpan] = field(default_factory=dict)
    """How sure the performance on each instance type is."""
    node_spans: Mapping[int, RateSpan] = field(default_factory=dict)
    """The same by number of servers."""
    by_runs: bool = False
    no_rate: str = ""

    @property
    def quality(self) -> int | None:
        """Q_T, the quality of resources it needs, by its two leading digits (0..9999; thesis §8.3.3)."""
        return None if self.vector is None else leading(encode(np.array(self.vector))[0])


def need_of(profile: Profile, estimate: Estimate) -> ApplicationNeed:
    """What follows from a profile and its estimate; of an aspect the estimate abstains from only what was measured
    counts."""
    metric = profile.metric
    seconds = None if metric.rising or profile.kind is JobKind.SERVICE else seconds_of_unit(metric.unit)
    known = {aspect: _known(profile, estimate, aspect, seconds or 1.0) for aspect in Aspect}
    sizes = _sizes(known[Aspect.SCALE_UP], rising=metric.rising)
    scores = _scores(known[Aspect.TOLERATED], known[Aspect.CAUSED])
    types = {c: _performance(p, rising=metric.rising)[0] for c, p in known[Aspect.TYPES].items()}
    vector = tuple(score for score, _ in scores) or None
    out = known[Aspect.SCALE_OUT].items()
    node_spans = {int(c): _span(p, rising=metric.rising) for c, p in out if c.isdecimal() and int(c)}
    nodes = {count: span.value for count, span in node_spans.items()}
    errors = tuple(error for _, error in scores)
    spans = {c: _span(p, rising=metric.rising) for c, p in known[Aspect.TYPES].items()}
    return ApplicationNeed(
        profile.app,
        sizes,
        vector,
        types,
        _because(profile),
        errors,
        nodes,
        spans,
        node_spans,
        seconds is not None,
        "" if metric.rising or seconds else f"{metric.name} in {metric.unit}",
    )


def _span(found: Predicted, *, rising: bool) -> RateSpan:
    if rising:
        return RateSpan(found.value, found.low, found.high, found.measured)
    return RateSpan(_inverse(found.value), _inverse(found.high), _inverse(found.low), found.measured)


def _inverse(seconds: float) -> float:
    return 1 / seconds if seconds > 0 else math.inf


def _known(profile: Profile, estimate: Estimate, aspect: Aspect, unit: float) -> Mapping[str, Predicted]:
    """The columns of an aspect: what is predicted, and over it what was measured; performance in times of ``unit``."""
    row = estimate.rows.get(aspect)
    found = {**(row.columns if row else {}), **measured_of(profile, aspect)}
    if aspect.is_interference or unit == 1:
        return found
    return {c: Predicted(p.value * unit, p.low * unit, p.high * unit, p.measured) for c, p in found.items()}


def _sizes(columns: Mapping[str, Predicted], *, rising: bool) -> tuple[SizePoint, ...]:
    points = []
    for name, predicted in columns.items():
        if (size := size_of(name)) is not None:
            best, least = _performance(predicted, rising=rising)
            points.append(SizePoint(size[0], size[1] or 0.0, best, least, predicted.measured))
    return tuple(sorted(points))


def _performance(predicted: Predicted, *, rising: bool) -> tuple[float, float]:
    """The value and the least that is certain, as more is better: the worse end of its interval; of a measurement the
    value itself, unless its interval is wider than the loss that is allowed (``KEPT``)."""
    best, least = (predicted.value, predicted.low) if rising else (1 / predicted.value, 1 / predicted.high)
    return best, min(best, least / KEPT) if predicted.measured else least


def _scores(tolerated: Mapping[str, Predicted], caused: Mapping[str, Predicted]) -> list[tuple[int, float]]:
    """What it bears badly or presses on, whichever is more, with its standard deviation (infinite where nothing is
    known): the vector stands for both (thesis §8.3.3)."""
    if not tolerated and not caused:
        return []
    scores = []
    for resource in RESOURCES:
        known = [(100 - tolerated[resource].value, tolerated[resource])] if resource in tolerated else []
        known += [(caused[resource].value, caused[resource])] if resource in caused else []
        if not known:
            scores.append((UNKNOWN_SCORE, math.inf))
            continue
        score, of = max(known, key=itemgetter(0))
        error = min((of.high - of.low) / (2 * _SIGMAS), LARGEST_ERROR)
        scores.append((min(max(round(score), 0), HIGHEST), error))
    return scores


def _because(profile: Profile) -> str:
    """The measurements that an estimate of this application rests on."""
    parts = [
        f"{aspect} {', '.join(columns)}"
        for aspect, columns in ((a, profile.entries.get(a, {})) for a in Aspect)
        if columns
    ]
    days = [m.at.date() for columns in profile.entries.values() for m in columns.values()]
    when = f", measured until {max(days)}" if days else ""
    return "; ".join(parts) + when


def size_needed(need: ApplicationNeed, cores: float, gib: float) -> SizePoint | None:
    """The smallest known size that keeps 95 % of the performance at the size asked for; None to leave the request.

    Only sizes within the request are taken. A request above every known size is only cut where the curve has become
    flat before: how it goes on is not known. Where memory was not limited it stays as asked for. The latency under some
    load may be as good on less, which does not bear as much load.
    """
    within = [p for p in need.sizes if p.vcpus <= cores and p.gib <= gib]
    if not within or need.no_rate:
        return None
    best = max(p.performance for p in within)
    enough = [p for p in within if p.certain >= KEPT * best]
    most = max(p.gib for p in need.sizes)
    exceeds = cores > max(p.vcpus for p in need.sizes) or (most > 0 and gib > most)
    largest = max(p.vcpus for p in within)
    if not enough or (exceeds and all(p.vcpus == largest for p in enough)):
        return None
    smallest = min(enough, key=lambda p: (p.vcpus, p.gib))
    return None if (smallest.vcpus, smallest.gib or gib) == (cores, gib) else smallest


@dataclass(frozen=True, slots=True)
class Fitted:
    """Jobs at the size they need; how many are of a known application, and the applications that are not known."""

    jobs: Jobs
    profiled: int
    unprofiled: tuple[str, ...]


def fit_jobs(jobs: Jobs, needs: Sequence[ApplicationNeed]) -> Fitted:
    """Every job of a known application at the size it needs and with its vector; the others stay at their request."""
    by_name = {need.app: need for need in needs}
    cores, memory = jobs.cores.copy(), jobs.memory.copy()
    modelled = []
    for code, name in enumerate(jobs.apps):
        if name in by_name:
            sized = jobs.app == code if jobs.target is None else (jobs.app == code) & (jobs.target < 0)
            rows = np.flatnonzero(sized)
            changes = list(_resized(by_name[name], jobs, rows, (cores, memory)))
            unsized = f", as {by_name[name].no_rate} is no rate" if by_name[name].no_rate else ""
            asked = f"{AS_ASKED}{unsized}" if len(rows) else "sizes by target"
            said = ", ".join(changes) if changes else asked
            if (quality := by_name[name].quality) is not None:
                said += f", Q_T {quality / SCALE:.2f}"
            modelled.append(Modelled(name, f"{said}; from {by_name[name].because}", KEY))
    known = np.isin(jobs.app, [c for c, n in enumerate(jobs.apps) if n in by_name])
    vectors = {n.app: n.vector for n in needs if n.vector is not None and n.app in jobs.apps}
    errors = {n.app: n.errors for n in needs if n.app in vectors}
    origin = replace(jobs.provenance, modelled=(*jobs.provenance.modelled, *modelled))
    types = {n.app: n.types for n in needs if n.types and n.app in jobs.apps}
    fitted = replace(jobs, cores=cores, memory=memory, vectors=vectors, vector_errors=errors)
    fitted = replace(fitted, performance=types, provenance=origin)
    return Fitted(fitted, int(known.sum()), tuple(n for n in jobs.apps if n not in by_name))


def _resized(need: ApplicationNeed, jobs: Jobs, rows: NDArray[np.intp], target: tuple[Floats, Floats]) -> Iterator[str]:
    """Write the sizes that some rows need into ``target``; what was changed, for people."""
    asked = np.column_stack((jobs.cores[rows], jobs.memory[rows]))
    for cores, gib in np.unique(asked, axis=0).tolist():
        point = size_needed(need, cores, gib)
        if point is not None:
            chosen = rows[(asked == (cores, gib)).all(axis=1)]
            target[0][chosen], target[1][chosen] = point.vcpus, point.gib or gib
            how = "measured" if point.measured else "predicted"
            yield f"{len(chosen):,} from {cores:g} to {point.vcpus:g}{RESIZED}{how})"
