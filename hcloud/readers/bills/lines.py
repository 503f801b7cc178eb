"""What one sort of line of a bill means; a format says it once for all lines that are alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum

import pyarrow as pa

from hcloud.errors import InputError
from hcloud.model.bill import LineKind, UsageKind
from hcloud.model.catalog import Payment, Provider, PurchaseOption

Texts = Mapping[str, str]
"""The cells that lines have in common, by what they are for; empty where the file has none."""
NET = "net "
"""How the role of a column of costs after discounts begins; that of the same before discounts follows."""


class Stream(StrEnum):
    """What the quantity of a line adds to."""

    HOURS = "hours"
    SPOT = "spot"
    MEMORY = "memory"
    COVERED = "covered"


@dataclass(frozen=True, slots=True)
class NamedCommitment:
    """The commitment that a line names, as far as the line describes it."""

    id: str
    provider: Provider
    option: PurchaseOption
    account: str = ""
    region: str = ""
    family: str = ""
    instance_type: str = ""
    os: str = "linux"
    tenancy: str = "shared"
    term_years: int | None = None
    payment: Payment | None = None
    start: datetime | None = None
    end: datetime | None = None
    count: int | None = None

    def of(self, covered: UsageKind) -> NamedCommitment:
        """The same of a line that does not describe it, by what it covered there: where it holds, unless it floats."""
        if self.option.floats:
            return self
        return replace(self, region=covered.region, family=covered.family, os=covered.os, tenancy=covered.tenancy)


@dataclass(frozen=True, slots=True)
class BillLine:
    """The meaning of lines that are alike.

    ``per`` is how many hours one unit of their quantity is, ``paid_by`` the column with the amortised cost of usage.
    ``fee`` names the columns whose sum a commitment cost, ``use`` those of which its used part is the sum, ``unused``
    those whose sum was not used, ``net`` and ``gross`` those of a fee after and before discounts. Where commitments
    hold for ``part`` of a machine alone (vCPUs, memory), one unit of quantity is so many ``units`` of it for an hour.
    """

    kind: LineKind
    usage: UsageKind | None = None
    stream: Stream = Stream.HOURS
    option: PurchaseOption | None = None
    per: float = 1.0
    paid_by: str = "cost"
    holding: NamedCommitment | None = None
    fee: tuple[str, ...] = ()
    use: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    net: tuple[str, ...] = ()
    gross: tuple[str, ...] = ()
    said: str = ""
    part: str = ""
    units: float = 0.0


@dataclass(frozen=True, slots=True)
class BillFormat:
    """One format of bills. Columns are named as in :func:`plain`, the first name that a file has counts.

    ``marks`` are sets of columns of which a file of this format has one whole, ``without`` such of which it has none;
    ``required`` roles must be there.
    ``identity`` are the columns that tell a line from all others, ``resource`` names the machine of a line that may be
    of a day, ``maps`` the keys that are read of columns that hold several values, and ``nested`` columns that
    ``expand`` makes lines of, or with ``numbers`` amounts. A line without an end is of ``span`` hours. ``paths`` says
    where a role stands in files of a JSON object a line, ``period`` from when on the invoice of a line is. A
    table that ``is_appended`` to never changes a line, and its user may have done it twice.
    """

    name: str
    marks: tuple[frozenset[str], ...]
    texts: Mapping[str, tuple[str, ...]]
    money: Mapping[str, tuple[str, ...]]
    quantity: tuple[str, ...]
    start: tuple[str, ...]
    end: tuple[str, ...]
    required: frozenset[str]
    meaning: Callable[[Texts], BillLine]
    label: Callable[[frozenset[str]], str]
    identity: tuple[str, ...] = ()
    resource: tuple[str, ...] = ()
    maps: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    nested: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    numbers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    expand: Callable[[pa.RecordBatch], pa.RecordBatch] | None = None
    span: int = 1
    paths: Mapping[str, str] = field(default_factory=dict)
    period: tuple[str, ...] = ()
    without: frozenset[str] = frozenset()
    is_appended: bool = False


def plain(name: str) -> str:
    """A column's name by its letters and digits alone: ``lineItem/UsageType`` and ``line_item_usage_type`` are one."""
    return "".join(c for c in name.lower() if c.isalnum())


def moment(text: str) -> datetime | None:
    """A time as bills write it, in UTC; None for an empty text, ValueError for one that is no time."""
    text = text.strip().removesuffix(" UTC")
    if not text:
        return None
    if len(text) == len("202610") and text.isdecimal():
        text = f"{text}01"
    if text[2:3] == "/" and text[5:6] == "/":
        month, day, rest = text[:2], text[3:5], text[6:]
        text = f"{rest[:4]}-{month}-{day}{rest[4:]}"
    at = datetime.fromisoformat(text)
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def moment_or_none(text: str) -> datetime | None:
    """The same for a time that only describes something: None where it cannot be read."""
    try:
        return moment(text)
    except ValueError:
        return None


class PlaceError(InputError):
    """A cell that cannot be used, before it is known which line it stands in."""

    def __init__(self, row: int, column: str, value: str, allowed: str) -> None:
        super().__init__(f"row {row}, column {column}: {value} ({allowed})")
        self.row, self.column, self.value, self.allowed = row, column, value, allowed
