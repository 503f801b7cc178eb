"""Write servers.csv and util.csv: two weeks of the machines of a company that sells online, made up from a seed; the
same bytes every time."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from pathlib import Path

SEED, DAYS, STEP, DAY = 2026, 14, 900, 86_400
BEGIN = 1_767_571_200
"""2026-01-05, a Monday, in UTC."""
HERE = Path(__file__).parent
TENANTS = {  # servers, vCPUs of each, mean use, how far the day moves it, the hour of most traffic (0: no such hour)
    "shop": (24, 8, 0.36, 0.24, 19),
    "search": (8, 16, 0.34, 0.22, 19),
    "api": (8, 16, 0.38, 0.20, 14),
    "database": (6, 32, 0.44, 0.0, 0),
    "billing": (2, 16, 0.22, 0.0, 0),
    "laboratory": (4, 8, 0.15, 0.0, 0),
}
WEEKEND = 0.8


def servers() -> Iterator[str]:
    """A line a server."""
    yield "server,tenant,environment,rack,cores,market"
    for tenant, (count, cores, *_) in TENANTS.items():
        for number in range(count):
            yield f"{tenant}-{number + 1},{tenant},production,r{number % 4 + 1},{cores},reserved"


def use(tenant: str, chance: random.Random) -> Iterator[tuple[int, float]]:
    """The mean use of a tenant's servers every quarter of an hour."""
    _, _, mean, swing, peak = TENANTS[tenant]
    burst, left = 0.0, 0
    for at in range(0, DAYS * DAY, STEP):
        traffic = WEEKEND if peak and at // DAY % 7 > 4 else 1.0
        level = mean * traffic + swing * math.cos(2 * math.pi * (at / 3600 - peak) / 24)
        if tenant == "laboratory":
            left -= 1
            if left <= 0:
                busy = chance.random() < 0.015
                burst, left = (chance.uniform(0.4, 0.75), chance.randrange(16, 90)) if busy else (0.0, 1)
            level += burst
        yield BEGIN + at, min(max(level + chance.gauss(0, 0.01), 0.0), 1.0)


def util() -> Iterator[str]:
    """A line a sample."""
    yield "tenant,time,cpu"
    chance = random.Random(SEED)
    for tenant in TENANTS:
        for at, used in use(tenant, chance):
            yield f"{tenant},{at},{used:.3f}"


if __name__ == "__main__":
    for name, lines in (("servers.csv", servers()), ("util.csv", util())):
        HERE.joinpath(name).write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
