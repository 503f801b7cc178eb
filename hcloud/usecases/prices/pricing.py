"""What the price book says: offers listed, one type in all its purchase options, two books compared, all verified."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TypeVar

from hcloud.catalog.book import PriceBook
from hcloud.catalog.checks import check_prices, newer_hidden
from hcloud.catalog.cover.steps import sustained_of
from hcloud.catalog.quote import break_even
from hcloud.catalog.shapes import family_in, family_of
from hcloud.catalog.table import key_order
from hcloud.errors import EvidenceError, UsageError
from hcloud.model.catalog import Offer, OfferKey, Payment, Provider, PurchaseOption, QuarantinedPrice
from hcloud.model.clouds.known import CLOUDS
from hcloud.model.prices import (
    PriceChange,
    PriceComparison,
    PriceLine,
    PriceWarning,
    TypePrices,
    TypeScreen,
    Verification,
)
from hcloud.readers.bundle import bundled
from hcloud.readers.prices.shipped.bundled import load_bundled
from hcloud.readers.prices.shipped.manifest import MANIFEST
from hcloud.readers.prices.shipped.names import families as listed_families
from hcloud.store.prices import Choice, PriceStore
from hcloud.units import natural, some_of

BUNDLED, USER = "bundled", "user"
SHOWN_REGIONS = 12
E = TypeVar("E", Provider, PurchaseOption)
_PAYMENT_ORDER = list(Payment)


@dataclass(frozen=True, slots=True)
class Filter:
    """Which offers are meant; empty means all. Families may hold ``*`` and ``?``."""

    providers: tuple[Provider, ...] = ()
    regions: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    options: tuple[PurchaseOption, ...] = ()
    systems: tuple[str, ...] = ()

    def covers(self, key: OfferKey, family: str) -> bool:
        """Whether an offer of this key and family is meant."""
        return (
            (not self.providers or key.provider in self.providers)
            and (not self.regions or key.region in self.regions)
            and (not self.options or key.option in self.options)
            and (not self.systems or key.os in self.systems)
            and self.names(family)
        )

    def names(self, family: str) -> bool:
        """Whether a family is meant."""
        return not self.families or any(fnmatchcase(family, f) for f in self.families)


ANY = Filter()


def open_book(wanted: Filter = ANY, instance_type: str | None = None) -> PriceBook:
    """The bundled prices with the user's own laid over them, as far as the filter can tell beforehand."""
    providers, regions = wanted.providers or None, wanted.regions or None
    families = None
    if wanted.families:
        clouds = wanted.providers or tuple(Provider)
        families = {name for cloud in clouds for name in listed_families(cloud) if wanted.names(name)}
    if instance_type is not None:
        known = {t.family for (_, name), t in load_bundled().types.items() if name == instance_type}
        families = known or {family_of(p, instance_type) for p in wanted.providers or Provider}
    systems = {"linux", *wanted.systems} if wanted.systems else None  # what prices of others are derived from
    book = load_bundled(None, providers, regions, families, systems)
    own = PriceStore.open().load(Choice(wanted.providers or tuple(Provider), regions, instance_type))
    return book if own is None else book.merged(own)


def list_prices(wanted: Filter, today: date) -> tuple[PriceLine, ...]:
    """The offers that are meant, by place and size; raises EvidenceError where there are none, UsageError for unknown
    regions."""
    _check_regions(wanted)
    book = open_book(wanted)
    keys = [k for k in book.offers if wanted.covers(k, family_in(book, k))]
    if not keys:
        sized = next((f for f in wanted.families if "." in f), None)
        own = f"a family has no size in its name: --family {sized.split('.')[0]}" if sized else "loosen the filters"
        raise EvidenceError("the price book has no such offers", hint=f"{own}, or import a price file")
    keys.sort(key=lambda k: (k.provider, k.region, natural(k.instance_type), *key_order(k)))  # 2xlarge before 12xlarge
    return tuple(_line(book, book.offers[k], today) for k in keys)


