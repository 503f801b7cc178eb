"""hcloud.yaml: strict keys with a did-you-mean, read from flags over environment over files, turned into settings."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from hcloud.errors import FileError, InputError, UsageError, did_you_mean
from hcloud.model.catalog import USUAL_PROVIDER, OfferKey, Payment, Provider, PurchaseOption
from hcloud.model.clouds.known import CLOUDS
from hcloud.model.files import HEAD, check_sort, kind_of
from hcloud.planning.settings import Divisible, HistorySettings, Market, Outlook, PlanSettings, RiskSettings
from hcloud.readers.configuration.live_sections import FleetSection, LimitsSection, LiveSection, ReportSection
from hcloud.readers.safe_yaml import load_yaml
from hcloud.readers.section import Section, keys_at, validated
from hcloud.units import SECONDS_PER_HOUR, parse_duration

FILE_NAME = "hcloud.yaml"
_EVERY_KEY = "'hcloud init --dir DIRECTORY' writes every key with what it does"
ENVIRONMENT = "HYC_"
LONGEST_HORIZON = parse_duration("10y")
Share = Annotated[float, Field(ge=0, le=1)]


def _seconds(value: object) -> object:
    return parse_duration(value) if isinstance(value, str) and value != "auto" else value


def _whole_hours(seconds: int) -> int:
    if seconds % SECONDS_PER_HOUR or seconds <= 0:
        raise ValueError("must be a whole number of hours, for example 1y, 90d or 720h")
    if seconds > LONGEST_HORIZON:
        raise ValueError("must be at most 10y")
    return seconds


def _years(value: object) -> object:
    return parse_duration(value) // parse_duration("1y") if isinstance(value, str) else value


Seconds = Annotated[int, BeforeValidator(_seconds), Field(ge=0)]
Years = Annotated[Literal[1, 3], BeforeValidator(_years)]


class WorkloadSection(Section):
    """What ran: a file, or a generated scenario; ``options`` are its reader's keys, ``window`` is what of it counts."""

    path: Path | None = None
    scenario: str | None = None
    format: str = "auto"
    options: dict[str, str | float | bool] = Field(default_factory=dict)
    window: str | None = None


class PricesSection(Section):
    """Which price book: the bundled tables with what was imported laid over (``user``) or the bundled ones alone."""

    book: Literal["user", "bundled"] = "user"
    overlay: Path | None = None
    max_age: Annotated[int, BeforeValidator(_seconds), Field(gt=0)] | None = None
    warn_age: Annotated[int, BeforeValidator(_seconds), Field(gt=0)] = parse_duration("30d")


class MarketSection(Section):
    """One provider's offers a plan may choose from."""

    provider: Provider = USUAL_PROVIDER
    regions: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    architectures: tuple[Literal["x86_64", "arm64"], ...] = ("x86_64",)
    vcpus: Annotated[int, Field(ge=1, le=1024)] | Literal["auto"] = "auto"
    os: str = "linux"
    tenancy: str = "shared"
    options: tuple[PurchaseOption, ...] = ()
    terms: tuple[Years, ...] = (1, 3)
    payments: tuple[Payment, ...] = tuple(Payment)


def _fits_hours(step: int | str) -> int | str:
    if isinstance(step, int) and SECONDS_PER_HOUR % step and step % SECONDS_PER_HOUR:
        raise ValueError("must divide an hour or be whole hours, for example 5min, 30min, 1h or 6h")
    return step


StepSeconds = Annotated[int, BeforeValidator(_seconds), Field(ge=60, le=86_400)]


class PlanningSection(Section):
    """How the trace is stretched and how the reserve is sized."""

    horizon: Annotated[int, BeforeValidator(_seconds), AfterValidator(_whole_hours)] = parse_duration("1y")
    step: Annotated[
        Annotated[int, BeforeValidator(_seconds), Field(ge=60, le=86_400)] | Literal["auto"],
        AfterValidator(_fits_hours),
    ] = "auto"
    growth_per_year: Annotated[float, Field(gt=-1, le=10)] = 0.0
    headroom: Annotated[float, Field(ge=0, le=10)] = 0.0
    warm_up: Seconds = 0
    history_1y: Seconds = parse_duration("28d")
    history_3y: Seconds = parse_duration("91d")
    regret_quantile: Share | None = None
    futures: Annotated[int, Field(ge=0, le=100_000)] = 200
    level_prior: Annotated[float, Field(ge=0, le=2)] = 0.06
    level_prior_weeks: Annotated[float, Field(gt=0, le=520)] = 2.0
    growth_prior: Annotated[float, Field(ge=0, le=2)] = 0.2
    falls: tuple[Annotated[float, Field(gt=0, lt=1)], ...] = (0.1, 0.3, 0.5)
    spot_share_of_batch: Share = 0.0
    peak_overprovision: Annotated[float, Field(ge=0, le=10)] = 0.15
    mix_types: bool = True
    mix_min_saving: Share = 0.03
    size_waste: Annotated[float, Field(gt=0, le=1)] = 0.005
    divisible: Divisible = Divisible.SERVICES
    seed: Annotated[int, Field(ge=0)] = 42

    @model_validator(mode="after")
    def _whole_steps(self) -> Self:
        if isinstance(self.step, int) and self.horizon % self.step:
            raise ValueError("planning.horizon must be a whole number of planning.step")
        return self


class ProfilesSection(Section):
    """Profiles of the workload's applications, and the applications seen before that estimates are drawn from."""

    folder: Path | None = None
    corpus: str = "bundled"


