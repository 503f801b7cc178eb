"""The demo runs: what it shows is what its commands said, and the fake cloud's ledger agrees with all of it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from building import Built
from quick_starts import by_way_of

from hcloud.cli.main import run
from hcloud.model.measured.profile import Aspect
from hcloud.model.rehearsal import DemoStep
from hcloud.readers.applications.profiles import load_profile
from hcloud.readers.bundle import bundled
from hcloud.store.profiles import save_profile
from hcloud.usecases.progress import unheard
from hcloud.usecases.tools.demo import Demo, DemoError, is_measured, walk

KILLED = 137


@pytest.fixture(scope="session")
def walked(loaded: Path | None, built: Built) -> tuple[Path, str]:
    """A kept demo without a measurement, and what it printed; its steps are forks."""

    def walk_once(directory: Path) -> None:
        words = [
            sys.executable,
            "-m",
            "hcloud",
            "demo",
            "--no-measure",
            "--no-input",
            "--keep",
            str(directory / "kept"),
        ]
        hostile = {"HYC_LIVE__CLOUD": "aws", "HYC_PLANNING__HORIZON": "3y", "COLUMNS": "80"}
        environment = {**os.environ, **by_way_of(loaded), **hostile}
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        (directory / "told").write_text(done.stdout, encoding="utf-8")

    made = built("demo", walk_once)
    return made / "kept", (made / "told").read_text(encoding="utf-8")


def test_the_demo_leaves_nothing_and_its_ledger_says_so(walked: tuple[Path, str]) -> None:
    folder, told = walked
    ledger = json.loads((folder / ".hcloud" / "fake-aws.json").read_text(encoding="utf-8"))
    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    slots = plan["changes"]["slots"]
    wanted = sum(slot["count"] for slot in slots)
    assert len(ledger["machines"]) == wanted > 1
    assert all(machine["ended_at"] is not None for machine in ledger["machines"])
    assert len(ledger["purchases"]) == sum(line["term_years"] > 0 for line in plan["mix"]) >= 1
    assert f"{wanted} machines were wanted and {wanted} launched, in spite of the kill; 0 are running." in " ".join(told.split())
    assert "nothing found" in told
    assert "jobs: 12 completed" in told
    assert "none still running" in told


def test_the_kill_in_the_demo_is_a_real_one_and_half_way(walked: tuple[Path, str]) -> None:
    folder, told = walked
    assert f"(killed: exit code {KILLED})" in told
    killed, resumed = (path.read_text(encoding="utf-8") for path in sorted((folder / "screens").glob("*-apply-plan*")))
    assert "converged" not in killed
    assert "adopt" in resumed
    # Both orders are on their way at once: the second may have been answered, too, before the first ends the process.
    assert re.search(r"converged: \d+ launched, 0 terminated", resumed)


def test_a_machine_that_neighbours_press_on_is_measured_as_bad_and_given_back(walked: tuple[Path, str]) -> None:
    folder, told = walked
    scores = [
        entry["score"]
        for name in ("journal.1.jsonl", "journal.jsonl")
        for line in (folder / "rented" / "operate" / name).read_text(encoding="utf-8").splitlines()
        if (entry := json.loads(line)).get("event") == "quality"
    ]
    good, bad = scores
    assert bad < good
    assert "its quality fell short" in " ".join(told.split())
    assert re.search(rf"quality of 1 launched machine, % +[\d.]+ +{100 * bad:.1f}", told)


def test_every_line_of_a_result_stands_on_the_screen_of_its_command(walked: tuple[Path, str]) -> None:
    folder, told = walked
    screens = "\n".join(path.read_text(encoding="utf-8") for path in sorted((folder / "screens").iterdir()))
    said = {line.strip() for line in screens.splitlines()}
    results = [b for b in re.findall(r"(?m)^\$ .*\n(?:^    \S.*\n)*((?:^  .*\n)+)", told) if b]
    lines = [line.strip() for block in results for line in block.splitlines() if not line.startswith("  (")]
    assert len(lines) > 40
    strange = [line for line in lines if not any(s.startswith(line.removesuffix("…").strip()) for s in said)]
    assert strange == []
    assert len(list((folder / "screens").iterdir())) == len(walk()["steps"]) + 1


def test_a_line_that_was_folded_is_shown_to_its_end(walked: tuple[Path, str]) -> None:
    said = " ".join(walked[1].split())
    assert "at list prices" in said
    assert "'hcloud pricing refresh --provider aws --region " in said
    assert "around the clock: so the report's dollars are not the plan's" in said
    assert re.search(r"1y no upfront · [\d-]+~?\n +4 +\d", walked[1]), "the figures of a line of the mix"
    assert "…" not in said
    assert max(map(len, walked[1].splitlines())) <= 80


def test_a_kept_demo_can_be_gone_on_with(walked: tuple[Path, str], capsys: pytest.CaptureFixture[str]) -> None:
    folder, _ = walked
    assert run(["status", "--file", str(folder / "hcloud.yaml")]) == 0
    assert "0 machines" in capsys.readouterr().out


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    assert run(["demo", "--keep", str(tmp_path)]) == 64
    assert "is not an empty folder" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.usefixtures("quick_starts")
@pytest.mark.parametrize(
    "step",
    [
        DemoStep("fails", "", ("plan", "not-there.csv"), (".",)),
        DemoStep("says nothing of it", "", ("--version",), ("no such line",)),
    ],
    ids=lambda step: step.title,
)
def test_a_step_that_fails_ends_the_demo(step: DemoStep, tmp_path: Path) -> None:
    with pytest.raises(DemoError, match=r"exit code 1|did not show") as caught:
        Demo(tmp_path, 100).run(step, unheard)
    assert caught.value.exit_code == 1


def test_a_ledger_that_does_not_fit_ends_the_demo(walked: tuple[Path, str], tmp_path: Path) -> None:
    folder, _ = walked
    ledger = json.loads((folder / ".hcloud" / "fake-aws.json").read_text(encoding="utf-8"))
    ledger["machines"][0]["ended_at"] = None
    (tmp_path / ".hcloud").mkdir()
    (tmp_path / ".hcloud" / "fake-aws.json").write_text(json.dumps(ledger), encoding="utf-8")
    (tmp_path / "plan.json").write_bytes((folder / "plan.json").read_bytes())
    shutil.copytree(folder / "screens", tmp_path / "screens")
    with pytest.raises(DemoError, match="1 of them standing"):
        Demo(tmp_path, 100).facts()


def test_a_report_that_is_a_cent_off_ends_the_demo(walked: tuple[Path, str], tmp_path: Path) -> None:
    folder, told = walked
    shutil.copytree(folder, tmp_path / "copy", ignore=shutil.ignore_patterns("operate"))  # it has pipes
    facts = Demo(tmp_path / "copy", 100).facts()
    assert facts.reported == facts.billed > 1000
    assert f"${facts.billed:,}" in told
    screen = next((tmp_path / "copy" / "screens").glob("*report-cost*"))
    text = screen.read_text(encoding="utf-8")
    wrong = re.sub(r'("billed": ")[0-9.]+', rf"\g<1>{facts.billed + Decimal('0.01')}", text, count=1)
    screen.write_text(wrong, encoding="utf-8")
    with pytest.raises(DemoError, match="own bill"):
        Demo(tmp_path / "copy", 100).facts()


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="profile run needs Linux")
def test_the_measurement_of_the_demo_is_one_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known, [step] = walk(), walk()["measuring"]
    words = tuple("5s" if word == "18s" else word for word in step.words)
    assert words != step.words
    at = words.index("--time-cap")
    in_short = (*words[:at], "--vcpus", "0.4", "--memory-gib", "0.25", *words[at:])  # so little is soon filled
    told = {**known, "measuring": (replace(step, words=in_short),)}
    monkeypatch.setattr("hcloud.usecases.tools.demo.walk", lambda: told)
    measured = Demo(tmp_path, 100)
    measured.prepare()
    shown, is_enough = measured.measure(unheard)
    assert any(line.startswith("nightly") for line in shown.lines)
    assert is_enough is is_measured(tmp_path / "profiles" / "nightly.profile.yaml")
    told_why = any(re.match(r" +memcap: no", line) for line in shown.lines)
    assert is_enough or told_why, "on a busy machine, or without control groups, it says why there is no score"
    measured.begin(measured=is_enough, tried=True)
    assert f",{measured.app}" in (tmp_path / "trace.csv").read_text(encoding="utf-8")
    assert [p.name for p in (tmp_path / "profiles").iterdir()] == [f"{measured.app}.profile.yaml"]


@pytest.mark.parametrize("enough", [True, False])
def test_only_a_measurement_that_says_enough_is_gone_on_with(enough: bool, tmp_path: Path) -> None:
    """Whatever this machine lets a measurement find, both ways are gone."""
    found = load_profile(bundled("profiles") / "awk.profile.yaml")
    kept = {aspect: known for aspect, known in found.entries.items() if enough or aspect is not Aspect.TOLERATED}
    measured = Demo(tmp_path, 100)
    measured.prepare()
    (tmp_path / "profiles").mkdir(exist_ok=True)
    own = tmp_path / "profiles" / "nightly.profile.yaml"
    save_profile(replace(found, app="nightly", entries=kept), own)
    assert is_measured(own) is enough
    steps = measured.begin(measured=is_measured(own), tried=True)
    assert (measured.app == "nightly") is enough
    assert [step.title for step in steps][:1] == [walk()["steps"][0].title]
    assert f",{measured.app}" in (tmp_path / "trace.csv").read_text(encoding="utf-8")
    assert [p.name for p in (tmp_path / "profiles").iterdir()] == [f"{measured.app}.profile.yaml"]
