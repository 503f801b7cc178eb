"""What a controller of live work is told before its first event: by options, by a plan, or by this machine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from hcloud.control.operating.wanted import SpendingLimits
from hcloud.control.pieces import are_linked
from hcloud.control.sessions.arrivals import at_once
from hcloud.errors import InputError, UsageError
from hcloud.model.catalog import Provider
from hcloud.model.running.job import JobOrder, in_pieces
from hcloud.policy.facts import Setup, TypeFacts
from hcloud.policy.mapping import MAP_RESERVED
from hcloud.policy.registry import rents_whole_servers
from hcloud.readers.job_fields import Fits
from hcloud.readers.strategies import load_strategy, with_part
from hcloud.units import counted, counted_vcpus
from hcloud.usecases.live.decide import StreamMarket, live_rules, live_strategy, make_setup, setup_in

if TYPE_CHECKING:
    from hcloud.usecases.live.ground import LiveGround

STRATEGY = "HM"
"""Ours: what the studies found best where jobs differ in what they need."""
LOCAL_START = 0.3
"""Ours: seconds until a group of processes is ready for jobs; what is measured replaces it."""
LOCAL_PRIOR = 9000
"""Ours: the quality assumed of a machine of this machine before it was probed."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What the command line says of the policy; what it does not say is chosen for the cloud, or as the plan has it."""

    strategy: str | None = None
    pool: int | None = None
    plan: Path | None = None
    families: tuple[str, ...] = ()

    @property
    def is_stated(self) -> bool:
        """Whether anything is said."""
        return self != Policy()

    def beside(self, running: Setup) -> Policy:
        """The same with the reserve of work that is running, where none is said."""
        reserves = self.strategy is None or live_strategy(self.strategy).follows("reserved")
        keeps = self.pool is None and self.plan is None and reserves
        return replace(self, pool=running.pool or None) if keeps else self


def strategy_with(strategy: str | None, placement: str | None, watching: str | None) -> str | None:
    """The name of a strategy with another placement and another way to watch jobs; None where nothing is said.
    UsageError where there is no such way to watch."""
    if watching is not None:
        with_part(load_strategy(strategy or STRATEGY), "watching", watching)
    parts = [part for part in (placement, watching) if part is not None]
    return "+".join([strategy or STRATEGY, *parts]) if parts else strategy


def setup_for(here: LiveGround, policy: Policy) -> Setup:
    """Strategy, reserve and types. Raises UsageError where strategy and reserve do not fit."""
    if policy.plan is not None and policy.families:
        raise UsageError(f"--family {policy.families[0]}: the types are those of {policy.plan}", hint="leave one out")
    if policy.plan is not None:
        return _planned(here, policy, policy.plan)
    if here.is_local:
        if policy.families:
            raise UsageError(
                f"--family {policy.families[0]}: machines of this computer have no families",
                hint="leave it out; the types are small, medium and large",
            )
        return _own_machine(here, policy)
    if policy.pool is None and live_strategy(policy.strategy or STRATEGY).follows("reserved"):
        raise UsageError("the number of reserved servers is missing", hint="--plan plan.json, or --pool N")
    market = StreamMarket(Provider(here.place.provider), here.place.region, policy.families)
    return make_setup(policy.strategy or STRATEGY, policy.pool or 0, market)


def different(said: Setup, running: Setup) -> str:
    """What work is running with that is not what is said now; nothing where all of it is."""
    found = []
    if (said.digest, said.rules) != (running.digest, running.rules):
        same = said.strategy == running.strategy
        found.append(f"strategy {running.strategy}{' as its file was then' if same else f', not {said.strategy}'}")
    if said.pool != running.pool:
        found.append(f"{running.pool} reserved, not {said.pool}")
    if said.types != running.types:
        found.append(f"the types {', '.join(t.name for t in running.types)}")
    return "; ".join(found) or ("another plan" if replace(said, start=running.start) != running else "")


def _planned(here: LiveGround, policy: Policy, path: Path) -> Setup:
    from hcloud.store.plan_file import load_plan

    if here.is_local:
        raise UsageError(
            f"{path}: the machines of a plan are in a cloud, and jobs run on this computer",
            hint="name the cloud (--cloud aws --engine slurm), or leave --plan out",
        )
    operation = load_plan(path).operation
    if operation is None:
        raise InputError(
            f"{path}: has a reserve but no strategy to run it with", hint="make it with 'hcloud plan --strategy auto'"
        )
    if policy.strategy not in (None, operation.strategy) or policy.pool not in (None, operation.reserve):
        raise UsageError(f"{path}: is for {operation.strategy} with {operation.reserve} reserved servers")
    large = here.size_of(operation.reserved_type).vcpus
    families = tuple(sorted({operation.reserved_type, *operation.on_demand_types}))
    market = StreamMarket(Provider(here.place.provider), here.place.region, families, large=large)
    return setup_in(live_strategy(operation.strategy), operation.reserve, market)


