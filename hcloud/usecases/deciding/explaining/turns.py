"""What would have sent a job elsewhere at the moment it came: limits, reserved servers, its quality, its wait."""

from __future__ import annotations

import math
from collections.abc import Iterator

from hcloud.control.sessions.story import Ahead, Turn
from hcloud.policy import codes
from hcloud.policy.codes import SCALE
from hcloud.policy.facts import Setup
from hcloud.policy.mapping import MAP_DYNAMIC, Situation, choose

MOST_SERVERS = 10_000  # ours: more than this many servers more is no advice


def turns(setup: Setup, now: Situation, ask: int, ahead: Ahead, whole: int) -> Iterator[Turn]:
    """All else as it was at that moment; a ``whole`` server would be of that type."""
    chosen = choose(setup.rules, now)[0]
    if setup.rules.mapping == MAP_DYNAMIC:
        yield from _limits(setup, now, chosen)
    if chosen != codes.RESERVED and setup.pool and now.room >= 0:
        yield from _servers(setup, now, ask, ahead)
    if setup.rules.mapping == MAP_DYNAMIC:
        yield from _quality(setup, now, chosen)
        yield from _wait(setup, now, chosen, whole)


def _limits(setup: Setup, now: Situation, chosen: int) -> Iterator[Turn]:
    rules, used = setup.rules, now.utilisation
    above = math.nextafter(used, math.inf)
    if chosen != codes.RESERVED and choose(rules, now._replace(soft=above))[0] == codes.RESERVED:
        yield Turn("soft limit", now.soft, used, "the reserve", "share")
    if chosen != codes.RESERVED and choose(rules._replace(hard=above), now)[0] == codes.RESERVED:
        yield Turn("hard limit", rules.hard, used, "the reserve", "share")
    if chosen == codes.RESERVED and used < now.soft and choose(rules, now._replace(soft=used))[0] != chosen:
        yield Turn("soft limit", now.soft, used, _place(choose(rules, now._replace(soft=used))[0]), "share")


def _servers(setup: Setup, now: Situation, ask: int, ahead: Ahead) -> Iterator[Turn]:
    """The fewest servers more that would have taken the job, after those that waited before it."""
    if ask > setup.large.cores:
        return
    least = -(-(ahead.ask + ask) // setup.large.cores) if ahead.jobs else 1
    for more in range(least, min(least + MOST_SERVERS, MOST_SERVERS) + 1):
        if choose(setup.rules, with_servers(setup, now, more, ahead))[0] == codes.RESERVED:
            yield Turn("reserved servers", len(setup.reserve), len(setup.reserve) + more, "the reserve", "servers")
            return


def with_servers(setup: Setup, now: Situation, more: int, ahead: Ahead) -> Situation:
    """The situation with so many empty servers more, and those that waited placed on them."""
    cores = setup.reserved_cores
    held = now.utilisation * cores + ahead.ask
    return now._replace(utilisation=held / (cores + more * setup.large.cores), room=1)


def _quality(setup: Setup, now: Situation, chosen: int) -> Iterator[Turn]:
    if chosen in (codes.ON_DEMAND, codes.SPOT) or not 0 < now.offered <= now.needed:
        return
    if choose(setup.rules, now._replace(needed=now.offered - 1))[0] == codes.ON_DEMAND:
        yield Turn("quality it needs", now.needed / SCALE, now.offered / SCALE, "on demand", "quality")


def _wait(setup: Setup, now: Situation, chosen: int, whole: int) -> Iterator[Turn]:
    longer = now._replace(wait=math.nextafter(now.large_spin_up, math.inf))
    shorter = now._replace(wait=now.large_spin_up)
    if chosen == codes.QUEUE and choose(setup.rules, longer)[0] == codes.LARGE:
        yield Turn("expected wait", now.wait, now.large_spin_up, f"a new {setup.types[whole].name}", "s")
    if chosen == codes.LARGE and choose(setup.rules, shorter)[0] == codes.QUEUE:
        yield Turn("expected wait", now.wait, now.large_spin_up, "the queue", "s")


def _place(action: int) -> str:
    names = {
        codes.RESERVED: "the reserve",
        codes.ON_DEMAND: "on demand",
        codes.LARGE: "a new large instance",
        codes.QUEUE: "the queue",
        codes.SPOT: "spot",
    }
    return names[action]
