"""From a plan and what is held already to what is still to be bought; existing commitments are used up first."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import starmap

from hcloud.catalog.book import PriceBook
from hcloud.catalog.flexibility import ratios
from hcloud.catalog.shapes import family_of
from hcloud.model.catalog import Provider, special_in
from hcloud.model.holdings.live import Commitment, CommitmentOrder, CommitmentQuote, Scope
from hcloud.model.holdings.purchase import CommitmentNeed, PurchaseItem, PurchasePlan, WantedCommitment, snapshot
from hcloud.model.plans.plan import BesideKind, MixLine, Plan
from hcloud.planning.purchases.gates import checked_count, checked_dollars
from hcloud.planning.purchases.history import PurchaseHistory
from hcloud.planning.purchases.pools import Amounts, Held, Pool, Types, measured, of_any_size, pool_of, seller_of
from hcloud.units import HOURS_PER_YEAR, plain, rate

EXPIRING = timedelta(days=30)  # ours: what ends within a month is shown
KEY_DIGITS = 32
SAME_DAY = timedelta(days=1)  # ours: what begins within a day has begun, and begins together
LEAST_DOLLARS = Decimal("0.001")  # AWS sells no less an hour: what upfront cents leave of a plan is no need
_STANDING = ("pending", "queued", "active", "unknown")


def wanted_of(plan: Plan, at: datetime) -> tuple[WantedCommitment, ...]:
    """The commitments that a plan asks for and whose term is not over, in its order, with those that begin after its
    first day bearing their day. Dollars an hour of equal terms are one purchase, in whatever sizes they are
    counted.

    Raises InputError for a quantity that cannot be bought.
    """
    found: dict[tuple[object, ...], WantedCommitment] = {}
    for number, line in enumerate(plan.purchases):
        if not is_over(line, plan, at):
            wanted = _wanted(line, plan.generated_at)
            terms = (number,) if wanted.dollars_per_hour is None else _terms(wanted)
            found[terms] = _with_more(found[terms], wanted) if terms in found else wanted
    return tuple(found.values())


def _terms(wanted: WantedCommitment) -> tuple[object, ...]:
    """What dollars an hour have in common that can be bought as one."""
    return wanted.cloud, wanted.region, pool_of(wanted), wanted.term_years, wanted.payment, wanted.starts


def _with_more(wanted: WantedCommitment, more: WantedCommitment) -> WantedCommitment:
    """Dollars an hour of both as one purchase; the harder break-even of the two counts."""
    shares = [share for share in (wanted.break_even, more.break_even) if share is not None]
    return replace(
        wanted,
        dollars_per_hour=checked_dollars(wanted.quantity + more.quantity, wanted.address),
        total=wanted.total + more.total,
        upfront=wanted.upfront + more.upfront,
        break_even=max(shares, default=None),
        derived=wanted.derived or more.derived,
    )


def _wanted(line: MixLine, begins: datetime) -> WantedCommitment:
    spends = line.option.is_spend_based
    dollars = line.hourly_held if spends and line.term_years else None
    return WantedCommitment(
        address=line.address,
        cloud=str(line.provider),
        region=line.region,
        instance_type=line.instance_type,
        option=line.option,
        term_years=line.term_years,
        payment=line.payment,
        count=0 if spends else checked_count(line.count, line.address),
        dollars_per_hour=checked_dollars(rate(dollars), line.address) if dollars is not None else None,
        total=line.total,
        upfront=line.upfront,
        break_even=line.break_even,
        starts=begins + timedelta(hours=line.starts_hour) if line.begins_later else None,
        derived=line.derived,
    )


def is_over(line: MixLine, plan: Plan, at: datetime) -> bool:
    """Whether the term of a purchase would have ended by now: the plan is older than that."""
    end = line.ends_hour
    return end is not None and plan.generated_at + timedelta(hours=end) <= at


def begins_later(wanted: WantedCommitment, at: datetime) -> bool:
    """Whether it is for a day that is still to come; what was for a day that passed meanwhile is bought now."""
    return wanted.starts is not None and wanted.starts - at > SAME_DAY


def is_standing(commitment: Commitment, at: datetime) -> bool:
    """Whether it covers use now or soon; of an unknown state is not ended."""
    return commitment.state in _STANDING and (commitment.ends is None or commitment.ends > at)


def held_quantity(commitment: Commitment) -> Decimal:
    """Instances, or the dollars an hour that a spend-based one commits to."""
    if not commitment.option.is_spend_based:
        return Decimal(commitment.count)
    hours = commitment.term_years * HOURS_PER_YEAR
    return commitment.hourly + (commitment.upfront / hours if hours else Decimal(0))


def bought_for_others(
    addresses: Iterable[str], history: PurchaseHistory, types: Types | None = None, held: Iterable[Commitment] = ()
) -> frozenset[str]:
    """Ids of the commitments that were bought for other kinds of machines than those of these addresses: of another
    region, family, system, tenancy or (of ``types``) ratios, whatever the size. Of those that are ``held`` also what
    the ledger does not have, where the type tells other ratios."""
    types = types or {}
    mine = {_kind_in(address, types) for address in addresses}
    known = {p.id for p in history.purchases if p.is_bought and _kind_in(p.intent.address, types) not in mine}
    ours = {(), *(kind[-1] for kind in mine)}
    return frozenset(known | {c.id for c in held if _ratios(seller_of(c.option), c.instance_type, types) not in ours})


def _kind_in(address: str, types: Types) -> tuple[object, ...]:
    cloud, region, name, *_ = address.split("/")
    provider = Provider(cloud)
    return cloud, region, family_of(provider, name), special_in(address), _ratios(provider, name, types)


def _ratios(seller: Provider | None, name: str, types: Types) -> tuple[Decimal, ...]:
    """Those of a type; none where it is not known."""
    machine = types.get((seller, name)) if seller else None
    return () if machine is None else ratios(machine)


@dataclass(frozen=True, slots=True)
class AccountHoldings:
    """What a cloud says is held, asked for in a ``scope`` (None: no cloud was asked); the ids of ``others`` were bought
    for other kinds of machines. ``types`` has the sizes of machines, ``book`` their prices."""

    held: Sequence[Commitment] = ()
    scope: Scope | None = None
    others: Collection[str] = ()
    types: Types = field(default_factory=dict)
    book: PriceBook | None = None


def still_to_buy(plan: Plan, account: AccountHoldings, at: datetime) -> tuple[CommitmentNeed, ...]:
    """Every wanted commitment with what of it is held already. Unless it covers all regions, what is held is nothing of
    what the plan wants or counted as owned in other places than the account was asked in.

    What the plan counted as owned was used up by the plan itself, of what was there before it; all else that stands in
    the cloud is used up here, in the plan's order, whatever its term and, where sizes share it, its size, its own size
    first: nothing is bought beside it. What is wanted now is covered by what has begun, what is wanted on a later day
    by what is queued for that day. What a plan that is old wanted for a term that is over is not bought any more, and
    what it wanted on a day that passed is wanted now. What other kinds of machines of a bill had before its end is
    theirs, and what was bought for them since: of the ids in ``others`` alone, as the rest may have been bought for
    this kind.
    """
    types, scope = account.types, account.scope
    lots = [_lot(c, at, types) for c in account.held if is_standing(c, at)]
    lots.sort(key=lambda lot: (lot.begins is not None, lot.begins or at, not lot.commitment.own_size))
    for line, quantity in owned_in(plan, at, scope):
        pool, each = measured(line, types)
        _take([lot for lot in lots if lot.stands_in(line, pool) and not lot.is_since(plan)], each, quantity)
    for one in plan.beside:
        pool, each = measured(one, types)
        mine = [lot for lot in lots if lot.stands_in(one, pool) and lot.is_of(one, account.others)]
        _take(mine, each, one.quantity)
    found = []
    for wanted in wanted_of(plan, at):
        pool, each = measured(wanted, types)
        later, there = begins_later(wanted, at), _is_in(wanted.cloud, wanted, scope)
        fitting = [lot for lot in lots if there and lot.stands_in(wanted, pool)]
        covering = [lot for lot in fitting if lot.begins_with(wanted, later=later)]
        same = [lot for lot in covering if lot.commitment.instance_type == wanted.instance_type]
        own = min(_there(same, each), wanted.quantity)
        _take(same, each, own)
        found.append((wanted, covering, each, own))
    needs = list(starmap(_needed, found))
    return tuple(_with_apart(need, *of[1:3]) for need, of in zip(needs, found, strict=True))


def _is_in(cloud: str, of: MixLine | WantedCommitment, scope: Scope | None) -> bool:
    """Whether it may be what is held in a scope."""
    return scope is None or of.option.floats or (cloud, of.region) == (scope.cloud, scope.region)


@dataclass(slots=True)
class _Lot:
    """A commitment that stands, what it stands in for, when it begins if that is later, and what is not used up."""

    commitment: Commitment
    pool: Pool
    begins: datetime | None
    left: list[Decimal]

    def stands_in(self, of: Held, pool: Pool) -> bool:
        """Whether it is of the same pool, and of the same size where it is of its own alone."""
        return self.pool == pool and (not self.commitment.own_size or self.commitment.instance_type == of.instance_type)

    def is_since(self, plan: Plan) -> bool:
        """Whether it began after a plan was made: what that plan counted as owned is another."""
        return (self.commitment.starts or plan.generated_at) > plan.generated_at

    def is_of(self, other: BesideKind, bought: Collection[str]) -> bool:
        """Whether it may be what another kind of machine has: before the bill's end, or ``bought`` for others since."""
        starts = self.commitment.starts
        is_new = starts is None or starts >= other.bill_end
        return is_new is other.to_buy and (not is_new or self.commitment.id in bought)

    def begins_with(self, wanted: WantedCommitment, *, later: bool) -> bool:
        """Whether it has begun, or begins with what is wanted."""
        if (self.begins is not None) is not later:
            return False
        return self.begins is None or wanted.starts is None or abs(self.begins - wanted.starts) <= SAME_DAY