def _own_machine(here: LiveGround, policy: Policy) -> Setup:
    """The types of this machine. The large one is the largest of which two fit, so that one can be reserved and one
    rented; half of what fits is reserved where nothing is said, and all of it where nothing is ever rented. What has no
    room beside the reserve is not rented."""
    from hcloud.providers.local.settings import TYPES

    cores, memory = (float(quota.limit or 0) for quota in here.cloud.quotas(min(TYPES)))
    fitting = {n: int(min(cores // s.vcpus, memory // s.memory_gib)) for n, s in TYPES.items()}
    names = sorted((n for n in TYPES if fitting[n]), key=lambda n: TYPES[n].vcpus)
    if not names:
        raise UsageError(
            f"this machine has {cores:g} {'core' if cores == 1 else 'cores'} and {memory:.1f} GiB: not one machine fits"
        )
    large = max((at for at, n in enumerate(names) if fitting[n] > 1), default=0)
    strategy = live_strategy(policy.strategy or STRATEGY)
    reserves = strategy.follows("reserved")
    rules = live_rules(strategy, large)
    rents = rules.mapping != MAP_RESERVED
    usual = max(fitting[names[large]] // (2 if rents else 1), 1) if reserves else 0
    pool = usual if policy.pool is None else policy.pool
    if reserves != (pool > 0):
        raise UsageError(
            f"{strategy.name} {'needs a reserved pool' if reserves else 'reserves nothing'}: --pool {pool}"
        )
    most = max(TYPES[names[large]].vcpus, int(cores) - pool * TYPES[names[large]].vcpus)
    names = [n for n in names if TYPES[n].vcpus <= most]
    types = tuple(
        TypeFacts(n, TYPES[n].vcpus * 1000, int(TYPES[n].memory_gib * 1024), LOCAL_START, LOCAL_PRIOR) for n in names
    )
    return Setup(strategy.name, strategy.digest(), rules, rents_whole_servers(strategy), pool, None, types)


def servers_that_fit(setup: Setup, limits: SpendingLimits) -> Fits:
    """What is allowed in place of a job whose pieces never have room at once: in the reserve, and on as many machines
    beside it as there may be."""

    def allowed(order: JobOrder, servers: int) -> str:
        piece = in_pieces(order, servers)[0]
        if not (setup.rules.gang and are_linked(setup.rules)):
            return ""
        lots = [(setup.types[kind].cores, setup.types[kind].memory, count) for kind, count in setup.lots]
        held = at_once(lots, (piece.cores, piece.memory), setup.rules)
        rented = 0 if setup.rules.mapping == MAP_RESERVED else _rented_at_once(setup, limits, piece)
        if rented is None or held + rented >= servers:
            return ""
        each = f"{counted_vcpus(piece.cores / 1000)} and {piece.memory / 1024:.3g} GiB"
        reserve = f"{counted(len(setup.reserve), 'reserved server')} hold {held} of {each} at once"
        if setup.rules.mapping == MAP_RESERVED:
            return f"pieces that begin together; {reserve}"
        beside = f"machines that may stand {'beside' if setup.reserve else 'at once'} hold {rented}"
        return f"pieces that begin together; {f'{reserve}, ' if setup.reserve else ''}{beside}" + (
            "" if setup.reserve else f" of {each}"
        )

    return allowed


def _rented_at_once(setup: Setup, limits: SpendingLimits, piece: JobOrder) -> int | None:
    """How many such pieces the machines hold at once that may stand beside the reserve; None: any number."""
    fitting = (t for t in setup.types if piece.cores <= t.cores and piece.memory <= t.memory)
    kind = setup.large if setup.whole_servers else next(fitting, setup.types[-1])
    counts = []
    if limits.cores is not None:
        counts.append((limits.cores - setup.reserved_cores) // kind.cores)
    if limits.machines is not None:
        counts.append(limits.machines - len(setup.reserve))
    if not counts:
        return None
    machines = max(min(counts), 0)
    is_shared = setup.rules.shared and kind is setup.large
    each = (kind.cores, kind.memory, machines)
    return at_once([each], (piece.cores, piece.memory), setup.rules) if is_shared else machines
