"""What the cloud says is held, as the ``owned`` of a configuration, so that a plan uses it up before it buys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from hcloud.errors import DeniedError
from hcloud.model.catalog import Payment, Provider, PurchaseOption, system_of
from hcloud.model.holdings.live import Commitment, Scope
from hcloud.planning.purchases.history import history
from hcloud.planning.purchases.purchase import bought_for_others, held_quantity, is_standing, queued_for
from hcloud.planning.settings import LARGE_VCPUS
from hcloud.readers.configuration.config import Loaded
from hcloud.readers.configuration.owned_section import OwnedSection
from hcloud.store.records.purchases import PurchaseLedger
from hcloud.usecases.live.ground import LiveGround
from hcloud.usecases.workloads.bills import is_bill_named


def with_held(ground: LiveGround, at: datetime) -> tuple[Loaded, tuple[str, ...]]:
    """The configuration with what the cloud says is held as owned, and what should be said about it.

    It stays as it is where a bill says what is held (see :func:`bought_since`), and where these credentials may not
    look. What a person has stated as owned goes before the same in the account. What the price book knows no price of,
    or the account no type, term or end, cannot be planned with, and is told.
    """
    loaded = ground.loaded
    if is_bill_named(loaded):
        return loaded, ()
    scope, held, denied = _asked(ground)
    if scope is None:
        return loaded, denied
    found = _sections(held, ground, scope, at)
    known = tuple(o for o in found if o.key in ground.book.offers)
    strange = sorted({str(o.key) for o in found if o not in known})
    said = tuple(f"{key} exists in the account, but the price book has no price for it: not counted" for key in strange)
    said += tuple(
        f"{c.id} ({c.option.in_words}) exists in the account, which tells no {' or '.join(lacking)} of it: not counted;"
        " state it under 'owned'"
        for c in held
        if is_standing(c, at) and (lacking := _lacking(c)) and c.option not in _stated_to_float(ground)
    )
    place = (ground.place.provider, ground.place.region)
    if any((o.provider, o.region) == place for o in loaded.config.owned):
        beside = sorted({str(o.key) for o in known})
        said += tuple(f"{key} exists in the account, but not in 'owned': counted as well" for key in beside)
    queued = {day for c in held if is_standing(c, at) and (day := queued_for(c, at))}
    said += tuple(f"what begins on {day:%Y-%m-%d} is counted as owned from now" for day in sorted(queued))
    return loaded.changed(owned=(*loaded.config.owned, *known)), said


def bought_since(
    ground: LiveGround, at: datetime, end: datetime, of: str
) -> tuple[tuple[OwnedSection, ...], tuple[str, ...]]:
    """What the cloud says was bought since the end of a bill for a kind of machine (``of`` is the address of one), and
    what should be said about it. What the ledger has as bought for another kind is left out, and of what floats what a
    person states as owned; what floats is counted in that machine, whatever type a cloud tells."""
    scope, held, denied = _asked(ground)
    others = bought_for_others([of], history(PurchaseLedger(ground.beside).entries()))
    since = [c for c in held if c.starts is not None and c.starts >= end and c.id not in others]
    mine = [
        replace(c, instance_type=of.split("/")[2]) if c.option.floats else c
        for c in since
        if not (c.option.floats and c.option in _stated_to_float(ground))
    ]
    return (_sections(mine, ground, scope, at) if scope is not None else ()), denied


def _asked(ground: LiveGround) -> tuple[Scope | None, Sequence[Commitment], tuple[str, ...]]:
    """Where, and what the cloud says is held there; no scope where it is not asked, with why where it denies that."""
    asking = ground.patience()
    try:
        return asking.ask(ground.cloud.scope), asking.ask(ground.cloud.commitments), ()
    except DeniedError as error:
        told = (f"existing commitments could not be read and are not counted: {error}",)
        return None, (), told


def _stated_to_float(ground: LiveGround) -> set[PurchaseOption]:
    """The options that a person has stated as owned and that hold in all regions and for all types."""
    owned = ground.loaded.config.owned
    return {o.option for o in owned if o.option.floats and o.provider == ground.place.provider}


def _lacking(found: Commitment) -> list[str]:
    """What a commitment cannot be stated as owned without and does not tell."""
    told = {"type": found.instance_type, "term": found.term_years, "end": found.ends}
    return [what for what, there in told.items() if not there]


def _sections(held: Sequence[Commitment], ground: LiveGround, scope: Scope, at: datetime) -> tuple[OwnedSection, ...]:
    """What a person has not stated as owned: of dollars any of the same option may be the same."""
    standing = _standing(ground) if any(map(_names_family, held)) else ()
    there = owned_sections([_counted_in(c, ground, standing) for c in held], scope, at)
    stated = {_told_apart(o) for o in ground.loaded.config.owned}
    return tuple(o for o in there if _told_apart(o) not in stated)


def _told_apart(owned: OwnedSection) -> object:
    dollars = owned.provider, owned.region, owned.option
    return dollars if owned.option.is_spend_based else replace(owned.key, payment=Payment.NONE)


def _names_family(found: Commitment) -> bool:
    """Whether it is in dollars for a family, of no type."""
    return found.option.is_spend_based and "." not in found.instance_type and bool(found.instance_type)


def _standing(ground: LiveGround) -> tuple[str, ...]:
    """The types of the machines that the state remembers, the most frequent first."""
    state = ground.store.load()
    counted = Counter(r.instance_type for r in state.records) if state is not None else Counter[str]()
    return tuple(name for name, _ in sorted(counted.items(), key=lambda c: (-c[1], c[0])))


def _counted_in(found: Commitment, ground: LiveGround, standing: Sequence[str]) -> Commitment:
    """A savings plan with a type that its dollars can be counted in: its own, else of its family the one that most
    machines here are of, else one of 16 vCPUs or the next smaller (ours: any of a family costs the same a vCPU)."""
    if not _names_family(found):
        return found
    shapes = [s for (p, _), s in ground.book.types.items() if p == ground.place.provider]
    fits = [s for s in shapes if s.family == found.instance_type and s.vcpus <= LARGE_VCPUS]
    ordered = [s.name for s in sorted(fits, key=lambda s: (-s.vcpus, s.name))]
    known = {s.name for s in shapes if s.family == found.instance_type}
    name = next((n for n in (*(t for t in standing if t in known), *ordered)), found.instance_type)
    return replace(found, instance_type=name)


def owned_sections(held: Iterable[Commitment], scope: Scope, at: datetime) -> Iterator[OwnedSection]:
    """Each commitment that stands and says when it ends, in instances or in dollars an hour; what no type is told of
    cannot be stated so."""
    for found in held:
        spends = found.option.is_spend_based
        if found.ends is None or _lacking(found) or not is_standing(found, at):
            continue
        system, tenancy = system_of(found.special)
        if quantity := held_quantity(found):
            yield OwnedSection(
                provider=Provider(scope.cloud),
                region=scope.region,
                instance_type=found.instance_type,
                option=found.option,
                term_years=3 if found.term_years == 3 else 1,
                os=system,
                tenancy=tenancy,
                payment=found.payment,
                count=None if spends else quantity,
                dollars_per_hour=quantity if spends else None,
                expires=found.ends.date(),
            )
