"""The files of jobs that live work was given: what becomes of their jobs where one cannot be read, or changed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest
from operating import ORIGIN, World, closed_after, job, setup_of

from hcloud.control.operating.fold import Fold
from hcloud.errors import UnreachableError, UsageError
from hcloud.model.running.job import JobOrder, NewJobs, in_pieces
from hcloud.model.running.note import Asked, JobTaken
from hcloud.readers.jobs import FollowedFile, JobsFile, SeveralFiles
from hcloud.store.files.lock import OPERATE, FileLock
from hcloud.store.files.private_directory import PrivateDirectory
from hcloud.store.journals.journal import header_line
from hcloud.usecases.live.operate_requests import check_not_shared, directory_at, never_ran, origin_of_work
from hcloud.usecases.live.operating.jobs_file import check_same
from hcloud.usecases.live.operating.looking import rentals_of_work

BROKEN = 'id,command\nlate,"true\n'


@pytest.fixture(autouse=True)
def _closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with closed_after(monkeypatch):
        yield


def world_of(tmp_path: Path, *files: str) -> World:
    """Live work with the jobs of files, which are read as they are where a controller begins."""
    world = World.of(tmp_path / "j", (), "SR", 1)
    opened = [FollowedFile(JobsFile(tmp_path / name), world.now, now=lambda: world.now) for name in files]
    world.source = SeveralFiles(opened)  # type: ignore[assignment]
    world.rhythm = replace(world.rhythm, period=60.0, look=60.0)  # the reserve stands idle for two hours
    return world


@pytest.mark.parametrize("wrong", ["", BROKEN, None], ids=["empty", "broken", "missing"])
def test_work_with_a_file_that_cannot_be_read_is_not_over(tmp_path: Path, wrong: str | None) -> None:
    """Its jobs that were due later were forgotten: the work was finished, and nobody could go on with it."""
    (tmp_path / "b.csv").write_text("id,command\nb,true\n")
    if wrong is not None:
        (tmp_path / "a.csv").write_text(wrong)
    world = world_of(tmp_path, "a.csv", "b.csv")
    loop = world.run()
    assert "a.csv" in loop.unread
    assert not loop.fold.is_finished
    assert world.standing() == [], "it costs nothing meanwhile"
    (tmp_path / "a.csv").write_text("id,command\nlate,true\n")
    world.start()
    assert world.run().fold.is_finished
    assert [ran.job for ran in world.engine.ran] == ["b", "late"]


def test_who_goes_on_with_nothing_but_a_file_that_cannot_be_read_launches_nothing(tmp_path: Path) -> None:
    world = world_of(tmp_path, "a.csv")
    for _ in range(3):
        world.start().expect(NewJobs(closed=True), world.now)
        assert not world.run().fold.is_finished
    assert not world.launched()
    world.start().expect(NewJobs(closed=True), world.now)
    world.asked.append(Asked(0.0, "drain"))
    assert world.run().fold.is_finished, "it ends the work without those jobs"


def test_work_whose_scheduler_is_out_of_reach_has_no_file_to_restore(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told as what it is, and work whose jobs all came is over."""
    world = World.of(tmp_path / "j", [job("a", seconds=60.0)], "SR", 1)
    world.run(until=lambda loop: bool(world.engine.ran))
    monkeypatch.setattr(world.source, "new", Mock(side_effect=UnreachableError("the scheduler does not answer")))
    loop = world.run()
    assert "jobs" in loop.desk.troubles
    assert (loop.unread, loop.fold.is_finished) == ("", True)


OTHERS = [
    (replace(job("a"), cores=2000), "a in cores"),
    (replace(job("a"), command=("false",), memory=1024), "a in command and memory"),
    (replace(job("a"), expect=9.0, restartable=True), "a in expect and restartable"),
    (in_pieces(replace(job("a"), cores=2000, memory=1024), 2)[1], "a in servers"),
]


@pytest.mark.parametrize(("other", "told"), OTHERS)
@pytest.mark.parametrize("came", [True, False])
def test_a_job_of_the_same_id_that_differs_is_refused(other: JobOrder, told: str, came: bool) -> None:
    """Of another size it was dropped without a word, and on fewer servers it ran a second time."""
    fold, known = Fold(World.of(Path("j")).setup), job("a")
    if came:
        fold.take([JobTaken(1.0, known)])
    found = NewJobs((known, other, new := job("new")), closed=True)
    check_same(Path("b.csv"), [replace(known, submit=9.0), new], found, fold)
    with pytest.raises(UsageError, match=rf"b\.csv: this work is not finished, .* differ: {told}$"):
        check_same(Path("b.csv"), [other], found, fold)


