"""What a process does before it forks itself into hcloud: load SDKs, stay on this machine, hear of its children."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

GUARD = "socket guard: "
SDKS = {
    "aws": ("boto3", "botocore.config", "hcloud.providers.aws.provider", "benchmarks.naive_loop"),
    "gcp": ("google.auth", "hcloud.providers.gcp.sdk", "hcloud.providers.gcp.provider"),
    "azure": (
        "azure.identity",
        "azure.mgmt.compute",
        "azure.mgmt.network",
        "azure.mgmt.reservations",
        "hcloud.providers.azure.provider",
    ),
}
LOOPBACK = ("127.", "::1", "localhost")
NOBODY = ("169.254.",)
"""Where clouds tell machines of theirs who they are: nobody answers there, and to ask is no offence."""


def _refuse_others(event: str, details: tuple[Any, ...]) -> None:
    """Refuse every connection that leaves this machine, and say so."""
    if event != "socket.connect" or not isinstance(details[1], tuple):
        return
    host = str(details[1][0])
    if host.startswith(NOBODY):
        raise ConnectionRefusedError(f"nobody at {host}")
    if not host.startswith(LOOPBACK):
        os.write(2, f"{GUARD}{host}\n".encode())
        raise ConnectionRefusedError(f"{GUARD}{host}")


@cache
def stay_at_home() -> None:
    """From now on no connection leaves this machine, here or in any fork; said once, it stays."""
    sys.addaudithook(_refuse_others)


@cache
def load_sdks(clouds: Sequence[str]) -> None:
    """What children that use these clouds would each load."""
    for name in [n for cloud in clouds for n in SDKS[cloud]]:
        importlib.import_module(name)
    if "gcp" in clouds:
        importlib.import_module("hcloud.providers.gcp.sdk").messages()


def woken_by_children() -> int:
    """What can be read as soon as a child is over; Ctrl-C is for them alone."""
    woken, waking = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(waking, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waking)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return woken
