"""The one decoder: from command records to decisions in words, and from a situation to the options it rules out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from hcloud.model.running.decision import Decision, DecisionAction, Declined
from hcloud.policy import codes
from hcloud.policy.mapping import Situation
from hcloud.policy.quality import SCALE
from hcloud.policy.rules import Rules

POOL, QUALITY, SECONDS, SHARE = "share of the pool", "quality", "s", "share"

ACTIONS = {
    codes.PLACE: DecisionAction.PLACE,
    codes.LAUNCH: DecisionAction.LAUNCH,
    codes.WAIT: DecisionAction.QUEUE,
    codes.TURN_AWAY: DecisionAction.REFUSE,
    codes.RETAIN: DecisionAction.RETAIN,
    codes.RELEASE: DecisionAction.RELEASE,
    codes.ENLARGE: DecisionAction.ENLARGE,
    codes.MOVE: DecisionAction.MOVE,
}


@dataclass(frozen=True, slots=True)
class TypeFacts:
    """A rentable type: thousandths of a vCPU, MiB, expected seconds to start, quality (0..9999) assumed of it before
    the first sample."""

    name: str
    cores: int
    memory: int
    spin_up: float
    prior: int


@dataclass(frozen=True, slots=True)
class Setup:
    """All that a controller is told before its first event. ``whole_servers``: what is rented on demand is the large
    type only. ``start`` is when its clock starts; None: with the first event. ``pool`` servers of the large type are
    reserved and ``beside`` them so many of other types (type, servers), which have no more vCPUs."""

    strategy: str
    digest: str
    rules: Rules
    whole_servers: bool
    pool: int
    start: float | None
    types: tuple[TypeFacts, ...]
    beside: tuple[tuple[int, int], ...] = ()

    @property
    def large(self) -> TypeFacts:
        """The largest type that is reserved."""
        return self.types[self.rules.large]

    @property
    def lots(self) -> tuple[tuple[int, int], ...]:
        """All that is reserved: type and servers, the large one first."""
        return ((self.rules.large, self.pool), *self.beside)

    @property
    def reserve(self) -> tuple[int, ...]:
        """The type of every reserved server, in the order of their slots."""
        return tuple(kind for kind, servers in self.lots for _ in range(servers))

    @property
    def reserved_cores(self) -> int:
        """Thousandths of a vCPU of all reserved servers."""
        return sum(self.types[kind].cores * servers for kind, servers in self.lots)


class DecisionFacts(NamedTuple):
    """What stood around a command: the pool before the event, the job (its row of numbers) and the type that fits."""

    at: float
    utilisation: float
    soft: float
    needed: int
    ask: int
    memory: int
    coin: float
    kind: int
    measured: bool


class DecodedCommand(NamedTuple):
    """A command with names: what, the action, reason and margin behind it, and whom and what it is about."""

    what: int
    action: int
    reason: int
    margin: float
    job: str | None
    instance: int | None
    place: str


def decide(setup: Setup, order: DecodedCommand, facts: DecisionFacts) -> Decision:
    """The decision that a command stands for."""
    reader = _OF_INSTANCES.get(order.what)
    if reader is not None:
        name, margin, unit, why = reader(setup, order, facts)
    else:
        name, unit, sentence = _OF_JOBS[order.reason]
        margin, why = (order.margin if unit else None), sentence(setup, order, facts)
    until = order.margin if order.what == codes.RETAIN else None
    return Decision(
        facts.at, ACTIONS[order.what], order.job, order.instance, order.place, name, margin, unit, why, until
    )


Sentence = Callable[[Setup, DecodedCommand, DecisionFacts], str]


def percent(share: float) -> str:
    """A share as people read it."""
    return f"{100 * share:.1f} %".replace(".0 %", " %")


def quality(value: float) -> str:
    """A quality 0..9999 as a share."""
    return f"{value / SCALE:.2f}"


def _pool(setup: Setup, facts: DecisionFacts) -> str:
    rules, used = setup.rules, facts.utilisation
    soft, hard = percent(facts.soft), percent(rules.hard)
    if setup.pool == 0:
        return "nothing is reserved"
    if used >= rules.hard:
        return f"the pool is at {percent(used)}, at or above the hard limit ({hard})"
    if used >= facts.soft:
        return f"the pool is at {percent(used)}, between the soft ({soft}) and the hard limit ({hard})"
    return f"the pool is at {percent(used)}, below the soft limit ({soft}), but no reserved server has room"


def _type(setup: Setup, facts: DecisionFacts) -> str:
    return setup.types[facts.kind].name if facts.kind >= 0 else "any type"


def _offered(setup: Setup, order: DecodedCommand, facts: DecisionFacts) -> str:
    level = percent(1 - setup.rules.guarantee)
    offered = quality(facts.needed + order.margin * SCALE)
    how = f"reaches {offered} in {level} of samples" if facts.measured else f"is expected to reach {offered}"
    return f"on-demand {_type(setup, facts)} {how}, the job needs {quality(facts.needed)}"


def _seconds(value: float) -> str:
    return f"{value:,.1f} s".replace(".0 s", " s")


def _wait(setup: Setup, order: DecodedCommand, facts: DecisionFacts) -> str:
    spin_up, used = setup.large.spin_up, facts.utilisation
    start = f"{_seconds(spin_up)} that {setup.large.name} takes to start"
    full = (
        _pool(setup, facts) if used >= setup.rules.hard or used < facts.soft else "no reserved server has room for it"
    )
    noisy = f"{full}, and on-demand {_type(setup, facts)} is too noisy"
    if order.margin == math.inf:
        return f"{noisy}; no end of the wait in the queue is in sight, and so it is longer than the {start}"
    compared = "exceeds" if order.margin > 0 else "does not exceed"
    return f"{noisy}; the expected wait of {_seconds(order.margin + spin_up)} {compared} the {start}"


def _coin(setup: Setup, order: DecodedCommand, facts: DecisionFacts) -> str:
    side = "below" if order.margin > 0 else "not below"
    return f"the job's draw of {facts.coin:.3f} is {side} the reserved share of {setup.rules.reserved_share:.3f}"


def _sensitive(setup: Setup, order: DecodedCommand, facts: DecisionFacts) -> str:
    side = "above" if order.margin > 0 else "not above"
    return f"the job needs a quality of {quality(facts.needed)}, {side} the threshold {quality(setup.rules.threshold)}"


def _limit(setup: Setup, order: DecodedCommand, facts: DecisionFacts) -> str:
    side = "below" if order.margin > 0 else "not below"
    return f"the pool is at {percent(facts.utilisation)}, {side} the limit of {percent(setup.rules.static_limit)}"


def _below_soft(_setup: Setup, _order: DecodedCommand, facts: DecisionFacts) -> str:
    return f"the pool is at {percent(facts.utilisation)}, below the soft limit ({percent(facts.soft)})"


def _spot(setup: Setup, _order: DecodedCommand, facts: DecisionFacts) -> str:
    most = quality(setup.rules.spot_quality)
    return f"the job may be interrupted and needs a quality of {quality(facts.needed)} only; spot is used below {most}"


def _too_large(setup: Setup, _order: DecodedCommand, facts: DecisionFacts) -> str:
    most = setup.types[-1]
    asked = f"{facts.ask / 1000:g} vCPUs and {facts.memory / 1024:,.1f} GiB"
    return f"it asks for {asked}; no type has that ({most.name}: {most.cores / 1000:g} and {most.memory / 1024:,.1f})"


_OF_JOBS: dict[int, tuple[str, str, Sentence]] = {
    codes.ONLY_RESERVED: ("only-reserved", "", lambda s, o, f: "the strategy uses the reserved pool only"),
    codes.ONLY_ON_DEMAND: (
        "only-on-demand",
        "",
        lambda s, o, f: f"the strategy rents on demand only; {_type(s, f)} fits the job",
    ),
    codes.COIN: ("coin", SHARE, _coin),
    codes.SENSITIVE: ("sensitive", QUALITY, _sensitive),
    codes.TOLERANT: ("tolerant", QUALITY, _sensitive),
    codes.BELOW_LIMIT: ("below-limit", POOL, _limit),
    codes.ABOVE_LIMIT: ("above-limit", POOL, _limit),
    codes.BELOW_SOFT: ("below-soft-limit", POOL, _below_soft),
    codes.TYPE_GOOD_ENOUGH: (
        "type-good-enough",
        QUALITY,
        lambda s, o, f: f"{_pool(s, f)}; {_offered(s, o, f)}",
    ),
    codes.TYPE_TOO_NOISY: ("type-too-noisy", QUALITY, lambda s, o, f: f"{_pool(s, f)}; {_offered(s, o, f)}"),
    codes.WAIT_TOO_LONG: ("wait-too-long", SECONDS, _wait),
    codes.WAIT_SHORT: ("wait-short", SECONDS, _wait),
    codes.POOL_FULL: ("pool-full", "", lambda s, o, f: "no reserved server has room for it, or jobs wait before it"),
    codes.RESTARTABLE: ("restartable", QUALITY, _spot),
    codes.TOO_LARGE: ("too-large", "", _too_large),
    codes.FROM_QUEUE: (
        "from-queue",
        SECONDS,
        lambda s, o, f: f"a reserved server has room for it after {_seconds(o.margin)} in the queue",
    ),
}
"""Reasons of a mapping: the fixed word, the unit of the margin ("": nothing was compared), the sentence."""

_RELEASES = {
    codes.NO_JOB_LEFT: ("no-job-left", "its last job left, and it is of a kind that is not kept"),
    codes.BADLY_BEHAVED: ("badly-behaved", "its last job left after running badly on it, or its quality fell short"),
    codes.RETENTION_OVER: ("retention-over", "no job wanted it while it was kept"),
    codes.INTERRUPTED: ("interrupted", "the provider took the spot capacity back"),
}
Words = tuple[str, float | None, str, str]


def _retain(_setup: Setup, order: DecodedCommand, facts: DecisionFacts) -> Words:
    kept = order.margin - facts.at
    return "still-wanted", kept, SECONDS, f"idle and well-behaved; kept {_seconds(kept)} for a job that suits it"


def _release(_setup: Setup, order: DecodedCommand, _facts: DecisionFacts) -> Words:
    name, why = _RELEASES[order.reason]
    return name, None, "", why


def _suffering(setup: Setup, order: DecodedCommand, _facts: DecisionFacts) -> Words:
    level, done = setup.rules.monitor_level, order.margin
    then = "it gets more of its server" if order.what == codes.ENLARGE else "it is moved"
    why = f"it runs at {percent(done)} of its performance in isolation, below {percent(level)}; {then}"
    return "below-qos", level - done, "share of performance", why


_OF_INSTANCES: dict[int, Callable[[Setup, DecodedCommand, DecisionFacts], Words]] = {
    codes.RETAIN: _retain,
    codes.RELEASE: _release,
    codes.ENLARGE: _suffering,
    codes.MOVE: _suffering,
}


def refusals(setup: Setup, now: Situation, chosen: int, kind: int) -> tuple[Declined, ...]:
    """The options beside the chosen one (a code of where a job goes), and by what each of them missed."""
    fits = setup.types[kind].name if kind >= 0 else "on demand"
    dynamic = setup.rules.mapping == codes.MAP_DYNAMIC
    asked = {
        codes.RESERVED: (_no_reserved, "reserved pool"),
        codes.ON_DEMAND: (_no_on_demand, f"on-demand {fits}"),
        **({codes.LARGE: (_no_large, f"on-demand {setup.large.name} at once")} if dynamic else {}),
        codes.QUEUE: (_no_queue, "local queue"),
        codes.SPOT: (_no_spot, f"spot {fits}"),
    }
    return tuple(
        Declined(option, *why(setup, now))
        for place, (why, option) in asked.items()
        if place != chosen and not (place == codes.QUEUE and chosen == codes.RESERVED)
    )


Missed = tuple[str, float | None, str]


def _no_reserved(setup: Setup, now: Situation) -> Missed:
    rules = setup.rules
    if setup.pool == 0:
        return "nothing is reserved", None, ""
    if not now.room:
        return "no reserved server has room, or the jobs there and this one would harm each other", None, ""
    if rules.mapping == codes.MAP_ON_DEMAND:
        return "the strategy rents on demand only", None, ""
    if rules.mapping == codes.MAP_RANDOM:
        return "the job's draw is not below the reserved share", now.coin - rules.reserved_share, SHARE
    if rules.mapping == codes.MAP_QUALITY:
        return "the job is tolerant enough for on demand", (rules.threshold - now.needed) / SCALE, QUALITY
    if rules.mapping == codes.MAP_STATIC:
        return "the pool is above its limit", now.utilisation - rules.static_limit, POOL
    if now.utilisation >= rules.hard:
        return f"the pool is at or above the hard limit ({percent(rules.hard)})", now.utilisation - rules.hard, POOL
    return f"the pool is above the soft limit ({percent(now.soft)})", now.utilisation - now.soft, POOL


def _no_on_demand(setup: Setup, now: Situation) -> Missed:
    rules = setup.rules
    if rules.mapping == codes.MAP_RESERVED:
        return "the strategy rents nothing", None, ""
    if rules.mapping == codes.MAP_DYNAMIC and now.room and now.utilisation < now.soft:
        return f"the pool is below the soft limit ({percent(now.soft)})", now.soft - now.utilisation, POOL
    if rules.mapping == codes.MAP_DYNAMIC and now.offered <= now.needed:
        compared = f"{quality(now.offered)} offered, {quality(now.needed)} needed"
        return f"its quality falls short: {compared}", (now.needed - now.offered) / SCALE, QUALITY
    return "the rule of the strategy chose otherwise", None, ""


def _no_large(setup: Setup, now: Situation) -> Missed:
    if now.room and now.utilisation < setup.rules.hard:
        return "considered at the hard limit only", setup.rules.hard - now.utilisation, POOL
    if now.offered > now.needed:
        return "the type that fits is good enough", (now.offered - now.needed) / SCALE, QUALITY
    return "waiting in the queue takes no longer than it takes to start", now.large_spin_up - now.wait, SECONDS


def _no_queue(setup: Setup, now: Situation) -> Missed:
    if setup.pool == 0:
        return "nothing is reserved that one could wait for", None, ""
    if setup.rules.mapping != codes.MAP_DYNAMIC:
        return "jobs queue only where the strategy wants them in the pool", None, ""
    if now.offered > now.needed:
        return "the type that fits is good enough", (now.offered - now.needed) / SCALE, QUALITY
    return "the expected wait exceeds the start of a large instance", now.wait - now.large_spin_up, SECONDS


def _no_spot(setup: Setup, now: Situation) -> Missed:
    if not setup.rules.spot:
        return "the strategy uses no spot capacity", None, ""
    if not now.restartable:
        return "the job may not be interrupted", None, ""
    if now.needed >= setup.rules.spot_quality:
        return "the job is too sensitive", (now.needed - setup.rules.spot_quality) / SCALE, QUALITY
    return "a job is not sent to the market that its rule keeps elsewhere", None, ""


def options(refused: tuple[Declined, ...]) -> Iterator[str]:
    """The refused options as sentences."""
    for one in refused:
        missed = "" if one.margin is None else f" (by {one.margin:.4g} {one.unit})"
        yield f"{one.option}: {one.reason}{missed}"
