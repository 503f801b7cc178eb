"""The part of a start-up script that measures a machine, run by a shell; and what is read of a node's comment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hcloud.profiling.local.launch_probe import BestSeen, measured_with
from hcloud.providers.slurm.joining import Probing, script
from hcloud.providers.slurm.probing import measuring, telling, told
from hcloud.providers.slurm.site import SlurmSite

TOOLS = ("sh", "awk", "dd", "getconf", "cat")


def measured(folder: Path, *tools: str) -> str:
    """What a shell prints that has only some tools."""
    for name in tools:
        (folder / name).symlink_to(os.path.realpath(sys.executable) if name == "python3" else str(shutil.which(name)))
    text = measuring(measured_with(), 1) + 'echo "$measured"\n'
    ran = subprocess.run(
        ["/bin/sh"], input=text, env={"PATH": str(folder)}, capture_output=True, text=True, check=True, timeout=60
    )
    return ran.stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize(("tools", "method"), [(("python3", *TOOLS), "python"), (TOOLS, "awk")])
def test_a_shell_measures_with_what_the_machine_has(tmp_path: Path, tools: tuple[str, ...], method: str) -> None:
    said = measured(tmp_path, *tools)
    found = told(f"hcloud-probe:5:{said}", 5)
    assert found is not None
    assert (found.method, found.vcpus) == (method, 1)


def test_a_machine_without_any_of_them_says_nothing(tmp_path: Path) -> None:
    said = measured(tmp_path, "sh")
    assert told(f"hcloud-probe:5:{said}", 5) is None


WRONG = ("4:python:1:2.0:3.0", "5:python:1:2.0", "5:python:1:nan:3.0", "5:python:1:inf:3.0", "5:python:1:0:3.0")


@pytest.mark.parametrize("comment", ["", "rack 7", "x:5:python:1:2:3", *(f"hcloud-probe:{rest}" for rest in WRONG)])
def test_other_comments_say_nothing(comment: str) -> None:
    assert told(comment, 5) is None


def test_a_whole_start_up_script_is_one_that_a_shell_can_read() -> None:
    parts = Probing(measuring(measured_with(), 4), telling("hc-small-3", 5))
    for store in ("", "aws:x"):
        made = script(SlurmSite(Path("/srv/hcloud"), store=store), "hc-small-3", None, parts)
        ran = subprocess.run(["/bin/sh", "-n"], input=made, text=True, capture_output=True, check=False)
        assert ran.stderr == ""
        assert (
            made.index('measured="$(probe') < made.index("\njoin\n") < made.index('comment="hcloud-probe:5:$measured"')
        )
        assert len(made.encode()) < 12_000, "clouds take 16 KiB"


def test_quality_is_what_a_machine_gives_of_the_best_of_its_kind(tmp_path: Path) -> None:
    best = BestSeen(tmp_path / "best.json")
    assert best.score("python 1 small", [100.0, 50.0]) == 1.0
    assert best.score("python 1 small", [80.0, 45.0]) == pytest.approx(0.8)
    assert best.score("python 1 small", [200.0, 25.0]) == pytest.approx(0.5)
    assert BestSeen(tmp_path / "best.json").score("python 1 small", [100.0, 50.0]) == pytest.approx(0.5)
    assert best.score("awk 1 small", [3.0, 2.0]) == 1.0, "another method counts other rounds"
