"""What tests of months share: a cloud that machines are rented and commitments bought in, its prices, and its bill."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any

from contract.rig import Rig
from purchasing import OPEN, approved, go_on

from hcloud.catalog.book import PriceBook
from hcloud.fake.bill import FakeBill, FakeTariff, bill
from hcloud.fake.in_memory.memory import MemoryCloud
from hcloud.fake.tariffs import tariff_of
from hcloud.live.applying.apply import apply, destroy, ends_of_all
from hcloud.live.applying.guards import ChangeApproval
from hcloud.live.applying.outcome import ApplyOutcome
from hcloud.live.buying.purchase import PurchaseContext, execute
from hcloud.live.observe import observe
from hcloud.live.site import Site
from hcloud.model.catalog import (
    BillingRule,
    InstanceType,
    Offer,
    OfferKey,
    Origin,
    Payment,
    Provider,
    PurchaseOption,
)
from hcloud.model.holdings.change import Slot
from hcloud.model.holdings.live import CommitmentOrder
from hcloud.model.holdings.purchase import CommitmentNeed, WantedCommitment
from hcloud.model.holdings.state import State
from hcloud.model.report import Period
from hcloud.planning.changes.diff import changes
from hcloud.planning.changes.slots import CloudRegion
from hcloud.planning.purchases.history import history
from hcloud.planning.purchases.purchase import PurchaseBasis, key_of, purchase_plan
from hcloud.planning.reports.report import Report
from hcloud.readers.configuration.config import load_config
from hcloud.store.purchase_file import sealed
from hcloud.store.records.purchases import PurchaseLedger
from hcloud.store.states.remembered import FileStateStore
from hcloud.units import HOURS_PER_YEAR
from hcloud.usecases.live.connect import FAKE
from hcloud.usecases.live.ground import LiveGround
from hcloud.usecases.reports.of_live import report_of_live
from hcloud.usecases.reports.report import ReportRequest, RequestedPeriod

ORIGIN = Origin("the fake itself", date(2026, 11, 21))
LINEAGE = "0123456789abcdef" * 2
MINUTES = {"azure": BillingRule(1, 1)}


@dataclass(frozen=True, slots=True)
class Kind:
    """One of the clouds: its rig, two types of two families, the commitments it sells (option, payment, count of
    machines or dollars an hour, and of which of the two types), and for how many days it may tell when a machine
    ended."""

    rig: str
    provider: Provider
    types: tuple[str, str]
    sold: tuple[tuple[PurchaseOption, Payment, str, int], ...]
    tells_ends: int = 0


KINDS = {
    "aws": Kind(
        "aws", Provider.AWS, ("m5.large", "c5.large"),
        (
            (PurchaseOption.RESERVED, Payment.PARTIAL, "2", 0),
            (PurchaseOption.CONVERTIBLE, Payment.NONE, "1", 1),
            (PurchaseOption.INSTANCE_SAVINGS_PLAN, Payment.NONE, "0.07", 0),
            (PurchaseOption.COMPUTE_SAVINGS_PLAN, Payment.ALL, "0.05", 0),
        ),
    ),
    "gcp": Kind(
        "gcp", Provider.GCP, ("n2-standard-4", "e2-standard-4"),
        ((PurchaseOption.COMMITTED_USE, Payment.NONE, "2", 0), (PurchaseOption.COMMITTED_USE, Payment.NONE, "1", 1)),
        tells_ends=14,
    ),
    "azure": Kind(
        "azure", Provider.AZURE, ("Standard_D4s_v5", "Standard_E4s_v5"),
        ((PurchaseOption.RESERVATION, Payment.ALL, "2", 0), (PurchaseOption.RESERVATION, Payment.NONE, "1", 1)),
    ),
    "memory": Kind(
        "memory", Provider.AWS, ("m5.large", "m6i.large"),
        (
            (PurchaseOption.RESERVED, Payment.PARTIAL, "2", 0),
            (PurchaseOption.CONVERTIBLE, Payment.NONE, "1", 1),
            (PurchaseOption.INSTANCE_SAVINGS_PLAN, Payment.NONE, "0.07", 0),
            (PurchaseOption.COMPUTE_SAVINGS_PLAN, Payment.ALL, "0.05", 0),
        ),
    ),
    "memory_gcp": Kind(
        "memory_gcp", Provider.GCP, ("n2-standard-2", "e2-standard-2"),
        (
            (PurchaseOption.COMMITTED_USE, Payment.NONE, "2", 0),
            (PurchaseOption.FLEXIBLE_COMMITTED_USE, Payment.NONE, "0.05", 0),
        ),
        tells_ends=14,
    ),
    "memory_azure": Kind(
        "memory_azure", Provider.AZURE, ("Standard_D2s_v5", "Standard_B2s"),
        (
            (PurchaseOption.RESERVATION, Payment.ALL, "2", 0),
            (PurchaseOption.SAVINGS_PLAN, Payment.NONE, "0.05", 0),
        ),
    ),
}  # fmt: skip


def billed_by(billed: FakeBill, what: str) -> dict[Any, Decimal]:
    """The sums of a fake's bill by day or by resource: of a name that was given again the machines together."""
    found: defaultdict[Any, Decimal] = defaultdict(Decimal)
    for (resource, day), dollars in billed.lines.items():
        found[day if what == "day" else resource.partition("#")[0]] += dollars
    return dict(found)


