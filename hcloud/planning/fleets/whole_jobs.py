"""Jobs that cannot be split when a plan counts in machines of one size: their types are those of which some size holds
every job, where there are such."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hcloud.catalog.book import PriceBook
from hcloud.catalog.shapes import is_of_shape
from hcloud.model.plans.plan import Refusal
from hcloud.planning.fleets.candidates import Candidate
from hcloud.planning.forecasting.packing import MachineSizes, RunningJobs, misfit


def holding_all(
    candidates: Sequence[Candidate], book: PriceBook, jobs: RunningJobs | None
) -> tuple[tuple[Candidate, ...], tuple[Refusal, ...]]:
    """The candidates of whose shape some size that is rented there holds every job, and a refusal of each other; all of
    them where there is none."""
    if jobs is None:
        return tuple(candidates), ()
    rows = {c.address: misfit_of(c, book, jobs) for c in candidates}
    kept = tuple(c for c in candidates if rows[c.address] is None)
    if not kept:
        return tuple(candidates), ()
    return kept, tuple(refusal_of(address, jobs, row) for address, row in rows.items() if row is not None)


def refusal_of(address: str, jobs: RunningJobs, row: int) -> Refusal:
    """That a type is too small for the job of a row in each of its sizes."""
    return Refusal(address, f"no size of it holds {named(jobs, row)}")


def named(jobs: RunningJobs, row: int) -> str:
    """The job of a row with its size."""
    return f"job {jobs.name(row)} ({jobs.cores[row]:g} vCPU, {jobs.memory[row]:g} GiB)"


def misfit_of(candidate: Candidate, book: PriceBook, jobs: RunningJobs) -> int | None:
    """The row of the largest job where no size of a type's shape holds it; None where some size holds all."""
    shape, key = candidate.shape, candidate.on_demand.key
    sold = (t for (p, name), t in book.types.items() if p == shape.provider and ".metal" not in name)
    alike = (t for t in sold if is_of_shape(t, shape) and replace(key, instance_type=t.name) in book.offers)
    sizes = sorted(float(t.vcpus) for t in alike)
    return misfit(jobs, MachineSizes(tuple(sizes), float(shape.memory_gib / shape.vcpus), 0.0))
