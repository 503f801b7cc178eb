"""``hcloud profile show``: one profile from its file."""

from __future__ import annotations

from pathlib import Path

from hcloud.model.measured.profile import Profile
from hcloud.readers.applications.profiles import load_profile
from hcloud.readers.bundle import bundled
from hcloud.usecases.measuring.profile_names import is_name, profile_file


def show_profile(path: Path) -> Profile:
    """The profile in a file, or of a name: here, else among the bundled ones, as ``hcloud classify`` finds it."""
    if path.exists() or not is_name(str(path)):
        return load_profile(path)
    return load_profile(profile_file(str(path), Path(), bundled("profiles")))
