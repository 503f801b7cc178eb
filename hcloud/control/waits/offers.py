"""Scheduling in two levels: whole free servers are offered to the frameworks in turn, which know nothing of each other
and take the first that holds what they have (as Mesos does; Tarcil §7.2)."""

from __future__ import annotations

from hcloud.control.searching.candidates import has_capacity, may_join
from hcloud.control.searching.renting import command, sit_down
from hcloud.control.state import OWN, Control
from hcloud.control.waits.queue import remove
from hcloud.policy.codes import FROM_QUEUE, PLACE, RESERVED

_FRAMEWORKS = 2
"""One of services and one of batch jobs: job kinds that the controller tells apart."""
_LOOKED = 64
"""Queued jobs that a framework holds against one offer in vain."""


def make_offers(c: Control, now: float) -> None:
    """Offer each reserved server without jobs to the framework whose turn it is, then to the other."""
    desk = c.desk
    for at in range(desk.listed[OWN]):
        place = c.rosters[at].server[OWN]
        server = c.servers[place]
        if desk.queued == 0 or server.tenants > 0 or not may_join(c, server):
            continue
        asked, is_taken = 0, False
        while asked < _FRAMEWORKS and not is_taken:
            is_taken = _takes(c, place, (desk.turn + asked) % _FRAMEWORKS, now)
            asked += 1
        desk.looks += asked
        desk.turn = (desk.turn + asked) % _FRAMEWORKS


def _takes(c: Control, place: int, framework: int, now: float) -> bool:
    """Whether a framework takes an offer: its jobs begin there in the order of the queue, as many as fit. What it
    leaves is offered again when the server has no job."""
    ahead, number, looked, server = -1, c.desk.head, 0, c.servers[place]
    while number >= 0 and looked < _LOOKED:
        job, follower = c.jobs[number], c.jobs[number].behind
        if job.again == framework and has_capacity(c, server, job, job.ask):
            remove(c, number, ahead, now)
            sit_down(c, number, place, job.ask)
            command(c, PLACE, number, place, (RESERVED, FROM_QUEUE, now - job.asked))
        else:
            ahead = number
            looked += 1
        number = follower
    return bool(server.tenants > 0)
