"""A plan: what to reserve, what stays on demand, what it costs beside the alternatives, and what was refused."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum

from hcloud.model.catalog import OfferKey, Payment, Provider, PurchaseOption, special_in, system_of
from hcloud.model.holdings.change import ChangeSet
from hcloud.model.plans.harvest import HarvestedHours
from hcloud.model.plans.held import FIRST_WEEKS, ends_of, is_soon
from hcloud.model.plans.operation import Operation
from hcloud.model.workload import Window
from hcloud.units import HOURS_PER_YEAR

FORMAT_VERSION = "1.0"
OWNED = "owned/"
"""How the address of a line begins that is owned already."""


@dataclass(frozen=True, slots=True)
class Digests:
    """sha256 of what the plan was made from: the offers it quoted, the settings it obeyed, the workload it read."""

    prices: str
    policy: str
    workload: str


@dataclass(frozen=True, slots=True)
class WorkloadSummary:
    """The demand planned for: vCPUs and GiB over the trace, and what was repaired, left out or modelled in it.

    ``profile`` is the mean of the vCPUs in equal parts of the trace, ``peaks`` the most in each of them, ``quantiles``
    the vCPUs that demand stays at or below 0 %, 1 %, ... 100 % of the time, ``window`` the part of the trace that all
    this is of, ``machines`` how many measured machines it is the sum of (0: not measured by machine).
    """

    name: str
    format: str
    rows: int
    hours: float
    step_seconds: int
    mean_cores: float
    peak_cores: float
    mean_memory_gib: float
    peak_memory_gib: float
    repaired: dict[str, int]
    left_out: dict[str, int]
    profile: tuple[float, ...]
    peaks: tuple[float, ...] = ()
    quantiles: tuple[float, ...] = ()
    window: Window | None = None
    machines: int = 0


@dataclass(frozen=True, slots=True)
class Trace:
    """Where a plan's workload was read: the path as it was given, or the generated scenario, each empty where it is the
    other one; format, options, window and profiles as they were asked for."""

    path: str
    scenario: str
    format: str
    options: dict[str, str | float | bool]
    window: str
    profiles: str
    corpus: str


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a plan's own fleet does to jobs, simulated once, with so many servers ``reserved`` by type: the share of
    jobs that keep 95 % of their performance, the seconds that all but 5 % wait at most, and the dollars a month with
    what the plan's arithmetic does not know; where they exceed what all on demand costs by arithmetic,
    ``all_on_demand`` is what that costs when it is simulated alike. ``covered`` is the part of ``monthly`` that
    commitments to all sizes of a family save: they cover what is rented while their own machines are idle."""

    strategy: str
    reserved: dict[str, int]
    cloud: str
    seed: int
    kept_qos: float | None = None
    wait_p95: float | None = None
    monthly: Decimal | None = None
    all_on_demand: Decimal | None = None
    covered: Decimal | None = None
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class MixLine:
    """One part of the mix. ``count`` is instances (the mean of those running for on-demand and spot), ``hourly`` the
    effective dollars an hour of all of them averaged over the horizon, ``upfront`` the cash due when it is bought.
    ``expires_hour`` is the hour at which what is owned ends, None where that is not before the horizon does, and
    ``expires`` the moment, None where it is not known.
    ``first_least`` and ``first_peak`` are the fewest and the most that are rented at once in the plan's first
    weeks (``first_weeks`` of the plan); None of what is committed to.
    ``licences`` is what of ``total`` is billed by use: a commitment costs the rest. None where prices hold it."""

    address: str
    provider: Provider
    region: str
    instance_type: str
    option: PurchaseOption
    term_years: int
    payment: Payment
    count: Decimal
    peak: int
    vcpus: Decimal
    memory_gib: Decimal
    hourly: Decimal
    monthly: Decimal
    upfront: Decimal
    total: Decimal
    break_even: Decimal | None
    starts_hour: int
    price_day: date
    derived: str
    expires_hour: int | None = None
    first_least: int | None = None
    first_peak: int | None = None
    expires: datetime | None = None
    licences: Decimal | None = None

    @property
    def without_licences(self) -> Decimal:
        """The part of its dollars that is paid for the machines."""
        return 1 - self.licences / self.total if self.licences and self.total else Decimal(1)

    @property
    def monthly_licences(self) -> Decimal | None:
        """What of ``monthly`` is billed by use; None where prices hold it."""
        return None if self.licences is None else self.monthly * (1 - self.without_licences)

    @property
    def special(self) -> str:
        """What its address says of system and tenancy."""
        return special_in(self.address.removeprefix(OWNED))

    @property
    def key(self) -> OfferKey:
        """The offer that it is of: its fields, and what its address says of system and tenancy."""
        of = (self.option, self.term_years, self.payment if self.term_years else Payment.NONE)
        return OfferKey(self.provider, self.region, self.instance_type, *of, *system_of(self.special))

    @property
    def begins_later(self) -> bool:
        """Whether it is not wanted within the plan's first day: it is not bought now."""
        return not is_soon(self.starts_hour)

    @property
    def is_owned(self) -> bool:
        """Whether it was bought before."""
        return self.address.startswith(OWNED)

    @property
    def hourly_held(self) -> Decimal:
        """Effective dollars an hour while it is held, where ``hourly`` spreads a purchase over the horizon."""
        bought = self.option.is_commitment and not self.is_owned
        hours = self.term_years * HOURS_PER_YEAR if bought else self.expires_hour
        return self.total / hours if hours else self.hourly

    @property
    def ends_hour(self) -> int | None:
        """The hour of the horizon at which a purchase ends; None for what is rented."""
        return self.expires_hour if self.is_owned else ends_of(self.starts_hour, self.term_years)

    @property
    def covers_nothing(self) -> bool:
        """Whether it is owned where the markets allow nothing that it covers: it is paid for, and serves no demand."""
        return self.is_owned and not self.vcpus and bool(self.count)


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another way to serve the same demand, in dollars; ``versus_plan`` is its total less the plan's."""

    name: str
    description: str
    hourly: Decimal
    monthly: Decimal
    total: Decimal
    versus_plan: Decimal


