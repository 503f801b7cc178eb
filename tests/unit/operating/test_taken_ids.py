"""Ids of jobs that were taken: exact, and in little room."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from operating import job, setup_of

from hcloud.control.operating.fold import Fold
from hcloud.control.operating.job_ids import JobIds
from hcloud.control.operating.records import FoldImage
from hcloud.model.checked import form_of
from hcloud.model.running.note import JobTaken

_IDS = st.text("07a-²٣", max_size=4)


@given(st.sets(_IDS), st.sets(_IDS))
def test_exactly_what_was_added_is_known(added: set[str], asked: set[str]) -> None:
    known = JobIds()
    for name in added:
        known.add(name)
    found = form_of(JobIds).validate_json(form_of(JobIds).dump_json(known.image()))
    assert all((name in found) == (name in added) for name in asked | added)
    assert bool(found) == bool(added)


def test_numbered_jobs_take_less_than_a_byte_each() -> None:
    fold = Fold(setup_of("HM", 1))
    for number in range(20_000):
        fold.known.add(f"job-{number}")
    image = form_of(FoldImage).dump_json(fold.image())
    assert len(image) < 20_000
    assert f"job-{number}" in Fold.of_image(setup_of("HM", 1), form_of(FoldImage).validate_json(image)).known


def test_one_that_is_over_is_known_when_its_record_is_forgotten() -> None:
    fold = Fold(setup_of("HM", 1))
    fold.take([JobTaken(1.0, job("web-7"))])
    fold.active.clear()
    fold.forget()
    assert "web-7" not in fold.jobs
    assert "web-7" in fold.known
    assert "web-07" not in fold.known
