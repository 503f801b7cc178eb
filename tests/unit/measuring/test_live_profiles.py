"""What was seen in live work is kept in profiles, beside what was measured, and the next plan is made with it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from hcloud.cli.main import run as cli
from hcloud.errors import InputError
from hcloud.model.measured.profile import RESOURCES, Aspect, Measured, Metric, Profile
from hcloud.model.measured.seen import SeenRun
from hcloud.model.workload import JobKind
from hcloud.readers.applications.profiles import load_corpus, load_profile
from hcloud.store.profiles import save_profile
from hcloud.usecases.measuring.classify import BUNDLED
from hcloud.usecases.measuring.live_profiles import LIVE, LiveProfiles

AT = 1_790_000_000.0
DAY = datetime(2026, 1, 1, tzinfo=UTC)


def run(app: str = "web", share: float = 0.5, points: float = 20.0, **more: object) -> SeenRun:
    """A run of a test."""
    made = SeenRun(app, JobKind.SERVICE, share, AT, "m5.large", 2.0, 0.8, (points,) * len(RESOURCES))
    return replace(made, **more)  # type: ignore[arg-type]


def measured(value: float, source: str = "stress-ng") -> Measured:
    return Measured(value, value - 1, value + 1, 10, DAY, "lab", source)


def lab(app: str = "web", tolerated: Sequence[str] = ("llc",)) -> Profile:
    """A profile that somebody measured."""
    entries = {Aspect.TOLERATED: {name: measured(80.0) for name in tolerated}}
    return Profile(app, JobKind.SERVICE, Metric("p99 latency", "ms", False), ("serve",), entries)


@pytest.mark.slow
def test_an_application_that_nobody_measured_gets_a_profile_of_what_was_seen(tmp_path: Path) -> None:
    known = LiveProfiles(tmp_path / "profiles", BUNDLED)
    assert known.vector("web") is None
    found = known.refit(run())
    assert found is not None
    profile = load_profile(tmp_path / "profiles" / "web.profile.yaml")
    ((name, entry),) = profile.entries[Aspect.TOLERATED].items()
    assert name == "memcap", "of what most of the applications seen before suffer by"
    assert (entry.value, entry.low, entry.high) == (2.0, 0.0, 20.0), "half is lost at 20 points, so 5 % at 2"
    assert entry.source == f"{LIVE}: 50% of what was expected, 20 points of pressure from neighbours"
    assert found.vector[RESOURCES.index(name)] == 98
    assert found.vector == known.vector("web"), "what a later job is placed by"
    assert "it tolerates 2 points of memcap" in found.why


@pytest.mark.slow
def test_every_miss_narrows_what_is_believed_until_nothing_is_left_to_believe(tmp_path: Path) -> None:
    known = LiveProfiles(tmp_path, BUNDLED)
    first = known.refit(run(points=30.0))
    again = known.refit(run(points=1.0, share=0.9))
    assert first is not None
    assert again is not None
    assert max(again.vector) >= max(first.vector)
    entries = load_profile(tmp_path / "web.profile.yaml").entries[Aspect.TOLERATED]
    assert all(e.value <= 30.0 for e in entries.values())


@pytest.mark.slow
def test_what_was_measured_is_never_changed(tmp_path: Path) -> None:
    before = lab(tolerated=("llc", "memcap"))
    save_profile(before, tmp_path / "mine.yaml")
    known = LiveProfiles(tmp_path, BUNDLED)
    assert known.refit(run()) is not None
    known.record([run(), run(share=0.7)])
    after = load_profile(tmp_path / "mine.yaml")
    assert list(tmp_path.iterdir()) == [tmp_path / "mine.yaml"], "its own file, whatever the name"
    for name, entry in before.entries[Aspect.TOLERATED].items():
        assert after.entries[Aspect.TOLERATED][name] == entry
    assert (after.metric, after.command) == (before.metric, before.command)
    assert Aspect.TYPES not in after.entries, "another metric: told as a note"
    assert after.notes == (f"{LIVE} on m5.large: 2 runs at 0.6000 of what was expected, quality 0.80",)
    known.record([run(share=0.9, type_name="c5.large", quality=None), run(share=0.3)])
    assert load_profile(tmp_path / "mine.yaml").notes == (
        f"{LIVE} on c5.large: 1 run at 0.9000 of what was expected",
        f"{LIVE} on m5.large: 3 runs at 0.5000 of what was expected, quality 0.80",
    )


@pytest.mark.slow
def test_where_all_was_measured_nothing_is_believed_to_be_wrong(tmp_path: Path) -> None:
    save_profile(lab(tolerated=RESOURCES), tmp_path / "web.profile.yaml")
    text = (tmp_path / "web.profile.yaml").read_bytes()
    assert LiveProfiles(tmp_path, BUNDLED).refit(run()) is None
    assert (tmp_path / "web.profile.yaml").read_bytes() == text


def test_runs_count_together_whenever_they_were_recorded(tmp_path: Path) -> None:
    shares = np.random.default_rng(7).normal(0.8, 0.3, 30).clip(0.1).tolist()
    once, thrice = LiveProfiles(tmp_path / "a", BUNDLED), LiveProfiles(tmp_path / "b", BUNDLED)
    once.record([run(share=s) for s in shares])
    for part in (shares[:1], shares[1:12], shares[12:]):
        thrice.record([run(share=s) for s in part])
    a, b = (load_profile(tmp_path / x / "web.profile.yaml").entries[Aspect.TYPES]["m5.large"] for x in "ab")
    assert a.samples == b.samples == 30
    assert a.value == pytest.approx(2 * np.mean(shares)) == b.value, "on two vCPUs"
    assert a.high - a.low == pytest.approx(2 * 2 * 1.96 * np.std(shares, ddof=1) / 30**0.5)
    assert b.high - b.low == pytest.approx(a.high - a.low, rel=0.1), "but for the interval assumed of one run"


def test_names_that_are_written_alike_have_files_of_their_own(tmp_path: Path) -> None:
    known = LiveProfiles(tmp_path, BUNDLED)
    known.record([run("a/b"), run("a b", share=0.9), run("a/b")])
    assert {p.app: p.entries[Aspect.TYPES]["m5.large"].samples for p in load_corpus(tmp_path)} == {"a/b": 2, "a b": 1}


def test_a_damaged_profile_is_told_and_stays(tmp_path: Path) -> None:
    (tmp_path / "web.profile.yaml").write_text('format_version: "1.0"\napp: web\n')
    with pytest.raises(InputError):
        LiveProfiles(tmp_path, BUNDLED).record([run()])
    assert (tmp_path / "web.profile.yaml").read_text() == 'format_version: "1.0"\napp: web\n'


NOW = ("--now", "2026-11-21T00:00:00Z")


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Two days of services."""
    rows = ["id,submit,duration,cores,memory,kind,app"]
    rows += [f"w{i},0,172800,2,8,service,web" for i in range(20)]
    path = tmp_path / "trace.csv"
    path.write_text("\n".join([*rows, "end,172799,1,1,4,batch,etl"]) + "\n", encoding="utf-8")
    return path


