"""A cloud in memory: the port of a provider without a wire, for thousands of rehearsals a minute."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import TypeVar

from hcloud.errors import MismatchError, NoCapacityError, NotFoundError, QuotaError, RefusedError
from hcloud.fake.clock import FakeClock
from hcloud.fake.faults import FaultKind, FaultPlan, FaultRule, Faults, InterceptedRequest, Lag
from hcloud.fake.in_memory.faults import ALL_INSTANCES, refuse_new, serve
from hcloud.fake.in_memory.purchases import cancel, held, purchase, quoted
from hcloud.fake.in_memory.world import MemoryWorld, RememberedOrder
from hcloud.fake.ledger import Ledger, Rented
from hcloud.fake.world import NewMachine, tags_in
from hcloud.model.catalog import USUAL_PROVIDER, PurchaseOption
from hcloud.model.holdings.live import (
    Commitment,
    CommitmentOrder,
    CommitmentQuote,
    Launch,
    LaunchOutcome,
    LaunchTemplate,
    Machine,
    MachineState,
    Notice,
    Quota,
    Scope,
    Terminated,
    over,
)

Found = TypeVar("Found")
OTHER_ACCOUNT = "another-account"
"""A principal of this name belongs to an account of its own."""


class MemoryCloud:
    """One account in one region of a cloud in memory, as ``principal`` sees it.

    Operations have the names of the port's methods (``launch``, ``terminate``, ``machines``, ``look``, ``zones``,
    ``quotas``, ``scope``, ``image``, ``quote``, ``buy``, ``commitments``, ``cancel``), so that one fault plan suits all
    semantics.
    A quota is by the name ``instances`` (all machines) or by that of a type, in machines.
    """

    launch_seconds = 0.0

    def __init__(
        self,
        semantics: str = USUAL_PROVIDER,
        plan: FaultPlan | None = None,
        clock: FakeClock | None = None,
    ) -> None:
        self.world = MemoryWorld(semantics, plan, clock)
        self.principal = ""
        self._scope: Scope | None = None

    def as_principal(self, name: str) -> MemoryCloud:
        """The same world with another credential."""
        found = copy(self)
        found.principal, found._scope = name, None
        return found

    @property
    def name(self) -> str:
        return self.world.semantics.cloud

    @property
    def ledger(self) -> Ledger:
        """What really happened."""
        return self.world.ledger

    @property
    def clock(self) -> FakeClock:
        return self.world.clock

    @property
    def faults(self) -> Faults:
        """What goes wrong."""
        return self.world.faults

    def plan_faults(self, plan: FaultPlan) -> None:
        """Go on under another fault plan, whose calls and seconds count from now."""
        self.world.faults = Faults(plan, self.clock.now())

    def scope(self) -> Scope:
        """Who and where we are; asked once, then remembered."""
        there = self.world.semantics
        account = OTHER_ACCOUNT if self.principal == OTHER_ACCOUNT else there.account
        if self._scope is None:
            self._scope = self._serve(
                InterceptedRequest("scope", False),
                lambda _: Scope(there.cloud, account, there.region, self.world.endpoint),
            )
        return self._scope

    def template(self, instance_types: Sequence[str]) -> LaunchTemplate:
        """What machines of these types are launched with: what the settings of the cloud that is rehearsed say."""
        return self.world.templating(instance_types)

    def image(self, name: str) -> str:
        """The image that a name stands for in this world: itself, unless the world knows another."""
        return self._serve(InterceptedRequest("image", False), lambda _: self.world.images.get(name, name))

    def launch(self, order: Launch) -> LaunchOutcome:
        """Start machines; the same key again gives the same ones, by token or by name as the cloud does it."""
        asked, kept = (
            InterceptedRequest("launch", True, instance_type=order.instance_type, zone=order.zone),
            _as_kept(order),
        )
        return self._serve(asked, lambda rule: _launch(self, kept, rule))

    def under_key(self, order: Launch) -> tuple[Machine, ...]:
        """Machines that were made for an order's key, or have its names."""
        named = {_name(order, number) for number in range(order.count)}
        machines = self.ledger.machines.values()
        return self.examine([m.id for m in machines if m.token == order.key or m.id in named])

    def terminate(self, ids: Sequence[str]) -> Terminated:
        """End machines; an id that is not told of (yet, or any more) is gone."""
        if not ids:
            return Terminated(())
        return self._serve(InterceptedRequest("terminate", True), lambda rule: _terminate(self.world, tuple(ids), rule))

    def machines(self, lineage: str) -> tuple[Machine, ...]:
        """Machines by owner tag, as lists show them now."""
        return self._serve(InterceptedRequest("machines", False), lambda rule: _listed(self, lineage, rule))

    def look(self, ids: Sequence[str]) -> tuple[Machine, ...]:
        """Machines by id, as lists show them now; of those not shown, that they have ended where the cloud tells it."""
        wanted = set(ids)
        if not wanted:
            return ()

        def act(rule: FaultRule | None) -> tuple[Machine, ...]:
            shown = {m.id: m for m in _told(self, rule) if m.id in wanted}
            ended = {i: over(i, at) for i, at in self.world.ends(wanted - shown.keys()).items()}
            told = {} if _is(rule, FaultKind.EMPTY, FaultKind.NOT_FOUND) or self.principal == OTHER_ACCOUNT else ended
            return tuple((shown | told)[i] for i in sorted(shown.keys() | told.keys()))

        return self._serve(InterceptedRequest("look", False), act)

    def examine(self, ids: Sequence[str]) -> tuple[Machine, ...]:
        """Machines by id, as they are now."""
        wanted = sorted(set(ids) & self.ledger.machines.keys())

        def act(rule: FaultRule | None) -> tuple[Machine, ...]:
            if _is(rule, FaultKind.EMPTY, FaultKind.NOT_FOUND) or self.principal == OTHER_ACCOUNT:
                return ()
            return tuple(m for i in wanted if (m := self.world.told(self.ledger.machines[i])) is not None)

        return self._serve(InterceptedRequest("examine", False), act) if ids else ()

    def notices(self, lineage: str) -> tuple[Notice, ...]:
        """What this world tells of the end of machines."""
        return self._serve(InterceptedRequest("notices", False), lambda _: self.world.noticed(lineage))

    def zones(self, instance_type: str) -> tuple[str, ...]:
        """Where a type is offered: everywhere, where the world knows it."""

        def act(rule: FaultRule | None) -> tuple[str, ...]:
            there = self.world.semantics
            if instance_type not in there.types or _is(rule, FaultKind.NOT_FOUND):
                raise NotFoundError(f"there is no type {instance_type}", self.world.call("zones"))
            return there.zones

        return self._serve(InterceptedRequest("zones", False, instance_type=instance_type), act)

    def quotas(self, instance_type: str) -> tuple[Quota, ...]:
        """The limits a type counts against."""
        return self._serve(InterceptedRequest("quotas", False), lambda _: _quotas(self.world, instance_type))

    def quote(self, order: CommitmentOrder) -> CommitmentQuote:
        """What a commitment costs now."""
        return self._serve(InterceptedRequest("quote", False), lambda _: quoted(self.world, order))

    def buy(self, quote: CommitmentQuote) -> Commitment:
        """Buy it, where it is not dearer than quoted."""
        return self._serve(InterceptedRequest("buy", True), lambda _: purchase(self.world, quote, self.principal))

    def commitments(self) -> tuple[Commitment, ...]:
        empty = (FaultKind.EMPTY, FaultKind.NOT_FOUND)
        return self._serve(
            InterceptedRequest("commitments", False), lambda r: () if _is(r, *empty) else held(self.world)
        )

    def cancel(self, commitment: str) -> None:
        """Give a commitment back, where the cloud allows it."""
        self._serve(InterceptedRequest("cancel", True), lambda _: cancel(self.world, commitment))

    def console(self, machine: str) -> str:
        """What a machine has written; nothing where nobody executes start-up scripts (see hcloud.fake.execute)."""

        def act(rule: FaultRule | None) -> str:
            found = self.ledger.machines.get(machine)
            if found is None or self.world.told(found) is None or _is(rule, FaultKind.NOT_FOUND):
                raise NotFoundError(f"there is no machine {machine}", self.world.call("console"))
            return "" if _is(rule, FaultKind.EMPTY) else str(found.detail.get("console", ""))

        return self._serve(InterceptedRequest("console", False), act)

    def edit(self, change: Mapping[str, object]) -> object:
        """A person's change behind hcloud's back: ``{"terminate": ID}``, ``{"retag": ID, "tags": {...}}``,
        ``{"resize": ID, "type": T}``, ``{"stop": ID}`` or ``{"launch": TYPE, "tags": {...}}``, there
        with a ``name`` and a ``zone`` where they matter."""
        with self.ledger.held():
            return _edit(self.world, change)

    def _serve(self, asked: InterceptedRequest, act: Callable[[FaultRule | None], Found]) -> Found:
        return serve(self.world, replace(asked, principal=self.principal), act)


