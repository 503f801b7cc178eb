"""The servers that replicas are put on, as arrays: who has space, in which tenant, cell and groups; and chance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Small = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]

HISTORY, STOCK_PAPER, STOCK_HADOOP, RANDOM, SPREAD, BEST_FIRST, BALANCED = range(7)
"""Systems. Two are ablations of the first: spread has its environments alone, balanced its grid alone."""
NOBODY = -1

_FIRST, _FIRST_FACTOR = 2_147_483_563, 40_014
_SECOND, _SECOND_FACTOR = 2_147_483_399, 40_692


class BlockPool(NamedTuple):
    """Of each server: its tenant, the blocks that it has space ``left`` for, whether it is reserved, and its place in
    ``open_servers``. Tenant t owns ``open_servers[first[t]:first[t + 1]]``, of which the first ``open_count[t]`` have
    space; ``space[t]`` is the space of these in blocks, ``open_reserved[t]`` how many are reserved. ``members`` are
    tenants by cell, ``order`` tenants from the least to the most reimaged. ``racked`` are servers by rack. ``groups``
    has a row a further key, of which a set may have no two servers alike. Of ``busy`` a row says which tenants are.

    ``system`` says how sets are made, ``copies`` how many copies a block has and ``side`` how many rows the grid has;
    with ``hard`` 1 nothing is ever relaxed; with ``by_space`` 1 a tenant is as likely as its space is large (0: as any
    other); with ``on_reserved`` 1 one copy has to be on a reserved server.

    ``stream`` is the state of chance; ``chosen`` are the servers of a block so far; ``cells``, ``fitting``, ``taken``
    and ``want`` are scratch.
    """

    tenant: Ints
    left: Ints
    reserved: Ints
    place: Ints
    open_servers: Ints
    first: Ints
    open_count: Ints
    space: Ints
    open_reserved: Ints
    cell: Ints
    members: Ints
    cell_first: Ints
    environment: Ints
    order: Ints
    rack: Ints
    racked: Ints
    rack_first: Ints
    groups: Small
    busy: Flags
    stream: Ints
    cells: Ints
    fitting: Ints
    taken: Ints
    chosen: Ints
    want: Ints
    system: int
    copies: int
    side: int
    hard: int
    by_space: int
    on_reserved: int


APART, FROM_RESERVED, RELAXED, ALL_RELAXED, BUSY_ROW = range(5)
"""What ``want`` holds: whether environments have to differ, whether the next server has to be reserved, what was
relaxed for it and for the whole set, and the row of ``busy`` that counts."""


def draw(stream: Ints, below: int) -> int:
    """A whole number from 0 to one less than ``below``, each as likely."""
    stream[0] = stream[0] * _FIRST_FACTOR % _FIRST
    stream[1] = stream[1] * _SECOND_FACTOR % _SECOND
    apart: int = (stream[0] - stream[1]) % (_FIRST - 1)
    if below < 1 << 31:
        return apart * below // (_FIRST - 1)
    return apart * (below // (_FIRST - 1))


def take(pool: BlockPool, server: int) -> None:
    """Put a block on a server; one that is full then is closed."""
    tenant = pool.tenant[server]
    pool.left[server] -= 1
    pool.space[tenant] -= 1
    if pool.left[server] == 0:
        close(pool, server)


def close(pool: BlockPool, server: int) -> None:
    """Give a server no more blocks; what space it has left is none of its tenant's."""
    tenant = pool.tenant[server]
    at, last = pool.place[server], pool.first[tenant] + pool.open_count[tenant] - 1
    if at > last:
        return
    other = pool.open_servers[last]
    pool.open_servers[at], pool.open_servers[last] = other, server
    pool.place[other], pool.place[server] = at, last
    pool.open_count[tenant] -= 1
    pool.space[tenant] -= pool.left[server]
    pool.open_reserved[tenant] -= pool.reserved[server]


def reopen(pool: BlockPool, server: int, blocks: int) -> None:
    """A server has space for so many blocks again."""
    close(pool, server)
    pool.left[server] = blocks
    if blocks == 0:
        return
    tenant = pool.tenant[server]
    at, end = pool.place[server], pool.first[tenant] + pool.open_count[tenant]
    other = pool.open_servers[end]
    pool.open_servers[at], pool.open_servers[end] = other, server
    pool.place[other], pool.place[server] = at, end
    pool.open_count[tenant] += 1
    pool.space[tenant] += blocks
    pool.open_reserved[tenant] += pool.reserved[server]


def is_open(pool: BlockPool, server: int) -> bool:
    """Whether a server takes blocks."""
    tenant = pool.tenant[server]
    is_before: bool = pool.place[server] < pool.first[tenant] + pool.open_count[tenant]
    return is_before
