"""The notebook runs from the first cell to the last as in a kernel, and shows what its text says."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from IPython.core.history import HistoryManager
from IPython.core.interactiveshell import InteractiveShell

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "examples" / "notebook" / "reserve.ipynb"
def test_the_notebook_is_kept_without_outputs() -> None:
    cells = [cell for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert cells
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> InteractiveShell:
    """What runs cells in a kernel, in a running loop as there, without the kernel's process."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setattr(HistoryManager, "enabled", False)
    monkeypatch.chdir(NOTEBOOK.parent)
    return InteractiveShell()


@pytest.mark.usefixtures("coarse_steps")
def test_every_cell_runs_and_shows_its_result(shell: InteractiveShell) -> None:
    cells = [cell for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    pages = []
    for cell in cells:
        text = shell.transform_cell("".join(cell["source"]))
        done = asyncio.run(shell.run_cell_async(text, transformed_cell=text))
        done.raise_error()
        assert done.result is not None
        pages.append(shell.display_formatter.format(done.result)[0]["text/html"])
    assert [page.count("<iframe") for page in pages] == [1, 0, 1, 0, 0, 1, 0, 0]
    assert "Reserving" in pages[2]
    assert not list(NOTEBOOK.parent.glob(".*"))
