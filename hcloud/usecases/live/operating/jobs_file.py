"""The file of jobs that live work was begun with: kept beside its journal, since jobs of it may be due later."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from hcloud.control.operating.fold import Fold
from hcloud.errors import UsageError
from hcloud.model.running.job import NewJobs
from hcloud.model.running.note import KEEPING
from hcloud.readers.jobs import JobsFile

JOBS_FROM = "jobs.from"


def jobs_file(path: Path | None, columns: str | None, *, of_jobs: bool) -> JobsFile | None:
    """The file of jobs as it is asked for; UsageError for names of columns where there is none, or where it is of
    events (not ``of_jobs``)."""
    if columns is not None and (path is None or not of_jobs):
        raise UsageError(
            "--columns says what the columns of a file of jobs are called, and none is given",
            hint="hcloud operate JOBS.csv --columns id=name,cores=vcpus; work that continues knows the names of before",
        )
    return None if path is None else JobsFile(path, columns or "")


def keep(file: JobsFile, directory: Path) -> None:
    """Note it beside a journal."""
    with suppress(OSError):
        (directory / JOBS_FROM).write_text("\0".join((str(file.path.resolve()), file.columns)).rstrip("\0"))


def kept(directory: Path) -> JobsFile | None:
    """That which was noted beside a journal, where it is still there."""
    place = directory / JOBS_FROM
    path, _, columns = place.read_text().partition("\0") if place.is_file() else ("", "", "")
    return JobsFile(Path(path), columns) if path and Path(path).is_file() else None


def check_takes(file: JobsFile | None, directory: Path, fold: Fold, found: NewJobs) -> None:
    """UsageError for the jobs of another file than work was begun with, where that was asked to end and takes none. The
    same command again, as of whoever starts a controller that died, ends it."""
    if file is None or fold.asked in ("", KEEPING) or not found.orders:
        return
    begun = kept(directory)
    is_same = begun is not None and begun.path == file.path.resolve()
    if not is_same and not any(order.id in fold.known for order in found.orders):
        raise UsageError(
            f"{directory}: the work there takes no more jobs ({fold.asked} was asked for), and is not over",
            hint="'hcloud operate run' without a file ends it; then the file can begin new work",
        )
