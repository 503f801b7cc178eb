"""B4, accuracy: held-out rows predicted from two entries by hcloud, its peers and what is known in hindsight.

``python -m benchmarks.b4_accuracy [DATA]`` prints ``name mean / p90 / max unit``, by the protocol of
docs/research/classification.md, on scout (where DATA holds performance/scout.csv) and on the bundled profiles. All
contenders see the same rows and the same two entries. Peers: the mean of the others; scikit-surprise's SVD (biased
matrix factorisation by SGD), trained anew with the row's entries, by its defaults and by the best of a grid; the ridge
oracle, the exact ridge on the same factors with the rank and the lambda that turn out best over all rows, which nobody
can know beforehand. It fails where hcloud is worse than scikit-surprise's defaults, or than a tenth above the mean.
"""

from __future__ import annotations

import csv
import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.held_out import HeldOutRow, Protocol, at_random, held_out_rows, with_error_limit
from hcloud.classify.classifier import EvidenceLimits, Options, Trained
from hcloud.classify.factorize import Factors, fit
from hcloud.classify.matrix import Floats, Ints, Matrix, matrix_of
from hcloud.model.measured.profile import Aspect
from hcloud.readers.applications.profiles import load_corpus
from hcloud.units import natural

ROOT = Path(__file__).parents[1]
DRAWS, ENTRIES = range(10), 2
LIFTED = with_error_limit(Options(), float("inf"), float("inf"))
BLIND = Options(limits=EvidenceLimits(float("inf"), float("inf"), 2, 1, 0))
RANKS, LAMBDAS = (1, 2, 3, 5), (0.1, 1.0, 10.0, 100.0)
SURPRISE = ({}, *({"n_factors": f, "reg_all": r, "n_epochs": 200} for f, r in itertools.product((2, 8), (0.02, 0.2))))


class Task(NamedTuple):
    """One held-out row: the corpus without it on its scale (rows, columns), the columns given and their values."""

    others: Floats
    given: Ints
    values: Floats


Predict = Callable[[Task], Floats]


def scout(path: Path) -> Matrix:
    with path.open(encoding="utf-8", newline="") as file:
        runs = [r for r in csv.DictReader(file) if r["completed"] == "True"]
    apps = sorted({r["workload"] for r in runs})
    columns = sorted({f"{r['instance_type']}/{r['nodes']}" for r in runs}, key=natural)
    values = np.full((len(apps), len(columns)), np.nan)
    for run in runs:
        values[apps.index(run["workload"]), columns.index(f"{run['instance_type']}/{run['nodes']}")] = run["elapsed_s"]
    counts = (~np.isnan(values)).sum(axis=0)
    reference = columns[int(np.flatnonzero(counts == counts.max())[-1])]
    return Matrix(Aspect.TYPES, tuple(apps), tuple(columns), values, np.zeros(len(apps), np.bool_), reference)


def fold(factors: Factors, task: Task, noise: float) -> Floats:
    """The exact ridge as a least-squares problem with the prior as further rows."""
    rank = factors.loadings.shape[1]
    tall = np.vstack((factors.loadings[task.given], np.sqrt(noise) * np.eye(rank)))
    right = np.concatenate((task.values - factors.mean[task.given], np.zeros(rank)))
    return np.asarray(factors.mean + factors.loadings @ np.linalg.lstsq(tall, right)[0])


def ridge(rank: int, factor: float) -> Predict:
    def predict(task: Task) -> Floats:
        factors = fit(task.others, rank)
        return fold(factors, task, factor * factors.noise)

    return predict


def surprise(settings: dict[str, float]) -> Predict:
    """scikit-surprise's SVD on the rows of the corpus and the entries of the new one."""
    import pandas as pd
    from surprise import SVD, Dataset, Reader

    def predict(task: Task) -> Floats:
        rows, columns = np.nonzero(~np.isnan(task.others))
        new = len(task.others)
        table = pd.DataFrame(
            {
                "user": np.concatenate((rows, np.full(len(task.given), new))),
                "item": np.concatenate((columns, task.given)),
                "rating": np.concatenate((task.others[rows, columns], task.values)),
            }
        )
        low, high = float(table["rating"].min()), float(table["rating"].max())
        data = Dataset.load_from_df(table, Reader(rating_scale=(low, high))).build_full_trainset()
        model = SVD(random_state=1, **settings).fit(data)
        return np.array([model.predict(new, item).est for item in range(task.others.shape[1])])

    return predict


