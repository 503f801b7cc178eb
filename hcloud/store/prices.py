"""The user's own prices on disk: a CSV of offers and a JSON beside it, replaced atomically, the last version kept."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import get_type_hints

from hcloud.catalog.book import PriceBook, TypeKey
from hcloud.catalog.intake import PriceSource
from hcloud.catalog.table import COLUMNS, read_table, write_table
from hcloud.errors import HcloudError, InputError
from hcloud.model.catalog import OfferKey, Provider, QuarantinedPrice, SustainedUse
from hcloud.model.checked import check_version
from hcloud.model.json_text import parsed, written
from hcloud.units import parse_decimal, plain
from hcloud.whole_files import SHOWN, sync_directory, whole_file

DIRECTORY_VARIABLE = "HYC_PRICES"
FORMAT_VERSION = "1.0"
TABLE, META, PREVIOUS = "prices.csv", "prices.json", ".previous"
_KEY: Mapping[str, Callable[[str], object]] = get_type_hints(OfferKey)
"""How each part of a key is read from its text."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which part of the stored prices is asked for; None means all."""

    providers: Collection[Provider] | None = None
    regions: Collection[str] | None = None
    instance_type: str | None = None


ALL = Choice()


@dataclass(frozen=True, slots=True)
class PriceStore:
    """The directory of the user's prices."""

    directory: Path

    @classmethod
    def open(cls) -> PriceStore:
        """The directory named by ``HYC_PRICES``, else the one the platform has for user data."""
        if named := os.environ.get(DIRECTORY_VARIABLE):
            return cls(Path(named).expanduser())
        from platformdirs import user_data_path

        return cls(user_data_path("hcloud-hybrid", appauthor=False) / "prices")

    @property
    def table(self) -> Path:
        """The CSV of offers."""
        return self.directory / TABLE

    def load(self, choice: Choice = ALL) -> PriceBook | None:
        """The stored prices, None where nothing was imported yet; raises InputError where the files are damaged."""
        try:
            with self.table.open(encoding="utf-8", newline="") as file:
                text = "".join(_chosen(file, choice))
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{self.table} cannot be read: {error}") from error
        book = read_table(text, PriceSource(str(self.table), date.min))
        damaged = (replace(q, row=f"{TABLE}: {q.row}") for q in book.quarantine)
        path = self.directory / META
        meta = _read_meta(path)
        try:
            listed, sustained = _quarantine(meta), _sustained(meta)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"{path} is damaged: {error}", hint="import the prices again") from error
        refused = (q for q in listed if q.key is None or _wanted(q.key, choice))
        offers = {k: o for k, o in book.offers.items() if _wanted(k, choice)}
        return PriceBook(book.types, offers, {}, sustained, (*damaged, *refused))

    def save(self, book: PriceBook, note: Mapping[str, str]) -> None:
        """Replace the stored prices. A reader sees the old files or the new ones, never half of one; the old ones stay
        beside them under ``.previous``. Raises HcloudError where the directory cannot be written."""
        table = write_table(book)
        meta = {
            "format_version": FORMAT_VERSION,
            "sha256": hashlib.sha256(table.encode()).hexdigest(),
            "note": dict(note),
            "sustained": [
                {"provider": str(p), "series": s, "tiers": [plain(t) for t in rule.tiers]}
                for (p, s), rule in sorted(book.sustained.items())
            ],
            "quarantine": [_quarantine_row(q) for q in book.quarantine if q.key is not None or q.is_of_a_term],
        }
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            # The table goes last: a new table never stands beside the quarantine list of an older one
            self._replace(META, written(meta, indent=1) + "\n")
            self._replace(TABLE, table)
            sync_directory(self.directory)
        except OSError as error:
            raise HcloudError(
                f"the prices cannot be stored in {self.directory}: {error.strerror or error}",
                hint=f"name another directory in {DIRECTORY_VARIABLE}; the prices stored before are unchanged",
            ) from error

    def _replace(self, name: str, text: str) -> None:
        kept = self.directory / f"{name}{PREVIOUS}"
        with whole_file(self.directory / name, SHOWN, keep=kept) as file:
            file.write(text.encode())


def _chosen(lines: Iterable[str], choice: Choice) -> Iterable[str]:
    """The header and the rows that may be meant, told by plain text: parsing every row would take many times longer."""
    starts: tuple[str, ...] = ("",)
    if choice.providers is not None:
        starts = tuple(f"{p},{r}," if r else f"{p}," for p in choice.providers for r in (choice.regions or ("",)))
    inside = "" if choice.instance_type is None else f",{choice.instance_type},"
    header = ",".join(COLUMNS)
    return (line for line in lines if (line.startswith(starts) and inside in line) or line.startswith(header))


def _wanted(key: OfferKey, choice: Choice) -> bool:
    return (
        (choice.providers is None or key.provider in choice.providers)
        and (choice.regions is None or key.region in choice.regions)
        and choice.instance_type in (None, key.instance_type)
    )


def _quarantine_row(refused: QuarantinedPrice) -> dict[str, str]:
    row = {"row": refused.row, "reason": refused.reason}
    return row if refused.key is None else row | {name: str(getattr(refused.key, name)) for name in _KEY}


def _read_meta(path: Path) -> Mapping[str, object]:
    try:
        meta = parsed(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}", hint="import the prices again") from error
    check_version(meta, str(path))
    return dict(meta)


def _quarantine(meta: Mapping[str, object]) -> tuple[QuarantinedPrice, ...]:
    listed = meta.get("quarantine")
    rows = [{str(k): str(v) for k, v in e.items()} for e in listed] if isinstance(listed, list) else []
    return tuple(QuarantinedPrice(r["row"], r["reason"], _key(r) if "provider" in r else None) for r in rows)


def _sustained(meta: Mapping[str, object]) -> dict[TypeKey, SustainedUse]:
    rules: dict[TypeKey, SustainedUse] = {}
    listed = meta.get("sustained")
    for entry in listed if isinstance(listed, list) else []:
        tiers: tuple[Decimal, ...] = tuple(parse_decimal(str(t)) for t in entry["tiers"])
        rules[Provider(entry["provider"]), str(entry["series"])] = SustainedUse(str(entry["series"]), tiers)
    return rules


def _key(row: Mapping[str, str]) -> OfferKey:
    return OfferKey(*(read(row[name]) for name, read in _KEY.items()))  # type: ignore[arg-type]  # each by its type
