"""Profiling on a cloud's machine: it comes back measured, and by the ledger nothing stands afterwards, ever."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from waiting import PATIENCE, until

from hcloud.cli import main
from hcloud.errors import DeniedByGuardError, DeniedError, EvidenceError, HcloudError, PartialError
from hcloud.fake.aws.cloud import FakeAws
from hcloud.fake.execute import Executor
from hcloud.fake.faults import FaultPlan, fault_plan
from hcloud.fake.in_memory.memory import MemoryCloud
from hcloud.fake.server import FakeServer
from hcloud.live.applying.guards import ChangeApproval
from hcloud.live.collect import collect, orphans
from hcloud.live.patience import StoppedError
from hcloud.model.holdings.live import (
    PROTECTED_TAG,
    TAG_EXPIRES,
    TAG_LINEAGE,
    Launch,
    LaunchImage,
    LaunchTemplate,
    Owner,
)
from hcloud.model.measured.profile import Aspect
from hcloud.planning.changes.slots import CloudRegion
from hcloud.profiling.local.machines import passing_host
from hcloud.profiling.parcel import ParcelError
from hcloud.readers.applications.app import load_app
from hcloud.readers.applications.profiles import load_profile
from hcloud.readers.configuration.config import load_config
from hcloud.usecases.live.ground import LiveGround
from hcloud.usecases.live.profile_cloud import Errand, NoMachineError, Trip, end_left, profile_on_cloud
from hcloud.usecases.live.state import open_store
from hcloud.usecases.measuring.profile_run import ProbeRequest
from hcloud.usecases.tools.fake import environment, size_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="profile run needs Linux")
QUICK = ("--resources", "none", "--time-cap", "20s")
CONFIG = "markets: [{provider: aws}]\nlive: {project: demo, settings: {image: ami-12c6146b}}\n"
TODAY = date(2026, 11, 21)
Say = Callable[[str], str]


@dataclass
class Talking:
    """A cloud in memory whose machines say on their console what the test wants; ``say`` gets the mark's number."""

    cloud: MemoryCloud
    say: Say
    looks: int = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.cloud, name)

    def console(self, machine: str) -> str:
        self.looks += 1
        script = str(self.cloud.ledger.machines[machine].detail["start_up"])
        found = re.search(r"<<'([0-9a-f]{16})'", script)
        assert found is not None
        return self.say(found[1])


@dataclass
class Stage:
    """A verb about to run: its ground on a cloud in memory whose clock stands still until it is waited on."""

    folder: Path
    say: Say = field(default=lambda nonce: "")
    cloud: MemoryCloud = field(default_factory=lambda: MemoryCloud("aws"))
    stopped: bool = False

    def ground(self) -> LiveGround:
        talking: Any = Talking(self.cloud, self.say)
        loaded = load_config(self.folder / "hcloud.yaml")
        place = CloudRegion("aws", "us-east-1")
        store = open_store(str(self.folder / ".hcloud"))
        beside = self.folder / ".hcloud"
        return LiveGround(loaded, "fake", place, talking, store, self.cloud.clock, TODAY, beside, str(beside))

    def run(self, **more: Any) -> None:
        app = load_app(None, {"name": "nap", "command": ["sleep", "1"], "time_cap": "5min"})
        errand = Errand(app, ProbeRequest(()), self.folder / "nap.yaml", **more)
        profile_on_cloud(self.ground(), errand, lambda share: None, lambda: self.stopped)

    def faults(self, *rules: dict[str, object], **more: object) -> None:
        self.cloud.plan_faults(fault_plan({"rules": list(rules), **more}, "test"))

    def launched(self) -> int:
        return len(self.cloud.ledger.machines)

    def live(self) -> int:
        return len(self.cloud.ledger.live(self.cloud.clock.now()))

    def left(self) -> list[Path]:
        return list((self.folder / ".hcloud" / "probes").iterdir())


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    (tmp_path / "hcloud.yaml").write_text(CONFIG)
    return Stage(tmp_path)


@pytest.fixture
def aws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeAws]:
    (tmp_path / "hcloud.yaml").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)
    fake = FakeAws(FaultPlan())
    with passing_host() as host, Executor(fake.ledger, fake.clock, host, size_of(fake)), FakeServer(fake) as running:
        for name, value in environment("aws", running.url).items():
            monkeypatch.setenv(name, value)
        yield fake


# it comes back


