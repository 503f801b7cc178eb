"""What a plan of a bill warns of: a bill of long ago, and prices and hours that are not those of the plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from types import MappingProxyType

from hcloud.catalog.checks import DERIVED, derived_in_use
from hcloud.model.bill import Bill, BilledCommitment
from hcloud.model.catalog import PurchaseOption
from hcloud.model.clouds.facts import purchases_in_words
from hcloud.model.clouds.known import CLOUDS
from hcloud.model.plans.bill_plan import KindPlan
from hcloud.model.plans.plan import MixLine
from hcloud.planning.billed.kinds import KindUse
from hcloud.planning.billed.spread import HOURS_PER_DAY
from hcloud.units import counted, format_money, plain

APART = Decimal("0.05")  # ours: the part of what is bought from which on it is said that it is held already
_PARTS: Mapping[str, tuple[str, Callable[[MixLine], Decimal]]] = MappingProxyType(
    {
        "vCPUs": ("vCPUs", lambda line: line.vcpus),
        "memory": ("GB of memory", lambda line: line.memory_gib),
    }
)


def old(bill: Bill, missing_days: int, now: datetime, old_from: timedelta) -> Iterator[str]:
    """That a bill ended longer ago than ``old_from``."""
    hours = bill.hours + missing_days * HOURS_PER_DAY
    end = bill.start + timedelta(hours=hours)
    if now - end > old_from:
        yield (
            f"the bill ends on {end.date()}, {counted((now - end).days, 'day')} ago: what ran and was bought since is "
            "not in it; add the latest months before you buy"
        )


def of_prices(plans: Sequence[KindPlan]) -> Iterator[str]:
    """What the plans of kinds warn of their prices, the oldest first."""
    told = [w for p in plans if p.plan for w in p.plan.warnings]
    oldest = {w for w in told if w.startswith("the oldest price")}
    yield from sorted(oldest, key=lambda w: (-len(w), w))[:1]
    derived = [w.partition("(")[2].partition(")")[0].split(", ") for w in told if w.startswith(DERIVED)]
    if derived:
        yield derived_in_use(name for names in derived for name in names)


def by_hand(plans: Sequence[KindPlan]) -> Iterator[str]:
    """That ``commit`` does not buy some of it."""
    bought = [line for one in plans for line in one.purchases]
    lines = [line for line in bought if CLOUDS[line.provider].is_by_hand(line.option, line.special, line.instance_type)]
    if lines:
        dollars = format_money(sum((line.total * line.without_licences for line in lines), Decimal(0)))
        what = ", ".join(sorted({purchases_in_words(line.option, line.special, line.instance_type) for line in lines}))
        yield (
            f"'hcloud commit' does not buy {what} ({dollars} over their terms): buy those in "
            "the cloud's console, or plan without them (markets.options)"
        )


def idle_parts(bill: Bill, uses: Sequence[KindUse], plans: Sequence[KindPlan]) -> Iterator[str]:
    """What is held of vCPUs or memory, which Google sells apart, beyond the machines that it is counted for: it serves
    before what is bought; and what it lacks of these."""
    lines = [
        ((line.region, line.instance_type.partition("-")[0]), line)
        for one in plans
        for line in (one.plan.mix if one.plan else ())
        if line.option is PurchaseOption.COMMITTED_USE
    ]
    for place in sorted({place for place, _ in lines}):
        of = [line for at, line in lines if at == place]
        for part, (unit, amount) in _PARTS.items():
            bought = sum((amount(line) for line in of if not line.is_owned), Decimal(0))
            counted = sum((amount(line) for line in of if line.is_owned), Decimal(0))
            more = _committed(bill, uses, place, part) - counted
            told = f"the committed use of {place[1]} in {place[0]} that is held has {plain(round(abs(more), 2))} {unit}"
            if more > APART * bought > 0:
                yield (
                    f"{told} more than the machines that it is counted for, and these serve first: in Google's console,"
                    f" buy {plain(round(min(more, bought), 2))} {unit} less than the plan says"
                )
            if -more > APART * counted and _is_known(bill, uses, place):
                yield (
                    f"{told} less than the machines that it is counted for: that is paid on demand, and is in no figure"
                    " of this plan; Google's console sells it apart"
                )


def _committed(bill: Bill, uses: Sequence[KindUse], place: tuple[str, str], part: str) -> Decimal:
    """What is held of a part of the machines of a series in a region. Where machines that are not planned use some of
    it, which only dollars say, without all that is used."""
    held, elsewhere = _held(bill, place), _serves_others(bill, uses, place)
    parts = ((c.committed.get(part, Decimal(0)), c.used_parts.get(part)) for c in held)
    return sum((size * (1 - share * elsewhere) for size, share in parts if share is not None), Decimal(0))


def _held(bill: Bill, place: tuple[str, str]) -> Sequence[BilledCommitment]:
    option = PurchaseOption.COMMITTED_USE
    return [c for c in bill.commitments if c.option is option and (c.region, c.family) == place]


def _serves_others(bill: Bill, uses: Sequence[KindUse], place: tuple[str, str]) -> bool:
    used = sum((c.used or Decimal(0) for c in _held(bill, place)), Decimal(0))
    fitting = (use for use in uses if (use.kind.region, use.kind.family) == place)
    inside = sum((use.covered_cost(PurchaseOption.COMMITTED_USE) for use in fitting), Decimal(0))
    return bool(used) and round(inside / used, 2) < 1


def _is_known(bill: Bill, uses: Sequence[KindUse], place: tuple[str, str]) -> bool:
    """Whether the bill says of all that is held how much it is, of both parts (none is sold without the other: else
    lines are missing), and that no other machines use it."""
    held = _held(bill, place)
    are_both = {part for c in held for part in c.committed if part in c.used_parts} == set(_PARTS)
    return are_both and all(c.committed and c.used_parts for c in held) and not _serves_others(bill, uses, place)


def told_apart(
    plans: Sequence[KindPlan], differs: Decimal, bare: Mapping[str, Decimal | None] = MappingProxyType({})
) -> Iterator[str]:
    """Where the bill's own on-demand prices are not those of the price book, by more than the share ``differs``: nor
    those that are ``bare`` of the licences of what is covered, which a bill may have in lines of their own."""
    for one in plans:
        if not one.at_list or one.at_book is None:
            continue
        nearest = min(max(one.at_list, bare.get(one.name) or one.at_book), one.at_book)
        if abs(nearest / one.at_list - 1) > differs:
            yield (
                f"{one.name}: {format_money(one.at_list)}/month on demand by the bill, {format_money(one.at_book)} by "
                "the price book: its prices changed or are negotiated; bring yours with 'hcloud pricing import' or an "
                "overlay"
            )


def uncommitted(plans: Sequence[KindPlan], differs: Decimal, charged: Mapping[str, Decimal]) -> Iterator[str]:
    """Where machines without any commitment cost less than the price book says; ``charged`` is the least part of it
    that sustained use leaves of kinds that have it."""
    for one in plans:
        if one.covered_share or not one.at_book or one.plan is None:
            continue
        least = one.at_book * charged.get(one.name, Decimal(1))
        if one.paid < least * (1 - differs):
            yield (
                f"{one.name}: without commitments the bill has {format_money(one.paid)}/month, the price book "
                f"{format_money(least)}: where your prices are negotiated, up to "
                f"{format_money(least - one.paid)} of what the plan saves is none; bring them with "
                "'hcloud pricing import' or an overlay"
            )
