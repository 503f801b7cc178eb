"""The files of jobs that live work was given: kept beside its journal, since jobs of them may be due later."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hcloud.control.operating.fold import Fold
from hcloud.errors import UsageError, writing
from hcloud.model.running.job import JobOrder, NewJobs
from hcloud.model.running.note import KEEPING
from hcloud.readers.jobs import JobsFile
from hcloud.units import and_last, some_of
from hcloud.usecases.live.operate_requests import REQUESTS, Requests
from hcloud.whole_files import whole_file

JOBS_FROM, SEPARATOR = "jobs.from", "\0\0"
NAMED = 5
"""Jobs that a message names."""
_SAME = ("command", "cores", "memory", "kind", "app", "expect", "target", "restartable", "directory")
"""What a job of the same id has, too; that it was submitted at another time changes nothing."""


def jobs_file(path: Path | None, columns: str | None, *, of_jobs: bool) -> JobsFile | None:
    """The file of jobs as it is asked for; UsageError for names of columns where there is none, or where it is of
    events (not ``of_jobs``)."""
    if columns is not None and (path is None or not of_jobs):
        raise UsageError(
            "--columns says what the columns of a file of jobs are called, and none is given",
            hint="hcloud operate JOBS.csv --columns id=name,cores=vcpus; work that continues knows the names of before",
        )
    return None if path is None else JobsFile(path, columns or "")


def files_of(given: JobsFile | None, directory: Path, fold: Fold | None) -> list[JobsFile]:
    """The files of jobs: those that the work was given before (None: there is none that takes more), since jobs of them
    may be due later, and at last the one that is given now."""
    named = [] if given is None else [given]
    if fold is None or (named and end_asked(directory, fold)):
        return named  # with what ends it is refused, or ends the work
    paths = [file.path.resolve() for file in named]
    return [*(file for file in kept(directory) if file.path not in paths), *named]


def keep(file: JobsFile | None, directory: Path) -> None:
    """Note it beside a journal, with those that were noted before. FileError where that cannot be: whoever goes on
    would never hear of jobs that are due later."""
    if file is None:
        return
    mine = JobsFile(file.path.resolve(), file.columns)
    files = [*(one for one in kept(directory) if one.path != mine.path), mine]
    text = SEPARATOR.join("\0".join((str(one.path), one.columns)).rstrip("\0") for one in files)
    if files != kept(directory):
        with writing(directory / JOBS_FROM), whole_file(directory / JOBS_FROM) as noted:
            noted.write(text.encode())


def kept(directory: Path) -> list[JobsFile]:
    """Those that were noted beside a journal, the first one first."""
    place = directory / JOBS_FROM
    noted = place.read_text().split(SEPARATOR) if place.is_file() else []
    return [JobsFile(Path(path), columns) for path, _, columns in (one.partition("\0") for one in noted) if path]


def end_asked(directory: Path, fold: Fold) -> str:
    """How somebody asked work to end, so that it takes no more jobs: also where no controller has read that yet. What
    keeps machines holds until the next controller begins."""
    return Requests(directory / REQUESTS).end or ("" if fold.asked == KEEPING else fold.asked)


def check_same(path: Path, named: Sequence[JobOrder], found: NewJobs, fold: Fold) -> None:
    """UsageError for jobs ``named`` in a file that have the ids of others: which came to this work before, or are
    found in one of its files and will come."""
    known = [*(job.order for job in fold.jobs.values()), *found.orders]
    by_name = {name: order for order in reversed(known) for name in (order.id, _whole(order))}
    others = {_whole(order): which for order in named if (which := _differences(order, by_name[_whole(order)]))}
    if others:
        told = some_of((f"{name} in {and_last(which)}" for name, which in others.items()), NAMED)
        raise UsageError(
            f"{path}: this work is not finished, and has jobs with the same ids that differ: {told}",
            hint="give new jobs new ids, or end this work first ('hcloud operate drain', 'stop')",
        )


def _whole(order: JobOrder) -> str:
    return order.id if order.piece is None else order.piece.of


def _differences(order: JobOrder, known: JobOrder) -> list[str]:
    """The columns in which a job is other than the one that is known by its name."""
    counts = [1 if one.piece is None else one.piece.count for one in (order, known)]
    servers = [] if counts[0] == counts[1] else ["servers"]
    return servers + [name for name in _SAME if getattr(order, name) != getattr(known, name)]


def check_takes(file: JobsFile | None, directory: Path, fold: Fold | None, found: NewJobs) -> None:
    """UsageError for the jobs of another file than work was begun with (None: it begins now), where that was asked to
    end and takes none. The same command again, as of whoever starts a controller that died, ends it."""
    if file is None or fold is None or not (asked := end_asked(directory, fold)) or not found.orders:
        return
    is_known = file.path.resolve() in [one.path for one in kept(directory)]
    if not is_known and not any(order.id in fold.known for order in found.orders):
        raise UsageError(
            f"{directory}: the work there takes no more jobs ({asked} was asked for), and is not over",
            hint="'hcloud operate run' without a file ends it; then the file can begin new work",
        )
