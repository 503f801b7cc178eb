"""Shelves: servers in the order in which they came, in blocks that know what none of their servers has more of.

A search passes over a block where no server can do. With blocks of about the square root of a shelf's servers it looks
at as many blocks, and into those that may hold what it seeks.
"""

from __future__ import annotations

import math

from hcloud.control.state import Control, Shelf, ShelfBlock

_SMALLEST = 16
"""Servers of a full block on a short shelf."""


def _is_full(part: ShelfBlock, shelf: Shelf) -> bool:
    return part.length >= _SMALLEST and part.length >= int(math.sqrt(shelf.length))


def put_on_shelf(c: Control, number: int, place: int) -> None:
    """List a server at the end of a shelf."""
    shelf, server = c.shelves[place], c.servers[number]
    if shelf.tail < 0 or _is_full(c.blocks[shelf.tail], shelf):
        _open_block(c, shelf)
    block = shelf.tail
    part = c.blocks[block]
    server.shelf, server.block, server.before, server.after = place, block, part.last, -1
    if part.last >= 0:
        c.servers[part.last].after = number
    else:
        part.first = number
    part.last = number
    part.length += 1
    shelf.length += 1
    raise_bounds(c, number)


def raise_bounds(c: Control, number: int) -> None:
    """Make a block's bounds hold for one of its servers. Only a search that looks at all of them lowers the bounds."""
    server = c.servers[number]
    part, kind = c.blocks[server.block], c.kinds[server.kind]
    part.worth = max(part.worth, server.worth)
    part.memory = max(part.memory, kind.memory - server.memory)
    part.cores = max(part.cores, kind.cores - server.used)


def take_off_shelf(c: Control, number: int) -> None:
    """Take a server off the shelf it stands on, if any."""
    server = c.servers[number]
    if server.shelf < 0:
        return
    shelf, part, before, after = c.shelves[server.shelf], c.blocks[server.block], server.before, server.after
    if before >= 0:
        c.servers[before].after = after
    else:
        part.first = after
    if after >= 0:
        c.servers[after].before = before
    else:
        part.last = before
    part.length -= 1
    shelf.length -= 1
    server.shelf = -1
    if part.length == 0:
        _close_block(c, shelf, server.block)
        return
    if part.after >= 0:
        _merge(c, shelf, server.block)
    if part.before >= 0:
        _merge(c, shelf, part.before)


def _open_block(c: Control, shelf: Shelf) -> None:
    """A block without servers at the end of a shelf. Numbers given back come before ones never used."""
    block = c.desk.block
    part = c.blocks[block]
    c.desk.block = part.after - 1 if part.after > 0 else block + 1  # never used: 0
    part.first, part.last, part.length = -1, -1, 0
    part.before, part.after = shelf.tail, -1
    part.worth, part.memory, part.cores = -1, -1, -1
    if shelf.tail >= 0:
        c.blocks[shelf.tail].after = block
    else:
        shelf.head = block
    shelf.tail = block


def _close_block(c: Control, shelf: Shelf, block: int) -> None:
    """Forget a block whose servers are gone; its number is used again."""
    part = c.blocks[block]
    if part.before >= 0:
        c.blocks[part.before].after = part.after
    else:
        shelf.head = part.after
    if part.after >= 0:
        c.blocks[part.after].before = part.before
    else:
        shelf.tail = part.before
    part.after = c.desk.block + 1
    c.desk.block = block


def _merge(c: Control, shelf: Shelf, block: int) -> None:
    """Take the next block's servers into a block where both together are at most half a block: few stay small."""
    part = c.blocks[block]
    other = c.blocks[part.after]
    if part.length + other.length > max(_SMALLEST, int(math.sqrt(shelf.length))) // 2:
        return
    number = other.first
    c.servers[part.last].after, c.servers[number].before = number, part.last
    while number >= 0:
        c.servers[number].block = block
        number = c.servers[number].after
    part.last = other.last
    part.length += other.length
    part.worth, part.memory = max(part.worth, other.worth), max(part.memory, other.memory)
    part.cores = max(part.cores, other.cores)
    _close_block(c, shelf, part.after)
