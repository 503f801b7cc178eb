"""What a plan may choose from and how it looks ahead; every number here is a key of the configuration."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fnmatch import fnmatchcase

from hcloud.catalog.shapes import family_of
from hcloud.model.catalog import USUAL_PROVIDER, InstanceType, Payment, Provider, PurchaseOption
from hcloud.model.plans.held import FIRST_WEEKS
from hcloud.units import HOURS_PER_YEAR


@dataclass(frozen=True, slots=True)
class Market:
    """Which offers of one provider are allowed. ``families`` are shell patterns of families or types, empty for
    every current family that is neither burstable nor flex; ``vcpus`` is the size of one instance, 0 for all sizes;
    ``gpus`` says whether types with GPUs count too; so many vCPUs: those alone that have these for each GPU."""

    provider: Provider = USUAL_PROVIDER
    regions: tuple[str, ...] = ("us-east-1",)
    families: tuple[str, ...] = ()
    architectures: tuple[str, ...] = ("x86_64",)
    vcpus: int = 0
    os: str = "linux"
    tenancy: str = "shared"
    options: tuple[PurchaseOption, ...] = ()
    terms: tuple[int, ...] = (1, 3)
    payments: tuple[Payment, ...] = (Payment.NONE, Payment.PARTIAL, Payment.ALL)
    gpus: bool | Decimal = False

    def names(self, shape: InstanceType, *, any_size: bool = False) -> bool:
        """Whether its families name a type, or (``any_size``) another size of it; all are named by none."""
        return not self.families or any(
            fnmatchcase(shape.family, name)
            or fnmatchcase(shape.name, name)
            or (any_size and fnmatchcase(shape.family, family_of(self.provider, name)))
            for name in self.families
        )


LARGE_VCPUS = 16
INSTANCES_AT_LEAST = 10  # ours: a fleet of fewer instances is too coarse to split, so smaller ones are taken
MOST_VCPUS = 64  # ours: larger instances are only taken by name


def fitting_vcpus(mean_cores: float, job_cores: float) -> int:
    """The size of a server where strategies are simulated and none is set: 16 vCPUs (HCloud section 8.3.1 reserves
    servers of 16), smaller where the mean demand would not fill ten of them, but large enough for jobs of
    ``job_cores``."""
    by_demand = min(LARGE_VCPUS, 2 ** math.floor(math.log2(max(mean_cores / INSTANCES_AT_LEAST, 2.0))))
    by_jobs = 2 ** math.ceil(math.log2(max(job_cores, 2.0)))
    return int(min(max(by_demand, by_jobs), MOST_VCPUS))


@dataclass(frozen=True, slots=True)
class Outlook:
    """How the trace becomes a forecast. ``step_seconds`` 0 leaves the choice to ``choose_step``.

    ``growth_per_year`` 0.2 means a fifth more a year, ``headroom`` 0.1 a tenth more capacity than demand,
    ``warm_up_seconds`` are dropped from the start of the trace. What is rented at every hour of so many ``first_weeks``
    (ours) runs from the first day on.
    """

    horizon_hours: int = HOURS_PER_YEAR
    step_seconds: int = 0
    growth_per_year: float = 0.0
    headroom: float = 0.0
    warm_up_seconds: int = 0
    first_weeks: int = FIRST_WEEKS


@dataclass(frozen=True, slots=True)
class RiskSettings:
    """How uncertainty enters: ``regret_quantile`` None plans for the forecast itself, 0.9 sizes the reserve so that the
    regret exceeded in one future of ten is least. ``futures`` draw days, level and growth of the demand.

    ``level_prior`` and ``growth_prior`` (ours) are standard deviations of the logarithm of demand where the trace says
    nothing: of a week's level, and of the growth a year. The first counts as much as ``level_prior_weeks`` of trace.
    """

    regret_quantile: float | None = None
    futures: int = 200
    falls: tuple[float, ...] = (0.1, 0.3, 0.5)
    level_prior: float = 0.06
    level_prior_weeks: float = 2.0
    growth_prior: float = 0.2


class Divisible(StrEnum):
    """Which jobs may be split over several machines: services are replicas, a batch job is one process. By ``services``
    the trace's own column says otherwise of a job."""

    ALL = "all"
    SERVICES = "services"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class HistorySettings:
    """Hours of trace that a term deserves before it is bought (ours): of one year four whole weeks, which show each
    weekday four times; of three years a quarter, which shows whether demand grows."""

    one_year_hours: int = 28 * 24
    three_year_hours: int = 91 * 24

    def least_hours(self, years: int) -> int:
        """What a term of so many years deserves."""
        return self.one_year_hours if years <= 1 else self.three_year_hours


@dataclass(frozen=True, slots=True)
class Speed:
    """How much work a vCPU of a family does for this workload, where 1 is what demand was counted in."""

    provider: Provider
    family: str
    factor: Decimal


@dataclass(frozen=True, slots=True)
class PlanSettings:
    """All the keys of the ``planning`` and ``markets`` sections.

    ``peak_overprovision`` is HCloud's 15 % for reserving the peak (section 8.5.4). ``mix_min_saving`` (ours): several
    types are only mixed where that saves at least this fraction. ``spread_min_saving`` (ours): a reserve is bought at
    any date only where that saves at least this fraction of one that is bought anew when it expires.
    ``commit_min_saving`` (ours): a commitment is only bought where it saves at least this part of its cost.
    ``size_waste`` (ours): a plan counts in machines so large that rounding up to whole ones takes no more than this
    fraction of the mean demand. ``divisible`` (ours) says which jobs may be split over several machines.
    ``spot_share_of_batch`` (ours) is the part of the batch demand that may be interrupted. ``speeds`` is how much work
    a vCPU of a family does, by provider and family, where profiles say so; 1 for the others.
    """

    markets: tuple[Market, ...] = (Market(),)
    outlook: Outlook = Outlook()
    risk: RiskSettings = RiskSettings()
    history: HistorySettings = HistorySettings()
    spot_share_of_batch: float = 0.0
    peak_overprovision: float = 0.15
    mix_min_saving: float = 0.03
    mix_types: bool = True
    spread_min_saving: float = 0.01
    commit_min_saving: float = 0.05
    size_waste: float = 0.005
    divisible: Divisible = Divisible.SERVICES
    seed: int = 42
    speeds: tuple[Speed, ...] = ()

    @property
    def least_savings(self) -> tuple[float, float]:
        """What purchases at any date, and commitments, have to save at least."""
        return self.spread_min_saving, self.commit_min_saving

    @property
    def is_renewed(self) -> bool:
        """Whether a term ends inside the horizon. Then steps are hours at least: what is bought at any date takes
        minutes to find among finer ones."""
        terms = [term for market in self.markets for term in market.terms]
        return self.outlook.horizon_hours > min(terms, default=1) * HOURS_PER_YEAR

    def speed(self, provider: Provider, family: str) -> Decimal:
        """How much work a vCPU of a family does."""
        return next((s.factor for s in self.speeds if (s.provider, s.family) == (provider, family)), Decimal(1))