class OperationSection(Section):
    """Which strategies run what is bought, and what they have to keep; without one nothing is simulated."""

    strategy: str | None = None
    qos: Share = 0.9
    budget: Annotated[Decimal, Field(gt=0)] | None = None
    seeds: Annotated[int, Field(ge=1, le=1000)] = 3
    runs: Annotated[int, Field(ge=1, le=100_000)] = 200
    confidence: Annotated[float, Field(gt=0, lt=1)] = 0.95
    alike: Annotated[float, Field(ge=0, le=1)] = 0.005
    own_fleet_jobs: Annotated[int, Field(ge=0, le=1_000_000)] = 10_000
    cloud: str | None = None


class CommitmentsSection(Section):
    """What ``hcloud commit`` may buy; only a file can say so, never the environment."""

    enabled: bool = False
    ceiling: Annotated[Decimal, Field(gt=0)] | None = None
    price_tolerance: Annotated[Decimal, Field(ge=0, le=Decimal("0.25"))] = Decimal(0)
    valid_for: Annotated[int, BeforeValidator(_seconds), Field(gt=0)] = parse_duration("1d")
    max_plan_age: Annotated[int, BeforeValidator(_seconds), Field(gt=0)] = parse_duration("7d")
    max_price_age: Annotated[int, BeforeValidator(_seconds), Field(gt=0)] = parse_duration("30d")


class OwnedSection(Section):
    """A commitment that is already paid for: instances, or dollars an hour for a savings plan."""

    provider: Provider
    region: str
    instance_type: str
    option: PurchaseOption
    term_years: Years
    payment: Payment = Payment.NONE
    os: str = "linux"
    tenancy: str = "shared"
    count: Annotated[Decimal, Field(gt=0)] | None = None
    dollars_per_hour: Annotated[Decimal, Field(gt=0)] | None = None
    expires: date

    @property
    def key(self) -> OfferKey:
        """The offer it was bought as."""
        place = (self.provider, self.region, self.instance_type)
        return OfferKey(*place, self.option, self.term_years, self.payment, self.os, self.tenancy)


def _at_least_one(markets: tuple[MarketSection, ...]) -> tuple[MarketSection, ...]:
    if not markets:
        raise ValueError("name at least one market, for example [{provider: aws}]")
    return markets


class Config(Section):
    """The whole of hcloud.yaml."""

    format_version: Literal["1.0"] = "1.0"
    workload: WorkloadSection = WorkloadSection()
    prices: PricesSection = PricesSection()
    markets: Annotated[tuple[MarketSection, ...], AfterValidator(_at_least_one)] = (MarketSection(),)
    planning: PlanningSection = PlanningSection()
    profiles: ProfilesSection = ProfilesSection()
    operation: OperationSection = OperationSection()
    live: LiveSection = LiveSection()
    limits: LimitsSection = LimitsSection()
    fleet: tuple[FleetSection, ...] = ()
    commitments: CommitmentsSection = CommitmentsSection()
    report: ReportSection = ReportSection()
    owned: tuple[OwnedSection, ...] = ()

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
            ),
            risk=RiskSettings(
                p.regret_quantile, p.futures, p.falls, p.level_prior, p.level_prior_weeks, p.growth_prior
            ),
            history=HistorySettings(-(-p.history_1y // SECONDS_PER_HOUR), -(-p.history_3y // SECONDS_PER_HOUR)),
            spot_share_of_batch=p.spot_share_of_batch,
            peak_overprovision=p.peak_overprovision,
            mix_min_saving=p.mix_min_saving,
            mix_types=p.mix_types,
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
    merged: dict[str, object] = {}
    for path in files:
        merged = _merge(merged, _read(path))
    merged = _merge(merged, dict(_from_environment(environment)))
    name = str(chosen) if chosen in files else "configuration"
    return Loaded(parse_config(merged, name), chosen.parent, tuple(files))


def parse_config(content: Mapping[str, object], name: str) -> Config:
    """Validate a configuration; raises InputError with every problem, its place and a did-you-mean."""
    return validated(Config, dict(content), name, "configuration")


def _read(path: Path) -> Mapping[str, object]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FileError.of(error, path, "read") from None
    if not data.strip():
        return {}
    check_sort(path, data[:HEAD], "a configuration")
    try:
        content = load_yaml(data.decode("utf-8-sig"), str(path))
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text: {error.reason} at byte {error.start}") from None
    if content is None:
        return {}
    if not isinstance(content, dict) or not all(isinstance(k, str) for k in content):
        raise InputError(f"{path}: the configuration must be a mapping of sections", hint="see 'hcloud init'")
    return content


def _user_file() -> Path:
    from platformdirs import user_config_path

    return user_config_path("hcloud-hybrid") / FILE_NAME


def _from_environment(environment: Mapping[str, str]) -> Iterator[tuple[str, object]]:
    sections: dict[str, dict[str, object]] = {}
    for name, text in sorted(environment.items()):
        if name.startswith(ENVIRONMENT) and "__" in name:
            section, key = name.removeprefix(ENVIRONMENT).lower().split("__", 1)
            if section == "commitments":
                raise InputError(f"{name}: what may be bought is said in a file, not in the environment")
            if section not in Config.model_fields or key not in keys_at(Config, (section,)):
                known = [f"{s}.{k}" for s in Config.model_fields for k in keys_at(Config, (s,))]
                guess = did_you_mean(f"{section}.{key}", known)
                raise InputError(f"{name}: the configuration has no key {section}.{key}{guess}", hint=_EVERY_KEY)
            sections.setdefault(section, {})[key] = load_yaml(text, name)
    yield from sections.items()


def _merge(under: Mapping[str, object], over: Mapping[str, object]) -> dict[str, object]:
    merged = dict(under)
    for key, value in over.items():
        below = merged.get(key)
        merged[key] = _merge(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged
