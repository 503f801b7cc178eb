"""Bills of any size for the benchmark: what an estate of a month would have been billed, as CUR 2.0 and as FOCUS."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

ROWS = 500_000
ACCOUNTS, MACHINES, HOURS = 40, 3000, 744
_TYPES = [
    f"{family}.{size}" for family in ("m5", "c5", "r5", "m6i", "c6g", "t3") for size in ("large", "xlarge", "4xlarge")
]
_REGIONS = (("us-east-1", ""), ("us-west-2", "USW2-"), ("eu-west-1", "EU-"), ("ap-southeast-1", "APS1-"))
_START = np.datetime64("2024-10-01T00:00:00", "ms")


def write_report(path: Path, rows: int, seed: int = 1) -> None:
    """A CUR 2.0 of so many lines in Parquet, as AWS writes it: costs are doubles, times timestamps."""
    rng, writer = np.random.default_rng(seed), None
    for first in range(0, rows, ROWS):
        table = _report(rng, min(ROWS, rows - first), first)
        writer = writer or parquet.ParquetWriter(path, table.schema, compression="snappy")
        writer.write_table(table)
    if writer is not None:
        writer.close()


def write_as_text(path: Path, report: Path) -> None:
    """The same as CSV."""
    stored, writer = parquet.ParquetFile(report), None
    for batch in stored.iter_batches(ROWS):
        plain = [c.dictionary_decode() if isinstance(c, pa.DictionaryArray) else c for c in batch.columns]
        lines = pa.record_batch(plain, batch.schema.names)
        writer = writer or csv.CSVWriter(path, lines.schema)
        writer.write(lines)
    if writer is not None:
        writer.close()


def _report(rng: np.random.Generator, rows: int, first: int) -> pa.Table:
    machine = rng.integers(0, MACHINES, rows)
    hour = rng.integers(0, HOURS, rows)
    kind = rng.choice(5, rows, p=[0.35, 0.1, 0.15, 0.1, 0.3])
    """On demand, spot, covered by a plan, reserved, and what is no machine."""
    place, size, account = machine % len(_REGIONS), machine % len(_TYPES), machine % ACCOUNTS
    hours = np.where(rng.random(rows) < 0.9, 1.0, np.round(rng.random(rows), 6))
    listed = np.round((0.05 + 0.04 * (size % 3)) * hours, 10)
    usage = _usage_types()
    return pa.table(
        {
            "identity_line_item_id": pa.array([f"{n:032x}" for n in range(first, first + rows)]),
            "line_item_line_item_type": _words(
                kind, ["Usage", "Usage", "SavingsPlanCoveredUsage", "DiscountedUsage", "Usage"]
            ),
            "line_item_product_code": _words(kind, ["AmazonEC2"] * 4 + ["AmazonS3"]),
            "line_item_usage_type": pa.DictionaryArray.from_arrays(
                pa.array((kind * len(_REGIONS) + place) * len(_TYPES) + size, pa.int32()), pa.array(usage)
            ),
            "line_item_operation": _words(
                kind, ["RunInstances", "RunInstances:SV001", *["RunInstances"] * 2, "PutObject"]
            ),
            "line_item_usage_account_id": _words(account, [f"{n:012d}" for n in range(ACCOUNTS)]),
            "line_item_availability_zone": _words(place, [f"{region}a" for region, _ in _REGIONS]),
            "line_item_resource_id": pa.array([f"i-{n:017x}" for n in machine]),
            "line_item_currency_code": _words(kind * 0, ["USD"]),
            "line_item_usage_start_date": pa.array(_START + hour * np.timedelta64(3_600_000, "ms")),
            "line_item_usage_end_date": pa.array(_START + (hour + 1) * np.timedelta64(3_600_000, "ms")),
            "line_item_usage_amount": hours,
            "line_item_unblended_cost": np.where(kind == 3, 0.0, listed),
            "pricing_public_on_demand_cost": listed,
            "product_region_code": _words(place, [region for region, _ in _REGIONS]),
            "reservation_reservation_a_r_n": _optional(kind == 3, machine % 200, "arn:aws:ec2::reserved-instances/{}"),
            "reservation_effective_cost": np.where(kind == 3, np.round(listed * 0.6, 10), 0.0),
            "savings_plan_savings_plan_a_r_n": _optional(
                kind == 2, machine % 20, "arn:aws:savingsplans::1:savingsplan/{}"
            ),
            "savings_plan_savings_plan_effective_cost": np.where(kind == 2, np.round(listed * 0.7, 10), 0.0),
            "savings_plan_offering_type": _optional(kind == 2, machine * 0, "ComputeSavingsPlans"),
        }
    )


def _usage_types() -> list[str]:
    words = ("BoxUsage:", "SpotUsage:", "BoxUsage:", "BoxUsage:", "Requests-Tier")
    return [f"{prefix}{word}{name}" for word in words for _, prefix in _REGIONS for name in _TYPES]


def _words(codes: np.ndarray, words: list[str]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(words))


def _optional(there: np.ndarray, codes: np.ndarray, form: str) -> pa.DictionaryArray:
    words = [form.format(n) for n in range(int(codes.max()) + 1)]
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32(), mask=~there), pa.array(words))