class Died(BaseException):
    """The process ended here."""


@dataclass
class Renting:
    """A project on one cloud: every method is a process of its own on the same state."""

    kind: Kind
    rig: Rig
    directory: Path
    bought: list[CommitmentOrder] = field(default_factory=list)

    def begin(self, at: datetime) -> None:
        """It is now then."""
        self.rig.fake.clock.advance(at.timestamp() - self.rig.fake.clock.now())

    def now(self) -> datetime:
        """The fake's time, which is everybody's."""
        return datetime.fromtimestamp(self.rig.fake.clock.now(), UTC)

    @property
    def store(self) -> FileStateStore:
        """The state as a new process opens it."""
        return FileStateStore(self.directory / ".hcloud")

    def site(self, crash: Callable[[str], None] = go_on) -> Site:
        """What a process works with."""
        clock = self.rig.fake.clock
        beginning = State(LINEAGE, project="shop")
        return Site(self.rig.cloud(), self.store, clock, crash=crash, beginning=beginning, workers=1)

    def slot(self, count: int, address: str = "web", number: int = 0, *, spot: bool = False) -> Slot:
        """Machines of one of the two types."""
        option = PurchaseOption.SPOT if spot else PurchaseOption.ON_DEMAND
        return Slot(address, self.kind.types[number], self.rig.zones[:1], count, Decimal("0.10"), option)

    def apply(self, *slots: Slot, crash: Callable[[str], None] = go_on) -> ApplyOutcome:
        """Plan what should stand and apply it."""
        found = changes(slots, observe(self.site()))
        return apply(self.site(crash), found, ChangeApproval(ends=len(found.going)))

    def killed_at(self, point: str, *slots: Slot) -> None:
        """The same, ended in the middle."""

        def crash(name: str) -> None:
            if name == point:
                raise Died(name)

        try:
            self.apply(*slots, crash=crash)
        except Died:
            return
        raise AssertionError(f"it never came to {point}")

    def destroy(self) -> ApplyOutcome:
        """End everything."""
        found = ends_of_all(self.site())
        return destroy(self.site(), found, ChangeApproval(ends=len(found.going)))

    def buy(self, option: PurchaseOption, payment: Payment, amount: str, number: int) -> None:
        """Buy one commitment, by a purchase plan that somebody approved."""
        ledger, cloud = PurchaseLedger(self.directory / ".hcloud"), self.rig.cloud()
        wanted = self._wanted(option, payment, amount, number)
        found = ledger.begin()
        records = history(ledger.entries()).recorded_beside("")
        basis = PurchaseBasis(found, cloud.scope(), "d" * 64, self.now(), timedelta(days=1), records)
        order = CommitmentOrder(
            key=key_of(basis, wanted), option=option, instance_type=wanted.instance_type, term_years=1,
            payment=payment, count=wanted.count, dollars_per_hour=wanted.dollars_per_hour,
        )  # fmt: skip
        plan = sealed(
            purchase_plan([(CommitmentNeed(wanted, Decimal(0)), cloud.quote(order))], cloud.commitments(), basis)
        )
        [done] = execute(plan, OPEN, approved, PurchaseContext(cloud, ledger, self.rig.fake.clock, go_on))
        assert done.id, done
        self.bought.append(order)

    def _wanted(self, option: PurchaseOption, payment: Payment, amount: str, number: int) -> WantedCommitment:
        scope, spends = self.rig.cloud().scope(), option.is_spend_based
        return WantedCommitment(
            address=f"commitment-{len(self.bought)}",
            cloud=scope.cloud,
            region=scope.region,
            instance_type=self.kind.types[number],
            option=option,
            term_years=1,
            payment=payment,
            count=0 if spends else int(amount),
            dollars_per_hour=Decimal(amount) if spends else None,
            total=Decimal(10_000),
            upfront=Decimal(0),
            break_even=None,
        )

    def report(self, span: RequestedPeriod) -> Report:
        """What 'hcloud report' says of what is rented, at the fake's own prices."""
        cloud = self.rig.cloud()
        selection = FAKE if isinstance(self.rig.fake, MemoryCloud) else str(self.kind.provider)
        place = CloudRegion(self.kind.provider, cloud.scope().region)
        config = self.directory / "hcloud.yaml"
        config.write_text("live: {project: shop}", encoding="utf-8")
        loaded = load_config(config)
        beside, clock = self.directory / ".hcloud", self.rig.fake.clock
        ground = LiveGround(loaded, selection, place, cloud, self.store, clock, self.now().date(), beside, str(beside))
        ground.book = self.book()
        return report_of_live(ground, ReportRequest(loaded, self.now(), span, "team"))

    def bill(self, period: Period) -> FakeBill:
        """What the fake itself charges."""
        return bill(self.rig.fake.ledger, self.tariff(), period.start, period.end)

    def tariff(self) -> FakeTariff:
        """The fake's own."""
        return tariff_of(self.rig.fake)

    def book(self) -> PriceBook:
        """The fake's prices as the price book of a project in it would have them."""
        offers = {o.key: o for o in self._offers()}
        types = {(t.provider, t.name): t for t in self._types()}
        return PriceBook(types, offers, {self.kind.provider: MINUTES.get(self.kind.provider, BillingRule(1, 60))})

    def hourly(self, name: str, *, spot: bool = False) -> Decimal:
        """What the fake asks for a machine an hour, as its wire tells it."""
        fake, region = self.rig.fake, self.rig.cloud().scope().region
        if isinstance(fake, MemoryCloud):
            return fake.world.spot(name) if spot else fake.world.on_demand(name)
        return _asked(fake, region, name, spot=spot)

    def _offers(self) -> Iterator[Offer]:
        region, provider = self.rig.cloud().scope().region, self.kind.provider
        for name in self._names():
            hourly = self.hourly(name)
            yield Offer(OfferKey(provider, region, name, PurchaseOption.ON_DEMAND), hourly, Decimal(0), ORIGIN)
            spot = self.hourly(name, spot=True)
            yield Offer(OfferKey(provider, region, name, PurchaseOption.SPOT), spot, Decimal(0), ORIGIN)
            for option, payment, _, _ in self.kind.sold:
                if option.is_spend_based:
                    rate = hourly * self._share(payment)
                    key = OfferKey(provider, region, name, option, 1, payment)
                    upfront = rate * HOURS_PER_YEAR if payment is Payment.ALL else Decimal(0)
                    yield Offer(key, Decimal(0) if upfront else rate, upfront, ORIGIN)

    def _share(self, payment: Payment) -> Decimal:
        fake: Any = self.rig.fake
        if isinstance(fake, MemoryCloud):
            return Decimal("0.6")
        words = {Payment.NONE: "No Upfront", Payment.PARTIAL: "Partial Upfront", Payment.ALL: "All Upfront"}
        return Decimal(fake.shop.plan_share(1, words[payment]))

    def _names(self) -> Sequence[str]:
        if self.kind.rig != "gcp":
            return self.kind.types
        return [f"{s}-{shape}-{n}" for s in ("n2", "e2") for shape in ("standard", "highmem") for n in (4, 8)]

    def _types(self) -> Iterator[InstanceType]:
        for name in self._names():
            family, vcpus, gib = _shape(self.kind.provider, name)
            yield InstanceType(self.kind.provider, name, family, vcpus, gib, vcpus * 2)


