"""What installs hcloud again: from where it came, never by a name on an index that is nobody's."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from hcloud import installation
from hcloud.profiling.parcel import start_up
from hcloud.readers.applications.app import load_app

ROOT = Path(__file__).parents[3]
SOURCE = {"url": "https://git.example/team/hcloud", "vcs_info": {"vcs": "git", "commit_id": "0a1b2c3d"}}
APP = "format_version: '1.0'\nname: a\nkind: batch\ncommand: [sleep, now]\nshape: {vcpus: 1}\n"


class Installed:
    """A distribution with what its installer noted."""

    def __init__(self, noted: object) -> None:
        self.noted = noted

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return None if self.noted is None else json.dumps(self.noted)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.setattr(installation, "distribution", lambda name: Installed(request.param))


@pytest.mark.parametrize(
    ("installed", "words"),
    [
        (SOURCE, ["hcloud-hybrid[aws] @ git+https://git.example/team/hcloud@0a1b2c3d"]),
        ({"url": "file:///srv/my%20clone", "dir_info": {"editable": True}}, ["-e", "/srv/my clone[aws]"]),
        (None, ["-e", f"{ROOT}[aws]"]),  # run from a checkout
    ],
    indirect=["installed"],
)
@pytest.mark.usefixtures("installed")
def test_an_extra_is_installed_from_where_hcloud_came_from(words: list[str]) -> None:
    assert shlex.split(installation.install_command("aws")) == ["python", "-m", "pip", "install", *words]


@pytest.mark.parametrize("installed", [None, {"url": "file:///srv/x.whl", "archive_info": {}}], indirect=True)
@pytest.mark.usefixtures("installed")
def test_without_a_known_commit_a_placeholder_is_named_and_no_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "_folder", lambda: None)
    assert installation.PLACEHOLDER in installation.install_command()


@pytest.mark.parametrize(
    ("installed", "said"),
    [
        (SOURCE, "'hcloud-hybrid @ git+https://git.example/team/hcloud@0a1b2c3d'"),
        (None, "was not installed from a repository"),
    ],
    indirect=["installed"],
)
@pytest.mark.usefixtures("installed")
def test_a_probe_on_another_machine_installs_this_commit_or_nothing(said: str, tmp_path: Path) -> None:
    described = tmp_path / "app.yaml"
    described.write_text(APP, encoding="utf-8")
    script = start_up(load_app(described, {}), (), "n0")
    assert said in script
    assert "hcloud-hybrid==" not in script


def test_nothing_that_is_told_installs_by_the_name_on_an_index() -> None:
    name = r"hcloud(?:-hybrid)?(?:\[\w+\])?"
    by_name = re.compile(rf"""pip\d? install [^\n]*?["']?{name}["']?(?! @)(?:==|["'\s]|$)""", re.MULTILINE)
    texts = [ROOT / "README.md", *(p for f in ("docs", "examples", "hcloud") for p in (ROOT / f).rglob("*"))]
    readable = [p for p in texts if p.suffix in {".md", ".yml", ".yaml", ".py", ".html"} and "venv" not in p.parts]
    found = [(p, m.group()) for p in readable for m in by_name.finditer(p.read_text(encoding="utf-8"))]
    assert len(readable) > 100
    assert not found
