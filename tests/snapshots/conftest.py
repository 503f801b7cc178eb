"""Snapshots as plain text files, one a screen, and the screens made once for each width."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from screens import screens
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
def shown(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], dict[str, Said]]:
    """All screens at a width."""

    @cache
    def at(columns: int) -> dict[str, Said]:
        return screens(_directory(tmp_path_factory, f"columns{columns}"), columns)

    return at


@pytest.fixture(scope="session")
def documents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Said]:
    """What every verb that can prints as JSON."""
    return screens(_directory(tmp_path_factory, "json"), 80, as_json=True)


def _directory(factory: pytest.TempPathFactory, name: str) -> Path:
    return factory.mktemp(name)
