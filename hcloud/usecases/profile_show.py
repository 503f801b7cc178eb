"""``hcloud profile show``: one profile from its file."""

from __future__ import annotations

from pathlib import Path

from hcloud.model.profile import Profile
from hcloud.readers.profiles import load_profile


def show_profile(path: Path) -> Profile:
    """The profile in a file."""
    return load_profile(path)
