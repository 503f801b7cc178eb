"""Interference vectors of the jobs of a run: the true ones act, decisions rest on what is known of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from hcloud.model.measured.profile import UNKNOWN_SCORE
from hcloud.model.running.cloud import CloudModel
from hcloud.model.workload import Jobs
from hcloud.policy.quality import DIGITS
from hcloud.policy.records import Bytes, Ints, Reals
from hcloud.policy.sizes.information import Information, Profiled
from hcloud.sim.setup.streams import stream

if TYPE_CHECKING:
    from hcloud.model.workload import Kinds

ByApp = Mapping[str, Sequence[float]]
MOST = 99


def drawn(service: Ints, model: CloudModel, seed: int) -> Bytes:
    """True vectors of jobs, 0..99 [job, resource]: how large the largest entry is depends on the kind."""
    count, chance = len(service), stream(seed, "job sensitivity")
    tolerant = chance.random(count) < model.number("jobs", "batch_tolerant_share")
    place = chance.random(count)
    bounds = {k: model.numbers("jobs", k) for k in ("batch_tolerant", "batch_sensitive", "service_sensitive")}
    largest = np.where(
        service == 1,
        _between(bounds["service_sensitive"], place),
        np.where(tolerant, _between(bounds["batch_tolerant"], place), _between(bounds["batch_sensitive"], place)),
    )
    low, high = model.numbers("jobs", "other_entries")
    shares = chance.uniform(low, high, (count, DIGITS))
    shares[np.arange(count), chance.integers(0, DIGITS, count)] = 1.0
    return _scores(shares * largest[:, None])


def _between(bounds: tuple[float, ...], place: Reals) -> Reals:
    return bounds[0] + (bounds[1] - bounds[0]) * place


def _scores(values: Reals) -> Bytes:
    return np.clip(np.rint(values), 0, MOST).astype(np.int8)


def estimated(truth: Bytes, information: Information, seed: int) -> Bytes:
    """What is known of true vectors: where jobs are profiled, ``injected_sources`` entries of each were measured and
    are exact, the others err by a normal error of ``vector_error`` points; else nothing is known of any entry."""
    if not isinstance(information, Profiled):
        return np.full_like(truth, UNKNOWN_SCORE)
    return _scores(truth + classification_errors(len(truth), information, stream(seed, "classification error")))


def classification_errors(count: int, information: Information, chance: np.random.Generator) -> Reals:
    """By how many points each entry of so many vectors is off where jobs are profiled."""
    error = chance.normal(0.0, information.vector_error, (count, DIGITS))
    measured = min(information.injected_sources, DIGITS)
    if measured:
        order = chance.random(error.shape)
        error[order <= np.sort(order, axis=1)[:, measured - 1 : measured]] = 0.0
    return error


def put_profiled(
    vectors: tuple[Bytes, Bytes], jobs: Jobs, rows: Ints, told: tuple[ByApp, np.random.Generator], how: Information
) -> None:
    """What is told of profiled applications in place of drawn vectors, true and known: the profile is what is known,
    and the truth, one for all jobs of an application, lies around it as far as the profile's own intervals say, or,
    where it has none (NaN), as far as the classification errs. An entry that nobody knows (infinite) stays as it was
    drawn, as for jobs without a profile."""
    (truth, known), (by_app, chance) = vectors, told
    for code, name in enumerate(jobs.apps):
        if name in by_app:
            chosen, given = jobs.app[rows] == code, np.array(by_app[name], np.float64)
            errors = np.array(jobs.vector_errors.get(name, (0.0,) * DIGITS))
            is_told = ~np.isinf(errors)
            errors = np.nan_to_num(errors, nan=how.vector_error, posinf=0.0)
            truth[np.ix_(chosen, is_told)] = _scores(given + errors * chance.standard_normal(DIGITS))[is_told]
            if isinstance(how, Profiled):
                known[chosen] = given.astype(np.int8)


def put_stated(vectors: tuple[Bytes, Bytes], stated: Kinds | None, rows: Ints, *, informed: bool) -> None:
    """The vectors that jobs state themselves: they are so, and known where jobs are profiled."""
    if stated is None:
        return
    mine = stated[rows].astype(np.int8)
    chosen = mine[:, 0] >= 0
    for made in vectors if informed else vectors[:1]:
        made[chosen] = mine[chosen]


def borne(
    vectors: tuple[Bytes, Bytes], jobs: Jobs, rows: Ints, seed: int, how: Information
) -> tuple[Bytes, Bytes] | None:
    """What jobs tolerate, as it is known and as it is, where that is told of some; None: 99 less what they cause."""
    if not jobs.tolerates and jobs.bears is None:
        return None
    truth, known = MOST - vectors[0], MOST - vectors[1]
    told = (jobs.tolerates, stream(seed, "true tolerance of applications"))
    put_profiled((truth, known), jobs, rows, told, how)
    put_stated((truth, known), jobs.bears, rows, informed=isinstance(how, Profiled))
    return known, truth