class Lever(StrEnum):
    """What would have to change: the effective price an hour of one offer, all prices of a type (told by its on-demand
    price), the prices of all commitments of a type (told by that of the one bought), its on-demand price, or demand
    (1 is the forecast)."""

    OFFER = "offer-price"
    TYPE = "type-prices"
    COMMITMENTS = "commitment-prices"
    ON_DEMAND = "on-demand-price"
    DEMAND = "demand"


@dataclass(frozen=True, slots=True)
class Flip:
    """Where a decision turns round: beyond ``at`` it comes out otherwise, all else as it is ``now``. Unless ``exact``
    it turns there at the latest."""

    lever: Lever
    now: Decimal
    at: Decimal
    then: str
    exact: bool = True

    @property
    def change(self) -> Decimal:
        """By what fraction it would have to change; negative is a fall."""
        return self.at / self.now - 1


@dataclass(frozen=True, slots=True)
class Refusal:
    """An option that was not taken: the reason, what the cheapest whole plan with it costs, and by how much that is
    more than the plan for the forecast alone, from which one that is sized by regret or by simulation may differ.

    ``total`` and ``margin`` are None where the option was excluded by a rule rather than by its cost. ``pays_above`` is
    the share of its term, or of a horizon that ends before, above which a commitment undercuts on-demand use.
    """

    address: str
    reason: str
    total: Decimal | None = None
    margin: Decimal | None = None
    flips_if: str = ""
    pays_above: Decimal | None = None
    flip: Flip | None = None


@dataclass(frozen=True, slots=True)
class Sizing:
    """Why a commitment is bought in this number: the share of the horizon that its last instance and the next one,
    which is not bought, are in use (by the on-demand dollars they save), beside that above which it pays; and the
    dollars that both gain over the horizon. ``bought_as`` are the lines of the mix where it is counted in a smaller
    size than it is bought in."""

    address: str
    count: int
    last_use: Decimal
    next_use: Decimal
    pays_above: Decimal
    last_gain: Decimal
    next_gain: Decimal
    flips: tuple[Flip, ...] = ()
    bought_as: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Certificate:
    """The proof: the optimum's cost, the bound no plan can beat, and the gap between them, in dollars of the horizon.

    ``bound`` belongs to whole instances of the chosen type (duality); ``lower_bound`` allows fractions of instances of
    any mix of the allowed types with perfect foresight.
    """

    method: str
    optimum: Decimal
    bound: Decimal
    gap: Decimal
    lower_bound: Decimal
    lower_bound_method: str


