"""A service with a real tail. Requests come as often as the file `load` says, each takes 2 ms of processor, and they are
answered one after the other. The 99th percentile of the last second is in the file `p99`; `ledger` has a line for each
fifth of a second: seconds, requests a second, that percentile, and the processor time its control group may use."""

import os
import time
from collections import deque

WORK, WINDOW, TOLD_EVERY, LONGEST = 0.002, 1.0, 0.2, 2.0


def load(before: float) -> float:
    with open("load") as file:
        text = file.read()
    return float(text) if text.strip() else before


def quota() -> str:
    with open("/proc/self/cgroup") as file:
        lines = file.read().splitlines()
    for line in lines:
        _, names, path = line.split(":", 2)
        files = (f"/sys/fs/cgroup{path}/cpu.max", f"/sys/fs/cgroup/{names}{path}/cpu.cfs_quota_us")
        for place in files:
            if (not names or "cpu" in names.split(",")) and os.path.exists(place):
                with open(place) as file:
                    return file.read().split()[0]
    return "-"


def tell(rate: float, seen: "deque[tuple[float, float]]", now: float) -> None:
    times = sorted(took for _, took in seen)
    p99 = 1000 * times[int(0.99 * (len(times) - 1))]
    with open("p99.new", "w") as file:
        file.write(f"{p99:.1f} ms\n")
    os.replace("p99.new", "p99")
    with open("ledger", "a") as file:
        file.write(f"{now:.3f} {rate:g} {p99:.1f} {quota()}\n")


def main() -> None:
    due, told, rate = time.monotonic(), 0.0, 1.0
    seen: deque[tuple[float, float]] = deque()
    while not os.path.exists("over"):
        time.sleep(max(due - time.monotonic(), 0))
        until = time.process_time() + WORK
        while time.process_time() < until:
            pass
        now = time.monotonic()
        seen.append((now, now - due))
        rate = load(rate)
        due = max(due + 1 / rate, now - LONGEST)
        if now - told > TOLD_EVERY:
            while seen[0][0] < now - WINDOW:
                seen.popleft()
            tell(rate, seen, now)
            told = now


main()
