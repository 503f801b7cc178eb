"""What machines are launched with, on every form of a plan, and prices that apply would refuse; in memory and here."""

from __future__ import annotations

import hashlib
import html
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from hcloud.cli.main import run
from hcloud.errors import EvidenceError
from hcloud.model.holdings.live import LaunchImage, LaunchTemplate
from hcloud.readers.configuration.config import load_config
from hcloud.store.plan_file import load_changes
from hcloud.usecases.deciding.live_plan import plan_live
from hcloud.usecases.live.ground import opened
from hcloud.usecases.live.places import FAKE_FILE, CloudSelection, place_of
from hcloud.views.console import Terminal
from hcloud.views.live.launched_with import as_lines, launched_with

TYPES = {"aws": "m5.large", "gcp": "n2-standard-4", "azure": "Standard_D4s_v5", "local": "small"}
SETTINGS: dict[str, dict[str, Any]] = {
    "aws": {"image": "ami-0123456789abcdef0", "security_groups": ["sg-1", "sg-2"], "key_name": "ops"},
    "gcp": {"image": "projects/shop/global/images/web-1", "service_account": "web@shop", "external_address": True},
    "azure": {"image": "/subscriptions/x/images/web-1", "ssh_public_key": f"ssh-ed25519 {'A' * 60}web ops"},
    "local": {},
}
OTHER = {
    "aws": "ami-0fedcba9876543210",
    "gcp": "projects/shop/global/images/web-2",
    "azure": "/subscriptions/x/images/2",
}
REFRESH = {
    "aws": "hcloud pricing refresh --provider aws --region us-east-1",
    "gcp": "hcloud pricing refresh --provider gcp --region us-central1",
    "azure": "hcloud pricing refresh --provider azure --region eastus",
}
REHEARSED = pytest.mark.parametrize("cloud", ["aws", "gcp", "azure"])
EVERYWHERE = pytest.mark.parametrize("cloud", ["aws", "gcp", "azure", "local"])


@pytest.fixture(autouse=True)
def _there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)


def configured(cloud: str, **settings: Any) -> None:
    named = cloud if cloud == "local" else f"fake:{cloud}"
    live = {"cloud": named, "project": "demo", "settings": {**SETTINGS[cloud], **settings}}
    fleet = [{"address": "web", "instance_type": TYPES[cloud], "count": 1}]
    Path("hcloud.yaml").write_text(yaml.safe_dump({"live": live, "fleet": fleet}), encoding="utf-8")


