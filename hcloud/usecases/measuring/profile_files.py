"""Profiles in files: two side by side (``hcloud profile compare``), and one made of recorded use (``profile
import``)."""

from __future__ import annotations

import math
from pathlib import Path

from hcloud.model.measured.profile import (
    RESOURCES,
    Aspect,
    ComparedNumber,
    Measured,
    Metric,
    Profile,
    ProfileComparison,
    merged,
)
from hcloud.model.workload import JobKind
from hcloud.readers.applications.utilisation import UtilisationBase, UtilisationSamples, load_use
from hcloud.store.profiles import check_target, save_profile
from hcloud.usecases.measuring.profile_names import named_profile
from hcloud.usecases.measuring.profile_run import earlier


def compare_profiles(left: Path, right: Path) -> ProfileComparison:
    """Two profiles from their files or by name, every column that either has."""
    one, other = named_profile(left), named_profile(right)
    lines = [
        ComparedNumber(
            aspect, column, one.entries.get(aspect, {}).get(column), other.entries.get(aspect, {}).get(column)
        )
        for aspect in Aspect
        for column in _columns(aspect, one, other)
    ]
    return ProfileComparison(one, other, tuple(lines))


def _columns(aspect: Aspect, one: Profile, other: Profile) -> list[str]:
    present = [*one.entries.get(aspect, {}), *other.entries.get(aspect, {})]
    if aspect.is_interference:
        return [r for r in RESOURCES if r in present]
    return list(dict.fromkeys(present))


HELD = Metric("share of demand held", "fraction", rising=True)
USUAL = 0.95  # ours: enough nineteen times in twenty
_Z95 = 1.96


def import_profile(source: tuple[Path, str], machine: UtilisationBase, app: tuple[str, JobKind], out: Path) -> Profile:
    """Read a file (with its format) of recorded use, and write the profile of the named application, with what an
    earlier import into the same file found."""
    path, name = source
    check_target(out)
    profile = profile_of_use(load_use(path, name, machine), app, f"imported from {path.name} ({name})")
    before = earlier(out, profile)
    profile = merged(before, profile) if before else profile
    save_profile(profile, out)
    return profile


def profile_of_use(use: UtilisationSamples, app: tuple[str, JobKind], source: str) -> Profile:
    """Two sizes: the usual one (95th percentile of CPU) and the largest (its maximum), both with all memory used."""
    memory = math.ceil(max(use.memory_gib))
    ordered = sorted(use.cores)
    usual = ordered[min(math.ceil(USUAL * len(ordered)) - 1, len(ordered) - 1)]
    sizes = {max(math.ceil(cores), 1) for cores in (usual, ordered[-1])}
    entries = {f"{vcpus}c{max(memory, 1)}g": _held(use, vcpus, source) for vcpus in sorted(sizes)}
    notes = (
        f"{source}: 95th percentile of CPU {usual:.3g} vCPUs, maximum {ordered[-1]:.3g}",
        f"maximum of memory {max(use.memory_gib):.3g} GiB",
        "what it tolerates and causes was not measured",
    )
    return Profile(app[0], app[1], HELD, (), {Aspect.SCALE_UP: entries}, {}, notes)


def _held(use: UtilisationSamples, vcpus: int, source: str) -> Measured:
    """The share of samples whose CPU use fits, with its Wilson interval."""
    count = len(use.cores)
    share = sum(cores <= vcpus for cores in use.cores) / count
    spread = _Z95**2 / count
    middle = (share + spread / 2) / (1 + spread)
    half = _Z95 * math.sqrt(share * (1 - share) / count + spread / (4 * count)) / (1 + spread)
    low, high = max(middle - half, 0.0), min(middle + half, 1.0)
    return Measured(share, min(low, share), max(high, share), count, use.last, "not stated", source)
