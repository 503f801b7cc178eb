"""The ``owned`` section of hcloud.yaml: commitments that are already paid for."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from hcloud.catalog.cover.steps import bought_key
from hcloud.model.catalog import OfferKey, Payment, Provider, PurchaseOption
from hcloud.readers.section import POSITIVE, SPAN_IN_TEXT, Section, setting
from hcloud.units import parse_duration


def _years(value: object) -> object:
    if not isinstance(value, str):
        return value
    seconds, year = parse_duration(value), parse_duration("1y")
    years = round(seconds / year)
    return years if abs(seconds - years * year) <= _LEAP_DAYS else value


_LEAP_DAYS = parse_duration("2d")
"""Ours: by so much years in days may be off, as 366d and 1096d with a leap day."""
Years = Annotated[Literal[1, 3], BeforeValidator(_years), WithJsonSchema({"anyOf": [{"enum": [1, 3]}, SPAN_IN_TEXT]})]
Positive = Annotated[Decimal, Field(gt=0), WithJsonSchema(POSITIVE)]


class OwnedSection(Section):
    """A commitment that is already paid for: instances, or dollars an hour for a savings plan."""

    provider: Provider = setting(..., "aws, gcp or azure")
    region: str = setting(..., "region it holds in")
    instance_type: str = setting(..., "type it was bought for")
    option: PurchaseOption = setting(..., "its purchase option")
    term_years: Years = setting(..., "its length [years]")
    payment: Payment = setting(Payment.NONE, "no-upfront, partial-upfront or all-upfront")
    os: str = setting("linux", "operating system")
    tenancy: str = setting("shared", "tenancy")
    count: Positive | None = setting(None, "how many; or dollars_per_hour [instances]")
    dollars_per_hour: Positive | None = setting(
        None, "for a commitment in dollars, as a savings plan, instead of count [$/h]"
    )
    expires: date = setting(..., "the day (UTC) at whose beginning it ends")

    @model_validator(mode="after")
    def _counted(self) -> Self:
        if not self.option.is_commitment:
            raise ValueError(f"{self.option} is no commitment: state what was bought, for example reserved-instance")
        if self.dollars_per_hour is not None and not self.option.is_spend_based:
            raise ValueError(
                f"dollars_per_hour is for savings plans and other commitments in dollars; of a {self.option} give count"
            )
        return self

    @property
    def key(self) -> OfferKey:
        """The offer it was bought as, whatever runs on it."""
        place = (self.provider, self.region, self.instance_type)
        return bought_key(OfferKey(*place, self.option, self.term_years, self.payment, self.os, self.tenancy))
