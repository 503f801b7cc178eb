"""What is planned of a bill: its kinds of machines within the markets that are asked for, what is held, the prices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time
from decimal import Decimal
from fnmatch import fnmatchcase
from itertools import product
from typing import NamedTuple

from hcloud.catalog.book import PriceBook, absent
from hcloud.catalog.shapes import family_of
from hcloud.errors import UsageError
from hcloud.model.bill import Bill, BilledCommitment
from hcloud.model.catalog import OfferKey, Payment, Provider
from hcloud.model.clouds.known import CLOUDS
from hcloud.model.workload import Demand
from hcloud.planning.billed.estate import machines_alike
from hcloud.planning.billed.held import FLOATING, HeldRule, HeldShares, held_of
from hcloud.planning.billed.kinds import KindUse, MachineKind
from hcloud.readers.configuration.config import Loaded, MarketSection
from hcloud.readers.configuration.owned_section import OwnedSection
from hcloud.usecases.deciding.plan import hours_left, spent_on
from hcloud.usecases.workloads.billed import SHOWN_NAMES, BillOfKinds
from hcloud.usecases.workloads.sources import open_prices

BoughtSince = Callable[[datetime, str], tuple[Sequence[OwnedSection], tuple[str, ...]]]
"""What a cloud says was bought since a moment for the kind of a machine at an address, and what is said about it."""


@dataclass(frozen=True, slots=True)
class BillBasis:
    """What is planned of a bill: its kinds within the markets that are asked for, those too small to plan, what is held
    of each, the prices, and where there are some; ``expired`` is what the configuration says was owned."""

    found: BillOfKinds
    kinds: tuple[KindUse, ...]
    small: tuple[KindUse, ...]
    held: HeldShares
    book: PriceBook
    priced: frozenset[tuple[Provider, str, str, str]]
    loaded: Loaded
    expired: tuple[OwnedSection, ...]

    @property
    def bill(self) -> Bill:
        """The bill."""
        return self.found.bill


def basis_of(found: BillOfKinds, loaded: Loaded, now: datetime) -> BillBasis:
    """What is planned of a bill. Where the configuration names markets, kinds outside them are left out."""
    kinds = [use for use in found.kinds if market_of(loaded, use.kind) is not None]
    if not kinds:
        raise _nothing(found)
    expired = tuple(section for section in loaded.config.owned if not hours_left(section, now))
    owned = tuple(section for section in loaded.config.owned if section not in expired)
    loaded = loaded.changed(owned=owned)
    book = _book_of(found.bill, loaded, now)
    floating = [section for section in owned if _is_of_several(section, kinds)]
    held_too = tuple(_as_billed(section, found, book) for section in floating)
    found = replace(found, bill=replace(found.bill, commitments=(*found.bill.commitments, *held_too)))
    bound = tuple(section for section in owned if section not in floating)
    loaded = loaded.changed(owned=bound)
    until, horizon = loaded.config.bill.held_until, loaded.config.settings().outlook.horizon_hours
    seen, floats = (found.recent_hours, found.end, found.shrunk), _floated(kinds, book)
    held = held_of(found.bill, kinds, found.types, HeldRule(now, until, horizon, *seen, floats, book.offers))
    least = sum((use.size for use in kinds), Decimal(0)) * Decimal(loaded.config.bill.least_share)
    large = tuple(use for use in kinds if use.size >= least)
    small = tuple(use for use in kinds if use.size < least)
    wanted = {market_key(use.kind) for use in kinds}
    priced = frozenset(wanted - absent(wanted, ((k.provider, k.region, k.os, k.tenancy) for k in book.offers)))
    return BillBasis(found, large, small, held, book, priced, loaded, expired)


def _is_of_several(section: OwnedSection, kinds: Sequence[KindUse]) -> bool:
    """Whether what is owned covers several kinds: it floats, or is of a family with several systems."""
    return len(_alike(section, kinds)) > 1 if section.option.is_of_a_family else section.option.floats


def _alike(section: OwnedSection, kinds: Sequence[KindUse]) -> list[KindUse]:
    """The kinds whose machines are covered as the one that is owned."""
    place = (section.provider, section.region, machines_alike(section.key))
    names = [machines_alike(replace(section.key, instance_type=use.usual.name)) for use in kinds]
    named = zip(kinds, names, strict=True)
    return [use for use, name in named if (use.kind.provider, use.kind.region, name) == place]


def _as_billed(section: OwnedSection, found: BillOfKinds, book: PriceBook) -> BilledCommitment:
    """What covers several kinds and is owned beside what the bill has, as if the bill had it, unused, from its end
    on."""
    shape = book.instance_type(section.provider, section.instance_type)
    place = ("", "") if section.option.floats else (section.region, shape.family)
    dollars, hours, until = spent_on(section, book), found.bill.hours, datetime.combine(section.expires, time(), UTC)
    name, count = ("", dollars) if section.option.is_spend_based else (shape.name, section.count)
    return BilledCommitment(
        str(section.key), section.provider, section.option, "", *place, name, count, dollars * hours, Decimal(0),
        term_years=section.term_years, payment=section.payment, start=found.end, end=until, hours=hours,
    )  # fmt: skip


def _floated(kinds: Sequence[KindUse], book: PriceBook) -> frozenset[tuple[str, ...]]:
    """The machines of the kinds, with their place and system, for which commitments that float are sold: a book is
    asked for them alone, since one of whole regions takes a while to make."""
    places = {(k.provider, k.region, use.usual.name, k.os, k.tenancy) for use in kinds for k in (use.kind,)}
    terms = list(product(sorted(FLOATING), (1, 3), Payment))
    return frozenset(
        (provider, region, name, os, tenancy)
        for provider, region, name, os, tenancy in places
        if any(OfferKey(provider, region, name, *term, os, tenancy) in book.offers for term in terms)
    )


def question_of(basis: BillBasis, use: KindUse) -> tuple[Demand, Loaded]:
    """The demand of a kind, and the configuration with its own machines as the only market."""
    market = market_of(basis.loaded, use.kind)
    assert market is not None, "kinds outside the markets were left out"
    return basis.found.demand(use), basis.loaded.changed(markets=(market,), owned=_bought_since(basis, use))


def market_key(kind: MachineKind) -> tuple[Provider, str, str, str]:
    """What a kind has prices by."""
    return kind.provider, kind.region, kind.os, kind.tenancy


def market_of(loaded: Loaded, kind: MachineKind) -> MarketSection | None:
    """The offers that a kind may choose from: its own machines. None where the configuration's markets leave it out."""
    chosen = "markets" in loaded.config.model_fields_set
    sections = [m for m in loaded.config.markets if m.provider == kind.provider] if chosen else []
    if chosen and not any(_within(section, kind) for section in sections):
        return None
    base = next((s for s in sections if _within(s, kind)), MarketSection(provider=kind.provider))
    own = {
        "regions": (kind.region,),
        "families": (kind.family if kind.sizes_share else kind.label,),
        "architectures": (kind.arch,),
        "vcpus": kind.vcpus or "auto",
        "os": kind.os,
        "tenancy": kind.tenancy,
        "gpus": kind.gpus,
    }
    return base.model_copy(update=own)


