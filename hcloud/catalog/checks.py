"""What is wrong with prices that can be read: impossible, a hundredfold off, or a commitment dearer than on-demand.

The checks look at one book and, for comparison, at a book of prices already trusted. They decide nothing else: a price
that fails goes to quarantine, where no plan can use it, and a price that is merely odd gives a warning.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from itertools import chain
from typing import NamedTuple

from hcloud.catalog.book import PriceBook
from hcloud.catalog.intake import refusal
from hcloud.model.catalog import Offer, OfferKey, Payment, PurchaseOption, QuarantinedPrice, refresh_command
from hcloud.model.prices import PriceWarning
from hcloud.units import rate

CENTS_FROM, CENTS_TO = Decimal(30), Decimal(300)
NEIGHBOURS = 2
# No family without accelerators costs half as much per vCPU and hour; a cheap one in cents costs thrice as much
DEAREST_VCPU = Decimal("1.5")
CHEAPEST_SHARE = Decimal("0.05")
SAME_PRICE = Decimal("0.005")  # ours: prices that differ by less are one price, rounded
DERIVED = "derived prices are in use"
_EMPTY = PriceBook({}, {})

Group = tuple[object, ...]


Finding = QuarantinedPrice | PriceWarning


def check_prices(book: PriceBook, known: PriceBook = _EMPTY) -> tuple[Finding, ...]:
    """Everything found in the book's offers, in key order; ``known`` serves as neighbours and on-demand references."""
    bad = {k: why for k, o in book.offers.items() if (why := refusal(k, o.hourly, o.upfront))}
    sound = _without(book.offers, bad)
    bad |= _all_in_cents(sound, book, known) or _hundredfold(sound, book, known)
    sound = _without(sound, bad)
    findings: list[Finding] = [QuarantinedPrice(str(k), why, k) for k, why in bad.items()]
    references: dict[Group, Offer | None] = {}
    for key, offer in sound.items():
        if key.option == PurchaseOption.ON_DEMAND:
            continue
        machine = (key.provider, key.region, key.instance_type, key.os, key.tenancy)
        if machine not in references:
            references[machine] = _reference(key, sound, bad, known)
        findings += _against_on_demand(offer, references[machine])
    return tuple(sorted(findings, key=lambda f: f.row))


def newer_hidden(used: Iterable[Offer], bundled: Mapping[OfferKey, Offer]) -> str:
    """What to say where prices in use were imported though the bundle has newer published ones that differ, empty where
    none did."""
    pairs = [(mine, bundled[mine.key]) for mine in used if mine.key in bundled]
    hidden = [
        (abs(mine.effective_hourly / its.effective_hourly - 1), mine, its)
        for mine, its in pairs
        if its.origin.day > mine.origin.day and not its.origin.derived and its.effective_hourly
    ]
    differing = sorted((h for h in hidden if h[0] > SAME_PRICE), key=lambda h: (-h[0], h[1].key))
    if not differing:
        return ""
    _, mine, its = differing[0]
    refresh = refresh_command(mine.key.provider, mine.key.region)
    few = "1 imported price hides a newer bundled one" if len(differing) == 1 else (
        f"{len(differing):,} imported prices hide newer bundled ones"
    )  # fmt: skip
    return (
        f"{few}: {mine.key} costs ${rate(mine.effective_hourly):f}/h of {mine.origin.day}, bundled"
        f" ${rate(its.effective_hourly):f}/h of {its.origin.day}; '{refresh}' fetches today's,"
        " prices.book: bundled leaves imported ones out"
    )


def _without(offers: Mapping[OfferKey, Offer], bad: Mapping[OfferKey, str]) -> Mapping[OfferKey, Offer]:
    return {k: o for k, o in offers.items() if k not in bad} if bad else offers


def checked(book: PriceBook, known: PriceBook = _EMPTY) -> tuple[PriceBook, tuple[PriceWarning, ...]]:
    """The book without the offers that fail a check, those in quarantine instead, and the warnings about the rest."""
    findings = check_prices(book, known)
    refused = tuple(f for f in findings if isinstance(f, QuarantinedPrice))
    keys = {f.key for f in refused}
    offers = {k: o for k, o in book.offers.items() if k not in keys}
    warnings = tuple(f for f in findings if isinstance(f, PriceWarning))
    return replace(book, offers=offers, quarantine=book.quarantine + refused), warnings


def _against_on_demand(offer: Offer, reference: Offer | None) -> Iterator[Finding]:
    key = offer.key
    if reference is None:
        return
    price, listed = offer.effective_hourly, reference.hourly
    if key.option == PurchaseOption.SPOT:
        if price > listed:
            yield PriceWarning(str(key), f"spot at ${price:.6g} an hour is above on-demand at ${listed:.6g}", key)
        return
    if price > listed:
        reason = f"costs ${price:.6g} an hour over its term, more than on-demand at ${listed:.6g}"
        yield QuarantinedPrice(str(key), reason, key)
    elif price < listed * CHEAPEST_SHARE:
        share = f"{price / listed:.1%}"
        yield PriceWarning(str(key), f"costs {share} of on-demand over its term: is the unit right?", key)


