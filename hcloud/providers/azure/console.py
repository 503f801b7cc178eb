"""What a machine has written to its console: boot diagnostics name a file in Azure's storage, which is fetched."""

from __future__ import annotations

import urllib.error
import urllib.parse
import urllib.request
from typing import IO

from hcloud.errors import UnavailableError
from hcloud.providers.azure.arm import Arm
from hcloud.providers.azure.documents import text

OPERATION = "VirtualMachines_RetrieveBootDiagnosticsData"
STORAGE = (".blob.core.windows.net", ".blob.storage.azure.net")
LARGEST_BYTES = 4 << 20  # ours: Azure keeps 1 MiB
SECONDS = 30.0  # ours


def console_of(arm: Arm, machine: str) -> str:
    """The serial console's log; empty while there is none."""
    group, _, name = machine.partition("/")
    ask = arm.compute.virtual_machines.retrieve_boot_diagnostics_data
    url = text(arm.read(OPERATION, ask, group, name), "serialConsoleLogBlobUri")
    if not url:
        return ""
    # The address is signed: whoever has it may read, so it goes nowhere else and into no message
    if not (arm.is_own(url) or _is_storage(url)):
        raise UnavailableError("the log is said to be at an address that is not Azure's storage", arm.call(OPERATION))
    try:
        with urllib.request.build_opener(_NoRedirects).open(url, timeout=SECONDS) as answer:
            return str(answer.read(LARGEST_BYTES).decode("utf-8", "replace"))
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 404:
            return ""
        raise UnavailableError(f"the log cannot be read: {error.code}", arm.call(OPERATION)) from None
    except OSError as error:
        said = f"the log cannot be read: {type(error).__name__}"
        raise UnavailableError(said, arm.call(OPERATION)) from None


def _is_storage(url: str) -> bool:
    parts = urllib.parse.urlsplit(url)
    return parts.scheme == "https" and (parts.hostname or "").endswith(STORAGE)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, req: urllib.request.Request, fp: IO[bytes], *_: object, **__: object) -> None:
        """Follow none: the answer counts as it is."""
