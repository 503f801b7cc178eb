"""Rosters: the reserved servers, and the rented ones that jobs share, each in a row without gaps, so that chance can
draw from them at once however many there are. The greedy placement needs none and keeps none."""

from __future__ import annotations

from hcloud.control.servers.hashed import put_on_ring, take_off_ring
from hcloud.control.state import OWN, RENTED, Control, Server


def roster_of(c: Control, server: Server) -> int:
    """Which roster a server belongs to: the reserved ones, the rented ones that jobs share, none (-1)."""
    if server.paid == OWN:
        return OWN
    return RENTED if c.rules.shared == 1 and server.paid == RENTED and c.kinds[server.kind].whole == 1 else -1


def enrol(c: Control, number: int) -> None:
    """Put a new server at the end of its roster, if it has one."""
    which = roster_of(c, c.servers[number])
    c.rosters[number].changed = 0
    if which < 0:
        return
    place = c.desk.listed[which]
    row = c.rosters[place]
    row.server[which], row.kind[which], row.used[which] = number, c.servers[number].kind, 0
    c.servers[number].place = place
    c.desk.listed[which] += 1
    if c.rules.hash_draw:
        put_on_ring(c, number, which)


def strike(c: Control, number: int) -> None:
    """Take a server off its roster; the last one takes its place."""
    which, place = roster_of(c, c.servers[number]), c.servers[number].place
    if which < 0:
        return
    c.desk.listed[which] -= 1
    if c.rules.hash_draw:
        take_off_ring(c, number)
    last, row = c.rosters[c.desk.listed[which]], c.rosters[place]
    row.server[which], row.kind[which], row.used[which] = last.server[which], last.kind[which], last.used[which]
    c.servers[row.server[which]].place = place
