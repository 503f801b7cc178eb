"""A second run of a profile adds to the first: newest wins by resource and shape, each number keeps its date."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hcloud.classify.classifier import classify, train
from hcloud.classify.matrix import matrix_of
from hcloud.errors import InputError, UsageError
from hcloud.model.measured.app import MachineShare
from hcloud.model.measured.profile import Aspect, FailedMeasurement, Measured, Metric, Profile, merged, ruled_out
from hcloud.model.workload import JobKind
from hcloud.planning.forecasting.needs import need_of, size_needed
from hcloud.profiling.session import size_name
from hcloud.readers.applications.profiles import load_profile
from hcloud.store.profiles import save_profile
from hcloud.usecases.measuring.classify import parse_observed
from hcloud.usecases.measuring.profile_run import earlier

MAY, JUNE = datetime(2026, 5, 1, tzinfo=UTC), datetime(2026, 6, 1, tzinfo=UTC)
OLD = "Xeon, 2 cores, 24 GiB, Linux 6"


def at(value: float, when: datetime = MAY, machine: str = OLD) -> Measured:
    return Measured(value, value, value, 3, when, machine, "run")


def failed(why: str, when: datetime = MAY) -> FailedMeasurement:
    return FailedMeasurement(why, when, OLD, "run")


def profile(entries: Mapping[Aspect, Mapping[str, Measured]], **more: object) -> Profile:
    made = Profile("sort", JobKind.BATCH, Metric("time", "s", rising=False), ("sort", "x"), entries)
    return replace(made, **more)  # type: ignore[arg-type]


def test_what_only_the_earlier_run_measured_is_kept_with_its_date() -> None:
    before = profile({Aspect.TOLERATED: {"llc": at(40), "cpu": at(60)}, Aspect.SCALE_UP: {"1c": at(9)}})
    after = profile({Aspect.TOLERATED: {"cpu": at(70, JUNE)}, Aspect.SCALE_UP: {"1c": at(8, JUNE), "2c": at(5, JUNE)}})
    both = merged(before, after)
    assert both.entries[Aspect.TOLERATED] == {"llc": at(40), "cpu": at(70, JUNE)}
    assert both.entries[Aspect.SCALE_UP] == {"1c": at(8, JUNE), "2c": at(5, JUNE)}
    assert both.notes == ("kept of earlier runs: tolerated llc (2026-05-01)",)
    assert merged(after, before).entries == both.entries  # the newest wins, whichever is merged into which


def test_reasons_stay_until_a_later_run_says_something_of_the_resource() -> None:
    """After a run of network alone nothing said why memcap had no score."""
    before = profile({}, notes=("memcap: no score, the time was used up", "network: no score, the time was used up"))
    after = profile({}, notes=("network: built-in network cost its victim 46%",))
    assert merged(before, after).notes == (before.notes[0], after.notes[0])


def test_a_score_replaces_a_reason_and_not_the_other_way_round() -> None:
    known = profile({Aspect.TOLERATED: {"llc": at(40)}})
    unknown = profile({}, unmeasurable={"llc": "no counters", "tlb": "no counters"})
    for both in (merged(known, unknown), merged(unknown, known)):
        assert both.entries == known.entries
        assert both.unmeasurable == {"tlb": "no counters"}


def test_a_failure_and_a_number_replace_each_other() -> None:
    ran = profile({Aspect.SCALE_UP: {"1c2g": at(9)}})
    broke = profile({}, failures={Aspect.SCALE_UP: {"1c2g": failed("out of memory", JUNE)}})
    assert merged(ran, broke) == replace(broke, failures=broke.failures)
    assert merged(broke, profile({Aspect.SCALE_UP: {"1c2g": at(9, datetime(2026, 7, 1, tzinfo=UTC))}})).failures == {}


@pytest.mark.parametrize(
    "other", [{"command": ("sort", "y")}, {"metric": Metric("rate", "1/s", rising=True)}, {"app": "uniq"}]
)
def test_of_another_program_nothing_is_kept(other: dict[str, object]) -> None:
    before = replace(profile({Aspect.TOLERATED: {"llc": at(40)}}), **other)  # type: ignore[arg-type]
    after = profile({Aspect.TOLERATED: {"cpu": at(70, JUNE)}})
    assert merged(before, after) == after


def test_failures_are_written_and_read_and_no_number_stands_beside_them(tmp_path: Path) -> None:
    kept = profile({Aspect.SCALE_UP: {"2c4g": at(9)}}, failures={Aspect.SCALE_UP: {"1c2g": failed("out of memory")}})
    save_profile(kept, tmp_path / "p.yaml")
    assert load_profile(tmp_path / "p.yaml") == kept
    assert earlier(tmp_path / "p.yaml", replace(kept, entries={}, failures={})) == kept
    for other in ({"command": ("sort", "y")}, {"metric": Metric("time", "ms", rising=False)}):
        with pytest.raises(UsageError, match="sort, batch, time in s, lower is better of sort x"):
            earlier(tmp_path / "p.yaml", replace(kept, **other))
    assert earlier(tmp_path / "none.yaml", kept) is None
    text = (tmp_path / "p.yaml").read_text().replace('"1c2g"', '"2c4g"')
    (tmp_path / "p.yaml").write_text(text)
    with pytest.raises(InputError) as refused:
        load_profile(tmp_path / "p.yaml")
    assert "failures.scale_up.2c4g" in str(refused.value.problems)


def test_sizes_are_keyed_by_what_was_asked_for(tmp_path: Path) -> None:
    assert size_name(MachineShare(2)) == "2c"
    assert size_name(MachineShare(1, 4)) == "1c4g"
    save_profile(profile({Aspect.SCALE_UP: {"1c23.5g": at(9), "1c4g": at(10)}}), tmp_path / "old.yaml")
    assert set(load_profile(tmp_path / "old.yaml").entries[Aspect.SCALE_UP]) == {"1c", "1c4g"}


def test_a_size_without_a_limit_on_memory_leaves_memory_as_asked_for() -> None:
    known = profile({Aspect.SCALE_UP: {"1c": at(9), "2c": at(4.9), "4c": at(4.85)}})
    need = need_of(known, classify(known, {}))
    point = size_needed(need, 4, 8)
    assert point is not None
    assert (point.vcpus, point.gib) == (2, 0)


def corpus() -> list[Profile]:
    sizes = ("1c2g", "1c4g", "2c4g", "4c8g")
    speeds = ((8, 7, 4, 2), (6, 6, 3, 2), (9, 8, 5, 3), (5, 5, 3, 2), (7, 6, 4, 2), (8, 8, 4, 3))
    return [
        replace(profile({Aspect.SCALE_UP: {c: at(v) for c, v in zip(sizes, row, strict=True)}}), app=f"app{n}")
        for n, row in enumerate(speeds)
    ]


def test_where_it_ran_out_of_memory_it_is_neither_predicted_nor_asked_for() -> None:
    known = {Aspect.SCALE_UP: train(matrix_of(corpus(), Aspect.SCALE_UP))}
    mine = profile({Aspect.SCALE_UP: {"4c8g": at(2), "2c4g": at(4)}})
    assert set(classify(mine, known).rows[Aspect.SCALE_UP].columns) == {"1c2g", "1c4g", "2c4g", "4c8g"}
    short = replace(mine, failures={Aspect.SCALE_UP: {"2c2g": failed("Killed: Out of memory")}})
    assert ruled_out(short, Aspect.SCALE_UP, ("1c2g", "1c4g")) == {"2c2g", "1c2g"}
    assert set(classify(short, known).rows[Aspect.SCALE_UP].columns) == {"1c4g", "2c4g", "4c8g"}
    (probe,) = classify(replace(short, entries={}), known).probes
    assert probe.column != "1c2g"


def test_a_failure_can_be_observed() -> None:
    assert parse_observed("types.m5.large=failed").value is None
    with pytest.raises(UsageError):
        parse_observed("tolerated.llc=failed")
