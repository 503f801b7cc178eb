"""``hcloud operate`` on a cloud: what is refused before anything is asked of it or launched there."""

from __future__ import annotations

import json
import shlex
import signal
from contextlib import nullcontext
from dataclasses import astuple, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
from waiting import until

from hcloud.catalog.book import PriceBook
from hcloud.cli.live.operating import work
from hcloud.cli.main import run
from hcloud.control.operating.fold import Fold
from hcloud.control.sessions.decode import decided
from hcloud.errors import Call, EvidenceError, ThrottledError
from hcloud.fake.in_memory.memory import MemoryCloud
from hcloud.model.catalog import PurchaseOption
from hcloud.model.running.decision import Decision
from hcloud.readers.bundle import bundled
from hcloud.readers.configuration.config import Loaded, load_config
from hcloud.store.journals.live import LiveJournalFile
from hcloud.usecases.live.ground import LiveGround, opened
from hcloud.usecases.live.operating.looking import look
from hcloud.usecases.live.operating.operate import OpenedWork
from hcloud.usecases.live.operating.setup import Policy, setup_for
from hcloud.usecases.live.places import CloudSelection
from hcloud.usecases.workloads.sources import open_prices

PLANNED = {
    "aws": ("m5.xlarge", ("m5.large", "m5.xlarge")),
    "gcp": ("n2d-standard-4", ("n2d-standard-2", "n2d-standard-4")),
    "azure": ("Standard_D4s_v5", ("Standard_D2s_v5", "Standard_D4s_v5")),
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs.csv").write_text("id,command\na,true\n")
    (tmp_path / "events.jsonl").write_text("")
    return tmp_path


@pytest.mark.parametrize("cloud", ["aws", "gcp", "azure", "fake"])
def test_the_local_engine_on_a_cloud_is_refused_before_credentials_are_asked_for(
    here: Path, cloud: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "GOOGLE_APPLICATION_CREDENTIALS", "AZURE_TENANT_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HYC_LIVE__ACCOUNT", "5c1f0000-0000-4000-8000-000000000001")
    monkeypatch.setattr("hcloud.usecases.live.ground._check_account", lambda *given: None)
    monkeypatch.setattr(MemoryCloud, "scope", lambda self: pytest.fail("the cloud was asked"))
    assert run(["operate", "jobs.csv", "--cloud", cloud]) == 64
    said = " ".join(capsys.readouterr().err.split())
    assert f"--engine local runs jobs on this machine only, and the cloud is {cloud}" in said
    assert "--engine slurm" in said
    assert "redential" not in said


@pytest.mark.parametrize("cloud", PLANNED)
def test_a_plan_says_which_types_are_rented_beside_the_reserve(
    here: Path, cloud: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On Google and Azure the reserve's type was all there was."""
    large, names = PLANNED[cloud]
    operation = SimpleNamespace(strategy="HM", reserve=2, reserved_type=large, on_demand_types=names)
    monkeypatch.setattr("hcloud.store.plan_file.load_plan", lambda path: SimpleNamespace(operation=operation))
    with opened(load_config(None), CloudSelection(f"fake:{cloud}"), datetime(2026, 11, 20, tzinfo=UTC)) as found:
        setup = setup_for(found, Policy(plan=Path("plan.json")))
        operation.strategy, operation.reserve = "HC", 0
        assert setup_for(found, Policy(plan=Path("plan.json"))).pool == 0, "a hybrid's reserve may be none in a plan"
    assert tuple(t.name for t in setup.types) == names
    assert (setup.large.name, setup.pool) == (large, 2)


def test_a_plan_is_refused_where_jobs_run_on_this_computer(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It ended as a bug in hcloud: 'local' is not a valid Provider."""
    assert run(["operate", "jobs.csv", "--plan", "plan.json"]) == 64
    assert "the machines of a plan are in a cloud, and jobs run on this computer" in " ".join(
        capsys.readouterr().err.split()
    )


@pytest.mark.parametrize("option", [PurchaseOption.ON_DEMAND, PurchaseOption.SPOT])
def test_nothing_is_launched_where_a_type_has_no_price(
    here: Path, option: PurchaseOption, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also a type that no job needs yet: its turn would come when nobody looks."""

    def without(loaded: Loaded, today: date) -> tuple[PriceBook, object]:
        book, rest = open_prices(loaded, today)
        return book.restricted(k for k in book.offers if (k.instance_type, k.option) != ("m5.xlarge", option)), rest

    monkeypatch.setattr("hcloud.usecases.live.ground.open_prices", without)
    text = (bundled("policies") / "OdM.yaml").read_text()
    below = "{below_quality: {value: 0.9, unit: quality, origin: C, source: ours, why: a test}}"
    ruled = f"  spot:\n    rule: tolerant-batch\n    parameters: {below}"
    with_spot = text.replace("  spot:\n    rule: none", ruled)
    assert with_spot != text
    Path("mine.yaml").write_text(text if option is PurchaseOption.ON_DEMAND else with_spot)
    words = ["operate", "run", "events.jsonl", "--engine", "none", "--cloud", "fake:aws", "-s", "./mine.yaml"]
    assert run(words) == 9
    said = " ".join(capsys.readouterr().err.split())
    assert f"aws/us-east-1/m5.xlarge/{option}: the price book has no such price" in said
    kept = Path(".hcloud") / "fake-aws.json"
    assert not kept.exists() or '"launch"' not in kept.read_text()


def test_nothing_is_launched_at_a_price_that_is_too_old(here: Path) -> None:
    with opened(load_config(None), CloudSelection("fake:aws"), datetime(2026, 11, 20, tzinfo=UTC)) as found:
        wanted = {("m5.large", PurchaseOption.ON_DEMAND)}
        found.check_types(wanted)
        real = replace(found, selection="aws")
        with pytest.raises(EvidenceError, match="machines are launched at prices at most 30 days old"):
            real.check_types(wanted)


def test_machines_end_although_their_price_is_missing_by_now(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Begun with a limit in dollars and a price of the reserve, which is gone when somebody wants to stop."""
    (here / "events.jsonl").write_text('{"event":"arrival","job":"a","cores":1}\n')
    monkeypatch.setattr("hcloud.cli.live.operate.work", lambda here, operation, *rest: _some_steps(operation))
    words = ["--engine", "none", "--cloud", "fake:aws", "-s", "SR", "--pool", "1", "--max-hourly", "50"]
    assert run(["operate", "run", "events.jsonl", "--plain", *words]) == 0
    monkeypatch.undo()
    monkeypatch.chdir(here)

    def without(loaded: Loaded, today: date) -> tuple[PriceBook, object]:
        book, rest = open_prices(loaded, today)
        return book.restricted(k for k in book.offers if not k.instance_type.startswith("m5.")), rest

    monkeypatch.setattr("hcloud.usecases.live.ground.open_prices", without)
    assert run(["operate", "stop", "--force", "--cloud", "fake:aws"]) == 0
    assert "none still running" in capsys.readouterr().out


def test_who_continues_goes_on_to_follow_until_it_is_told_not_to(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a crash of a controller with --follow, the next one without it ended with the last job that it knew."""
    monkeypatch.setattr("hcloud.cli.live.operating.stopping", lambda *_: nullcontext(Asked()))
    words = ["operate", "run", "--engine", "none", "--cloud", "fake:aws", "--plain"]
    for more in (["events.jsonl", "-s", "OdF", "--follow"], [], ["events.jsonl"]):
        assert run([*words, *more]) == 130
        fold = look(str(here / ".hcloud")).fold
        assert fold.follow
        assert Fold.of_image(fold.setup, fold.image()).follow, "a journal that was begun anew says it, too"
    assert run([*words, "--no-follow"]) == 0, "there is nothing left to do"


def test_a_controller_that_ends_by_a_fault_of_its_own_says_what_it_leaves(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The machines cost money, and nothing said so."""

    def wrong(*given: object) -> None:
        raise KeyError("wrong")

    words = ["operate", "run", "events.jsonl", "--engine", "none", "--cloud", "fake:aws", "--plain", "--no-probe"]
    monkeypatch.setattr(MemoryCloud, "machines", wrong)
    assert run([*words, "-s", "SR", "--pool", "1", "--follow"]) == 1
    told = " ".join(capsys.readouterr().err.split())
    assert "left as they are: 'hcloud operate run --cloud fake:aws' continues" in told
    assert "this is a bug in hcloud" in told


def test_who_left_machines_is_told_what_they_cost_since(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status said that a rehearsal left for two hours had cost nothing, and of no machine that it goes on."""
    grounds = list[LiveGround]()

    def watched(here: LiveGround, *given: Any) -> None:
        grounds.append(here)
        work(here, *given)

    monkeypatch.setattr("hcloud.cli.live.operating.stopping", lambda *_: nullcontext(Asked()))
    monkeypatch.setattr("hcloud.cli.live.operate.work", watched)
    words = ["operate", "run", "events.jsonl", "--engine", "none", "--cloud", "fake:aws", "--plain", "--no-probe"]
    assert run([*words, "-s", "SR", "--pool", "1", "--follow"]) == 130
    assert grounds[0].is_stopped(), "a client that waits for a throttled request hears of it"
    assert "machines are launched in aws 111122223333 us-east-1" in " ".join(capsys.readouterr().err.split())
    assert run(["fake", "wait", "2h", "--cloud", "fake:aws"]) == 0
    capsys.readouterr()
    assert run(["operate", "status"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "$1.54 so far" in shown
    assert "no controller works now; left as they are: 1 machine (0 jobs, $0.77/h)" in shown
    (here / "faults.yaml").write_text("rules: [{on: scope, answer: denied}]")
    assert run(["operate", "stop", "--cloud", "fake:faults.yaml"]) == 1
    assert "nothing was done: its machines keep running" in " ".join(capsys.readouterr().err.split())
    assert run(["operate", "stop", "--cloud", "fake:aws"]) == 0


def test_an_update_that_words_reasons_anew_keeps_nobody_from_going_on(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its journal was taken for damaged, and its machines went on without a controller."""
    monkeypatch.setattr("hcloud.cli.live.operating.stopping", lambda *_: nullcontext(Asked()))
    (here / "events.jsonl").write_text('{"event":"arrival","job":"a","cores":1}\n')
    words = ["operate", "run", "--engine", "none", "--cloud", "fake:aws", "--plain", "--no-probe"]
    assert run([*words, "events.jsonl", "-s", "OdF"]) == 130
    assert look(str(here / ".hcloud")).fold.decisions

    def decides(**other: str) -> None:
        made = lambda *told: astuple(replace(Decision(*decided(*told)), **other))  # type: ignore[arg-type]  # noqa: E731
        monkeypatch.setattr("hcloud.control.sessions.instances.decided", made)

    decides(why="in the words of a later hcloud")
    assert run(words) == 130
    monkeypatch.setattr(LiveJournalFile, "is_long", True)
    assert run(words) == 130
    with monkeypatch.context() as later:
        later.setattr("hcloud.control.sessions.snapshot.VERSION", 4)
        assert run(words) == 1
        told = " ".join(capsys.readouterr().err.split())
        assert "journal.jsonl: a snapshot of version 3 that this hcloud cannot read" in told
        assert "go on with the version of hcloud that wrote it; else its machines keep running" in told
        assert "'hcloud gc --cloud fake:aws --lineage" in told
    journal = here / ".hcloud" / "operate" / "journal.1.jsonl"
    journal.replace(journal.with_name("journal.jsonl"))
    decides(reason="another")
    assert run(words) == 1
    assert "its decisions do not follow from its events" in " ".join(capsys.readouterr().err.split())


def test_what_a_short_machine_cost_is_the_same_in_status_and_report(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """AWS charges a minute at least: status and the end of the work told of the seconds alone."""
    events, orders = here / "events.jsonl", here / ".hcloud" / "operate" / "orders.jsonl"
    events.write_text('{"event":"arrival","job":"a","cores":1}\n')

    def runs() -> None:
        until(lambda: orders.is_file() and '"begin"' in orders.read_text())
        with events.open("a") as file:
            file.write('{"event":"completion","job":"a"}\n')

    jobs = Thread(target=runs)
    jobs.start()
    words = ["--engine", "none", "--cloud", "fake:aws", "-s", "OdF", "--plain", "--no-probe"]
    assert run(["operate", "run", "events.jsonl", *words]) == 0
    jobs.join()
    capsys.readouterr()
    assert run(["operate", "status", "--json"]) == 0
    spent = Decimal(json.loads(capsys.readouterr().out)["spent"])
    assert run(["report", "cost", "--cloud", "fake:aws", "--json"]) == 0
    billed = Decimal(json.loads(capsys.readouterr().out)["costs"]["billed"])
    assert spent == pytest.approx(billed)
    assert billed == pytest.approx(Decimal("0.768") / 60)


def test_who_continues_with_another_policy_is_told_what_differs(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A strategy alone was said to lack a number of reserved servers, and an edited file was one of three guesses."""
    (here / "events.jsonl").write_text('{"event":"arrival","job":"a","cores":1}\n')
    monkeypatch.setattr("hcloud.cli.live.operating.stopping", lambda *_: nullcontext(Asked()))
    Path("mine.yaml").write_text(text := (bundled("policies") / "HM.yaml").read_text())
    words = ["operate", "run", "events.jsonl", "--engine", "none", "--cloud", "fake:aws", "--plain", "-s"]
    assert run([*words, "./mine.yaml", "--pool", "1"]) == 130
    assert run([*words, "./mine.yaml"]) == 130
    capsys.readouterr()
    Path("mine.yaml").write_text(text.replace("value: 0.8\n", "value: 0.7\n"))
    for others, said in (
        (["./mine.yaml"], "with strategy HM as its file was then hint:"),
        (["HF", "--pool", "2"], "with strategy HM, not HF; 1 reserved, not 2 hint:"),
        (["OdF"], "with strategy HM, not OdF; 1 reserved, not 0 hint:"),
    ):
        assert run([*words, *others]) == 64
        assert said in " ".join(capsys.readouterr().err.split())


def test_who_leaves_is_told_the_cloud_and_without_it_that_of_the_journal_is_taken(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sentence named a command that ended with a hint to run the jobs here."""
    (here / "events.jsonl").write_text('{"event":"arrival","job":"a","cores":1}\n')
    monkeypatch.setattr("hcloud.cli.live.operating.stopping", lambda *_: nullcontext(Asked()))
    words = ["--engine", "none", "--cloud", "fake:aws", "-s", "SR", "--pool", "1"]
    assert run(["operate", "run", "events.jsonl", "--plain", *words]) == 130
    monkeypatch.undo()
    monkeypatch.chdir(here)
    assert "'hcloud operate stop --cloud fake:aws' ends them" in " ".join(capsys.readouterr().err.split())
    assert run(["operate", "stop", "--cloud", "local"]) == 4
    assert "its machines run in aws" in " ".join(capsys.readouterr().err.split())
    assert run(["operate", "stop", "--force"]) == 0
    assert "1 machine launched, none still running" in " ".join(capsys.readouterr().out.split())


def test_who_leaves_is_told_the_place_of_the_work_where_it_is_not_the_usual_one(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without it 'hcloud operate stop' says that nothing was ever operated, and the machines go on costing."""
    (here / "events.jsonl").write_text('{"event":"arrival","job":"a","cores":1}\n')
    monkeypatch.setattr("hcloud.cli.live.operating.stopping", lambda *_: nullcontext(Asked()))
    words = ["--engine", "none", "--cloud", "fake:aws", "-s", "SR", "--pool", "1", "--state", "else where"]
    assert run(["operate", "run", "events.jsonl", "--plain", *words]) == 130
    monkeypatch.undo()
    monkeypatch.chdir(here)
    told = " ".join(capsys.readouterr().err.split())
    flags = told.partition("'hcloud operate stop ")[2].partition("' ends them")[0]
    assert run(["operate", "stop", "--force", *shlex.split(flags)]) == 0
    assert "none still running" in capsys.readouterr().out


def test_who_begins_beside_work_that_runs_elsewhere_is_told(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From another directory the jobs of a state in a bucket began a second time, and 'status' said to begin them."""
    (here / "events.jsonl").write_text('{"event":"arrival","job":"a","cores":1}\n')
    monkeypatch.setattr("hcloud.cli.live.operating.stopping", lambda *_: nullcontext(Asked()))
    words = ["operate", "run", "events.jsonl", "--plain", "--engine", "none", "--cloud", "fake:aws", "-s", "SR"]
    assert run([*words, "--pool", "1"]) == 130
    assert "live work" not in capsys.readouterr().err
    (here / ".hcloud" / "operate").rename(here / "elsewhere")
    assert run([*words, "--pool", "1"]) == 130
    told = " ".join(capsys.readouterr().err.split())
    assert "this project has 1 machine of other live work, whose journal is not in" in told
    assert run(["operate", "status", "--state", "s3://team/shop"]) == 64
    assert "where work began in another directory or on another computer, go there" in capsys.readouterr().err


def test_ctrl_c_is_heard_while_the_cloud_is_asked_for_other_work(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ended without a word of the machines that go on."""

    def busy(*_: object) -> NoReturn:
        signal.raise_signal(signal.SIGINT)
        raise ThrottledError("later", Call("aws", "here", "DescribeInstances"), 15.0)

    (here / "events.jsonl").write_text('{"event":"arrival","job":"a","cores":1}\n')
    monkeypatch.setattr(MemoryCloud, "machines", busy)
    words = ["--plain", "--engine", "none", "--cloud", "fake:aws", "-s", "SR", "--pool", "1"]
    assert run(["operate", "run", "events.jsonl", *words]) == 130
    assert "left as they are" in " ".join(capsys.readouterr().err.split())


class Asked:
    """Somebody who asks to leave after some passes."""

    exit_code = 130

    def __init__(self) -> None:
        self._left = 20

    def __call__(self) -> bool:
        self._left -= 1
        return self._left < 0


def _some_steps(operation: OpenedWork) -> None:
    """Until the reserve is ordered and there."""
    for _ in range(200):
        operation.loop.step()
        if any(machine.id for machine in operation.loop.fold.standing.values()):
            return
        operation.loop.wait()
    raise AssertionError(operation.loop.desk.troubles)