@pytest.mark.slow
def test_a_plan_made_afterwards_takes_the_family_on_which_jobs_kept_their_target(
    trace: Path, tmp_path: Path, coarse_steps: None, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["plan", str(trace), "--provider", "aws", "--family", "m5", "--family", "m6i", *NOW, "-o", "json"]

    def families(*more: str) -> set[str]:
        assert cli([*words, *more]) == 0
        plan = json.loads(capsys.readouterr().out)
        return {line["instance_type"].split(".")[0] for line in plan["mix"]}

    def seen_slow_on(family: str) -> str:
        folder, fast = tmp_path / family, "m5" if family == "m6i" else "m6i"
        slow = [run(share=s, type_name=f"{family}.large") for s in (0.5, 0.6)]
        good = run(share=1.0, type_name=f"{fast}.4xlarge", vcpus=16.0)
        LiveProfiles(folder, BUNDLED).record([*slow, good])
        return str(folder)

    assert families("--profiles", seen_slow_on("m6i")) == {"m5"}
    assert families("--profiles", seen_slow_on("m5")) == {"m6i"}, "whichever is taken where nothing was seen"


@pytest.mark.slow
def test_a_simulation_and_a_classification_made_afterwards_use_what_was_fitted(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    LiveProfiles(tmp_path / "mine", BUNDLED).refit(run(share=0.25))
    assert cli(["classify", "web", "--profiles", str(tmp_path / "mine"), *NOW, "--json"]) in (0, 9)
    out = json.loads(capsys.readouterr().out)
    assert str(out).count("memcap") >= 1
    words = ["simulate", str(trace), "-s", "HM", "--seed", "1", *NOW, "--json"]
    assert cli(words) == 0
    plain = json.loads(capsys.readouterr().out)
    assert cli([*words, "--profiles", str(tmp_path / "mine")]) == 0
    taught = json.loads(capsys.readouterr().out)
    assert plain["strategies"] != taught["strategies"], "a service that suffers by memory is placed otherwise"
