"""``hcloud reproduce``: the committed page is what the frozen model gives, and its judge keeps to its rules."""

from __future__ import annotations

import math
import pickle
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from building import Built

from hcloud.cli.main import run
from hcloud.model.workload import Jobs
from hcloud.research import reproduce as reproducing
from hcloud.research.page import differences, save_pictures, sections, seeds_of
from hcloud.research.reproduce import STUDIES, open_bench, reproduce
from hcloud.research.studies import over_time, report
from hcloud.research.studies.bench import Case, StudyBench, recipe
from hcloud.research.studies.report import ClaimVerdict, Picture, PictureMark, StudyReport, WrittenInterval, written
from hcloud.sim.machine_code.compiled import compiled
from hcloud.sim.setup import scenarios

DOCS = Path(__file__).parents[3] / "docs" / "research"
PAGE = "reproduction.md"
EXACT = "applications"
"""Made anew with all the seeds of the page."""
SAID = ("§0", "words")


@pytest.fixture
def remembered(monkeypatch: pytest.MonkeyPatch, built: Built) -> None:
    """A study that another test of this file ran at as many seeds is not run again, whichever worker ran it."""

    def once(key: str, bench: StudyBench) -> StudyReport:
        def kept(directory: Path) -> None:
            (directory / "report").write_bytes(pickle.dumps(STUDIES[key](bench)))

        found = built(f"study-{key}-{len(bench.seeds)}", kept)
        report: StudyReport = pickle.loads((found / "report").read_bytes())
        return report

    monkeypatch.setattr("hcloud.research.reproduce.STUDIES", {key: partial(once, key) for key in STUDIES})


def test_the_committed_page_has_every_study_at_seven_seeds_or_more_and_its_pictures() -> None:
    text = (DOCS / PAGE).read_text(encoding="utf-8")
    assert seeds_of(text) >= 7
    assert list(sections(text)) == list(STUDIES)
    pictures = [DOCS / line.partition("(")[2].rstrip(")") for line in text.splitlines() if line.startswith("![")]
    assert {p.name for p in pictures} == {p.name for p in (DOCS / "reproduction").iterdir()}
    assert sum(p.stat().st_size for p in pictures) < 1_000_000


@pytest.mark.usefixtures("remembered")
def test_a_study_of_the_committed_page_comes_out_word_by_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "hcloud", "--check", "--out", str(DOCS), "--study", EXACT]) == 0, capsys.readouterr().err
    assert "1 study as stated, 7 seeds" in capsys.readouterr().err


def test_what_reserves_all_rents_all_and_does_both_comes_out_as_it_was_frozen() -> None:
    """In two scenarios, at the first seed; over all seeds it stands on the page."""
    compiled()
    assert [claim.got for claim in STUDIES["calibration"](open_bench(1)).claims] == [
        "2.20, stated 2.2", "4.07, stated 8", "batch jobs 0.241, services 7.89", "24.1, stated 24", "42.6, stated 42",
    ]  # fmt: skip


BEGIN, SHORT = 1800.0, 300.0
"""Seconds of a scenario, in which the load is high."""


class ShortBench(StudyBench):
    """Runs less of each scenario, which the claims' figures would notice and the claims do not."""

    def jobs(self, case: Case, seed: int) -> Jobs:
        """Those of five minutes; what comes later is not even made."""
        key = (case.scenario, case.mean, case.peak, seed)
        if key not in self._jobs:
            jobs = scenarios.generated.__wrapped__(recipe(case), seed)
            jobs = jobs.at(np.flatnonzero(jobs.ends > BEGIN))
            submit = np.maximum(jobs.submit, BEGIN)
            self._jobs[key] = replace(jobs, submit=submit - BEGIN, duration=jobs.ends - submit)
        return super().jobs(case, seed)


