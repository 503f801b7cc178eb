"""The notebook runs from the first cell to the last in a real kernel, and shows what its text says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "examples" / "notebook" / "reserve.ipynb"
BY_THE_HOUR = {"HYC_PLANNING__STEP": "1h"}
"""Plans are looked at here for how they show themselves."""
EXECUTE = """
import sys, nbclient, nbformat
notebook = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
nbformat.write(notebook, sys.argv[2])
"""


def test_the_notebook_is_kept_without_outputs() -> None:
    cells = [cell for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert cells
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)


@pytest.mark.slow
def test_every_cell_runs_and_shows_its_result(tmp_path: Path) -> None:
    """In a process of its own: a kernel opens sockets, which tests may not."""
    executed = tmp_path / "executed.ipynb"
    places = {name: str(tmp_path / name) for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR")}
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", EXECUTE, str(NOTEBOOK), str(executed)],
        cwd=NOTEBOOK.parent,
        env={**os.environ, **places, **BY_THE_HOUR, "PYTHONPATH": path, "PYDEVD_DISABLE_FILE_VALIDATION": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    cells = [cell for cell in json.loads(executed.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    shown = [output for cell in cells for output in cell["outputs"]]
    assert [output["output_type"] for output in shown] == ["execute_result"] * len(cells)
    pages = ["".join(output["data"]["text/html"]) for output in shown]
    assert [page.count("<iframe") for page in pages] == [1, 0, 1, 0, 0, 1, 0, 0]
    assert "Reserving" in pages[2]
    assert not list(NOTEBOOK.parent.glob(".*"))
