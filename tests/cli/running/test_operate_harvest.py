"""``hcloud operate --harvest`` with real processes: a service spikes, batch beside it is killed and begins anew. Judged
by what the processes wrote themselves."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hcloud.cli import main
from hcloud.control.operating.harvested import HarvestLedger
from hcloud.model.running.note import JobTaken
from hcloud.profiling.local.machines import ProcessHost
from hcloud.readers.bundle import bundled
from hcloud.sim.kernels.compiled import plain
from hcloud.store.journals.journal import read_journal
from hcloud.usecases.live.decide import replay
from hcloud.usecases.live.operating.operate import fold_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="machines are processes of Linux")
TICK = 1.0
SLACK = 6.0  # of a machine that does other work: seconds until a pass of the loop, and until a kill is done
BEAT = 0.25
EXAMPLE = Path(__file__).parents[3] / "examples" / "idle-hours"
HISTORY = ("--util", str(EXAMPLE / "util.csv"), "--servers", str(EXAMPLE / "servers.csv"))
RUN = ("run", "services.csv", "--plain", "--no-probe", "-s", "SR", "--pool", "1")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    policy = (Path(str(bundled("policies"))) / "harvest.yaml").read_text()
    for key, value, other in (("tick", 3, 1), ("live_window", 60, 2)):
        stated = f"      {key}:\n        value: {value}\n"
        assert stated in policy
        policy = policy.replace(stated, f"      {key}:\n        value: {other}\n")
    Path("mine.yaml").write_text(policy)
    yield tmp_path
    host = ProcessHost(tmp_path / ".hcloud" / "local" / "running")
    host.end({p.name for p in (tmp_path / ".hcloud" / "local" / "running").glob("*")} | host.alive())


def told(what: str, name: str) -> str:
    return f"echo {what} {name} $(date +%s.%N) >> ledger"


def ledger() -> list[tuple[str, str, float]]:
    """What processes did, and when, in order."""
    rows = [line.split() for line in Path("ledger").read_text().splitlines()]
    return sorted(((what, name, float(at)) for what, name, at in rows), key=lambda row: row[2])


@pytest.mark.slow
def test_a_service_that_spikes_has_its_machine_back(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("web.sh").write_text(
        f"""{told("begin", "web")}
until [ -s b0.pid ] || [ -s b1.pid ]; do sleep 0.3; done
sleep 1
{told("spike", "web")}
timeout 60 sh -c 'while kill -0 $(cat b?.pid); do :; done' 2> /dev/null
{told("calm", "web")}
sleep 3
{told("end", "web")}
"""
    )
    Path("batch.sh").write_text(
        f"""{told("begin", "$1")}
echo $$ > $1.pid
until grep -q calm ledger; do {told("beat", "$1")}; sleep {BEAT}; done
{told("end", "$1")}
"""
    )
    Path("services.csv").write_text("id,kind,command,cores,memory,app\nweb,service,sh web.sh,0.9,64Mi,api\n")
    rows = "".join(f"b{n},sh batch.sh b{n},0.25,32Mi,4\n" for n in range(2))
    Path("batch.csv").write_text(f"id,command,cores,memory,expect\n{rows}")
    words = ["--harvest", "batch.csv", "--harvest-policy", "mine.yaml", *HISTORY, "--json"]
    assert main.run(["operate", *RUN, *words]) == 0, capsys.readouterr()
    lines = list(map(json.loads, capsys.readouterr().out.splitlines()))
    happened = ledger()
    at = {what: when for what, name, when in happened if name == "web"}
    assert [what for what, name, _ in happened if name == "web"] == ["begin", "spike", "calm", "end"], "once, whole"
    began = {name: [when for what, n, when in happened if what == "begin" and n == name] for name in ("b0", "b1")}
    victims = [name for name, begins in began.items() if begins[0] < at["spike"] and len(begins) > 1]
    assert victims, (began, at)
    for name in victims:
        first, again = began[name][:2]
        last = max(when for what, n, when in happened if what == "beat" and n == name and when < again)
        assert first < at["spike"] - BEAT < last < at["spike"] + 2 * TICK + SLACK, "it was killed within two ticks"
        assert again > at["calm"] - BEAT, "and began again when the service was calm"
    assert sorted(name for what, name, _ in happened if what == "end") == ["b0", "b1", "web"], "each done once"
    idle = lines[-1]["idle_capacity"]
    assert idle["results"] == {"completed": 2}
    assert idle["kills"] >= len(victims)
    assert idle["vcpu_hours_in_vain"] > 0
    yielded = [line for line in lines if line.get("note") == "harvest-yielding"]
    assert {line["job"] for line in yielded} >= set(victims)
    assert all(line["use"] > 0.1 for line in yielded), "what the service used was measured"
    assert all(job.classes == ("periodic-2",) for job in judge_journal(here).jobs.values()), "by the history of api"


def judge_journal(here: Path) -> HarvestLedger:
    """The journal replays, and the controller of services never heard of batch."""
    known = read_journal(here / ".hcloud" / "operate" / "journal.jsonl")
    assert tuple(replay(known, plain())[1]) == known.decisions
    assert [line.order.id for line in known.lines if isinstance(line, JobTaken)] == ["web"]
    assert not ProcessHost(Path(".hcloud") / "local" / "running").alive()
    found = fold_of(known).harvested
    assert not found.open
    return found


REFUSED = {
    "a service": ("id,kind,command\nx,service,sleep 1\n", (), 1, "x: a service cannot give way"),
    "a name twice": ("id,command,cores\nweb,sleep 1,0.2\n", (), 1, "another job has this id"),
    "too large": ("id,command,cores\nx,sleep 1,0.7\n", (), 9, "beside its reserve small has 0.6 cores"),
    "no reserve": ("id,command,cores\nx,sleep 1,0.2\n", ("-s", "OdF", "--pool", "0"), 64, "OdF reserves none"),
    "another history": ("id,command,cores\nx,sleep 1,0.2\n", HISTORY, 1, "none of its tenants (api, billing"),
    "no file": (None, (), 1, "batch.csv"),
}


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_what_cannot_run_beside_services_is_refused(case: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, words, code, said = REFUSED[case]
    Path("services.csv").write_text("id,kind,command,cores\nweb,service,sleep 1,0.9\n")
    if text is not None:
        Path("batch.csv").write_text(text)
    assert main.run(["operate", *RUN, *words, "--harvest", "batch.csv"]) == code, capsys.readouterr()
    assert said in capsys.readouterr().err
    assert not (here / ".hcloud" / "operate" / "journal.jsonl").exists()


def test_numbers_without_batch_are_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("services.csv").write_text("id,kind,command,cores\nweb,service,sleep 1,0.9\n")
    for words, said in (
        (("--harvest-policy", "mine.yaml"), "add --harvest BATCH"),
        (HISTORY, "add --harvest BATCH"),
        (HISTORY[2:], "add --util UTIL"),
    ):
        assert main.run(["operate", *RUN, *words]) == 64
        assert said in capsys.readouterr().err
