"""Where the profile of an application is, by its name."""

from __future__ import annotations

import re
from pathlib import Path

from hcloud.errors import UsageError, did_you_mean
from hcloud.model.measured.profile import Profile
from hcloud.readers.applications.profiles import SUFFIXES, load_profile
from hcloud.readers.bundle import bundled


def file_stem(app: str) -> str:
    """What the file of an application's profile is called, without its suffixes."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", app)


def is_name(word: str) -> bool:
    """Whether a word names an application; else it is the path of a file."""
    return Path(word).suffix not in SUFFIXES and "/" not in word


def profile_file(word: str, *folders: Path) -> Path:
    """The file of a word: a path as it is, of a name the first that a folder has; UsageError where none has one."""
    if not is_name(word):
        return Path(word)
    ends = [f"{part}{suffix}" for part in (".profile", "") for suffix in SUFFIXES]
    names = dict.fromkeys((word, file_stem(word)))
    found = [p for folder in folders for name in names for end in ends if (p := folder / f"{name}{end}").is_file()]
    if not found:
        there = [p.name.split(".")[0] for folder in folders if folder.is_dir() for p in folder.iterdir()]
        looked = " or ".join("the working directory" if folder == Path() else str(folder) for folder in folders)
        raise UsageError(
            f"{word}: no profile of that name in {looked}{did_you_mean(word, there)}",
            hint="'hcloud profile run --name NAME -- COMMAND' makes one",
        )
    return found[0]


def named_profile(path: Path) -> Profile:
    """The profile in a file, or of a name: here, else among the bundled ones, as ``hcloud classify`` finds it."""
    if path.exists() or not is_name(str(path)):
        return load_profile(path)
    return load_profile(profile_file(str(path), Path(), bundled("profiles")))
