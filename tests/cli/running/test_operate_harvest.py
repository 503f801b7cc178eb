"""``hcloud operate --batch`` with real processes: a service spikes, batch beside it is killed and begins anew. Judged
by what the processes wrote themselves."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from waiting import PATIENCE, until

from hcloud.cli import main
from hcloud.control.operating.harvested import HarvestLedger
from hcloud.model.running.note import JobTaken
from hcloud.profiling.local.machines import ProcessHost
from hcloud.readers.bundle import bundled
from hcloud.sim.machine_code.compiled import plain
from hcloud.store.journals.journal import read_journal
from hcloud.usecases.live.decide import replay
from hcloud.usecases.live.operating.operate import fold_of

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="machines are processes of Linux"),
    pytest.mark.usefixtures("quick_starts"),
]
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
    words = ["--batch", "batch.csv", "--harvest-policy", "mine.yaml", *HISTORY, "--json"]
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
        assert first < at["spike"], "beside the service, which was calm"
        assert at["spike"] - 4 * BEAT < last < at["spike"] + 2 * TICK + SLACK, "it was killed within two ticks"
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


@pytest.mark.slow
def test_nothing_begins_after_a_drain(here: Path) -> None:
    """There is memory for one batch job at a time; the second waits when the drain comes, and is not begun."""
    Path("services.csv").write_text("id,kind,command,cores,memory\nweb,service,sleep 8,0.5,64Mi\n")
    Path("batch.sh").write_text(f"{told('begin', '$1')}\nsleep 2\n")
    rows = "".join(f"b{n},sh batch.sh b{n},0.1,450Mi,2\n" for n in range(2))
    Path("batch.csv").write_text(f"id,command,cores,memory,expect\n{rows}")
    words = ["operate", *RUN, "--batch", "batch.csv", "--harvest-policy", "mine.yaml"]
    running = subprocess.Popen([sys.executable, "-m", "hcloud", *words], stdout=subprocess.PIPE, text=True)
    until(lambda: Path("ledger").exists() or running.poll() is not None)
    assert main.run(["operate", "drain"]) == 0
    out, _ = running.communicate(timeout=PATIENCE)
    assert [(what, name) for what, name, _ in ledger()] == [("begin", "b0")]
    assert "1 cancelled" in out, out
    assert "none still running" in out


@pytest.mark.slow
def test_a_graph_of_tasks_runs_beside_a_service(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What comes after what, by what the processes wrote; the service ends when it is done, whenever that is."""
    Path("web.sh").write_text("timeout 120 sh -c 'until grep -q sum ledger; do sleep 0.2; done' 2> /dev/null\n")
    Path("services.csv").write_text("id,kind,command,cores,memory,app\nweb,service,sh web.sh,0.9,64Mi,api\n")
    mapped = told("end", "$HCLOUD_TASK-$HCLOUD_TASKS")
    vertices = [
        {"name": "map", "tasks": 4, "seconds": 60, "cores": 0.2, "memory_gib": 0.03, "command": f"sh -c '{mapped}'"},
        {"name": "sum", "tasks": 1, "seconds": 60, "cores": 0.5, "memory_gib": 0.03, "after": ["map"]},
    ]
    Path("dags.json").write_text(json.dumps({"jobs": [{"id": "load", "vertices": vertices}]}))
    assert main.run(["operate", *RUN, "--batch", "dags.json"]) == 1
    assert "jobs[0].vertices[1].command: missing" in capsys.readouterr().err
    vertices[1]["command"] = ["sh", "-c", told("begin", "sum")]
    Path("dags.json").write_text(json.dumps({"jobs": [{"id": "load", "vertices": vertices}]}))
    words = ["--batch", "dags.json", "--harvest-policy", "mine.yaml", *HISTORY, "--json"]
    assert main.run(["operate", *RUN, *words]) == 0, capsys.readouterr()
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    happened = [(what, name) for what, name, _ in ledger()]
    assert sorted(name for what, name in happened if what == "end") == [f"{n}-4" for n in (1, 2, 3, 4)]
    assert happened[-1] == ("begin", "sum"), "after all of them"
    (graph,) = last["idle_capacity"]["graphs"]
    assert (graph["id"], graph["state"], graph["tasks"], graph["done"]) == ("load", "completed", 5, 5)
    assert last["idle_capacity"]["results"] == {"completed": 1}
    found = judge_journal(here)
    assert found.counted == {"completed": 1}
    assert found.graphs["load"].classes == (), "four of 0.2 vCPUs at once are more than any class has room for"


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
    assert main.run(["operate", *RUN, *words, "--batch", "batch.csv"]) == code, capsys.readouterr()
    assert said in capsys.readouterr().err
    assert not (here / ".hcloud" / "operate" / "journal.jsonl").exists()


def test_numbers_without_batch_are_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("services.csv").write_text("id,kind,command,cores\nweb,service,sleep 1,0.9\n")
    for words, said in (
        (("--harvest-policy", "mine.yaml"), "add --batch BATCH"),
        (HISTORY, "add --batch BATCH"),
        (HISTORY[2:], "add --util UTIL"),
    ):
        assert main.run(["operate", *RUN, *words]) == 64
        assert said in capsys.readouterr().err
