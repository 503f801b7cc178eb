"""How idle the services of a trace are, hour by hour, and which of its batch may run in those hours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hcloud.errors import EvidenceError, InputError, UsageError, did_you_mean
from hcloud.harvest.classes import UseTypes, use_types
from hcloud.harvest.jobs import LENGTHS, Length, lengths_of
from hcloud.harvest.results import OpenedUse
from hcloud.harvest.room import JobSizes, free_by_hour, packed, sizes_of
from hcloud.model.workload import Demand, JobKind, Jobs, Workload
from hcloud.planning.fleets.gpu_jobs import is_in_gpus
from hcloud.planning.forecasting.demand import TimeGrid, mean_in_use
from hcloud.planning.forecasting.dividing import can_split
from hcloud.planning.forecasting.idle import IdleHours, IdleUse, LeftByServices
from hcloud.planning.settings import PlanSettings
from hcloud.units import SECONDS_PER_HOUR, format_span, some_of
from hcloud.usecases.harvesting.opened import UseRequest, open_use

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats

WEEK_DAYS, DAY = 7, 86_400
WITHOUT = "leave out --util: no history is needed then"
NAMED = 5
WHATEVER = JobSizes(np.zeros(1), np.ones(1))
"""Batch that can be split."""


class _Beside(NamedTuple):
    """Of each tenant (its row) that is a service the part of all vCPUs of services at each step; services and tenants
    that have no other half."""

    parts: dict[int, Floats]
    silent: tuple[str, ...]
    unmatched: tuple[str, ...]


def idle_hours(request: UseRequest) -> AskIdle:
    """The histories that are asked for, ready to be held against a demand. EvidenceError for less than a week."""
    try:
        opened = open_use(request)
    except EvidenceError as error:
        raise EvidenceError(str(error), hint=WITHOUT) from None
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

        InputError where names do not meet, EvidenceError where the demand has no batch, UsageError for jobs with GPUs.
        """
        if is_in_gpus(workload):
            raise UsageError(f"{demand.provenance.name}: its jobs ask for GPUs, and idle hours have none", hint=WITHOUT)
        policy = self.opened.policy
        beside = self._beside(workload, demand)
        used, *free = self._left(beside, demand, vcpus)
        splits = np.empty(0, np.bool_) if isinstance(workload, Demand) else can_split(workload, settings.divisible)
        most = max(vcpus * float(self._free(row, vcpus)[1:].max()) for row in beside.parts)
        lengths, bounds = self._lengths(workload, splits, most)
        memory = _memory_of_services(workload, demand) * (1.0 - policy.reserve_memory)
        left = LeftByServices(vcpus, used, np.array(free), _per(memory, services_of(demand)))
        hours = self.hours(workload, demand, splits, lengths, left)
        if not hours.batch.any():
            raise EvidenceError(
                f"{demand.provenance.name}: has no batch job that can run in idle hours: beside the reserve and"
                f" its services a server of {vcpus:g} vCPUs has {most:.3g} free at most, and jobs with more vCPUs than"
                " that cannot be split",
                hint=f"--divisible all, if they can; --vcpus for larger servers; or {WITHOUT}",
            )
        reserve, tenants = (policy.reserve_cores, policy.reserve_memory), len(self.opened.histories.tenants)
        found = (left, self.opened.name, self.types.days, tenants, beside.silent, beside.unmatched, bounds)
        return IdleUse(hours, lengths, reserve, *found, gaps=len(self.opened.histories.with_gaps))

    def hours(
        self, workload: Workload, demand: Demand, splits: NDArray[np.bool_], lengths: NDArray[np.int64],
        left: LeftByServices,
    ) -> IdleHours:  # fmt: skip
        """The idle hours of the jobs that have a length (-1: none), with room for their own sizes on the servers of
        each service; ``splits`` are those that can be split."""
        batch, memory, sizes = _batch_of(workload, demand, splits, lengths)
        gib = _per(memory, batch.sum(axis=0))
        most = np.divide(left.gib, gib, out=np.ones(len(demand)), where=gib > 0)
        room = self._left(self._beside(workload, demand), demand, left.vcpus, sizes)[1:]
        free = left.free[LENGTHS.index(Length.SHORT)]
        return IdleHours(
            services_of(demand), batch, np.minimum(room, most), gib, np.zeros(len(demand)), left.used, free
        )

    def _beside(self, workload: Workload, demand: Demand) -> _Beside:
        """Which tenants the services of a demand are. InputError where names do not meet."""
        tenants, services = self.opened.histories.tenants, services_of(demand)
        named = _vcpus_by_service(workload, demand)
        if not named:
            cores = self.opened.histories.cores
            return _Beside({row: np.full(len(demand), part) for row, part in enumerate(cores / cores.sum())}, (), ())
        known = [name for name in named if name in tenants]
        if not known:
            guess = next((said for name in named if (said := did_you_mean(name, tenants))), "")
            raise InputError(
                f"{self.opened.name}: has no tenant that is a service of {demand.provenance.name}"
                f" ({some_of(map(repr, named), NAMED)}); its tenants are {some_of(map(repr, tenants), NAMED)}{guess}",
                hint="call the tenants as the trace calls the applications of its services: --servers servers.csv,"
                " with the columns server, tenant and cores",
            )
        silent = tuple(sorted(name or "without a name" for name in named if name not in tenants))
        unmatched = tuple(name for name in tenants if name not in named)
        return _Beside({tenants.index(name): _per(named[name], services) for name in known}, silent, unmatched)

    def _left(self, beside: _Beside, demand: Demand, vcpus: float, sizes: JobSizes | None = None) -> Floats:
        """What services use of a vCPU of theirs, and what jobs of each length (and of such ``sizes``) may have of it on
        servers of so many, [use and lengths, step]. A service without a history uses what it has."""
        day, hour = self._when(demand)
        found = np.zeros((1 + len(LENGTHS), len(demand)))
        found[0] = services_of(demand) > 0
        for row, part in beside.parts.items():
            each = self._free(row, vcpus)
            each[1:] = each[1:] if sizes is None else packed(each[1:], vcpus, sizes)
            each[0] -= 1.0
            found += part * each[:, day, hour].mean(axis=1)
        return found

    def _free(self, tenant: int, vcpus: float) -> Floats:
        return free_by_hour(self.types, tenant, self.opened.policy, vcpus)

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