def _is(rule: FaultRule | None, *kinds: FaultKind) -> bool:
    return rule is not None and rule.answer in kinds


def _told(cloud: MemoryCloud, rule: FaultRule | None) -> tuple[Machine, ...]:
    if _is(rule, FaultKind.EMPTY, FaultKind.NOT_FOUND) or cloud.principal == OTHER_ACCOUNT:
        return ()
    behind = Lag.of(rule)
    every = [cloud.world.told(m, behind) for _, m in sorted(cloud.ledger.machines.items())]
    found = [m for m in every if m is not None]
    if _is(rule, FaultKind.UNKNOWN_WORDS):
        found = [replace(m, state=MachineState.UNKNOWN) for m in found]
    return tuple(found)


def _listed(cloud: MemoryCloud, lineage: str, rule: FaultRule | None) -> tuple[Machine, ...]:
    return tuple(m for m in _told(cloud, rule) if m.lineage and (not lineage or m.lineage == lineage))


def _launch(cloud: MemoryCloud, order: Launch, rule: FaultRule | None) -> LaunchOutcome:
    ground = cloud.world
    known = ground.orders.get(order.key)
    if known is not None and known.order != order:
        raise MismatchError("the key was used for another order", ground.call("launch", "mismatch"))
    kept = _of_same_name(ground, order) if ground.semantics.by_name else {}
    if others := [m.id for m in kept.values() if not _is_of(order, m)]:
        raise MismatchError(f"{', '.join(others)} has the name of another machine", ground.call("launch", "mismatch"))
    if known is not None and ground.semantics.replays and ground.faults.plan.tokens:
        return _replayed(ground, known)
    _check_shape(ground, order)
    wanted = order.count - len(kept)
    room, why = _room(ground, order, wanted, rule)
    free = [n for n in range(order.count) if _name(order, n) not in kept]
    made = [_make(cloud, order, number, rule) for number in free[:room]]
    rented = sorted([*kept.values(), *made], key=lambda m: m.id)
    found = RememberedOrder(order, tuple(m.id for m in rented), order.count - len(rented), why)
    ground.orders[order.key] = found
    return _replayed(ground, found)