class BoughtOfBill(NamedTuple):
    """What is planned of a bill with what was bought since as owned where one kind alone can be meant, what of that
    covers several kinds, and what is said of the rest."""

    basis: BillBasis
    several: tuple[OwnedSection, ...]
    said: tuple[str, ...]


def with_bought(basis: BillBasis, bought: Sequence[OwnedSection]) -> BoughtOfBill:
    """What is planned of a bill with what was ``bought`` since its end."""
    priced = [section for section in bought if section.option.floats or section.key in basis.book.offers]
    several = tuple(section for section in priced if _is_of_several(section, basis.kinds))
    rest = (section for section in bought if section not in several)
    found = [(section, _covered(section, basis) if section in priced else []) for section in rest]
    owned = (*basis.loaded.config.owned, *(section for section, kinds in found if len(kinds) == 1))
    said = tuple(
        f"{section.key} was bought since the end of the bill and is not counted here, as it "
        f"{f'may cover any of {len(kinds)} kinds' if kinds else 'covers no kind that is planned, or has no price'}"
        ": 'hcloud commit plan' subtracts what of it is for the plan"
        for section, kinds in found
        if len(kinds) != 1
    )
    return BoughtOfBill(replace(basis, loaded=basis.loaded.changed(owned=owned)), several, said)


