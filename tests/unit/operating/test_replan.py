"""Live work plans anew from the demand that its journal has, recommends commitments, and buys none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from shutil import copytree

import pytest
from jsonschema import Draft202012Validator
from operating import ORIGIN, World, closed_after, job, setup_of

from hcloud.cli.main import run as cli
from hcloud.control.sessions.session import ControlSession
from hcloud.errors import InputError
from hcloud.fake.in_memory.memory import MemoryCloud
from hcloud.model.catalog import Payment, PurchaseOption
from hcloud.model.holdings.live import CommitmentOrder
from hcloud.model.running.event import UNKNOWN, Arrival, Completion, Event, Ready
from hcloud.model.running.job import JobOrder, JobPhase
from hcloud.model.running.note import AttemptOver, Beginning, CommitmentsAdvised, JobTaken, PassNoted
from hcloud.model.workload import JobKind
from hcloud.policy.facts import TypeFacts
from hcloud.readers.configuration.config import load_config
from hcloud.sim.machine_code.compiled import plain
from hcloud.store.journals.journal import LiveOrigin, entry_line, header_line, read_journal
from hcloud.store.journals.line_schemas import advice_schema
from hcloud.usecases.deciding.replan import Replanner
from hcloud.usecases.live.ground import LiveGround, opened
from hcloud.usecases.live.operating.operate import fold_of
from hcloud.usecases.live.places import CloudSelection

END = datetime(2026, 11, 23, tzinfo=UTC)
DAY, EVERY, RAN = 86400.0, 6 * 3600.0, 4 * 3600.0
TYPES = (TypeFacts("m6i.large", 2000, 8192, 30.0, 9000), TypeFacts("m6i.2xlarge", 8000, 32768, 30.0, 9000))


@dataclass
class Written:
    """A journal as live work writes it: services that go on for ever, and a batch job every six hours."""

    days: float
    services: int
    lines: list[str] = field(default_factory=list)

    def at(self, path: Path, origin: LiveOrigin = ORIGIN) -> Path:
        setup = setup_of("HM", 4, TYPES)
        setup = replace(setup, rules=setup.rules._replace(period=DAY))  # a month of control periods takes a while
        self.live = ControlSession(setup, plain())
        self.lines = [header_line(setup, replace(origin, lineage=f"{self.days}"))]
        begins = END.timestamp() - self.days * DAY
        for number in range(self.services):
            self._begin(f"w{number}", begins + number, JobKind.SERVICE)
        for part in range(int(self.days * DAY / EVERY)):
            self._begin(f"b{part}", begins + part * EVERY + 100, JobKind.BATCH)
            self._end(f"b{part}", begins + part * EVERY + 100 + RAN)
        path.mkdir(parents=True, exist_ok=True)
        (path / "journal.jsonl").write_text("".join(self.lines))
        return path

    def _begin(self, name: str, at: float, kind: JobKind) -> None:
        is_batch = kind is JobKind.BATCH
        order = JobOrder(name, at, ("true",), 2000, 4096, kind, restartable=is_batch)
        self.lines.append(entry_line(JobTaken(at, order)))
        made = self._happen(Arrival(at, name, 2000, 4096, UNKNOWN, is_batch, 0.5))
        for number in made:
            self._happen(Ready(at, number))
        self.lines += [entry_line(Beginning(at, name, 1, 0)), entry_line(PassNoted(at))]

    def _end(self, name: str, at: float) -> None:
        self.lines.append(entry_line(AttemptOver(at, name, 1, JobPhase.ENDED, at - RAN, at, 0)))
        self._happen(Completion(at, name, 1.0))
        self.lines.append(entry_line(PassNoted(at)))

    def _happen(self, event: Event) -> list[int]:
        """The machines that are launched because of it."""
        made = self.live.handle(event)
        self.lines += [entry_line(event), *map(entry_line, made)]
        return [d.instance for d in made if d.action.value == "launch" and d.instance is not None]


@pytest.fixture(scope="module")
def of_a_month(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the journal of a month in which twelve services ran."""
    return Written(30, 12).at(tmp_path_factory.mktemp("month"))


@contextmanager
def fake(place: Path) -> Iterator[LiveGround]:
    """A cloud in memory."""
    with opened(load_config(None), CloudSelection("fake", str(place)), END) as here:
        yield here


def planned(place: Path, days: float = 28.0) -> tuple[CommitmentsAdvised, MemoryCloud]:
    """What is recommended from the journal at a place, and the cloud that was asked."""
    with fake(place) as here:
        assert isinstance(here.cloud, MemoryCloud)
        return Replanner(here, place / "operate", days * DAY)(END.timestamp()), here.cloud


@pytest.mark.slow
def test_demand_of_a_month_is_recommended_for_and_nothing_is_bought(tmp_path: Path, of_a_month: Path) -> None:
    copytree(of_a_month, tmp_path / "operate")
    found, cloud = planned(tmp_path)
    assert found.why_not == ""
    assert found.vcpus == pytest.approx(12 * 2 + 2 * RAN / EVERY, rel=0.01), "services that go on count until now"
    assert found.purchases
    assert all("m6i" in line for line in found.purchases), "what other families offer would be of no use to the work"
    assert found.after is not None
    assert found.on_demand is not None
    assert 0 < found.after < found.on_demand
    assert found.added == found.after, "all of it is committed"
    assert found.too_short == ""
    assert cloud.world.ledger.purchases == {}
    assert not any(r.mutating for r in cloud.world.ledger.requests)


