"""A time of reimages: which blocks lose copies, which are copied again before the last is gone, and which are lost."""

from __future__ import annotations

from typing import NamedTuple

from hcloud.harvest.kernels.placing import one_more
from hcloud.harvest.kernels.pool import (
    APART,
    BALANCED,
    BUSY_ROW,
    HISTORY,
    NOBODY,
    BlockPool,
    Flags,
    Ints,
    Small,
    close,
    reopen,
    take,
)
from hcloud.harvest.kernels.searching import begin_of, completed

NOTICE, REIMAGE, LATE = range(3)
"""What happens to a server: it will be reimaged, it is, or its heartbeat came late and nothing is lost."""
TIME, SERVER, KIND, NOTICED = range(4)
"""The columns of events: microseconds, a server, what happens, and microseconds until a loss is noticed."""
LOST, COPIED, STUCK, REIMAGED, LATE_BEATS, PUT_OFF = range(6)
"""What is counted: blocks lost, copies made, copies that no server may take, servers reimaged, late heartbeats, and
how often a block was put off since all servers that hold it, or may take it, were busy."""
LATER = -2
"""Said instead of a server where only busy ones may take a copy."""
NOW, EACH, TAKEN, PUT, BATCH, BATCHES, STEP = range(7)
"""What ``clock`` holds: the time up to which all is done, the time that a copy takes, entries of the queue that were
taken out and put in, batches that are done and that were made, and the time that a row of the pool's ``busy`` lasts, 0
where nobody knows when servers are busy."""


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
    year.counts[REIMAGED] += 1


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
        server, kind = events[row, SERVER], events[row, KIND]
        if kind == LATE:
            year.counts[LATE_BEATS] += 1
        elif kind == NOTICE:
            year.leaving[server] = True
            close(pool, server)
            for at in range(year.first[server], year.first[server] + year.held[server]):
                put_in(year, year.blocks[at])
            close_batch(year, events[row, TIME])
        else:
            lose(year, server)
            year.leaving[server] = False
            reopen(pool, server, year.capacity[server])
            close_batch(year, events[row, TIME] + events[row, NOTICED])
