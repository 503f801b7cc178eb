"""``hcloud classify``: what applications need, predicted from few measurements and the applications seen before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hcloud.classify import factorize, sgd
from hcloud.classify.classifier import EvidenceLimits, Options, classify, train
from hcloud.classify.judgement import ApplicationEstimate, PerformanceTarget, misclassified, ranking, size_for
from hcloud.classify.matrix import Matrix, check_values, matrix_of
from hcloud.errors import EvidenceError, InputError, UsageError, did_you_mean
from hcloud.model.measured.profile import RESOURCES, Aspect, Estimate, FailedMeasurement, Measured, Profile, measured_of
from hcloud.model.prices import TypePrices
from hcloud.planning.forecasting.needs import need_of
from hcloud.policy.quality import encode, leading
from hcloud.readers.applications.matrices import load_matrices
from hcloud.readers.applications.profiles import load_corpus, load_profile
from hcloud.readers.bundle import bundled
from hcloud.usecases.measuring.profile_names import profile_file
from hcloud.usecases.prices.pricing import prices_of

BUNDLED = "bundled"
FAILED = "failed"


class Solver(StrEnum):
    """How a row is completed: at the fixed point in closed form, or by the published iteration."""

    RIDGE = "ridge"
    SGD = "sgd"


@dataclass(frozen=True, slots=True)
class ObservedValue:
    """A value measured elsewhere, for example in production: it overwrites the profile's own; None: it did not run."""

    aspect: Aspect
    column: str
    value: float | None


@dataclass(frozen=True, slots=True)
class ClassificationRequest:
    """What is asked: applications (names or files; without any all of the folder, of the working directory or of the
    corpus), where their profiles are, the corpus (``bundled``, a folder of profiles, or a matrix file), how to
    classify, and the columns that performance is compared to, by aspect, where they are not the corpus's own choice."""

    apps: tuple[str, ...] = ()
    folder: Path | None = None
    corpus: str = BUNDLED
    solver: Solver = Solver.RIDGE
    aspects: tuple[Aspect, ...] = tuple(Aspect)
    largest_error: float | None = None
    target: float | None = None
    observed: tuple[ObservedValue, ...] = ()
    references: Mapping[Aspect, str] = field(default_factory=dict)


def open_corpus(name: str) -> Mapping[Aspect, Matrix]:
    """The matrices of a corpus: the bundled profiles, a folder of them, or a matrix file; aspects nobody measured are
    missing. Raises InputError for files that are not what they should be."""
    path = bundled("profiles") if name == BUNDLED else Path(name)
    if name != BUNDLED and not path.is_dir():
        return load_matrices(path)
    return matrices_of(load_corpus(path), str(path))


def matrices_of(profiles: Sequence[Profile], source: str) -> Mapping[Aspect, Matrix]:
    """The matrix of every aspect that any profile has."""
    try:
        made = {aspect: matrix_of(profiles, aspect) for aspect in Aspect}
    except ValueError as error:
        raise InputError(f"{source}: {error}") from None
    return {aspect: matrix for aspect, matrix in made.items() if matrix.apps}


def classify_apps(request: ClassificationRequest, at: datetime) -> tuple[ApplicationEstimate, ...]:
    """The answer for every application asked about, each from a corpus that does not hold it.

    Raises UsageError for an application without a profile, InputError for files that cannot be used.
    """
    corpus = open_corpus(request.corpus)
    asked = _asked(request)
    known = {app for matrix in corpus.values() for app in matrix.apps}
    if not known or ({p.app for p in asked} == known and len(known) == 1):
        others = f"no application but {asked[0].app}" if known else "no application"
        raise EvidenceError(
            f"{request.corpus}: {others} is known yet, so nothing can be predicted",
            hint="name applications seen before with --corpus: a folder of profiles or a matrix file",
        )
    corpus = {a: _referred(m, request.references.get(a, "")) for a, m in corpus.items()}
    prices = prices_of(corpus[Aspect.TYPES].columns if Aspect.TYPES in corpus else ())
    return tuple(_answer(observed_in(p, request.observed, at), p, _Corpus(corpus, prices), request) for p in asked)


def _referred(matrix: Matrix, reference: str) -> Matrix:
    """The matrix with another column as its reference; UsageError where it has none of that name."""
    if not reference:
        return matrix
    if reference not in matrix.columns:
        like = did_you_mean(reference, matrix.columns)
        raise UsageError(f"--reference {matrix.aspect}.{reference}: the corpus has no such column{like}")
    return replace(matrix, reference=reference)


class _Corpus(NamedTuple):
    """The matrices, and what an hour on each type costs."""

    matrices: Mapping[Aspect, Matrix]
    prices: TypePrices


def _asked(request: ClassificationRequest) -> list[Profile]:
    folder = request.folder or (bundled("profiles") if request.corpus == BUNDLED else Path(request.corpus))
    if not request.apps:
        own = Path() if request.folder is None and request.corpus == BUNDLED else folder
        if found := list(load_corpus(own) or load_corpus(folder)):
            return found
        raise UsageError(f"{folder}: has no profiles", hint="'hcloud profile run --name NAME -- COMMAND' makes one")
    folders = (request.folder,) if request.folder else (Path(), folder)
    return [load_profile(profile_file(name, *folders)) for name in request.apps]