@pytest.mark.long
def test_all_studies_and_claims_of_the_page_come_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(over_time, "SURGE", (SHORT / 3, SHORT))
    monkeypatch.setattr(scenarios, "SECONDS", int(BEGIN + SHORT))
    compiled()  # until then plain Python would simulate, which takes minutes
    whole = open_bench(1)
    bench = ShortBench(whole.strategies, whole.cloud, whole.shop, whole.seeds)
    reports = reproduce(bench, tuple(STUDIES), lambda share: None)
    assert differences((DOCS / PAGE).read_text(encoding="utf-8"), reports, 1, whole=True) == []
    told = {report.key: [{row[0]: row for row in table.rows} for table in report.tables] for report in reports}
    changes, *ratios = told["price-ratio"]
    for at, (scenario, found, models) in enumerate(zip(changes, ratios, told["pricing"], strict=True)):
        assert found["2.74"][1:6] == tuple(row[1] for row in models.values()), "the ratio of the price list"
        assert found["1"][1:6] == tuple(row[3] for row in models.values()), "nothing is cheaper for a term"
        assert {r for r in found if float(r) > float(changes[scenario][2])} == {r for r in found if found[r][6] == "SR"}
        for name in ("HF", "HM"):
            meant, literal = (told["q90"][0][f"{name}, {scenario}, {mode}"][1:] for mode in ("guarantee", "literal"))
            assert meant[:4] == told["performance"][at][name][1:5]
            assert (float(literal[0]) < float(meant[0])) == (name == "HM"), "HF rents but one type"


@pytest.mark.usefixtures("remembered")
def test_with_other_seeds_claims_are_compared_and_figures_are_not(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["reproduce", "hcloud", "--check", "--out", str(DOCS), "--study", "applications", "--seeds", "2"]
    assert run(words) == 0, capsys.readouterr().err
    assert "1 study as stated, 2 seeds" in capsys.readouterr().err


@pytest.mark.usefixtures("remembered")
@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        ("15.8", "15.9", "applications: the page says '| Fig 8.19 | services on demand are on larger instances"),
        ("and batch goes on demand", "something else", "applications: the claims differ"),
        ("<!-- study: applications -->", "", "applications: the page lacks this study"),
    ],
)
def test_a_page_that_says_otherwise_is_refused(
    was: str, now: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head, marker, rest = (DOCS / PAGE).read_text(encoding="utf-8").partition(f"<!-- study: {EXACT} -->")
    (tmp_path / PAGE).write_text(head + (marker + rest).replace(was, now, 1), encoding="utf-8")
    assert run(["reproduce", "hcloud", "--check", "--out", str(tmp_path), "--study", EXACT]) == 1
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("quasar",), 64, "systems: hcloud"),
        (("hcloud", "--check", "--study", "weather"), 64, "there is no such study"),
        (("hcloud", "--study", "cost"), 64, "--study goes with --check"),
        (("hcloud", "--check"), 1, "no page to check"),
    ],
)
def test_what_cannot_be_done_is_said(
    words: tuple[str, ...], code: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["reproduce", *words, "--out", str(tmp_path)]) == code
    captured = capsys.readouterr()
    assert said in captured.err + captured.out
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("remembered")
def test_a_page_is_written_with_its_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = {"applications": reproducing.STUDIES["applications"]}
    out = tmp_path / "new" / "docs"
    texts = set()
    for studies in (kept, {key: STUDIES[key] for key in kept}):  # once as remembered, once anew
        monkeypatch.setattr("hcloud.research.reproduce.STUDIES", studies)
        assert run(["reproduce", "hcloud", "--out", str(out), "--seeds", "2"]) == 0, capsys.readouterr().err
        texts.add((out / PAGE).read_bytes() + b"".join(p.read_bytes() for p in sorted(out.glob("reproduction/*"))))
        shutil.rmtree(out)
    assert len(texts) == 1
    assert b"Seeds: 1 to 2." in texts.pop()


