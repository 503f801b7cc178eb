"""A cluster a test, or one for all tests of a worker that change nothing for each other."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from slurm_cluster import Cluster, cluster, missing

from benchmarks.children import Forker
from slurm.controllers import Controllers


def needed() -> None:
    """Skip where Slurm is absent; CI installs it, so that there it fails."""
    if absent := missing():
        why = f"Slurm is not installed ({absent}): apt-get install slurm-wlm munge"
        if os.environ.get("CI") == "true":
            pytest.fail(why)
        pytest.skip(why)


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder with a short name: sockets have few letters for theirs."""
    needed()
    with tempfile.TemporaryDirectory(prefix="hc-slurm-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture
def slurm(home: Path) -> Iterator[Cluster]:
    """A cluster of its own."""
    with cluster(home) as found:
        yield found


@pytest.fixture
def controllers(forker: Forker) -> Iterator[Controllers]:
    """Starts controllers, and ends them."""
    found = Controllers(forker)
    yield found
    found.close()
