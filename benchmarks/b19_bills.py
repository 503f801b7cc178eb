"""B19: how long a bill of 1 M and of 10 M lines takes to read, beside DuckDB and Polars on the same columns:
``python -m benchmarks.b19_bills [--rows 1000000 10000000]``.

The bill is a CUR 2.0 in Parquet (benchmarks.made_bills). hcloud makes usage by kind of machine and hour of it, the
commitments, and every sum to the last digit; the peers add up hours and costs in floats by the columns that tell kinds
apart and by hour. Each is read in a process of its own, in turn, and the best of three rounds counts. Last it is
read in 256 MiB of address space beyond what Python with the modules loaded has, or half of the file's size.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.made_bills import write_report

ROUNDS = 3
LIMITS = {1_000_000: 5.0, 10_000_000: 45.0}
MOST_MIB, TIMES = 1536, 4.0
LEAST_ROOM = 256 << 20
KINDS = (
    "line_item_line_item_type", "line_item_product_code", "line_item_usage_type", "line_item_operation",
    "line_item_usage_account_id", "line_item_availability_zone", "line_item_currency_code", "product_region_code",
    "reservation_reservation_a_r_n", "savings_plan_savings_plan_a_r_n", "savings_plan_offering_type",
)  # fmt: skip
SUMS = (
    "line_item_usage_amount", "line_item_unblended_cost", "pricing_public_on_demand_cost",
    "reservation_effective_cost", "savings_plan_savings_plan_effective_cost",
)  # fmt: skip
HOURS = ("line_item_usage_start_date", "line_item_usage_end_date")


def read_hcloud(path: Path) -> int:
    from hcloud.readers.bills import read_bill

    return read_bill(path).rows


def read_duckdb(path: Path) -> int:
    import duckdb

    keys = ", ".join((*KINDS, *HOURS))
    sums = ", ".join(f"sum({name})" for name in SUMS)
    rows = duckdb.sql(
        f"select count(*) as lines, {keys}, {sums} from read_parquet('{path}') group by {keys}"
    ).fetchnumpy()
    return int(rows["lines"].sum())


def read_polars(path: Path) -> int:
    import polars

    lines = polars.scan_parquet(path).select([*KINDS, *HOURS, *SUMS])
    sums = [polars.len().alias("rows"), *(polars.col(name).sum() for name in SUMS)]
    return int(lines.group_by([*KINDS, *HOURS]).agg(sums).collect(engine="streaming")["rows"].sum())


READERS: dict[str, Callable[[Path], int]] = {"hcloud": read_hcloud, "DuckDB": read_duckdb, "Polars": read_polars}


def timed(name: str, path: Path, above: int) -> dict[str, float]:
    """One reading in this process: seconds and most memory; ``above`` bounds its address space, in bytes more than it
    has now."""
    if name == "hcloud":
        import hcloud.readers.bills.reading  # noqa: F401 - loading it is not reading
    if above:
        has = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (has + above, has + above))
    begins, cpu = time.perf_counter(), time.process_time()
    rows = READERS[name](path)
    return {
        "rows": rows,
        "seconds": time.perf_counter() - begins,
        "cpu": time.process_time() - cpu,
        "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def apart(name: str, path: Path, above: int = 0) -> dict[str, float]:
    """The same in a process of its own."""
    words = [sys.executable, "-m", "benchmarks.b19_bills", "--one", name, str(path), str(above)]
    found: dict[str, float] = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    return found


def compare(rows: int, folder: Path) -> bool:
    """Print a line for each reader; whether the goals are met."""
    path = folder / f"{rows}.parquet"
    write_report(path, rows)
    best: dict[str, dict[str, float]] = {}
    for _ in range(ROUNDS):
        for name in READERS:
            found = apart(name, path)
            assert found["rows"] == rows
            if name not in best or found["seconds"] < best[name]["seconds"]:
                best[name] = found
    for name, of in best.items():
        print(
            f"b19 {rows:,} lines | {name:6} {of['seconds']:6.2f} s ({of['cpu']:.2f} s of processor), "
            f"{of['mib']:,.0f} MiB"
        )
    mine, peers = best["hcloud"], min(of["seconds"] for name, of in best.items() if name != "hcloud")
    room = max(path.stat().st_size // 2, LEAST_ROOM)
    narrow = apart("hcloud", path, room)["seconds"]
    print(f"b19 {rows:,} lines | hcloud {mine['seconds'] / peers:.1f} times the faster peer (goal: at most {TIMES:g})")
    print(f"b19 {rows:,} lines | in {room >> 20} MiB of address space more: {narrow:.2f} s")
    path.unlink()
    return mine["seconds"] <= LIMITS.get(rows, 60.0) and mine["mib"] <= MOST_MIB and mine["seconds"] <= TIMES * peers


def main() -> int:
    """Make the bills, read them, compare."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=list(LIMITS))
    parser.add_argument("--one", nargs=3, metavar=("NAME", "PATH", "ABOVE"))
    given = parser.parse_args()
    if given.one:
        print(json.dumps(timed(given.one[0], Path(given.one[1]), int(given.one[2]))))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        met = [compare(rows, Path(folder)) for rows in given.rows]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
