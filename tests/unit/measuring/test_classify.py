"""The classifier: what it answers, when it asks instead, and what feedback changes."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from applications import performance, profile_of, scores

from benchmarks.held_out import stated
from hcloud.classify import factorize, sgd
from hcloud.classify.calibration import ClassifiedApp, evidence_of
from hcloud.classify.classifier import EvidenceLimits, Options, Trained, classify, complete, gains, rising_along, train
from hcloud.classify.factorize import fit
from hcloud.classify.judgement import misclassified
from hcloud.classify.matrix import Matrix, matrix_of
from hcloud.model.measured.profile import Aspect, CompletedRow, Measured, Predicted, Probe

NEW = ClassifiedApp("new", rising=True)
INF = float("inf")


@pytest.fixture(scope="module")
def trained() -> Trained:
    return train(performance(2, np.random.default_rng(0)).known)


def entries(**values: float) -> dict[str, Measured]:
    return {column: stated(value) for column, value in values.items()}


def answered(found: CompletedRow | Probe | None) -> CompletedRow:
    assert isinstance(found, CompletedRow)
    return found


def error_of(row: CompletedRow) -> float:
    assert row.held_out_error is not None
    return row.held_out_error


def asked(found: CompletedRow | Probe | None) -> Probe:
    assert isinstance(found, Probe)
    return found


def of_known(trained: Trained, app: str, *columns: str) -> dict[str, Measured]:
    row = trained.matrix.values[trained.matrix.apps.index(app)]
    return {c: stated(float(row[trained.matrix.columns.index(c)])) for c in columns}


def test_a_row_is_completed_around_what_was_measured(trained: Trained) -> None:
    given = {"t9": Measured(3.0, 2.9, 3.2, 5, stated(1).at, "m", "s"), "t1": stated(2.0)}
    row = answered(complete(trained, given, NEW, Options()))
    assert tuple(row.columns) == trained.matrix.columns
    assert row.columns["t9"] == Predicted(3.0, 2.9, 3.2, measured=True)
    assert not row.columns["t4"].measured
    assert row.columns["t4"].low < row.columns["t4"].value < row.columns["t4"].high
    assert 0 < error_of(row) < 0.25


def test_a_copy_of_a_known_application_is_predicted_like_it_and_has_it_for_a_neighbour(trained: Trained) -> None:
    given = of_known(trained, "known007", "t9", "t1", "t3", "t5", "t7")
    row = answered(complete(trained, given, NEW, Options()))
    truth = trained.matrix.values[7]
    for at, predicted in enumerate(row.columns.values()):
        assert predicted.value == pytest.approx(truth[at], rel=0.08)
    assert row.neighbours[0].likeness > 0.95
    assert len(row.neighbours) == 3
    assert [n.likeness for n in row.neighbours] == sorted((n.likeness for n in row.neighbours), reverse=True)
    itself = answered(complete(trained, given, ClassifiedApp("known007", True), Options(neighbours=99)))
    assert "known007" not in {n.app for n in itself.neighbours}


def test_along_a_single_concept_nobody_is_named_as_similar() -> None:
    """Every cosine is 1 or -1 there: "most similar: awk +1.00, convert-blur +1.00" for all programs alike."""
    values = np.array([[1.0, 1.0 + number / 10] for number in range(8)])
    apps = tuple(f"known{number}" for number in range(8))
    matrix = Matrix(Aspect.SCALE_UP, apps, ("1c", "2c"), values, np.ones(8, np.bool_), "1c")
    limits = EvidenceLimits(performance_entries=1, relative_error=INF)
    given = {"1c": stated(1.0), "2c": stated(1.9)}
    assert answered(complete(train(matrix), given, NEW, Options(limits=limits))).neighbours == ()


def test_times_are_predicted_as_the_inverse_of_rates(trained: Trained) -> None:
    rates = answered(complete(trained, entries(t9=2.0, t1=3.0), NEW, Options()))
    times = answered(complete(trained, entries(t9=1 / 2.0, t1=1 / 3.0), ClassifiedApp("new", False), Options()))
    for column, rate in rates.columns.items():
        time = times.columns[column]
        assert (time.value, time.low, time.high) == pytest.approx((1 / rate.value, 1 / rate.high, 1 / rate.low))


def test_without_its_reference_a_row_finds_its_own_level(trained: Trained) -> None:
    columns = ("t0", "t1", "t2", "t5", "t7")
    truth = trained.matrix.values[4]
    for factor in (1.0, 1000.0):
        given = {c: stated(m.value * factor) for c, m in of_known(trained, "known004", *columns).items()}
        row = answered(complete(trained, given, NEW, Options()))
        for at, predicted in enumerate(row.columns.values()):
            assert predicted.value == pytest.approx(truth[at] * factor, rel=0.1)


def test_a_vague_entry_says_less_than_a_sharp_one() -> None:
    corpus = train(scores(1, np.random.default_rng(0)).known)
    column, other = "cpu", "llc"
    mean = np.nanmean(corpus.matrix.values[:, corpus.matrix.columns.index(other)])

    def predicted(low: float, high: float) -> Predicted:
        given = {column: replace(stated(80.0), low=low, high=high)}
        return answered(complete(corpus, given, NEW, Options(limits=EvidenceLimits(points_error=INF)))).columns[other]

    sharp, close, vague = predicted(80, 80), predicted(79, 81), predicted(0, 100)
    assert close.value == pytest.approx(sharp.value, abs=0.5)
    assert abs(vague.value - mean) < abs(close.value - mean) / 2


def test_a_vague_reference_leaves_the_level_open(trained: Trained) -> None:
    given = of_known(trained, "known003", "t1", "t9")
    vague = {**given, "t9": replace(given["t9"], low=given["t9"].value / 3, high=given["t9"].value * 3)}
    believed = Options(limits=EvidenceLimits(relative_error=INF))
    sharp, open_ = (answered(complete(trained, g, NEW, believed)).columns["t4"] for g in (given, vague))
    assert open_.high / open_.low > sharp.high / sharp.low


def test_both_solvers_weigh_entries_alike(trained: Trained) -> None:
    known = of_known(trained, "known002", "t9", "t1", "t3")
    given = {c: replace(m, low=0.8 * m.value, high=1.3 * m.value) for c, m in known.items()}
    believed = EvidenceLimits(relative_error=INF)
    closed, descended = (
        answered(complete(trained, given, NEW, Options(limits=believed, fold=f))) for f in (factorize.fold, sgd.fold)
    )
    for column, one in closed.columns.items():
        assert descended.columns[column].value == pytest.approx(one.value, rel=1e-3)


@pytest.mark.slow
def test_more_measurements_do_not_take_an_answer_away() -> None:
    """Few applications were measured in the very same columns: those measured in some of them tell the error, too."""
    matrix = performance(2, np.random.default_rng(0)).known
    values = matrix.values.copy()
    for row in range(len(values)):
        values[row, row % 4] = np.nan  # no row has all of t0 to t3, each has three of them
    gappy = train(replace(matrix, values=values))
    given = of_known(train(matrix), "known007", "t9", "t0", "t1", "t2", "t3")
    few = answered(complete(gappy, {c: given[c] for c in ("t9", "t0")}, NEW, Options()))
    assert error_of(answered(complete(gappy, given, NEW, Options()))) < 1.2 * error_of(few)


@pytest.mark.slow
def test_where_no_error_can_be_told_no_infinite_one_is_named() -> None:
    matrix = performance(2, np.random.default_rng(0)).known
    values = matrix.values.copy()
    values[2:, 1] = np.nan
    given = of_known(train(matrix), "known007", "t9", "t1")
    why = asked(complete(train(replace(matrix, values=values)), given, NEW, Options())).why
    assert "fewer than 3" in why
    assert "inf" not in why


def test_a_dear_reference_is_not_forced(trained: Trained) -> None:
    dear = Options(costs={Aspect.TYPES: {"t9": 10.0}})
    assert asked(complete(trained, {}, NEW, dear)).column != "t9"
    assert asked(complete(trained, entries(t3=2.0), NEW, dear)).column not in ("t9", "t3")


def test_the_reference_alone_is_no_evidence(trained: Trained) -> None:
    probe = asked(complete(trained, entries(t9=2.0), NEW, Options()))
    assert probe.aspect is Aspect.TYPES
    assert probe.column in trained.matrix.columns[:-1]
    assert 0 < probe.gain < 1
    assert "1 of 2 entries are measured" in probe.why


def test_the_reference_is_asked_for_first(trained: Trained) -> None:
    assert asked(complete(trained, {}, NEW, Options())).column == "t9"
    assert asked(complete(trained, entries(t3=2.0), NEW, Options())).column == "t9"


def test_one_score_is_evidence_and_none_is_not() -> None:
    trained = train(scores(1, np.random.default_rng(0)).known)
    assert asked(complete(trained, {}, NEW, Options())).column in trained.matrix.columns
    answered(complete(trained, entries(cpu=40.0), NEW, Options()))


def test_an_expected_error_above_the_limit_is_no_answer(trained: Trained) -> None:
    given = entries(t9=2.0, t1=3.0)
    error = error_of(answered(complete(trained, given, NEW, Options())))
    probe = asked(complete(trained, given, NEW, Options(limits=EvidenceLimits(relative_error=error / 2))))
    assert re.match(r"an error of \d+% is expected, \d+% allowed", probe.why), "it was: an error of 1 of the value"


def test_an_application_unlike_the_corpus_is_doubted(trained: Trained) -> None:
    usual = answered(complete(trained, of_known(trained, "known003", "t9", "t1", "t2"), NEW, Options()))
    odd = entries(t9=1.0, t1=1e4, t2=1e4)
    assert isinstance(complete(trained, odd, NEW, Options()), Probe)
    believed = answered(complete(trained, odd, NEW, Options(limits=EvidenceLimits(relative_error=INF))))
    wide, narrow = believed.columns["t4"], usual.columns["t4"]
    assert wide.high / wide.low > narrow.high / narrow.low


def test_a_small_corpus_is_no_evidence() -> None:
    known = performance(1, np.random.default_rng(0)).known
    for count in (0, 1, 4):
        few = train(known.without(known.apps[count:]))
        probe = asked(complete(few, entries(t9=2.0, t1=3.0), NEW, Options()))
        assert f"{count} applications are profiled, 5 are needed" in probe.why
    assert complete(train(matrix_of([], Aspect.TYPES)), entries(t9=2.0), NEW, Options()) is None


def test_what_cannot_be_measured_is_not_asked_for() -> None:
    trained = train(scores(1, np.random.default_rng(0)).known)
    barred = frozenset(trained.matrix.columns) - {"tlb"}
    assert asked(complete(trained, {}, ClassifiedApp("new", True, barred), Options())).column == "tlb"
    assert complete(trained, {}, ClassifiedApp("new", True, frozenset(trained.matrix.columns)), Options()) is None


def test_the_probe_is_what_narrows_the_row_most_for_its_cost(trained: Trained) -> None:
    given = entries(t9=2.0)
    best = asked(complete(trained, given, NEW, Options()))
    assert trained.factors is not None
    share = gains(trained.factors, evidence_of(trained.matrix, given, NEW))
    assert best.gain == pytest.approx(share.max())
    assert trained.matrix.columns[int(share.argmax())] == best.column
    dear = Options(costs={Aspect.TYPES: {best.column: 1000.0}})
    assert asked(complete(trained, given, NEW, dear)).column != best.column
    with pytest.raises(ValueError, match=f"cost of 0 for measuring {best.column}"):
        complete(trained, given, NEW, Options(costs={Aspect.TYPES: {best.column: 0}}))


def test_a_gain_is_the_share_of_variance_that_the_measurement_removes(trained: Trained) -> None:
    from hcloud.classify import factorize

    assert trained.factors is not None
    evidence = evidence_of(trained.matrix, entries(t9=2.0, t3=1.0), NEW)
    for column in (0, 5):
        left = [np.diag(factorize.covariance(trained.factors, np.array(o, np.intp))) for o in ([3], [3, column])]
        before, after = (values + trained.factors.noise for values in left)
        missing = [i for i in range(9) if i != 3]
        still = [i for i in missing if i != column]
        expected = 1 - after[still].sum() / before[missing].sum()
        assert gains(trained.factors, evidence)[column] == pytest.approx(expected)


@pytest.mark.slow
def test_probing_beats_chance() -> None:
    truth = performance(3, np.random.default_rng(2))
    trained = train(truth.known)
    assert trained.factors is not None
    evidence = evidence_of(trained.matrix, entries(t9=1.0), NEW)
    best = int(gains(trained.factors, evidence).argmax())
    errors = []
    for column in range(9):
        off = []
        for row in truth.new.values[:40]:
            given = {"t9": stated(row[9]), f"t{column}": stated(row[column])}
            found = answered(complete(trained, given, NEW, Options(limits=EvidenceLimits(INF, INF))))
            off.append(np.mean([abs(p.value / t - 1) for p, t in zip(found.columns.values(), row, strict=True)]))
        errors.append(np.mean(off))
    assert errors[best] < np.mean(errors)


def test_an_application_measured_everywhere_needs_no_prediction(trained: Trained) -> None:
    given = of_known(trained, "known000", *trained.matrix.columns)
    row = answered(complete(trained, given, NEW, Options(limits=EvidenceLimits(relative_error=0.0))))
    assert all(p.measured for p in row.columns.values())
    assert row.held_out_error is None  # nothing was predicted, so nothing was held out


def test_columns_the_corpus_does_not_have_are_kept(trained: Trained) -> None:
    row = answered(complete(trained, entries(t9=2.0, t1=3.0, brand_new=9.0), NEW, Options()))
    assert row.columns["brand_new"] == Predicted(9.0, 9.0, 9.0, measured=True)


def test_impossible_measurements_are_refused(trained: Trained) -> None:
    with pytest.raises(ValueError, match=r"types of new, t1: -3\.0"):
        complete(trained, entries(t9=2.0, t1=-3.0), NEW, Options())


def test_an_estimate_goes_aspect_by_aspect(trained: Trained) -> None:
    chance = np.random.default_rng(0)
    corpus = {Aspect.TYPES: trained, Aspect.TOLERATED: train(scores(1, chance).known)}
    profile = profile_of("new", Aspect.TYPES, {"t9": 2.0, "t1": 3.0})
    found = classify(profile, corpus)
    assert (found.app, tuple(found.rows)) == ("new", (Aspect.TYPES,))
    assert [p.aspect for p in found.probes] == [Aspect.TOLERATED]
    both = {**profile.entries, Aspect.TOLERATED: {"cpu": stated(40.0)}}
    found = classify(replace(profile, entries=both, unmeasurable={"tlb": "no counter"}), corpus)
    assert tuple(found.rows) == (Aspect.TYPES, Aspect.TOLERATED)
    assert found.probes == ()


def test_gaps_of_nearly_dense_rows_teach_nothing_of_their_own() -> None:
    full = performance(1, np.random.default_rng(1)).known.transformed()
    gappy = full.copy()
    gappy[::3, 4] = np.nan
    gappy[1::4, 2] = np.nan
    assert np.abs(fit(gappy).gram - fit(full).gram).max() < 0.05 * np.abs(fit(full).gram).max()
    as_zero = np.where(np.isnan(gappy), 0.0, gappy)
    assert np.abs(fit(as_zero).gram - fit(full).gram).max() > np.abs(fit(gappy).gram - fit(full).gram).max()


def test_sparse_rows_are_placed_but_do_not_teach(trained: Trained) -> None:
    known, row = trained.matrix, np.full(len(trained.matrix.columns), np.nan)
    row[known.columns.index("t9")], row[known.columns.index("t1")] = 2.0, 3.0
    rising, values = np.append(known.rising, True), np.vstack((known.values, row))
    again = train(replace(known, apps=(*known.apps, "arrived"), values=values, rising=rising))
    assert again.factors is not None
    assert trained.factors is not None
    assert again.factors.rows == trained.factors.rows
    assert again.concepts.shape == (26, trained.concepts.shape[1])
    near = answered(complete(again, entries(t9=2.0, t1=3.0), NEW, Options(neighbours=1)))
    assert near.neighbours[0].likeness > 0.999


def test_only_a_large_difference_outside_the_interval_is_a_misclassification() -> None:
    wide, narrow = Predicted(10.0, 5.0, 15.0, measured=False), Predicted(10.0, 9.0, 11.0, measured=False)
    assert not misclassified(wide, 14.0)
    assert not misclassified(narrow, 11.5)
    assert misclassified(narrow, 12.5)
    assert misclassified(narrow, 7.5)


def test_a_clamped_row_does_not_fall_with_size() -> None:
    columns = ("1c2g", "1c4g", "2c2g", "2c4g", "m5.large")
    row = np.array([1.0, 0.5, 3.0, 2.0, -9.0])
    assert rising_along(columns, row, np.array([], np.intp)).tolist() == [1.0, 1.0, 3.0, 3.0, -9.0]
    assert rising_along(columns, row, np.array([3], np.intp)).tolist() == [1.0, 1.0, 2.0, 2.0, -9.0]


def test_the_clamp_is_for_sizes_and_counts_only() -> None:
    base = performance(2, np.random.default_rng(0)).known
    columns = tuple(str(n) for n in range(1, 11))
    falling = replace(base, aspect=Aspect.SCALE_OUT, columns=columns, reference="10")
    given = {"10": stated(1.0), "3": stated(0.9)}
    loose = Options(limits=EvidenceLimits(INF, INF))

    def values(matrix: Matrix, options: Options) -> list[float]:
        return [p.value for p in answered(complete(train(matrix), given, NEW, options)).columns.values()]

    assert values(falling, loose) != sorted(values(falling, loose))
    assert values(falling, replace(loose, monotone=True)) == sorted(values(falling, replace(loose, monotone=True)))
    types = replace(falling, aspect=Aspect.TYPES)
    assert values(types, replace(loose, monotone=True)) == values(types, loose)


@pytest.mark.slow
def test_a_measurement_written_back_never_raises_the_error_on_rows_that_were_held_out() -> None:
    """A twentieth of the entries is off by half; each is measured and written in, one after the other."""
    full = performance(2, np.random.default_rng(0)).known
    held, kept = np.arange(20, 25), np.arange(20)
    truth, apps = full.values[kept], tuple(np.array(full.apps)[kept].tolist())
    wrong = truth.copy()
    places = [(2 * i, (3 * i) % truth.shape[1]) for i in range(10)]
    for at in places:
        wrong[at] *= 1.5
    matrix = replace(full, apps=apps, values=wrong, rising=full.rising[kept])
    errors = []
    for row, column in [(-1, -1), *places]:
        if row >= 0:
            values = matrix.values.copy()
            values[row, column] = truth[row, column]
            matrix = replace(matrix, values=values)
        errors.append(_held_error(train(matrix), full, held))
    assert errors[-1] < 0.9 * errors[0]
    assert max(errors) == errors[0], errors


def _held_error(trained: Trained, full: Matrix, held: np.ndarray) -> float:
    """The mean relative error of rows that are not in the corpus, of which two entries are measured."""
    made = []
    for row in held:
        given = {c: stated(float(full.values[row, full.columns.index(c)])) for c in ("t9", "t1")}
        app = ClassifiedApp(full.apps[row], rising=bool(full.rising[row]))
        found = answered(complete(trained, given, app, Options(limits=EvidenceLimits(INF, INF))))
        told = np.array([found.columns[c].value for c in full.columns])
        made.append(np.abs(told / full.values[row] - 1).mean())
    return float(np.mean(made))
