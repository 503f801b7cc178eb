"""Presses on the service: few requests, then many until it keeps its target again, then few until something is taken
back."""

import os
import time
from typing import Callable, List, Tuple

FEW, MANY, TARGET, PATIENCE = 15, 80, 100.0, 60.0
Row = Tuple[float, float, float, str]


def seen() -> "List[Row]":
    if not os.path.exists("ledger"):
        return []
    with open("ledger") as file:
        rows = [line.split() for line in file.read().splitlines()]
    return [(float(at), float(rate), float(p99), quota) for at, rate, p99, quota in rows]


def is_kept(rows: "List[Row]") -> bool:
    return len(rows) > 8 and all(row[2] < TARGET for row in rows[-8:])


def wait(what: "Callable[[List[Row]], bool]") -> None:
    began = time.monotonic()
    while not what(seen()) and time.monotonic() < began + PATIENCE:
        time.sleep(0.2)
    _, rate, p99, quota = seen()[-1]
    print(f"{time.strftime('%H:%M:%S', time.gmtime())} after {time.monotonic() - began:.1f} s: 99 of 100 requests "
          f"within {p99:.0f} ms at {rate:g} a second, quota {quota}", flush=True)


def press(rate: int) -> None:
    with open("load.new", "w") as file:
        file.write(str(rate))
    os.replace("load.new", "load")
    print(f"{time.strftime('%H:%M:%S', time.gmtime())} from now on {rate} requests a second", flush=True)


press(FEW)
wait(lambda rows: len(rows) > 8)
press(MANY)
wait(lambda rows: rows[-1][2] > TARGET)
wait(is_kept)
most = seen()[-1][3]
press(FEW)
wait(lambda rows: rows[-1][3] < most if most == "-" else int(rows[-1][3]) < int(most))
time.sleep(4)
wait(is_kept)
with open("over", "w"):
    pass