def observed_in(profile: Profile, observed: Sequence[ObservedValue], at: datetime) -> Profile:
    """The profile with the observed values in place of its own (Quasar §3.2: measurements overwrite)."""
    entries = {aspect: dict(columns) for aspect, columns in profile.entries.items()}
    failures = {aspect: dict(columns) for aspect, columns in profile.failures.items()}
    for seen in observed:
        entries.get(seen.aspect, {}).pop(seen.column, None)
        failures.get(seen.aspect, {}).pop(seen.column, None)
        if seen.value is None:
            failed = FailedMeasurement("failed", at, "not stated", "--observed")
            failures.setdefault(seen.aspect, {})[seen.column] = failed
        else:
            made = Measured(seen.value, seen.value, seen.value, 1, at, "not stated", "--observed")
            entries.setdefault(seen.aspect, {})[seen.column] = made
    return replace(profile, entries=entries, failures=failures)


def options_of(solver: Solver, largest_error: float | None) -> Options:
    """How to classify; ``largest_error`` is a share for performance and the same in hundredths for scores."""
    limits = EvidenceLimits()
    if largest_error is not None:
        limits = replace(limits, relative_error=largest_error, points_error=100 * largest_error)
    return Options(limits=limits, fold=factorize.fold if solver is Solver.RIDGE else sgd.fold, monotone=True)


def estimate_of(profile: Profile, corpus: Mapping[Aspect, Matrix], options: Options) -> Estimate:
    """The estimate of one application from the others of the corpus; InputError for a value that cannot be."""
    others = {aspect: train(matrix.without([profile.app])) for aspect, matrix in corpus.items()}
    try:
        check_values(profile)
        return classify(profile, others, options)
    except ValueError as error:
        raise InputError(f"profile of {profile.app}: {error}") from None


def _answer(profile: Profile, before: Profile, corpus: _Corpus, request: ClassificationRequest) -> ApplicationEstimate:
    asked = {aspect: matrix for aspect, matrix in corpus.matrices.items() if aspect in request.aspects}
    prices = corpus.prices
    costs = {Aspect.TYPES: prices.costs(asked[Aspect.TYPES].columns)} if Aspect.TYPES in asked else {}
    options = replace(options_of(request.solver, request.largest_error), costs=costs)
    estimate = estimate_of(profile, asked, options)
    vector = need_of(profile, estimate).vector
    rising = profile.metric.rising
    types, sizes = (estimate.rows.get(a) for a in (Aspect.TYPES, Aspect.SCALE_UP))
    measured = {a: told for a in request.aspects if a not in estimate.rows and (told := measured_of(profile, a))}
    target = PerformanceTarget(request.target, rising, sure=True) if request.target is not None else None
    return ApplicationEstimate(
        profile,
        estimate,
        vector,
        None if vector is None else quality_of(vector),
        ranking(types, rising) if types else (),
        ranking(types, rising, prices.hourly) if types else (),
        prices,
        size_for(sizes.columns if sizes else measured.get(Aspect.SCALE_UP, {}), target) if target else None,
        len({app for matrix in asked.values() for app in matrix.apps if app != profile.app}),
        tuple(_surprises(before, asked, options, request.observed)),
        measured,
        request.target,
    )


def parse_reference(text: str) -> tuple[Aspect, str]:
    """``types.m5.large`` as the column that performance is compared to; UsageError for anything else."""
    aspect, _, column = text.partition(".")
    known = [a.value for a in Aspect if not a.is_interference]
    if aspect not in known or not column:
        raise UsageError(f"--reference {text}: write ASPECT.COLUMN, the aspect one of {', '.join(known)}")
    return Aspect(aspect), column


def quality_of(vector: Sequence[int]) -> int:
    """The leading part of the order-preserving encoding, 0..9999: what limits and thresholds compare."""
    return int(leading(encode(np.array(vector, np.int64))[0]))


def _surprises(
    before: Profile, corpus: Mapping[Aspect, Matrix], options: Options, observed: Sequence[ObservedValue]
) -> list[str]:
    """What was predicted otherwise than it was observed, before the observation taught better."""
    if not observed:
        return []
    told = estimate_of(before, corpus, options)
    said = []
    for seen in observed:
        row = told.rows.get(seen.aspect)
        predicted = row.columns.get(seen.column) if row else None
        if predicted is not None and seen.value is not None and misclassified(predicted, seen.value):
            said.append(
                f"{seen.aspect} {seen.column} was expected at {predicted.value:.4g} ({predicted.low:.4g} to "
                f"{predicted.high:.4g}) and observed at {seen.value:.4g}"
            )
    return said


def parse_observed(text: str) -> ObservedValue:
    """``tolerated.llc=40`` or ``types.m5.large=failed`` as an observation; UsageError for anything else."""
    name, equals, number = text.partition("=")
    aspect, _, column = name.partition(".")
    known = [a.value for a in Aspect]
    if not equals or aspect not in known or not column or (number != FAILED and not _is_number(number)):
        wanted = f"write ASPECT.COLUMN=NUMBER, or {FAILED} for the number; the aspect is one of {', '.join(known)}"
        raise UsageError(f"--observed {text}: {wanted}")
    if Aspect(aspect).is_interference and (column not in RESOURCES or number == FAILED):
        raise UsageError(f"--observed {text}: a number, and the resources are {', '.join(RESOURCES)}")
    return ObservedValue(Aspect(aspect), column, None if number == FAILED else float(number))


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False
