"""``--help`` of every verb and sub-verb as it was, at 80 and 120 columns."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.cells import cell_len
from showing import said, standing_in, steady
from syrupy.assertion import SnapshotAssertion
from verbs import every_command

COMMANDS = every_command()


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: "-".join(path) or "hcloud")
def test_help(path: tuple[str, ...], columns: int, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    with standing_in(tmp_path, columns):
        told = said([*path, "--help"])
    assert (told.code, told.err) == (0, "")
    text = steady(told.out, tmp_path)
    assert [line for line in text.splitlines() if cell_len(line.rstrip()) > columns] == []
    assert text == snapshot
