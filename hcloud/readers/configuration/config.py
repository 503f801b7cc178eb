"""hcloud.yaml: strict keys with a did-you-mean, read from flags over environment over files, turned into settings."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from hcloud.errors import InputError, UsageError
from hcloud.model.catalog import USUAL_PROVIDER, Payment, Provider, PurchaseOption
from hcloud.model.clouds.known import CLOUDS
from hcloud.model.files import kind_of
from hcloud.model.json_text import DIALECT
from hcloud.model.plans.held import FIRST_WEEKS
from hcloud.planning.settings import Divisible, HistorySettings, Market, Outlook, PlanSettings, RiskSettings
from hcloud.readers.configuration.layers import environment_layers, merged, read_layer, told_of
from hcloud.readers.configuration.live_sections import (
    CommitmentsSection,
    FleetSection,
    LimitsSection,
    LiveSection,
    ReportSection,
)
from hcloud.readers.configuration.owned_section import OwnedSection, Years
from hcloud.readers.section import FROM_TEXT, SPAN, Age, Seconds, Section, Untitled, setting, validated
from hcloud.units import SECONDS_PER_HOUR, parse_duration


def _an_hour_at_least(seconds: int) -> int:
    if seconds < SECONDS_PER_HOUR:
        raise ValueError("must be an hour at least, for example 7d")
    return seconds


class BillSection(Section):
    """Which machines of a bill are planned for, from which part of it; the defaults are ours."""

    recent: Annotated[Seconds, AfterValidator(_an_hour_at_least)] = setting(
        parse_duration("7d"), "the end of a bill that says whether a kind of machine still runs [duration]"
    )
    shrunk: Annotated[float, Field(ge=0, le=1)] = setting(
        0.8,
        "a kind whose recent mean is below this share of its mean is planned from the recent part alone; higher than"
        " planning.shrunk, which judges whole weeks (ours) [share]",
    )
    least_share: Annotated[float, Field(ge=0, lt=1)] = setting(
        0.001, "kinds below this share of a bill's machines stay as they are, unplanned [share of cost]"
    )
    old: Seconds = setting(
        parse_duration("60d"),
        "a bill that ended longer ago is warned of: what was bought since is not in it (ours) [duration]",
    )
    differs: Annotated[float, Field(gt=0, lt=1)] = setting(
        0.1,
        "the plan warns where prices of the bill and the price book, or hours run and planned, differ by more than this"
        " (ours) [share]",
    )
    held_until: date | None = setting(
        None, "the day (UTC) at whose beginning commitments end that a bill gives no end; null: after the horizon"
    )


FILE_NAME = "hcloud.yaml"
LONGEST_HORIZON = parse_duration("10y")
Share = Annotated[float, Field(ge=0, le=1)]


def _whole_hours(seconds: int) -> int:
    if seconds % SECONDS_PER_HOUR or seconds <= 0:
        raise ValueError(
            "must be a whole number of hours, in h, d, w, mo or y, for example 720h, 90d, 6mo or 1y; m is minutes"
        )
    if seconds > LONGEST_HORIZON:
        raise ValueError("must be at most 10y")
    return seconds


class WorkloadSection(Section):
    """What ran: a file, or a generated scenario; ``options`` are its reader's keys, ``window`` is what of it counts."""

    path: Path | None = setting(None, "a trace or a history; relative to this file")
    scenario: str | None = setting(None, "a generated one instead: static, high-variability, local-40, ...")
    format: str = setting("auto", "format of the file; auto: by its content; all: 'hcloud workload --help'")
    options: dict[str, str | float | bool] = Field(
        default_factory=dict, description="keys for the format, as {default_cores: 2}; all: 'hcloud workload --help'"
    )
    window: str | None = setting(
        None, "the part that counts: START..END in seconds or times, or as 14d; null: by its jobs"
    )


class PricesSection(Section):
    """Which price book: the bundled tables with what was imported laid over (``user``) or the bundled ones alone."""

    book: Literal["user", "bundled"] = setting(
        "user", "user: what you imported, over the bundled tables; bundled: these alone"
    )
    overlay: Path | None = setting(None, "a file of negotiated prices, laid over all others")
    max_age: Age | None = setting(None, "older prices stop a plan; null: never [duration]")
    warn_age: Age = setting(parse_duration("30d"), "older prices are warned about [duration]")


