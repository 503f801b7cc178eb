"""Held-out accuracy: workloads predicted from a few entries by a corpus that has not seen them, and what was chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np

from hcloud.classify.calibration import ClassifiedApp, evidence_of
from hcloud.classify.classifier import Missing, Options, Trained, complete, next_probe, train
from hcloud.classify.matrix import Flags, Floats, Ints, Matrix
from hcloud.model.measured.profile import CompletedRow, Measured

_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)

Choice = Callable[[Trained, Ints, int], Ints]
"""Which ``k`` of the measurable columns are measured of a new row."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """What is held out together (one name a row), how many entries of a held-out row are given, who chooses them and
    how rows are completed."""

    groups: tuple[str, ...]
    entries: int
    choice: Choice
    options: Options = field(default_factory=Options)


class HeldOutRow(NamedTuple):
    """A held-out row: the application, its true values (columns,) with NaN where unknown, the columns given, and its
    completed row (None: abstained)."""

    app: str
    truth: Floats
    given: Ints
    row: CompletedRow | None

    def predicted(self) -> Floats:
        """(columns,): what the row says, NaN where nothing was said."""
        if self.row is None:
            return np.full(len(self.truth), np.nan)
        return np.array([p.value for p in self.row.columns.values()])

    def covered(self) -> Floats:
        """(cells,): 1 for every held-out cell inside its interval, 0 outside."""
        if self.row is None:
            return np.zeros(0)
        entries = zip(self.row.columns.values(), self.truth, strict=True)
        held = [(p.low <= t <= p.high) for p, t in entries if not p.measured and not np.isnan(t)]
        return np.array(held, np.float64)


@dataclass(frozen=True, slots=True)
class ErrorSummary:
    """Mean, 90th percentile and maximum over applications of an application's mean error over its held-out cells
    (relative to the truth for performance, points for scores); the share of applications abstained from, and the share
    of held-out cells inside their 95 % interval. NaN where nothing was answered."""

    mean: float
    p90: float
    max: float
    abstained: float
    coverage: float


def at_random(chance: np.random.Generator) -> Choice:
    """The reference where there is one, and the other entries by chance."""

    def choose(trained: Trained, able: Ints, count: int) -> Ints:
        first, rest = _reference_first(trained.matrix, able)
        return np.concatenate((first, chance.permutation(rest)))[:count]

    return choose


def as_probed(trained: Trained, able: Ints, count: int) -> Ints:
    """The entries that the classifier itself asks for, one after the other."""
    matrix = trained.matrix
    given = list(_reference_first(matrix, able)[0][:count])
    barred = frozenset(c for i, c in enumerate(matrix.columns) if i not in set(able.tolist()))
    while len(given) < min(count, len(able)):
        entries = {matrix.columns[i]: stated(50.0) for i in given}  # what comes out does not matter to a probe
        evidence = evidence_of(matrix, entries, ClassifiedApp("", rising=True))
        probe = next_probe(Missing(matrix, evidence, barred), trained.factors, {}, "")
        if probe is None:
            break
        given.append(matrix.columns.index(probe.column))
    return np.array(given, np.intp)


def _reference_first(matrix: Matrix, able: Ints) -> tuple[Ints, Ints]:
    at = matrix.columns.index(matrix.reference) if matrix.reference else -1
    return able[able == at], able[able != at]


def stated(value: float) -> Measured:
    """A value as if measured without error, for rows whose truth is known."""
    return Measured(value, value, value, 1, _LONG_AGO, "", "held-out truth")


def held_out_rows(
    matrix: Matrix, protocol: Protocol, trained: dict[str, Trained] | None = None
) -> Iterator[HeldOutRow]:
    """Every row predicted from a few of its own entries and the rows of all other groups, in the matrix's order.

    ``trained`` keeps the corpora without a group, for other protocols over the same matrix and groups.
    """
    trained = {} if trained is None else trained
    for at, (app, group) in enumerate(zip(matrix.apps, protocol.groups, strict=True)):
        if group not in trained:
            trained[group] = _without(matrix, protocol.groups, group)
        yield predicted_row(trained[group], app, _Truth(matrix.values[at], bool(matrix.rising[at])), protocol)


class _Truth(NamedTuple):
    values: Floats
    rising: bool


def _without(matrix: Matrix, groups: Sequence[str], group: str) -> Trained:
    gone = {app for app, own in zip(matrix.apps, groups, strict=True) if own == group}
    return train(matrix.without(gone), [own for own in groups if own != group])


def new_rows(trained: Trained, matrix: Matrix, protocol: Protocol) -> Iterator[HeldOutRow]:
    """Every row of a second matrix with the same columns, predicted from a few of its entries; groups play no part."""
    for app, values, rising in zip(matrix.apps, matrix.values, matrix.rising, strict=True):
        yield predicted_row(trained, app, _Truth(values, bool(rising)), protocol)


def predicted_row(trained: Trained, app: str, truth: _Truth, protocol: Protocol) -> HeldOutRow:
    """One row predicted from the entries that the protocol chooses."""
    able = np.flatnonzero(~np.isnan(truth.values))
    given = protocol.choice(trained, able, protocol.entries)
    entries = {trained.matrix.columns[i]: stated(float(truth.values[i])) for i in given}
    found = complete(trained, entries, ClassifiedApp(app, truth.rising), protocol.options)
    return HeldOutRow(app, truth.values, given, found if isinstance(found, CompletedRow) else None)


def accuracy(rows: Sequence[HeldOutRow], relative: bool) -> ErrorSummary:
    """The figures of held-out rows."""
    answered = [row for row in rows if row.row is not None]
    errors = np.array([error(row, relative) for row in answered])
    errors = errors[~np.isnan(errors)]
    covered = np.concatenate([row.covered() for row in answered]) if answered else np.zeros(0)
    if not len(errors):
        return ErrorSummary(np.nan, np.nan, np.nan, 1.0, np.nan)
    return ErrorSummary(
        float(errors.mean()),
        float(np.percentile(errors, 90)),
        float(errors.max()),
        1.0 - len(answered) / len(rows),
        float(covered.mean()),
    )


def error(held: HeldOutRow, relative: bool) -> float:
    """The mean error over the held-out cells of one row; NaN where it has none."""
    truth = held.truth.copy()
    truth[held.given] = np.nan
    off = np.abs(held.predicted() - truth)
    cells = (off / np.abs(truth) if relative else off)[~np.isnan(off)]
    return float(cells.mean()) if len(cells) else float("nan")


class ChosenConfiguration(NamedTuple):
    """A configuration chosen among several: its column, its rank by true cost (1: the best), and by what share its true
    cost exceeds the best one's."""

    column: int
    rank: int
    regret: float


