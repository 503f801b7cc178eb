"""What is told of an attempt of a job, by what Slurm and the ledger say of it."""

from __future__ import annotations

from hcloud.model.running.job import JobPhase, JobSighting
from hcloud.providers.slurm.answers import SlurmJob
from hcloud.providers.slurm.ledger import Begin
from hcloud.providers.slurm.orders import PENDING

RUNNING = frozenset(
    {"RUNNING", "CONFIGURING", "COMPLETING", "SUSPENDED", "STOPPED", "RESIZING", "SIGNALING", "STAGE_OUT"}
)
TAKEN_AWAY = frozenset({"BOOT_FAIL", "PREEMPTED", "REVOKED"})
"""How a job ends for another job, or before it began."""
NODE_FAIL = "NODE_FAIL"
"""How a job ends whose node does not answer: it may run on, until the machine is gone."""
OUT_OF_MEMORY, TIMEOUT, CANCELLED = "OUT_OF_MEMORY", "TIMEOUT", "CANCELLED"
BY_SIGNAL = 128
SLACK = 2.0
"""Seconds by which a time of submission may differ: it is told in whole ones."""
TERM, KILL = 15, 9


def phase_of(begin: Begin, job: SlurmJob | None, *, began: bool) -> JobPhase | None:
    """Where the attempt is; None where nobody can say at the moment.

    Slurm waits with a job that it began before either because it starts it anew (its machine failed), or because
    slurmctld was killed and forgot what it had not written yet: then the job may run all the same, until the node
    tells of it and slurmctld ends it.
    """
    if job is None:
        return None
    if job.state in RUNNING:
        return JobPhase.RUNNING
    if job.state == NODE_FAIL:
        return None
    if job.state != PENDING:
        return JobPhase.LOST if job.state in TAKEN_AWAY else JobPhase.ENDED
    if job.restarts > begin.restarts or (began and not begin.stopped):
        return None
    return JobPhase.LOST if begin.stopped else JobPhase.WAITING


def is_of(begin: Begin, job: SlurmJob) -> bool:
    """Whether it is the job that was let begin, and not a later one of the same number (slurmctld counts from 1 again
    where its state was lost). A job that Slurm starts anew counts as submitted anew."""
    return job.restarts > begin.restarts or abs(job.submit - begin.submit) <= SLACK


def is_told(begin: Begin, job: SlurmJob | None) -> bool:
    """Whether slurmctld itself says that the attempt is over: then only its node is to be asked, and nothing waited
    for."""
    return job is not None and (job.state == NODE_FAIL or job.restarts > begin.restarts)


def sighting(begin: Begin, job: SlurmJob | None, phase: JobPhase) -> JobSighting:
    """The attempt as it is told."""
    if job is None or phase in (JobPhase.WAITING, JobPhase.UNKNOWN) or job.state == PENDING:
        return JobSighting(begin.job, begin.attempt, phase)
    over = phase in (JobPhase.ENDED, JobPhase.LOST)
    return JobSighting(
        begin.job,
        begin.attempt,
        phase,
        began=job.start or None,
        ended=(job.end or None) if over else None,
        code=exit_code(job) if phase is JobPhase.ENDED else None,
        out_of_memory=job.state == OUT_OF_MEMORY,
    )


def exit_code(job: SlurmJob) -> int:
    """As a shell tells it: 128 and the signal that ended a job."""
    if job.signal:
        return BY_SIGNAL + job.signal
    if job.code:
        return job.code
    return {CANCELLED: BY_SIGNAL + TERM, TIMEOUT: BY_SIGNAL + TERM, OUT_OF_MEMORY: BY_SIGNAL + KILL}.get(job.state, 0)
