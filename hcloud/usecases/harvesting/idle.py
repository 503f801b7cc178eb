"""How idle the services of a trace are, hour by hour, and which of its batch may run in those hours."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hcloud.errors import EvidenceError, InputError, did_you_mean
from hcloud.harvest.classes import UseTypes, use_types
from hcloud.harvest.jobs import LENGTHS, Length, lengths_of
from hcloud.harvest.results import OpenedUse
from hcloud.harvest.room import JobSizes, free_by_hour, packed, sizes_of
from hcloud.model.workload import Demand, JobKind, Jobs, Workload
from hcloud.planning.forecasting.demand import TimeGrid, mean_in_use
from hcloud.planning.forecasting.dividing import can_split
from hcloud.planning.forecasting.idle import IdleHours, IdleUse, LeftByServices
from hcloud.planning.settings import PlanSettings
from hcloud.units import SECONDS_PER_HOUR, format_span
from hcloud.usecases.harvesting.opened import UseRequest, open_use

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats

WEEK_DAYS, DAY = 7, 86_400
WITHOUT = "leave out --harvest: no history is needed then"
AS_SET = re.compile(r"read it with: hcloud harvest types \S+ --set \S+")
BY_HAND = "write them as fractions of a machine, 0 to 1"
NAMED = 5
WHATEVER = JobSizes(np.zeros(1), np.ones(1))
"""Batch that can be split."""


def idle_hours(request: UseRequest) -> AskIdle:
    """The histories that are asked for, ready to be held against a demand. EvidenceError for less than a week."""
    try:
        opened = open_use(request)
    except EvidenceError as error:
        raise EvidenceError(str(error), hint=WITHOUT) from None
    except InputError as error:
        error.hint = AS_SET.sub(BY_HAND, error.hint)
        raise
    if opened.histories.days < WEEK_DAYS:
        raise EvidenceError(
            f"{opened.name}: {format_span(opened.histories.days * DAY)} of use; a plan counts on idle"
            " hours from a week on",
            hint=WITHOUT,
        )
    return AskIdle(opened, use_types(opened.histories, opened.policy, request.seed))


@dataclass(frozen=True, slots=True)
class AskIdle:
    """Histories of use by tenant, with their types."""

    opened: OpenedUse
    types: UseTypes

    def __call__(self, workload: Workload, demand: Demand, settings: PlanSettings, vcpus: float) -> IdleUse:
        """What the services of a demand leave idle on servers of so many vCPUs. Services are the tenants of their
        names; where no service has a name, all tenants together stand for all services.

        InputError where names do not meet, EvidenceError where the demand has no batch.
        """
        policy, services = self.opened.policy, services_of(demand)
        used, free, silent, unmatched = self._of_services(workload, demand, services)
        splits = np.empty(0, np.bool_) if isinstance(workload, Demand) else can_split(workload, settings.divisible)
        lengths, bounds = self._lengths(workload, splits, vcpus * float(free.max()))
        memory = _memory_of_services(workload, demand) * (1.0 - policy.reserve_memory)
        left = LeftByServices(vcpus, used, free, _per(memory, services))
        hours = hours_of(workload, demand, splits, lengths, left)
        if not hours.batch.any():
            raise EvidenceError(
                f"{demand.provenance.name}: has no batch job that can run in idle hours: beside the reserve and"
                f" its services a server of {vcpus:g} vCPUs has {vcpus * float(free.max()):.3g} free at most, and jobs"
                " with more vCPUs than that cannot be split",
                hint=f"--divisible all, if they can; --vcpus for larger servers; or {WITHOUT}",
            )
        reserve = (policy.reserve_cores, policy.reserve_memory)
        found = (left, self.opened.name, self.types.days, len(self.opened.histories.tenants), silent, unmatched, bounds)
        return IdleUse(hours, lengths, reserve, *found, gaps=len(self.opened.histories.with_gaps))

    def _of_services(
        self, workload: Workload, demand: Demand, services: Floats
    ) -> tuple[Floats, Floats, tuple[str, ...], tuple[str, ...]]:
        """What services use of a vCPU of theirs at each step, what jobs of each length may have of it, and the names of
        services and of tenants that have no other half."""
        tenants, when = self.opened.histories.tenants, self._when(demand)
        named = _vcpus_by_service(workload, demand)
        if not named:
            weights = self.opened.histories.cores / self.opened.histories.cores.sum()
            each = sum(w * free_by_hour(self.types, row, self.opened.policy) for row, w in enumerate(weights))
            course = np.asarray(each)[:, when[0], when[1]].mean(axis=1)
            return course[0], course[1:], (), ()
        known = [name for name in named if name in tenants]
        if not known:
            guess = next((said for name in named if (said := did_you_mean(name, tenants))), "")
            raise InputError(
                f"{self.opened.name}: has no tenant that is a service of {demand.provenance.name}"
                f" ({_some(list(named))}); its tenants are {_some(list(tenants))}{guess}",
                hint="call the tenants as the trace calls the applications of its services: --servers servers.csv,"
                " with the columns server, tenant and cores",
            )
        total = np.zeros((1 + len(LENGTHS), len(demand)))
        total[0] = services  # a service without a history uses what it has
        for name in known:
            course = free_by_hour(self.types, tenants.index(name), self.opened.policy)[:, when[0], when[1]].mean(axis=1)
            total[0] -= named[name] * (1.0 - course[0])
            total[1:] += named[name] * course[1:]
        share = np.divide(total, services, out=np.zeros_like(total), where=services > 0)
        silent = tuple(sorted(name or "without a name" for name in named if name not in tenants))
        return share[0], share[1:], silent, tuple(name for name in tenants if name not in named)

    def _when(self, demand: Demand) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The day of the history and the hour of the day that each hour of each step stands for: the same date where
        the history has it, else the same weekday as long as there are whole weeks (a trace without dates begins at
        midnight)."""
        histories, days = self.opened.histories, self.types.days // WEEK_DAYS * WEEK_DAYS
        each = max(demand.step_seconds // SECONDS_PER_HOUR, 1)
        begins = (
            demand.start + demand.step_seconds * np.arange(len(demand)) + SECONDS_PER_HOUR * np.arange(each)[:, None]
        )
        first = histories.start + (histories.days - days) * DAY
        day = np.floor((begins - first) / DAY).astype(np.int64) % days + self.types.days - days
        return day, (begins % DAY // SECONDS_PER_HOUR).astype(np.int64)

    def _lengths(
        self, workload: Workload, splits: NDArray[np.bool_], holds: float
    ) -> tuple[NDArray[np.int64], tuple[float, float]]:
        """The length of each job of batch that may run in idle hours (-1: none), and where short ends and long begins;
        a server ``holds`` no larger one that cannot be split."""
        if isinstance(workload, Demand):
            return np.empty(0, np.int64), (0.0, 0.0)
        fits = (workload.cores <= holds) | splits
        rows = np.flatnonzero((workload.kind == JobKind.BATCH) & fits & (workload.cores > 0))
        found = np.full(len(workload), -1, np.int64)
        if not len(rows):
            return found, (0.0, 0.0)
        found[rows], bounds = lengths_of(workload.at(rows), self.types, self.opened.policy)
        return found, (bounds.short, bounds.long)


def hours_of(
    workload: Workload, demand: Demand, splits: NDArray[np.bool_], lengths: NDArray[np.int64], left: LeftByServices
) -> IdleHours:
    """The idle hours of the jobs that have a length (-1: none), with room for their own sizes in what services leave;
    ``splits`` are those that can be split."""
    batch, memory, sizes = _batch_of(workload, demand, splits, lengths)
    gib = _per(memory, batch.sum(axis=0))
    most = np.divide(left.gib, gib, out=np.ones(len(demand)), where=gib > 0)
    share = np.minimum(packed(left.free, left.vcpus, sizes), most)
    room = left.free[LENGTHS.index(Length.SHORT)]
    return IdleHours(services_of(demand), batch, share, gib, np.zeros(len(demand)), left.used, room)


def _batch_of(
    workload: Workload, demand: Demand, splits: NDArray[np.bool_], lengths: NDArray[np.int64]
) -> tuple[Floats, Floats, JobSizes]:
    """The vCPUs of the jobs by length at each step, their GiB, and how many vCPUs they have at once."""
    found = np.zeros((len(LENGTHS), len(demand)))
    if isinstance(workload, Demand):
        found[LENGTHS.index(Length.MEDIUM)] = demand.batch_cores
        return found, demand.batch_cores * _per(demand.memory, demand.cores), WHATEVER
    for at in range(len(LENGTHS)):
        found[at] = in_steps(workload, np.flatnonzero(lengths == at), workload.cores, demand)
    counted = lengths >= 0
    memory = in_steps(workload, np.flatnonzero(counted), workload.memory, demand)
    return found, memory, sizes_of(workload, splits, counted)


def services_of(demand: Demand) -> Floats:
    """vCPUs of services at each step."""
    return np.maximum(demand.cores - demand.batch_cores, 0.0)


def _per(what: Floats, many: Floats) -> Floats:
    """So much for each of so many, nothing where there are none."""
    return np.divide(what, many, out=np.zeros(len(many)), where=many > 0)


def in_steps(jobs: Jobs, rows: NDArray[np.intp], weight: Floats, demand: Demand) -> Floats:
    """What some jobs have in use of something in each step of a demand."""
    grid = TimeGrid(demand.start, demand.step_seconds, len(demand))
    last = demand.start + demand.step_seconds * len(demand)
    begins, ends = (np.clip(times[rows], demand.start, last) for times in (jobs.begins, jobs.ends))
    return mean_in_use(grid, begins, ends, weight[rows])


def _vcpus_by_service(workload: Workload, demand: Demand) -> dict[str, Floats]:
    """vCPUs of each service by the name of its application, "" of those without one; nothing where none has a name."""
    if isinstance(workload, Demand):
        return {}
    services = workload.kind != JobKind.BATCH
    codes = np.unique(workload.app[services])
    if not (codes >= 0).any():
        return {}
    names = {int(code): workload.apps[code] if code >= 0 else "" for code in codes}
    rows = {code: np.flatnonzero(services & (workload.app == code)) for code in names}
    return {name: in_steps(workload, rows[code], workload.cores, demand) for code, name in names.items()}


def _memory_of_services(workload: Workload, demand: Demand) -> Floats:
    """GiB of services at each step."""
    if isinstance(workload, Demand):
        return demand.memory * (1.0 - _per(demand.batch_cores, demand.cores))
    return in_steps(workload, np.flatnonzero(workload.kind != JobKind.BATCH), workload.memory, demand)


def _some(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:NAMED])
    return shown + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
