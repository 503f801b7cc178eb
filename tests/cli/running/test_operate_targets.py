"""``hcloud operate --watching`` with real processes: a service is pressed by more requests, gets more of its machine,
and gives it back. Judged by what the service measured itself, and by its control group."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hcloud.cli import main
from hcloud.model.running.decision import Decision, DecisionAction
from hcloud.model.running.note import Sized
from hcloud.profiling.cage import this_machine
from hcloud.profiling.local.machines import ProcessHost
from hcloud.readers.bundle import bundled
from hcloud.sim.machine_code.compiled import plain
from hcloud.store.journals.journal import read_journal
from hcloud.usecases.live.decide import replay

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="machines are processes of Linux"),
    pytest.mark.slow,
]
TARGET = 100.0
"""Milliseconds."""
CALM, PRESSED = 15, 80
"""Requests a second; each takes 2 ms of processor: a busy machine has that for it, and ``ASKED`` is less than what the
latter need."""
ASKED = 100
EXAMPLE = Path(__file__).parents[3] / "examples" / "pressed-service"
QUICK = (("sample_seconds", 2, 0.5), ("above_samples", 10, 4), ("apart_seconds", 10, 1))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    text = (Path(str(bundled("policies"))) / "watchings" / "adjust-to-target.yaml").read_text()
    for key, value, other in QUICK:
        stated = f"    {key}:\n      value: {value}\n"
        assert stated in text
        text = text.replace(stated, f"    {key}:\n      value: {other}\n")
    Path("mine.yaml").write_text(text)
    yield tmp_path
    host = ProcessHost(tmp_path / ".hcloud" / "local" / "running")
    host.end({p.name for p in (tmp_path / ".hcloud" / "local" / "running").glob("*")} | host.alive())


@pytest.mark.skipif(not this_machine().has("cpu"), reason="no control group here can limit processors")
def test_a_service_that_is_pressed_gets_more_and_gives_it_back(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("service.py", "press.py", "load"):
        shutil.copy(EXAMPLE / name, name)
    patient = Path("press.py").read_text().replace("PATIENCE = 15, 80, 100.0, 60.0", "PATIENCE = 15, 80, 100.0, 600.0")
    assert "600.0" in patient  # on a busy machine a minute is soon over
    Path("press.py").write_text(patient)
    jobs = (EXAMPLE / "jobs.csv").read_text()
    assert f"{ASKED / 1000},64Mi,p99<{TARGET:g}ms" in jobs
    Path("jobs.csv").write_text(jobs.replace("python3", sys.executable))
    words = ["run", "jobs.csv", "--plain", "--no-probe", "-s", "SR", "--pool", "1", "--watching", "mine.yaml"]
    assert main.run(["operate", *words]) == 0, capsys.readouterr()
    rows = [line.split() for line in Path("ledger").read_text().splitlines()]
    seen = [(float(at), float(rate), float(p99), int(quota)) for at, rate, p99, quota in rows]

    pressed = [row for row in seen if row[1] == PRESSED]
    assert max(p99 for _, _, p99, _ in pressed) > TARGET, "it had not enough"
    assert pressed[-1][2] < TARGET, "it has enough now"
    calm = [row for row in seen if row[0] > pressed[-1][0]]
    first, most, least = seen[0][3], max(quota for *_, quota in seen), min(quota for *_, quota in calm)
    assert first < most > least, "more of its machine, and less again"
    assert calm[-1][2] < TARGET, "and if that was too much beside what else the machine does, it has enough again"

    known = read_journal(here / ".hcloud" / "operate" / "journal.jsonl")
    made = [e for e in known.lines if isinstance(e, Decision) and e.job == "web"]
    kinds = [d.action for d in made]
    assert kinds[0] is DecisionAction.PLACE
    assert set(kinds[1:]) == {DecisionAction.ENLARGE, DecisionAction.SHRINK}
    assert "target" in next(d.why for d in made if d.action is DecisionAction.SHRINK)
    sizes = [e.cores for e in known.lines if isinstance(e, Sized)]
    assert max(sizes) == most * ASKED // first
    _, decided = replay(known, plain())
    assert tuple(decided) == known.decisions
