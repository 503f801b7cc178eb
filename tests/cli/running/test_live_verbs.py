"""plan --cloud, apply, status, drift, gc, recover and destroy as a user runs them, on a rehearsal in memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import create_autospec

import pytest
import yaml

from hcloud.cli.main import run
from hcloud.control.ports import silent
from hcloud.fake.in_memory.file import go_on_from, keep
from hcloud.fake.in_memory.memory import MemoryCloud
from hcloud.planning.changes.slots import CloudRegion
from hcloud.readers.configuration.config import load_config
from hcloud.store.files.crash import KILLED_EXIT
from hcloud.store.states.codec import checksum
from hcloud.usecases.live.ground import opened
from hcloud.usecases.live.places import FAKE_FILE, CloudSelection
from hcloud.usecases.live.places import place_of as usual_place

pytestmark = pytest.mark.usefixtures("coarse_steps")

FLEET = [
    {"address": "web", "instance_type": "m5.large", "count": 4},
    {"address": "batch", "instance_type": "m5.xlarge", "count": 2, "fallbacks": ["m6i.large"]},
]


@pytest.fixture(autouse=True)
def _there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("HYC_PLANNING__STEP", "1h")  # what a plan changes in a cloud, not how finely it was counted
    configured(FLEET)


def configured(fleet: list[dict[str, Any]], **more: Any) -> None:
    live = {"cloud": "fake", "project": "demo", **more.pop("live", {})}
    Path("hcloud.yaml").write_text(yaml.safe_dump({"live": live, "fleet": fleet, **more}), encoding="utf-8")


def edited(change: Callable[[MemoryCloud], object]) -> None:
    """A person's change behind hcloud's back, between two verbs."""
    place = usual_place(load_config(), "fake")
    cloud = MemoryCloud(place.provider)
    kept = Path(".hcloud") / FAKE_FILE.format(place.provider)
    document = json.loads(kept.read_bytes())
    there = cloud.world.semantics
    zones = tuple(f"{document['region']}{z}" for z in "abc")
    cloud.world.semantics = type(there)(**{**_fields(there), "region": document["region"], "zones": zones})
    go_on_from(cloud.world, kept)
    change(cloud)
    keep(cloud.world, kept)


def _fields(value: object) -> dict[str, Any]:
    return {name: getattr(value, name) for name in type(value).__dataclass_fields__}  # type: ignore[attr-defined]


def said(capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    out, err = capsys.readouterr()
    return " ".join(out.split()), " ".join(err.split())


def documented(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, Any]:
    code = run([*words, "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("market", "kind"), [({"os": "windows"}, "windows"), ({"tenancy": "dedicated"}, "linux on dedicated hardware")]
)
def test_what_runs_has_its_price_and_nothing_is_launched_where_markets_are_of_another_kind(
    market: dict[str, str], kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was told to import a price that the book had, and machines on shared hardware came where none was meant."""
    assert run(["apply", "--yes"]) == 0
    market = {"provider": "aws", **market}
    configured([{**FLEET[0], "count": 5}, FLEET[1]], markets=[market])
    said(capsys)
    assert run(["status"]) == 0
    assert "6 machines, $0.7680/h" in said(capsys)[0]
    assert run(["apply", "--yes"]) == 64
    assert f"the markets of aws are of {kind}; what is launched here is linux on shared hardware" in said(capsys)[1]
    configured([{**FLEET[0], "count": 5}, FLEET[1]], markets=[market, {"provider": "aws"}])
    assert run(["apply", "--yes"]) == 0


