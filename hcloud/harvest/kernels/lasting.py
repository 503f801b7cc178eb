"""Where blocks are placed, and a time of reimages: which lose copies, which are copied again before the last is gone,
and which are lost."""

from __future__ import annotations

from typing import NamedTuple

from hcloud.harvest.kernels.picking import (
    RESERVED,
    begin_of,
    completed,
    has_reserved,
    next_server,
    of_cell,
    of_tenant,
    searched,
)
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
    Flags,
    Ints,
    Small,
    close,
    draw,
    is_open,
    reopen,
    take,
)

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


NOTICE, REIMAGE = range(2)
"""What happens to a server: it will be reimaged, or it is."""
TIME, SERVER, KIND = range(3)
"""The columns of events: microseconds, a server, and what happens."""
LOST, COPIED, STUCK, PUT_OFF = range(4)
"""What is counted: blocks lost, copies made, copies that no server may take, and how often a block was put off since
all servers that hold it, or may take it, were busy."""
LATER = -2
"""Said instead of a server where only busy ones may take a copy."""
NOW, EACH, TAKEN, PUT, BATCH, BATCHES, STEP, NOTICED = range(8)
"""What ``clock`` holds: the time up to which all is done, the time that a copy takes, entries of the queue that were
taken out and put in, batches that are done and that were made, the time that a row of the pool's ``busy`` lasts, 0
where nobody knows when servers are busy, and the time until a loss is noticed."""


class Year(NamedTuple):
    """What is on the servers, and the queue of blocks that lack copies, first in first out, in a ring.

    The blocks on server s are ``blocks[first[s]:first[s] + held[s]]``; those that moved on stay there until it is
    emptied. ``capacity`` is how many it takes, ``leaving`` whether it will be reimaged. Row b of ``sets`` are the
    servers of block b. Batch b of the queue ends at entry ``batch_end[b]``, counted from the first ever, and may begin
    at ``batch_ready[b]``."""

    blocks: Small
    first: Ints
    held: Ints
    capacity: Ints
    leaving: Flags
    sets: Small
    entries: Small
    batch_end: Ints
    batch_ready: Ints
    clock: Ints
    counts: Ints


def fill(year: Year) -> None:
    """Put the blocks of sets on their servers."""
    for block in range(len(year.sets)):
        for at in range(year.sets.shape[1]):
            server = year.sets[block, at]
            if server != NOBODY:
                year.blocks[year.first[server] + year.held[server]] = block
                year.held[server] += 1


def put_in(year: Year, block: int) -> None:
    """Queue a block; of a full ring it is left to the next loss that finds it."""
    if year.clock[PUT] - year.clock[TAKEN] < len(year.entries):
        year.entries[year.clock[PUT] % len(year.entries)] = block
        year.clock[PUT] += 1


def close_batch(year: Year, ready: int) -> None:
    """What was put in since the last batch may be copied from ``ready`` on."""
    batch = year.clock[BATCHES]
    year.batch_end[batch], year.batch_ready[batch] = year.clock[PUT], ready
    year.clock[BATCHES] += 1


def lose(year: Year, server: int) -> None:
    """Take everything off a server: blocks with another copy are queued, others are lost."""
    for at in range(year.first[server], year.first[server] + year.held[server]):
        block, left, gone = year.blocks[at], 0, False
        for copy in range(year.sets.shape[1]):
            if year.sets[block, copy] == server:
                year.sets[block, copy] = NOBODY
                gone = True
            elif year.sets[block, copy] != NOBODY:
                left += 1
        if gone and left == 0:
            year.counts[LOST] += 1
        elif gone:
            put_in(year, block)
    year.held[server] = 0


def look_at_the_time(pool: BlockPool, year: Year) -> None:
    """Who is busy now: the last row where nobody knows; histories begin anew when they are over."""
    rows = len(pool.busy) - 1
    step = year.clock[STEP]
    pool.want[BUSY_ROW] = rows if step == 0 or rows == 0 else year.clock[NOW] // step % rows


def whom_to_ask(pool: BlockPool, begin: int, count: int) -> int:
    """A server for one more copy now; LATER where only busy ones may take it."""
    other = one_more(pool, begin, count)
    idle = len(pool.busy) - 1
    if other != NOBODY or pool.want[BUSY_ROW] == idle:
        return other
    pool.want[BUSY_ROW] = idle
    return LATER if one_more(pool, begin, count) != NOBODY else NOBODY


def put_off(year: Year, block: int) -> None:
    """Copy the block when those of the next loss are copied."""
    year.counts[PUT_OFF] += 1
    put_in(year, block)


