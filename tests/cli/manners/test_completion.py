"""Tab completes plans, policies, types, regions and addresses, through the protocol that the shells speak."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from hcloud.cli.main import run
from hcloud.model.catalog import Provider
from hcloud.model.clouds.known import CLOUDS
from hcloud.readers.prices.shipped import names
from hcloud.readers.prices.shipped.bundled import load_bundled

ROOT = Path(__file__).parents[3]
Tab = Callable[..., list[str]]


def variables(*words: str) -> dict[str, str]:
    """How bash asks about the last of these words."""
    asked = {"_HCLOUD_COMPLETE": "complete_bash", "COMP_WORDS": f"hcloud {' '.join(words)}"}
    return {**asked, "COMP_CWORD": str(len(words))}


@pytest.fixture
def tab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Tab:
    """What bash is offered for the last of these words."""
    monkeypatch.chdir(tmp_path)

    def offered(*words: str) -> list[str]:
        with monkeypatch.context() as patch:
            for name, value in variables(*words).items():
                patch.setenv(name, value)
            assert run([]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        return out.split()

    return offered


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("plan", "--provider", "a"), {"aws", "azure"}),
        (("plan", "--provider", "gcp", "--region", "us-central"), {"us-central1"}),
        (("pricing", "show", "m7i.4"), {"m7i.4xlarge", "m7i.48xlarge"}),
        (("plan", "--provider", "azure", "--family", "Dlsv"), {"Dlsv5"}),
        (("plan", "--strategy", "H"), {"HF", "HM", "HC"}),
        (("plan", "--strategy", "a"), {"auto"}),
        (("sweep", "--strategy", "HF,H"), {"HF,HF", "HF,HM", "HF,HC"}),
        (("plan", "scenario:h"), {"scenario:high-variability"}),
        (("simulate", "--cloud-model", "measured-a"), {"measured-aws", "measured-azure"}),
        (("apply", "--cloud", "fake:g"), {"fake:gcp"}),
        (("profile", "run", "--resources", "membw,tl"), {"membw,tlb"}),
        (("profile", "run", "--cloud", "gcp", "--instance-type", "n2-standard-2"), {"n2-standard-2"}),
        (("classify", "redi"), {"redis"}),
        (("strategy", "show", "O"), {"OdF", "OdM"}),
        (("plan", "--output", "m"), {"md"}),
    ],
)
def test_tab_offers_the_names_that_fit(words: tuple[str, ...], offered: set[str], tab: Tab) -> None:
    assert set(tab(*words)) == offered


@pytest.mark.usefixtures("quick_starts")
def test_a_process_offers_the_same(tab: Tab) -> None:
    words = ("plan", "--provider", "a")
    environment = {**os.environ, **variables(*words), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "hcloud"], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == tab(*words) == ["aws", "azure"]


def test_tab_offers_plan_files_and_the_addresses_in_one(tmp_path: Path, tab: Tab) -> None:
    for name in ("plan.json", "notes.md", "hcloud.yaml"):
        (tmp_path / name).write_text("{}", encoding="utf-8")
    (tmp_path / "plans").mkdir()
    mix = '{"mix": [{"provider": "aws", "region": "us-east-1", "instance_type": "m7i.large"}], "refusals": []}'
    (tmp_path / "plans" / "monday.json").write_text(mix, encoding="utf-8")
    assert tab("apply", "pl") == ["plan.json", "plans/"]
    assert tab("apply", "plans/") == ["plans/monday.json"]
    assert tab("plan", "--file", "h") == ["hcloud.yaml"]
    assert tab("explain", "plans/monday.json", "aws") == ["aws/us-east-1/m7i.large"]


def test_tab_says_nothing_about_a_file_that_is_broken(tmp_path: Path, tab: Tab) -> None:
    (tmp_path / "plan.json").write_text('{"mix": [7', encoding="utf-8")
    assert tab("explain", "plan.json", "a") == []


whole_book = cache(load_bundled)  # a walk over its offers makes all of them, once


@pytest.mark.parametrize("cloud", sorted(CLOUDS))
def test_the_names_are_those_that_prices_are_read_for(cloud: str) -> None:
    book = whole_book()
    provider = Provider(cloud)
    assert {t.name for t in book.types.values() if t.provider is provider} <= set(names.types(cloud))
    sold = {key for key in book.offers if key.provider is provider}
    assert {key.region for key in sold} == set(names.regions(cloud))
    assert {key.instance_type for key in sold} <= set(names.types(cloud))
