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
DISKS = {  # servers, environment, market, reimages a server and month, how much of it goes at once: all disks of theirs
    "shop": (24, "store", "reserved", 0.03, 0.3),
    "search": (8, "store", "reserved", 0.05, 0.5),
    "api": (8, "platform", "reserved", 0.10, 0.5),
    "database": (6, "data", "reserved", 0.01, 0.2),
    "billing": (2, "finance", "reserved", 0.02, 0.5),
    "laboratory": (4, "research", "reserved", 0.20, 0.5),
    "previews": (10, "web", "on-demand", 0.6, 0.4),
    "tests": (14, "development", "on-demand", 1.2, 0.8),
    "render": (16, "media", "spot", 1.5, 0.6),
    "encode": (12, "video", "spot", 2.5, 0.6),
    "training": (12, "learning", "spot", 2.0, 0.9),
}
GIB = {"reserved": 160, "on-demand": 120, "spot": 100}
KIND = {"reserved": "rebuild", "on-demand": "termination", "spot": "interruption"}
WEEKS = 10


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


def disks() -> Iterator[str]:
    """A line a server whose disk has space, with those that are rented."""
    yield "server,tenant,environment,rack,cores,market,harvest_gib"
    for tenant, (count, environment, market, *_) in DISKS.items():
        cores = TENANTS.get(tenant, (0, 8))[1]
        for number in range(count):
            yield f"{tenant}-{number + 1},{tenant},{environment},r{number % 4 + 1},{cores},{market},{GIB[market]}"


def reimages() -> Iterator[str]:
    """A line for each time that a disk was lost: of a tenant many within an hour."""
    chance, lines = random.Random(SEED), list[tuple[int, str]]()
    for tenant, (count, _, market, rate, share) in DISKS.items():
        bursts = WEEKS * 7 / 30 * rate / share
        for _ in range(int(bursts) + (chance.random() < bursts % 1)):
            begin = BEGIN - chance.randrange(WEEKS * 7 * DAY)
            for number in chance.sample(range(count), max(round(share * count), 1)):
                lines.append((begin + chance.randrange(3600), f"{tenant}-{number + 1},{KIND[market]}"))
    yield "server,time,kind"
    for at, line in sorted(lines):
        server, kind = line.split(",")
        yield f"{server},{at},{kind}"


MADE = {"servers.csv": servers, "util.csv": util, "disks.csv": disks, "reimages.csv": reimages}


if __name__ == "__main__":
    for name, lines in MADE.items():
        HERE.joinpath(name).write_text("\n".join(lines()) + "\n", encoding="utf-8", newline="\n")
