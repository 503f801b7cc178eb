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
from hcloud.providers.slurm.check import missing, settings_of
from hcloud.providers.slurm.config import conf, files
from hcloud.providers.slurm.limits import not_accepted
from hcloud.providers.slurm.site import FILE_NAME, NodeGroup, SlurmSite, load_site
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


@pytest.mark.parametrize("listed", ["hc-[", "hc-t3-small-[0-", "hc-t3-small-[0-3]]", "hc-t3-small-0,", ""])
@pytest.mark.parametrize("verb", ["suspend", "resume", "resume-failed"])
def test_what_is_no_list_of_nodes_is_refused(
    verb: str, listed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """scontrol makes names of it, so that nothing was done and it looked as if it were."""
    assert run(["slurm", "config", *TYPES, "--out", str(tmp_path), "--folder", str(tmp_path / "f")]) == 0
    capsys.readouterr()
    assert run(["slurm", verb, "--site", str(tmp_path / FILE_NAME), "hc-t3-small-1", listed]) == 64
    assert f"{listed!r}: is no list of nodes" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "f" / "bell").exists()


@pytest.mark.parametrize(
    ("cores", "kept"),
    [(1, "small"), (2, "small"), (4, "small medium"), (6, "small medium large"), (8, "small medium large")],
)
def test_a_type_that_has_no_room_beside_the_reserve_is_not_declared(
    cores: int, kept: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A machine of two cores had nodes of two, which hcloud never launches: jobs waited for them for ever."""
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    assert run(["slurm", "config", "--cloud", "local"]) == 0
    said = capsys.readouterr()
    declared = [name for name in ("small", "medium", "large") if f"NodeName=hc-{name}-" in said.out]
    assert declared == kept.split()
    assert ("left out: " in said.err) == (cores in (2, 4))


def test_all_types_of_this_machine_are_declared_by_the_command_that_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    assert run(["slurm", "config", "--cloud", "local"]) == 0
    words = " ".join(capsys.readouterr().err.split()).partition("OdM: ")[2].split()
    at = len(words) - words[::-1].index("--type") + 1
    assert run(["slurm", "config", *words[:at]]) == 0
    said = capsys.readouterr()
    assert "NodeName=hc-medium-[0-1] CPUs=2 RealMemory=2048" in said.out
    assert "left out" not in said.err


def test_the_types_of_a_controller_become_groups_of_nodes() -> None:
    types = (TypeFacts("t3.small", 2000, 2048, 30.0, 9000), TypeFacts("m6i.xlarge", 4000, 16384, 30.0, 9000))
    rules = compose(load_strategy("HM"), 1)
    setup = Setup("HM", "", rules, False, 3, None, types)
    assert groups_of(setup) == (NodeGroup("t3.small", 2, 2048, 0, 64), NodeGroup("m6i.xlarge", 4, 16384, 3, 64))
    whole = replace(setup, whole_servers=True)
    assert groups_of(whole) == (NodeGroup("m6i.xlarge", 4, 16384, 3, 64),)
    lean = replace(types[1], name="c6i.xlarge", memory=8192)
    several = replace(whole, types=(lean, types[1]), beside=((0, 2),))
    assert [group.on_demand for group in groups_of(several)] == [64, 64], "a job that it holds is rented the lean one"


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
    assert _checks(capsys, conf, "--offline", code=1)["files"]["message"] == "1 not as needed"
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
        [*TYPES, "--cloud", "mars"],
    ],
)
def test_what_cannot_be_configured_is_refused(words: list[str]) -> None:
    assert run(["slurm", "config", *words]) == 64


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--type", "m5.large=2x8", "--type", "m5-large=2x8"], "all would have the node names hc-m5-large-N"),
        (["--type", "m5.large=2x8", "--type", "m5.large=2x8"], "all would have the node names hc-m5-large-N"),
        (["--type", "m5.large=2x8:0+0"], "no nodes"),
        (["--type", "m5.large=2x8:0+65537"], "65,537 nodes (a NodeName line has 65,536 at most)"),
        (["--type", "m5.large=65536x999"], "65,536 vCPUs (a node has 65,535 at most)"),
        (["--type", "m5.large=2x0.001"], "1 MiB"),
        (["--type", "m5.large=2x8:0+50000", "--cloud", "local"], "50,000 nodes on this machine"),
        ([*TYPES, "--partition", "Default"], "the defaults of all partitions"),
        ([*TYPES, "--folder", "/tmp/a#b"], "cannot name a path with '#'"),
        (["--type", "...=2x8"], "a letter a-z or a digit"),
    ],
)
def test_what_slurmctld_would_refuse_is_not_written(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["slurm", "config", "--folder", str(tmp_path / "f"), *words, "--out", str(tmp_path)]) == 1
    assert said in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.iterdir())


def test_check_refuses_a_site_that_slurmctld_would_refuse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Such files were written before."""
    site = SlurmSite(tmp_path / "f", (NodeGroup("m5.large", 2, 8192, 0, 2), NodeGroup("m5-large", 2, 8192, 0, 2)))
    for name, text in files(site, str(tmp_path)).items():
        (tmp_path / name).write_text(text)
    (tmp_path / "slurm.conf").write_text("ClusterName=x\nInclude hcloud.conf\n")
    found = _checks(capsys, tmp_path / "slurm.conf", "--offline", code=1)["site"]
    assert "hc-m5-large-N" in found["details"][0]


def test_slurmctld_refuses_what_is_refused_and_reads_a_folder_with_a_space(slurm: Cluster) -> None:
    place = slurm.home / "a b"
    place.mkdir()
    for name, text in files(slurm.site, str(place)).items():
        (place / name).write_text(text)
        (place / name).chmod(0o755)
    included = slurm.home / "hcloud.conf"
    included.write_text((place / "hcloud.conf").read_text())
    slurm.stop_controller()
    slurm.start_controller()
    said = slurm.commands.settings()
    assert said["resumeprogram"] == f"{place}/hcloud-resume"
    assert not missing(slurm.site, str(place), said)
    assert not missing(slurm.site, str(place), settings_of(included.read_text()))
    slurm.stop_controller()
    for twice in (replace(slurm.site, groups=slurm.site.groups * 2), _many(slurm.site, 65_537)):
        assert not_accepted(twice)
        included.write_text(conf(twice, str(slurm.home)))
        assert "fatal" in slurm.run("slurmctld", "-D", "-f", str(slurm.conf), check=False)


def _many(site: SlurmSite, count: int) -> SlurmSite:
    return replace(site, groups=(NodeGroup("small", 1, 1024, 0, count),), first_port=None)


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
