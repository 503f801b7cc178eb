"""Azure, as hcloud asks it: one subscription in one location."""

from __future__ import annotations

import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import IO

from hcloud.control.ports import Clock, Stop, Tell, never, silent
from hcloud.errors import NotFoundError, UnavailableError
from hcloud.model.holdings.live import Launch, LaunchOutcome, LaunchTemplate, Machine, Quota, Scope
from hcloud.providers.azure.arm import Arm
from hcloud.providers.azure.documents import Document, exact, text
from hcloud.providers.azure.fleets import VISIBLE_SECONDS
from hcloud.providers.azure.machines import AzureMachines
from hcloud.providers.azure.operations import PATIENCE_SECONDS
from hcloud.providers.azure.reservations import AzureReservations
from hcloud.providers.azure.settings import AzureSettings
from hcloud.providers.azure.translate import is_latest, latest_version, template, zones_of

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


ZERO = Decimal(0)
ALL_CORES = "cores"  # Azure's name of the limit on all cores of a location


class AzureCloud(AzureMachines, AzureReservations):
    """Implements hcloud.control.ports.Cloud over Azure's SDK clients."""

    launch_seconds = PATIENCE_SECONDS + VISIBLE_SECONDS

    def __init__(
        self,
        settings: AzureSettings,
        clock: Clock,
        credential: object | None = None,
        tell: Tell = silent,
        stop: Stop = never,
    ) -> None:
        self.settings = settings
        super().__init__(Arm(settings, credential, clock, tell, stop), clock)
        self._scope: Scope | None = None
        self._skus: dict[str, Document] = {}

    def scope(self) -> Scope:
        """The subscription as Azure knows it, and the location."""
        if self._scope is None:
            self._scope = Scope("azure", self._arm.account(), self.settings.location, self.settings.endpoint)
        return self._scope

    def template(self, instance_types: Sequence[str]) -> LaunchTemplate:
        """What machines of these types are launched with."""
        return template(instance_types, self.settings)

    def image(self, name: str) -> str:
        """The version that is the latest now of an image that is named so; any other name is itself."""
        reference = replace(self.settings, image=name).image_reference()
        if not is_latest(reference):
            return name
        operation, listed = "VirtualMachineImages_List", self._arm.compute.virtual_machine_images.list
        kind = (reference["publisher"], reference["offer"], reference["sku"])
        version = latest_version(
            text(v, "name") for v in self._arm.unpaged(operation, listed, self.settings.location, *kind)
        )
        if not version:
            raise NotFoundError(f"there is no image {name} in {self.settings.location}", self._arm.call(operation))
        return ":".join((*kind, version))

    def launch(self, order: Launch) -> LaunchOutcome:
        """One scale set with all machines of the order; waits until Azure has made them or says why not."""
        return self._fleets.launch(order)

    def under_key(self, order: Launch) -> tuple[Machine, ...]:
        """The machines of the set that has the order's name."""
        return self.examine(self._fleets.under_key(order))

    def zones(self, instance_type: str) -> tuple[str, ...]:
        """Zones as ``eastus-1``, or the location where a type has none."""
        found = zones_of(self._sku(instance_type), self.settings.location)
        if not found:
            call = self._arm.call("ResourceSkus_List")
            raise NotFoundError(f"{instance_type} is closed to this subscription in {self.settings.location}", call)
        return found

    def quotas(self, instance_type: str) -> tuple[Quota, ...]:
        """The limits on cores of the type's family and of the location."""
        names = (text(self._sku(instance_type), "family"), ALL_CORES)
        usages = self._arm.pages("Usage_List", self._arm.compute.usage.list, self.settings.location)
        by_name = {text(usage, "name", "value").lower(): usage for usage in usages}
        found = [(name, by_name[name.lower()]) for name in names if name.lower() in by_name]
        return tuple(Quota(n, exact(usage, "limit"), exact(usage, "currentValue") or ZERO) for n, usage in found)

    def console(self, machine: str) -> str:
        """What a machine has written to its serial console, where boot diagnostics were on when it was made."""
        return console_of(self._arm, machine)

    def close(self) -> None:
        """Let go of the connections."""
        self._arm.close()

    def _sku(self, instance_type: str) -> Document:
        """The entry of a type; types do not change while a process lasts, and the list is long."""
        if not self._skus:
            wanted = f"location eq '{self.settings.location}'"
            skus = self._arm.pages("ResourceSkus_List", self._arm.compute.resource_skus.list, filter=wanted)
            machines = [sku for sku in skus if text(sku, "resourceType") == "virtualMachines"]
            self._skus = {text(sku, "name").lower(): sku for sku in machines}
        found = self._skus.get(instance_type.lower())
        if found is None:
            call = self._arm.call("ResourceSkus_List")
            raise NotFoundError(f"there is no {instance_type} in {self.settings.location}", call)
        return found
