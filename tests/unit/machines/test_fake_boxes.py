"""What a machine of a fake cloud finds in place of its cloud's command: it answers what the real one is asked as the
real one does, and nothing else."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from hcloud.fake.boxes import Box
from hcloud.providers.slurm.joining import CONTROLLER, MUNGE_KEY, listening, reading

KEPT = {"aws": "hcloud/slurm/{}", "gcp": "hcloud-slurm-{}", "azure": "vault/slurm-{}"}
STORES = {"aws": "aws:hcloud/slurm", "gcp": "gcp:hcloud-slurm", "azure": "azure:vault"}


@pytest.fixture
def box(tmp_path: Path) -> Box:
    found = Box(tmp_path / "it's a store", tmp_path / "bin")
    found.install()
    return found


def _ask(box: Box, command: str) -> tuple[str, int]:
    seen = {"PATH": f"{box.bin}:{os.defpath}"}
    done = subprocess.run(["/bin/sh", "-c", command], env=seen, capture_output=True, text=True, check=False)
    return done.stdout.strip(), done.returncode


@pytest.mark.parametrize("cloud", ["aws", "gcp"])
def test_the_command_of_the_start_up_script_reads_what_is_in_the_store(box: Box, cloud: str) -> None:
    for what in (MUNGE_KEY, CONTROLLER):
        assert _ask(box, reading(STORES[cloud], what))[1] != 0, "there is nothing yet"
        box.put(KEPT[cloud].format(what), f"the {what}")
        assert _ask(box, reading(STORES[cloud], what)) == (f"the {what}", 0)


@pytest.mark.parametrize(
    "command",
    [
        "aws ssm get-parameter --with-decryption --query Parameter.Value --output text --name hcloud/slurm/controller",
        "aws ssm get-parameters --names /hcloud/slurm/controller",
        "aws ssm get-parameter --decrypt --name /hcloud/slurm/controller",
        "gcloud secrets versions access latest --name hcloud-slurm-controller",
        "az keyvault secret show --vault-name vault --name slurm-controller --query value --output tsv",
        "systemctl restart munge",
    ],
)
def test_what_the_real_command_refuses_is_refused(box: Box, command: str) -> None:
    """A parameter with a path needs a slash in front, and who has not signed in to Azure reads nothing there."""
    for kept in KEPT.values():
        box.put(kept.format(CONTROLLER), "there")
    told, code = _ask(box, command)
    assert (told, code != 0) == ("", True)


@pytest.mark.parametrize("cloud", ["gcp", "azure"])
def test_a_machine_hears_that_it_is_taken_back_and_not_that_another_is(box: Box, cloud: str) -> None:
    def heard(machine: str) -> str:
        return _ask(box, f"HYC_MACHINE=x/{machine}; export HYC_MACHINE\n{listening(cloud)}taken")[0]

    assert (heard("m-1"), heard("m-11")) == ("", "")
    box.warn("m-1")
    assert heard("m-1").startswith(("Google takes", "Azure tells of: Preempt"))
    assert heard("m-11") == ""


def test_secrets_are_for_their_owner_only(box: Box) -> None:
    box.put("a/b", "secret")
    assert (box.secrets / "a" / "b").stat().st_mode & 0o077 == 0


def test_a_dressed_script_holds_the_user_data_as_it_is(box: Box) -> None:
    script = "#!/bin/sh\ncat <<'END'\n$HOME `id` 'x'\nEND\n"
    dressed = box.dress(script)
    assert script in dressed
    assert subprocess.run(["/bin/sh", "-n"], input=dressed, text=True, check=False).returncode == 0
