"""One place where a cloud is opened: a fake in this process, or a provider whose SDK is imported only then."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from hcloud.errors import MissingExtraError, UsageError
from hcloud.live.clock import SystemClock
from hcloud.readers.safe_yaml import load_yaml

if TYPE_CHECKING:
    from hcloud.control.ports import Cloud
    from hcloud.fake.memory import MemoryCloud
    from hcloud.providers.local.provider import LocalCloud

FAKE = "fake"
LOCAL = "local"
CLASSES = {"aws": "Aws", "gcp": "Google", "azure": "Azure"}
_PACKAGES = {"aws": ("boto3", "aws"), "gcp": ("google-cloud-compute", "gcp"), "azure": ("azure-mgmt-compute", "azure")}


@dataclass(frozen=True, slots=True)
class CloudSettings:
    """Which cloud, where. ``account`` is the Google project or Azure subscription where the environment does not name
    it, ``endpoint`` another than the cloud's own; ``hourly`` are on-demand prices by type that a fake tells,
    ``options`` further fields of a provider's own settings."""

    cloud: str
    region: str
    account: str = ""
    endpoint: str = ""
    hourly: Mapping[str, Decimal] = field(default_factory=dict)
    options: Mapping[str, object] = field(default_factory=dict)


def connect(selection: str, settings: CloudSettings) -> Cloud:
    """The cloud that ``--cloud`` names: ``fake`` or ``fake:FAULTPLAN.yaml`` for one in memory that behaves like
    ``settings.cloud``, ``local`` for this machine, else aws, gcp or azure.

    Raises UsageError for a name that is none, MissingExtraError where its SDK is not installed.
    """
    name, _, plan = selection.partition(":")
    if name == FAKE:
        return in_memory(settings, plan)
    if selection == LOCAL:
        return this_machine(Path(str(settings.options["directory"])))
    if name not in CLASSES or plan:
        known = ", ".join((FAKE, f"{FAKE}:FAULTPLAN.yaml", LOCAL, *CLASSES))
        raise UsageError(f"--cloud {selection}: there is no such cloud", hint=f"one of {known}")
    if name != settings.cloud:
        raise UsageError(f"--cloud {selection}: what is asked for is for {settings.cloud}")
    return _provider(name, settings)


def in_memory(settings: CloudSettings, plan: str = "") -> MemoryCloud:
    """A cloud in this process, in the region and with the types and prices that are asked for."""
    from hcloud.fake.clock import FakeClock
    from hcloud.fake.faults import FaultPlan, fault_plan, read_text
    from hcloud.fake.memory import MemoryCloud

    faults = fault_plan(load_yaml(read_text(Path(plan)), plan), plan) if plan else FaultPlan()
    start = faults.clock.start.timestamp() if faults.clock.start else None
    cloud = MemoryCloud(settings.cloud, faults, FakeClock(start, faults.clock.speed))
    there = cloud.world.semantics
    if settings.region:
        separator = "" if settings.cloud == "aws" else "-"
        zones = there.zones if settings.cloud == "azure" else tuple(f"{settings.region}{separator}{z}" for z in "abc")
        there = replace(there, region=settings.region, zones=zones)
    cloud.world.semantics = replace(there, types=tuple(sorted({*there.types, *settings.hourly})))
    cloud.world.hourly = dict(settings.hourly)
    return cloud


def this_machine(directory: Path) -> LocalCloud:
    """This machine as a cloud, whose machines are noted in a directory."""
    from hcloud.profiling.machines import ProcessHost
    from hcloud.providers.local.provider import LocalCloud
    from hcloud.providers.local.settings import LocalSettings

    return LocalCloud(LocalSettings(directory.resolve()), SystemClock(), ProcessHost(directory / "running"))


def _provider(name: str, settings: CloudSettings) -> Cloud:
    try:
        module: Any = importlib.import_module(f"hcloud.providers.{name}.provider")
        values: Any = importlib.import_module(f"hcloud.providers.{name}.settings")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("hcloud"):
            raise UsageError(f"--cloud {name}: this hcloud has no provider for it") from None
        raise MissingExtraError(*_PACKAGES[name]) from None
    own = getattr(values, f"{CLASSES[name]}Settings")
    provider = getattr(module, f"{CLASSES[name]}Cloud")
    known = own(**_fields(name, settings))
    return cast("Cloud", provider(known, SystemClock()) if name == "azure" else provider(known))


def _fields(name: str, settings: CloudSettings) -> dict[str, object]:
    place = {"aws": "region", "gcp": "region", "azure": "location"}[name]
    account = {"aws": "", "gcp": "project", "azure": "subscription"}[name]
    found: dict[str, object] = {place: settings.region, "endpoint": settings.endpoint, **settings.options}
    return {**found, account: settings.account} if account else found