def _is_of(order: Launch, rented: Rented) -> bool:
    spot = order.option is PurchaseOption.SPOT
    kind = (rented.token, rented.instance_type, rented.zone, rented.spot)
    return kind == (order.key, order.instance_type, order.zone, spot)


def _replayed(ground: MemoryWorld, known: RememberedOrder) -> LaunchOutcome:
    """The machines of an order as they are; their tags are answered as they were given."""
    now = ground.clock.now()
    rented = [ground.ledger.machines[i] for i in known.ids]
    there = [m for m in rented if ground.semantics.lingers or m.is_there(now)]
    if rented and not there:
        raise NoCapacityError("the machines of this order have ended", ground.call("launch", "no-capacity"))
    machines = tuple(ground.machine(m, dict(m.tags), now) for m in there)
    return LaunchOutcome(machines, known.order.count - len(machines), known.why)


def _check_shape(ground: MemoryWorld, order: Launch) -> None:
    there = ground.semantics
    if order.instance_type not in there.types or order.zone not in there.zones or order.count < 1:
        what = f"{order.count} of {order.instance_type} in {order.zone} cannot be ordered"
        raise RefusedError(what, ground.call("launch", "InvalidParameterValue"))


def _name(order: Launch, number: int) -> str:
    return f"hc-{order.key[:16]}-{number}"


