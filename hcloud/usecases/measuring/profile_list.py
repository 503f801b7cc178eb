"""``hcloud profile list``: every profile of a folder."""

from __future__ import annotations

from pathlib import Path

from hcloud.model.measured.profile import Profile
from hcloud.readers.applications.profiles import load_corpus


def list_profiles(folder: Path) -> tuple[Profile, ...]:
    """The profiles of a folder in the order of their file names; other YAML in it (``hcloud.yaml``) is passed over."""
    return load_corpus(folder, strict=False)
