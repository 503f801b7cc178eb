"""The beginning of a file somebody named, where it is there and of the sort that a verb reads."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from hcloud.errors import FileError, HcloudError, InputError, UsageError
from hcloud.model.files import HEAD, check_sort, kind_of, no_such_file, sort_of

TOLD = 400
"""Bytes of a file that tell whether it may be replaced."""
FORMS = {
    ".json": "JSON", ".jsonl": "JSON lines", ".yaml": "YAML", ".yml": "YAML", ".csv": "CSV", ".parquet": "Parquet",
    ".html": "HTML", ".htm": "HTML", ".md": "Markdown", ".png": "a picture", ".svg": "a picture", ".pdf": "a PDF",
    ".xlsx": "an Excel workbook", ".xml": "XML",
}  # fmt: skip
"""How files of other forms are named, which people expect of a name."""
SHOWN_NAMES = 1000  # ours: of so many names beside it a likely one is looked for


def check_file(path: Path, *wanted: str, hint: str = "") -> str:
    """The sort of a file, empty where it could be any. InputError where it is not there or of another sort than those
    wanted, FileError where it cannot be read."""
    try:
        if not path.is_file():
            raise no_such_file(str(path), wanted[0], (kind_at(path), _beside(path)), hint)
        with path.open("rb") as file:
            head = file.read(HEAD)
    except OSError as error:
        raise FileError.of(error, path, "read") from None
    return check_sort(path, head, *wanted)


def kind_at(path: Path) -> str:
    """What is at a path that is no plain file, as :func:`hcloud.model.files.kind_of` names it; empty for nothing."""
    try:
        return kind_of(path.stat().st_mode)
    except OSError:
        return ""


def check_folder_of(path: Path) -> None:
    """UsageError where there is no folder for what is to be written under a name."""
    if not path.absolute().parent.is_dir():
        raise UsageError(f"{path}: folder {path.parent} does not exist", hint="make it, or choose another place")


def check_place(path: Path, sort: str, refused: type[HcloudError] = InputError) -> None:
    """Refuse, with InputError or what ``refused`` says, to write ``sort`` over what is no plain file: a pipe would be
    waited for, a link or a device replaced. UsageError where there is no folder for it."""
    check_folder_of(path)
    try:
        kind = kind_of(path.lstat().st_mode)
    except FileNotFoundError:
        return
    except OSError as error:
        raise FileError.of(error, path, "written") from None
    if kind:
        raise refused(f"{path} is {kind}; {sort} is only written to a plain file")


def check_form(path: Path, sort: str, own: str, *others: str, hint: str = "") -> None:
    """UsageError for a file name that ends as those of another form do: ``sort`` has its ``own``, or one of others."""
    suffix = path.suffix.lower()
    if suffix in FORMS and suffix not in (own, *others):
        named = f"name it {path.with_suffix(own)}"
        raise UsageError(
            f"{path}: {sort} is {FORMS[own]}, not {FORMS[suffix]}", hint="; ".join(filter(None, (named, hint)))
        )


def check_target(
    path: Path, sort: str, is_one: Callable[[bytes], bool], *own: str, is_renamed: bool = True, hint: str = ""
) -> None:
    """Refuse, with InputError, to write ``sort`` where none can or should be: a directory that nothing can be renamed
    in, a link, a file of another kind. One may replace another, as its first bytes tell. UsageError where there is no
    folder, and for a new name that ends as no file of its ``own`` forms does: a journal that has such a name goes
    on."""
    check_place(path, sort)
    if is_renamed:
        _try_to_write(path)
    if path.exists() and path.stat().st_size > 0:
        with path.open("rb") as file:
            if not is_one(file.read(TOLD)):
                raise InputError(f"{path}: exists and is not {sort}; it is not overwritten")
    else:
        check_form(path, sort, *own, hint=hint)


def _try_to_write(path: Path) -> None:
    """Make a file beside it and take it away: rights alone do not tell, as root may write where no file can be made."""
    try:
        handle, name = tempfile.mkstemp(prefix=".hcloud-", dir=path.parent)
    except OSError as error:
        raise InputError(f"{path}: the directory {path.parent} cannot be written to: {error.strerror}") from None
    os.close(handle)
    Path(name).unlink()


def sort_at(path: Path) -> str:
    """The sort of a file, empty where it could be any or cannot be read."""
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            found = sort_of(file.read(HEAD))
    except OSError:
        return ""
    return "" if found is None else found.name


def _beside(path: Path) -> list[str]:
    folder = path.parent
    return [p.name for p, _ in zip(folder.iterdir(), range(SHOWN_NAMES), strict=False)] if folder.is_dir() else []