@pytest.mark.slow
def test_what_is_held_is_used_up_before_more_is_recommended(tmp_path: Path, of_a_month: Path) -> None:
    copytree(of_a_month, tmp_path / "operate")
    before, _ = planned(tmp_path)
    with fake(tmp_path) as here:
        order = CommitmentOrder("k", PurchaseOption.RESERVED, "m6i.2xlarge", 1, Payment.NONE, 3, None)
        here.cloud.buy(here.cloud.quote(order))
        after = Replanner(here, tmp_path / "operate", 28 * DAY)(END.timestamp())
        assert isinstance(here.cloud, MemoryCloud)
        assert len(here.cloud.world.ledger.purchases) == 1
    assert before.added is not None
    assert after.added is not None
    assert after.added < before.added / 4


def test_too_little_history_is_said_as_plan_says_it(tmp_path: Path) -> None:
    Written(3, 2).at(tmp_path / "operate")
    found, _ = planned(tmp_path)
    assert found.too_short.startswith("3d of history is too short for a commitment of $")


@pytest.mark.slow
def test_all_work_of_a_place_counts_and_only_the_window(tmp_path: Path) -> None:
    place = tmp_path / "operate"
    Written(20, 0).at(place)
    (place / "journal.jsonl").rename(place / "journal.1.jsonl")
    Written(2, 0).at(place)
    both, _ = planned(tmp_path)
    assert both.jobs == 20 * 4 + 2 * 4
    last, _ = planned(tmp_path, days=1.0)
    assert last.jobs == 2 * 4


def test_where_nothing_can_be_planned_the_reason_is_told(tmp_path: Path) -> None:
    (tmp_path / "operate").mkdir()
    assert "'hcloud operate' has never run there" in planned(tmp_path)[0].why_not
    Written(0.02, 1).at(tmp_path / "operate")
    (tmp_path / "operate" / "journal.jsonl").write_text(
        Written(0.0, 0).at(tmp_path / "x").joinpath("journal.jsonl").read_text()
    )
    assert planned(tmp_path)[0].why_not != ""


# ---- in the loop


@pytest.fixture(autouse=True)
def _closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every world lets go of its journal."""
    with closed_after(monkeypatch):
        yield


def test_it_plans_so_often_and_a_restart_does_not_begin_anew(tmp_path: Path) -> None:
    world = World.of(tmp_path / "j", [job("a", seconds=250.0)])
    asked: list[float] = []

    def plan(now: float) -> CommitmentsAdvised:
        asked.append(now)
        if len(asked) == 2:
            raise InputError("the journal cannot be read")
        return CommitmentsAdvised(now, 60.0, 1, 2.0, ("one",), Decimal("1.50"), Decimal(3), Decimal(4), notes=("old",))

    world.replan, world.replan_every = plan, 60.0
    world.run(until=lambda loop: loop.fold.advised is not None and loop.fold.advised.why_not != "")
    world.start()
    world.run()
    world.check(completed=1)
    gaps = [b - a for a, b in pairwise(asked)]
    assert len(asked) == 4
    assert all(60.0 <= gap < 63.0 for gap in gaps)
    told = [line for line in read_journal(tmp_path / "j").lines if isinstance(line, CommitmentsAdvised)]
    assert [line.why_not for line in told] == ["", "the journal cannot be read", "", ""]
    assert told[0] == CommitmentsAdvised(
        asked[0], 60.0, 1, 2.0, ("one",), Decimal("1.50"), Decimal(3), Decimal(4), notes=("old",)
    )
    assert fold_of(read_journal(tmp_path / "j")).advised == told[-1]


# ---- on the command line


@pytest.mark.slow
def test_on_demand_it_is_a_verb_with_a_line_of_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sold = replace(ORIGIN, region="us-east-1")
    Written(2, 4).at(tmp_path / "operate", sold)
    words = ["operate", "replan", "--cloud", "fake", "--state", str(tmp_path), "--now", "2026-11-23T00:00:00Z"]
    assert cli(words) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert told.startswith("no recommendation yet: 2d of history is too short for a commitment of $")
    assert "from the last 28d of demand (12 jobs, 9." in told
    assert cli([*words, "--json"]) == 0
    line = json.loads(capsys.readouterr().out)
    Written(30, 4).at(tmp_path / "operate", sold)
    assert cli(words) == 0
    enough = " ".join(capsys.readouterr().out.split())
    path = tmp_path / "operate" / "journal.jsonl"
    head, rest = path.read_text().split("\n", 1)
    named = replace(sold, selection="fake")
    path.write_text(header_line(replace(setup_of("HM", 4, TYPES), rules=read_journal(path).setup.rules), named) + rest)
    assert head not in path.read_text()
    assert cli(["operate", "replan", *words[4:]]) == 0, "the journal says which cloud it is"
    assert " ".join(capsys.readouterr().out.split()) == enough
    assert enough.startswith("recommended from the last 28d of demand (")
    assert "hcloud operate buys nothing: see 'hcloud commit'" in enough
    Draft202012Validator(advice_schema()).validate(line)
    assert (line["note"], line["seconds"], line["jobs"]) == ("advice", 28 * DAY, 12)
    assert Decimal(line["after"]) < Decimal(line["on_demand"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["replan", "--cloud", "local"], "error: replanning recommends commitments, and machines of this computer"),
        (["run", "--cloud", "local", "--replan", "28d"], "name a cloud (--cloud aws|gcp|azure|fake), or run without"),
        (["run", "--replan", "a month"], "'a month' is not a duration"),
        (["run", "--replan", "10min"], "--replan 10min: an hour of demand is the least"),
        (["replan", "--window", "-1d"], "error: --window: '-1d' is not a duration"),
    ],
)
def test_what_cannot_be_planned_is_refused_at_the_start(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli(["operate", *words]) == 64
    assert said in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / ".hcloud" / "operate").exists()
