"""What should stand in a cloud, what was observed there, and what has to change between the two."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from hcloud.model.catalog import PurchaseOption
from hcloud.model.holdings.live import LaunchTemplate, Machine, Scope
from hcloud.model.holdings.state import Intent, Operating, State

FORMAT_VERSION = "1.0"


@dataclass(frozen=True, slots=True)
class Shape:
    """An instance type and its dollars an hour."""

    instance_type: str
    hourly: Decimal


@dataclass(frozen=True, slots=True)
class Slot:
    """``count`` machines that should stand at an address. ``zones`` and ``fallbacks`` (other instance types) are
    allowed in this order of preference; ``hourly`` is for one machine of ``instance_type``; ``expires`` as in Owner."""

    address: str
    instance_type: str
    zones: tuple[str, ...]
    count: int
    hourly: Decimal
    option: PurchaseOption = PurchaseOption.ON_DEMAND
    fallbacks: tuple[Shape, ...] = ()
    start_up: str = ""
    expires: str = ""

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """What may stand here, the preferred one first."""
        return (Shape(self.instance_type, self.hourly), *self.fallbacks)

    @property
    def offerings(self) -> tuple[tuple[Shape, str], ...]:
        """Every type and zone that may be asked for, in order: all zones of a type before the next type."""
        return tuple((shape, zone) for shape in self.shapes for zone in self.zones)


@dataclass(frozen=True, slots=True)
class Observed:
    """What was seen at a moment. ``state`` is what is remembered, brought up to date with what was seen; ``machines``
    are those the cloud told of, listed by tag or looked up by id; ``open`` the intents whose outcome is not known.

    ``told_none`` says that the cloud told of none of the machines that are remembered, though not all of them are so
    young that it may not know them yet; ``strangers`` are machines of this project under another lineage, looked for
    only while the state has never been applied.
    """

    at: datetime
    scope: Scope
    serial: int
    state: State
    machines: tuple[Machine, ...] = ()
    open: tuple[Intent, ...] = ()
    told_none: bool = False
    strangers: tuple[Machine, ...] = ()

    @property
    def unclaimed(self) -> tuple[Machine, ...]:
        """Strangers that the state of a plan held which is lost."""
        return tuple(machine for machine in self.strangers if machine.is_of_plan)


class Action(StrEnum):
    """What a change does; the value is the symbol people see."""

    LAUNCH = "+"
    TERMINATE = "-"
    REPLACE = "~"
    COMMIT = "$"


class How(StrEnum):
    """What apply does about a change. REPLACE launches first and ends what it replaces when that stands, ADOPT only
    remembers a machine, RESOLVE asks again for what was asked for before with an unknown outcome, and SHOW does
    nothing: commitments are bought elsewhere."""

    LAUNCH = "launch"
    TERMINATE = "terminate"
    REPLACE = "replace"
    ADOPT = "adopt"
    RESOLVE = "resolve"
    SHOW = "show"


@dataclass(frozen=True, slots=True)
class Change:
    """One line of a plan. ``count`` is machines that come, ``ids`` those that go (or are adopted), ``intent`` the
    number of the intent that is resolved, ``hourly`` by how much the dollars an hour change."""

    action: Action
    how: How
    address: str
    instance_type: str
    count: int
    hourly: Decimal
    reason: str
    ids: tuple[str, ...] = ()
    intent: int = 0


class Bar(StrEnum):
    """Why something is not done."""

    PROTECTED = "protected"
    UNTAGGED = "untagged"
    UNSEEN = "unseen"
    LOST_STATE = "lost-state"
    STRAY = "stray"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Something that is not done, and why; one that ``blocks`` keeps everything else from being done, too."""

    bar: Bar
    address: str
    why: str
    ids: tuple[str, ...] = ()
    blocks: bool = False


@dataclass(frozen=True, slots=True)
class Base:
    """What changes were made from: they may be applied only while all of it still holds. ``place`` stands for where the
    state would begin (twelve hex digits), and is empty where there is a state already."""

    scope: Scope
    lineage: str
    serial: int
    observed: str
    place: str = ""


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """All changes of a plan. ``standing`` is machines before them; ``unpriced`` are types that stand and whose price is
    not known, so that the dollars an hour leave them out. ``operating`` is how it is to be run, None where the plan
    does not say. ``template`` is what machines are launched with, None where none is launched. ``warnings`` say why
    apply would refuse it as things stand. ``digest`` covers everything else in here."""

    base: Base
    made: datetime
    slots: tuple[Slot, ...]
    changes: tuple[Change, ...]
    refusals: tuple[Refusal, ...]
    notes: tuple[str, ...]
    standing: int
    hourly_before: Decimal
    hourly_after: Decimal
    unpriced: tuple[str, ...] = ()
    operating: Operating | None = None
    template: LaunchTemplate | None = None
    warnings: tuple[str, ...] = ()
    format_version: str = FORMAT_VERSION
    digest: str = field(default="")

    @property
    def to_do(self) -> tuple[Change, ...]:
        """The changes that apply carries out."""
        return tuple(c for c in self.changes if c.how is not How.SHOW)

    @property
    def is_settled(self) -> bool:
        """Whether what stands is what should: nothing to carry out, and nothing refused."""
        return not self.to_do and not self.refusals

    @property
    def blocking(self) -> tuple[Refusal, ...]:
        """Refusals that keep everything from being done."""
        return tuple(r for r in self.refusals if r.blocks)

    @property
    def coming(self) -> int:
        """Machines that are launched."""
        return sum(c.count for c in self.to_do)

    @property
    def going(self) -> tuple[str, ...]:
        """Machines that are ended."""
        return tuple(i for c in self.to_do if c.how in (How.TERMINATE, How.REPLACE) for i in c.ids)
