"""M4: reserved, on demand, large on demand or the local queue (thesis §8.4.2; mapping policies P1 to P8)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

from hcloud.policy.codes import (
    ABOVE_LIMIT,
    BELOW_LIMIT,
    BELOW_SOFT,
    COIN,
    HELD_BY_NONE,
    LARGE,
    ON_DEMAND,
    ONLY_ON_DEMAND,
    ONLY_RESERVED,
    POOL_FULL,
    QUEUE,
    RESERVED,
    RESTARTABLE,
    SCALE,
    SENSITIVE,
    SPOT,
    TOLERANT,
    TYPE_GOOD_ENOUGH,
    TYPE_TOO_NOISY,
    WAIT_SHORT,
    WAIT_TOO_LONG,
)
from hcloud.policy.facts import (
    QUALITY,
    SECONDS,
    SHARE,
    SHARE_OF_POOL,
    DecisionFacts,
    DecodedCommand,
    Missed,
    Reason,
    Setup,
    fitting,
    quality,
    seconds,
)
from hcloud.policy.rule import Known, Rule, choice, share, switch
from hcloud.policy.rules import Rules
from hcloud.units import short_percent

MAP_RESERVED, MAP_ON_DEMAND, MAP_RANDOM, MAP_QUALITY, MAP_STATIC, MAP_DYNAMIC = range(6)
"""What a kernel knows a mapping rule by; a journal's first line holds it."""


class Situation(NamedTuple):
    """What a mapping looks at. ``utilisation`` of the reserved pool and the ``soft`` limit in 0..1; ``room`` is 1 where
    a reserved server can take the job, -1 where none ever could; ``offered`` and ``needed`` are qualities 0..9999 (Q90
    of the on-demand type, Q_T of the job); ``wait`` and ``large_spin_up`` in seconds, ``wait`` being read at the hard
    limit only; ``coin`` is uniform in 0..1; ``restartable`` is 1 for a job that may be interrupted."""

    utilisation: float
    soft: float
    room: int
    offered: int
    needed: int
    wait: float
    large_spin_up: float
    coin: float
    restartable: int


def choose(rules: Rules, now: Situation) -> tuple[int, int, float]:
    """Where the job goes: action, reason, and by what margin (in the unit of what was compared)."""
    action, reason, margin = _by_rule(rules, now)
    if action == RESERVED and now.room < 0 and rules.mapping != MAP_RESERVED:
        action, reason, margin = ON_DEMAND, HELD_BY_NONE, 0.0
    if action == ON_DEMAND and rules.spot and now.restartable and now.needed < rules.spot_quality:
        return SPOT, RESTARTABLE, (rules.spot_quality - now.needed) / SCALE
    if action == RESERVED and now.room <= 0:
        return QUEUE, HELD_BY_NONE if now.room < 0 else POOL_FULL, 0.0
    return action, reason, margin


def _by_rule(rules: Rules, now: Situation) -> tuple[int, int, float]:
    if rules.mapping == MAP_DYNAMIC:
        return _dynamic(rules, now)
    if rules.mapping == MAP_RESERVED:
        return RESERVED, ONLY_RESERVED, 0.0
    if rules.mapping == MAP_ON_DEMAND:
        return ON_DEMAND, ONLY_ON_DEMAND, 0.0
    if rules.mapping == MAP_RANDOM:
        return _random(rules, now)
    if rules.mapping == MAP_QUALITY:
        return _by_quality(rules, now)
    return _by_limit(rules, now)


class MappingRule(Rule):
    """A mapping: whether it ``reserves`` and ``rents``, whether it asks how long a job would wait (``by_wait``), what
    it ``needs`` other mechanisms to follow (rules, and the words for it), its ``reasons`` by code, and what keeps a job
    from a pool."""

    reserves: ClassVar[bool] = True
    rents: ClassVar[bool] = True
    by_wait: ClassVar[bool] = False
    needs: ClassVar[Mapping[str, tuple[tuple[str, ...], str]]] = {}
    reasons: ClassVar[Mapping[int, Reason]] = {}

    @staticmethod
    def not_reserved(rules: Rules, now: Situation) -> Missed:
        """Why the job is not in the reserved pool, which has room."""
        return "the rule of the strategy chose otherwise", None, ""

    @staticmethod
    def not_rented(rules: Rules, now: Situation) -> Missed:
        """Why nothing is rented for the job."""
        return "the rule of the strategy chose otherwise", None, ""


class ReservedOnly(MappingRule, of="mapping", name="reserved-only", mapping=MAP_RESERVED):
    """All jobs go to the reserve."""

    rents = False
    reasons: ClassVar = {
        ONLY_RESERVED: Reason("only-reserved", "", "the strategy uses the reserved pool only"),
    }

    @staticmethod
    def not_rented(rules: Rules, now: Situation) -> Missed:
        return "the strategy rents nothing", None, ""


