"""What ``hcloud demo`` works on: a day of a small company's jobs, a program to measure, and a configuration."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from hcloud.model.clouds.known import CLOUDS
from hcloud.model.measured.profile import Aspect
from hcloud.readers.applications.profiles import load_profile
from hcloud.readers.bundle import bundled

HOUR = 3600
PROGRAM = "nightly"
"""The program that is measured, and the application that the trace's reports belong to."""
STAND_IN = "sort"
"""The bundled profile that stands in where nothing can be measured: of a program that does much what ours does."""
CLOUD, FAMILY = CLOUDS["aws"], "m7i"
SOURCE = '''"""What the company does every night, in small: many numbers are drawn and sorted."""
import random

draw = random.Random(7)
rows = sorted(draw.random() for _ in range(60_000))
'''
CONFIG = """format_version: "1.0"
workload: {path: trace.csv}
profiles: {folder: profiles}
markets:
  - {provider: aws, regions: [us-east-1], families: [m7i], options: [reserved-instance], payments: [no-upfront]}
prices: {book: bundled}
live: {cloud: fake}                  # a cloud in memory: no account, no money
commitments:
  enabled: true
  ceiling: 50000                     # the most dollars that all purchases together may commit
  max_price_age: 10y                 # the bundled prices are older than the 30 days allowed where nothing is said
"""

Job = tuple[str, int, int, int, int, str, str]
"""Its id, submit and duration in seconds, cores, GiB, kind and application."""


def write_program(folder: Path) -> None:
    """The program that is measured, and the folder that its profile goes to."""
    (folder / "profiles").mkdir(parents=True, exist_ok=True)
    (folder / f"{PROGRAM}.py").write_text(SOURCE, encoding="utf-8")


def write_inputs(folder: Path, app: str) -> None:
    """The trace, whose reports are of ``app``, and the configuration."""
    rows = sorted(_jobs(app), key=lambda job: (job[1], job[0]))
    lines = ["id,submit,duration,cores,memory,kind,app", *(",".join(map(str, row)) for row in rows)]
    (folder / "trace.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "hcloud.yaml").write_text(CONFIG, encoding="utf-8")


def is_measured(profile: Path) -> bool:
    """Whether a profile holds what classify starts from: the pressure that the program bears."""
    return profile.is_file() and bool(load_profile(profile).entries.get(Aspect.TOLERATED))


def take_stand_in(folder: Path) -> str:
    """Put a bundled profile in the place of one that could not be measured; returns its application."""
    for found in (folder / "profiles").glob("*.yaml"):
        found.unlink()
    shutil.copy(bundled("profiles") / f"{STAND_IN}.profile.yaml", folder / "profiles")
    return STAND_IN


def _jobs(app: str) -> Iterator[Job]:
    """Six web servers that always run, more of them by day, imports every hour, and reports in the night."""
    for number in range(1, 7):
        yield f"web-{number}", 0, 24 * HOUR, 8, 32, "service", ""
    for hour in range(8, 20):
        for number in range(1, max(4 - abs(2 * hour - 27) // 4, 1) + 1):
            yield f"web-{hour:02d}h-{number}", hour * HOUR, 2 * HOUR, 8, 32, "service", ""
    for hour in range(24):
        yield f"import-{hour:02d}", hour * HOUR + 600, 1500, 2, 8, "batch", ""
    for number in range(12):
        yield f"report-{number + 1:02d}", HOUR + number * 900, 3 * HOUR, 4, 16, "batch", app