@pytest.mark.parametrize("cloud", ["fake", "local"])
def test_a_tiny_command_is_measured_and_nothing_stands_afterwards(
    cloud: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "hcloud.yaml").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)
    words = ("--cloud", cloud, *QUICK, "--out", "p.yaml", "--", "sleep", "0.1")
    assert main.run(["profile", "run", *words]) == 0, capsys.readouterr().err
    found = load_profile(Path("p.yaml"))
    assert found.entries[Aspect.SCALE_UP]
    [machine] = {m.machine for m in found.entries[Aspect.SCALE_UP].values()}
    assert machine == {"fake": "fake aws/m5.large", "local": "local/small"}[cloud]
    assert any(note.startswith(f"measured on {machine}: ") for note in found.notes)
    assert not list(Path(".hcloud/probes").iterdir())
    assert main.run(["gc", "--cloud", cloud]) == 0
    assert "nothing found" in "".join(capsys.readouterr())


def test_V7_aws_measures_over_the_wire_and_no_secret_of_the_environment_goes_there(
    aws: FakeAws, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "canary-secret-1")
    monkeypatch.setenv("DATABASE_URL", "canary-secret-2")
    words = ("--cloud", "aws", "--max-dollars", "0.1", *QUICK, "--out", "p.yaml", "--", "sleep", "0.1")
    assert main.run(["profile", "run", *words]) == 0, capsys.readouterr().err
    assert load_profile(Path("p.yaml")).entries[Aspect.SCALE_UP]
    [machine] = aws.ledger.machines.values()
    assert machine.asked_to_end is not None
    assert machine.tags[TAG_EXPIRES]
    assert "sleep" in str(machine.detail["start_up"])
    assert "canary" not in str(machine.detail)
    assert "canary" not in Path("p.yaml").read_text() + "".join(capsys.readouterr())


