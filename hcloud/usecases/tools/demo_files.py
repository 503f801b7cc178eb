"""What ``hcloud demo`` works on and walks through: ``examples/demo``, a day of a small company and its commands."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter

from hcloud.model.catalog import Provider
from hcloud.model.clouds.known import CLOUDS
from hcloud.model.measured.profile import Aspect
from hcloud.model.rehearsal import DemoStep
from hcloud.readers.applications.profiles import load_profile
from hcloud.readers.bundle import bundled
from hcloud.readers.safe_yaml import load_yaml

PLAN, PURCHASE = "plan.json", "buy.json"
PROGRAM = "nightly"
"""The program that is measured, and the application that the trace's reports belong to."""
STAND_IN = "sort"
"""The bundled profile that stands in where nothing can be measured: of a program that does much what ours does."""
CLOUD = CLOUDS[Provider.AWS]
"""The cloud that is rehearsed, as the configuration says."""


def write_program(folder: Path) -> None:
    """The program that is measured, and the folder that its profile goes to."""
    (folder / "profiles").mkdir(parents=True, exist_ok=True)
    shutil.copyfile(_demo() / f"{PROGRAM}.py", folder / f"{PROGRAM}.py")


def write_inputs(folder: Path, app: str) -> None:
    """The trace, whose reports are of ``app``, the configuration, and jobs to run."""
    trace = (_demo() / "trace.csv").read_text(encoding="utf-8")
    (folder / "trace.csv").write_text(trace.replace(f",{PROGRAM}\n", f",{app}\n"), encoding="utf-8")
    for name in ("hcloud.yaml", "jobs.csv", "probe.csv"):
        shutil.copyfile(_demo() / name, folder / name)


def is_measured(profile: Path) -> bool:
    """Whether a profile holds what classify starts from: the pressure that the program bears."""
    return profile.is_file() and bool(load_profile(profile).entries.get(Aspect.TOLERATED))


def take_stand_in(folder: Path) -> str:
    """Put a bundled profile in the place of one that could not be measured; returns its application."""
    for found in (folder / "profiles").glob("*.yaml"):
        found.unlink()
    shutil.copy(bundled("profiles") / f"{STAND_IN}.profile.yaml", folder / "profiles")
    return STAND_IN


@cache
def walk() -> Mapping[str, tuple[DemoStep, ...]]:
    """The steps: ``measuring``, what stands in for it (``looking``), and all that follow (``steps``)."""
    path = _demo() / "steps.yaml"
    read = load_yaml(path.read_text(encoding="utf-8"), str(path))
    return TypeAdapter(dict[str, tuple[DemoStep, ...]]).validate_python(read)


def _demo() -> Path:
    return bundled("examples") / "demo"
