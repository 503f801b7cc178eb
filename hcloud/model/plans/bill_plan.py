"""A plan of a whole bill: one plan for each kind of machine in it, and what they add up to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal

from hcloud.model.catalog import Payment, Provider, PurchaseOption
from hcloud.model.plans.held import begun_later, held_now, most_held
from hcloud.model.plans.plan import OWNED, MixLine, Plan
from hcloud.units import format_money

_VCPUS = Decimal("0.0001")


@dataclass(frozen=True, slots=True)
class KindPlan:
    """The plan of one kind of machine, or why there is none.

    Dollars a month: ``paid`` by the bill (commitments amortised), ``at_list`` by the bill's public on-demand prices
    (None: not said) and at those of the price book (None: it lacks one), ``now`` and ``after`` by today's prices
    without and with what the plan buys; ``more_at_worst`` is how
    much more ``after`` may be because a daily bill does not say in which hours machines ran (None: not known, of rows
    of more than a day). ``history_hours`` are the
    hours that it was planned from, and ``said`` what a user should know of them. Where commitments float between kinds,
    ``together`` is ``now``, what the plan saves (of other kinds too), and how many more vCPUs such commitments cover
    than in the lines of the plan, by all kinds together; the plan's own figures divide such commitments in fixed
    shares. Of a type with less than ``gib_per_vcpu``, which its machines have (small T types), several are one of them.
    """

    name: str
    provider: Provider
    region: str
    paid: Decimal
    at_list: Decimal | None
    at_book: Decimal | None
    mean_vcpus: float
    covered_share: float
    plan: Plan | None = None
    why_not: str = ""
    history_hours: int = 0
    more_at_worst: Decimal | None = Decimal(0)
    said: tuple[str, ...] = ()
    together: tuple[Decimal, Decimal, Decimal] | None = None
    gib_per_vcpu: Decimal = Decimal(0)

    @property
    def now(self) -> Decimal:
        """Dollars a month as things are."""
        if self.together is not None:
            return self.together[0]
        return self.paid if self.plan is None else self.plan.now.monthly

    @property
    def after(self) -> Decimal:
        """Dollars a month with the plan."""
        if self.together is not None:
            return self.together[0] - self.together[1]
        return self.paid if self.plan is None else self.plan.after.monthly

    @property
    def floating(self) -> Decimal:
        """What ``after`` is more than the lines of the plan: these divide commitments that cover several kinds in fixed
        shares, while the cloud moves them by the hour (less here, where those of other kinds cover it too)."""
        return Decimal(0) if self.plan is None else self.after - self.plan.after.monthly

    @property
    def purchases(self) -> tuple[MixLine, ...]:
        """What it would buy."""
        return () if self.plan is None else self.plan.purchases

    @property
    def upfront(self) -> Decimal:
        """Cash due now."""
        return sum((line.upfront for line in held_now(self.purchases)), Decimal(0))

    @property
    def held_vcpus(self) -> Decimal:
        """vCPUs of the commitments that are held."""
        owned = (line for line in (self.plan.mix if self.plan else ()) if line.address.startswith(OWNED))
        return sum(map(self._vcpus, owned), Decimal(0) if self.together is None else self.together[2])

    @property
    def bought_vcpus(self) -> Decimal:
        """vCPUs of the commitments to buy, the most at one time."""
        return most_held(self.purchases, self._vcpus)

    def _vcpus(self, line: MixLine) -> Decimal:
        by_memory = line.memory_gib / self.gib_per_vcpu if self.gib_per_vcpu else line.vcpus
        return min(line.vcpus, by_memory.quantize(_VCPUS))


@dataclass(frozen=True, slots=True)
class WayToBuy:
    """One way to buy, over all kinds: the dollars an hour of it (amortised), and the cash due now."""

    provider: Provider
    option: PurchaseOption
    term_years: int
    payment: Payment
    kinds: int
    hourly: Decimal
    upfront: Decimal


@dataclass(frozen=True, slots=True)
class LongerTerm:
    """What the same purchases for ``years`` would save more, in dollars a month while they run, and their cash due."""

    years: int
    saved: Decimal
    upfront: Decimal


@dataclass(frozen=True, slots=True)
class BillPlan:
    """The plans of a bill's kinds, the largest first. ``source`` is what names the bill on the command line; ``spot``
    and ``unplanned`` (by reason) are dollars a month that no plan is made for; ``held_of_unknown_end`` and
    ``held_unused`` name commitments, ``held_ends`` says when those end whose end the bill says, the first first;
    ``missing_days`` are those that the bill has nothing of, which ``hours`` does not count; ``accounts`` is how many
    use the machines that something is bought for, ``longer`` what a term beyond the horizon would save,
    ``unplanned_rented`` what is on demand of that among the unplanned which commitments cover in part,
    ``longest_days`` how long the longest row is, ``not_proposed`` what would save too little, ``licences`` dollars a
    month of what the bill has of these in lines of their own, which ``paid`` does not hold."""

    tool_version: str
    generated_at: datetime
    name: str
    source: str
    format: str
    digest: str
    rows: int
    files: int
    start: datetime
    hours: int
    daily: bool
    total: Decimal
    kinds: tuple[KindPlan, ...]
    spot: Decimal
    unplanned: Mapping[str, Decimal]
    held: int
    held_of_unknown_end: tuple[str, ...]
    held_unused: Mapping[str, str]
    warnings: tuple[str, ...]
    held_ends: tuple[tuple[date, str], ...] = ()
    missing_days: int = 0
    accounts: int = 0
    longer: LongerTerm | None = None
    unplanned_rented: Mapping[str, Decimal] = field(default_factory=dict)
    longest_days: int = 1
    not_proposed: tuple[str, ...] = ()
    licences: Decimal = Decimal(0)

    @property
    def is_short(self) -> bool:
        """Whether the bill is too short for what is bought; the first warning says so."""
        histories = (kind.plan.history for kind in self.kinds if kind.plan is not None)
        return any(history is not None and not history.is_enough for history in histories)

    @property
    def planned(self) -> tuple[KindPlan, ...]:
        """The kinds that have a plan."""
        return tuple(kind for kind in self.kinds if kind.plan is not None)

    @property
    def now(self) -> Decimal:
        """Dollars a month of the kinds with a plan, as things are, at today's prices."""
        return sum((kind.now for kind in self.planned), Decimal(0))

    @property
    def after(self) -> Decimal:
        """Dollars a month of the same with what the plans buy."""
        return sum((kind.after for kind in self.planned), Decimal(0))

    @property
    def paid(self) -> Decimal:
        """Dollars a month that the bill says of the same."""
        return sum((kind.paid for kind in self.planned), Decimal(0))

    @property
    def upfront(self) -> Decimal:
        """Cash due now for all of it."""
        return sum((kind.upfront for kind in self.kinds), Decimal(0))

    @property
    def later(self) -> tuple[MixLine, ...]:
        """What is bought on later days."""
        return tuple(line for kind in self.kinds for line in begun_later(kind.purchases))

    @property
    def purchases(self) -> tuple[WayToBuy, ...]:
        """What is bought by option, term and payment, the most dollars an hour first."""
        found: dict[tuple[Provider, PurchaseOption, int, Payment], list[tuple[KindPlan, MixLine]]] = {}
        for kind in self.kinds:
            for line in kind.purchases:
                found.setdefault((line.provider, line.option, line.term_years, line.payment), []).append((kind, line))
        made = [
            WayToBuy(
                *key,
                kinds=len({kind.name for kind, _ in lines}),
                hourly=sum((line.hourly * line.without_licences for _, line in lines), Decimal(0)),
                upfront=sum((line.upfront for line in held_now(line for _, line in lines)), Decimal(0)),
            )
            for key, lines in found.items()
        ]
        return tuple(sorted(made, key=lambda p: (-p.hourly, p.option, p.term_years)))


def told_of_daily_rows(more_at_worst: Decimal) -> str:
    """What a plan of a daily bill may cost more, in dollars a month, as the bill does not say which hours were used."""
    return (
        "the bill has daily rows, spread evenly over their hours: had each day's use fallen into one hour, the plan "
        f"would cost up to {format_money(more_at_worst)}/month more"
    )
