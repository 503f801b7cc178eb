"""Takes prices in: files of any known format, and what the providers publish; good rows are kept, the rest counted."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from hcloud.catalog.book import PriceBook, TypeKey
from hcloud.catalog.checks import checked
from hcloud.catalog.intake import Intake, IntakeResult, PriceSource, restricted_to
from hcloud.catalog.shapes import family_in
from hcloud.errors import HcloudError, InputError, UnreachableError, UsageError
from hcloud.model.catalog import InstanceType, OfferKey, Provider, QuarantinedPrice
from hcloud.model.clouds.known import CLOUDS
from hcloud.model.prices import PriceComparison
from hcloud.providers.http import Fetcher, HttpLimits
from hcloud.readers.prices.payload import decode, read_bytes
from hcloud.readers.prices.recognise import format_named, own_day, recognise
from hcloud.readers.prices.shipped.bundled import load_bundled
from hcloud.store.prices import PriceStore
from hcloud.units import counted
from hcloud.usecases.prices.pricing import BUNDLED, USER, compare

_DAY_IN_NAME = re.compile(r"(?<!\d)(20\d\d)-?([01]\d)-?([0-3]\d)(?!\d)", re.ASCII)
_WAY = r"(?:central|east|west|(?:north|south)(?:east|west)?)"
_PLACE_IN_NAME = re.compile(rf"(?<![a-z])[a-z]{{2}}(?:-gov)?-{_WAY}-\d(?!\d)", re.ASCII)

USUAL_LIMITS = HttpLimits()

Advance = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Hints:
    """What the command line says about files that do not say it themselves."""

    format: str | None = None
    provider: Provider | None = None
    region: str = ""
    day: date | None = None


@dataclass(frozen=True, slots=True)
class RefreshTarget:
    """What to refresh: a provider's region, from its public endpoint or another one."""

    provider: Provider
    region: str
    endpoint: str | None = None


@dataclass(frozen=True, slots=True)
class IntakeMode:
    """What becomes of prices read: not stored, stored only without a refused row, or in place of all others; and after
    which day they are ``to_come``: such a price would never be old."""

    dry_run: bool = False
    strict: bool = False
    replace: bool = False
    to_come: date = date.max


def import_files(paths: Sequence[Path], hints: Hints, advance: Advance, mode: IntakeMode) -> Intake:
    """Read, check and store price files; a later file wins over an earlier one, and over what was stored before.

    Raises InputError for a file that is no price file or has no row; nothing is stored then, nor where no row can be
    used.
    """
    store = PriceStore.open()
    stored = None if mode.replace else store.load()
    taken = []
    for index, path in enumerate(paths):
        taken.append(_of_today(take_file(path, hints, stored), mode.to_come))
        advance((index + 1) / (len(paths) + 1))
    if mode.dry_run or (mode.strict and any(t.refused for t in taken)) or _says_nothing(taken, mode):
        return Intake(tuple(taken), None)
    book = stored if stored is not None else PriceBook({}, {})
    for source in taken:
        book = _laid_over(book, source)
    store.save(book, {"imported": ", ".join(t.name for t in taken)})
    advance(1)
    return Intake(tuple(taken), store.directory)


def _says_nothing(taken: Sequence[IntakeResult], mode: IntakeMode) -> bool:
    """No price can be used, and no row says which offer it spoils; an empty book replaces none."""
    spoilt = not mode.replace and any(row.key for source in taken for row in source.refused)
    return not spoilt and not any(source.book.offers for source in taken)


def take_file(path: Path, hints: Hints, stored: PriceBook | None) -> IntakeResult:
    """One file as a checked book; it is compared with the bundled prices and those stored before."""
    text = decode(read_bytes(path), str(path))
    known_format = format_named(hints.format) if hints.format else recognise(text, str(path))
    day = hints.day or own_day(text) or _day_of(path)
    # where the file itself says no region; one that does is only restricted to the hint's
    places = _PLACE_IN_NAME.findall(path.name)
    region = hints.region if hints.region in places or not places else places[0]
    source = PriceSource(path.name, day, hints.provider, region, _shapes(stored))
    read = known_format.read(text, source)
    book = restricted_to(read, hints.provider, hints.region)
    taken = _checked(book, known_format.name, path.name, stored)
    if not taken.book.offers and not taken.refused:
        asked = [word for word in (hints.provider, hints.region) if word]
        named = hints.region and region != hints.region and any(k.region == region for k in read.offers)
        hint = f"by its name it is of {region}: rename it if it is not" if named else ""
        raise InputError(f"{path} has no price{' of ' * bool(asked)}{' '.join(asked)}", hint=hint)
    rows = len(read.offers) + len(read.quarantine) - len(book.offers) - len(book.quarantine)
    return replace(taken, left_out=rows)


def _of_today(source: IntakeResult, to_come: date) -> IntakeResult:
    """The same without prices of days to come, which are in quarantine instead."""
    late = {k: o.origin.day for k, o in source.book.offers.items() if o.origin.day > to_come}
    refused = tuple(QuarantinedPrice(str(k), f"is dated {day}, a day to come", k) for k, day in late.items())
    offers = {k: o for k, o in source.book.offers.items() if k not in late}
    book = replace(source.book, offers=offers, quarantine=source.book.quarantine + refused)
    return replace(source, book=book, refused=source.refused + refused) if late else source