def chosen(merit: Floats, costs: Floats) -> ChosenConfiguration:
    """What choosing the largest ``merit`` (NaN: not a candidate) leads to, by the true ``costs`` of all configurations.

    Raises ValueError where nothing is a candidate.
    """
    if np.isnan(merit).all():
        raise ValueError("no configuration can be chosen")
    at = int(np.nanargmax(merit))
    return ChosenConfiguration(at, 1 + int((costs < costs[at]).sum()), float(costs[at] / np.nanmin(costs) - 1.0))


def baselines(others: Floats, prices: Floats, fits: Flags, costs: Floats) -> dict[str, ChosenConfiguration]:
    """Choices that need no measurement of a workload, and the one that needs all.

    ``others`` (rows, columns) are the dollars other workloads cost, ``prices`` (columns,) dollars per hour, ``fits``
    (columns,) where this workload runs at all, ``costs`` (columns,) its true dollars. Cheapest that fits: the lowest
    price per hour. Mean of the others: the least mean cost, each workload's relative to its own cheapest. Exhaustive:
    after measuring every one.
    """
    relative = others / others.min(axis=1, keepdims=True)
    return {
        "cheapest that fits": chosen(np.where(fits, -prices, np.nan), costs),
        "mean of the others": chosen(-relative.mean(axis=0), costs),
        "exhaustive": chosen(-costs, costs),
    }


def with_error_limit(options: Options, relative: float, points: float) -> Options:
    """The same options with other limits of error; infinite ones answer whatever is expected."""
    return replace(options, limits=replace(options.limits, relative_error=relative, points_error=points))