def tasks(matrix: Matrix, rows: list[HeldOutRow]) -> Iterator[tuple[HeldOutRow, Task]]:
    for held in rows:
        at = matrix.apps.index(held.app)
        others = matrix.without([held.app]).transformed()
        yield held, Task(others[~np.isnan(others).all(axis=1)], held.given, matrix.transformed()[at][held.given])


def errors(matrix: Matrix, rows: list[HeldOutRow], predict: Predict | None) -> Floats:
    """(rows,): the mean error over the held-out cells of each, by hcloud's own rows where nobody else predicts."""
    found = []
    for held, task in tasks(matrix, rows):
        scale = matrix.scale(matrix.apps.index(held.app))
        predicted = held.predicted() if predict is None else scale.back(predict(task))
        truth = held.truth.copy()
        truth[held.given] = np.nan
        off = np.abs(predicted - truth) / (1.0 if matrix.aspect.is_interference else np.abs(truth))
        found.append(float(np.nanmean(off)) if (~np.isnan(off)).any() else np.nan)
    return np.array(found)


def tell(name: str, found: Floats, relative: bool) -> float:
    known = found[~np.isnan(found)] * (100 if relative else 1)
    figures = " / ".join(f"{v:.1f}" for v in (known.mean(), np.percentile(known, 90), known.max()))
    print(f"{name:<46} {figures} {'%' if relative else 'points'}")
    return float(known.mean())


def study(name: str, matrix: Matrix) -> bool:
    """Print every contender; whether hcloud holds."""
    relative = not matrix.aspect.is_interference
    rows, blind, trained = list[HeldOutRow](), list[HeldOutRow](), dict[str, Trained]()
    for seed in DRAWS:
        choice = at_random(np.random.default_rng([seed, ENTRIES]))
        drawn = list(held_out_rows(matrix, Protocol(matrix.apps, ENTRIES, choice, LIFTED), trained))
        protocol = Protocol(matrix.apps, int(bool(matrix.reference)), choice, BLIND)
        means = {held.app: held.row for held in held_out_rows(matrix, protocol, trained)}
        rows += drawn
        blind += [held._replace(row=means[held.app]) for held in drawn]
    ours = tell(f"{name}: hcloud", errors(matrix, rows, None), relative)
    mean = tell(f"{name}: mean of the others", errors(matrix, blind, None), relative)
    grid = [(errors(matrix, rows, ridge(r, f)), f"rank {r}, {f:g} x noise") for r in RANKS for f in LAMBDAS]
    best, label = min(grid, key=lambda one: float(np.nanmean(one[0])))
    tell(f"{name}: ridge oracle ({label})", best, relative)
    tried = [(errors(matrix, rows, surprise(dict(s))), s) for s in SURPRISE]
    theirs = tell(f"{name}: scikit-surprise SVD, defaults", tried[0][0], relative)
    peer, settings = min(tried, key=lambda one: float(np.nanmean(one[0])))
    tell(f"{name}: scikit-surprise SVD, best", peer, relative)
    print(f"{'':<46} ({', '.join(f'{k} {v}' for k, v in settings.items()) or 'defaults'})")
    return ours <= theirs and ours <= 1.1 * mean


def main() -> None:
    data = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT.parent / "shared" / "data"
    held = []
    if (data / "performance" / "scout.csv").is_file():
        held.append(study("scout", scout(data / "performance" / "scout.csv")))
    else:
        print(f"scout is left out: no {data / 'performance' / 'scout.csv'}")
    profiles = load_corpus(ROOT / "profiles")
    held += [study(str(aspect), matrix_of(profiles, aspect)) for aspect in (Aspect.TOLERATED, Aspect.CAUSED)]
    if not all(held):
        sys.exit("hcloud is behind a peer")


if __name__ == "__main__":
    main()
