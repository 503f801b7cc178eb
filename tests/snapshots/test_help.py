"""``--help`` of every verb and sub-verb as it was at 80 columns, and of those with the most to lay out at 120."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.cells import cell_len
from showing import said, standing_in, steady
from syrupy.assertion import SnapshotAssertion
from verbs import every_command

WIDE = ((), ("plan",), ("profile",), ("pricing", "import"))
"""The root, a verb of many options, a group, and one that takes files."""


@pytest.mark.parametrize(
    ("path", "columns"),
    [
        pytest.param(path, columns, id=f"{'-'.join(path) or 'hcloud'}-{columns}")
        for columns in (80, 120)
        for path in (every_command() if columns == 80 else WIDE)
    ],
)
def test_help(path: tuple[str, ...], columns: int, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    with standing_in(tmp_path, columns):
        told = said([*path, "--help"])
    assert (told.code, told.err) == (0, "")
    text = steady(told.out, tmp_path)
    assert [line for line in text.splitlines() if cell_len(line.rstrip()) > columns] == []
    assert text == snapshot
