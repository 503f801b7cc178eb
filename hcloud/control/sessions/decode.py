"""The one decoder: from command records to decisions in words, and from a situation to the options it rules out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from hcloud.model.running.decision import Decided, Decision, DecisionAction, Declined
from hcloud.policy import codes
from hcloud.policy.codes import SCALE
from hcloud.policy.facts import (
    QUALITY,
    SECONDS,
    SHARE_OF_POOL,
    DecisionFacts,
    DecodedCommand,
    Missed,
    Reason,
    Setup,
    TypeFacts,
    quality,
    seconds,
)
from hcloud.policy.mapping import MAP_RESERVED, MappingRule, Situation, choose
from hcloud.policy.registry import RULES
from hcloud.policy.repair import AUTOSCALE
from hcloud.units import counted_vcpus, short_percent

RESERVED_POOL = "reserved pool"
"""What the reserve is called among the options of a job."""
ACTIONS = {
    codes.PLACE: DecisionAction.PLACE,
    codes.LAUNCH: DecisionAction.LAUNCH,
    codes.WAIT: DecisionAction.QUEUE,
    codes.TURN_AWAY: DecisionAction.REFUSE,
    codes.RETAIN: DecisionAction.RETAIN,
    codes.RELEASE: DecisionAction.RELEASE,
    codes.ENLARGE: DecisionAction.ENLARGE,
    codes.MOVE: DecisionAction.MOVE,
    codes.END: DecisionAction.END,
    codes.SHRINK: DecisionAction.SHRINK,
    codes.ADD_SERVER: DecisionAction.ADD,
    codes.DROP_SERVER: DecisionAction.DROP,
}


def decide(setup: Setup, order: DecodedCommand, facts: DecisionFacts) -> Decision:
    """The decision that a command stands for."""
    return Decision(*decided(setup, order, facts))


def decided(setup: Setup, order: DecodedCommand, facts: DecisionFacts) -> Decided:
    """The decision that a command stands for, as its fields."""
    reader = _OF_INSTANCES.get(order.what)
    if reader is not None:
        name, margin, unit, why = reader(setup, order, facts)
    else:
        name, unit, sentence = reason_of(order.reason) or _OF_JOBS[order.reason]
        margin = order.margin if unit else None
        why = sentence if isinstance(sentence, str) else sentence(setup, order, facts)
        if order.said:
            why += f"; no {order.said} is available at the moment"
    until = order.margin if order.what == codes.RETAIN else None
    return facts.at, ACTIONS[order.what], order.job, order.instance, order.place, name, margin, unit, why, until


def always(reason: int) -> tuple[str, str] | None:
    """The word and the sentence of a reason that depend on nothing else; None for any other."""
    word, unit, sentence = reason_of(reason) or _OF_JOBS[reason]
    return (word, sentence) if not unit and isinstance(sentence, str) else None


def _spot(setup: Setup, _order: DecodedCommand, facts: DecisionFacts) -> str:
    most = quality(setup.rules.spot_quality)
    return f"the job may be interrupted and needs a quality of {quality(facts.needed)}: those below {most} go to spot"


def _no_spot_capacity(_setup: Setup, order: DecodedCommand, _facts: DecisionFacts) -> str:
    return f"a launch of spot capacity failed; it is not tried again for {seconds(order.margin)}"


def _too_large(setup: Setup, _order: DecodedCommand, facts: DecisionFacts) -> str:
    most, kinds = holding(setup)[-1], "reserved server" if setup.rules.mapping == MAP_RESERVED else "type"
    asked = f"{counted_vcpus(facts.ask / 1000)} and {facts.memory / 1024:,.1f} GiB"
    return (
        f"it asks for {asked}; no {kinds} has that ({most.name}: {most.cores / 1000:g} and {most.memory / 1024:,.1f})"
    )


def holding(setup: Setup) -> Sequence[TypeFacts]:
    """The types that jobs can be on, the largest last: those of the reserve where nothing is rented."""
    if setup.rules.mapping != MAP_RESERVED:
        return setup.types
    return sorted((setup.types[kind] for kind, _ in setup.lots), key=lambda t: (t.cores, t.memory))


_MAPPINGS = {int(r.sets["mapping"]): r for r in RULES["mapping"].values() if issubclass(r, MappingRule)}
_OF_JOBS: dict[int, Reason] = {
    **{code: reason for rule in _MAPPINGS.values() for code, reason in rule.reasons.items()},
    codes.POOL_FULL: Reason("pool-full", "", "no reserved server has room for it, or jobs wait before it"),
    codes.RESTARTABLE: Reason("restartable", QUALITY, _spot),
    codes.TOO_LARGE: Reason("too-large", "", _too_large),
    codes.FROM_QUEUE: Reason(
        "from-queue",
        SECONDS,
        lambda s, o, f: f"a reserved server has room for it after {seconds(o.margin)} in the queue",
    ),
    codes.HELD_BACK: Reason(
        "held-back",
        "",
        lambda s, o, f: (
            f"hardly any unit that suits it is free; it waits for one for {seconds(o.margin - f.at)} at most"
        ),
    ),
    codes.AT_SERVERS: Reason(
        "waits-at-servers", "", "the servers that suit it best have no room; the first that gets it does"
    ),
    codes.TOO_MANY: Reason("too-many", "", "the reserve never holds all of its pieces at once"),
    codes.WITH_OTHERS: Reason("with-others", "", "the other pieces of its job wait for it"),
    codes.DISPLACES: Reason("best-effort-yields", "", "best effort leaves a reserved server to it"),
    codes.AS_BEFORE: Reason("as-before", "", "the same job went there in the run that this one is compared with"),
    codes.AWAITS_OFFER: Reason("awaits-offer", "", "it waits until a free server is offered to its framework"),
    codes.HELD_BY_NONE: Reason("held-by-none", "", "no reserved server could hold it, even an idle one"),
    codes.NO_SPOT: Reason("no-spot-capacity", SECONDS, _no_spot_capacity),
    codes.POOL_GROWN: Reason("pool-grown", "", "the reserve has one server more"),
}

_RELEASES = {
    codes.NO_JOB_LEFT: ("no-job-left", "its last job left, and it is of a kind that is not kept"),
    codes.BADLY_BEHAVED: ("badly-behaved", "its last job left after running badly on it, or its quality fell short"),
    codes.RETENTION_OVER: ("retention-over", "no job wanted it while it was kept"),
    codes.INTERRUPTED: ("interrupted", "the provider took the spot capacity back"),
    codes.LAUNCH_FAILED: ("launch-failed", "it could not be launched"),
    codes.LOST: ("lost", "it no longer exists"),
    codes.POOL_SHRUNK: ("pool-shrunk", "the reserve has one server less"),
    codes.TAKEN_AWAY: (
        "closed",
        "its cloud takes it away or its node drains, and it has no job left",
    ),
    codes.CANCELLED: ("cancelled", "its only job was cancelled before it had started"),
}
Words = tuple[str, float | None, str, str]


def _retain(_setup: Setup, order: DecodedCommand, facts: DecisionFacts) -> Words:
    kept = order.margin - facts.at
    return "still-wanted", kept, SECONDS, f"idle and well-behaved; kept {seconds(kept)} for a job that suits it"


def _release(_setup: Setup, order: DecodedCommand, _facts: DecisionFacts) -> Words:
    name, why = _RELEASES[order.reason]
    return name, None, "", f"{why}: {order.said}" if order.said else why


def _end(_setup: Setup, order: DecodedCommand, _facts: DecisionFacts) -> Words:
    return "lost-with-machine", None, "", f"it ran on instance {order.instance}, which is lost; it may not begin anew"


def _suffering(setup: Setup, order: DecodedCommand, _facts: DecisionFacts) -> Words:
    if order.what == codes.MOVE and order.reason == codes.PIECE_LOST:
        return "piece-lost", None, "", "another piece of its job was lost with its machine; all of them begin anew"
    if order.what == codes.MOVE and order.reason == codes.YIELDS:
        return "yields", None, "", "it is best effort, and a job that is below its target needs what it has"
    level, done = setup.rules.monitor_level, order.margin
    if order.what == codes.MOVE and order.reason == codes.MAKES_ROOM:
        why = f"a neighbour runs at {short_percent(done)} of its target, below {short_percent(level)},"
        why += " and suffers less without it"
        return "makes-room", level - done, "share of performance", why
    then = "it gets more of its server" if order.what == codes.ENLARGE else "it is moved"
    if order.what == codes.MOVE and order.reason == codes.MISCLASSIFIED:
        then = "its estimate was wrong and is corrected, and it is placed anew"
    if order.what == codes.MOVE and order.reason == codes.BETTER_ELSEWHERE:
        then = "what it gains on another server is worth the move"
    if order.what == codes.ADD_SERVER:
        then = "it gets another server beside those that it has"
    promised = "its target" if setup.rules.watching else "its performance in isolation"
    why = f"it runs at {short_percent(done)} of {promised}, below {short_percent(level)}; {then}"
    return "below-qos", level - done, "share of performance", why


def _adding(setup: Setup, order: DecodedCommand, facts: DecisionFacts) -> Words:
    if setup.rules.watching != AUTOSCALE:
        return _suffering(setup, order, facts)
    return _by_use(setup.rules.out_rate, order.margin, "above", "it gets another server")


def _shrinking(setup: Setup, order: DecodedCommand, _facts: DecisionFacts) -> Words:
    if setup.rules.watching == AUTOSCALE:
        return _by_use(setup.rules.above, order.margin, "below", "it gives back the server that it got last")
    most = setup.rules.above
    why = f"it could do {short_percent(order.margin)} of its target, above {short_percent(most)};"
    why += " others get what it does not need"
    return "above-target", order.margin - most, "times the target", why


def _by_use(limit: float, rate: float, side: str, then: str) -> Words:
    why = f"its processors are {short_percent(1 / rate)} in use, {side} {short_percent(1 / limit)}; {then}"
    return "busy" if side == "above" else "idle", abs(1 / rate - 1 / limit), "share in use", why


_OF_INSTANCES: dict[int, Callable[[Setup, DecodedCommand, DecisionFacts], Words]] = {
    codes.RETAIN: _retain,
    codes.RELEASE: _release,
    codes.ENLARGE: _suffering,
    codes.MOVE: _suffering,
    codes.SHRINK: _shrinking,
    codes.ADD_SERVER: _adding,
    codes.DROP_SERVER: _shrinking,
    codes.END: _end,
}


def refusals(setup: Setup, now: Situation, chosen: int, kind: int, whole: int) -> tuple[Declined, ...]:
    """The options beside the chosen one (a code of where a job goes), and by what each of them missed: the type that
    fits, and that of which the job would have a ``whole`` server."""
    fits = setup.types[kind].name if kind >= 0 else "on demand"
    by_wait = _mapping(setup).by_wait
    asked = {
        codes.RESERVED: (_no_reserved, RESERVED_POOL),
        codes.ON_DEMAND: (_no_on_demand, f"on-demand {fits}"),
        **({codes.LARGE: (_no_large, f"on-demand {setup.types[whole].name} at once")} if by_wait else {}),
        codes.QUEUE: (_no_queue, "local queue"),
        codes.SPOT: (_no_spot, f"spot {fits}"),
    }
    return tuple(
        Declined(option, *why(setup, now))
        for place, (why, option) in asked.items()
        if place != chosen and not (place == codes.QUEUE and chosen == codes.RESERVED)
    )


def _mapping(setup: Setup) -> type[MappingRule]:
    return _MAPPINGS[setup.rules.mapping]


def _no_reserved(setup: Setup, now: Situation) -> Missed:
    if setup.pool == 0:
        return "nothing is reserved", None, ""
    if setup.rules.ranking == codes.BY_OFFER:
        return "free servers are offered at intervals, and none has been offered to its framework since", None, ""
    if now.room < 0:
        return "no reserved server could hold it, even an idle one", None, ""
    if now.room == 0:
        return "no reserved server has room, or the jobs there and this one would harm each other", None, ""
    return _mapping(setup).not_reserved(setup.rules, now)


def _no_on_demand(setup: Setup, now: Situation) -> Missed:
    if choose(setup.rules, now)[0] == codes.SPOT:
        return "the job may be interrupted, and spot capacity costs less", None, ""
    return _mapping(setup).not_rented(setup.rules, now)


def _no_large(setup: Setup, now: Situation) -> Missed:
    if now.room > 0 and now.utilisation < setup.rules.hard:
        return "considered at the hard limit only", setup.rules.hard - now.utilisation, SHARE_OF_POOL
    if now.offered > now.needed:
        return "the type that fits is good enough", (now.offered - now.needed) / SCALE, QUALITY
    return "waiting in the queue takes no longer than it takes to start", now.large_spin_up - now.wait, SECONDS


def _no_queue(setup: Setup, now: Situation) -> Missed:
    if setup.pool == 0:
        return "no server is reserved that it could wait for", None, ""
    if now.room < 0:
        return "no reserved server could hold it, even an idle one", None, ""
    if not _mapping(setup).by_wait:
        return "the strategy lets jobs queue only for the reserved pool", None, ""
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
    return _mapping(setup).not_rented(setup.rules, now)


def options(refused: tuple[Declined, ...]) -> Iterator[str]:
    """The refused options as sentences."""
    for one in refused:
        missed = f" (by {one.margin:.4g} {one.unit})" if one.margin else ""
        yield f"{one.option}: {one.reason}{missed}"


def _class(setup: Setup, order: DecodedCommand) -> str:
    return f"class {order.reason % codes.CLASSED + 1} of {setup.rules.classes}"


def _until(setup: Setup, order: DecodedCommand, facts: DecisionFacts) -> str:
    if not setup.rules.windowed:
        return "for as long as it takes"
    return f"until {seconds(order.margin)}, for {seconds(max(order.margin - facts.at, 0.0))} at most"


def _after(order: DecodedCommand) -> str:
    return f" after {seconds(order.margin)} in the queue" if order.margin > 0 else ""


_SAID: dict[int, Reason] = {
    codes.WAITS_IN_CLASS: Reason(
        "waits-in-class",
        "",
        lambda s, o, f: (
            f"it is of {_class(s, o)}; no server of that pool has room where nobody would suffer, so it waits"
            f" {_until(s, o, f)}"
        ),
    ),
    codes.WAITS_BELOW: Reason(
        "diverted-down",
        "",
        lambda s, o, f: f"a server of {_class(s, o)} is likelier to be free in time; it waits there {_until(s, o, f)}",
    ),
    codes.WAITS_FOR_ANY: Reason(
        "window-over-no-room",
        "",
        lambda s, o, f: f"it is of {_class(s, o)} and may wait no longer, but no server has room; it gets the next one",
    ),
    codes.OWN_POOL: Reason(
        "own-pool", SECONDS, lambda s, o, f: f"a server of its own pool, {_class(s, o)}, has room{_after(o)}"
    ),
    codes.POOL_ABOVE: Reason(
        "diverted-up",
        SECONDS,
        lambda s, o, f: f"a server of the pool above, {_class(s, o)}, has room{_after(o)}, and nobody waits for it",
    ),
    codes.POOL_BELOW: Reason(
        "pool-below",
        SECONDS,
        lambda s, o, f: f"it was diverted down, and a server of {_class(s, o)} has room{_after(o)}",
    ),
    codes.WINDOW_OVER: Reason(
        "window-over",
        SECONDS,
        lambda s, o, f: f"its window is over{_after(o)}: it is of {_class(s, o)} and gets the best server there is",
    ),
    codes.NEVER_WAITS: Reason(
        "never-waits",
        "",
        lambda s, o, f: f"it is of {_class(s, o)} and has no time to wait: it gets the best server there is",
    ),
}


def reason_of(code: int) -> Reason | None:
    """What is said of a reason that names a class; None for any other."""
    return _SAID[code // codes.CLASSED] if code >= codes.CLASSED else None