def _reference(
    key: OfferKey, sound: Mapping[OfferKey, Offer], bad: Mapping[OfferKey, str], known: PriceBook
) -> Offer | None:
    """The on-demand offer a price is compared with: of the same book, else the trusted one."""
    wanted = OfferKey(
        key.provider, key.region, key.instance_type, PurchaseOption.ON_DEMAND, 0, Payment.NONE, key.os, key.tenancy
    )
    if wanted in bad:
        return None
    return sound.get(wanted) or known.offers.get(wanted)


def _all_in_cents(sound: Mapping[OfferKey, Offer], book: PriceBook, known: PriceBook) -> dict[OfferKey, str]:
    """Every offer, where a vCPU under Linux usually costs more than any machine's: then no neighbour is in dollars."""
    prices = []
    for key, offer in sound.items():
        machine = book.types.get((key.provider, key.instance_type)) or known.types.get(
            (key.provider, key.instance_type)
        )
        plain_linux = key.option == PurchaseOption.ON_DEMAND and key.os == "linux"
        if machine is not None and plain_linux and not machine.gpus and machine.category != "accelerated":
            prices.append(offer.hourly / machine.vcpus)
    usual = sorted(prices)[(len(prices) - 1) // 2] if prices else Decimal(0)
    if usual <= DEAREST_VCPU:
        return {}
    return dict.fromkeys(sound, f"the source's usual vCPU costs ${usual:.3g} an hour: cents instead of dollars?")


def _hundredfold(sound: Mapping[OfferKey, Offer], book: PriceBook, known: PriceBook) -> dict[OfferKey, str]:
    """Prices that look like cents read as dollars: 30 to 300 times what comparable offers cost.

    Compared are, in this order: the same offer in the trusted book, the other sizes of its family in its region by
    size-flexibility unit, and the same type in other regions.
    """
    bad: dict[OfferKey, str] = {}
    sizes, regions = _Groups(), _Groups()
    peers = [_peer(offer, book, known) for offer in sound.values()]
    for one in chain(peers, (_peer(o, book, known) for o in _strangers(sound, known)) if known.offers else ()):
        sizes.add(one.size, one.unit)
        regions.add(one.region, one.price)
    for key, one in zip(sound, peers, strict=True):
        trusted = known.offers.get(key)
        checks = (
            ("it cost before", one.price, trusted.effective_hourly if trusted else None),
            ("the other sizes of its family cost per unit", one.unit, sizes.middle(one.size)),
            ("the same type costs in other regions", one.price, regions.middle(one.region)),
        )
        for than, value, usual in checks:
            if value is not None and usual and value > usual and CENTS_FROM <= value / usual <= CENTS_TO:
                bad[key] = f"${one.price:.6g} is {value / usual:.0f} times what {than}: cents instead of dollars?"
                break
    return bad


class _Peer(NamedTuple):
    """An offer's dollars an hour, alone and per size-flexibility unit, and the two groups that it is compared in."""

    price: Decimal
    unit: Decimal | None
    size: Group | None
    region: Group


def _peer(offer: Offer, book: PriceBook, known: PriceBook) -> _Peer:
    key, price = offer.key, offer.effective_hourly
    name, terms = (key.provider, key.instance_type), (key.option, key.term_years, key.payment)
    region = (*name, key.os, key.tenancy, *terms)
    machine = book.types.get(name) or known.types.get(name)
    if machine is None:
        return _Peer(price, None, None, region)
    size = None if machine.gpus else (key.provider, key.region, machine.family, key.os, key.tenancy, *terms)
    return _Peer(price, price / machine.units if machine.units > 0 else None, size, region)


class _Groups:
    """Prices by group; ``middle`` is what the lower half of a group comes to, untouched by a few wild rows."""

    def __init__(self) -> None:
        self._prices: dict[Group, list[Decimal]] = defaultdict(list)
        self._middles: dict[Group, Decimal | None] = {}

    def add(self, group: Group | None, price: Decimal | None) -> None:
        """Take in a price where it has a group."""
        if group is not None and price is not None:
            self._prices[group].append(price)

    def middle(self, group: Group | None) -> Decimal | None:
        """The lower median of a group, None where it has too few members to compare with."""
        if group is None:
            return None
        if group not in self._middles:
            prices = sorted(self._prices[group])
            self._middles[group] = prices[(len(prices) - 1) // 2] if len(prices) >= NEIGHBOURS else None
        return self._middles[group]


def _strangers(sound: Mapping[OfferKey, Offer], known: PriceBook) -> Iterator[Offer]:
    """Trusted offers beside those of the book, of the same types and families and on the same terms only."""
    families = {(k.provider, k.instance_type.partition(".")[0].partition("-")[0]) for k in sound}
    terms = {(k.option, k.term_years, k.payment, k.os, k.tenancy) for k in sound}
    for key, offer in known.offers.items():
        if (key.option, key.term_years, key.payment, key.os, key.tenancy) not in terms or key in sound:
            continue
        if (key.provider, key.instance_type.partition(".")[0].partition("-")[0]) in families:
            yield offer


def derived_in_use(options: Iterable[str]) -> str:
    """That prices of some options are derived, not published."""
    return f"{DERIVED} ({', '.join(sorted(set(options)))}): see 'hcloud explain' before buying"