@dataclass(frozen=True, slots=True)
class WhatIf:
    """What the plan's commitments cost if demand turns out lower (or higher) than the forecast."""

    change: Decimal
    planned: Decimal
    all_on_demand: Decimal
    best_in_hindsight: Decimal
    unused_commitment: Decimal


@dataclass(frozen=True, slots=True)
class Risk:
    """The spread over futures that draw days, level and growth of the demand: cost quantiles of the plan, the regret it
    was sized at, and quantiles of the mean demand as multiples of the forecast's."""

    futures: int
    cost_p10: Decimal
    cost_p50: Decimal
    cost_p90: Decimal
    regret_p90: Decimal
    sized_at: float | None
    demand_p10: Decimal
    demand_p90: Decimal


@dataclass(frozen=True, slots=True)
class History:
    """The hours of trace that count, beside the least that the longest term to buy deserves; ``upfront`` and
    ``committed`` are the dollars of the terms that deserve more than there is, zero where there is enough."""

    hours: float
    term_years: int
    least_hours: int
    is_enough: bool
    upfront: Decimal
    committed: Decimal


@dataclass(frozen=True, slots=True)
class ReserveUse:
    """What the reserve of a plan's first day, with what is owned already, is to the demand of its trace, step by step:
    the share of it that it takes, and the share of its ``vcpus`` that is in use in the mean."""

    vcpus: float
    takes: float
    in_use: float


@dataclass(frozen=True, slots=True)
class BesideKind:
    """What other kinds of machines of a bill have of a commitment, in instances or dollars an hour: bought before
    ``bill_end``, as the bill says, or (``to_buy``) planned with this kind. ``special`` is that of a line."""

    option: PurchaseOption
    instance_type: str
    quantity: Decimal
    to_buy: bool
    bill_end: datetime
    special: str = ""


@dataclass(frozen=True, slots=True)
class Assumption:
    """A stated rule or default the plan rests on, with the key that changes it."""

    key: str
    value: str
    why: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything ``hcloud plan`` decides, and from what. ``operation`` only if strategies were simulated, ``changes``
    only if made for a cloud, ``history`` only if a commitment is to be bought, ``harvest`` only if batch is to run in
    idle hours; ``flips`` are of the whole plan, ``beside`` of the other kinds of a bill."""

    format_version: str
    tool_version: str
    generated_at: datetime
    currency: str
    digests: Digests
    price_day: date
    price_age_days: int
    seed: int
    horizon_hours: int
    step_seconds: int
    workload: WorkloadSummary
    mix: tuple[MixLine, ...]
    now: Alternative
    after: Alternative
    alternatives: tuple[Alternative, ...]
    certificate: Certificate
    what_if: tuple[WhatIf, ...]
    risk: Risk | None
    reasons: tuple[str, ...]
    refusals: tuple[Refusal, ...]
    assumptions: tuple[Assumption, ...]
    warnings: tuple[str, ...]
    operation: Operation | None = None
    changes: ChangeSet | None = None
    trace: Trace | None = None
    prediction: Prediction | None = None
    sizing: tuple[Sizing, ...] = ()
    flips: tuple[Flip, ...] = ()
    history: History | None = None
    harvest: HarvestedHours | None = None
    reserve: ReserveUse = field(kw_only=True)
    first_weeks: int = FIRST_WEEKS
    beside: tuple[BesideKind, ...] = ()

    def sizing_of(self, line: MixLine) -> Sizing | None:
        """Why a commitment is bought in its number; None where nothing is said of it."""
        return next((s for s in self.sizing if line.address in (s.address, *s.bought_as)), None)

    @property
    def unbought(self) -> str:
        """What it is called to serve the demand without a purchase: what is owned already is used all the same."""
        return "buying nothing more" if any(line.is_owned for line in self.mix) else self.now.name

    @property
    def told_alternatives(self) -> tuple[Alternative, ...]:
        """The alternatives, that without a purchase named and described by what is owned beside it."""
        what = "use what is owned, and rent the rest when it is needed"
        told = self.now if self.unbought == self.now.name else replace(self.now, name=self.unbought, description=what)
        return tuple(told if a.name == self.now.name else a for a in self.alternatives)

    @property
    def purchases(self) -> tuple[MixLine, ...]:
        """The commitments among the mix: what somebody would have to buy."""
        return tuple(line for line in self.mix if line.option.is_commitment and not line.address.startswith(OWNED))
