"""The sections of hcloud.yaml about a cloud, real or fake: where, what stands there, how far to go, what to buy."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, JsonValue

from hcloud.model.catalog import PurchaseOption
from hcloud.readers.section import Age, Section, setting
from hcloud.units import parse_duration

MOST_MACHINES = 100_000
ACCOUNT_DIGITS = 12
LABEL = r"^[a-z][a-z0-9_-]{0,40}$"
OF_LIVE_WORK, OF_MEASUREMENTS = "operate", "profile"
"""Addresses of machines that hcloud rents itself; those of live work go on with a hyphen."""


def _label(text: str) -> str:
    if not re.fullmatch(LABEL, text):
        raise ValueError("must be 1 to 41 lower-case letters, digits, - and _, a letter first")
    return text


def _address(text: str) -> str:
    if text == OF_MEASUREMENTS or text.partition("-")[0] == OF_LIVE_WORK:
        raise ValueError("must not be profile or operate, or begin with operate-: hcloud's own machines have these")
    return text


Label = Annotated[str, AfterValidator(_label), Field(json_schema_extra={"pattern": LABEL})]
Address = Annotated[Label, AfterValidator(_address)]
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

    cloud: str | None = setting(None, "aws, gcp, azure, local, or fake and fake:PLAN.yaml to rehearse; null: none")
    region: str | None = setting(None, "its region; null: the first of the market")
    account: Annotated[str | None, BeforeValidator(_digits)] = setting(
        None, "AWS account, Google project or Azure subscription; hcloud refuses any other"
    )
    endpoint: str | None = setting(None, "where its interface is, if not where the cloud has it")
    project: Label = setting("hcloud", "tag of all machines: lower-case letters, digits, - and _")
    state: str = setting(".hcloud", "where the state is: a directory, s3://, gs:// or Azure's https://")
    zones: tuple[str, ...] = setting((), "allowed zones, the preferred one first; none: all of the region")
    settings: dict[str, JsonValue] = Field(
        default_factory=dict,
        description="image, network and so on, as {image: ami-1}; full list: docs/guides/operate.md",
    )
    user_data: Path | None = setting(
        None, "a file with what machines run when they first start; plans hold only its SHA-256"
    )
    max_plan_age: Age = setting(parse_duration("1d"), "apply refuses older plans [duration]")


class FleetSection(Section):
    """Machines that should stand, whatever a plan would decide."""

    address: Address = setting(..., "its name in plans: lower-case letters, digits, - and _")
    instance_type: str = setting(..., "instance type")
    count: int = setting(..., "how many of it [machines]", ge=0, le=MOST_MACHINES)
    option: Annotated[PurchaseOption, AfterValidator(_rented)] = setting(PurchaseOption.ON_DEMAND, "on-demand or spot")
    zones: tuple[str, ...] = setting((), "allowed zones, the preferred one first; none: those of live.zones")
    fallbacks: tuple[str, ...] = setting((), "types to use instead, in this order, where it is sold out")


class LimitsSection(Section):
    """How far one apply may go: dollars after it, by how much they may rise, and how many machines may end."""

    hourly: Dollars | None = setting(None, "most dollars an hour afterwards [$/h]")
    monthly: Dollars | None = setting(None, "most dollars a month afterwards [$/month]")
    increase: Dollars | None = setting(None, "most by which dollars an hour may rise [$/h]")
    ended: Annotated[int, Field(ge=0)] | None = setting(
        None, "to terminate more at once, or all, state their number: --ends [machines]"
    )


class CommitmentsSection(Section):
    """What ``hcloud commit`` may buy; only a file can say so, never the environment."""

    enabled: bool = setting(False, "whether anything may be bought at all")
    ceiling: Annotated[Decimal, Field(gt=0)] | None = setting(
        None, "most that all purchases together may commit; null: nothing is bought [$]"
    )
    price_tolerance: Decimal = setting(
        Decimal(0), "how far a price may move between plan and purchase [share]", ge=0, le=Decimal("0.25")
    )
    valid_for: Age = setting(parse_duration("1d"), "how long a purchase plan may be used, once [duration]")
    max_plan_age: Age = setting(parse_duration("7d"), "older plans are not turned into purchases [duration]")
    max_price_age: Age = setting(parse_duration("30d"), "nor are plans made with older prices [duration]")


class ReportSection(Section):
    """How reports are grouped: the tag whose value says which team a machine belongs to."""

    team_tag: str = setting("team", "the tag of a machine that names its team", min_length=1, max_length=128)