def test_orderings_need_an_interval_clear_of_zero_and_numbers_a_mean_within_a_tenth() -> None:
    assert report.above(SAID, (3, 4, 5), (1, 2, 3.1)).verdict is ClaimVerdict.HOLDS
    assert report.above(SAID, (3, 4, 5), (2.9, 4.2, 1)).verdict is ClaimVerdict.FAILS
    assert report.above(SAID, (1, 1), (1, 1)).verdict is ClaimVerdict.FAILS
    assert report.above(SAID, (math.nan,) * 2, (1, 1)).verdict is ClaimVerdict.FAILS
    assert report.near(SAID, 2.2, (2.0, 2.0)).verdict is ClaimVerdict.HOLDS
    assert report.near(SAID, 8, (0.6, 0.6)).verdict is ClaimVerdict.FAILS
    assert report.slightly_below(SAID, (10, 10, 10), (9.5, 9.4, 9.6)).verdict is ClaimVerdict.HOLDS
    assert report.slightly_below(SAID, (10, 10, 10), (5, 5, 5)).verdict is ClaimVerdict.FAILS
    assert report.changed_by_at_most(SAID, (10, 10), (10.4, 10.4)).verdict is ClaimVerdict.HOLDS


def test_figures_are_written_short() -> None:
    assert [written(v) for v in (0.4236, 1226.4, 2.0, 99.97, math.nan)] == ["0.424", "1,226", "2.00", "100", "-"]
    assert str(WrittenInterval.of((1.0, 3.0))) == "2.00 ± 13"
    assert str(WrittenInterval.of((math.nan, 3.0))) == "3.00"


def test_pools_are_those_that_the_scenarios_state() -> None:
    bench = open_bench(2)
    pools = {(s, n): bench.pool(Case(f"{s}-variability", n)) for s in ("low", "high") for n in ("SR", "HM", "OdM")}
    assert pools == {
        ("low", "SR"): 65, ("low", "HM"): 38, ("low", "OdM"): 0,
        ("high", "SR"): 89, ("high", "HM"): 14, ("high", "OdM"): 0,
    }  # fmt: skip


def test_peaks_are_scaled_without_the_rest() -> None:
    usual, higher = (recipe(Case("high-variability", "SR", peak=peak)) for peak in (1.0, 1.1))
    assert max(higher.curve[1]) == pytest.approx(1.1 * max(usual.curve[1]))
    assert higher.stated == pytest.approx((usual.stated[0], usual.stated[1], 1.1 * usual.stated[2]))
    assert min(higher.curve[1]) == min(usual.curve[1])


def test_a_picture_has_the_same_bytes_whatever_was_drawn_before_it_in_lines_and_text_alone(tmp_path: Path) -> None:
    marks = [PictureMark("HF", "", float(minute), (float(row), 0.5)) for minute in range(4) for row in range(3)]
    heat = Picture("heat", "Use", "heat", "minutes", "server", tuple(marks))
    curve = Picture(
        "curve", "Curve", "lines", "x", "y", tuple(PictureMark("p", "SR", x, (x, x, x)) for x in (1.0, 2.0))
    )
    drawn = []
    for pictures in ((heat,), (curve, heat)):
        save_pictures(pictures, tmp_path)
        drawn.append((tmp_path / "heat.svg").read_bytes())
    assert drawn[0] == drawn[1]
    assert drawn[0].count(b"p-reserve p-h8") == 3 + 1  # a row of equal cells is one, and the key has one


def test_no_claim_about_on_demand_rests_on_a_figure_at_its_floor() -> None:
    told = sections((DOCS / PAGE).read_text(encoding="utf-8"))["retention"].split("**batch")[0]
    assert "OdM" in told
    assert "95 % reach, OdM" not in told


def test_a_folder_that_cannot_be_written_to_is_refused_before_the_studies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was refused after them, some minutes later."""
    studied: list[str] = []
    for key in STUDIES:
        monkeypatch.setitem(STUDIES, key, lambda _, key=key: studied.append(key))
    (tmp_path / "taken").touch()
    (tmp_path / "page" / PAGE).mkdir(parents=True)
    for name, said in (("taken", "cannot be used: file exists"), ("page", f"{PAGE} is a directory")):
        assert run(["reproduce", "hcloud", "--seeds", "2", "--out", str(tmp_path / name)]) == 1
        assert said in " ".join(capsys.readouterr().err.split())
    assert studied == []
