"""A provider's bill where a workload is named: its kinds of machines, and the demand of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from hcloud.errors import UsageError, did_you_mean
from hcloud.model.bill import Bill
from hcloud.model.workload import Demand
from hcloud.planning.billed.kinds import KindUse, Types, Unplanned, kinds_of
from hcloud.planning.billed.spread import without_missing_days
from hcloud.readers.configuration.config import Loaded
from hcloud.units import SECONDS_PER_HOUR
from hcloud.usecases.workloads.bills import KIND, bill_name, open_bill

SHOWN_NAMES = 8


@dataclass(frozen=True, slots=True)
class BillOfKinds:
    """A bill with its kinds of machines, those that cost most first, and what cannot be planned; ``missing_days`` are
    the days between its first and its last hour that it has nothing of, which do not count."""

    bill: Bill
    kinds: tuple[KindUse, ...]
    unplanned: tuple[Unplanned, ...]
    types: Types
    recent_hours: int
    shrunk: float
    missing_days: int = 0

    @property
    def end(self) -> datetime:
        """When the bill ends, missing days counted."""
        return self.bill.start + timedelta(hours=self.bill.hours, days=self.missing_days)

    def named(self, loaded: Loaded) -> KindUse:
        """The kind that the configuration names; UsageError where it names none that there is."""
        name = loaded.config.workload.options.get(KIND)
        names = [use.kind.name for use in self.kinds]
        hint = f"kinds: {', '.join(names[:SHOWN_NAMES])}" + (", ..." if len(names) > SHOWN_NAMES else "")
        if name is None:
            raise UsageError(
                f"{self.bill.name}: a bill of several kinds of machines; --set kind=NAME picks one", hint=hint
            )
        for use in self.kinds:
            if use.kind.name == name:
                return use
        close = did_you_mean(str(name), names)
        raise UsageError(f"{self.bill.name}: no kind of machine is called {name!r}{close}", hint=hint)

    def since(self, use: KindUse) -> int:
        """The hour of the bill from which on a kind is planned: the first, or where its use shrank that of the recent
        part."""
        recent = self.recent_hours
        if recent >= self.bill.hours:
            return 0
        shrunk = float(use.cores[-recent:].mean()) < self.shrunk * float(use.cores.mean())
        return self.bill.hours - recent if shrunk else 0

    def has_ended(self, use: KindUse) -> bool:
        """Whether none ran in the recent part of the bill."""
        return not use.cores[-self.recent_hours :].any()

    def demand(self, use: KindUse) -> Demand:
        """The demand that a kind is planned for."""
        return use.demand(self.bill, self.since(use))


def bill_by_kinds(loaded: Loaded, progress: Callable[[float], None] | None = None) -> BillOfKinds:
    """The bill that the configuration names, by kinds of machines. Raises InputError where it cannot be used."""
    section = loaded.config.workload
    keys = {key: str(value) for key, value in section.options.items() if key != KIND}
    return by_kinds(open_bill(bill_name(loaded), keys, section.window, progress), loaded)


def by_kinds(bill: Bill, loaded: Loaded) -> BillOfKinds:
    """The kinds of machines in a bill that was read."""
    types = _types_of(bill, loaded)
    there, missing = without_missing_days(bill)
    kinds, unplanned = kinds_of(there, types)
    rule = loaded.config.bill
    recent = min(rule.recent // SECONDS_PER_HOUR, there.hours)
    return BillOfKinds(there, kinds, unplanned, types, recent, rule.shrunk, missing)


def demand_in_bill(loaded: Loaded, progress: Callable[[float], None] | None = None) -> Demand:
    """The demand of the kind that the configuration names."""
    found = bill_by_kinds(loaded, progress)
    return found.demand(found.named(loaded))


def _types_of(bill: Bill, loaded: Loaded) -> Types:
    """The shapes of the price book, bundled and the user's own."""
    from hcloud.readers.prices.shipped.bundled import load_bundled
    from hcloud.store.prices import Choice, PriceStore

    providers = {used.kind.provider for used in bill.usage}
    regions = {used.kind.region for used in bill.usage}
    machines = {used.kind.instance_type for used in bill.usage}
    types = dict(load_bundled(providers=providers, regions=regions, machines=machines).types)
    if loaded.config.prices.book == "user":
        mine = PriceStore.open().load(Choice(providers=providers, regions=regions))
        types |= {} if mine is None else mine.types
    return types
