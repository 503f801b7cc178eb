"""Figures of plans that tests of differences and gates start from."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from hcloud.model.catalog import Payment, PurchaseOption
from hcloud.model.plans.figures import NOTHING, DemandFigures, PlanFigures, PlanInput, PlanPart
from hcloud.model.plans.operation import Band, OperatingPoint
from hcloud.model.plans.plan import WhatIf

MADE = datetime(2026, 11, 20, 12, tzinfo=UTC)
DAY = date(2026, 11, 1)


def rented(count: str, price: str, name: str = "m9.4xlarge", **more: Any) -> PlanPart:
    """So many instances on demand at a price."""
    number = Decimal(count)
    part = PlanPart(
        f"aws/us-east-1/{name}/on-demand", "aws", "us-east-1", name, PurchaseOption.ON_DEMAND, number,
        int(number) + 1, number * Decimal(price), vcpus=number * 16, price_day=DAY,
    )  # fmt: skip
    return replace(part, **more)


def committed(count: int, price: str, name: str = "m9.4xlarge", years: int = 1, **more: Any) -> PlanPart:
    """So many reserved instances, paid upfront, at an effective price."""
    cost = Decimal(price) * count
    option, address = PurchaseOption.RESERVED, f"aws/us-east-1/{name}/reserved-instance-{years}y-all-upfront"
    part = PlanPart(
        address, "aws", "us-east-1", name, option, Decimal(count), count, cost, term_years=years, payment=Payment.ALL,
        vcpus=Decimal(16 * count), upfront=cost * 8760 * years, term_total=cost * 8760 * years, bought=True,
        price_day=DAY,
    )  # fmt: skip
    return replace(part, **more)


def plan(*parts: PlanPart, cores: str = "100", **more: Any) -> PlanFigures:
    """A plan of these parts for a mean demand; its headline is what they come to."""
    hourly = sum((p.hourly for p in parts), NOTHING)
    demand = DemandFigures(Decimal(cores), Decimal(cores) * 2)
    ordered = tuple(sorted(parts, key=lambda p: (p.address, p.starts_hour)))
    inputs = (PlanInput("made from", "a trace"), PlanInput("workload digest", "0" * 12))
    known = PlanFigures(
        "trace.csv", MADE, "USD", hourly, hourly * 730, 8760, ordered, inputs, demand=demand, price_day=DAY
    )  # fmt: skip
    return replace(known, **more)


def predicted(kept: float, half: float | None = 0.01) -> OperatingPoint:
    """A simulated strategy that keeps so many jobs' performance."""
    dollars = Decimal("10")
    return OperatingPoint("HM", 3, "", dollars, None, dollars * 730, Band(kept, half), None, None, None, None)


def fallen(share: str, planned: str, best: str) -> WhatIf:
    """What a fall of demand makes of a plan."""
    return WhatIf(-Decimal(share), Decimal(planned), NOTHING, Decimal(best), NOTHING)
