"""A whole set of replicas by search, where one server after the other ended in a refusal."""

from __future__ import annotations

from hcloud.harvest.kernels.picking import is_free
from hcloud.harvest.kernels.pool import APART, BUSY_ROW, NOBODY, BlockPool, draw, is_open

MOST_LOOKS = 20_000
"""Ours: servers that are looked at for one set; about 140 tenants are searched whole for three copies."""


def has_reserved(pool: BlockPool, count: int) -> bool:
    """Whether one of the chosen servers is reserved."""
    found = False
    for at in range(count):
        found = found or pool.reserved[pool.chosen[at]] == 1
    return found


def searched(pool: BlockPool, writer: int) -> bool:
    """Whether a set was found in ``chosen`` that keeps every rule, its first copy at the writer or, where that takes
    none, in its cell; False where there is none, or none was found with ``MOST_LOOKS``."""
    if is_open(pool, writer) and not pool.busy[pool.want[BUSY_ROW], pool.tenant[writer]]:
        pool.chosen[0] = writer
        return completed(pool, 1, NOBODY, False)
    return completed(pool, 0, pool.tenant[writer], False)


def completed(pool: BlockPool, lowest: int, first: int, mends: bool) -> bool:
    """Whether servers were found in ``chosen`` from place ``lowest`` on that keep every rule beside those before them;
    ``first`` is the tenant in whose cell the first copy has to be, NOBODY for any. A set that is mended keeps rows and
    columns apart from the last copies before each, a new one within each turn."""
    servers = pool.open_servers
    many, ring = len(servers), draw(pool.stream, len(servers))
    level, looks = lowest, 0
    pool.taken[level] = 0
    while level >= lowest and looks < MOST_LOOKS:
        looks += 1
        walked = pool.taken[level]
        if walked >= many:
            level -= 1
            continue
        at = (ring + walked) % many
        server = servers[at]
        tenant = pool.tenant[server]
        fits = takes(pool, tenant, level, first, mends)
        held = fits and may_hold(pool, server, level)
        pool.taken[level] += 1
        if not fits or (held and pool.on_reserved == 0 and len(pool.groups) == 0):  # its other servers are no better
            pool.taken[level] += pool.first[tenant + 1] - at - 1
        if held:
            pool.chosen[level] = server
            level += 1
            if level == pool.copies:
                return True
            pool.taken[level] = 0
    return False


def takes(pool: BlockPool, tenant: int, count: int, first: int, mends: bool) -> bool:
    """Whether a tenant may have the next copy, by space, use, row, column and environment."""
    if pool.open_count[tenant] == 0 or pool.busy[pool.want[BUSY_ROW], tenant]:
        return False
    side, cell = pool.side, pool.cell[tenant]
    if count == 0:
        alike: bool = first == NOBODY or cell == pool.cell[first]
        return alike
    begin = begin_of(pool, count, mends)
    for at in range(count):
        other = pool.tenant[pool.chosen[at]]
        is_of_turn = at >= begin
        beside = pool.cell[other]
        if is_of_turn and (beside // side == cell // side or beside % side == cell % side):
            return False
        if pool.want[APART] == 1 and pool.environment[other] == pool.environment[tenant]:
            return False
    return True


def begin_of(pool: BlockPool, count: int, mends: bool) -> int:
    """The first of ``count`` copies that marks row and column for the next: of a set that is mended the last two,
    of a new one those of its turn."""
    return max(count - (pool.side - 1), 0) if mends else count - count % pool.side


def may_hold(pool: BlockPool, server: int, count: int) -> bool:
    """Whether a server of such a tenant may have it, by space, further groups and the reserved copy."""
    is_last_chance = pool.on_reserved == 1 and count == pool.copies - 1 and not has_reserved(pool, count)
    return is_open(pool, server) and is_free(pool, server, count) and (not is_last_chance or pool.reserved[server] == 1)
