"""``hcloud fake``: a fake cloud that listens, and ``fake wait``, which lets time pass on a rehearsal."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from hcloud.control.ports import Size
from hcloud.errors import MissingExtraError, UsageError, did_you_mean
from hcloud.fake.faults import FaultPlan
from hcloud.fake.semantics import semantics_of
from hcloud.fake.server import FakeServer, SizedCloud
from hcloud.model.clouds.known import CLOUDS
from hcloud.usecases.live.connect import plan_of
from hcloud.usecases.live.ground import LiveGround

if TYPE_CHECKING:
    from hcloud.fake.execute import Image
    from hcloud.profiling.local.machines import ProcessHost

OURS = "HYC_LIVE__"


@dataclass(frozen=True, slots=True)
class Up:
    """A fake cloud that listens, and the environment that sends its SDK there."""

    cloud: str
    url: str
    environment: Mapping[str, str]


def made(name: str, plan: FaultPlan) -> SizedCloud:
    """A fake cloud under a fault plan; UsageError for a name that is none, MissingExtraError without its parts."""
    if name not in CLOUDS:
        raise UsageError(f"there is no fake {name!r}{did_you_mean(name, CLOUDS)}", hint=f"fakes: {', '.join(CLOUDS)}")
    try:
        module: Any = importlib.import_module(f"hcloud.fake.{name}.cloud")
    except ModuleNotFoundError as error:
        raise MissingExtraError((error.name or "").partition(".")[0], "fake") from None
    return cast("SizedCloud", getattr(module, f"Fake{CLOUDS[name].classes}")(plan))


@contextmanager
def up(
    names: Sequence[str], ports: Sequence[int], faults: Path | None, *, execute: bool = False
) -> Iterator[tuple[Up, ...]]:
    """Fakes that listen as long as the context lasts, each on the port of its place (0 and missing: any).

    With ``execute`` the start-up scripts of their machines run here, with the rights of this process.
    """
    plan = plan_of(faults or "")
    with ExitStack() as stack:
        found = []
        for number, name in enumerate(names):
            port = ports[number] if number < len(ports) else 0
            cloud = made(name, plan)
            if execute:
                stack.enter_context(executing(cloud))
            try:
                running = stack.enter_context(FakeServer(cloud, port))
            except OSError as error:
                raise UsageError(
                    f"port {port} of this machine cannot be listened on: {error.strerror}",
                    hint="another --port, or none: any free one is taken",
                ) from None
            found.append(Up(name, running.url, environment(name, running.url)))
        yield tuple(found)


@contextmanager
def executing(cloud: SizedCloud, image: Image | None = None) -> Iterator[ProcessHost]:
    """The start-up scripts of a fake's machines run as processes of this machine, in the size of their type; ``image``
    is what they start with."""
    from hcloud.fake.execute import Executor
    from hcloud.fake.execute import Image as Bare
    from hcloud.profiling.local.machines import passing_host

    with passing_host() as host, Executor(cloud.ledger, cloud.clock, host, size_of(cloud), image or Bare()):
        yield host


def size_of(cloud: SizedCloud) -> Callable[[str], Size]:
    """How large a type is, by the fake's own catalogue where it has one."""
    from hcloud.fake.execute import usual_size

    def look_up(instance_type: str) -> Size:
        known = cloud.shape_of(instance_type)
        return usual_size(instance_type) if known is None else Size(int(known.vcpus), float(known.memory_gib))

    return look_up


def exports(found: Sequence[Up]) -> Iterator[str]:
    """Lines for a shell. What SDKs go by has another name in each cloud, and all of it is exported; what hcloud goes by
    is that of the first cloud, with a comment for each that can be copied whole."""
    ours = sorted({name for one in found for name in one.environment if name.startswith(OURS)})
    for number, one in enumerate(found):
        for name, value in one.environment.items():
            if number == 0 or not name.startswith(OURS):
                yield f"export {name}={value}"
    for one in found if len(found) > 1 else ():
        words = " ".join(f"{name}={one.environment[name]}" for name in ours if name in one.environment)
        spare = [name for name in ours if name not in one.environment]
        yield f"# for {one.cloud}: export {words}" + (f"; unset {' '.join(spare)}" if spare else "")


def environment(name: str, url: str) -> Mapping[str, str]:
    """What has to be in the environment for the SDK, and for hcloud, to go there."""
    account = semantics_of(name).listening_account
    own = {variable: value.format(url=url) for variable, value in CLOUDS[name].sdk_variables.items()}
    ours = {"HYC_LIVE__CLOUD": name, "HYC_LIVE__ENDPOINT": url, "HYC_LIVE__ACCOUNT": account}
    return {variable: value for variable, value in {**ours, **own}.items() if value}


LONGEST_SECONDS = 10 * 365 * 86_400  # ours: longer than any commitment


@dataclass(frozen=True, slots=True)
class Waited:
    """How far a rehearsal's clock was put forward."""

    cloud: str
    before: datetime
    after: datetime


def wait(ground: LiveGround, seconds: int) -> Waited:
    """Put the clock of the cloud in memory forward and keep it so: its machines are rented on, and what was to happen
    happens. Nothing else is changed; UsageError for a cloud whose time is nobody's to turn."""
    from hcloud.fake.in_memory.memory import MemoryCloud

    memory = ground.cloud
    if not isinstance(memory, MemoryCloud):
        hint = "--cloud fake; of 'hcloud fake up' POST {\"advance\": SECONDS} to its /_hcloud/clock"
        raise UsageError(f"--cloud {ground.selection}: only a rehearsal's clock can be put forward", hint=hint)
    if not 0 < seconds <= LONGEST_SECONDS:
        raise UsageError("neither backwards nor for longer than ten years")
    before = memory.clock.moment()
    memory.clock.advance(seconds)
    with memory.ledger.held():
        memory.world.settle()
        memory.world.keep()
    return Waited(memory.name, before, memory.clock.moment())