def without_kind(basis: BillBasis) -> list[str]:
    """What the configuration says is owned and no kind that is planned can use: of another system or family."""
    return [str(section.key) for section in basis.loaded.config.owned if not _covered(section, basis)]


def _bought_since(basis: BillBasis, use: KindUse) -> tuple[OwnedSection, ...]:
    """What the configuration says is owned beside what the bill says, each by the largest kind that it covers, before
    others one with the type that it was bought for."""
    owned = [(section, _covered(section, basis)) for section in basis.loaded.config.owned]
    return tuple(s for s, kinds in owned if max(kinds, key=lambda u: s.instance_type in u.sizes, default=None) is use)


def _covered(section: OwnedSection, basis: BillBasis) -> list[KindUse]:
    """The kinds that a commitment covers, the largest first; one bound to a system and tenancy covers no other."""
    family = basis.book.instance_type(section.provider, section.instance_type).family
    place = (section.provider, section.region, family)
    found = [use for use in basis.kinds if (use.kind.provider, use.kind.region, use.kind.family) == place]
    if section.option.is_of_one_system:
        found = [use for use in found if (use.kind.os, use.kind.tenancy) == (section.os, section.tenancy)]
        found = [use for use in found if use.kind.sizes_share or section.instance_type in use.sizes]
    return (_alike(section, found) or found) if section.option.is_of_a_family else found


def _within(section: MarketSection, kind: MachineKind) -> bool:
    """Whether a market names a kind: a type, too, names the kind that its family is planned as."""
    named = [(name, pattern) for pattern in section.families for name in (kind.family, kind.label)]
    named += [(kind.label, family_of(kind.provider, pattern)) for pattern in section.families]
    return (not section.regions or kind.region in section.regions) and (
        not named or any(fnmatchcase(name, pattern) for name, pattern in named)
    )


def _book_of(bill: Bill, loaded: Loaded, now: datetime) -> PriceBook:
    """The prices of every place and system in a bill, and of what floats and is owned."""
    places: dict[tuple[Provider, str, str], set[str]] = {}
    machines = tuple(sorted({used.kind.instance_type for used in bill.usage} - {""}))
    for used in bill.usage:
        kind = used.kind
        for os in {kind.os, kind.os if CLOUDS[kind.provider].covers_licence else "linux"}:
            places.setdefault((kind.provider, os, kind.tenancy), set()).add(kind.region)
    markets = tuple(
        MarketSection(provider=provider, regions=tuple(sorted(regions)), families=machines, os=os, tenancy=tenancy)
        for (provider, os, tenancy), regions in sorted(places.items())
    )
    if not markets:
        return PriceBook({}, {})
    floating = tuple(section for section in loaded.config.owned if section.option.floats)
    return open_prices(loaded.changed(markets=markets, owned=floating), now.date())[0]


def _nothing(found: BillOfKinds) -> UsageError:
    name = found.bill.name
    if found.kinds:
        names = ", ".join(use.kind.name for use in found.kinds[:SHOWN_NAMES])
        return UsageError(f"{name}: no machine of it is in the markets that are asked for", hint=f"it has {names}")
    if not found.unplanned:
        return UsageError(
            f"{name}: no machines that ran on demand or under commitments are in the bill",
            hint="'hcloud workload show' lists what is in it",
        )
    why = "; ".join(f"{one.name}: {one.why}" for one in found.unplanned[:SHOWN_NAMES])
    return UsageError(
        f"{name}: nothing in the bill can be planned: {why}",
        hint="prices come with 'hcloud pricing refresh', 'hcloud pricing import' or an overlay",
    )