def _of_same_name(ground: MemoryWorld, order: Launch) -> dict[str, Rented]:
    now = ground.clock.now()
    names = [_name(order, n) for n in range(order.count)]
    return {n: m for n in names if (m := ground.ledger.machines.get(n)) is not None and m.is_there(now)}


def _room(ground: MemoryWorld, order: Launch, wanted: int, rule: FaultRule | None) -> tuple[int, str]:
    """How many of those wanted there is room for, and why not for all; raises where a limit or the stock says no."""
    if wanted <= 0:
        return 0, ""
    refuse_new(ground, "launch", rule)
    for quota in _quotas(ground, order.instance_type):
        if quota.limit is not None and quota.used + wanted > quota.limit:
            what = f"{quota.name}: {wanted} needed, {quota.used} of {quota.limit} in use"
            raise QuotaError(what, ground.call("launch", FaultKind.QUOTA))
    code = ground.call("launch", FaultKind.NO_CAPACITY).code
    if not ground.room(order.instance_type, order.zone, wanted) and wanted == order.count:
        raise NoCapacityError(f"no {order.instance_type} left in {order.zone}", ground.call("launch", "no-capacity"))
    room = ground.room(order.instance_type, order.zone, wanted, rule)
    return room, code if room < wanted else ""


def _make(cloud: MemoryCloud, order: Launch, number: int, rule: FaultRule | None) -> Rented:
    serial, spot = cloud.ledger.next_number(), order.option is PurchaseOption.SPOT
    name = _name(order, number) if cloud.world.semantics.by_name else f"i-{serial:017x}"
    tags = {} if _is(rule, FaultKind.UNTAGGED) else order.tags()
    detail: dict[str, object] = {"start_up": order.start_up, **_made_of(order)}
    return cloud.world.rent(
        NewMachine(name, order.instance_type, order.zone, spot, tags, order.key, cloud.principal, detail)
    )


def _as_kept(order: Launch) -> Launch:
    """An order as this world keeps it, also in a file: of user data its digest, since it may hold secrets."""
    digest = order.template.user_data if order.template else ""
    return replace(order, start_up=f"sha256:{digest}") if digest and order.start_up else order


def _made_of(order: Launch) -> dict[str, object]:
    """What a machine was launched with, as far as the order says it."""
    if order.template is None:
        return {}
    return {"image": order.template.image_of(order.instance_type), **order.template.settings}


def _terminate(ground: MemoryWorld, ids: tuple[str, ...], rule: FaultRule | None) -> Terminated:
    if _is(rule, FaultKind.NOT_FOUND):
        return Terminated((), ids)
    told = {i for i in ids if i in ground.ledger.machines and ground.told(ground.ledger.machines[i]) is not None}
    for found in sorted(told):
        ground.end(ground.ledger.machines[found])
    asked = {i: ground.ledger.machines[i].asked_to_end for i in sorted(told)}
    ended = {i: datetime.fromtimestamp(at, UTC) for i, at in asked.items() if at is not None}
    return Terminated(tuple(i for i in ids if i in told), tuple(i for i in ids if i not in told), ended)


def _quotas(ground: MemoryWorld, instance_type: str) -> tuple[Quota, ...]:
    live = ground.ledger.live(ground.clock.now())
    used = {ALL_INSTANCES: len(live), instance_type: sum(m.instance_type == instance_type for m in live)}
    limits = ground.faults.plan.quotas
    return tuple(Quota(n, Decimal(limits[n]), Decimal(used[n])) for n in sorted(used) if n in limits)


def _edit(ground: MemoryWorld, change: Mapping[str, object]) -> object:
    machines = ground.ledger.machines
    labels = tags_in(change)
    if "terminate" in change:
        ground.end(machines[str(change["terminate"])])
    elif "retag" in change:
        machines[str(change["retag"])].tags = labels
    elif "resize" in change:
        machines[str(change["resize"])].instance_type = str(change["type"])
    elif "stop" in change:
        machines[str(change["stop"])].detail["stopped"] = True
    elif "launch" in change:
        name = str(change.get("name") or f"foreign-{ground.ledger.next_number()}")
        zone = str(change.get("zone") or ground.semantics.zones[0])
        kind = str(change["launch"])
        ground.rent(NewMachine(name, kind, zone, False, labels, "", "a person", at_once=True))
        return {"id": name}
    return dict(change)