def show_type(name: str, wanted: Filter, today: date) -> TypeScreen:
    """Every way to pay for one instance type in one region: on-demand, spot, commitments from short to long.

    Without a region the provider's home region is taken where the type is sold there, else the first by name. Raises
    EvidenceError where no price of it can be used.
    """
    _check_regions(wanted)
    book = open_book(wanted, name)

    def meant(key: OfferKey) -> bool:
        return key.instance_type == name and not key.zone and wanted.covers(key, "")

    keys = [k for k in book.offers if meant(k)]
    refused = {q.key: q for q in book.quarantine if q.key is not None and meant(q.key)}
    if not keys:
        raise _no_offer(name, wanted, list(refused.values()))
    regions = sorted({(k.provider, k.region) for k in keys})
    chosen = next((r for r in regions if CLOUDS[r[0]].home_region == r[1]), regions[0])
    lines = [_line(book, book.offers[k], today) for k in keys if (k.provider, k.region) == chosen]
    here = (refused[k] for k in sorted(refused, key=key_order) if (k.provider, k.region) == chosen)
    elsewhere = tuple(r for _, r in regions if r != chosen[1])
    return TypeScreen(tuple(sorted(lines, key=_screen_order)), tuple(here), elsewhere)


def hidden_by_imports(lines: Sequence[PriceLine]) -> str:
    """What to say of lines that were imported though newer prices are bundled, empty where there is nothing."""
    keys = [line.offer.key for line in lines]
    book = load_bundled(None, {k.provider for k in keys}, {k.region for k in keys}, None, {k.os for k in keys})
    return newer_hidden((line.offer for line in lines), book.offers)


def compare(old: PriceBook, new: PriceBook) -> PriceComparison:
    """What was added, removed and changed in price, by key."""
    changes = []
    for key in sorted({*old.offers, *new.offers}, key=key_order):
        before, after = old.offers.get(key), new.offers.get(key)
        if before is None or after is None or (before.hourly, before.upfront) != (after.hourly, after.upfront):
            changes.append(PriceChange(key, before, after))
    shared = sum(k in new.offers for k in old.offers)
    return PriceComparison(tuple(changes), shared - sum(c.old is not None and c.new is not None for c in changes))


def verify(advance: Callable[[float], None]) -> Verification:
    """Check the bundled files against their manifest, and every price of the book in use."""
    root = bundled("pricing")
    files, damaged = _damaged_files(root)
    trusted = load_bundled()
    findings = list(check_prices(trusted))
    advance(0.2)
    quarantined = [*trusted.quarantine]
    offers = len(trusted.offers)
    own = PriceStore.open().load()
    advance(0.6)
    if own is not None:
        findings += check_prices(own, trusted)
        quarantined += own.quarantine
        offers += len(own.offers)
    quarantined += [f for f in findings if isinstance(f, QuarantinedPrice)]
    warnings = tuple(f for f in findings if isinstance(f, PriceWarning))
    return Verification(files, damaged, offers, tuple(quarantined), warnings)


def parse_filter(words: Mapping[str, list[str]]) -> Filter:
    """A filter from words of the command line; raises UsageError naming what is allowed."""
    return Filter(
        tuple(_member(Provider, "--provider", w) for w in words.get("provider", ())),
        tuple(words.get("region", ())),
        tuple(words.get("family", ())),
        tuple(_member(PurchaseOption, "--option", w) for w in words.get("option", ())),
        tuple(words.get("os", ())),
    )


def _member(kind: type[E], flag: str, word: str) -> E:
    try:
        return kind(word)
    except ValueError:
        raise UsageError(f"{flag} {word}: must be one of {', '.join(kind)}{_meant(word, list(kind))}") from None


def _check_regions(wanted: Filter) -> None:
    """Raise UsageError for a region that neither the bundled nor the imported prices know."""
    providers = wanted.providers or tuple(Provider)
    places = load_bundled(providers=providers).places()
    known = {region for provider, region in places if provider in providers}
    if known.issuperset(wanted.regions):
        return
    own = PriceStore.open().load(Choice(providers))
    known |= {region for _, region in own.places()} if own is not None else set()
    for region in wanted.regions:
        if region not in known:
            sellers = "" if len(providers) > 1 else f" of {providers[0]}"
            raise UsageError(
                f"--region {region}: the price book has no such region{sellers}{_meant(region, known)}",
                hint=f"regions it knows: {some_of(sorted(known), SHOWN_REGIONS)}",
            )