def _lot(commitment: Commitment, at: datetime, types: Types) -> _Lot:
    pool, each = measured(commitment, types)
    told, quantity = commitment.resources, held_quantity(commitment)
    if told is not None:
        pool, each, quantity = of_any_size(commitment), (told.vcpus, told.memory_gib), Decimal(1)
    return _Lot(commitment, pool, queued_for(commitment, at), [amount * quantity for amount in each])


def queued_for(commitment: Commitment, at: datetime) -> datetime | None:
    """When it begins, where that is not within a day."""
    begins = commitment.starts
    return begins if begins is not None and begins - at > SAME_DAY else None


def _there(lots: Sequence[_Lot], each: Amounts) -> Decimal:
    """How many there are in the lots."""
    sums = [sum((lot.left[at] for lot in lots), Decimal(0)) for at in range(len(each))]
    return min((there / amount for there, amount in zip(sums, each, strict=True) if amount), default=Decimal(0))


def _needed(wanted: WantedCommitment, lots: Sequence[_Lot], each: Amounts, own: Decimal) -> CommitmentNeed:
    """What is missing beside its ``own``, in whole machines: of one that is held in part by other sizes the whole is
    bought where it pays for that part, else nothing."""
    covered = own + _there(lots, each)
    missing = lacking = max(wanted.quantity - covered, Decimal(0))
    if wanted.dollars_per_hour is None:
        missing = missing // 1 + (missing % 1 > (wanted.break_even or 1))
    elif missing < LEAST_DOLLARS:
        missing = Decimal(0)
    _take(lots, each, min(covered, wanted.quantity - missing) - own)
    return CommitmentNeed(wanted, wanted.quantity - missing, max(lacking - missing, Decimal(0)))