def refresh(target: RefreshTarget, now: datetime, advance: Advance, limits: HttpLimits = USUAL_LIMITS) -> Intake:
    """Fetch what a provider publishes for a region, check it and store it.

    Raises UnreachableError where the endpoint fails or answers nonsense: the prices stored before stay as they are.
    """
    name = f"{target.provider} price list {target.region}"
    body = _fetch(target, limits, lambda fraction: advance(0.8 * fraction))
    store = PriceStore.open()
    stored = store.load()
    try:
        text = decode(body, name)
        form = format_named(CLOUDS[target.provider].price_list)
        source = PriceSource(name, now.astimezone(UTC).date(), target.provider, target.region, _shapes(stored))
        book = restricted_to(form.read(text, source), target.provider, target.region)
    except InputError as error:
        raise UnreachableError(f"{error}; stored prices are unchanged", hint=error.hint) from error
    taken = _checked(book, form.name, name, stored)
    if not taken.book.offers:
        raise UnreachableError(
            f"{name}: the answer contains no usable price; stored prices are unchanged",
            hint=f"is {target.region!r} a region of {target.provider}?",
        )
    store.save(_laid_over(stored or PriceBook({}, {}), taken), {"refreshed": name})
    advance(1)
    return Intake((taken,), store.directory)


def read_book(name: str) -> PriceBook:
    """A book by name: ``bundled``, ``user`` (what was imported, over the bundled prices) or a price file.

    Raises UsageError where nothing was imported.
    """
    if name == BUNDLED:
        return load_bundled()
    if name == USER:
        own = PriceStore.open().load()
        if own is None:
            raise UsageError("you have stored no prices", hint="hcloud pricing import FILE")
        return load_bundled().merged(own)
    return take_file(Path(name), Hints(), None).book


def compare_named(old: str, new: str) -> PriceComparison:
    """Two books by name; of a book that is compared with a file, only the part that the file covers."""
    before, after = read_book(old), read_book(new)
    files = [name for name in (old, new) if name not in (BUNDLED, USER)]
    if len(files) != 1:
        return compare(before, after)
    small, large = (before, after) if files[0] == old else (after, before)
    covered = {_scope(k) for k in small.offers}
    part = large.restricted(k for k in large.offers if _scope(k) in covered)
    types = len({(k.provider, k.instance_type) for k in small.offers})
    regions = len({(k.provider, k.region) for k in small.offers})
    return replace(
        compare(before, part) if small is before else compare(part, after),
        within=files[0],
        scope=f"{counted(types, 'type')} in {counted(regions, 'region')}",
        left_aside=len(large.offers) - len(part.offers),
    )


def _scope(key: OfferKey) -> tuple[str, ...]:
    """What a price file speaks of when it has an offer: one way to pay for a type, for whatever term."""
    return (key.provider, key.region, key.instance_type, key.os, key.tenancy, key.option)


def _laid_over(book: PriceBook, source: IntakeResult) -> PriceBook:
    """A book with a source laid over it: of what was not understood in a file only the latest import is told."""
    kept = tuple(q for q in book.quarantine if q.key is not None or not q.row.startswith(f"{source.name}: "))
    return replace(book, quarantine=kept).merged(_named(source))


def _named(source: IntakeResult) -> PriceBook:
    """A source's book as it is stored: a quarantined row says which file it stood in."""
    rows = (replace(q, row=f"{source.name}: {q.row}") for q in source.book.quarantine)
    return replace(source.book, quarantine=tuple(rows))


def _shapes(stored: PriceBook | None) -> Mapping[TypeKey, InstanceType]:
    bundled = load_bundled().types
    return bundled if stored is None else {**stored.types, **bundled}


def _trusted(book: PriceBook, stored: PriceBook | None) -> PriceBook:
    """The prices known before of the providers, families, operating systems and terms a book has, and on demand, to
    which all are compared; making all the bundled offers takes longer."""
    families, systems = {family_in(book, k) for k in book.offers}, {k.os for k in book.offers}
    providers, terms = {k.provider for k in book.offers}, {(k.option, k.term_years, k.payment) for k in book.offers}
    bundled = load_bundled(providers=providers, families=families, systems=systems, terms=terms)
    return bundled if stored is None else bundled.merged(stored)


def _checked(book: PriceBook, form: str, name: str, stored: PriceBook | None) -> IntakeResult:
    """A book with its failing prices in quarantine. Shapes known already stay as they are: the units of a family must
    come from one source to be comparable."""
    before = _trusted(book, stored)
    shaped = replace(book, types={n: before.types.get(n, m) for n, m in book.types.items()})
    good, warnings = checked(shaped, before)
    newer = sum(
        1 for k, o in good.offers.items() if (old := before.offers.get(k)) and old.origin.day > o.origin.day
    )  # fmt: skip
    return IntakeResult(name, form, good, good.quarantine, warnings, newer)


def _fetch(target: RefreshTarget, limits: HttpLimits, advance: Advance) -> bytes:
    offers: Any = import_module(f"hcloud.providers.{target.provider}.offers")
    endpoint = target.endpoint or os.environ.get(offers.ENDPOINT_VARIABLE) or offers.ENDPOINT
    found: bytes = offers.fetch_offers(target.region, Fetcher(endpoint, limits=limits), advance)
    return found


def _day_of(path: Path) -> date:
    """The day a file's name ends with, else the day it was last written."""
    for year, month, day in reversed(_DAY_IN_NAME.findall(path.name)):
        try:
            return date(int(year), int(month), int(day))
        except ValueError:
            continue
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, UTC).date()
    except OSError as error:
        raise HcloudError(f"{path} cannot be read: {error.strerror or error}") from error