def _no_offer(name: str, wanted: Filter, refused: Sequence[QuarantinedPrice]) -> EvidenceError:
    """Why there is nothing to show of a type: all in quarantine, not sold so, or not known at all."""
    if refused:
        first = f"{refused[0].row}: {refused[0].reason}"
        return EvidenceError(f"{name}: every price of it is quarantined, for example {first}")
    providers = wanted.providers or tuple(Provider)
    names = {n for p, n in load_bundled().types if p in providers}
    narrowed = [*wanted.providers, *wanted.regions, *wanted.systems]
    if name in names:
        return EvidenceError(
            f"the price book has no offer of {name!r} for {', '.join(narrowed)}", hint="loosen the filters"
        )
    return EvidenceError(
        f"the price book has no offer of {name!r}{_meant(name, names, 3)}",
        hint="'hcloud pricing list --family PATTERN' lists types",
    )


def _line(book: PriceBook, offer: Offer, today: date) -> PriceLine:
    key = offer.key
    listed = book.offers.get(replace(key, option=PurchaseOption.ON_DEMAND, term_years=0, payment=Payment.NONE, zone=""))
    machine = book.types.get((key.provider, key.instance_type))
    age = max((today - offer.origin.day).days, 0)
    rule = sustained_of(book, listed or offer, family_in(book, key))
    price = listed.hourly if listed else None
    even = break_even(offer.effective_hourly, price, rule) if price and key.option.is_commitment else None
    return PriceLine(offer, machine, price, age, even, rule is not None)


def _screen_order(line: PriceLine) -> tuple[object, ...]:
    key = line.offer.key
    first = [PurchaseOption.ON_DEMAND, PurchaseOption.SPOT]
    rank = first.index(key.option) if key.option in first else len(first)
    return key.os != "linux", key.os, key.tenancy, rank, key.option, key.term_years, _PAYMENT_ORDER.index(key.payment)


def _meant(word: str, known: Iterable[str], most: int = 1) -> str:
    import difflib

    close = difflib.get_close_matches(word, sorted(known), most)
    return f"; did you mean {' or '.join(close)}?" if close else ""


def _damaged_files(root: Path) -> tuple[int, tuple[str, ...]]:
    try:
        rows = list(csv.DictReader((root / MANIFEST).read_text(encoding="utf-8").splitlines()))
    except OSError:
        return 0, (f"{MANIFEST} is missing",)
    return len(rows), (*_mismatches(root, rows), *_strangers(root, rows))


def _mismatches(root: Path, rows: list[dict[str, str]]) -> Iterator[str]:
    for row in rows:
        path = root / row["file"]
        if not path.is_file():
            yield f"{row['file']} is missing"
        elif hashlib.sha256(path.read_bytes()).hexdigest() != row["sha256"]:
            yield f"{row['file']} does not match the manifest"


def _strangers(root: Path, rows: list[dict[str, str]]) -> Iterator[str]:
    listed = {row["file"] for row in rows} | {MANIFEST}
    for path in sorted(root.rglob("*.csv")):
        name = path.relative_to(root).as_posix()
        if name not in listed:
            yield f"{name} is not in the manifest"


def prices_of(columns: Iterable[str]) -> TypePrices:
    """The prices of columns named as types (``m5.large``), or as so many nodes of one (``m5.large/4``)."""
    wanted = {column: _nodes(column) for column in columns}
    if not wanted:
        return TypePrices({})
    regions = tuple(cloud.home_region for cloud in CLOUDS.values())
    book = open_book(Filter(regions=regions, options=(PurchaseOption.ON_DEMAND,), systems=("linux",)))
    found = {}
    for column, (name, nodes) in wanted.items():
        keys = (OfferKey(c.name, c.home_region, name, PurchaseOption.ON_DEMAND) for c in CLOUDS.values())
        offer = next((book.offers[k] for k in keys if k in book.offers), None)
        if offer is not None and offer.hourly > 0:
            found[column] = (offer, float(offer.hourly) * nodes)
    return TypePrices(
        {column: hourly for column, (_, hourly) in found.items()},
        tuple(sorted({offer.key.region for offer, _ in found.values()})),
        min((offer.origin.day for offer, _ in found.values()), default=None),
    )


def _nodes(column: str) -> tuple[str, int]:
    name, slash, count = column.rpartition("/")
    return (name, int(count)) if slash and count.isdecimal() and int(count) else (column, 1)
