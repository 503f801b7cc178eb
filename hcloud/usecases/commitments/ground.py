"""What all verbs of ``hcloud commit`` stand on: the configuration, the cloud that sells, the ledger and a clock; and
what ``commit list`` shows of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from hcloud.control.ports import Commitments, Crash
from hcloud.errors import UsageError
from hcloud.live.buying.purchase import VARIABLE, Gates, PurchaseContext
from hcloud.model.catalog import Provider
from hcloud.model.clouds.known import CLOUDS
from hcloud.model.holdings.live import Commitment, Scope
from hcloud.model.plans.plan import Plan
from hcloud.planning.changes.slots import CloudRegion
from hcloud.planning.purchases.answers import Holdings, MatchedPurchase
from hcloud.planning.purchases.history import history
from hcloud.planning.purchases.purchase import expiring
from hcloud.readers.configuration.config import Loaded
from hcloud.store.files.crash import crash_from, go_on
from hcloud.store.records.purchases import PurchaseLedger
from hcloud.usecases.live import ground as live_ground
from hcloud.usecases.live.places import CloudSelection
from hcloud.usecases.workloads.sources import in_places

BESIDE = ".hcloud"
"""Where the ledger is kept of a state that is in a bucket."""


@dataclass(frozen=True, slots=True)
class CommitSelection:
    """What the command line says: which cloud, region and place of the state; ``note`` hears of long waits."""

    cloud: str | None = None
    region: str | None = None
    state: str | None = None
    note: Callable[[str], object] = field(default=lambda text: None)

    def cloud_in(self, loaded: Loaded) -> str | None:
        """The cloud that is to be asked; None where neither the command line nor the configuration names one."""
        return self.cloud or loaded.config.live.cloud


@dataclass(frozen=True, slots=True)
class CommitGround:
    """Configuration, cloud, ledger and crash points, opened."""

    loaded: Loaded
    here: live_ground.LiveGround
    ledger: PurchaseLedger
    crash: Crash

    @property
    def cloud(self) -> Commitments:
        """The cloud that sells."""
        return self.here.cloud

    @property
    def live(self) -> PurchaseContext:
        """What the executors need of it."""
        return PurchaseContext(self.cloud, self.ledger, self.here.clock, self.crash, self.here.tell)


def gates_of(loaded: Loaded) -> Gates:
    """What the configuration and the environment have opened."""
    section = loaded.config.commitments
    return Gates(section.enabled, os.environ.get(VARIABLE) == "1", section.ceiling, section.price_tolerance)


def ledger_of(loaded: Loaded, where: CommitSelection, crash: Crash = go_on) -> PurchaseLedger:
    """The ledger beside the state; beside the configuration where the state is in a bucket."""
    named = Path(where.state) if where.state else loaded.base / loaded.config.live.state
    directory = loaded.base / BESIDE if "://" in (where.state or loaded.config.live.state) else named
    return PurchaseLedger(directory, crash)


@contextmanager
def opened(loaded: Loaded, where: CommitSelection, place: CloudRegion | None, at: datetime) -> Iterator[CommitGround]:
    """Open the cloud that is named, in the place that is meant (else the configuration's)."""
    selection = where.cloud_in(loaded) or (str(place.provider) if place else None)
    there = loaded if place is None else _market_of(loaded, place)
    if region := where.region or (place and place.region):
        there = there.changed(live={"region": region})
    with live_ground.opened(there, CloudSelection(selection, where.state, place), at, where.note) as found:
        crash = crash_from()
        yield CommitGround(loaded, found, ledger_of(loaded, where, crash), crash)


def _market_of(loaded: Loaded, place: CloudRegion) -> Loaded:
    """The configuration with the market of one place alone; without licences, where commitments cover none."""
    provider = Provider(place.provider)
    return in_places(loaded, [(provider, place.region)], () if CLOUDS[provider].covers_licence else ("linux",))


def place_in(plan: Plan, loaded: Loaded, where: CommitSelection) -> CloudRegion | None:
    """Where a plan buys, of what the command line allows; None where it buys nothing there. UsageError where these are
    several places."""
    named = where.cloud_in(loaded) if where.cloud_in(loaded) in list(Provider) else None
    wanted = {(m.provider, m.region) for m in plan.purchases}
    places = sorted(p for p in wanted if named in (None, p[0]) and where.region in (None, p[1]))
    if len(places) > 1:
        several = ", ".join(f"{c} {r}" for c, r in places)
        raise UsageError(f"the plan buys in {several}; one purchase plan is for one of them", hint="name it: --region")
    return CloudRegion(*places[0]) if places else None


def at_scope(loaded: Loaded, scope: Scope) -> tuple[Loaded, CloudRegion | None]:
    """The configuration with the account and endpoint that something was planned for, where it names none itself."""
    place = CloudRegion(Provider(scope.cloud), scope.region) if scope.cloud in list(Provider) else None
    live = loaded.config.live
    said = {"account": live.account or scope.account, "endpoint": live.endpoint or scope.endpoint or None}
    return loaded.changed(live=said), place


def list_commitments(loaded: Loaded, where: CommitSelection, at: datetime) -> Holdings:
    """What is recorded and what is held; a cloud is asked where one is named."""
    past = history(ledger_of(loaded, where).entries())
    scope, held = None, dict[str, Commitment]()
    if where.cloud_in(loaded) is not None:
        with opened(loaded, where, None, at) as ground:
            asking = ground.here.patience()
            scope = asking.ask(ground.cloud.scope)
            held = {c.id: c for c in asking.ask(ground.cloud.commitments)}
    pairs = [MatchedPurchase(p, held.pop(p.id, None)) for p in past.purchases]
    pairs += [MatchedPurchase(None, held[i]) for i in sorted(held)]
    everything = [p.commitment for p in pairs if p.commitment is not None]
    return Holdings(
        tuple(pairs), scope, past.committed(at), loaded.config.commitments.ceiling, expiring(everything, at)
    )