def test_a_job_on_fewer_servers_is_no_other_job() -> None:
    fold = Fold(World.of(Path("j")).setup)
    fold.take(JobTaken(1.0, piece) for piece in in_pieces(job("a", 2.0), 2))
    with pytest.raises(UsageError, match="a in servers"):
        check_same(Path("b.csv"), [job("a")], NewJobs((job("a"),)), fold)


def test_a_drain_does_not_look_all_the_time_for_jobs_that_it_never_takes(tmp_path: Path) -> None:
    """A job that fell due while others ended made the controller look again a thousand times a second."""
    world = World.of(tmp_path / "j", [job("a", seconds=60.0), job("late", seconds=9.0, submit=20.0)], "SR", 1)
    world.run(until=lambda loop: bool(world.engine.ran))
    world.asked.append(Asked(0.0, "drain"))
    assert world.run(passes=200).not_come == ["late"]
    world.check(completed=1)


def test_each_state_in_a_bucket_has_live_work_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them kept it in one directory: the machines and jobs of one were taken for those of another."""
    monkeypatch.chdir(tmp_path)
    azure = "https://account.blob.core.windows.net/team/shop"
    places = ["s3://team/shop", "s3://team/other", "s3://team-shop", "gs://team/shop", azure, ".hcloud", "state"]
    found = [directory_at(place) for place in places]
    assert len(set(found)) == len(places)
    assert directory_at("s3://team/shop/") == found[0] == tmp_path / ".hcloud" / "operate-team-shop-55a93d5f"
    with pytest.raises(UsageError, match="no query"):
        directory_at(f"{azure}?sig=secret")


@pytest.mark.parametrize("state", ["", "s3://team/other"])
def test_work_that_all_states_in_buckets_shared_is_not_begun_anew(
    state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose it is nobody can say but who began it; what was noted to be of another state is none of this one's."""
    monkeypatch.chdir(tmp_path)
    mine, shared = directory_at("s3://team/shop"), tmp_path / ".hcloud" / "operate"
    shared.mkdir(parents=True)
    (shared / "journal.jsonl").write_text(
        header_line(setup_of("HM", 1), replace(ORIGIN, selection="fake", state=state))
    )
    check_not_shared(shared)
    if state:
        check_not_shared(mine)
        return
    with pytest.raises(UsageError, match="may be in another directory") as refused:
        check_not_shared(mine)
    assert f"has work of some state: 'mv {shared} {mine}' if it is of this one, else end it" in str(refused.value.hint)
    with FileLock(PrivateDirectory(shared)).hold(OPERATE), pytest.raises(UsageError) as refused:
        check_not_shared(mine)
    assert re.search(r"some state, and hcloud operate by .*: interrupt that first, then 'mv ", str(refused.value.hint))
    assert origin_of_work("s3://team/shop", finished_too=True) is None
    shared.rename(mine)
    check_not_shared(mine)
    origin = origin_of_work("s3://team/shop", finished_too=False)
    assert origin is not None
    assert origin.selection == "fake"


def test_finished_work_that_all_states_in_buckets_shared_is_reported_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its machines were in no report of its state any more, and nothing said where its jobs were."""
    monkeypatch.chdir(tmp_path)
    shared = tmp_path / ".hcloud" / "operate"
    shared.mkdir(parents=True)
    for state, name, names in (("", "journal.jsonl", "aws"), ("s3://team/other", "journal.1.jsonl", "gcp")):
        world = World.of(shared / name, [job("a")], semantics=names)
        world.origin = replace(ORIGIN, state=state)
        world.run()
        world.close()
    here = Mock(where="s3://team/shop")
    here.patience().ask.return_value = ORIGIN
    assert [r.resource[:2] for r in rentals_of_work(here)] == ["i-"]
    mine = directory_at(here.where)
    check_not_shared(mine)
    assert f"'mv {shared} {mine}' if it is of this one, else hcloud operate run" in str(never_ran(mine).hint)