class OnDemandOnly(MappingRule, of="mapping", name="on-demand-only", mapping=MAP_ON_DEMAND):
    """All jobs go on demand."""

    reserves = False
    reasons: ClassVar = {
        ONLY_ON_DEMAND: Reason(
            "only-on-demand", "", lambda s, o, f: f"the strategy rents on demand only; {fitting(s, f)} fits the job"
        ),
    }

    @staticmethod
    def not_reserved(rules: Rules, now: Situation) -> Missed:
        return "the strategy rents on demand only", None, ""


class RandomMapping(MappingRule, of="mapping", name="random", mapping=MAP_RANDOM):
    """P1: a coin decides."""

    reserved_share: float = share("share of jobs", "reserved_share")

    @staticmethod
    def _told(setup: Setup, order: DecodedCommand, facts: DecisionFacts) -> str:
        side = "below" if order.margin > 0 else "not below"
        return f"the job's draw of {facts.coin:.3f} is {side} the reserved share of {setup.rules.reserved_share:.3f}"

    reasons: ClassVar = {COIN: Reason("coin", SHARE, _told)}

    @staticmethod
    def not_reserved(rules: Rules, now: Situation) -> Missed:
        return "the job's draw is not below the reserved share", now.coin - rules.reserved_share, SHARE


def _random(rules: Rules, now: Situation) -> tuple[int, int, float]:
    margin = rules.reserved_share - now.coin
    return (RESERVED if margin > 0 else ON_DEMAND), COIN, margin


class QualityThreshold(MappingRule, of="mapping", name="quality-threshold", mapping=MAP_QUALITY):
    """P2 to P4: sensitive jobs go to the reserve. The threshold is a quality, or a quantile of those of the jobs."""

    threshold: float = share(QUALITY)
    reading: str = choice("absolute", "job-quantile")

    def numbers(self, known: Known) -> dict[str, float]:
        if self.reading == "absolute":
            return {**super().numbers(known), "threshold": round(self.threshold * SCALE)}
        if len(known.qualities) == 0:
            raise ValueError("a threshold as a quantile of the job mix needs the jobs")
        ranked = sorted(known.qualities)
        return {**super().numbers(known), "threshold": ranked[min(int(self.threshold * len(ranked)), len(ranked) - 1)]}

    @staticmethod
    def _told(setup: Setup, order: DecodedCommand, facts: DecisionFacts) -> str:
        side, needed = ("above" if order.margin > 0 else "not above"), quality(facts.needed)
        return f"the job needs a quality of {needed}, {side} the threshold {quality(setup.rules.threshold)}"

    reasons: ClassVar = {SENSITIVE: Reason("sensitive", QUALITY, _told), TOLERANT: Reason("tolerant", QUALITY, _told)}

    @staticmethod
    def not_reserved(rules: Rules, now: Situation) -> Missed:
        return "the job is tolerant enough for on demand", (rules.threshold - now.needed) / SCALE, QUALITY


def _by_quality(rules: Rules, now: Situation) -> tuple[int, int, float]:
    margin = (now.needed - rules.threshold) / SCALE
    return (RESERVED, SENSITIVE, margin) if margin > 0 else (ON_DEMAND, TOLERANT, margin)


class StaticLimit(MappingRule, of="mapping", name="static-limit", mapping=MAP_STATIC):
    """P5 to P7: any job goes to the reserve while it is used less than that."""

    limit: float = share("share of reserved vCPUs", "static_limit")

    @staticmethod
    def _told(setup: Setup, order: DecodedCommand, facts: DecisionFacts) -> str:
        side = "below" if order.margin > 0 else "not below"
        limit = short_percent(setup.rules.static_limit)
        return f"the pool is at {short_percent(facts.utilisation)}, {side} the limit of {limit}"

    reasons: ClassVar = {
        BELOW_LIMIT: Reason("below-limit", SHARE_OF_POOL, _told),
        ABOVE_LIMIT: Reason("above-limit", SHARE_OF_POOL, _told),
    }

    @staticmethod
    def not_reserved(rules: Rules, now: Situation) -> Missed:
        return "the pool is at or above its limit", now.utilisation - rules.static_limit, SHARE_OF_POOL


def _by_limit(rules: Rules, now: Situation) -> tuple[int, int, float]:
    margin = rules.static_limit - now.utilisation
    return (RESERVED, BELOW_LIMIT, margin) if margin > 0 else (ON_DEMAND, ABOVE_LIMIT, margin)


