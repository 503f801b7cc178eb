"""The ``bill`` section of hcloud.yaml: how a provider's bill becomes demand."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from pydantic import AfterValidator, Field

from hcloud.readers.section import Seconds, Section, setting
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
