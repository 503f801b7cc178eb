"""Google's sustained-use discount over a month of uneven usage, and the pooling by type that the thesis describes."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from hcloud.catalog.cover.steps import CoveredResource, UsageRow
from hcloud.catalog.quote import monthly_sustained_cost, sustained_factor
from hcloud.model.catalog import SustainedUse
from hcloud.units import HOURS_PER_MONTH

Scope = tuple[str, str, str]
ROUNDING = Decimal("1e-9")
"""Hours that a sum of thirds and twelfths of an hour may come to beyond the month it is."""  # ours


def sustained_scope(row: UsageRow) -> Scope:
    """What usage is pooled with: the same resource of the series in the region; a whole type only with itself."""
    group = row.key.instance_type if row.resource is CoveredResource.INSTANCE else row.shape.family
    return group, row.key.region, row.resource.value


def charged_unit_hours(
    levels: Mapping[Decimal, int | Decimal], rule: SustainedUse, month: int = HOURS_PER_MONTH
) -> Decimal:
    """Unit-hours of a month charged at list price when ``levels`` units ran together for so many hours each.

    Usage is cut into levels: the first unit is in use whenever anything is, the tenth only where ten run at once; each
    level earns the discount of its own fraction of the month (of 730 h, or as many as ``month`` says). Two units for
    half a month are two levels at 50 %. Raises ValueError for more hours than a month has. Source: Google Cloud
    "Sustained use discounts" (resources pooled over machine types of a series in a region, incremental tiers).
    """
    hours = sum(map(Decimal, levels.values()), Decimal(0))
    if month < hours <= month + ROUNDING:
        hours = Decimal(month)
    charged, below = Decimal(0), Decimal(0)
    for level, count in sorted(levels.items()):
        if level > below:
            fraction = hours / month
            charged += (level - below) * sustained_factor(rule, fraction) * month
            below = level
        hours -= count
    return charged


def paper_sustained_cost(instance_hours: Decimal, hourly: Decimal, rule: SustainedUse) -> Decimal:
    """Dollars for a month's instance-hours of one type when they are laid end to end, as the thesis has it.

    One instance for three weeks costs what three instances cost for one (§8.2.3); no provider bills so today. Use it
    only to repeat the thesis' figures. Raises ValueError for negative hours.
    """
    if instance_hours < 0:
        raise ValueError(f"{instance_hours} instance-hours are below 0")
    full, rest = divmod(instance_hours, HOURS_PER_MONTH)
    whole_months = full * monthly_sustained_cost(hourly, rule, Decimal(1))
    return whole_months + monthly_sustained_cost(hourly, rule, rest / HOURS_PER_MONTH)