class Dynamic(MappingRule, of="mapping", name="dynamic", mapping=MAP_DYNAMIC):
    """P8: any job below the soft limit; then quality decides; at the hard limit the expected wait does, too."""

    interference_is_full: bool = switch("interference_is_full")
    by_wait = True
    needs: ClassVar = {
        "limits": (("fixed", "feedback"), "the dynamic mapping needs fixed or feedback"),
        "quality": (("monitored",), "the dynamic mapping needs monitored"),
        "queueing": (("late-binding",), "the dynamic mapping asks late-binding for the wait"),
    }

    @staticmethod
    def not_reserved(rules: Rules, now: Situation) -> Missed:
        used, hard = now.utilisation, rules.hard
        if used >= hard:
            return f"the pool is at or above the hard limit ({short_percent(hard)})", used - hard, SHARE_OF_POOL
        return f"the pool is at or above the soft limit ({short_percent(now.soft)})", used - now.soft, SHARE_OF_POOL

    @staticmethod
    def not_rented(rules: Rules, now: Situation) -> Missed:
        if now.room > 0 and now.utilisation < now.soft:
            left = now.soft - now.utilisation
            return f"the pool is below the soft limit ({short_percent(now.soft)})", left, SHARE_OF_POOL
        if now.offered <= now.needed:
            compared = f"{quality(now.offered)} offered, {quality(now.needed)} needed"
            return f"its quality falls short: {compared}", (now.needed - now.offered) / SCALE, QUALITY
        return MappingRule.not_rented(rules, now)

    @staticmethod
    def _pool(setup: Setup, facts: DecisionFacts) -> str:
        rules, used = setup.rules, facts.utilisation
        soft, hard = short_percent(facts.soft), short_percent(rules.hard)
        if setup.pool == 0:
            return "nothing is reserved"
        if used >= rules.hard:
            return f"the pool is at {short_percent(used)}, at or above the hard limit ({hard})"
        if used >= facts.soft:
            return f"the pool is at {short_percent(used)}, between the soft ({soft}) and the hard limit ({hard})"
        return f"the pool is at {short_percent(used)}, below the soft limit ({soft}), but no reserved server has room"

    @staticmethod
    def _below(_setup: Setup, _order: DecodedCommand, facts: DecisionFacts) -> str:
        return f"the pool is at {short_percent(facts.utilisation)}, below the soft limit ({short_percent(facts.soft)})"

    @staticmethod
    def _offer(setup: Setup, order: DecodedCommand, facts: DecisionFacts) -> str:
        level, needed = short_percent(1 - setup.rules.guarantee), quality(facts.needed)
        offered = f"quality {quality(facts.needed + order.margin * SCALE)}"
        how = f"reaches {offered} in {level} of samples" if facts.measured else f"is expected to reach {offered}"
        return f"{Dynamic._pool(setup, facts)}; on-demand {fitting(setup, facts)} {how}, the job needs {needed}"

    @staticmethod
    def _wait(setup: Setup, order: DecodedCommand, facts: DecisionFacts) -> str:
        spin_up, used = setup.large.spin_up, facts.utilisation
        whole = setup.whole_for(facts.ask, facts.memory, facts.platform)
        name = setup.types[whole].name if whole >= 0 else setup.large.name
        start = f"{seconds(spin_up)} that {name} takes to start"
        is_between = facts.soft <= used < setup.rules.hard
        full = "no reserved server has room for it" if is_between else Dynamic._pool(setup, facts)
        noisy = f"{full}, and on-demand {fitting(setup, facts)} is too noisy"
        if order.margin == math.inf:
            return f"{noisy}; no end of the wait in the queue is in sight, and so it is longer than the {start}"
        compared = "exceeds" if order.margin > 0 else "does not exceed"
        return f"{noisy}; the expected wait of {seconds(order.margin + spin_up)} {compared} the {start}"

    reasons: ClassVar = {
        BELOW_SOFT: Reason("below-soft-limit", SHARE_OF_POOL, _below),
        TYPE_GOOD_ENOUGH: Reason("type-good-enough", QUALITY, _offer),
        TYPE_TOO_NOISY: Reason("type-too-noisy", QUALITY, _offer),
        WAIT_TOO_LONG: Reason("wait-too-long", SECONDS, _wait),
        WAIT_SHORT: Reason("wait-short", SECONDS, _wait),
    }


def _dynamic(rules: Rules, now: Situation) -> tuple[int, int, float]:
    if now.room > 0 and now.utilisation < now.soft:
        return RESERVED, BELOW_SOFT, now.soft - now.utilisation
    spare = (now.offered - now.needed) / SCALE
    if spare > 0:
        return ON_DEMAND, TYPE_GOOD_ENOUGH, spare
    if now.room > 0 and now.utilisation < rules.hard:
        return RESERVED, TYPE_TOO_NOISY, spare
    margin = now.wait - now.large_spin_up
    return (LARGE, WAIT_TOO_LONG, margin) if margin > 0 else (QUEUE, WAIT_SHORT, margin)
