"""``hcloud doctor``: what is installed, what clashes with our name, and where things are."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from pathlib import Path

import pytest

from hcloud import __version__
from hcloud.cli.main import run
from hcloud.errors import MissingExtraError
from hcloud.installation import install_command
from hcloud.usecases.extras import EXTRAS, require
from hcloud.usecases.tools.doctor import FOR_WHAT

ROOT = Path(__file__).resolve().parents[3]
NOW = ("--now", "2026-11-20T12:00:00Z")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory and a PATH of two empty directories."""
    for name in ("home", "first", "second"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "home")
    monkeypatch.setenv("PATH", os.pathsep.join(str(tmp_path / n) for n in ("first", "second")))
    return tmp_path


def checks(capsys: pytest.CaptureFixture[str], code: int = 0) -> dict[str, dict[str, str]]:
    assert run(["doctor", "--json", *NOW]) == code
    document = json.loads(capsys.readouterr().out)
    assert (document["format_version"], document["generated_at"]) == ("1.0", "2026-11-20T12:00:00Z")
    return {c["name"]: c for c in document["checks"]}


def binary(directory: Path, text: str) -> Path:
    path = directory / "hcloud"
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def test_a_healthy_installation(capsys: pytest.CaptureFixture[str]) -> None:
    found = checks(capsys)
    assert found["hcloud"]["message"].startswith(__version__)
    assert found["python"]["message"].startswith(sys.version.split()[0])
    assert "SR, OdF, OdM, HF, HM" in found["strategies"]["message"]
    assert "days old" in found["bundled prices"]["message"]
    assert all(c["status"] != "error" for c in found.values())


def test_every_extra_says_what_it_is_for() -> None:
    assert set(FOR_WHAT) == set(EXTRAS), "without that an extra that is missing breaks the verb"


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor"]) == 0
    shown = capsys.readouterr()
    assert "python" in shown.out
    assert "skipped" in shown.out or "[fake]" in shown.out
    assert " ok" in shown.err


def test_missing_extras_name_their_command(capsys: pytest.CaptureFixture[str]) -> None:
    found = checks(capsys)
    for extra in EXTRAS:
        check = found[f"[{extra}]"]
        assert check["status"] == "ok" or check["hint"] == install_command(extra)


def test_the_extras_are_those_of_the_project_file() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {
        name: tuple(r.split(">")[0].split("=")[0].split("[")[0] for r in requirements)
        for name, requirements in project["optional-dependencies"].items()
    }
    assert declared == EXTRAS


def test_a_foreign_command_that_comes_first(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    foreign = binary(elsewhere / "first", "#!/bin/sh\necho somebody else\n")
    binary(elsewhere / "second", "#!/bin/sh\nexec python -c 'from hcloud.__main__ import main'\n")
    command = checks(capsys)["command"]
    assert command["status"] == "warning"
    assert str(foreign) in command["message"]
    assert "hyc" in command["hint"]


def test_a_foreign_command_that_comes_second(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    binary(elsewhere / "first", "#!/bin/sh\nexec python -c 'from hcloud.__main__ import main'\n")
    foreign = binary(elsewhere / "second", "\x7fELF something\n")
    command = checks(capsys)["command"]
    assert command["status"] == "ok"
    assert str(foreign) in str(command["details"])


def test_a_foreign_package(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert checks(capsys)["package"]["status"] == "ok"
    info = elsewhere / "site" / "hcloud-2.4.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hcloud\nVersion: 2.4.0\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(elsewhere / "site"))
    package = checks(capsys)["package"]
    assert package["status"] == "warning"
    assert "hcloud 2.4.0" in package["message"]


def test_a_broken_configuration_or_price_store_fails(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (elsewhere / "home" / "hcloud.yaml").write_text("planing: {}\n", encoding="utf-8")
    store = elsewhere / "user-prices"
    store.mkdir(exist_ok=True)
    (store / "prices.csv").write_text("not,a,price,table\n1,2,3,4\n", encoding="utf-8")
    found = checks(capsys, code=1)
    assert found["configuration"]["status"] == "error"
    assert "did you mean planning?" in str(found["configuration"]["details"])
    assert found["own prices"]["status"] == "error"


def test_nothing_is_written(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(elsewhere.rglob("*"))
    checks(capsys)
    assert sorted(elsewhere.rglob("*")) == before


def test_a_required_extra_that_is_missing_is_an_error_with_its_install_command() -> None:
    require(["here"], {"here": ("pytest",)})
    with pytest.raises(MissingExtraError, match="no-such-distribution") as caught:
        require(["here", "gone"], {"here": ("pytest",), "gone": ("no-such-distribution",)})
    assert caught.value.hint.endswith(install_command("gone"))
    assert run(["doctor", "--require", "ibm", *NOW]) == 64