def _with_apart(need: CommitmentNeed, lots: Sequence[_Lot], each: Amounts) -> CommitmentNeed:
    """The same with what of its parts is missing, where what is left of the lots has some of them."""
    whole = [amount * need.missing for amount in each]
    left = [sum((lot.left[at] for lot in lots), Decimal(0)) for at in range(len(each))]
    there = tuple(map(min, whole, left))
    if len(each) == 1 or not any(there):
        return need
    _take(lots, there, Decimal(1))
    return replace(need, apart=tuple(amount - part for amount, part in zip(whole, there, strict=True)))


def said_of_sizes(needs: Iterable[CommitmentNeed], account: AccountHoldings, at: datetime) -> Iterator[str]:
    """What is held of the families that are wanted, and counts for its own size alone as nothing says how large that
    is."""
    wanted = {of_any_size(need.wanted) for need in needs}
    for lot in (_lot(c, at, account.types) for c in account.held if is_standing(c, at)):
        one, pool = lot.commitment, of_any_size(lot.commitment)
        if pool in wanted and lot.pool != pool:
            yield (
                f"{one.id}: the size of {one.instance_type} is not in the price book, and it counts for that alone: "
                "import a price list that has its vCPUs and GiB ('hcloud pricing import FILE')"
            )


def _take(lots: Iterable[_Lot], each: Amounts, quantity: Decimal) -> None:
    """Use up to so much of the lots, the first first."""
    rest = [amount * quantity for amount in each]
    for lot in lots:
        parts = [min(left, amount) for left, amount in zip(lot.left, rest, strict=True)]
        lot.left = [left - part for left, part in zip(lot.left, parts, strict=True)]
        rest = [amount - part for amount, part in zip(rest, parts, strict=True)]


