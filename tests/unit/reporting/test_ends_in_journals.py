"""How jobs ended in life, as the story of one job and the report of all of them tell it."""

from __future__ import annotations

from pathlib import Path

import pytest
from living import came, events_of, feed, session, setup_of

from hcloud.cli.main import run
from hcloud.control.sessions.session import ControlSession
from hcloud.control.sessions.story import Story
from hcloud.model.running.decision import Decision
from hcloud.model.running.event import Cancelled, Completion, Event, Failed, LaunchFailed, Lost, Ready
from hcloud.planning.reports.journeys import journeys_of
from hcloud.planning.reports.quality import qualities
from hcloud.store.journals.journal import save_journal
from hcloud.usecases.deciding.explaining.job import explain_job

DAY: tuple[Event, ...] = (
    came("a"),
    LaunchFailed(2.0, 0, "no capacity", 62.0),
    Ready(22.0, 1),
    Failed(40.0, "a", 127),
    came("b", 50.0, cores=8),
    Lost(55.0, 2),
    Ready(65.0, 3),
    Lost(70.0, 3),
    came("c", 80.0),
    Cancelled(81.0, "c"),
    came("d", 100.0),
    Ready(120.0, 5),
    Completion(160.0, "d", 1.0),
    came("a", 200.0),
    Completion(260.0, "a", 1.0),
)


def journal(path: Path) -> Path:
    live: ControlSession = session("OdM")
    entries: list[Event | Decision] = []
    for event in DAY:
        entries += [event, *live.handle(event)]
    save_journal(setup_of("OdM"), entries, path / "day.journal")
    return path / "day.journal"


def test_the_report_of_quality_tells_how_jobs_ended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    live = session("OdM")
    found = journeys_of([entry for event in DAY for entry in (event, *live.handle(event))])
    assert [(j.job, j.failed, j.lost, j.cancelled, j.began, j.ended) for j in found] == [
        ("a", True, False, False, 22.0, 40.0),
        ("b", False, True, False, 65.0, 70.0),
        ("c", False, False, True, None, 81.0),
        ("d", False, False, False, 120.0, 160.0),
        ("a", False, False, False, 200.0, 260.0),
    ]
    (everything, *_) = qualities(found)
    assert (everything.jobs, everything.unfinished) == (5, 0)
    assert everything.kept == 2 / 3  # of those that neither failed by themselves nor were cancelled
    assert run(["report", "quality", str(journal(tmp_path))]) == 0
    told = capsys.readouterr()
    said = " ".join((told.out + told.err).split())
    assert "66.7% of 3 jobs kept" in said
    assert "1 job failed, 1 cancelled, 1 lost with their machine" in said


def test_the_story_of_a_job_ends_as_the_job_did(tmp_path: Path) -> None:
    path = journal(tmp_path)
    stories = {job: s for job in "bcd" if isinstance(s := explain_job(path, job), Story)}
    assert all(story.is_over for story in stories.values())
    last = stories["b"].afterwards[-1]
    assert isinstance(last, Decision)
    assert last.reason == "lost-with-machine"
    assert isinstance(stories["c"].afterwards[-1], Cancelled)
    assert stories["d"].afterwards[-2] == DAY[12]
    assert [stories[job].began for job in "bcd"] == [65.0, None, 120.0]


def test_the_story_of_a_name_that_was_used_twice_is_that_of_the_last(tmp_path: Path) -> None:
    story = explain_job(journal(tmp_path), "a")
    assert isinstance(story, Story)
    assert story.arrival.at == 200.0
    assert [e for e in story.afterwards if isinstance(e, Completion)] == [DAY[-1]]


def test_the_story_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = journal(tmp_path)
    for job, words in (("b", "instance 3 was lost"), ("c", "cancelled"), ("b", "its machine was lost 2 times")):
        assert run(["explain", "--job", job, str(path), *(["--full"] if "times" not in words else [])]) == 0
        assert words in " ".join(capsys.readouterr().out.split())
    assert run(["explain", "--job", "b", str(path), "--json"]) == 0
    assert "lost-with-machine" in capsys.readouterr().out


@pytest.mark.slow
def test_reports_read_whatever_can_happen(tmp_path: Path) -> None:
    """Streams by chance: every journey of a job is put together, none ends twice, none is left on a lost machine."""
    from random import Random

    for seed in range(8):
        for name, pool in (("SR", 2), ("OdM", 0), ("HF", 2)):
            chance, live = Random(seed), session(name, pool)
            draws = [tuple(chance.randint(0, most) for most in (15, 1000, 100, 40)) for _ in range(80)]
            entries = [e for event in events_of(live, draws) for e in (event, *live.handle(event))]  # type: ignore[arg-type]
            found = journeys_of(entries)
            assert {j.job for j in found if j.ended is None and not j.refused} == set(live.tables.rows)
            assert all(stay.end is not None for j in found if j.ended is not None for stay in j.stays)
            assert feed(live) == []
