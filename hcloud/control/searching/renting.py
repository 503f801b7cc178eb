"""Placing a job on what is rented, or renting more for it; and the commands that a driver is left."""

from __future__ import annotations

from hcloud.control.searching.candidates import may_run_on
from hcloud.control.searching.search import find, find_idle
from hcloud.control.servers.tenancy import close_server, open_server, seat
from hcloud.control.state import INTERRUPTIBLE, OWN, RENTED, Control, Job
from hcloud.policy.codes import LARGE, LAUNCH, NO_SPOT, ON_DEMAND, PLACE, RELEASE, SPOT
from hcloud.policy.mapping import MAP_RESERVED


def command(c: Control, what: int, job: int, server: int, reason: tuple[int, int, float]) -> None:
    """Leave a command for the driver; ``reason`` is action, reason and margin (or a time)."""
    if c.desk.commands >= len(c.commands):
        c.desk.overflow = 1
        return
    order = c.commands[c.desk.commands]
    order.what, order.job, order.server = what, job, server
    order.action, order.reason, order.margin = reason
    c.desk.commands += 1


def rented_as(c: Control, number: int, ask: int) -> int:
    """The type that a job is rented which asks for so much: the large one where servers are rented whole, else the
    smallest that holds it, or the one that stands for the reserve; -1: none holds so much."""
    job = c.jobs[number]
    if c.rules.mapping == MAP_RESERVED:
        return job.kind if ask <= job.ask or _holds(c, job, c.rules.large, ask) else -1
    whole = _whole_for(c, job, ask) if c.rules.fitted == 0 else -1
    if whole >= 0:
        return whole
    for kind in range(len(c.kinds)):
        if _holds(c, job, kind, ask):
            return kind
    return -1


def _whole_for(c: Control, job: Job, ask: int) -> int:
    """The type of which a job is given a whole server: the cheapest that holds it (-1: none)."""
    for kind in range(len(c.kinds)):
        if c.kinds[kind].whole and _holds(c, job, kind, ask):
            return kind
    return -1


def _holds(c: Control, job: Job, kind: int, ask: int) -> bool:
    its = c.kinds[kind]
    return ask <= its.cores and job.memory <= its.memory and may_run_on(c, job, kind)


def release(c: Control, place: int, reason: int, now: float) -> None:
    """Let a server go that has no tenant."""
    command(c, RELEASE, -1, place, (0, reason, now))
    close_server(c, place)


def sit_down(c: Control, number: int, server: int, cores: int) -> None:
    """Make a job the tenant of a server with so many thousandths of a vCPU."""
    c.jobs[number].cores, c.jobs[number].seated = cores, c.desk.now
    seat(c, number, server)
    c.servers[server].deadline = -1.0
    if c.servers[server].paid == OWN:
        c.desk.used += cores


def rent(c: Control, number: int, verdict: tuple[int, int, float], avoid: int, now: float) -> None:
    """Reuse a rented instance that suits the job, else launch one: of another type where launches of its own failed
    lately. Nothing where the agent that decides lost all that it chose to others."""
    job = c.jobs[number]
    whole = _whole_for(c, job, job.ask) if verdict[0] == LARGE else -1
    kind = whole if whole >= 0 else job.kind
    if verdict[0] == SPOT and c.kinds[kind].spot_shut > now:
        verdict = (ON_DEMAND, NO_SPOT, c.kinds[kind].spot_shut - now)
    if verdict[0] == SPOT:
        _launch(c, number, kind, job.ask, verdict)
        return
    server, cores = _rented_already(c, job, kind, avoid)
    if server < 0 and c.desk.lost == 0 and c.kinds[kind].shut > now:
        kind = _instead(c, job, kind, now)
        server, cores = _rented_already(c, job, kind, avoid)
    if c.desk.lost == 1:
        return
    if server >= 0:
        sit_down(c, number, server, cores)
        command(c, PLACE, number, server, verdict)
    else:
        _launch(c, number, kind, cores, verdict)


def _rented_already(c: Control, job: Job, kind: int, avoid: int) -> tuple[int, int]:
    """A rented instance of a type that suits a job (-1: none), and what the job is to get of one."""
    if c.rules.shared and c.kinds[kind].whole:
        cores = min(int(job.ask * (1.0 + c.rules.headroom)), c.kinds[kind].cores)
        return find(c, RENTED, job, cores, avoid), cores
    return find_idle(c, kind, job), job.ask


def _instead(c: Control, job: Job, kind: int, now: float) -> int:
    """The smallest type that holds a job and may be launched; the same type again where there is none."""
    for other in range(len(c.kinds)):
        its = c.kinds[other]
        holds = job.ask <= its.cores and job.memory <= its.memory and may_run_on(c, job, other)
        if holds and its.shut <= now:
            return other
    return kind


def _launch(c: Control, number: int, kind: int, cores: int, verdict: tuple[int, int, float]) -> None:
    if c.desk.free >= len(c.servers):
        c.desk.overflow = 1
        return
    paid = INTERRUPTIBLE if verdict[0] == SPOT else RENTED
    server = open_server(c, kind, paid, c.kinds[kind].spin_up)
    sit_down(c, number, server, cores)
    command(c, LAUNCH, number, server, verdict)
