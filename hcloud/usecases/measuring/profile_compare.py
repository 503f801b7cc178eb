"""``hcloud profile compare``: two profiles side by side, and whether their intervals leave room for being equal."""

from __future__ import annotations

from pathlib import Path

from hcloud.model.measured.profile import RESOURCES, Aspect, ComparedNumber, Profile, ProfileComparison
from hcloud.usecases.measuring.profile_names import named_profile


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
