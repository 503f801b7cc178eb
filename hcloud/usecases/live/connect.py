"""One place where a cloud is opened: a fake in this process, or a provider whose SDK is imported only then."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from dataclasses import fields as fields_of
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from hcloud.control.ports import Stop, Tell, never, silent
from hcloud.errors import InputError, MissingExtraError, Problem, UsageError, did_you_mean
from hcloud.live.clock import SystemClock
from hcloud.model.catalog import Offer
from hcloud.model.checked import problems_of
from hcloud.model.clouds.known import CLOUDS
from hcloud.model.fetched import AskAgain, MachineHistory
from hcloud.model.holdings.live import CommitmentOrder, LaunchTemplate
from hcloud.readers.safe_yaml import load_yaml

if TYPE_CHECKING:
    from hcloud.control.ports import Cloud
    from hcloud.fake.faults import FaultPlan
    from hcloud.fake.in_memory.memory import MemoryCloud
    from hcloud.providers.local.provider import LocalCloud

FAKE = "fake"
IN_MEMORY = "memory"
"""The endpoint of a rehearsal in this process, so that nothing made there is ever taken for a real account's."""
LOCAL = "local"


@dataclass(frozen=True, slots=True)
class CloudSettings:
    """Which cloud, where. ``account`` is the Google project or Azure subscription where the environment does not name
    it, ``endpoint`` another than the cloud's own; ``hourly`` and ``spot_hourly`` are prices by type that a fake tells,
    ``options`` further fields of a provider's own settings, ``sold`` the price book's commitments, for a provider that
    quotes none, ``tell`` hears of long waits, which ``stop`` ends."""

    cloud: str
    region: str
    account: str = ""
    endpoint: str = ""
    hourly: Mapping[str, Decimal] = field(default_factory=dict)
    spot_hourly: Mapping[str, Decimal] = field(default_factory=dict)
    options: Mapping[str, object] = field(default_factory=dict)
    sold: Callable[[CommitmentOrder], Offer | None] = field(default=lambda order: None)
    tell: Tell = silent
    stop: Stop = never


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
    if name not in CLOUDS or plan:
        known = ", ".join((FAKE, f"{FAKE}:FAULTPLAN.yaml", LOCAL, *CLOUDS))
        raise UsageError(
            f"--cloud {selection}: there is no such cloud{did_you_mean(name, (FAKE, LOCAL, *CLOUDS))}",
            hint=f"one of {known}",
        )
    if name != settings.cloud:
        raise UsageError(f"--cloud {selection}: what is asked for is for {settings.cloud}")
    return _provider(name, settings)


def open_history(settings: CloudSettings, again: AskAgain) -> MachineHistory:
    """What a cloud keeps of the machines of an account; raises MissingExtraError where its SDK is not installed."""
    own = _own_settings(settings)
    return cast("MachineHistory", _part(settings.cloud, "history", "History")(own, again))


def plan_of(path: Path | str) -> FaultPlan:
    """The fault plan of a file; a cloud that gets everything right without one."""
    from hcloud.fake.faults import FaultPlan, fault_plan, read_text

    return fault_plan(load_yaml(read_text(Path(path)), str(path)), str(path)) if path else FaultPlan()


def plan_named(selection: str) -> str:
    """The file of the fault plan that ``--cloud fake:PLAN.yaml`` names; empty without one."""
    named = selection.partition(":")[2] if selection.startswith(FAKE) else ""
    return "" if named in (*CLOUDS, LOCAL) else named


def in_memory(settings: CloudSettings, plan: str = "", begins: float | None = None) -> MemoryCloud:
    """A cloud in this process, in the region and with the types and prices that are asked for; its time begins as the
    fault plan says, else at ``begins`` (seconds since 1970), else now."""
    from hcloud.fake.clock import FakeClock
    from hcloud.fake.in_memory.faults import check_plan
    from hcloud.fake.in_memory.memory import MemoryCloud

    faults = plan_of(plan)
    start = faults.clock.start.timestamp() if faults.clock.start else begins
    cloud = MemoryCloud(settings.cloud, faults, FakeClock(start, faults.clock.speed))
    there = cloud.world.semantics
    if settings.region:
        there = there.in_region(settings.region)
    types, account = tuple(sorted({*there.types, *settings.hourly})), settings.account or there.account
    check_plan(faults, types, plan)
    cloud.world.semantics = replace(there, types=types, account=account)
    cloud.world.hourly, cloud.world.spot_hourly = dict(settings.hourly), dict(settings.spot_hourly)
    cloud.world.endpoint = IN_MEMORY
    known = CLOUDS.get(settings.cloud)
    named = account if known and known.account else ""
    cloud.world.templating = partial(template_without_sdk, replace(settings, account=named))
    return cloud


