"""The bundled price tables as rows: every cell checked, every problem kept with its file and line."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from functools import lru_cache
from pathlib import Path

from hcloud.catalog.book import LICENCE
from hcloud.errors import InputError, Problem
from hcloud.model.catalog import Origin, Payment, PurchaseOption
from hcloud.units import parse_decimal

_ANY = "*"


@dataclass(frozen=True, slots=True)
class TableFilter:
    """Which regions, families, operating systems and terms beside on-demand are asked for; None means all of them.
    ``machines`` are types that no table lists, but that are priced by their name (custom ones of Google)."""

    regions: Collection[str] | None = None
    families: Collection[str] | None = None
    systems: Collection[str] | None = None
    terms: Collection[tuple[PurchaseOption, int, Payment]] | None = None
    machines: Collection[str] | None = None

    def region(self, name: str) -> bool:
        return self.regions is None or name in self.regions

    def family(self, name: str) -> bool:
        return self.families is None or name in self.families

    def system(self, name: str) -> bool:
        return self.systems is None or name in self.systems

    def term(self, one: tuple[PurchaseOption, int, Payment]) -> bool:
        return self.terms is None or one in self.terms


@dataclass(frozen=True, slots=True)
class TableRow:
    """One line of a table. A cell that cannot be read is reported and replaced by a harmless value, so that one
    reading of a file finds all its problems."""

    file: str
    line: int
    cells: Mapping[str, str]
    problems: list[Problem]

    def text(self, column: str, allowed: Collection[str] = ()) -> str:
        value = self.cells[column]
        if not value:
            self.refuse(column, value, "may not be empty")
        elif allowed and value not in allowed:
            self.refuse(column, value, "one of " + ", ".join(sorted(allowed)))
        return value

    def words(self, column: str) -> list[str]:
        return self.text(column).split()

    def flag(self, column: str) -> bool:
        return self.text(column, ("yes", "no")) == "yes"

    def positive(self, column: str) -> Decimal:
        """A number above zero."""
        return self._number(self.cells[column], column, None)

    def share(self, column: str) -> Decimal:
        """A fraction of the on-demand price: above 0, at most 1."""
        return self._number(self.cells[column], column, Decimal(1))

    def numbers(self, column: str) -> tuple[Decimal, ...]:
        """Several numbers above zero, parted by spaces."""
        return tuple(self._number(word, column, None) for word in self.words(column))

    def years(self, column: str) -> int:
        """The length of a term, 1 or 3."""
        return 3 if self.text(column, ("1", "3")) == "3" else 1

    def origin(self) -> Origin:
        """Source, date and derivation of the row."""
        try:
            day = _day(self.cells["date"])
        except ValueError:
            self.refuse("date", self.cells["date"], "a day as YYYY-MM-DD")
            day = date.min
        return _origin(self.text("source"), day, self.cells.get("derived", ""))

    def refuse(self, column: str, value: str, allowed: str) -> None:
        self.problems.append(Problem(self.file, f"line {self.line}, {column}", repr(value), allowed))

    def _number(self, word: str, column: str, highest: Decimal | None) -> Decimal:
        try:
            value = parse_decimal(word)
        except ValueError:
            self.refuse(column, word, "a number")
            return Decimal(1)
        if value <= 0 or (highest is not None and value > highest):
            self.refuse(column, word, "a number above 0" + (f", at most {highest}" if highest is not None else ""))
            return Decimal(1)
        return value


@dataclass(frozen=True, slots=True)
class PriceTables:
    """A directory of tables, and the problems met while reading it."""

    root: Path
    problems: list[Problem] = field(default_factory=list)

    def rows(self, name: str, columns: Sequence[str], unique: Sequence[str] = ()) -> Iterator[TableRow]:
        """The lines of ``<root>/<name>``; its header must be exactly ``columns``, and the cells of the columns
        ``unique`` may not come twice: of two prices for one thing nobody could say which is right."""
        path = self.root / name
        seen: set[tuple[str, ...]] = set()
        try:
            with path.open(encoding="utf-8", newline="") as handle:
                lines = csv.reader(handle)
                header = next(lines, [])
                if header != list(columns):
                    self._refuse_line(path, 1, ",".join(header), "the header " + ",".join(columns))
                    return
                for cells in lines:
                    if len(cells) != len(columns):
                        self._refuse_line(path, lines.line_num, ",".join(cells), f"{len(columns)} cells")
                        continue
                    row = TableRow(str(path), lines.line_num, dict(zip(columns, cells, strict=True)), self.problems)
                    identity = tuple(row.cells[c] for c in unique)
                    if identity in seen:
                        row.refuse(", ".join(unique), " ".join(identity), "one line only")
                    elif unique:
                        seen.add(identity)
                    yield row
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            self.problems.append(Problem(str(path), "file", str(error), "a readable UTF-8 table"))

    def check(self) -> None:
        """Raise InputError with everything found, if anything was."""
        if self.problems:
            raise InputError(f"the bundled price tables in {self.root} cannot be used", self.problems)

    def _refuse_line(self, path: Path, line: int, value: str, allowed: str) -> None:
        self.problems.append(Problem(str(path), f"line {line}", repr(value), allowed))


@dataclass(frozen=True, slots=True)
class Surcharge:
    """What an operating system costs on top of Linux: per vCPU, or per instance; ``derived`` says what such a price is
    made of."""

    per_vcpu: bool
    usd_per_hour: Decimal
    origin: Origin
    derived: str


def with_surcharge(
    surcharge: Surcharge | None, vcpus: Decimal, hourly: Decimal, origin: Origin
) -> tuple[Decimal, Origin]:
    """A Linux price with the operating system of so many vCPUs on top, where it costs something."""
    if surcharge is None:
        return hourly, origin
    more = surcharge.usd_per_hour * vcpus if surcharge.per_vcpu else surcharge.usd_per_hour
    return hourly + more, join_origins(origin, surcharge.origin, surcharge.derived)


@dataclass(frozen=True, slots=True)
class Surcharges:
    """Operating-system surcharges by (system, family, size), ``*`` standing for any."""

    by_key: Mapping[tuple[str, str, str], Surcharge]

    def systems(self) -> list[str]:
        return sorted({system for system, _, _ in self.by_key})

    def find(self, system: str, family: str, size: str = _ANY) -> Surcharge | None:
        """The most particular surcharge that fits, None for Linux and where the system is not sold on the family."""
        for key in ((system, family, size), (system, family, _ANY), (system, _ANY, _ANY)):
            if key in self.by_key:
                return self.by_key[key]
        return None


def read_surcharges(tables: PriceTables, name: str, columns: Sequence[str], derived: str = LICENCE) -> Surcharges:
    """A surcharge table; columns ``family`` (or ``series``) and ``size`` are optional."""
    found = {}
    for row in tables.rows(name, columns):
        family = row.cells.get("family") or row.cells.get("series") or _ANY
        key = row.text("os"), family, row.cells.get("size", _ANY)
        per_vcpu = row.text("per", ("vcpu", "instance")) == "vcpu"
        found[key] = Surcharge(per_vcpu, row.positive("usd_per_hour"), row.origin(), derived)
    return Surcharges(found)


@lru_cache(maxsize=4096)
def join_origins(first: Origin, second: Origin, extra: str = "") -> Origin:
    """The origin of a price made of two: both sources, the older day, and what was derived."""
    source = first.source if first.source == second.source else f"{first.source}; {second.source}"
    return Origin(source, min(first.day, second.day), _joined(first.derived, second.derived, extra))


def because(origin: Origin, reason: str) -> Origin:
    """The same origin, derived for one more reason."""
    return Origin(origin.source, origin.day, _joined(origin.derived, reason))


def _joined(*reasons: str) -> str:
    return "; ".join(dict.fromkeys(r for r in reasons if r))


@lru_cache(maxsize=256)
def _day(text: str) -> date:
    return date.fromisoformat(text)


@lru_cache(maxsize=4096)
def _origin(source: str, day: date, derived: str) -> Origin:
    return Origin(source, day, derived)
