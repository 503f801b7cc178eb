"""From jobs of Slurm's queue to orders: which wait for hcloud, in which order, and what each needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hcloud.model.running.job import JobOrder
from hcloud.model.workload import JobKind
from hcloud.providers.slurm.answers import SlurmJob
from hcloud.providers.slurm.site import MARK, SlurmSite

PENDING, CANCELLED = "PENDING", "CANCELLED"


def is_marked(job: SlurmJob, site: SlurmSite) -> bool:
    """Whether job_submit.lua said that hcloud places it."""
    return job.admin_comment == MARK and job.partition == site.partition


def waits(job: SlurmJob, site: SlurmSite, now: float) -> bool:
    """Whether hcloud is to place it now: not before what it depends on, nor before its user's time."""
    may_begin = job.held and not job.dependency and (job.parked or job.eligible <= now)
    return is_marked(job, site) and job.state == PENDING and may_begin


def is_wide(job: SlurmJob) -> bool:
    """Whether it runs over several machines: Slurm places those by itself."""
    return job.node_count > 1 or job.heterogeneous


def does_not_fit(job: SlurmJob) -> bool:
    """Whether Slurm found that it cannot run where it is to."""
    return job.state == PENDING and job.reason == "BadConstraints"


def in_order(jobs: Iterable[SlurmJob]) -> list[SlurmJob]:
    """As Slurm would take them: by their priority. A held job has none to read: those that are nicer later, else as
    they were submitted."""
    return sorted(jobs, key=lambda job: (-job.priority, job.nice, job.submit, number_of(job)))


def number_of(job: SlurmJob) -> tuple[int, int]:
    """A job's number and its task's."""
    number, _, task = job.id.partition("_")
    return int(number), int(task or 0)


def order_of(job: SlurmJob) -> JobOrder:
    """What a job needs. Its comment may say more: ``expect=600 app=web kind=service restartable=no``."""
    said = words_of(job.comment)
    stated = _stated(said)
    return JobOrder(
        id=job.id,
        submit=job.submit,
        command=(job.command or job.name or "batch",),
        cores=job.cpus * 1000,
        memory=max(job.memory, 1),
        kind=JobKind.SERVICE if said.get("kind") == "service" else JobKind.BATCH,
        app=said.get("app", job.name),
        expect=stated or (job.minutes * 60.0 if job.minutes else None),
        restartable=job.requeue and said.get("restartable") != "no",
        nodes=job.node_count,
        user=job.user,
        directory=job.directory,
        is_limit=stated is None and bool(job.minutes),
        priority=job.priority or -job.nice,
    )


def words_of(comment: str) -> Mapping[str, str]:
    """The ``name=value`` words of a comment."""
    return dict(word.split("=", 1) for word in comment.replace(",", " ").split() if "=" in word)


def _stated(said: Mapping[str, str]) -> float | None:
    try:
        expected = float(said.get("expect", ""))
    except ValueError:
        return None
    return expected if 0 < expected < float("inf") else None
