"""Our own corpus of measured programs: whole, honest about what cannot be told, and what it predicts."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.held_out import Protocol, accuracy, at_random, error, held_out_rows, with_error_limit
from hcloud.classify.classifier import EvidenceLimits, Options, Trained
from hcloud.classify.matrix import matrix_of
from hcloud.model.measured.profile import Aspect, Profile
from hcloud.readers.applications.app import load_app
from hcloud.readers.applications.profiles import load_corpus

FOLDER = Path(__file__).parents[2] / "profiles"
LIFTED = with_error_limit(Options(), float("inf"), float("inf"))
BLIND = Options(limits=EvidenceLimits(float("inf"), float("inf"), 2, 1, 0))
DRAWS = range(1)  # the benchmark b4_accuracy draws ten times
FEWEST = 25
TOGETHER = 2
"""Two programs are held out at a time, which trains on as many corpora fewer."""


@pytest.fixture(scope="module")
def corpus() -> tuple[Profile, ...]:
    return load_corpus(FOLDER)


def test_every_profile_is_of_a_described_program(corpus: tuple[Profile, ...]) -> None:
    apps = {load_app(path, {}).name for path in (FOLDER / "apps").glob("*.yaml")}
    names = [p.app for p in corpus]
    assert len(names) == len(set(names)) >= FEWEST
    assert set(names) <= apps
    assert {p.kind.name for p in corpus} == {"BATCH", "SERVICE"}


def test_every_number_has_interval_samples_date_machine_and_source(corpus: tuple[Profile, ...]) -> None:
    for profile in corpus:
        assert profile.entries[Aspect.SCALE_UP]
        for columns in profile.entries.values():
            for measured in columns.values():
                assert measured.low <= measured.value <= measured.high
                assert measured.samples > 0
                assert measured.machine
                assert measured.source


def test_what_cannot_be_told_is_said_and_has_no_score(corpus: tuple[Profile, ...]) -> None:
    for profile in corpus:
        for resource, why in profile.unmeasurable.items():
            assert len(why) > 20
            assert resource not in profile.entries.get(Aspect.TOLERATED, {})


@pytest.mark.parametrize("aspect", [Aspect.TOLERATED, Aspect.CAUSED])
def test_two_scores_tell_the_others_no_worse_than_the_mean_does(aspect: Aspect, corpus: tuple[Profile, ...]) -> None:
    """The protocol of docs/research/classification.md for interference, on measurable resources only."""
    matrix = matrix_of(corpus, aspect)
    ours, blind, trained = [], [], dict[str, Trained]()
    groups = tuple(str(at // TOGETHER) for at in range(len(matrix.apps)))
    for seed in DRAWS:
        chance = at_random(np.random.default_rng([seed, 2]))
        rows = list(held_out_rows(matrix, Protocol(groups, 2, chance, LIFTED), trained))
        means = {h.app: h.row for h in held_out_rows(matrix, Protocol(groups, 0, chance, BLIND), trained)}
        ours += rows
        blind += [held._replace(row=means[held.app]) for held in rows]
    shown(f"{aspect}, 2 of {len(matrix.columns)} entries", accuracy(ours, False))
    shown(f"{aspect}, mean of the others", accuracy(blind, False))
    errors = [float(np.nanmean([error(held, False) for held in found])) for found in (ours, blind)]
    assert errors[0] <= errors[1] * 1.1


def shown(name: str, found: object) -> None:
    sys.stdout.write(f"\n{name}: {found}")
