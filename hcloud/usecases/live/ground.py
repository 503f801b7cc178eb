"""What every verb that looks at a cloud stands on: the cloud, what is remembered of it, prices and a clock."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from hcloud.catalog.book import PriceBook
from hcloud.control.ports import Size, Stop, Tell, never, silent
from hcloud.errors import StaleError, UsageError
from hcloud.live.applying.guards import ChangeApproval
from hcloud.live.clock import SystemClock
from hcloud.live.patience import LateTell, Patience, RetryLimits
from hcloud.live.site import Progress, Site
from hcloud.model.catalog import OfferKey, Provider, PurchaseOption
from hcloud.model.endpoint import is_here
from hcloud.model.holdings.change import ChangeSet, Shape, Slot
from hcloud.model.holdings.live import CommitmentOrder, LaunchTemplate
from hcloud.model.holdings.state import State
from hcloud.model.plans.plan import Plan
from hcloud.planning.changes.diff import DiffInputs, changes
from hcloud.planning.changes.digest import place_digest, signed
from hcloud.planning.changes.slots import LAUNCHED, SHARED, CloudRegion, in_zones, kind_of, slots_of
from hcloud.readers.configuration.config import Loaded
from hcloud.readers.configuration.live_sections import FleetSection
from hcloud.store.files.crash import crash_from
from hcloud.usecases.live.connect import FAKE, LOCAL, CloudSettings, connect
from hcloud.usecases.live.launch_template import (
    check_project,
    configured,
    launch_differences,
    looked_up,
    ordered_otherwise,
    types_coming,
    user_data,
    with_types,
)
from hcloud.usecases.live.places import FAKE_FILE, CloudSelection, cloud_of_state, place_of, remembered
from hcloud.usecases.live.state import open_store
from hcloud.usecases.prices.age import OLDEST_PRICE_SECONDS, AllowedAge, WantedPrice
from hcloud.usecases.workloads.sources import check_regions, in_places, open_prices

if TYPE_CHECKING:
    from hcloud.control.ports import Clock, Cloud, MendableStore
    from hcloud.fake.in_memory.memory import MemoryCloud

LOOKING_SECONDS = 20.0  # ours
LOCAL_DIRECTORY = "local"
"""Where the machines of this machine are noted, beside the state."""
PROBES = "probes"
"""Where measurements on a cloud have a state each, beside the state."""
OWN_MACHINE = Decimal(0)
"""What a machine of this machine costs an hour: it is there anyway. Nothing else may be free."""


@dataclass
class LiveGround:
    """A cloud that was opened, with everything around it; ``beside`` is where files of this machine go, ``where`` the
    place of the state, told in full; ``tell`` hears what is waited for, and any of ``stops`` ends it."""

    loaded: Loaded
    selection: str
    place: CloudRegion
    cloud: Cloud
    store: MendableStore
    clock: Clock
    today: date
    beside: Path
    where: str
    tell: Tell = silent
    stops: list[Stop] = field(default_factory=list)

    @cached_property
    def book(self) -> PriceBook:
        """The prices of the region that is acted on."""
        return open_prices(market_of(self.loaded, self.place), self.today)[0]

    def is_stopped(self) -> bool:
        """Whether somebody asked for an end."""
        return any(stop() for stop in self.stops)

    @property
    def is_local(self) -> bool:
        """Whether the cloud is this machine."""
        return self.selection == LOCAL

    def patience(self, stop: Stop = never) -> Patience:
        """Patience for questions that change nothing, which ``stop`` ends."""
        return _asking(self.clock, self.tell, stop)

    def zones(self, instance_type: str) -> tuple[str, ...]:
        """Where a type is sold; asked for until the cloud answers."""
        return self.patience().ask(lambda: self.cloud.zones(instance_type))

    def site(self, progress: Progress | None = None, stop: Stop = never, lineage: str = "") -> Site:
        """What the live half needs of it; ``lineage`` is that of a plan which was made before there was a state.

        Who only looks, and so hears of no progress, is told sooner that a cloud does not answer.
        """
        self.stops.append(stop)
        beginning = State(lineage=lineage or uuid4().hex, project=self.loaded.config.live.project)
        crash = crash_from(os.environ)
        limits = RetryLimits() if progress else RetryLimits(deadline=LOOKING_SECONDS)
        heard = progress or (lambda step: self.tell(step.text, at_once=step.at_once))
        site = Site(self.cloud, self.store, self.clock, stop, heard, crash, limits, beginning=beginning)
        site = replace(site, user_data=partial(user_data, self.loaded))
        in_memory = self.selection.startswith(FAKE)
        return replace(site, waits=replace(site.waits, ready=0.0, ended=0.0)) if in_memory else site

    def approval(self, ends: int | None) -> ChangeApproval:
        """How far an apply may go; ``ends`` is the number of machines to end that was typed."""
        limits, oldest = self.loaded.config.limits, float(self.loaded.config.live.max_plan_age)
        return ChangeApproval(limits.hourly, limits.monthly, limits.increase, ends, oldest, limits.ended)

    def terms(self) -> DiffInputs:
        """Dollars an hour of everything that may stand here."""
        if self.is_local:
            return DiffInputs(lambda name, _: OWN_MACHINE if name in local_types() else None, free="this machine")
        return DiffInputs(partial(self.book.rate, Provider(self.place.provider), self.place.region))

    def slots(self, plan: Plan | None) -> tuple[Slot, ...]:
        """What should stand: the configuration's own fleet, else what the plan decides, at list price as long as no
        commitment is bought: nobody agrees to less than what may be charged."""
        config = self.loaded.config
        if config.fleet:
            found: Sequence[Slot] = [self._slot(section) for section in config.fleet]
        elif plan is not None:
            found = [replace(slot, hourly=self.price(slot.instance_type)) for slot in slots_of(plan, self.place)]
        else:
            raise UsageError("the plan has no machines", hint="a plan, or section fleet of hcloud.yaml")
        for address, count in Counter(slot.address for slot in found).items():
            if count > 1:
                raise UsageError(f"fleet: two entries have the address {address!r}", hint="give each a name of its own")
        types = sorted({slot.instance_type for slot in found if not slot.zones})
        return in_zones(found, {t: config.live.zones or self.zones(t) for t in types})

    def changes(
        self, slots: Sequence[Slot], terms: DiffInputs | None = None, begun: ChangeSet | None = None
    ) -> ChangeSet:
        """What has to change for these slots to stand, and what machines are launched with; reads only. What is left of
        a plan that was ``begun`` is launched with what that plan says."""
        from hcloud.live.observe import observe

        site = self.site(lineage=begun.base.lineage if begun else "")
        observed = observe(site)
        found = changes(slots, observed, terms or self.terms())
        if found.coming:
            template = self._template_of(begun, found) if begun else self._template(found, observed.state)
            notes = (*found.notes, *ordered_otherwise(observed, template))
            found = replace(found, template=template, notes=notes, warnings=self._warnings(found))
        if not observed.serial:  # there is no state yet
            found = replace(found, base=replace(found.base, place=place_digest(self.where)))
        return signed(found)

    def _template(self, found: ChangeSet, stored: State) -> LaunchTemplate:
        """What machines are launched with by the configuration, with the images that stand behind names now."""
        check_project(self.loaded, stored)
        made = configured(self.loaded, self.cloud, types_coming(found), found.base.lineage)
        return self.patience().ask(lambda: looked_up(self.cloud, made))

    def _template_of(self, begun: ChangeSet, found: ChangeSet) -> LaunchTemplate | None:
        """What the rest of a plan is launched with: as that plan says, also where a machine ended since whose type it
        did not launch."""
        template = begun.template
        return template and with_types(self.loaded, self.cloud, template, types_coming(found))

    def launch_differences(self, planned: ChangeSet) -> Iterator[str]:
        """How what a plan launches machines with differs from what the configuration says now."""
        return launch_differences(self.loaded, self.cloud, planned)

    def check_place(self, planned: ChangeSet) -> None:
        """Refuse a plan that would begin a state, where it was made for another place: one lineage in two places would
        be two states that both take the same machines for theirs."""
        begins = planned.base.place
        if begins and begins != place_digest(self.where) and self.store.load() is None:
            raise StaleError(
                f"the plan was made for another state location than {self.where}, which has no state yet",
                hint="plan again here, or name that place with --state",
            )

    @property
    def is_rehearsal(self) -> bool:
        """Whether it is a fake: in this process, or on this machine."""
        return self.selection.startswith(FAKE) or is_here(self.loaded.config.live.endpoint or "")

    def check_prices(self, found: ChangeSet) -> None:
        """EvidenceError where a machine would be launched at a price that is older than allowed (30 days where the
        configuration says nothing); a rehearsal costs nothing."""
        if not (self.is_rehearsal or self.is_local):
            self._allowed_age.check(found, self.book)

    def check_types(self, wanted: Collection[WantedPrice]) -> None:
        """EvidenceError for types that have no price, or one that is older than allowed; a rehearsal costs nothing."""
        for name, option in sorted(wanted):
            self.price(name, option)
        if not (self.is_rehearsal or self.is_local):
            self._allowed_age.check_types(wanted, self.book)

    def _warnings(self, found: ChangeSet) -> tuple[str, ...]:
        """What apply would refuse later."""
        return () if self.is_rehearsal or self.is_local else self._allowed_age.warnings(found, self.book)

    @property
    def _allowed_age(self) -> AllowedAge:
        return AllowedAge(self.place, self.today, self.loaded.config.prices.max_age or OLDEST_PRICE_SECONDS)

    @property
    def least_seconds(self) -> int:
        """Seconds of a machine that are charged at least."""
        return 0 if self.is_local else self.book.billing[Provider(self.place.provider)].minimum_seconds

    def size_of(self, instance_type: str) -> Size:
        """How large a type is, by the price tables."""
        found = self.book.instance_type(Provider(self.place.provider), instance_type)
        return Size(max(int(found.vcpus), 1), float(found.memory_gib))

    def _slot(self, section: FleetSection) -> Slot:
        hourly = self.price(section.instance_type, section.option)
        fallbacks = tuple(Shape(name, self.price(name, section.option)) for name in section.fallbacks)
        fields = (section.address, section.instance_type, section.zones, section.count, hourly)
        return Slot(*fields, option=section.option, fallbacks=fallbacks)

    def price(self, instance_type: str, option: PurchaseOption = PurchaseOption.ON_DEMAND) -> Decimal:
        """Dollars an hour; EvidenceError where there is no price: nothing is launched at a price nobody knows."""
        if self.is_local:
            return OWN_MACHINE
        provider = Provider(self.place.provider)
        sold = [kind_of(m.os, m.tenancy) for m in self.loaded.config.settings().markets if m.provider == provider]
        if sold and LAUNCHED not in sold:
            raise UsageError(
                f"the markets of {provider} are of {sold[0]}; what is launched here is {LAUNCHED} on {SHARED} hardware",
                hint="a configuration file of its own for live work (-f), or a market of what is launched beside it",
            )
        key = OfferKey(provider, self.place.region, instance_type, option)
        if key not in self.book.offers:
            check_regions(market_of(self.loaded, self.place), self.book)
        return self.book.offer(key).hourly


@contextmanager
def opened(
    loaded: Loaded, where: CloudSelection, at: datetime, note: Callable[[str], object] = lambda text: None
) -> Iterator[LiveGround]:
    """Open the cloud that the command line or the configuration names; ``at`` is when the verb works: prices are those
    of its day, and a cloud in memory begins at it. ``note`` hears what is waited for where that takes long.

    Raises UsageError where none is named, StaleError where it is another account than the configuration's.
    """
    selection, directory = where.cloud or loaded.config.live.cloud, where.state or loaded.config.live.state
    local = directory if where.state or "://" in directory else str(loaded.base / directory)
    if selection is None:
        before = "" if "://" in local else cloud_of_state(open_store(local))
        known = f"of the state in {directory}: --cloud {before}; else " if before else ""
        hint = f"{known}--cloud aws, gcp, azure, local, fake; or live.cloud of hcloud.yaml"
        raise UsageError("no cloud given", hint=hint)
    store = open_store(local)
    place = place_of(loaded, selection, lambda: where.known or remembered(store, selection, _beside(local)))
    today = at.date()
    own = {"directory": str(_beside(local) / LOCAL_DIRECTORY)}
    settings = _settings(loaded, place, today) if selection != LOCAL else CloudSettings(LOCAL, LOCAL, options=own)
    if not selection.startswith(FAKE):
        clock = SystemClock()
        tell, stops = LateTell(clock, note), list[Stop]()
        cloud = connect(selection, replace(settings, tell=tell, stop=lambda: any(stop() for stop in stops)))
        _check_account(loaded, cloud, _asking(clock, tell))
        kept = _beside(local), _in_full(local)
        yield LiveGround(loaded, selection, place, cloud, store, clock, today, *kept, tell, stops)
        return
    memory = _in_memory((loaded, selection, place), settings, _beside(local), at)
    there = memory, store, memory.clock, today, _beside(local), _in_full(local)
    yield LiveGround(loaded, selection, place, *there, LateTell(memory.clock, note))


def _in_memory(
    asked: tuple[Loaded, str, CloudRegion], settings: CloudSettings, beside: Path, at: datetime
) -> MemoryCloud:
    """A cloud in this process that goes on from where the last verb (or a kill) left it, and outlasts this one."""
    from hcloud.fake.in_memory.file import go_on_from, keep_always
    from hcloud.usecases.live.connect import in_memory, plan_named

    loaded, selection, place = asked
    book = prices_of(loaded, place, at.date())
    hourly, spot = (_hourly(book, place, option) for option in (PurchaseOption.ON_DEMAND, PurchaseOption.SPOT))
    priced = replace(settings, hourly=hourly, spot_hourly=spot)
    memory = in_memory(priced, plan_named(selection), at.timestamp())
    kept = beside / FAKE_FILE.format(settings.cloud)
    go_on_from(memory.world, kept)
    keep_always(memory.world, kept)
    return memory


def _beside(state: str) -> Path:
    """Where files on this machine are kept, also where the state is in a bucket or of a measurement."""
    place = Path(".hcloud" if "://" in state else state)
    return place.parent.parent if place.parent.name == PROBES else place


def _in_full(state: str) -> str:
    """The place of a state, the same from whatever directory it is named."""
    return state if "://" in state else str(Path(state).resolve())


def local_types() -> tuple[str, ...]:
    """The types that this machine runs as a cloud."""
    from hcloud.providers.local.settings import TYPES

    return tuple(TYPES)


def _settings(loaded: Loaded, place: CloudRegion, today: date) -> CloudSettings:
    """Without prices, which only a fake tells; the book of them is opened when one is first asked for."""
    live = loaded.config.live

    @lru_cache
    def book() -> PriceBook:
        return prices_of(loaded, place, today)

    return CloudSettings(
        cloud=place.provider,
        region=place.region,
        account=live.account or "",
        endpoint=live.endpoint or "",
        options=live.settings,
        sold=lambda order: book().offers.get(_key(place, order)),
    )


def _hourly(book: PriceBook, place: CloudRegion, option: PurchaseOption) -> dict[str, Decimal]:
    """Dollars an hour by type, on demand or spot, as a fake in this process tells them."""
    known = book.select(Provider(place.provider), option)
    return {o.key.instance_type: o.hourly for o in known if o.key.region == place.region and not o.key.zone}


def _key(place: CloudRegion, order: CommitmentOrder) -> OfferKey:
    where = (Provider(place.provider), place.region, order.instance_type)
    return OfferKey(*where, order.option, order.term_years, order.payment)


def prices_of(loaded: Loaded, place: CloudRegion, today: date) -> PriceBook:
    """The prices of one place on a day, as verbs that act on a cloud see them."""
    return open_prices(market_of(loaded, place), today)[0]


def market_of(loaded: Loaded, place: CloudRegion) -> Loaded:
    """The configuration with the market of one place alone, of what is launched there."""
    return in_places(loaded, [(Provider(place.provider), place.region)], (LAUNCHED,))


def _asking(clock: Clock, tell: Tell, stop: Stop = never) -> Patience:
    return Patience(clock, RetryLimits(deadline=LOOKING_SECONDS), stop, tell)


def _check_account(loaded: Loaded, cloud: Cloud, patience: Patience) -> None:
    wanted = loaded.config.live.account
    if wanted is None:
        return
    scope = patience.ask(cloud.scope)
    if scope.account != wanted:
        raise StaleError(
            f"live.account is {wanted}, and these credentials belong to {scope.account}",
            hint="use credentials of that account, or change live.account",
        )
