"""``hcloud slurm config`` and ``check``: what a cluster needs, and what is missing in one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from slurm_cluster import SEARCHED, Cluster

from hcloud.cli.main import run
from hcloud.errors import InputError
from hcloud.policy.facts import Setup, TypeFacts
from hcloud.policy.registry import compose
from hcloud.providers.slurm.site import FILE_NAME, NodeGroup, load_site
from hcloud.readers.strategies import load_strategy
from hcloud.usecases.live.slurm import check_cluster, groups_of

TYPES = ("--type", "m6i.xlarge=4x16:10+64", "--type", "t3.small=2x2")


def _checks(capsys: pytest.CaptureFixture[str], conf: Path, *flags: str, code: int = 0) -> dict[str, dict[str, Any]]:
    assert run(["slurm", "check", "--conf", str(conf), "--json", *flags]) == code
    return {c["name"]: c for c in json.loads(capsys.readouterr().out)["checks"]}


def test_config_prints_nodes_with_weights_and_the_partition(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["slurm", "config", *TYPES, "--partition", "batch"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "NodeName=hcr-m6i-xlarge-[0-9] CPUs=4 RealMemory=16384 State=CLOUD Weight=1 Feature=reserved" in lines
    assert "NodeName=hc-t3-small-[0-63] CPUs=2 RealMemory=2048 State=CLOUD Weight=100 Feature=ondemand" in lines
    assert "SuspendExcNodes=hcr-m6i-xlarge-[0-9]" in lines
    (partition,) = [line for line in lines if line.startswith("PartitionName=batch ")]
    assert partition.endswith("SuspendTime=31536000 DefMemPerCPU=1024")


def test_the_types_of_a_controller_become_groups_of_nodes() -> None:
    types = (TypeFacts("t3.small", 2000, 2048, 30.0, 9000), TypeFacts("m6i.xlarge", 4000, 16384, 30.0, 9000))
    rules = compose(load_strategy("HM"), 1)
    setup = Setup("HM", "", rules, False, 3, None, types)
    assert groups_of(setup) == (NodeGroup("t3.small", 2, 2048, 0, 64), NodeGroup("m6i.xlarge", 4, 16384, 3, 64))
    whole = replace(setup, whole_servers=True)
    assert groups_of(whole) == (NodeGroup("m6i.xlarge", 4, 16384, 3, 64),)


def test_config_writes_what_check_accepts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    conf = tmp_path / "slurm.conf"
    conf.write_text("ClusterName=x\nPrivateData=jobs\nSlurmctldParameters=enable_configless\n")
    assert run(["slurm", "config", *TYPES, "--out", str(tmp_path), "--folder", str(tmp_path / "f")]) == 0
    assert [group.on_demand for group in load_site(tmp_path / FILE_NAME).groups] == [64, 64]
    found = _checks(capsys, conf, "--offline", code=1)
    assert found["files"]["status"] == found["folder"]["status"] == "ok"
    said = "\n".join(found["settings"]["details"])
    assert "PrivateData=jobs,cloud   # now: jobs" in said
    assert "SlurmctldParameters=enable_configless,idle_on_node_suspend" in said
    assert "Include hcloud.conf" in found["settings"]["hint"]
    conf.write_text("ClusterName=x\nInclude hcloud.conf # ours\n")
    assert _checks(capsys, conf, "--offline")["settings"]["status"] == "ok"
    (tmp_path / "hcloud-prolog").chmod(0o644)
    (tmp_path / "hcloud.conf").unlink()
    assert "not executable" in str(_checks(capsys, conf, "--offline", code=1)["files"])


def test_a_job_submit_lua_of_somebody_else_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "job_submit.lua").write_text("-- ours\n")
    assert run(["slurm", "config", *TYPES, "--out", str(tmp_path), "--folder", str(tmp_path / "f")]) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["job_submit.lua"]


def test_a_folder_that_is_not_there_is_made_for_a_cluster_of_this_machine_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A cluster that runs already has its slurm.conf somewhere: another folder is a slip."""
    there, kept = tmp_path / "not" / "there", ("--folder", str(tmp_path / "f"))
    assert run(["slurm", "config", *TYPES, "--out", str(there), *kept]) == 1
    assert f"{there}: there is no such folder" in capsys.readouterr().err
    assert not there.parent.exists()
    assert not (tmp_path / "f").exists()
    assert run(["slurm", "config", "--cloud", "local", "--out", str(there), *kept]) == 0
    assert "Include hcloud.conf" in (there / "slurm.conf").read_text()


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--type", "nonsense"],
        ["--type", "a=0x1"],
        ["--cloud", "aws"],
        [*TYPES, "--partition", "a b"],
        [*TYPES, "--store", "shed:x"],
    ],
)
def test_what_cannot_be_configured_is_refused(words: list[str]) -> None:
    assert run(["slurm", "config", *words]) == 64


