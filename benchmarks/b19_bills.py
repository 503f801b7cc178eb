"""B19: how long a bill of 1 M and of 10 M lines takes to read, beside DuckDB and Polars on the same columns:
``python -m benchmarks.b19_bills [--rows 1000000 10000000]``.

The bill is a CUR 2.0 in Parquet (benchmarks.made_bills). hcloud makes usage by kind of machine and hour of it, the
commitments, and every sum to the last digit; the peers add up hours and costs in floats by the columns that tell kinds
apart and by hour. Each is read in a process of its own, in turn, and the best of three rounds counts. Last
``hcloud workload show`` reads the smallest bill as CSV, gzip and Parquet under the least ``ulimit -v`` that it needs:
half of a file's size is enough where that is more.
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

from benchmarks.made_bills import write_as_text, write_report

ROUNDS = 3
LIMITS = {1_000_000: 5.0, 10_000_000: 45.0}
MOST_MIB, TIMES = 1536, 4.0
MOST_ADDRESSES_MIB = 350
"""Half of 700 MiB."""
STEP_MIB = 8
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
    from hcloud.readers.bills.reading import read_bill

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


def timed(name: str, path: Path) -> dict[str, float]:
    """One reading in this process: seconds and most memory."""
    if name == "hcloud":
        import hcloud.readers.bills.reading  # noqa: F401 - loading it is not reading
    begins, cpu = time.perf_counter(), time.process_time()
    rows = READERS[name](path)
    return {
        "rows": rows,
        "seconds": time.perf_counter() - begins,
        "cpu": time.process_time() - cpu,
        "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def apart(name: str, path: Path) -> dict[str, float]:
    """The same in a process of its own."""
    words = [sys.executable, "-m", "benchmarks.b19_bills", "--one", name, str(path)]
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
    print(f"b19 {rows:,} lines | hcloud {mine['seconds'] / peers:.1f} times the faster peer (goal: at most {TIMES:g})")
    path.unlink()
    return mine["seconds"] <= LIMITS.get(rows, 60.0) and mine["mib"] <= MOST_MIB and mine["seconds"] <= TIMES * peers


def least_addresses(path: Path) -> tuple[int, float]:
    """The least address space in which ``hcloud workload show`` reads a bill, in MiB by steps of 8, and its seconds
    in that."""
    low, high, seconds = 128, 1152, 0.0
    while high - low > STEP_MIB:
        tried, begins = (low + high) // 2, time.perf_counter()
        bound = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({tried << 20}, {tried << 20}))"
        run = f"import sys; sys.argv[1:] = ['workload', 'show', '--json', {str(path)!r}]; import hcloud.__main__ as m"
        done = subprocess.run([sys.executable, "-c", f"{bound}; {run}; m.main()"], capture_output=True, check=False)
        if done.returncode == 0:
            high, seconds = tried, time.perf_counter() - begins
        else:
            low = tried
    return high, seconds


def bound_addresses(rows: int, folder: Path) -> bool:
    """Print a line for each form of a bill; whether half of a file of 700 MiB is enough."""
    report, text = folder / "bill.parquet", folder / "bill.csv"
    write_report(report, rows)
    write_as_text(text, report)
    subprocess.run(["gzip", "-1", "-k", str(text)], check=True)
    most = 0
    for path in (text, text.with_name("bill.csv.gz"), report):
        least, seconds = least_addresses(path)
        size = path.stat().st_size >> 20
        print(f"b19 {rows:,} lines | {path.name} of {size:,} MiB: ulimit -v of {least} MiB, {seconds:.2f} s")
        most = max(most, least)
        path.unlink()
    return most <= MOST_ADDRESSES_MIB


def main() -> int:
    """Make the bills, read them, compare."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=list(LIMITS))
    parser.add_argument("--one", nargs=2, metavar=("NAME", "PATH"))
    given = parser.parse_args()
    if given.one:
        print(json.dumps(timed(given.one[0], Path(given.one[1]))))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        met = [compare(rows, Path(folder)) for rows in given.rows]
        met.append(bound_addresses(min(given.rows), Path(folder)))
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