def template_without_sdk(settings: CloudSettings, instance_types: Sequence[str]) -> LaunchTemplate:
    """What machines of these types are launched with under these settings: as the provider says, without its SDK."""
    name = settings.cloud
    translate: Any = importlib.import_module(f"hcloud.providers.{name}.translate")
    own = _own_settings(replace(settings, endpoint=""))
    found: LaunchTemplate = translate.template(instance_types, own)
    return found


def this_machine(directory: Path) -> LocalCloud:
    """This machine as a cloud, whose machines are noted in a directory."""
    from hcloud.profiling.local.machines import ProcessHost
    from hcloud.providers.local.provider import LocalCloud
    from hcloud.providers.local.settings import LocalSettings

    return LocalCloud(LocalSettings(directory.resolve()), SystemClock(), ProcessHost(directory / "running"))


def _missing(name: str, error: ModuleNotFoundError) -> Exception:
    """What a missing module means: an SDK that is to be installed, unless it is Python's or hcloud's own, which no
    extra brings."""
    root = (error.name or "").partition(".")[0]
    is_ours = root == "hcloud" or root in sys.stdlib_module_names
    return error if is_ours else MissingExtraError(CLOUDS[name].package, name)


def _part(cloud: str, module: str, kind: str) -> Any:
    """A class of a cloud's provider, whose SDK is imported with it."""
    try:
        found: Any = importlib.import_module(f"hcloud.providers.{cloud}.{module}")
    except ModuleNotFoundError as error:
        raise _missing(cloud, error) from error
    return getattr(found, f"{CLOUDS[cloud].classes}{kind}")


def _provider(name: str, settings: CloudSettings) -> Cloud:
    """A provider. Besides its settings Azure's is given a clock to wait by, and Google's prices of commitments, which
    it does not quote."""
    offered = {"clock": SystemClock(), "prices": partial(_price, settings)}
    beside = {what: offered[what] for what in (CLOUDS[name].beside,) if what}
    made = _part(name, "provider", "Cloud")(_own_settings(settings), **beside, tell=settings.tell, stop=settings.stop)
    return cast("Cloud", made)


def _price(settings: CloudSettings, order: CommitmentOrder) -> object:
    from hcloud.providers.gcp.commitments import CommitmentPrice

    offer = settings.sold(order)
    if offer is None:
        return None
    source = f"{offer.origin.source} of {offer.origin.day}"
    return CommitmentPrice(offer.hourly, source, offer.upfront)


def settled_fields(name: str, options: Mapping[str, object], *, region: str, endpoint: str) -> None:
    """Check what the configuration says of a provider's own settings, without its SDK; raises as connecting would."""
    account = "any" if CLOUDS[name].account else ""
    _own_settings(CloudSettings(name, region, account, endpoint, options=options))


def _own_settings(settings: CloudSettings) -> Any:
    """A provider's own settings, without its SDK."""
    own = _part(settings.cloud, "settings", "Settings")
    return _settled(own, _fields(settings.cloud, settings))


def _settled(own: type[Any], fields: Mapping[str, object]) -> Any:
    """A provider's settings from what the configuration says; InputError for keys and values it does not take."""
    from pydantic import TypeAdapter, ValidationError

    known = [f.name for f in fields_of(own)]
    problems = [Problem("live.settings", name, "unknown key", ", ".join(known)) for name in fields if name not in known]
    try:
        made = TypeAdapter(own).validate_python(dict(fields))
    except ValidationError as error:
        problems += problems_of(error, "live.settings")
    if problems:
        raise InputError("live.settings cannot be used", problems, hint="docs/guides/operate.md lists them")
    return made


def _fields(name: str, settings: CloudSettings) -> dict[str, object]:
    """The fields of a provider's own settings; the account is AWS's own business, and else what is named, or what the
    environment of the provider's own tools says."""
    facts, place = CLOUDS[name], CLOUDS[name].place
    reserved = {place, "endpoint", "project", "subscription", "principal", "access_key"} & settings.options.keys()
    if reserved:
        raise UsageError(
            f"live.settings: {min(reserved)} is not allowed",
            hint="set live.region, live.account or live.endpoint instead",
        )
    found: dict[str, object] = {place: settings.region, "endpoint": settings.endpoint, **settings.options}
    if not facts.account:
        return found
    variables = facts.account_variables
    named = settings.account or next((os.environ[v] for v in variables if os.environ.get(v)), "")
    if not named:
        raise UsageError(
            f"--cloud {name}: no {facts.account} is configured",
            hint=f"set {variables[0]} in the environment; a plan at list prices needs no account: --provider {name}",
        )
    return {**found, facts.account: named}