def hold(pool: BlockPool, year: Year, block: int, server: int) -> None:
    """Put a copy of a block on a server."""
    take(pool, server)
    year.blocks[year.first[server] + year.held[server]] = block
    year.held[server] += 1


def is_kept(pool: BlockPool, server: int, kept: int) -> bool:
    """Whether a server is one of the first ``kept`` chosen."""
    found = False
    for at in range(kept):
        found = found or pool.chosen[at] == server
    return found


def take_back(pool: BlockPool, year: Year, block: int, kept: int) -> None:
    """Take the copies of a block off their servers again, but for the ``kept`` ones and those on servers that leave."""
    for copy in range(year.sets.shape[1]):
        server = year.sets[block, copy]
        if server != NOBODY and not year.leaving[server] and not is_kept(pool, server, kept):
            reopen(pool, server, pool.left[server] + 1)
            year.held[server] -= 1


def mended_otherwise(pool: BlockPool, year: Year, block: int, kept: int) -> bool:
    """Whether a search found servers for all copies that a block lacks beside the ``kept`` ones. New copies that left
    none for a later one are taken back for that, and put where they were if none are found."""
    if pool.system not in (HISTORY, BALANCED):
        return False
    look_at_the_time(pool, year)
    pool.want[APART] = 0 if pool.system == BALANCED else 1
    take_back(pool, year, block, kept)
    found, count = completed(pool, kept, NOBODY, True), kept
    for copy in range(year.sets.shape[1]):
        server = year.sets[block, copy]
        if is_kept(pool, server, kept) or not (found or (server != NOBODY and not year.leaving[server])):
            continue
        other = pool.chosen[count] if found else server
        hold(pool, year, block, other)
        year.sets[block, copy], pool.chosen[count] = other, other
        count += 1
    return found


def mend(pool: BlockPool, year: Year, block: int) -> int:
    """Copy a block to new servers for every copy that is gone or on a server that will be; how many were made. Servers
    that are busy neither give nor take (OSDI'16 §5.4): a block that only they hold, or only they may take, waits for
    those of the next loss. A block without any copy is lost, and takes none."""
    count, made, holders, sources, missing = 0, 0, 0, 0, 0
    look_at_the_time(pool, year)
    for copy in range(year.sets.shape[1]):
        server = year.sets[block, copy]
        if server != NOBODY:
            holders += 1
            sources += 0 if pool.busy[pool.want[BUSY_ROW], pool.tenant[server]] else 1
            if not year.leaving[server]:
                pool.chosen[count] = server
                count += 1
                continue
        missing += 1
    if sources == 0 and holders > 0 and missing > 0:
        put_off(year, block)
    kept, was_stuck = count, False
    for copy in range(year.sets.shape[1] if sources > 0 else 0):
        server = year.sets[block, copy]
        if server != NOBODY and not year.leaving[server]:
            continue
        other = whom_to_ask(pool, begin_of(pool, count, True), count)
        if other == LATER:
            put_off(year, block)
            break
        if other == NOBODY:
            if made > 0 and not was_stuck and mended_otherwise(pool, year, block, kept):
                made = missing
                break
            was_stuck = True
            year.counts[STUCK] += 1
            continue
        hold(pool, year, block, other)
        year.sets[block, copy] = other
        pool.chosen[count] = other
        count += 1
        made += 1
    year.counts[COPIED] += made
    return made


def work(pool: BlockPool, year: Year, until: int) -> None:
    """Copy what is queued, one copy after the other; time without anything to copy is lost. A block that was lost or
    mended meanwhile takes none."""
    clock = year.clock
    while clock[BATCH] < clock[BATCHES]:
        clock[NOW] = max(clock[NOW], year.batch_ready[clock[BATCH]])
        while clock[TAKEN] < year.batch_end[clock[BATCH]]:
            if clock[NOW] + clock[EACH] > until:
                return
            block = year.entries[clock[TAKEN] % len(year.entries)]
            clock[TAKEN] += 1
            clock[NOW] += clock[EACH] * mend(pool, year, block)
        clock[BATCH] += 1
    clock[NOW] = max(clock[NOW], until)


def last(pool: BlockPool, year: Year, events: Ints) -> None:
    """All events in order of their times; copies are made in between."""
    for row in range(len(events)):
        work(pool, year, events[row, TIME])
        server = events[row, SERVER]
        if events[row, KIND] == NOTICE:
            year.leaving[server] = True
            close(pool, server)
            for at in range(year.first[server], year.first[server] + year.held[server]):
                put_in(year, year.blocks[at])
            close_batch(year, events[row, TIME])
        else:
            lose(year, server)
            year.leaving[server] = False
            reopen(pool, server, year.capacity[server])
            close_batch(year, events[row, TIME] + year.clock[NOTICED])