def owned_in(plan: Plan, at: datetime, scope: Scope | None = None) -> Iterator[tuple[MixLine, Decimal]]:
    """What the plan counted as owned in a scope and is owned still, in instances or dollars an hour."""
    for line in plan.mix:
        if not line.is_owned or not _is_in(line.provider, line, scope):
            continue
        if not line.covers_nothing and not is_over(line, plan, at):
            yield line, rate(line.hourly_held) if line.option.is_spend_based else line.count


def unplanned(plan: Plan, account: AccountHoldings, at: datetime) -> tuple[Commitment, ...]:
    """Commitments that stand and that the plan neither counted as owned nor asks for, in whatever size: made again with
    them as ``owned``, it might ask for less. What it knows to cover nothing stays so."""
    owned = (line for line in plan.mix if line.is_owned and not is_over(line, plan, at))
    known = {*map(of_any_size, owned), *map(of_any_size, plan.beside)}
    wanted = [(one, measured(one, account.types)[0]) for one in wanted_of(plan, at)]
    lots = (_lot(c, at, account.types) for c in account.held if is_standing(c, at))
    return tuple(
        lot.commitment
        for lot in lots
        if known.isdisjoint((pool_of(lot.commitment), of_any_size(lot.commitment)))
        and not any(lot.stands_in(one, pool) for one, pool in wanted)
    )


def expiring(held: Iterable[Commitment], at: datetime) -> tuple[Commitment, ...]:
    """Commitments that end within a month, the first to end first."""
    ending = [(c.ends, c.id, c) for c in held if is_standing(c, at) and c.ends is not None and c.ends - at <= EXPIRING]
    return tuple(c for *_, c in sorted(ending, key=lambda e: e[:2]))


@dataclass(frozen=True, slots=True)
class PurchaseBasis:
    """What a purchase plan rests on: whose ledger, which cloud, the digest of the plan, and what there was then."""

    lineage: str
    scope: Scope
    plan: str
    at: datetime
    valid_for: timedelta
    recorded: int
    tool_version: str = ""


def key_of(basis: PurchaseBasis, wanted: WantedCommitment) -> str:
    """The key of a purchase: the same plan, the same place in it and the same past give the same key, whatever the time
    and the number that is wanted, so that a second purchase for the same need is a contradiction and not an order."""
    starts = wanted.starts.isoformat() if wanted.starts else ""
    parts = (basis.lineage, basis.plan, wanted.address, starts, str(basis.recorded))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:KEY_DIGITS]


def orders(needs: Iterable[CommitmentNeed], basis: PurchaseBasis) -> tuple[tuple[CommitmentNeed, CommitmentOrder], ...]:
    """An order for each need that is not met, with the need."""
    return tuple((need, _order(need, basis)) for need in needs if need.missing > 0)


def _order(need: CommitmentNeed, basis: PurchaseBasis) -> CommitmentOrder:
    wanted = need.wanted
    spends = wanted.dollars_per_hour is not None
    return CommitmentOrder(
        key=key_of(basis, wanted),
        option=wanted.option,
        instance_type=wanted.instance_type,
        term_years=wanted.term_years,
        payment=wanted.payment,
        count=0 if spends else checked_count(need.missing, wanted.address),
        dollars_per_hour=checked_dollars(need.missing, wanted.address) if spends else None,
        starts=wanted.starts if begins_later(wanted, basis.at) else None,
    )


def purchase_plan(
    quoted: Iterable[tuple[CommitmentNeed, CommitmentQuote]], held: tuple[Commitment, ...], basis: PurchaseBasis
) -> PurchasePlan:
    """The purchases at their quotes, without its digest (that is over the file's text)."""
    items = tuple(PurchaseItem(need.wanted.address, quote) for need, quote in quoted)
    return PurchasePlan(
        lineage=basis.lineage,
        scope=basis.scope,
        plan=basis.plan,
        prices=price_digest(item.quote for item in items),
        generated_at=basis.at,
        expires=basis.at + basis.valid_for,
        held=snapshot(held),
        recorded=basis.recorded,
        items=items,
        tool_version=basis.tool_version,
    )


def price_digest(quotes: Iterable[CommitmentQuote]) -> str:
    """sha256 over what is sold at which price."""
    rows = (
        f"{q.offering}|{q.order.option}|{q.order.term_years}|{q.order.payment}|{plain(q.upfront)}|{plain(q.hourly)}"
        f"|{q.currency}"
        for q in quotes
    )
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()
