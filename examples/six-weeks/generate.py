"""Write trace.csv: six weeks of a company that sells online, made up from a seed; the same bytes every time."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

SEED = 2026
WEEKS = 6
HOUR, DAY = 3600, 86_400
LEVELS = (1.00, 1.03, 0.98, 1.06, 1.02, 1.08)
"""What each week's traffic is, beside the first one's."""
WEEKEND = 0.7
SERVICES = {  # vCPUs and GiB of a replica, replicas at night, further ones at noon, the hour of most traffic
    "shop": (8, 32, 16, 13, 19),
    "search": (16, 64, 6, 6, 19),
    "api": (16, 64, 5, 6, 14),
    "help": (8, 32, 2, 4, 11),
}
Row = tuple[str, int, int, int, int, str, str]


def rows() -> Iterator[Row]:
    """id, submit, duration, cores, memory, kind and app of every job."""
    chance = random.Random(SEED)
    for app in SERVICES:
        yield from standing(app)
    for day in range(7 * WEEKS):
        for app in SERVICES:
            yield from of_the_day(app, day, chance)
        yield from batch(day, chance)


def standing(app: str) -> Iterator[Row]:
    """Replicas that run day and night, deployed anew every Monday."""
    cores, memory, night, _, _ = SERVICES[app]
    for week in range(WEEKS):
        for replica in range(night):
            yield f"{app}-{week}-{replica}", 7 * week * DAY, 7 * DAY, cores, memory, "service", app


def of_the_day(app: str, day: int, chance: random.Random) -> Iterator[Row]:
    """Replicas for the hours of more traffic: each starts and ends around the hour with most of it."""
    cores, memory, _, more, peak = SERVICES[app]
    traffic = LEVELS[day // 7] * (WEEKEND if day % 7 > 4 else 1.0)
    count = round(more * traffic * chance.uniform(0.95, 1.05))
    for replica in range(count):
        half = round(HOUR * (1 + 7 * (count - replica) / count))
        start = day * DAY + peak * HOUR - half + chance.randrange(600)
        duration = min(2 * half, 7 * WEEKS * DAY - start)
        yield f"{app}-d{day}-{replica}", start, duration, cores, memory, "service", app


def batch(day: int, chance: random.Random) -> Iterator[Row]:
    """Reports every three hours, what is loaded at night, and models that are trained on Sundays."""
    for hour in range(0, 24, 3):
        yield f"report-{day}-{hour}", day * DAY + hour * HOUR, chance.randrange(900, 3000), 8, 32, "batch", "report"
    for part in range(10):
        start = day * DAY + HOUR + chance.randrange(1800)
        yield f"load-{day}-{part}", start, chance.randrange(4800, 9600), 16, 64, "batch", "load"
    if day % 7 == 6:
        for part in range(20):
            yield f"train-{day}-{part}", day * DAY + 8 * HOUR, chance.randrange(14_400, 28_800), 16, 64, "batch", "train"


def text() -> str:
    """The file, in the order in which jobs come."""
    ordered = sorted(rows(), key=lambda row: (row[1], row[0]))
    head = "id,submit,duration,cores,memory,kind,app"
    return "\n".join([head, *(",".join(map(str, row)) for row in ordered)]) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("trace.csv").write_text(text(), encoding="utf-8", newline="\n")