class MarketSection(Section):
    """One provider's offers a plan may choose from."""

    provider: Provider = setting(USUAL_PROVIDER, "aws, gcp or azure")
    regions: tuple[str, ...] = setting((), "allowed regions; none: us-east-1, us-central1 or eastus")
    families: tuple[str, ...] = setting(
        (), "allowed families or types, with * and ?; none: all current families, neither burstable nor flex"
    )
    architectures: tuple[Literal["x86_64", "arm64"], ...] = setting(("x86_64",), "x86_64, arm64 or both")
    vcpus: Annotated[int, Field(ge=1, le=1024)] | Literal["auto"] = setting(
        "auto", "size of every instance; auto: all sizes, the cheapest [vCPU]"
    )
    os: str = setting("linux", "operating system for prices, for example linux or windows")
    tenancy: str = setting("shared", "shared or dedicated hardware, as the price book names it")
    options: tuple[PurchaseOption, ...] = setting(
        (), "allowed purchase options, for example [committed-use]; none: all"
    )
    terms: tuple[Years, ...] = setting((1, 3), "allowed lengths of commitments [years]")
    payments: tuple[Payment, ...] = setting(tuple(Payment), "allowed ways to pay for commitments")
    gpus: bool = setting(
        False,
        "true: types with GPUs may be chosen, for demand that runs on them; gpu=only plans jobs that ask for GPUs",
    )


def _fits_hours(step: int | str) -> int | str:
    if isinstance(step, int) and SECONDS_PER_HOUR % step and step % SECONDS_PER_HOUR:
        raise ValueError("must divide an hour or be whole hours, for example 5min, 30min, 1h or 6h")
    return step


class PlanningSection(Section):
    """How the trace is stretched and how the reserve is sized."""

    horizon: Annotated[int, FROM_TEXT, AfterValidator(_whole_hours), SPAN] = setting(
        parse_duration("1y"), "how far is planned; whole hours [duration]"
    )
    step: Annotated[
        Annotated[int, Field(ge=60, le=86_400), FROM_TEXT, SPAN] | Literal["auto"], AfterValidator(_fits_hours)
    ] = setting(
        "auto",
        "demand is averaged over such steps; auto: 1h, or 5min for a trace under a day and where means of 1h hide more"
        " than a tenth of how use varies (ours) [duration]",
    )
    growth_per_year: float = setting(0.0, "0.2: a fifth more demand a year [share]", gt=-1, le=10)
    headroom: float = setting(0.0, "0.1: a tenth more capacity than demand [share]", ge=0, le=10)
    warm_up: Seconds = setting(0, "dropped from the start of the workload [duration]")
    shrunk: Share = setting(
        0.7,
        "weeks before demand fell are left out where the last one is below this part of the mean; bills: bill.shrunk"
        " (ours) [share]",
    )
    shrunk_days: float = setting(
        2.0, "also a fall: so much demand missing in the last 3 to 6 days beside a week before (ours) [days]", ge=0
    )
    history_1y: Seconds = setting(
        parse_duration("28d"), "a plan that buys a 1-year term on a shorter trace warns first (ours) [duration]"
    )
    history_3y: Seconds = setting(parse_duration("91d"), "the same for a 3-year term (ours) [duration]")
    regret_quantile: Share | None = setting(
        None, "size the reserve by regret, for example 0.9; null: by the forecast [quantile]"
    )
    futures: int = setting(200, "futures drawn to judge the risk [count]", ge=0, le=100_000)
    level_prior: float = setting(
        0.06, "uncertainty of a week's level of demand: standard deviation of its logarithm (ours)", ge=0, le=2
    )
    level_prior_weeks: float = setting(2.0, "weeks of trace that this prior is worth (ours) [weeks]", gt=0, le=520)
    growth_prior: float = setting(
        0.2, "uncertainty of growth a year: standard deviation of its logarithm (ours)", ge=0, le=2
    )
    falls: tuple[Annotated[float, Field(gt=0, lt=1)], ...] = setting(
        (0.1, 0.3, 0.5), "what if demand falls by these parts [share]"
    )
    spot_share_of_batch: Share = setting(0.0, "part of the batch demand that may be interrupted [share]")
    peak_overprovision: float = setting(0.15, "margin of the rival that reserves the peak [share]", ge=0, le=10)
    mix_types: bool = setting(True, "whether several instance types may be reserved together")
    mix_min_saving: Share = setting(0.03, "mix types only where that saves at least this [share]")
    spread_min_saving: Share = setting(
        0.01, "buy at any date only where that saves at least this of a reserve renewed at expiry (ours) [share]"
    )
    commit_min_saving: Share = setting(
        0.05, "buy commitments only where they save at least this part of what they cost (ours) [share]"
    )
    size_waste: float = setting(
        0.005, "count in machines whose rounding up wastes no more of the mean demand (ours) [share]", gt=0, le=1
    )
    first_weeks: int = setting(
        FIRST_WEEKS,
        "apply starts what a plan rents at every hour of so many first weeks (ours) [weeks]",
        ge=1,
        le=52,
    )
    divisible: Divisible = setting(Divisible.SERVICES, "jobs that may run on several machines: all, services or none")
    seed: int = setting(42, "seed of scenarios and futures", ge=0)

    @model_validator(mode="after")
    def _whole_steps(self) -> Self:
        if isinstance(self.step, int) and self.horizon % self.step:
            raise ValueError("planning.horizon must be a whole number of planning.step")
        return self