def test_an_application_that_fails_there_says_what_it_said(aws: FakeAws, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--cloud", "aws", "--max-dollars", "0.1", *QUICK, "--", "sh", "-c", "echo no such luck >&2; exit 3")
    assert main.run(["profile", "run", *words]) == 1
    said = capsys.readouterr().err
    assert "measuring failed there with exit code 1: sh failed with exit code 3: no such luck" in said
    assert not aws.ledger.live(aws.clock.now())


def test_A3_a_killed_run_leaves_a_machine_that_its_state_can_end(
    aws: FakeAws, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of its machine 'hcloud status' said nothing, and 'hcloud gc' that another state may own it, for hours."""
    root = str(Path(main.__file__).parents[2])
    words = ["profile", "run", "--cloud", "aws", "--max-dollars", "1", *QUICK, "--", "sleep", "1"]
    with subprocess.Popen(
        [sys.executable, "-m", "hcloud", *words],
        env={**os.environ, "PYTHONPATH": root},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as run:
        until(lambda: aws.ledger.calls(["GetConsoleOutput"]))
        run.send_signal(signal.SIGKILL)
    [machine] = aws.ledger.live(aws.clock.now())
    assert main.run(["gc", "--cloud", "aws", "--delete", "--ends", "1", "-y"]) == 0
    assert len(aws.ledger.live(aws.clock.now())) == 1, "it may still be in use"
    told = " ".join(capsys.readouterr().err.split())
    when = "if its measurement was killed, and five minutes after its launch"
    assert f"{machine.id}, {when}: hcloud gc --cloud aws --lineage" in told
    assert f"{machine.tags[TAG_LINEAGE]} --delete --ends 1" in told
    machine.tags[PROTECTED_TAG] = "true"
    assert main.run(["gc", "--cloud", "aws"]) == 0
    out, err = capsys.readouterr()
    assert "it is protected" in " ".join(out.split())
    assert "hcloud gc" not in err, "what would end nothing"
    del machine.tags[PROTECTED_TAG]
    assert main.run(["status", "--cloud", "aws", "-o", "json"]) == 0
    assert [m["id"] for m in json.loads(capsys.readouterr().out)["beside"]] == [machine.id]
    assert main.run(["status", "--cloud", "aws"]) == 0
    told = " ".join(capsys.readouterr().err.split())
    assert "1 machine of 'hcloud profile run --cloud' beside these: if that was killed, 'hcloud gc --cloud aws'" in told
    [probe] = (tmp_path / ".hcloud" / "probes").iterdir()
    assert main.run(["destroy", "--state", str(probe), "--ends", "1", "-y"]) == 0
    assert not aws.ledger.live(aws.clock.now())


def test_the_next_run_ends_what_a_killed_one_left_and_nothing_of_one_that_measures(stage: Stage) -> None:
    """It ran on for hours, until 'hcloud gc' took its time to be over, unless somebody knew the folder of its state.
    What ended them took the folder of a run that began at that moment, too, which failed by it."""
    begun, other = (stage.folder / ".hcloud" / "probes" / name for name in ("begun", "other"))
    begun.mkdir(parents=True)
    other.touch()

    def killed(nonce: str) -> str:
        assert not list(end_left(stage.ground(), lambda: False)), "it measures"
        assert stage.live() == 1
        raise KeyboardInterrupt

    stage.say = killed
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Trip, "end", lambda trip: None)
        with pytest.raises(KeyboardInterrupt):
            stage.run()
    assert (stage.live(), len(stage.left())) == (1, 3)
    [told] = end_left(stage.ground(), lambda: False)
    assert told.endswith("a measurement that was killed left it running")
    assert (stage.live(), sorted(stage.left())) == (0, [begun, other])
    assert not list(end_left(stage.ground(), lambda: False))


def test_A4_an_interrupt_ends_the_machine(aws: FakeAws) -> None:
    root = str(Path(main.__file__).parents[2])
    words = ["profile", "run", "--cloud", "aws", "--max-dollars", "1", *QUICK, "--", "sleep", "1"]
    with subprocess.Popen(
        [sys.executable, "-m", "hcloud", *words], env={**os.environ, "PYTHONPATH": root}, stderr=subprocess.PIPE
    ) as run:
        until(lambda: aws.ledger.calls(["GetConsoleOutput"]))
        run.send_signal(signal.SIGINT)
        said = run.communicate(timeout=PATIENCE)[1]
    assert run.returncode == 130, said
    assert len(aws.ledger.machines) == 1
    assert not aws.ledger.live(aws.clock.now())


# it is ended on every way out


def test_nothing_that_comes_back_is_waited_for_longer_than_the_time_that_was_set(stage: Stage) -> None:
    began = stage.cloud.clock.now()
    with pytest.raises(ParcelError, match="nothing came back"):
        stage.run()
    assert (stage.launched(), stage.live(), stage.left()) == (1, 0, [])
    assert 1200 <= stage.cloud.clock.now() - began < 1300


@pytest.mark.parametrize(
    "text",
    [
        "hcloud-probe {} end",
        "hcloud-probe {} none there is no python3",
        "hcloud-probe {0} begin 4 " + "0" * 64 + "\nhcloud-probe {0} 000000 AAAA\nhcloud-probe {0} end",
        "x" * (9 << 20) + "{}",
    ],
)
def test_what_comes_back_without_sense_is_an_error_and_the_machine_ends(stage: Stage, text: str) -> None:
    stage.say = text.format
    with pytest.raises(ParcelError):
        stage.run()
    assert (stage.launched(), stage.live(), stage.left()) == (1, 0, [])
    assert not (stage.folder / "nap.yaml").exists()


def test_a_run_that_somebody_stops_ends_its_machine(stage: Stage) -> None:
    def stop(nonce: str) -> str:
        stage.stopped = True
        return ""

    stage.say = stop
    with pytest.raises(StoppedError):
        stage.run()
    assert (stage.launched(), stage.live(), stage.left()) == (1, 0, [])


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, MemoryError, HcloudError, OSError])
def test_whatever_breaks_meanwhile_the_machine_ends(stage: Stage, error: type[BaseException]) -> None:
    def broken(nonce: str) -> str:
        raise error("broken")

    stage.say = broken
    with pytest.raises(error):
        stage.run()
    assert (stage.launched(), stage.live(), stage.left()) == (1, 0, [])


def test_a_machine_that_ends_by_itself_is_told(stage: Stage) -> None:
    def ended(nonce: str) -> str:
        for machine in stage.cloud.ledger.live(stage.cloud.clock.now()):
            stage.cloud.edit({"terminate": machine.id})
        return "kernel panic"

    stage.say = ended
    with pytest.raises(ParcelError, match=r"ended before .*kernel panic"):
        stage.run()
    assert (stage.launched(), stage.live(), stage.left()) == (1, 0, [])


@pytest.mark.parametrize("answer", ["dropped-after", "dropped-before", "server-error", "nonsense"])
def test_R1_an_order_whose_answer_is_lost_is_one_machine_and_ends(stage: Stage, answer: str) -> None:
    stage.faults({"on": "launch", "answer": answer, "first": 1})
    with pytest.raises(ParcelError):
        stage.run()
    assert (stage.launched(), stage.live(), stage.left()) == (1, 0, [])


def test_C1_a_machine_that_lists_show_late_is_ended_all_the_same(stage: Stage) -> None:
    stage.faults(visibility_delay=120)
    stage.say = "hcloud-probe {} end".format
    with pytest.raises(ParcelError):
        stage.run()
    assert (stage.launched(), stage.live(), stage.left()) == (1, 0, [])


def test_a_denied_look_at_the_machine_ends_it(stage: Stage) -> None:
    stage.faults({"on": "look", "answer": "denied"})
    with pytest.raises(DeniedError):
        stage.run()
    assert (stage.launched(), stage.live(), stage.left()) == (1, 0, [])


def test_E2_no_machine_is_no_profile(stage: Stage) -> None:
    stage.faults(stock={"*": 0})
    with pytest.raises(NoMachineError) as caught:
        stage.run()
    assert caught.value.exit_code == 8
    assert (stage.launched(), stage.left()) == (0, [])


def test_F1_credentials_that_expire_leave_a_state_that_says_what_to_end(stage: Stage) -> None:
    def expired(nonce: str) -> str:
        stage.faults({"on": "*", "answer": "expired-credentials"})
        return f"hcloud-probe {nonce} end"

    stage.say = expired
    with pytest.raises(PartialError, match="may still run") as caught:
        stage.run()
    [probe] = stage.left()
    assert f"hcloud destroy --state {probe}" in caught.value.hint
    assert stage.live() == 1
    state = open_store(str(probe)).load()
    assert state is not None
    assert [r.id for r in state.records] == [m.id for m in stage.cloud.ledger.live(stage.cloud.clock.now())]


@pytest.mark.parametrize("cloud", ["fake", "local"])
def test_what_is_printed_ends_the_machine_where_it_is_pasted(
    cloud: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a fake, and on this machine, it looked for machines beside the measurement's own state, where none are."""
    monkeypatch.chdir(tmp_path)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Trip, "wait", Mock(side_effect=KeyboardInterrupt))
        patched.setattr(Trip, "end", lambda trip: None)
        assert main.run(["profile", "run", "--cloud", cloud, *QUICK, "--", "sleep", "1"]) == 130
    [probe] = Path(".hcloud/probes").iterdir()
    assert main.run(["destroy", "--cloud", cloud, "--state", str(probe), "--ends", "1", "-y"]) == 0
    capsys.readouterr()
    assert main.run(["gc", "--cloud", cloud]) == 0
    assert capsys.readouterr().out == "nothing found\n"


def test_the_machine_is_launched_from_the_image_that_its_name_stood_for(stage: Stage) -> None:
    stage.cloud.world.templating = lambda types: LaunchTemplate((LaunchImage("latest", "", tuple(types)),))
    stage.cloud.world.images["latest"] = "ami-of-that-day"
    test_F1_credentials_that_expire_leave_a_state_that_says_what_to_end(stage)
    [machine] = stage.cloud.ledger.machines.values()
    assert machine.detail["image"] == "ami-of-that-day"


def test_what_nobody_ended_is_found_once_its_time_is_over(stage: Stage) -> None:
    test_F1_credentials_that_expire_leave_a_state_that_says_what_to_end(stage)
    stage.faults()
    ground = stage.ground()
    stage.cloud.clock.advance(600)
    [young] = orphans(ground.site(), ())
    assert young.kept
    stage.cloud.clock.advance(4 * 3600)
    [found] = orphans(ground.site(), ())
    assert "expired" in found.why
    assert collect(ground.site(), [found], ChangeApproval(ends=1)) == (found.machine.id,)
    assert stage.live() == 0


# what it may cost


def test_I5_what_may_cost_more_than_allowed_is_not_begun(stage: Stage) -> None:
    with pytest.raises(DeniedByGuardError, match=r"may cost \$0\.0"):
        stage.run(max_dollars=Decimal("0.01"))
    assert stage.launched() == 0
    assert not stage.cloud.ledger.calls(["launch"])


def test_a_type_without_a_price_is_not_launched(stage: Stage) -> None:
    with pytest.raises(EvidenceError):
        stage.run(instance_type="nosuch.type")
    assert stage.launched() == 0


def test_a_real_cloud_is_asked_about_first(aws: FakeAws, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["--no-input", "profile", "run", "--cloud", "aws", *QUICK, "--", "true"]) == 7
    assert not aws.ledger.machines


def test_flags_of_the_cloud_go_with_a_cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Said before it is looked whether a profile can be written."""
    (tmp_path / "true.profile.yaml").mkdir()
    monkeypatch.chdir(tmp_path)
    assert main.run(["profile", "run", "--max-dollars", "1", *QUICK, "--", "true"]) == 64


# the fakes


def test_a_fake_executes_nothing_unless_it_is_told_to(tmp_path: Path) -> None:
    script = f"#!/bin/sh\necho run | tee {tmp_path / 'trace'}\n"
    cloud = MemoryCloud("aws")
    owner = Owner("5e1f" * 8, "demo", "0123456789ab")
    [machine] = cloud.launch(Launch("a1" * 16, "web", "m5.large", "eu-central-1a", 1, owner, start_up=script)).machines
    time.sleep(0.3)
    assert not (tmp_path / "trace").exists()
    assert cloud.console(machine.id) == ""
    with passing_host() as host, Executor(cloud.ledger, cloud.clock, host) as executor:
        executor.settle()
        assert not (tmp_path / "trace").exists(), "nor what stood before somebody told it to"
        cloud.launch(Launch("b2" * 16, "web", "m5.large", "eu-central-1a", 1, owner, start_up=script))
        until((tmp_path / "trace").exists)
