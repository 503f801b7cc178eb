"""Sets of replicas: a server for the writer's copy, then one after the other for the rest, or none at all."""

from __future__ import annotations

from hcloud.harvest.kernels.picking import RESERVED, next_server, of_cell, of_tenant
from hcloud.harvest.kernels.pool import (
    ALL_RELAXED,
    APART,
    BALANCED,
    BUSY_ROW,
    FROM_RESERVED,
    HISTORY,
    NOBODY,
    RELAXED,
    BlockPool,
    Ints,
    Small,
    draw,
    is_open,
    take,
)
from hcloud.harvest.kernels.searching import has_reserved, searched

PLACED, NO_WRITER, NO_LEGAL, NO_RESERVED = range(4)
"""Why a block was refused, and 0 where it was not."""


def beside_writer(pool: BlockPool, writer: int) -> int:
    """Where the first copy goes: the writer, where it has space and is not busy, else another server of its tenant,
    then of its cell."""
    tenant = pool.tenant[writer]
    if is_open(pool, writer) and not pool.busy[pool.want[BUSY_ROW], tenant]:
        return writer
    pool.want[APART], pool.want[FROM_RESERVED] = 0, 0
    if not pool.busy[pool.want[BUSY_ROW], tenant]:
        server = of_tenant(pool, tenant, 0, 0)
        if server != NOBODY:
            return server
    return of_cell(pool, pool.cell[tenant], 0)


def one_more(pool: BlockPool, begin: int, count: int) -> int:
    """One more server, a reserved one where the set has none: tried at once, and needed for the last copy."""
    by_tags = pool.system in (HISTORY, BALANCED)
    if pool.on_reserved == 0 or not by_tags or has_reserved(pool, count):
        pool.want[FROM_RESERVED] = 0
        return next_server(pool, begin, count)
    pool.want[FROM_RESERVED] = 1
    server = next_server(pool, begin, count)
    if server != NOBODY or (count == pool.copies - 1 and pool.hard == 1):
        return server
    pool.want[FROM_RESERVED] = 0
    server = next_server(pool, begin, count)
    if count == pool.copies - 1:
        pool.want[RELAXED] |= RESERVED
    return server


def choose(pool: BlockPool, writer: int) -> int:
    """A whole set in ``chosen``, or why there is none; ``want`` says what was relaxed. Nothing is
    taken yet. A choice that leaves no server for a later copy is no reason: then others are searched."""
    why = in_turn(pool, writer)
    if why in (PLACED, NO_WRITER) or pool.system not in (HISTORY, BALANCED):
        return why
    pool.want[APART], pool.want[ALL_RELAXED] = 0 if pool.system == BALANCED else 1, 0
    return PLACED if searched(pool, writer) else why


def in_turn(pool: BlockPool, writer: int) -> int:
    """The same with one server after the other, none taken back."""
    pool.want[ALL_RELAXED] = 0
    pool.chosen[0] = beside_writer(pool, writer)
    if pool.chosen[0] == NOBODY:
        return NO_WRITER
    for count in range(1, pool.copies):
        begin = count - count % pool.side
        pool.chosen[count] = one_more(pool, begin, count)
        if pool.chosen[count] == NOBODY:
            return NO_RESERVED if pool.want[FROM_RESERVED] == 1 else NO_LEGAL
        pool.want[ALL_RELAXED] |= pool.want[RELAXED]
    return PLACED


def place(pool: BlockPool, writers: Ints, busy_row: Ints, sets: Small, told: Ints) -> None:
    """A set for every block. A writer of NOBODY is any server. Of block b the row ``busy_row[b]`` of ``busy`` counts. A
    refused block has NOBODY in its row of ``sets``. ``told`` counts blocks by outcome (0 to 3), then sets with relaxed
    columns, rows, environments and reserved copies."""
    for block in range(len(writers)):
        pool.want[BUSY_ROW] = busy_row[block]
        writer = writers[block] if writers[block] != NOBODY else draw(pool.stream, len(pool.tenant))
        why = choose(pool, writer)
        told[why] += 1
        for at in range(pool.copies):
            sets[block, at] = pool.chosen[at] if why == PLACED else NOBODY
            if why == PLACED:
                take(pool, pool.chosen[at])
        if why == PLACED:
            for bit in range(4):
                told[4 + bit] += pool.want[ALL_RELAXED] >> bit & 1