def test_check_without_a_site_says_what_writes_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = _checks(capsys, tmp_path / "slurm.conf", code=1)
    assert "hcloud slurm config --out" in found["site"]["hint"]


def test_check_accepts_a_running_cluster_and_says_what_one_lacks(
    slurm: Cluster, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", SEARCHED)
    found = _checks(capsys, slurm.conf)
    assert {name: check["status"] for name, check in found.items()} == dict.fromkeys(found, "ok")
    assert set(found) == {"site", "files", "folder", "version", "slurmctld", "settings", "nodes", "rights"}
    conf = slurm.home / "hcloud.conf"
    lines = [
        line for line in conf.read_text().splitlines() if not line.startswith(("PrologSlurmctld", "NodeName=hc-m"))
    ]
    conf.write_text("\n".join(line.replace("hc-medium-[0-1],", "").replace(",hc-medium-[0-1]", "") for line in lines))
    slurm.kill_controller()
    slurm.start_controller()
    found = _checks(capsys, slurm.conf, code=1)
    assert "PrologSlurmctld=" in found["settings"]["details"][0]
    assert found["nodes"]["details"] == ["hc-medium-0", "hc-medium-1"]
    with pytest.raises(InputError) as said:
        check_cluster(slurm.site, slurm.conf, slurm.commands)
    assert "PrologSlurmctld=" in str(said.value)
    assert "hc-medium-1" in str(said.value)
    assert "Include hcloud.conf" in said.value.hint
    slurm.kill_controller()
    found = _checks(capsys, slurm.conf, code=1)
    assert found["slurmctld"]["status"] == "error"
    assert "scontrol ping" in found["slurmctld"]["hint"]


def test_where_there_is_no_slurm_conf_one_for_this_machine_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("slurm", "config", "--type", "m5.large=2x8:0+4", "--out", str(tmp_path), "--folder", str(tmp_path / "f"))
    assert run([*words]) == 0
    assert not (tmp_path / "slurm.conf").exists(), "a cluster of a cloud is no cluster on one machine"
    assert run([*words, "--cloud", "fake"]) == 0
    told = capsys.readouterr().err
    assert "ssm:GetParameter on arn:aws:ssm:*:*:parameter/hcloud-slurm/*" in " ".join(told.split())
    conf = tmp_path / "slurm.conf"
    found = _checks(capsys, conf, "--offline")
    assert {check["status"] for check in found.values()} == {"ok"}
    before = conf.read_text()
    conf.write_text(before + "# mine\n")
    assert run([*words, "--cloud", "fake"]) == 0
    assert conf.read_text() == before + "# mine\n", "an administrator's file stays as it is"


def test_machines_of_a_cloud_get_no_file_that_is_included_by_a_path(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--type", "m5.large=2x8", "--store", "gcp:nodes", "--out", str(tmp_path), "--folder", str(tmp_path / "f"))
    assert run(["slurm", "config", *words]) == 0
    conf = tmp_path / "slurm.conf"
    conf.write_text(f"ClusterName=x\nInclude {tmp_path}/hcloud.conf\n")
    found = _checks(capsys, conf, "--offline", code=1)["store"]
    assert found["status"] == "error"
    assert "secretmanager.versions.access" in found["details"][0]
    conf.write_text("ClusterName=x\nInclude hcloud.conf\n")
    assert _checks(capsys, conf, "--offline")["store"]["status"] == "ok"
