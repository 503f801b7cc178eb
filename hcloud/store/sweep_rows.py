"""The finished rows of a sweep on disk: one JSON line each, appended as they come, whole again after any crash."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from hcloud.errors import HcloudError, InputError, UsageError, writing
from hcloud.model.checked import check_version
from hcloud.model.json_text import parsed, written
from hcloud.store.files.lock import claim
from hcloud.store.files.looked_at import check_place

FORMAT_VERSION = "1.0"
ROWS = "rows.jsonl"
GOES_ON = "free some space, then run the command again: it goes on after the rows that are there"

Figure = int | float | str | None
"""A figure of a row: money is decimal text, None stands where no job gave one."""


@dataclass(frozen=True, slots=True)
class SweepRow:
    """One what-if: its digest, what was changed, and what came out."""

    what_if: str
    strategy: str
    seed: int
    changes: Mapping[str, str]
    figures: Mapping[str, Figure]

    def line(self, inputs: str) -> bytes:
        """The row as it is stored, with the digest of what all rows of the sweep have in common."""
        document = {
            "format_version": FORMAT_VERSION,
            "what_if": self.what_if,
            "inputs": inputs,
            "strategy": self.strategy,
            "seed": self.seed,
            "changes": dict(self.changes),
            "figures": dict(self.figures),
        }
        return written(document).encode() + b"\n"


@dataclass(slots=True)
class RowFile:
    """The rows of a sweep: those found when it was opened (by digest), and where more are appended."""

    found: dict[str, SweepRow]
    inputs: str
    file: BinaryIO | None = None

    def append(self, rows: Iterable[SweepRow]) -> None:
        """Write rows so that a crash leaves whole lines and at most one torn at the end."""
        if self.file is not None:
            with writing(self.file.name, GOES_ON):
                self.file.write(b"".join(row.line(self.inputs) for row in rows))
                self.file.flush()
                os.fsync(self.file.fileno())


@contextmanager
def open_rows(folder: Path | None, inputs: str) -> Iterator[RowFile]:
    """The rows in a folder (made where it is missing); without a folder nothing is kept.

    A torn last line is dropped. Raises InputError for rows of other inputs or a file that is damaged elsewhere,
    UsageError where another sweep writes to the folder.
    """
    if folder is None:
        yield RowFile({}, inputs)
        return
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: is not a directory", hint="--out names a folder for the rows")
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    path = folder / ROWS
    check_place(path, "a table of rows", UsageError)
    with writing(path):
        file = path.open("a+b")
    try:
        claim(file, UsageError(f"{path}: another sweep is writing to it"))
        file.seek(0)
        found, whole = _read(file, path, inputs)
        file.truncate(whole)
        yield RowFile(found, inputs, file)
    finally:
        with writing(path, GOES_ON):  # what a full disk did not take is tried once more
            file.close()


def _read(file: BinaryIO, path: Path, inputs: str) -> tuple[dict[str, SweepRow], int]:
    """The rows, and how many bytes of the file are whole lines."""
    found, whole = dict[str, SweepRow](), 0
    for number, line in enumerate(file, start=1):
        if not line.endswith(b"\n"):
            break
        row = _parse(line, f"{path}:{number}", inputs)
        found[row.what_if] = row
        whole += len(line)
    return found, whole


def _parse(line: bytes, where: str, inputs: str) -> SweepRow:
    try:
        document = parsed(line)
        theirs = document["inputs"]
        row = SweepRow(*(document[k] for k in ("what_if", "strategy", "seed", "changes", "figures")))
    except (ValueError, KeyError, TypeError):
        raise InputError(
            f"{where}: not a row of a sweep", hint="remove the line, or sweep into another folder"
        ) from None
    check_version(document, where, wrong=HcloudError)
    if theirs != inputs:
        raise InputError(
            f"{where}: comes from other inputs (workload, prices, cloud model, strategies, keys or version of hcloud)",
            hint="sweep into another folder, or remove this one to begin anew",
        )
    return row
