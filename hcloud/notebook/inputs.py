"""What the functions for notebooks are given: demand of any kind, a plan's own fleet, and keywords that mean what flags
mean."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from numbers import Integral, Real
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard, TypeVar

from hcloud.errors import UsageError
from hcloud.model.bill_figures import figures_of
from hcloud.notebook.frames import as_file, is_frame, renamed, usual_keys
from hcloud.notebook.results import BillResult, DemandResult, PlanResult
from hcloud.readers.configuration.config import Loaded, WorkloadSection, load_config
from hcloud.store.plan_file import is_plan_file
from hcloud.units import and_last
from hcloud.usecases.asked import moment
from hcloud.usecases.deciding.own_fleet import (
    OpenedPlan,
    as_asked,
    fleet_opened,
    open_planned,
    refuse_beside_a_plan,
    with_cloud,
)
from hcloud.usecases.interruptible import interruptible
from hcloud.usecases.progress import Progress
from hcloud.usecases.workloads.bills import names_bill, open_bill
from hcloud.usecases.workloads.sources import SCENARIO_PREFIX, Flags, as_configured, open_workload, within
from hcloud.usecases.workloads.workload import WorkloadRequest, open_request

if TYPE_CHECKING:
    import pandas as pd

    from hcloud.model.workload import Workload

    Frame = pd.DataFrame | pd.Series[Any]
    Demand = DemandResult | BillResult | Frame | str | Path
    Found = DemandResult | BillResult | str | None


class _ValueKind(NamedTuple):
    """What it is called, and whether a value is of it."""

    called: str
    holds: Callable[[object], bool]


_LITERAL = "Literal["


def _is_number(value: object) -> bool:
    return isinstance(value, Real | Decimal) and not isinstance(value, bool)


def _all_of(value: object, holds: Callable[[object], bool]) -> bool:
    """Whether a value is several, each of which is of a kind; what can be asked once only is left as it is."""
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        return False
    return isinstance(value, Iterator) or all(map(holds, value))


def _is_name(value: object) -> bool:
    return isinstance(value, str | Path)


_KINDS: Mapping[str, _ValueKind] = {
    "str": _ValueKind("a text", lambda value: isinstance(value, str)),
    "Path": _ValueKind("a Path", lambda value: isinstance(value, Path)),
    "datetime": _ValueKind("a datetime", lambda value: isinstance(value, datetime)),
    "float": _ValueKind("a number", _is_number),
    "Sequence[float]": _ValueKind("several numbers", lambda value: _all_of(value, _is_number)),
    "bool": _ValueKind("True or False", lambda value: isinstance(value, bool)),
    "Names": _ValueKind(
        "a name or several", lambda value: value is None or isinstance(value, str) or _all_of(value, _is_name)
    ),
    "Columns": _ValueKind("a text or a mapping", lambda value: value is None or isinstance(value, str | Mapping)),
    "Options": _ValueKind("a mapping of keys", lambda value: value is None or isinstance(value, Mapping)),
    "None": _ValueKind("None", lambda value: value is None),
}
"""By how they are written; what is not here, as a whole number, is checked where it is used."""


def check_value(name: str, value: object, annotation: str) -> None:
    """UsageError for a value of a keyword that is of none of the kinds in its annotation."""
    parts = ["str" if part.startswith(_LITERAL) else part for part in annotation.split(" | ")]
    kinds = [_KINDS[part] for part in parts if part in _KINDS]
    if len(kinds) < len(parts) or any(kind.holds(value) for kind in kinds):
        return
    told = and_last((kind.called for kind in kinds if kind.called != "None"), "or")
    raise UsageError(f"{name}={repr(value)[:60]}: must be {told}")


T = TypeVar("T")


def in_background(work: Callable[[Progress], T]) -> T:
    """The result of ``work`` in a thread of its own; after KeyboardInterrupt the thread ends at its next step."""
    given_up = Event()

    def advance(_: float) -> None:
        if given_up.is_set():
            raise KeyboardInterrupt

    try:
        return interruptible(lambda: work(advance))
    except KeyboardInterrupt:
        given_up.set()
        raise


Names = str | Sequence[str] | None
Columns = str | Mapping[str, str] | None
Options = Mapping[str, object] | None
SEED = 42


@dataclass(frozen=True, slots=True)
class Reading:
    """How demand is read: as which format, with which columns, keys of its reader, and character before decimals."""

    format: str | None = None
    columns: Columns = None
    options: Options = None
    decimal: str | None = None

    @property
    def keys(self) -> dict[str, str]:
        """The keys of the reader, the names of the columns among them."""
        found = {key: str(value) for key, value in (self.options or {}).items()}
        if self.decimal is not None:
            found["decimal"] = self.decimal
        if isinstance(self.columns, str):
            found["columns"] = self.columns
        elif self.columns is not None:
            found["columns"] = ",".join(f"{mine}={theirs}" for mine, theirs in self.columns.items())
        return found


@dataclass(frozen=True, slots=True)
class ReadAs:
    """What of the demand counts, the seed of a scenario, and the time it is read at."""

    window: str | None
    seed: int
    at: datetime


def read_any(demand: Frame | str | Path, how: Reading, told: ReadAs) -> DemandResult | BillResult:
    """The bill that is named, else demand."""
    check_kind(demand)
    if is_frame(demand):
        return read_demand(demand, how, told)
    request = WorkloadRequest(str(demand), how.format or "auto", how.keys, told.seed, told.window)
    if not names_bill(request.name, request.format, request.keys or ()):
        return read_demand(demand, how, told)
    bill = in_background(lambda progress: open_bill(request.name, request.keys or {}, request.window, progress))
    return BillResult(figures_of(bill), _section(request), told.at)


def read_demand(demand: Frame | str | Path, how: Reading, told: ReadAs) -> DemandResult:
    """The demand of a file, a scenario or a frame, in the window that counts."""
    section = WorkloadSection()
    if is_frame(demand):
        whole = in_background(lambda progress: _read_frame(demand, how, told.seed, progress))
    else:
        request = WorkloadRequest(str(demand), how.format or "auto", how.keys, told.seed)
        section = _section(request)
        whole = in_background(lambda progress: open_request(request, progress))
    if told.window is not None:
        section = section.model_copy(update={"window": told.window})
    return DemandResult(within(whole, told.window), whole, section, told.at)


def _read_frame(frame: Frame, how: Reading, seed: int, progress: Progress) -> Workload:
    """The demand of a frame; its file is of the thread that this runs in, which no KeyboardInterrupt ends half-way."""
    with as_file(frame) as path:
        progress(0.0)
        request = WorkloadRequest(str(path), how.format or "auto", usual_keys(frame) | how.keys, seed)
        return renamed(open_request(request, progress))


def check_kind(demand: object) -> None:
    """UsageError for what holds no demand."""
    if not (is_frame(demand) or isinstance(demand, str | Path)):
        kinds = "a file's name, 'scenario:NAME', a DataFrame, a Series, or what hcloud.read returned"
        raise UsageError(f"demand is of {type(demand).__name__}; it must be {kinds}")


def _section(request: WorkloadRequest) -> WorkloadSection:
    """The same as a configuration says it."""
    if request.name.startswith(SCENARIO_PREFIX):
        return WorkloadSection(scenario=request.name.removeprefix(SCENARIO_PREFIX))
    return WorkloadSection(path=Path(request.name).absolute(), format=request.format, options=dict(request.keys or {}))


def known(demand: Demand | None, how: Reading) -> Found:
    """What was read, also of a frame, or the name of what is still to be read."""
    if isinstance(demand, DemandResult | BillResult):
        if how != Reading():
            raise UsageError("format, columns, options and decimal are about reading; this was read already")
        return demand
    if is_frame(demand):
        return read_demand(demand, how, ReadAs(None, SEED, moment(None)))
    if demand is None:
        return None
    check_kind(demand)
    return str(demand)


def flags_of(found: Found, how: Reading) -> Flags:
    """The flags that say what is read and how; none of what was read already."""
    if isinstance(found, DemandResult | BillResult):
        return Flags()
    return Flags(workload=found, format=how.format, options=tuple(f"{k}={v}" for k, v in how.keys.items()))


def configured(found: Found, config: str | Path | None) -> Loaded:
    """The configuration without keywords; of demand that was read it says where that is from."""
    loaded = load_config(None if config is None else Path(config))
    if isinstance(found, DemandResult | BillResult):
        return loaded.changed(workload=found.section)
    return loaded


def names(given: Names) -> tuple[str, ...]:
    """One name or several."""
    return () if given is None else (given,) if isinstance(given, str) else tuple(given)


def whole(name: str, given: object, least: int) -> int:
    """A keyword that is a number of things; UsageError where it is none."""
    if isinstance(given, bool) or not isinstance(given, Integral) or int(given) < least:
        raise UsageError(f"{name}={given!r}: must be a whole number, {least} or more")
    return int(given)


def folder(given: str | Path | None) -> Path | None:
    """A folder, if one is named."""
    return None if given is None else Path(given)


def time_of(now: str | datetime | None) -> datetime:
    """The time to work at: as text, as Python has it (UTC where it names no zone), else the clock."""
    if not isinstance(now, datetime):
        return moment(now)
    return now.replace(tzinfo=UTC) if now.tzinfo is None else now.astimezone(UTC)


@dataclass(frozen=True, slots=True)
class FleetRequest:
    """How a plan's fleet is simulated; ``beside`` is what a plan says itself."""

    config: str | Path | None
    cloud: str | None
    seed: int | None
    profiled: bool
    beside: Mapping[str, object]


def names_plan(demand: object) -> TypeGuard[str | Path]:
    """Whether it is the name of a plan file."""
    return isinstance(demand, str | Path) and Path(demand).is_file() and is_plan_file(Path(demand))


def open_fleet(made: PlanResult | str | Path, asked: FleetRequest, at: datetime) -> OpenedPlan:
    """The fleet of a plan with its workload; UsageError for keywords that say otherwise."""
    refuse_beside_a_plan([*asked.beside.items()])
    if isinstance(made, PlanResult):
        loaded = with_cloud(made.loaded, asked.cloud)
        read = open_workload(loaded) if made.demand is None else as_configured(loaded, made.demand.whole)
        found = fleet_opened(made.plan, read, loaded, at.date())
    else:
        config = load_config(None if asked.config is None else Path(asked.config))
        found = open_planned(Path(made), with_cloud(config, asked.cloud), at.date())
    return as_asked(found, asked.seed, profiled=asked.profiled)
