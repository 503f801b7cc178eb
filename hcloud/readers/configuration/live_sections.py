"""The sections of hcloud.yaml that are about a real (or a fake) cloud: where, what stands there, and how far to go."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, JsonValue

from hcloud.model.catalog import PurchaseOption
from hcloud.readers.section import Section
from hcloud.units import parse_duration

MOST_MACHINES = 100_000
ACCOUNT_DIGITS = 12
Label = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,40}$")]
Age = Annotated[
    int, BeforeValidator(lambda value: parse_duration(value) if isinstance(value, str) else value), Field(gt=0)
]
Dollars = Annotated[Decimal, Field(gt=0, allow_inf_nan=False)]


def _rented(option: PurchaseOption) -> PurchaseOption:
    if option.is_commitment:
        raise ValueError("must be on-demand or spot; commitments are bought with 'hcloud commit'")
    return option


def _digits(value: object) -> object:
    """YAML, and the environment read as YAML, take an account of AWS for a number."""
    return str(value).zfill(ACCOUNT_DIGITS) if isinstance(value, int) and not isinstance(value, bool) else value


class LiveSection(Section):
    """Which account is acted on, and where what is remembered of it is kept; ``settings`` are the cloud's own,
    ``user_data`` is a file with what machines run when they first start."""

    cloud: str | None = None
    region: str | None = None
    account: Annotated[str | None, BeforeValidator(_digits)] = None
    endpoint: str | None = None
    project: Label = "hcloud"
    state: str = ".hcloud"
    zones: tuple[str, ...] = ()
    settings: dict[str, JsonValue] = Field(default_factory=dict)
    user_data: Path | None = None
    max_plan_age: Age = parse_duration("1d")


class FleetSection(Section):
    """Machines that should stand, whatever a plan would decide."""

    address: Label
    instance_type: str
    count: Annotated[int, Field(ge=0, le=MOST_MACHINES)]
    option: Annotated[PurchaseOption, AfterValidator(_rented)] = PurchaseOption.ON_DEMAND
    zones: tuple[str, ...] = ()
    fallbacks: tuple[str, ...] = ()


class LimitsSection(Section):
    """How far one apply may go: dollars after it, by how much they may rise, and how many machines may end."""

    hourly: Dollars | None = None
    monthly: Dollars | None = None
    increase: Dollars | None = None
    ended: Annotated[int, Field(ge=0)] | None = None


class ReportSection(Section):
    """How reports are grouped: the tag whose value says which team a machine belongs to."""

    team_tag: Annotated[str, Field(min_length=1, max_length=128)] = "team"
