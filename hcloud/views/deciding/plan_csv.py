"""A plan's mix as CSV: a line for what is bought or rented, with the day of its price and whether it was derived."""

from __future__ import annotations

from hcloud.model.plans.plan import Plan
from hcloud.views.escaped import Written, csv_document

COLUMNS = (
    "address", "provider", "region", "instance_type", "option", "term_years", "payment", "count", "peak",
    "hourly", "monthly", "upfront", "total", "break_even", "starts_hour", "price_day", "derived",
)  # fmt: skip


def mix_csv(plan: Plan) -> Written:
    """One row a line of the mix; dollars and shares as decimals, empty where there is none."""
    return csv_document(
        COLUMNS, [["" if (v := getattr(line, name)) is None else str(v) for name in COLUMNS] for line in plan.mix]
    )
