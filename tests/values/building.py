"""What takes long to make and many tests look at: made once for all workers, by the first that asks."""

from __future__ import annotations

import fcntl
from collections.abc import Callable
from pathlib import Path

import pytest

Built = Callable[[str, Callable[[Path], None]], Path]


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Built:
    """A directory by name, filled by a function: other workers wait for it, and find it as it is. Whoever changes what
    is in it takes a copy."""
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if hasattr(request.config, "workerinput") else own

    def build(name: str, fill: Callable[[Path], None]) -> Path:
        directory = shared / f"built-{name}"
        with (shared / f"built-{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # the kernel gives it back where a worker dies
            if not (directory / "done").exists():
                directory.mkdir()
                fill(directory)
                (directory / "done").touch()
        return directory

    return build


@pytest.fixture
def coarse_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans are made by the hour: a trace of some hours stands for a year, which by default has 105,120 steps."""
    monkeypatch.setenv("HYC_PLANNING__STEP", "1h")


def base_and_burst(path: Path) -> Path:
    """Two days of jobs: a base of ten long services and a daily burst of batch jobs."""
    rows = ["id,submit,duration,cores,memory,kind"]
    rows += [f"s{i},0,172800,16,64,service" for i in range(10)]
    rows += [f"b{d}{i},{d * 86400 + 36000 + i},7200,8,32,batch" for d in range(2) for i in range(60)]
    path.write_text("\n".join([*rows, "end,172799,1,1,4,batch"]) + "\n", encoding="utf-8")
    return path