class ProfilesSection(Section):
    """Profiles of the workload's applications, and the applications seen before that estimates are drawn from."""

    folder: Path | None = setting(
        None, "folder of profiles, named as the workload's apps; null: jobs get the size they request"
    )
    corpus: str = setting("bundled", "applications seen before: bundled, a folder of profiles, or a matrix file")


class OperationSection(Section):
    """Which strategies run what is bought, and what they have to keep; without one nothing is simulated."""

    strategy: str | None = setting(None, "auto, or names as HF,HM, or the file of your own; null: no simulation")
    qos: Share = setting(0.9, "share of jobs that shall keep 95% of their performance [share]")
    service_wait: Seconds | None = setting(
        parse_duration("1d"), "all but 1% of services have to begin within this; null: no limit (ours) [duration]"
    )
    job_wait: Seconds | None = setting(
        parse_duration("1d"), "all but 5% of jobs have to begin within this; null: no limit (ours) [duration]"
    )
    budget: Annotated[Decimal, Field(gt=0)] | None = setting(None, "most a month may cost; null: no limit [$/month]")
    seeds: int = setting(3, "seeds that every point is simulated with at least [count]", ge=1, le=1000)
    runs: int = setting(
        200, "most simulations; seeds are added for what the choice is open between (ours) [count]", ge=1, le=100_000
    )
    confidence: float = setting(
        0.95,
        "of paired intervals; among points that cannot be told apart the cheaper is chosen (ours) [share]",
        gt=0,
        lt=1,
    )
    alike: float = setting(
        0.005, "differences below this part of all jobs, or of the cost, count as none (ours) [share]", ge=0, le=1
    )
    own_fleet_jobs: int = setting(
        500_000, "a plan's own fleet is simulated for so many jobs at most (ours: 5 s) [count]", ge=0, le=1_000_000
    )
    larger_jobs: float = setting(
        0.1,
        "of the work: jobs that need larger servers, and are no more than this, do not choose the size of all servers"
        " that a simulation reserves (ours) [share]",
        ge=0,
        le=1,
    )
    cloud: str | None = setting(
        None, "model of the cloud: paper, measured-aws, a file; null: the market's own, as measured"
    )


def _at_least_one(markets: tuple[MarketSection, ...]) -> tuple[MarketSection, ...]:
    if not markets:
        raise ValueError("name at least one market, for example [{provider: aws}]")
    return markets


