"""What one measurement counts: the program's own time, and the number that it printed."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from hcloud.model.measured.app import App
from hcloud.model.workload import JobKind
from hcloud.profiling import bench
from hcloud.profiling.place import ProcessPlacement, TrialError
from hcloud.profiling.programs import launcher

SLOW = "import runpy, time\ntime.sleep({seconds})\nrunpy.run_path({path!r}, run_name='__main__')\n"


def test_what_the_launcher_takes_is_not_the_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """/bin/true took 0.12 s on a busy machine, all of it the start of an interpreter."""
    (tmp_path / "slow.py").write_text(SLOW.format(seconds=1.0, path=launcher.__file__))
    monkeypatch.setattr(launcher, "__file__", str(tmp_path / "slow.py"))
    guard = SimpleNamespace(folder=tmp_path, environment=dict(os.environ))
    app = App("true", JobKind.BATCH, ("true",))
    measured = bench.BatchBench(guard, app, ProcessPlacement())  # type: ignore[arg-type]
    assert measured.measure(20.0).figure < 1.0


def test_a_comma_is_no_decimal_point() -> None:
    """12,5 counted as 125 and 9,75 as 975: what was slower looked faster."""
    assert bench.last_number("rate 1,012.5", "rate (.+)", ("app",)) == 1012.5
    with pytest.raises(TrialError, match="printed '12,5'") as refused:
        bench.last_number("rate 12,5", "rate (.+)", ("app",))
    assert "decimal point" in refused.value.hint
