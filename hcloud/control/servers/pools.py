"""Pools of servers for classes of jobs: reserved servers in the order of what their tenants still bear, cut so that
each class has its share of the vCPUs. A server's pool is renewed whenever a job starts or ends there (Paragon §4.1)."""

from __future__ import annotations

from hcloud.control.state import OWN, UP, Control
from hcloud.policy.waiting.classes import SERVER_LEVELS, is_above, level_of_server


def rank_server(c: Control, number: int) -> None:
    """Put a server where it belongs by now; one that is not reserved, or not open to jobs, is in no pool."""
    server = c.servers[number]
    cores = c.kinds[server.kind].cores
    stands = server.paid == OWN and server.status == UP
    level = level_of_server(server.pressure, server.room, cores)
    if server.pool > 0 and stands and level == server.level:
        c.lines[server.pool - 1].changed += 1
        return
    take_out(c, number)
    if stands:
        _put_in(c, number, level)
        cut_pools(c)
        c.lines[server.pool - 1].changed += 1


def take_out(c: Control, number: int) -> None:
    """A server is in no pool any more."""
    server = c.servers[number]
    if server.pool == 0:
        return
    better, worse, line, book, level = server.better, server.worse, c.lines[server.pool - 1], c.book[0], server.level
    if better > 0:
        c.servers[better - 1].worse = worse
    if worse > 0:
        c.servers[worse - 1].better = better
    if book.first[level] == book.last[level]:
        book.first[level] = book.last[level] = 0
    elif book.first[level] == number + 1:
        book.first[level] = worse
    elif book.last[level] == number + 1:
        book.last[level] = better
    if line.first == line.last:
        line.first = line.last = 0
    elif line.first == number + 1:
        line.first = worse
    elif line.last == number + 1:
        line.last = better
    cores = c.kinds[server.kind].cores
    line.cores -= cores
    line.servers -= 1
    line.changed += 1
    c.desk.pooled -= cores
    server.pool = server.better = server.worse = 0


def _put_in(c: Control, number: int, level: int) -> None:
    """As the last of those of its level, in the pool of the one before it."""
    server, above, first, last = c.servers[number], level, c.book[0].first, c.book[0].last
    while above < SERVER_LEVELS and last[above] == 0:
        above += 1
    better = last[above] if above < SERVER_LEVELS else 0
    below = level - 1
    while below >= 0 and first[below] == 0:
        below -= 1
    worse = first[below] if below >= 0 else 0
    server.level, server.better, server.worse = level, better, worse
    first[level] = first[level] if first[level] > 0 else number + 1
    last[level] = number + 1
    pool = c.rules.classes
    if c.rules.even_edges:
        pool = min(level * c.rules.classes // 100, c.rules.classes - 1) + 1
    elif better > 0:
        pool = c.servers[better - 1].pool
    if better > 0:
        c.servers[better - 1].worse = number + 1
    if worse > 0:
        c.servers[worse - 1].better = number + 1
    c.desk.pooled += c.kinds[server.kind].cores
    _enter(c, number, pool, better)


def _enter(c: Control, number: int, pool: int, better: int) -> None:
    """A server is of a pool, behind the one that is better than it where that is of the same."""
    line = c.lines[pool - 1]
    c.servers[number].pool = pool
    line.cores += c.kinds[c.servers[number].kind].cores
    line.servers += 1
    line.changed += 1
    if line.first == 0:
        line.first = line.last = number + 1
    elif better > 0 and line.last == better:
        line.last = number + 1
    elif line.first == c.servers[number].worse:
        line.first = number + 1


def _leave(c: Control, number: int) -> None:
    """The first or the last of a pool is no longer of it."""
    server = c.servers[number]
    line = c.lines[server.pool - 1]
    line.cores -= c.kinds[server.kind].cores
    line.servers -= 1
    line.changed += 1
    if line.first == line.last:
        line.first = line.last = 0
    elif line.first == number + 1:
        line.first = server.worse
    else:
        line.last = server.better


def cut_pools(c: Control) -> None:
    """Move servers between neighbouring pools until each server is in the pool that its place in the order says."""
    if c.rules.even_edges:
        return
    before, share = 0, 0.0
    for pool in range(c.rules.classes, 1, -1):
        line = c.lines[pool - 1]
        share += line.share
        target = share * c.desk.pooled
        following = _first_below(c, pool)
        while following > 0:
            cores = c.kinds[c.servers[following - 1].kind].cores
            if not is_above(before + line.cores, cores, target):
                break
            _leave(c, following - 1)
            _enter(c, following - 1, pool, c.servers[following - 1].better)
            following = c.servers[following - 1].worse
        while line.last > 0:
            last = line.last - 1
            cores = c.kinds[c.servers[last].kind].cores
            if is_above(before + line.cores - cores, cores, target):
                break
            _leave(c, last)
            _enter(c, last, pool - 1, 0)
        before += line.cores


def _first_below(c: Control, pool: int) -> int:
    """The best server of all pools below one (plus one, 0: none)."""
    for lower in range(pool - 1, 0, -1):
        if c.lines[lower - 1].first > 0:
            return int(c.lines[lower - 1].first)
    return 0