class Config(Section):
    """The whole of hcloud.yaml."""

    format_version: Literal["1.0"] = setting("1.0", "version of this format; an unknown major version is refused")
    workload: WorkloadSection = setting(
        WorkloadSection(), "What ran. One of path and scenario; or leave both and name it: hcloud plan TRACE.csv"
    )
    prices: PricesSection = setting(PricesSection(), "Which prices count")
    markets: Annotated[tuple[MarketSection, ...], AfterValidator(_at_least_one)] = setting(
        (MarketSection(),), "The offers a plan may choose from; one entry a provider"
    )
    planning: PlanningSection = setting(
        PlanningSection(), "How the workload is stretched over the horizon, and how much is reserved"
    )
    profiles: ProfilesSection = setting(
        ProfilesSection(), "What was measured of the applications: their jobs get the size and the neighbours they need"
    )
    operation: OperationSection = setting(
        OperationSection(),
        "Simulate how strategies would run it; without a strategy the plan is arithmetic on the demand alone",
    )
    live: LiveSection = setting(LiveSection(), "The account that apply acts on; without a cloud a plan changes nothing")
    limits: LimitsSection = setting(
        LimitsSection(), "How far one apply may go; null: no limit (ended: a fifth of the machines, 20 at most)"
    )
    fleet: tuple[FleetSection, ...] = setting((), "Machines to keep running, instead of those that the plan decides on")
    commitments: CommitmentsSection = setting(
        CommitmentsSection(), "What 'hcloud commit apply' may buy; HYC_ALLOW_PURCHASE=1 has to be set as well"
    )
    bill: BillSection = setting(BillSection(), "How a provider's bill becomes demand")
    report: ReportSection = setting(ReportSection(), "How 'hcloud report' groups what was spent")
    owned: tuple[OwnedSection, ...] = setting(
        (), "Commitments that are already paid for; they are used first and never bought again"
    )

    def settings(self) -> PlanSettings:
        """The part of the configuration that decisions see."""
        p = self.planning
        return PlanSettings(
            markets=tuple(_market(m) for m in self.markets),
            outlook=Outlook(
                horizon_hours=p.horizon // SECONDS_PER_HOUR,
                step_seconds=0 if p.step == "auto" else p.step,
                growth_per_year=p.growth_per_year,
                headroom=p.headroom,
                warm_up_seconds=p.warm_up,
                first_weeks=p.first_weeks,
            ),
            risk=RiskSettings(
                p.regret_quantile, p.futures, p.falls, p.level_prior, p.level_prior_weeks, p.growth_prior
            ),
            history=HistorySettings(-(-p.history_1y // SECONDS_PER_HOUR), -(-p.history_3y // SECONDS_PER_HOUR)),
            spot_share_of_batch=p.spot_share_of_batch,
            peak_overprovision=p.peak_overprovision,
            mix_min_saving=p.mix_min_saving,
            mix_types=p.mix_types,
            spread_min_saving=p.spread_min_saving,
            commit_min_saving=p.commit_min_saving,
            size_waste=p.size_waste,
            divisible=p.divisible,
            seed=p.seed,
        )


def _market(section: MarketSection) -> Market:
    regions = section.regions or (CLOUDS[section.provider].home_region,)
    vcpus = 0 if section.vcpus == "auto" else section.vcpus
    return Market(**{**dict(section), "regions": regions, "vcpus": vcpus})


@dataclass(frozen=True, slots=True)
class Loaded:
    """A configuration with the directory its relative paths start from and the files it came from."""

    config: Config
    base: Path
    files: tuple[Path, ...]

    def resolve(self, path: Path) -> Path:
        """A path of the configuration seen from the configuration file."""
        return path if path.is_absolute() else self.base / path

    def changed(self, **sections: object) -> Loaded:
        """The same with other sections; of a section that is given as a mapping, with these keys changed."""
        update = {
            name: getattr(self.config, name).model_copy(update=value) if isinstance(value, Mapping) else value
            for name, value in sections.items()
        }
        return replace(self, config=self.config.model_copy(update=update))


def config_schema() -> Mapping[str, object]:
    """The JSON schema of hcloud.yaml: as people write it (durations as text), with what every key does."""
    schema = Config.model_json_schema(schema_generator=Untitled)
    return {"$schema": DIALECT, **schema, "title": FILE_NAME}


def load_config(file: Path | None = None, environment: Mapping[str, str] = os.environ) -> Loaded:
    """The configuration of ``file`` (else ``HYC_CONFIG``, else ./hcloud.yaml where it exists) over the user's own, with
    ``HYC_<SECTION>__<KEY>`` from the environment on top.

    Raises InputError with every problem found, UsageError for a file that was named and is not there.
    """
    named = file or (Path(environment["HYC_CONFIG"]) if environment.get("HYC_CONFIG") else None)
    if named is not None and not named.is_file():
        kind = kind_of(named.stat().st_mode) if named.exists() else ""
        what = f"is {kind}, not a configuration file" if kind else "no such configuration file"
        raise UsageError(f"{named}: {what}", hint="write one with 'hcloud init'")
    chosen = named or Path(FILE_NAME)
    files = [path for path in (_user_file(), chosen) if path.is_file()]
    layers = [*map(read_layer, files), *environment_layers(Config, environment)]
    try:
        config = parse_config(merged(layers), str(chosen) if chosen in files else "configuration")
    except InputError as error:
        raise told_of(error, layers) from None
    return Loaded(config, chosen.parent, tuple(files))


def parse_config(content: Mapping[str, object], name: str) -> Config:
    """Validate a configuration; raises InputError with every problem, its place and a did-you-mean."""
    return validated(Config, dict(content), name, "configuration")


def _user_file() -> Path:
    from platformdirs import user_config_path

    return user_config_path("hcloud-hybrid") / FILE_NAME
