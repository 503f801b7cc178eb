"""In a rehearsal in memory the machines of live work run here: their user data is executed, and slurmd joins."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hcloud.errors import UsageError

if TYPE_CHECKING:
    from hcloud.usecases.live.ground import LiveGround

MACHINES, COMMANDS, SECRETS = "fake-machines", "fake-commands", "fake-secrets"
"""Beside the state: the folders of machines, the clouds' commands, and the store that these answer from."""


@contextmanager
def executed(here: LiveGround, *, joins: bool) -> Iterator[None]:
    """Where machines are to join Slurm (``joins``), those that a cloud in memory launches run as process groups of this
    machine; as those of a cloud they outlast this process. UsageError where this user cannot give them a system of
    their own."""
    from hcloud.fake.in_memory.memory import MemoryCloud

    memory = here.cloud
    if not (joins and isinstance(memory, MemoryCloud)):
        yield
        return
    if os.geteuid() != 0:
        raise UsageError(
            f"--cloud {here.selection}: its machines run here, each with folders and processes of its own",
            hint="run it as root, or use --cloud local",
        )
    from hcloud.fake.boxes import Box
    from hcloud.fake.execute import LastingExecutor
    from hcloud.profiling.local.machines import ProcessHost

    beside = here.beside.resolve()
    box = Box(beside / SECRETS, beside / COMMANDS)
    box.install()
    host = ProcessHost(beside / MACHINES)
    with LastingExecutor(memory.ledger, memory.clock, host, here.size_of, box):
        yield