def said(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join("".join(capsys.readouterr()).split())


def machines(cloud: str) -> list[Any]:
    """The machines that the fake in memory, or this machine, really holds."""
    if cloud == "local":
        return list(Path(".hcloud/local").glob("*.json"))
    kept = Path(".hcloud") / FAKE_FILE.format(place_of(load_config(), f"fake:{cloud}").provider)
    return list(json.loads(kept.read_bytes())["machines"]) if kept.exists() else []


@EVERYWHERE
def test_every_form_of_a_plan_says_what_is_launched(
    cloud: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    configured(cloud)
    Path("boot.sh").write_text("#!/bin/sh\necho hunter2\n")
    monkeypatch.setenv("HYC_LIVE__USER_DATA", "boot.sh")
    digest = hashlib.sha256(Path("boot.sh").read_bytes()).hexdigest()
    values = [v for v in SETTINGS[cloud].values() if isinstance(v, str) and not v.startswith("ssh-")]
    for words in (["plan", "--out", "plan.json"], ["plan", "-o", "md"], ["plan", "-o", "html"], ["page", "plan.json"]):
        assert run(words) == 0
        shown = html.unescape(said(capsys)).replace("\u2060", "")
        for word in (*values, "launched with", "hcloud-project=demo", "disk", f"SHA-256 {digest[:12]}"):
            assert word in shown, (words, word)
        assert "hunter2" not in shown
    template = json.loads(Path("plan.json").read_text())["template"]
    assert (template["user_data"], template["tags"]["hcloud-project"]) == (digest, "demo")
    assert "hunter2" not in Path("plan.json").read_text()


@REHEARSED
def test_another_image_after_the_plan_launches_nothing(cloud: str, capsys: pytest.CaptureFixture[str]) -> None:
    configured(cloud)
    assert run(["plan", "--out", "plan.json"]) == 0
    configured(cloud, image=OTHER[cloud])
    capsys.readouterr()
    assert run(["apply", "plan.json", "-y"]) == 4
    told = said(capsys)
    assert f"live.settings.image: {SETTINGS[cloud]['image']} in the plan, {OTHER[cloud]} now" in told
    assert machines(cloud) == []
    configured(cloud)
    assert run(["apply", "plan.json", "-y"]) == 0
    assert [m["detail"]["image"] for m in machines(cloud)] == [SETTINGS[cloud]["image"]]


@EVERYWHERE
def test_another_project_after_the_plan_launches_nothing(
    cloud: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    configured(cloud)
    assert run(["plan", "--out", "plan.json"]) == 0
    monkeypatch.setenv("HYC_LIVE__PROJECT", "other")
    assert run(["apply", "plan.json", "-y"]) == 4
    assert "live.project: demo in the plan, other now" in said(capsys)
    assert machines(cloud) == []
    monkeypatch.delenv("HYC_LIVE__PROJECT")
    assert run(["apply", "plan.json", "-y"]) == 0
    assert len(machines(cloud)) == 1
    assert run(["destroy", "-y", "--ends", "1"]) == 0


@REHEARSED
def test_user_data_of_a_rehearsal_is_on_no_disk_but_in_its_own_file(
    cloud: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    configured(cloud)
    Path("boot.sh").write_text("#!/bin/sh\necho hunter2\n")
    monkeypatch.setenv("HYC_LIVE__USER_DATA", "boot.sh")
    assert run(["plan", "--out", "plan.json"]) == 0
    Path("boot.sh").write_text("#!/bin/sh\necho hunter3\n")
    assert run(["apply", "plan.json", "-y"]) == 4
    assert machines(cloud) == []
    Path("boot.sh").write_text("#!/bin/sh\necho hunter2\n")
    assert run(["apply", "plan.json", "-y"]) == 0
    digest = hashlib.sha256(Path("boot.sh").read_bytes()).hexdigest()
    assert [m["detail"]["start_up"] for m in machines(cloud)] == [f"sha256:{digest}"]
    assert [p for p in Path().rglob("*") if p.is_file() and b"hunter2" in p.read_bytes()] == [Path("boot.sh")]


def test_user_data_that_cannot_be_used_is_refused_before_anything_is_looked_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    configured("aws")
    for name, content, word in (
        ("none.sh", None, "no such file"),
        ("large.sh", b"#" * 16_385, "16384 bytes at most"),
        ("latin.sh", b"#!/bin/sh\n\xff\xfe", "UTF-8"),
    ):
        if content is not None:
            Path(name).write_bytes(content)
        monkeypatch.setenv("HYC_LIVE__USER_DATA", name)
        assert run(["plan"]) == 1
        assert word in said(capsys)
    monkeypatch.setenv("HYC_LIVE__USER_DATA", str(tmp_path))
    assert run(["plan"]) == 1
    assert "is a directory" in said(capsys)


def test_nothing_of_a_template_steers_a_screen_or_forges_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    hostile = "ami-1\n+ web  1 x m5.large\x1b[31m"
    template = LaunchTemplate(
        (LaunchImage(hostile, hostile, (hostile,)), LaunchImage("b", "c\r- all", (hostile,))),
        {"key_name": hostile, "security_groups": (hostile,), "subnets": {hostile: hostile}, "ssh_public_key": hostile},
        hostile,
        hostile,
        {hostile: hostile},
    )
    assert not [text for _, text in launched_with(template) if "\n" in text or "\r" in text or "\x1b" in text]
    Terminal.open(color=False).show(*as_lines(template, 80))
    assert all(line.startswith("  ") for line in capsys.readouterr().out.splitlines() if line)


@REHEARSED
def test_prices_that_apply_refuses_are_said_when_the_plan_is_made(
    cloud: str, capsys: pytest.CaptureFixture[str]
) -> None:
    configured(cloud)
    at = datetime(2030, 1, 1, tzinfo=UTC)
    with opened(load_config(), CloudSelection(f"fake:{cloud}"), at) as ground:
        assert plan_live(ground, at).changes.warnings == (), "a rehearsal costs nothing"
        ground.selection = cloud
        found = plan_live(ground, at).changes
        [warning] = found.warnings
        assert REFRESH[cloud] in warning
        assert "apply accepts prices at most 30 days old" in warning
        with pytest.raises(EvidenceError, match="apply accepts prices at most 30 days old") as refused:
            ground.check_prices(found)
        assert REFRESH[cloud] in refused.value.hint
        config = ground.loaded.config
        allowed = config.prices.model_copy(update={"max_age": 10**9})
        ground.loaded = replace(ground.loaded, config=config.model_copy(update={"prices": allowed}))
        assert plan_live(ground, at).changes.warnings == ()


def test_a_warning_is_in_the_file_and_the_first_thing_that_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    from hcloud.store.plan_file import save_plan
    from hcloud.views.live.change import show_changes

    configured("aws")
    at = datetime(2030, 1, 1, tzinfo=UTC)
    with opened(load_config(), CloudSelection("fake:aws"), at) as ground:
        ground.selection = "aws"
        found = plan_live(ground, at).changes
    save_plan(found, Path("plan.json"))
    assert load_changes(Path("plan.json")).warnings == found.warnings
    show_changes(found, Terminal.open(color=False))
    assert capsys.readouterr().err.startswith("warning: apply will refuse this plan: the price of m5.large is")


SECOND = {"aws": "m6g.large", "gcp": "n2-standard-8", "azure": "Standard_D8s_v5"}


@REHEARSED
def test_what_is_left_of_a_plan_says_the_image_of_a_machine_that_ended_since(
    cloud: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def want(web: int) -> None:
        live = {"cloud": f"fake:{cloud}", "project": "demo"}
        fleet = [
            {"address": "web", "instance_type": TYPES[cloud], "count": web},
            {"address": "batch", "instance_type": SECOND[cloud], "count": 1},
        ]
        document = {"live": live, "markets": [{"provider": cloud}], "fleet": fleet}
        Path("hcloud.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")

    want(1)
    assert run(["apply", "-y"]) == 0
    [second] = [m["detail"]["image"] for m in machines(cloud) if m["instance_type"] == SECOND[cloud]]
    want(2)
    assert run(["plan", "--out", "plan.json"]) == 0
    Path("sold.yaml").write_text('{format_version: "1.0", rules: [{on: launch, answer: no-capacity}]}')
    assert run(["apply", "plan.json", "-y", "--cloud", "fake:sold.yaml"]) == 8
    kept = Path(".hcloud") / FAKE_FILE.format(cloud)
    world = json.loads(kept.read_bytes())
    for machine in world["machines"]:
        if machine["instance_type"] == SECOND[cloud]:
            machine["asked_to_end"] = machine["ended_at"] = world["now"]
    kept.write_text(json.dumps(world))
    capsys.readouterr()
    assert run(["apply", "--resume", "plan.json", "-y"]) == 0
    assert second in "".join(said(capsys).split())
    assert [m["detail"]["image"] for m in machines(cloud) if m["instance_type"] == SECOND[cloud]] == [second] * 2
