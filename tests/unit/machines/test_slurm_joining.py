"""Start-up scripts: a shell can read them, they hold no secret, and they are the same at every call."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from hcloud.errors import UsageError
from hcloud.providers.slurm.config import files
from hcloud.providers.slurm.joining import CONTROLLER, MUNGE_KEY, reading, script
from hcloud.providers.slurm.site import NodeGroup, SlurmSite

STORES = {
    "aws:/hcloud/slurm": "aws ssm get-parameter --with-decryption",
    "gcp:hcloud-slurm": "gcloud --quiet secrets versions access latest --secret hcloud-slurm-munge-key",
    "azure:vault": "az keyvault secret show --vault-name vault --name slurm-munge-key",
}


def _site(store: str = "", folder: str = "/var/lib/hcloud/slurm") -> SlurmSite:
    return SlurmSite(Path(folder), (NodeGroup("m6i.xlarge", 4, 16384, 2, 8),), store=store)


def _readable(text: str) -> None:
    assert subprocess.run(["/bin/sh", "-n"], input=text, text=True, capture_output=True, check=False).stderr == ""


@pytest.mark.parametrize("store", ["", *STORES])
def test_a_start_up_script_is_one_that_a_shell_can_read(store: str) -> None:
    made = script(_site(store), "hc-m6i-xlarge-3", Path("/etc/slurm/it's slurm.conf"))
    _readable(made)
    assert made == script(_site(store), "hc-m6i-xlarge-3", Path("/etc/slurm/it's slurm.conf"))
    assert "slurmd -D -b -N hc-m6i-xlarge-3" in made
    assert STORES.get(store, "export SLURM_CONF=") in made
    assert ("--conf-server" in made) is bool(store)


@pytest.mark.parametrize("store", ["shed:x", "aws", "aws:", ":x"])
def test_a_store_that_there_is_not_is_refused(store: str) -> None:
    with pytest.raises(UsageError, match="no store of secrets"):
        reading(store, MUNGE_KEY)


def test_names_in_a_command_are_quoted() -> None:
    assert "'a;b'/controller" in reading("aws:a;b", CONTROLLER)


def test_every_script_of_a_site_is_one_that_a_shell_can_read() -> None:
    made = files(_site(folder="/srv/it's here"), "/etc/slurm")
    scripts = [text for text in made.values() if text.startswith("#!")]
    assert len(scripts) == 4
    for text in scripts:
        _readable(text)
