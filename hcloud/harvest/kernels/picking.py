"""One more server for a block: which may hold it beside those that do, by the rules of a system."""

from __future__ import annotations

from hcloud.harvest.kernels.pool import (
    APART,
    BALANCED,
    BEST_FIRST,
    BUSY_ROW,
    FROM_RESERVED,
    HISTORY,
    NOBODY,
    RANDOM,
    RELAXED,
    SPREAD,
    STOCK_HADOOP,
    STOCK_PAPER,
    BlockPool,
    draw,
    is_open,
)

_TRIES = 24
"""Servers that are drawn before all are looked at, from a drawn one on."""
NOTHING, COLUMN, ROW, ENVIRONMENT, RESERVED = 0, 1, 2, 4, 8
"""What was relaxed for a server, as bits."""


def is_free(pool: BlockPool, server: int, count: int) -> bool:
    """Whether a server is none of those chosen, and in none of their further groups."""
    for at in range(count):
        if pool.chosen[at] == server:
            return False
        for key in range(len(pool.groups)):
            if pool.groups[key, pool.chosen[at]] == pool.groups[key, server]:
                return False
    return True


def of_tenant(pool: BlockPool, tenant: int, count: int, reserved: int) -> int:
    """A server of a tenant drawn among those that may hold the block."""
    first, many = pool.first[tenant], pool.open_count[tenant]
    if many == 0 or (reserved == 1 and pool.open_reserved[tenant] == 0):
        return NOBODY
    begin = draw(pool.stream, many)
    for step in range(many):
        server: int = pool.open_servers[first + (begin + step) % many]
        if (reserved == 0 or pool.reserved[server] == 1) and is_free(pool, server, count):
            return server
    return NOBODY


def in_environment(pool: BlockPool, tenant: int, count: int) -> bool:
    """Whether a chosen server is in a tenant's environment."""
    found = False
    for at in range(count):
        found = found or pool.environment[pool.tenant[pool.chosen[at]]] == pool.environment[tenant]
    return found


def of_cell(pool: BlockPool, cell: int, count: int) -> int:
    """A server of a tenant drawn among those of a cell that may hold the block, as likely as its space is large (or as
    any other); of the next one where none of its servers may. A tenant may that has space, is not busy, and is of
    another environment where that is wanted."""
    members, environment, fitting = pool.members, pool.environment, pool.fitting
    begin, end = pool.cell_first[cell], pool.cell_first[cell + 1]
    open_count, space, busy, row = pool.open_count, pool.space, pool.busy, pool.want[BUSY_ROW]
    for at in range(count):
        pool.taken[at] = environment[pool.tenant[pool.chosen[at]]]
    taken, apart, by_space = pool.taken, pool.want[APART] == 1, pool.by_space == 1
    total, many = 0, 0
    for at in range(begin, end):
        tenant = members[at]
        fits = open_count[tenant] > 0 and not busy[row, tenant]
        for other in range(count if fits and apart else 0):
            fits = fits and taken[other] != environment[tenant]
        if fits:
            total += space[tenant] if by_space else 1
            fitting[many] = tenant
            many += 1
    if many == 0:
        return NOBODY
    drawn, start = draw(pool.stream, total), 0
    for at in range(many):
        drawn -= space[fitting[at]] if by_space else 1
        if drawn < 0:
            start = at
            break
    for step in range(many):
        server = of_tenant(pool, fitting[(start + step) % many], count, pool.want[FROM_RESERVED])
        if server != NOBODY:
            return server
    return NOBODY


def of_grid(pool: BlockPool, begin: int, count: int, relaxed: int) -> int:
    """A server of a cell drawn among those whose row and column have none of the servers chosen from ``begin`` on, as
    far as that counts, then of the others of these cells."""
    many, side, cells, cell_of = 0, pool.side, pool.cells, pool.cell
    for at in range(begin, count):
        pool.taken[at] = cell_of[pool.tenant[pool.chosen[at]]]
    taken = pool.taken
    for cell in range(side * side):
        marked = False
        for at in range(begin, count):
            row, column = taken[at] // side == cell // side, taken[at] % side == cell % side
            marked = marked or (relaxed & ROW == 0 and row) or (relaxed & COLUMN == 0 and column)
        if not marked:
            cells[many] = cell
            many += 1
    while many > 0:
        at = draw(pool.stream, many)
        server = of_cell(pool, cells[at], count)
        if server != NOBODY:
            return server
        many -= 1
        cells[at] = cells[many]
    return NOBODY