def test_what_costs_more_now_than_the_plan_shows_is_not_launched(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Four machines for $0.38/h in the plan were launched at $1.18/h, beyond limits.monthly, and nothing was said."""
    columns = "provider,region,instance_type,os,tenancy,option,term_years,payment,hourly,upfront,date,source"
    configured(FLEET[:1], limits={"monthly": 300})
    assert run(["plan", "--out", "plan.json"]) == 0

    def priced(hourly: str, option: str = "on-demand") -> None:
        row = f"aws,us-east-1,m5.large,linux,shared,{option},,,{hourly},0,2026-11-27,test"
        Path("new.csv").write_text(f"{columns}\n{row}\n", encoding="utf-8")
        assert run(["pricing", "import", "new.csv"]) == 0
        said(capsys)

    priced("0.296")
    assert run(["apply", "plan.json", "--yes"]) == 4
    assert "m5.large on-demand from $0.096/h to $0.296/h (+208.3%); nothing was launched now" in said(capsys)[1]
    assert not Path(".hcloud/state.json").exists()
    priced("0.09")
    assert run(["apply", "plan.json", "--yes"]) == 0
    priced("0.296")
    said(capsys)
    assert run(["apply", "plan.json", "--yes"]) == 4  # again: it is not its prices that keep it
    assert "the plan is stale" in said(capsys)[1]
    priced("0.04", "spot")
    spot = {"address": "cheap", "instance_type": "m5.large", "count": 2, "option": "spot"}
    configured([FLEET[0], spot], limits={"hourly": 1.275})
    assert run(["plan", "--out", "spot.json"]) == 0
    assert "$1.1840/h -> $1.2640/h" in said(capsys)[0]  # what runs on demand counted at the spot price of its type
    priced("0.048", "spot")  # by a fifth, which apply allows; the budget does not
    assert run(["apply", "spot.json", "--yes"]) == 3
    risen = "(m5.large spot rose from $0.04/h to $0.048/h), the budget"
    assert f"the machines would cost $1.2800/h {risen}" in " ".join(said(capsys)[1].split())
    priced("0.04", "spot")
    assert run(["apply", "spot.json", "--yes", "--ends", "2"]) == 0
    said(capsys)
    assert run(["status"]) == 0
    assert "$1.2640/h at list prices" in said(capsys)[0]  # as the plan: spot counted as on demand
    priced("0.048", "spot")
    assert run(["apply", "spot.json", "--yes"]) == 4
    assert "the plan is stale" in said(capsys)[1]


@pytest.mark.parametrize("verb", ["status", "drift"])
def test_before_the_first_apply_no_state_is_named(capsys: pytest.CaptureFixture[str], verb: str) -> None:
    """An id that was another at each call was shown."""
    assert documented([verb, "--json"], capsys)[1]["lineage"] == ""
    run(["status"])
    assert "us-east-1 at memory, no state yet" in said(capsys)[0]
    run(["destroy"])
    assert "at memory, no state yet" in "".join(said(capsys))


def test_what_a_cloud_waits_for_is_told_and_a_stop_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    notes, handed = list[Any](), list[Any]()

    def late(_clock: object, note: object) -> object:
        notes.append(note)
        return silent

    def connected(_selection: str, told: object) -> MemoryCloud:
        handed.append(told)
        return MemoryCloud("aws")

    monkeypatch.setattr("hcloud.usecases.live.ground.LateTell", late)
    for verb in (["plan"], ["report", "cost"]):
        run([*verb, "--cloud", "fake"])
    assert [getattr(note, "__name__", "") for note in notes] == ["note", "note"]
    monkeypatch.setattr("hcloud.usecases.live.ground.connect", connected)
    with opened(load_config(None), CloudSelection("aws"), datetime(2026, 11, 28, tzinfo=UTC)) as here:
        here.site()
        assert not handed[0].stop()
        here.site(stop=lambda: True)
        assert handed[0].stop()


def test_a_life_from_plan_to_destroy(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--out", "plan.json", "--detailed-exitcode"]) == 2
    out, _ = said(capsys)
    assert "+ web 4 x m5.large +0.3840 $/h" in out
    assert "6 machines to launch, 0 to terminate, 0 running" in out
    assert run(["apply", "plan.json", "-y"]) == 0
    assert "converged: 6 launched, 0 terminated" in said(capsys)[0]
    assert run(["plan", "--detailed-exitcode"]) == 0
    assert "nothing to change: 6 machines as planned" in said(capsys)[0]
    code, status = documented(["status"], capsys)
    assert code == 0
    assert [(g["address"], g["count"], g["hourly"]) for g in status["standing"]] == [
        ("batch", 2, "0.384"), ("web", 4, "0.384"),
    ]  # fmt: skip
    assert status["hourly"] == "0.768"
    assert status["drift"] == []
    assert run(["gc"]) == 0
    assert "nothing found" in said(capsys)[0]
    assert run(["destroy", "-y"]) == 3
    out, err = said(capsys)
    assert "destroy ends every machine of this state" in out
    assert "not in the plan" not in out
    assert "state their number: 6" in err
    assert run(["destroy", "-y", "--ends", "6"]) == 0
    assert "converged: 0 launched, 6 terminated" in said(capsys)[0]
    assert documented(["status"], capsys)[1]["standing"] == []


@pytest.mark.parametrize(
    ("fleet", "said_of_it"),
    [
        ([{**FLEET[0], "count": 1}, FLEET[1]], "fleet web: 4 machines in the plan, 1 machine now"),
        ([FLEET[0], {**FLEET[1], "fallbacks": []}], "batch: fallbacks m6i.large in the plan, no fallbacks now"),
        ([{**FLEET[0], "zones": ["us-east-1b"]}, FLEET[1]], "in the plan, zones us-east-1b now"),
        (FLEET[:1], "fleet batch: named in the plan, not named now"),
        ([*FLEET, {**FLEET[0], "address": "more"}], "fleet more: not named in the plan, named now"),
        ([], "fleet web: named in the plan, not named now"),
    ],
)
def test_a_fleet_that_was_edited_since_the_plan_is_noticed(
    fleet: list[dict[str, Any]], said_of_it: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", "--out", "plan.json"]) == 0
    configured(fleet)
    assert run(["apply", "plan.json", "-y"]) == 4
    assert said_of_it in said(capsys)[1]
    configured(FLEET)
    assert run(["apply", "plan.json", "-y"]) == 0


def test_a_plan_that_was_begun_is_not_resumed_against_an_edited_fleet(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--out", "plan.json"]) == 0
    Path("fake.yaml").write_text("{rules: [{on: launch, answer: no-capacity, from_call: 2}]}", encoding="utf-8")
    assert run(["apply", "plan.json", "-y", "--cloud", "fake:fake.yaml"]) == 6
    configured([{**FLEET[0], "count": 5}, FLEET[1]])
    capsys.readouterr()
    assert run(["apply", "plan.json", "--resume"]) == 4, "refused before anybody is asked (7)"
    out, err = said(capsys)
    assert "fleet web: 4 machines in the plan, 5 machines now; what was launched for it stands" in err
    assert "'hcloud apply' without the plan" in err
    assert "to launch" not in out
    assert run(["apply", "-y"]) == 0, "the way on that is offered"
    capsys.readouterr()
    assert {g["address"]: g["count"] for g in documented(["status"], capsys)[1]["standing"]} == {"batch": 2, "web": 5}


def test_zones_that_were_restricted_since_a_plan_of_a_workload_are_noticed(capsys: pytest.CaptureFixture[str]) -> None:
    configured([])
    assert run(["plan", "scenario:static", "--cloud", "fake:aws", "--out", "plan.json"]) == 0
    configured([], live={"zones": ["us-east-1b"]})
    assert run(["apply", "plan.json", "-y"]) == 4
    assert "live.zones: us-east-1a, us-east-1b, us-east-1c in the plan, us-east-1b now" in said(capsys)[1]
    configured([], live={"zones": []})
    assert run(["apply", "plan.json", "-y"]) == 0


@pytest.mark.parametrize("answer", ["unavailable", "throttled", "untagged", "dropped-before"])
def test_what_was_asked_for_and_came_to_nothing_is_told_as_tried(
    answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rule = {"on": "launch", "answer": answer, "from_call": 2}
    Path("fake.yaml").write_text(yaml.safe_dump({"clock": {"speed": 0}, "rules": [rule]}), encoding="utf-8")
    assert run(["apply", "-y", "--cloud", "fake:fake.yaml"]) == 6
    out, err = said(capsys)
    assert "2 launched" in out
    assert "web: 4 missing; tried m5.large in us-east-1a: " in err


def test_nobody_to_ask_is_no_yes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["apply"]) == 7
    assert "use --yes" in said(capsys)[1]
    assert documented(["status"], capsys)[1]["standing"] == []


def test_a_plan_is_applied_once_and_stale_afterwards(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--out", "plan.json"]) == 0
    assert run(["apply", "plan.json", "-y"]) == 0
    capsys.readouterr()
    assert run(["apply", "plan.json", "-y"]) == 4
    assert "the plan is stale" in said(capsys)[1]
    assert run(["apply", "plan.json", "-y", "--resume"]) == 0
    assert "nothing to change" in said(capsys)[0]


def test_J2_a_plan_with_one_byte_changed_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--out", "plan.json"]) == 0
    text = Path("plan.json").read_text(encoding="utf-8")
    Path("plan.json").write_text(text.replace('"count": 4', '"count": 5', 1), encoding="utf-8")
    capsys.readouterr()
    assert run(["apply", "plan.json", "-y"]) == 1
    assert "altered after it was made" in said(capsys)[1]
    assert documented(["status"], capsys)[1]["standing"] == []


def test_J3_an_old_plan_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["apply", "-y"]) == 0
    configured([*FLEET, {"address": "more", "instance_type": "m5.large", "count": 1}], live={"max_plan_age": 1})
    assert run(["plan", "--out", "plan.json"]) == 0
    edited(lambda cloud: cloud.clock.advance(3600))
    capsys.readouterr()
    assert run(["apply", "plan.json", "-y"]) == 4
    assert "h old" in said(capsys)[1]


def test_drift_made_by_hand_is_told_and_mended(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["apply", "-y"]) == 0
    capsys.readouterr()

    def break_things(cloud: MemoryCloud) -> None:
        cloud.clock.advance(600)
        of_batch, *_, of_web = sorted(cloud.ledger.machines)
        cloud.edit({"terminate": of_batch})
        cloud.edit({"resize": of_web, "type": "m5.xlarge"})
        cloud.clock.advance(600)

    edited(break_things)
    code, found = documented(["drift"], capsys)
    assert code == 0
    assert len({d["id"] for d in found["drift"]}) == 2
    assert run(["drift", "--detailed-exitcode"]) == 2
    assert run(["apply", "-y", "--ends", "1"]) == 0
    capsys.readouterr()
    assert documented(["status"], capsys)[1]["drift"] == []
    assert run(["plan", "--detailed-exitcode"]) == 0


def test_H1_a_lost_state_is_never_a_new_beginning(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["apply", "-y"]) == 0
    for path in Path(".hcloud").iterdir():
        if not path.name.startswith("fake"):
            path.unlink()
    edited(lambda cloud: cloud.clock.advance(600))
    capsys.readouterr()
    run(["plan"])
    assert "to launch" not in said(capsys)[0]
    assert run(["apply", "-y"]) != 0
    assert run(["recover", "-y"]) == 0
    capsys.readouterr()
    assert run(["plan", "--detailed-exitcode"]) == 0
    assert "nothing to change: 6 machines as planned" in said(capsys)[0]


@pytest.mark.usefixtures("quick_starts")
@pytest.mark.parametrize("point", ["terminate.answered", "terminate.state.saved"])
def test_who_destroys_after_a_crash_is_told_what_became_of_the_machines(
    point: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It said "0 machines as planned", and not a word of those that the run before had ended."""
    assert run(["apply", "-y"]) == 0
    words = [sys.executable, "-m", "hcloud", "destroy", "-y", "--ends", "6"]
    crashed = subprocess.run(words, env={**os.environ, "HYC_CRASH_AT": point}, capture_output=True, check=False)
    assert crashed.returncode == KILLED_EXIT
    capsys.readouterr()
    assert run(["destroy", "-y"]) == 0
    out, _ = said(capsys)
    assert "an earlier command asked to terminate 6 machines: 6 no longer listed as running, 0 terminating" in out
    assert "nothing to change: no machine is running" in out
    assert run(["destroy", "-y"]) == 0
    assert "an earlier command" not in said(capsys)[0]


def test_gc_ends_what_nobody_holds_and_only_on_purpose(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["apply", "-y"]) == 0

    def stray(cloud: MemoryCloud) -> None:
        tags = dict(next(iter(cloud.ledger.machines.values())).tags)
        cloud.edit({"launch": "m5.large", "tags": {**tags, "hcloud-address": "gone", "hcloud-key": "0" * 32}})
        cloud.edit({"launch": "m5.large", "tags": {"team": "somebody else's"}})
        cloud.clock.advance(3600)

    edited(stray)
    capsys.readouterr()
    code, found = documented(["gc"], capsys)
    assert code == 0
    assert len(found["orphans"]) == 1
    assert run(["gc", "--delete", "-y"]) == 3
    assert run(["gc", "--delete", "-y", "--ends", "1"]) == 0
    capsys.readouterr()
    assert documented(["gc"], capsys)[1]["orphans"] == []
    assert run(["plan", "--detailed-exitcode"]) == 0


def test_machines_of_live_work_are_no_leftovers(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They bear another lineage, that of their journal."""
    assert run(["apply", "-y"]) == 0

    def work(cloud: MemoryCloud) -> None:
        tags = dict(next(iter(cloud.ledger.machines.values())).tags)
        mine = {"hcloud-lineage": "a" * 32, "hcloud-address": "operate-3", "hcloud-key": "0" * 32}
        cloud.edit({"launch": "m5.large", "tags": {**tags, **mine}})
        cloud.clock.advance(3600)

    edited(work)
    capsys.readouterr()
    (orphan,) = documented(["gc"], capsys)[1]["orphans"]
    assert "of live work aaaaaaaa" in orphan["why"]
    assert "hcloud operate stop" in str(orphan)
    assert run(["gc", "--cloud", "fake:aws", "--state", ".hcloud"]) == 0
    assert "'hcloud operate stop --cloud fake:aws --state .hcloud' ends it" in " ".join(said(capsys)[0].split())
    with monkeypatch.context() as patched:
        patched.setattr(
            MemoryCloud, "machines", asked := create_autospec(MemoryCloud.machines, side_effect=MemoryCloud.machines)
        )
        assert len(documented(["status"], capsys)[1]["beside"]) == 1
    assert asked.call_count == 1, "one list tells of both"
    assert run(["gc", "--delete", "-y", "--ends", "1"]) in (0, 3)
    capsys.readouterr()
    assert len(documented(["gc"], capsys)[1]["orphans"]) == 1
    assert run(["destroy", "-y", "--ends", "6"]) == 0
    for path in Path(".hcloud").iterdir():  # as where nothing was ever applied
        if path.is_file() and not path.name.startswith("fake"):
            path.unlink()
    capsys.readouterr()
    assert run(["status"]) == 0
    told = " ".join(" ".join(said(capsys)).split())
    assert "1 machine of live work beside these: 'hcloud operate status'" in told
    assert "hcloud gc" not in told
    assert run(["gc", "--lineage", "a" * 32]) == 0
    assert f"hcloud gc --lineage {'a' * 32} --delete --ends 1" in " ".join(said(capsys)[1].split())
    assert run(["plan", "--cloud", "fake:aws", "--state", ".hcloud"]) == 0
    assert "'hcloud operate status --state .hcloud'" in " ".join(said(capsys)[0].split())
    assert run(["recover", "-y"]) == 1
    assert "no plan's machine" in " ".join(said(capsys)[1].split())
    assert run(["recover", "-y", "--lineage", "a" * 32]) == 64
    assert "no plan's machine" in " ".join(said(capsys)[1].split())
    assert run(["destroy", "-y"]) == 0
    assert "1 machine of live work beside these" in " ".join(" ".join(said(capsys)).split())
    assert run(["apply", "-y"]) == 0, "who operates can begin to apply"


def test_a_hint_names_the_place_that_was_named_by_flags(capsys: pytest.CaptureFixture[str]) -> None:
    """Else who follows it rebuilds the state, with the same machines, where none ever was."""
    where = ["--cloud", "fake:aws", "--state", "my state"]
    assert run(["apply", "-y", *where]) == 0
    flags = "--cloud fake:aws --state 'my state'"
    Path("my state/state.json").unlink()
    capsys.readouterr()
    assert run(["status", *where]) == 1
    assert f"hcloud recover {flags} rebuilds it" in " ".join(said(capsys)[1].split())
    for path in Path("my state").glob("[!f]*"):  # as on another machine
        path.unlink()
    assert run(["status", *where]) == 0
    told = " ".join(said(capsys)[1].split())
    assert f"'hcloud recover {flags}' rebuilds it, 'hcloud gc {flags}' ends them" in told
    assert run(["plan", *where]) == 0
    assert f"'hcloud recover {flags}' rebuilds the state they belong to" in " ".join(said(capsys)[0].split())


def test_a_plan_without_changes_is_to_be_made_for_the_cloud_that_was_named(capsys: pytest.CaptureFixture[str]) -> None:
    configured([], live={"cloud": None})
    Path("jobs.csv").write_text("id,submit,duration,cores,memory,kind\nweb,0,172800,16,64,service\n", encoding="utf-8")
    assert run(["plan", "jobs.csv", "--provider", "aws", "--out", "plan.json"]) == 0
    for named, told in (([], "aws"), (["--cloud", "fake"], "fake"), (["--cloud", "gcp"], "gcp")):
        capsys.readouterr()
        assert run(["apply", "plan.json", *named]) == 1
        hint = " ".join(said(capsys)[1].split())
        assert f"plan it again with --cloud {told} --out plan.json" in hint
        assert ("rehearses" in hint) == (not named)


def test_a_dry_run_says_what_would_be_done_and_refused_and_does_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["apply", "--dry-run"]) == 0
    out, err = said(capsys)
    assert "6 machines to launch" in out
    assert "dry run: nothing was changed" in err
    assert not Path(".hcloud/state.json").exists()
    assert run(["plan", "--out", "plan.json"]) == 0
    assert run(["apply", "-y"]) == 0
    assert run(["apply", "plan.json", "--dry-run"]) == 4
    capsys.readouterr()
    assert run(["destroy", "--dry-run"]) == 0
    assert "asks for the number of machines, or takes it as --ends 6" in " ".join(said(capsys)[1].split())
    assert run(["destroy", "--dry-run", "--ends", "5"]) == 3, "as destroy would"
    configured([FLEET[0]])
    assert run(["apply", "--dry-run", "-y"]) == 3, "as apply would: too many end without their number"
    capsys.readouterr()
    assert documented(["apply", "--dry-run", "--ends", str(FLEET[1]["count"])], capsys)[1]["changes"]
    assert run(["status"]) == 0
    assert "6 machines" in said(capsys)[0]


def test_who_applies_a_plan_again_is_told_that_nothing_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--out", "plan.json"]) == 0
    assert run(["apply", "plan.json", "-y"]) == 0
    capsys.readouterr()
    assert run(["apply", "plan.json"]) == 4, "before anybody is asked (7)"
    out, err = said(capsys)
    assert "it was applied, and nothing is left to be done" in " ".join(err.split())
    assert "to launch" not in out
    edited(lambda cloud: cloud.edit({"terminate": next(iter(cloud.ledger.machines))}))
    assert run(["apply", "plan.json", "-y"]) == 4
    assert "--resume finishes a plan that was begun" in " ".join(said(capsys)[1].split())


def test_budgets_and_blast_limits_are_on(capsys: pytest.CaptureFixture[str]) -> None:
    configured(FLEET, limits={"hourly": "0.50"})
    assert run(["apply", "-y"]) == 3
    assert "the budget is $0.5000/h (limits.hourly)" in said(capsys)[1]
    configured(FLEET, limits={"hourly": "5", "monthly": "73"})
    assert run(["apply", "-y"]) == 3
    assert "the budget is $73.0000/month, $0.1000/h (limits.monthly)" in said(capsys)[1]
    configured(FLEET)
    assert run(["apply", "-y"]) == 0
    configured([{**FLEET[0], "count": 1}, FLEET[1]])
    capsys.readouterr()
    assert run(["apply", "-y"]) == 3
    assert "3 of 6 machines would be terminated" in said(capsys)[1]
    assert run(["apply", "-y", "--ends", "3"]) == 0


def test_sold_out_falls_over_to_what_is_allowed_and_else_says_what_was_tried(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("faults.yaml").write_text("stock: {m5.xlarge: 0, m5.large: 1}\n", encoding="utf-8")
    configured(FLEET, live={"cloud": "fake:faults.yaml"})
    assert run(["apply", "-y"]) == 6
    _, err = said(capsys)
    assert "web: 1 missing" in err  # one in each of three zones
    standing = documented(["status"], capsys)[1]["standing"]
    assert sum(g["count"] for g in standing if g["address"] == "batch") == 2
    assert {g["instance_type"] for g in standing if g["address"] == "batch"} == {"m6i.large"}


def test_a_type_without_a_price_is_not_launched(capsys: pytest.CaptureFixture[str]) -> None:
    configured([{"address": "web", "instance_type": "m99.large", "count": 1}])
    assert run(["plan"]) == 9
    assert "knows no instance type 'm99.large'" in said(capsys)[1]


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        ({"count": -1}, "must be 0 or more"),
        ({"count": 2.5}, "must be a whole number"),
        ({"count": "10 000"}, "must be a whole number"),
        ({"count": 1_000_000_000}, "must be 100000 or less"),
        ({"address": "../../etc/x"}, "1 to 41 lower-case letters"),
        ({"option": "reserved-instance"}, "hcloud commit"),
    ],
)
def test_I8_L4_bad_fleets_are_refused_before_any_call(
    broken: dict[str, Any], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    configured([{**FLEET[0], **broken}])
    assert run(["apply", "-y"]) == 1
    assert says in said(capsys)[1]
    assert not Path(".hcloud").exists()


def test_the_least_policy_for_a_plan_grants_no_purchase(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--out", "plan.json"]) == 0
    lineage = json.loads(Path("plan.json").read_text(encoding="utf-8"))["base"]["lineage"]
    capsys.readouterr()
    assert run(["iam", "print", "plan.json"]) == 0
    policy = json.loads(capsys.readouterr().out)
    actions = {s["Action"] for s in policy["Statement"]}
    assert {"ec2:RunInstances", "ec2:DescribeInstances", "ec2:TerminateInstances"} <= actions
    assert not any("Purchase" in a or "SavingsPlan" in a for a in actions)
    ending = next(s for s in policy["Statement"] if s["Action"] == "ec2:TerminateInstances")
    assert ending["Condition"]["StringEquals"] == {"ec2:ResourceTag/hcloud-lineage": lineage}
    for cloud, key in (("gcp", "includedPermissions"), ("azure", "Actions")):
        assert run(["iam", "print", "--cloud", cloud]) == 0
        assert len(json.loads(capsys.readouterr().out)[key]) > 5
    assert run(["iam", "print", "--cloud", "aws"]) == 0
    policy = json.loads(capsys.readouterr().out)
    ending = next(s for s in policy["Statement"] if s["Action"] == "ec2:TerminateInstances")
    assert ending["Condition"] == {"StringLike": {"ec2:ResourceTag/hcloud-lineage": "*"}}
    assert run(["iam", "print", "--cloud", "mars"]) == 64


def test_a_plan_of_a_workload_shows_what_it_changes(capsys: pytest.CaptureFixture[str]) -> None:
    configured([])
    words = ["plan", "scenario:static", "--cloud", "fake:aws", "--out", "plan.json", "--json"]
    assert run(words) == 0
    plan = json.loads(capsys.readouterr().out)
    reserved = sum(float(line["count"]) for line in plan["mix"] if line["option"] not in ("on-demand", "spot"))
    slots = {s["address"]: s["count"] for s in plan["changes"]["slots"]}
    assert sum(c for a, c in slots.items() if a.startswith("reserved-")) == int(reserved)
    assert run(["apply", "plan.json", "--cloud", "fake:aws", "-y"]) == 0
    capsys.readouterr()
    assert run(["status", "--cloud", "fake:aws", "--json"]) == 0
    stands = Decimal(json.loads(capsys.readouterr().out)["hourly"])
    assert Decimal(plan["changes"]["hourly_after"]) == stands > 0  # nothing is bought: no yes under a lower figure
    assert run(["apply", "plan.json", "-y"]) == 4


def test_what_was_simulated_arrives_in_the_applied_state(capsys: pytest.CaptureFixture[str]) -> None:
    configured([], live={"cloud": "fake:aws"}, operation={"runs": 1})
    words = ["plan", "scenario:static", "-s", "HF", "--seeds", "1", "--out", "plan.json", "--json"]
    assert run(words) == 0
    operation = json.loads(capsys.readouterr().out)["operation"]
    assert run(["apply", "plan.json", "-y"]) == 0
    capsys.readouterr()
    operating = documented(["status"], capsys)[1]["operating"]
    assert operating["strategy"] == "HF" == operation["strategy"]
    assert float(operating["soft_limit"]) == operation["soft_limit"]
    assert float(operating["hard_limit"]) == operation["hard_limit"]
    assert operating["on_demand_types"] == operation["on_demand_types"]
    standing = {g["address"].partition("-")[0]: g["count"] for g in documented(["status"], capsys)[1]["standing"]}
    assert standing["reserved"] == operation["reserve"]


def test_a_plan_is_resumed_only_where_it_was_made(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--out", "plan.json"]) == 0
    assert run(["apply", "-y", "--state", "other"]) == 0
    capsys.readouterr()
    assert run(["apply", "plan.json", "-y", "--resume", "--state", "other"]) == 4
    assert "belongs to another state" in said(capsys)[1]
    assert run(["apply", "plan.json", "-y", "--resume"]) == 0  # never begun: what is left is all of it


def test_a_limit_of_ends_asks_for_the_number_and_is_not_the_number(capsys: pytest.CaptureFixture[str]) -> None:
    configured([{**FLEET[0], "count": 20}])
    assert run(["apply", "-y"]) == 0
    configured([{**FLEET[0], "count": 16}], limits={"ended": 1})
    assert run(["apply", "-y"]) == 3
    assert run(["apply", "-y", "--ends", "4"]) == 0
    configured([], limits={"ended": 16})
    assert run(["destroy", "-y"]) == 3
    assert run(["destroy", "-y", "--ends", "16"]) == 0


def test_a_limit_of_ends_may_allow_more_than_a_fifth_but_never_all(capsys: pytest.CaptureFixture[str]) -> None:
    configured([{**FLEET[0], "count": 20}])
    assert run(["apply", "-y"]) == 0
    configured([{**FLEET[0], "count": 10}], limits={"ended": 9})
    assert run(["apply", "-y"]) == 3
    assert "10 of 20 machines would be terminated: limits.ended allows 9" in said(capsys)[1]
    configured([{**FLEET[0], "count": 10}], limits={"ended": 10})
    assert run(["apply", "-y"]) == 0
    configured([], limits={"ended": 99})
    assert run(["destroy", "-y"]) == 3
    assert "10 of 10 machines would be terminated: all of them" in said(capsys)[1]


def test_a_rehearsal_in_memory_takes_the_account_and_refuses_what_it_would_ignore(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configured(FLEET, live={"account": "999988887777"})
    assert documented(["status"], capsys)[1]["scope"]["account"] == "999988887777"
    plan = Path("faults.yaml")
    plan.write_text("quotas: {L-1216C47A: 64}\nrules: [{on: RunInstances, answer: quota}]\n", encoding="utf-8")
    assert run(["status", "--cloud", "fake:faults.yaml"]) == 1
    refused = said(capsys)[1]
    assert "rules.0.on: RunInstances (no operation in memory)" in refused
    assert "quotas: L-1216C47A (instances, or an instance type, in machines)" in refused
    busy = ", ".join(f"{{on: {on}, answer: throttled, first: 1, retry_after: 0.01}}" for on in ("la*", "zo*", "im*"))
    plan.write_text(f"quotas: {{instances: 2}}\nrules: [{busy}]\n", encoding="utf-8")
    assert run(["apply", "-y", "--cloud", "fake:faults.yaml"]) in (6, 8)
    assert "instances" in " ".join(said(capsys))


def test_ctrl_c_at_a_question_is_no_answer(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> str:
        raise KeyboardInterrupt

    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True, readline=interrupted))
    assert run(["apply"]) == 130
    assert said(capsys)[1].endswith("interrupted")
    assert documented(["status"], capsys)[1]["standing"] == []


def test_the_states_verbs_look_where_the_configuration_says(capsys: pytest.CaptureFixture[str]) -> None:
    configured(FLEET, live={"state": "elsewhere"})
    assert run(["apply", "-y"]) == 0
    capsys.readouterr()
    assert run(["state", "list"]) == 0
    assert "m5.large" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"securitygroups": ["sg-1"]}, "unknown key"),
        ({"security_groups": "sg-123"}, "security_groups"),
        ({"subnets": 5}, "subnets"),
        ({"region": "eu-west-1"}, "is not allowed"),
    ],
)
def test_settings_of_a_cloud_are_checked(
    settings: dict[str, Any], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    configured(FLEET, live={"cloud": "aws", "settings": settings})
    assert run(["status"]) in (1, 64)
    assert says in said(capsys)[1]
    assert "bug in hcloud" not in said(capsys)[1]


def test_recover_forgets_nothing_that_lists_leave_out_for_now(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["apply", "-y"]) == 0
    (Path(".hcloud/lineage")).unlink()
    rule = "rules: [{on: machines, answer: empty}, {on: look, answer: empty}]"
    Path("faults.yaml").write_text(rule, encoding="utf-8")
    assert run(["recover", "-y", "--cloud", "fake:faults.yaml"]) == 0
    assert run(["plan", "--detailed-exitcode"]) == 0
    assert "6 machines as planned" in said(capsys)[0]


def test_recover_takes_no_lineage_that_nobody_bears(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["apply", "-y"]) == 0
    assert run(["recover", "-y", "--lineage", "0" * 32]) == 64
    assert "no plan's machine has this tag" in said(capsys)[1]


def test_gc_looks_again_before_it_ends_anything_and_leaves_others_alone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from datetime import UTC, datetime

    from hcloud.errors import StaleError
    from hcloud.live.applying.guards import ChangeApproval
    from hcloud.live.collect import collect, orphans
    from hcloud.usecases.live.ground import opened
    from hcloud.usecases.live.places import CloudSelection

    assert run(["apply", "-y"]) == 0

    def stray(cloud: MemoryCloud) -> None:
        tags = dict(next(iter(cloud.ledger.machines.values())).tags)
        cloud.edit({"launch": "m5.large", "tags": {**tags, "hcloud-key": "0" * 32}})
        cloud.edit({"launch": "m5.large", "tags": {"team": "somebody else's"}})
        cloud.clock.advance(3600)

    edited(stray)
    with opened(load_config(), CloudSelection(), datetime(2026, 11, 21, tzinfo=UTC)) as ground:
        found = orphans(ground.site(), ())
        (orphan,) = found
        assert isinstance(ground.cloud, MemoryCloud)
        tags = {**orphan.machine.tags, "hcloud-protected": "yes"}
        ground.cloud.edit({"retag": orphan.machine.id, "tags": tags})
        with pytest.raises(StaleError):
            collect(ground.site(), found, ChangeApproval(ends=1))
        assert len(ground.cloud.ledger.live(ground.clock.now())) == 8


def test_a_finished_plan_is_not_gone_on_with_after_another(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--out", "one.json"]) == 0
    assert run(["apply", "one.json", "-y"]) == 0
    configured([{**FLEET[0], "count": 6}, FLEET[1]])
    assert run(["apply", "-y"]) == 0
    capsys.readouterr()
    assert run(["apply", "one.json", "-y", "--resume", "--ends", "2"]) == 4
    assert "another plan was started since" in said(capsys)[1]


def test_a_plan_knows_its_cloud(capsys: pytest.CaptureFixture[str]) -> None:
    Path("hcloud.yaml").write_text(yaml.safe_dump({"live": {"project": "demo"}, "fleet": FLEET}), encoding="utf-8")
    assert run(["plan", "--cloud", "fake", "--out", "plan.json"]) == 0
    assert json.loads(Path("plan.json").read_text(encoding="utf-8"))["base"]["scope"]["endpoint"] == "memory"
    assert run(["apply", "plan.json", "-y"]) == 0
    assert "converged: 6 launched" in said(capsys)[0]


@pytest.mark.parametrize(("cloud", "region"), [("gcp", "europe-west1"), ("azure", "westeurope")])
def test_a_fake_is_the_cloud_of_the_plan_then_of_the_state(
    cloud: str, region: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A rehearsal of another cloud than the first market's was refused, and status and destroy looked at AWS."""
    configured([], markets=[{"provider": "aws"}], live={"cloud": "fake"})
    Path("jobs.csv").write_text("id,submit,duration,cores,memory,kind\nweb,0,172800,16,64,service\n", encoding="utf-8")
    assert run(["plan", "jobs.csv", "--provider", cloud, "--region", region, "--out", "plan.json"]) == 0
    assert run(["apply", "plan.json", "--cloud", "fake", "-y"]) == 0
    capsys.readouterr()
    assert run(["status"]) == 0
    assert f"running in {cloud} " in (shown := said(capsys)[0])
    assert f" {region} at memory" in shown
    assert run(["plan", "jobs.csv"]) == 64
    assert "--state names a new one" in " ".join(said(capsys)[1].split())
    Path(".hcloud/state.json").unlink()
    assert run(["recover", "-y"]) == 0, "of a lost state the last rehearsal is told"
    assert run(["gc"]) == 0
    assert run(["destroy", "-y", "--ends", "1"]) == 0
    assert "1 terminated" in said(capsys)[0]


def test_a_region_of_any_market_of_the_cloud_is_gone_back_to() -> None:
    """Only the first market's were: a plan for the second one's was refused."""
    configured(FLEET, markets=[{"provider": "aws", "regions": [r]} for r in ("us-east-1", "eu-west-1")])
    assert usual_place(load_config(), "aws", lambda: CloudRegion("aws", "eu-west-1")).region == "eu-west-1"
    assert usual_place(load_config(), "aws", lambda: CloudRegion("aws", "us-west-2")).region == "us-east-1"


@pytest.mark.parametrize("other", ["local", "fake:gcp", "aws", "azure"])
def test_a_plan_for_another_cloud_is_refused_before_anything_is_asked(
    other: str, capsys: pytest.CaptureFixture[str]
) -> None:
    configured(FLEET)
    assert run(["plan", "--cloud", "fake:aws", "--out", "plan.json"]) == 0
    capsys.readouterr()
    assert run(["apply", "plan.json", "--cloud", other, "-y"]) == 64
    out, err = said(capsys)
    assert f"the plan was made for --cloud fake:aws (us-east-1), not for {other}: nothing was applied" in err
    assert "launch" not in out


@pytest.mark.parametrize(
    ("cloud", "why"),
    [
        ("local", "--cloud local runs small, medium, large machines of this computer only"),
        ("fake:gcp", "the plan is for aws us-east-1 (m6i.4xlarge); --cloud fake:gcp acts in gcp us-central1"),
    ],
)
def test_a_plan_that_the_cloud_cannot_run_is_refused(cloud: str, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    configured([])
    words = ["plan", "scenario:static", "--provider", "aws", "--family", "m6i", "--vcpus", "16", "--cloud", cloud]
    assert run(words) == 64
    err = said(capsys)[1]
    assert why in err
    assert ("--cloud fake:aws acts in aws" in err) is (cloud != "local")


def test_a_plan_says_how_many_machines_apply_keeps_and_who_starts_the_rest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configured([])
    assert run(["plan", "scenario:static", "--cloud", "fake:aws", "--out", "plan.json"]) == 0
    shown = " ".join(said(capsys)[0].split())
    plan = json.loads(Path("plan.json").read_text(encoding="utf-8"))
    started = sum(s["count"] for s in plan["changes"]["slots"])
    rented = sum(m["first_peak"] - m["first_least"] for m in plan["mix"] if m["option"] == "on-demand")
    assert started > 0 < rented
    told = f"apply keeps {started} machines running; the plan rents up to {rented} more as demand comes"
    assert told in shown
    assert run(["apply", "plan.json", "-y"]) == 0
    shown = " ".join(said(capsys)[0].split())
    assert told in shown
    assert f"converged: {started} launched" in shown


def test_status_says_when_what_is_rented_may_no_longer_be_needed(capsys: pytest.CaptureFixture[str]) -> None:
    """Only plan and apply did, to whom demand falls: what a plan rents is in use in its first weeks, and may be idle
    after them."""
    market = {"provider": "aws", "regions": ["us-east-1"], "families": ["m7i"], "vcpus": 4, "options": ["on-demand"]}
    rows = "".join(f"{hour * 3600},{20 + hour % 5}\n" for hour in range(28 * 24))
    Path("trace.csv").write_text(f"timestamp,vcpus\n{rows}", encoding="utf-8")
    configured([], markets=[market], planning={"growth_per_year": -0.5})
    planned = ["plan", "trace.csv", "--cloud", "fake:aws", "--out", "plan.json"]
    assert run(planned) == 0
    slots = json.loads(Path("plan.json").read_text(encoding="utf-8"))["changes"]["slots"]
    rented = sum(s["count"] for s in slots if s["address"].startswith("standing-"))
    assert run(["apply", "plan.json", "-y"]) == 0
    look = ["status", "--cloud", "fake:aws"]
    assert run(look) == 0
    assert "may be needed" not in said(capsys)[1]
    assert run(["fake", "wait", "30d", "--cloud", "fake:aws"]) == 0
    capsys.readouterr()
    until = documented(look, capsys)[1]["planned_until"]
    assert run(look) == 0
    assert f"{rented} on-demand machines planned until {until} only: plan again" in said(capsys)[1]
    assert run(planned) == 0
    assert run(["apply", "plan.json", "-y"]) == 0
    capsys.readouterr()
    assert run(look) == 0
    assert "may be needed" not in said(capsys)[1]
    assert documented(look, capsys)[1]["planned_until"] > until


def test_status_says_how_many_machines_run_beyond_the_plan_that_was_applied(capsys: pytest.CaptureFixture[str]) -> None:
    """The state knew the digest of the plan, and no count: of machines that came by hand or stayed nobody heard."""
    assert run(["apply", "-y"]) == 0
    capsys.readouterr()
    assert documented(["status"], capsys)[1]["off_plan"] == []

    def change(cloud: MemoryCloud) -> None:
        machines = {machine.instance_type: machine for machine in cloud.ledger.machines.values()}
        for _ in range(2):
            cloud.edit({"launch": "m5.large", "tags": machines["m5.large"].tags})
        cloud.edit({"terminate": machines["m5.xlarge"].id})
        cloud.clock.advance(600)

    edited(change)
    off_plan = documented(["status"], capsys)[1]["off_plan"]
    assert off_plan == [
        {"address": "batch", "running": 1, "planned": 2},
        {"address": "web", "running": 6, "planned": 4},
    ]
    assert run(["status"]) == 0
    told = said(capsys)[1]
    assert "web: 6 run, and the plan wants 4: 2 too many; 'hcloud plan' shows" in told
    assert "batch: 1 runs, and the plan wants 2: 1 too few" in told
    assert run(["apply", "-y", "--ends", "2"]) == 0
    capsys.readouterr()
    assert documented(["status"], capsys)[1]["off_plan"] == []


def test_of_a_state_of_before_no_machine_is_too_many(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["apply", "-y"]) == 0
    assert run(["state", "pull"]) == 0
    capsys.readouterr()
    kept = Path(".hcloud/state.json")
    document = json.loads(kept.read_text(encoding="utf-8"))
    assert sum(document.pop("wanted").values()) == 6
    kept.write_text(json.dumps({**document, "checksum": checksum(document)}), encoding="utf-8")
    code, found = documented(["status"], capsys)
    assert (code, found["off_plan"]) == (0, [])
    assert sum(group["count"] for group in found["standing"]) == 6


@pytest.mark.parametrize(
    ("growth", "years", "option"),
    [(1.0, 2, "reserved-instance"), (1.0, 3, "on-demand"), (0.0, 1, "on-demand"), (-0.5, 1, "reserved-instance")],
)
def test_what_stands_is_in_use_at_every_hour_of_the_first_weeks(growth: float, years: int, option: str) -> None:
    """By hand, hour by hour, for a demand by day and night: what stands beside the reserve is never idle at first."""
    pattern = [80 + 60 * (8 <= hour % 24 < 20) + hour % 7 for hour in range(28 * 24)]
    rows = "".join(f"{hour * 3600},{vcpus}\n" for hour, vcpus in enumerate(pattern))
    Path("trace.csv").write_text(f"timestamp,vcpus\n{rows}", encoding="utf-8")
    market = {"provider": "aws", "regions": ["us-east-1"], "families": ["m7i"], "vcpus": 4, "options": [option]}
    market |= {"terms": [1], "payments": ["no-upfront"]} if option != "on-demand" else {}
    planning = {"horizon": f"{years}y", "growth_per_year": growth}
    configured([], workload={"path": "trace.csv"}, markets=[market], planning=planning)
    assert run(["plan", "--cloud", "fake:aws", "--out", "plan.json"]) == 0
    plan = json.loads(Path("plan.json").read_text(encoding="utf-8"))
    held = sum(int(Decimal(m["count"])) for m in plan["mix"] if m["term_years"] and not m["starts_hour"])
    rented = [max(-(-vcpus // 4) - held, 0) for vcpus in pattern]
    stands = {slot["address"].split("-")[0]: slot["count"] for slot in plan["changes"]["slots"]}
    expected = {"reserved": held, "standing": min(rented)}
    assert stands == {name: count for name, count in expected.items() if count}
    (line,) = (m for m in plan["mix"] if m["option"] == "on-demand")
    assert (line["first_least"], line["first_peak"]) == (min(rented), max(rented))


def test_commitments_that_are_missing_are_shown_and_never_bought(capsys: pytest.CaptureFixture[str]) -> None:
    configured([])
    assert run(["plan", "scenario:static", "--cloud", "fake:aws", "--json", "--detailed-exitcode"]) == 2
    changes = json.loads(capsys.readouterr().out)["changes"]["changes"]
    assert {c["how"] for c in changes if c["action"] == "$"} == {"show"}  # one for each size that is bought


@pytest.mark.parametrize(
    ("cloud", "settings", "brings", "spares"),
    [
        ("aws", {"instance_profile": "worker"}, {"iam:PassRole"}, set[str]()),
        ("aws", {"image": "ami-0123456789abcdef0"}, set[str](), {"ssm:GetParameters"}),
        ("gcp", {"service_account": "w@p.iam.gserviceaccount.com"}, {"iam.serviceAccounts.actAs"}, set[str]()),
        ("gcp", {"external_address": True}, {"compute.subnetworks.useExternalIp"}, set[str]()),
        ("gcp", {"external_address": False}, set[str](), set[str]()),
        ("azure", {"admin_user": "ops"}, set[str](), set[str]()),
    ],
)
def test_a_policy_holds_what_the_settings_take_and_no_more(
    cloud: str, settings: dict[str, object], brings: set[str], spares: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    def names(*words: str) -> set[str]:
        assert run(["iam", "print", "--cloud", cloud, "--account", "123456789012", *words]) == 0
        out, err = said(capsys)
        assert all(name in err for name in brings) or not words, "what has to be narrowed by hand is told"
        policy = json.loads(out)
        if "Statement" in policy:
            return {s["Action"] for s in policy["Statement"]}
        return set(policy.get("includedPermissions") or policy["Actions"])

    Path("other.yaml").write_text(json.dumps({"live": {"settings": settings}}), encoding="utf-8")
    plain, found = names(), names("--file", "other.yaml")
    assert found - plain == brings
    assert plain - found == spares


@pytest.mark.parametrize(
    ("settings", "cloud", "code", "says"),
    [
        ("instance_profil: worker", "aws", 1, "instance_profil"),
        ("instance_profile: [a]", "aws", 1, "instance_profile"),
        ("instance_profile: worker", "gcp", 1, "instance_profile"),
    ],
)
def test_a_setting_that_its_cloud_does_not_take_is_no_reason_for_a_smaller_policy(
    settings: str, cloud: str, code: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("other.yaml").write_text(f"live: {{settings: {{{settings}}}}}\n", encoding="utf-8")
    assert run(["iam", "print", "--cloud", cloud, "--account", "123456789012", "--file", "other.yaml"]) == code
    out, err = said(capsys)
    assert out == ""
    assert says in err


def test_settings_of_another_cloud_change_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    Path("other.yaml").write_text("live: {cloud: gcp, settings: {image: debian-12}}\n", encoding="utf-8")
    assert run(["iam", "print", "--cloud", "aws", "--file", "other.yaml"]) == 0
    assert "ssm:GetParameters" in said(capsys)[0]


def test_a_role_may_be_passed_to_machines_of_ec2_alone(capsys: pytest.CaptureFixture[str]) -> None:
    Path("other.yaml").write_text("live: {settings: {instance_profile: worker}}\n", encoding="utf-8")
    assert run(["iam", "print", "--cloud", "aws", "--account", "123456789012", "--file", "other.yaml"]) == 0
    policy = json.loads(said(capsys)[0])
    [passing] = [s for s in policy["Statement"] if s["Action"] == "iam:PassRole"]
    assert passing["Resource"] == "arn:aws:iam::123456789012:role/*"
    assert passing["Condition"] == {"StringEquals": {"iam:PassedToService": "ec2.amazonaws.com"}}


@pytest.mark.parametrize(
    ("cloud", "said_beside"), [("aws", "hcloud-lineage"), ("gcp", "startsWith('hc-')"), ("azure", "AssignableScopes")]
)
def test_a_policy_says_how_far_the_right_to_end_machines_reaches(
    cloud: str, said_beside: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["iam", "print", "--cloud", cloud, "--account", "123456789012"]) == 0
    out, err = said(capsys)
    json.loads(out)
    assert said_beside in "".join(err.split())
    assert run(["iam", "print", "--cloud", cloud, "--account", "123456789012", "--for", "read"]) == 0
    assert said(capsys)[1] == ""


def test_a_role_of_azure_names_its_subscription_as_it_takes_no_wildcard(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["iam", "print", "--cloud", "azure", "--for", "fetch"]) == 0
    out, err = said(capsys)
    assert json.loads(out)["AssignableScopes"] == ["/subscriptions/SUBSCRIPTION_ID"]
    assert "--account" in err
