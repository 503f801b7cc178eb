"""Where the profile of an application is, by its name."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from hcloud.errors import InputError, UsageError, did_you_mean
from hcloud.model.measured.profile import Profile
from hcloud.readers.applications.profiles import SUFFIXES, load_profile
from hcloud.readers.bundle import bundled
from hcloud.readers.stated import read_document


def file_stem(app: str) -> str:
    """What the file of an application's profile is called, without its suffixes."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", app)


def is_name(word: str) -> bool:
    """Whether a word names an application; else it is the path of a file."""
    return Path(word).suffix not in SUFFIXES and "/" not in word


def profile_file(word: str, *folders: Path) -> Path:
    """The file of a word: a path as it is, of a name the first folder's profile of it; UsageError where none has it."""
    if not is_name(word):
        return Path(word)
    found = next((path for folder in folders if (path := file_of(word, folder))), None)
    if found is not None:
        return found
    if Path(word).is_file():
        raise UsageError(
            f"{word}: no profile: their names end with {' or '.join(SUFFIXES)}",
            hint="'hcloud profile import FILE --app NAME' makes one of recorded use",
        )
    apps = {path: app for folder in folders for path in _files(folder) if (app := _app_in(path))}
    looked = " or ".join("the working directory" if folder == Path() else str(folder) for folder in folders)
    other = next((f"; {p} is a profile of {app}" for p, app in apps.items() if p.name.split(".")[0] == word), "")
    raise UsageError(
        f"{word}: no profile of that name in {looked}{other or did_you_mean(word, apps.values())}",
        hint="'hcloud profile run --name NAME -- COMMAND' makes one",
    )


def file_of(app: str, folder: Path) -> Path | None:
    """The file of a folder that is an application's profile, whatever it is called: the one of the usual name first, to
    be refused where it cannot be read; UsageError where several others are."""
    usual = [folder / f"{file_stem(app)}{end}{suffix}" for end in (".profile", "") for suffix in SUFFIXES]
    for path in filter(Path.is_file, usual):
        if _app_in(path) == app or (not _app_in(path) and path.stem.endswith(".profile")):
            return path
    found = [path for path in _files(folder) if _app_in(path) == app]
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise UsageError(f"{folder}: {names} are profiles of {app}", hint="name one of the files, or keep one of them")
    return found[0] if found else None


def _files(folder: Path) -> list[Path]:
    there = folder.iterdir() if folder.is_dir() else ()
    return sorted(path for path in there if path.suffix in SUFFIXES and path.is_file())


def _app_in(path: Path) -> str:
    """Whose profile a file says it is, "" where it does not say; read again only where it was written since."""
    return _app_written(path.absolute(), path.stat().st_mtime_ns)


@lru_cache(maxsize=4096)
def _app_written(path: Path, _at: int) -> str:
    try:
        document = read_document(path, "profile")
    except (InputError, OSError):
        return ""
    return str(document.get("app", "")) if isinstance(document, dict) else ""


def named_profile(path: Path) -> Profile:
    """The profile in a file, or of a name: here, else among the bundled ones, as ``hcloud classify`` finds it."""
    if path.exists() or not is_name(str(path)):
        return load_profile(path)
    return load_profile(profile_file(str(path), Path(), bundled("profiles")))
