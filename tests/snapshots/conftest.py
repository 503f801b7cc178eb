"""Snapshots as plain text files, one a screen, and the screens made once for each width."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest
from building import Built
from screens import AT_ONE_WIDTH, USUAL, WIDTHS, screens
from screens import documents as as_documents
from showing import Said
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode


class TextFile(SingleFileSnapshotExtension):
    """A snapshot is a text file named after its test."""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"


@pytest.fixture
def snapshot(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """Compares with, and with --snapshot-update writes, a text file."""
    return snapshot.use_extension(TextFile)


@pytest.fixture(scope="session")
def shown(built: Built) -> dict[int, dict[str, Said]]:
    """All screens by width."""
    found = _told(
        built, "screens", lambda at: {f"{w} {s}": t for w, told in screens(at).items() for s, t in told.items()}
    )
    return {w: {n.partition(" ")[2]: told for n, told in found.items() if n.startswith(f"{w} ")} for w in WIDTHS}


@pytest.fixture(scope="session")
def documents(built: Built, shown: dict[int, dict[str, Said]]) -> dict[str, Said]:
    """What every verb that can prints as JSON."""
    beside = {name: shown[USUAL][f"{name}.json"] for name in AT_ONE_WIDTH}
    return {**_told(built, "json", as_documents), **beside}


def _told(built: Built, name: str, make: Callable[[Path], dict[str, Said]]) -> dict[str, Said]:
    """What one worker's verbs said, for all workers."""

    def kept(directory: Path) -> None:
        (directory / "here").mkdir()
        told = {screen: asdict(said) for screen, said in make(directory / "here").items()}
        (directory / "said.json").write_text(json.dumps(told), encoding="utf-8")

    text = (built(name, kept) / "said.json").read_text(encoding="utf-8")
    return {screen: Said(**said) for screen, said in json.loads(text).items()}