def _asked(fake: Any, region: str, name: str, *, spot: bool) -> Decimal:
    if fake.name == "aws":
        return Decimal(fake.shop.hourly(region, name, spot=spot))
    if fake.name == "gcp":
        return Decimal(fake.price(fake.place.hourly(name, PurchaseOption.SPOT if spot else PurchaseOption.ON_DEMAND)))
    from hcloud.fake.azure.shapes import SPOT_FACTOR, shape

    found = shape(name)
    assert found is not None
    return found.hourly * (SPOT_FACTOR if spot else 1)


def _shape(provider: Provider, name: str) -> tuple[str, Decimal, Decimal]:
    """Family, vCPUs and GiB of the types that are used here."""
    if provider is Provider.AWS:
        return name.partition(".")[0], Decimal(2), Decimal(8)
    if provider is Provider.GCP:
        series, kind, vcpus = name.split("-")
        return series, Decimal(vcpus), Decimal(vcpus) * (8 if kind == "highmem" else 4)
    return name.rstrip("_v5").replace("2", "").replace("4", ""), Decimal(4 if "4" in name else 2), Decimal(16)


def opened(name: str, directory: Path) -> Renting:
    """A project on an empty fake."""
    kind = KINDS[name]
    rig: Rig = import_module(f"contract.rigs.{kind.rig}").RIG()
    rig.open()
    rig.reset()
    fake: Any = rig.fake
    if isinstance(fake, MemoryCloud):
        fake.world.hourly = dict(zip(kind.types, (Decimal("0.096"), Decimal("0.1137")), strict=True))
    return Renting(kind, rig, directory)


def spot_notice(renting: Renting, seconds: float) -> None:
    """So many seconds from now all spot machines get notice; two minutes later they are taken."""
    renting.rig.faults({"spot_notices": [seconds]})