def by_history(pool: BlockPool, begin: int, count: int) -> int:
    """A server by Algorithm 2: ``want`` says afterwards what was relaxed, columns, rows and environments in turn."""
    relaxed = NOTHING
    pool.want[APART] = 0 if pool.system == BALANCED else 1
    for more in (NOTHING, COLUMN, ROW, ENVIRONMENT):
        relaxed |= more
        if more == ENVIRONMENT:
            pool.want[APART] = 0
        server = of_grid(pool, begin, count, relaxed)
        pool.want[RELAXED] = relaxed
        if server != NOBODY or pool.hard == 1:
            return server
    return NOBODY


def anywhere(pool: BlockPool, count: int, rack: int, within: int) -> int:
    """A server drawn of all that may hold the block, of those in a ``rack`` (``within`` 1) or of those outside of it
    (0); NOBODY for a rack is none."""
    low, high = 0, len(pool.tenant)
    if within == 1:
        low, high = pool.rack_first[rack], pool.rack_first[rack + 1]
    for _ in range(_TRIES):
        server: int = pool.racked[low + draw(pool.stream, high - low)]
        outside = within == 1 or rack == NOBODY or pool.rack[server] != rack
        if (
            outside
            and is_open(pool, server)
            and not pool.busy[pool.want[BUSY_ROW], pool.tenant[server]]
            and is_free(pool, server, count)
        ):
            return server
    begin = draw(pool.stream, high - low)
    for step in range(high - low):
        server = pool.racked[low + (begin + step) % (high - low)]
        outside = within == 1 or rack == NOBODY or pool.rack[server] != rack
        if (
            outside
            and is_open(pool, server)
            and not pool.busy[pool.want[BUSY_ROW], pool.tenant[server]]
            and is_free(pool, server, count)
        ):
            return server
    return NOBODY


def by_racks(pool: BlockPool, count: int) -> int:
    """A server as stock file systems choose: of two racks, whatever the tenants do."""
    if count == 1:
        server = anywhere(pool, count, pool.rack[pool.chosen[0]], 1 if pool.system == STOCK_PAPER else 0)
    elif count == 2 and pool.system == STOCK_PAPER:
        server = anywhere(pool, count, pool.rack[pool.chosen[0]], 0)
    elif count == 2:
        second = pool.rack[pool.chosen[1]]
        alike = pool.rack[pool.chosen[0]] == second
        server = anywhere(pool, count, second, 0 if alike else 1)
    else:
        server = NOBODY
    if server != NOBODY:
        return server
    return anywhere(pool, count, NOBODY, 0)


def by_environment(pool: BlockPool, count: int) -> int:
    """Any server of an environment that has none of the block."""
    server = NOBODY
    for _ in range(_TRIES):
        server = anywhere(pool, count, NOBODY, 0)
        if server == NOBODY or not in_environment(pool, pool.tenant[server], count):
            return server
    begin = draw(pool.stream, len(pool.order))
    for step in range(len(pool.order)):
        tenant = pool.order[(begin + step) % len(pool.order)]
        if not pool.busy[pool.want[BUSY_ROW], tenant] and not in_environment(pool, tenant, count):
            server = of_tenant(pool, tenant, count, 0)
            if server != NOBODY:
                return server
    return NOBODY


def by_best(pool: BlockPool, count: int) -> int:
    """A server of the tenant that is reimaged least, then least busy, of those with space."""
    for at in range(len(pool.order)):
        tenant = pool.order[at]
        if not pool.busy[pool.want[BUSY_ROW], tenant]:
            server = of_tenant(pool, tenant, count, 0)
            if server != NOBODY:
                return server
    return NOBODY


def next_server(pool: BlockPool, begin: int, count: int) -> int:
    """One more server beside the ``count`` chosen ones, of which those from ``begin`` on mark rows and columns; NOBODY
    where none may hold the block. ``want[FROM_RESERVED]`` says whether it has to be reserved."""
    pool.want[RELAXED] = NOTHING
    if pool.system in (HISTORY, BALANCED):
        return by_history(pool, begin, count)
    if pool.system in (STOCK_PAPER, STOCK_HADOOP):
        return by_racks(pool, count)
    if pool.system == SPREAD:
        return by_environment(pool, count)
    if pool.system == BEST_FIRST:
        return by_best(pool, count)
    assert pool.system == RANDOM
    return anywhere(pool, count, NOBODY, 0)


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
