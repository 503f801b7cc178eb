"""Shared by all tests: the real data, a clean environment, and in CI no skip that hides a missing install."""

from __future__ import annotations

import gc
import itertools
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

from benchmarks.shipped_once import read_once

# How long an example takes is up to the neighbours; and each run draws others. One that failed is kept in the folder.
settings.register_profile("shared machine", deadline=None, max_examples=25)
settings.register_profile("read-only folder", settings.get_profile("shared machine"), database=None)
settings.load_profile("shared machine" if os.access(Path(__file__).parents[1], os.W_OK) else "read-only folder")

pytest_plugins = [
    "building",
    "quick_starts",
    "staging",
]  # what all workers share; processes, and those on fakes that listen

ROOT = Path(__file__).resolve().parent.parent
SHARED_DATA = ROOT.parent / "shared" / "data"
NO_DATA = "the folder of real data (../shared/data) is absent"
NO_TERRAFORM = "HYC_BENCH_TERRAFORM_PLUGINS names no folder with terraform's AWS provider, and no package brings it"

if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell ignores Ctrl-C for what it starts in the background, and so would every process that a test interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)

gc.set_threshold(50_000, 100, 100)
"""A process of tests holds millions of objects that live as long as it: to walk them for each few hundred that are new
took an eighth of its time, and to walk each million that outlived one look another fiftieth."""

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
"""The threads of a matrix product wait for the next one by turning, which took a tenth of the tests' time: workers are
as many as there are processors. NumPy reads this when it is loaded; processes that tests start inherit it."""

os.environ.setdefault("MALLOC_TRIM_THRESHOLD_", str(256 << 20))
os.environ.setdefault("MALLOC_MMAP_THRESHOLD_", str(32 << 20))
"""Memory that is given back is soon asked for again, which took a sixth of the time of a plan with many strategies.
The C library reads this as it starts: workers and what they start inherit it."""

MEMORY = Path("/dev/shm")
ROOM = 4 << 30
"""Bytes that must be free there; a run leaves what failed, and while it lasts takes some hundred MiB."""


def _in_memory() -> None:
    """Tests wait for a disk some ten thousand times, for nothing: no power fails meanwhile. Workers inherit it."""
    if "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM:
        os.environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None


_in_memory()
_refused: list[str] = []
_count = itertools.count()
read_once()  # before anything imports the reader or the checks by name


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real prices, traces and measurements; skips where it is absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip(NO_DATA)
    return SHARED_DATA


@pytest.fixture(autouse=True)
def clean_environment(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """No setting and no imported price of the machine reaches a test. A folder is made only for who asks for one."""
    asks = "tmp_path" in request.fixturenames
    own: Path = request.getfixturevalue("tmp_path") if asks else tmp_path_factory.getbasetemp() / f"none-{next(_count)}"
    for name in [n for n in os.environ if n.startswith("HYC_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HYC_PRICES", f"{own}/user-prices")
    monkeypatch.setenv("XDG_CONFIG_HOME", f"{own}/config")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)  # as in a shell, not as in a container


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest begins first: one worker has it, while the others take the rest of its share."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Modules and tests stay to the end: to look through them for what may go took a twelfth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """In CI remember every skip that is not about what CI cannot bring; with workers, where reports come together."""
    _see(report)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """The same for a whole file that is skipped."""
    _see(report)


def _see(report: pytest.TestReport | pytest.CollectReport) -> None:
    if not report.skipped or hasattr(report, "wasxfail") or os.environ.get("CI") != "true":
        return
    reason = str(report.longrepr[2]) if isinstance(report.longrepr, tuple | list) else str(report.longrepr)
    if not any(allowed in reason for allowed in (NO_DATA, "shared/data", NO_TERRAFORM)):
        _refused.append(f"{report.nodeid}: {reason}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A refused skip fails the run."""
    if _refused:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which skips failed the run."""
    for line in _refused:
        terminalreporter.write_line(f"skipped in CI: {line}", red=True)
