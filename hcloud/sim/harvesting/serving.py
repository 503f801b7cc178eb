"""A tick of the servers: services get what they want, containers go on, and the youngest go where the reserve is
broken."""

from __future__ import annotations

from hcloud.harvest.kernels.holding import gives_way, in_use, is_too_often, spare
from hcloud.sim.harvesting.world import (
    ACTIVE,
    ANY_BROKEN,
    BROKEN,
    IDLE,
    KILLED,
    LEVELS,
    LONGEST,
    MOVED,
    NEVER,
    OCCUPIED,
    ON_DEMAND,
    RESERVE,
    SERVICES,
    SHORT_TICKS,
    SLOWED,
    USEFUL,
    WAITING,
    WASTED,
    IdleWorld,
)


def end_task(w: IdleWorld, row: int, when: float) -> None:
    """A task is done; with the last of a vertex those begin to wait for servers that waited for it."""
    work, job = w.work, w.work.row_job[row]
    vertex = work.row_vertex[row]
    work.undone[row] -= 1
    work.latest[job] = max(work.latest[job], when)
    if work.undone[row] > 0:
        return
    base = work.first_row[job] - (vertex - (row - work.first_row[job]))
    for at in range(work.after_first[vertex], work.after_first[vertex + 1]):
        other = base + work.after[at]
        work.blocked[other] -= 1
        if work.blocked[other] == 0:
            open_row(w, other)
    work.open_rows[job] -= 1
    if work.open_rows[job] == 0:
        end_job(w, job)


def open_row(w: IdleWorld, row: int) -> None:
    """The tasks of a vertex wait for servers."""
    tasks = w.work.undone[row]
    w.work.waiting[row, 0] += tasks
    w.tally[WAITING] += tasks


def end_job(w: IdleWorld, job: int) -> None:
    """A job is done: its length is what the next run of its DAG is expected to take."""
    work = w.work
    work.ended[job] = work.latest[job]
    work.last[work.dag[job]] = work.ended[job] - work.submit[job]
    found = 0
    while work.active[found] != job:
        found += 1
    w.tally[ACTIVE] -= 1
    for at in range(found, w.tally[ACTIVE]):
        work.active[at] = work.active[at + 1]


def requeue(w: IdleWorld, row: int, kills: int, now: float) -> None:
    """A task that was killed starts over; after too many kills the rest of its job moves on demand."""
    job = w.work.row_job[row]
    w.tally[KILLED] += 1
    w.tally[WAITING] += 1
    w.work.killed[job] += 1
    w.work.waiting[row, min(kills + 1, w.work.waiting.shape[1] - 1)] += 1
    if is_too_often(kills + 1, w.rules.kills):
        move(w, job, now)


def move(w: IdleWorld, job: int, now: float) -> None:
    """What of a job has not begun will run on demand."""
    if w.work.moves[job] == NEVER:
        w.work.moves[job] = now + w.rules.spin_up
        w.tally[MOVED] += 1


def end_rented(w: IdleWorld, until: float) -> None:
    """Tasks on demand that end by then."""
    work, at = w.work, 0
    while at < w.tally[ON_DEMAND]:
        if work.rented_end[at] > until:
            at += 1
            continue
        row, when = work.rented_row[at], work.rented_end[at]
        w.tally[ON_DEMAND] -= 1
        last = w.tally[ON_DEMAND]
        work.rented_row[at], work.rented_end[at] = work.rented_row[last], work.rented_end[last]
        end_task(w, row, when)


def end_harvested(w: IdleWorld, row: int, when: float) -> None:
    """A container is done."""
    vertex = w.work.row_vertex[row]
    w.ledger[USEFUL] += w.work.cores[vertex] * w.work.seconds[vertex]
    end_task(w, row, when)


_DONE = 1e-9


def serve(w: IdleWorld, at: int) -> None:
    """What happens on all servers in a tick."""
    column, any_broken = at * w.rules.tick // w.rules.step, False
    for server in range(len(w.hosts.cores)):
        any_broken = serve_one(w, server, at, column) or any_broken
    if any_broken:
        w.tally[ANY_BROKEN] += 1


def serve_one(w: IdleWorld, server: int, at: int, column: int) -> bool:
    """A tick of one server; whether containers broke its reserve in it. They are killed at its end, when that is
    known. What rounds its service up to whole vCPUs counts with its reserve: nobody may have it."""
    hosts, tick = w.hosts, w.rules.tick
    cores, held, use = hosts.cores[server], hosts.held[server], float(hosts.use[hosts.tenant[server], column])
    wants, rate, occupied = use * cores, 1.0, 0.0
    is_broken = bool(held > 0 and spare(cores, hosts.kept[server], use, held) < 0)
    if held > 0:
        if wants + held > cores:
            rate = cores / (wants + held)
        occupied = progress(w, server, at, rate)
    note_broken(w, server, is_broken, rate < 1.0)
    note_load(w, wants, held, cores)
    got = wants * rate * tick
    free = cores * tick - got - occupied
    whole = float(hosts.kept[server] + in_use(cores, use)) - wants
    kept = min(max(whole, 0.0) * tick, max(free, 0.0))
    w.ledger[SERVICES] += got
    w.ledger[SLOWED] += wants * tick - got
    w.ledger[OCCUPIED] += occupied
    w.ledger[RESERVE] += kept
    w.ledger[IDLE] += free - kept
    if is_broken and w.rules.guards == 1:
        kill_youngest(w, server, use, float((at + 1) * tick))
    return is_broken


def progress(w: IdleWorld, server: int, at: int, rate: float) -> float:
    """The containers of a server go on for a tick, at a rate below 1 where all want more than it has; what they
    occupied, in thousandths of a vCPU times seconds. Those that are done leave; the others stay in their order."""
    hosts, work, tick = w.hosts, w.work, w.rules.tick
    kept, occupied = 0, 0.0
    for slot in range(hosts.many[server]):
        row = hosts.row[server, slot]
        vertex = work.row_vertex[row]
        before = hosts.left[server, slot]
        if before - tick * rate > _DONE:
            hosts.row[server, kept] = row
            hosts.left[server, kept] = before - tick * rate
            hosts.kills[server, kept] = hosts.kills[server, slot]
            hosts.begun[server, kept] = hosts.begun[server, slot]
            occupied += work.cores[vertex] * rate * tick
            kept += 1
        else:
            occupied += work.cores[vertex] * before
            hosts.held[server] -= work.cores[vertex]
            hosts.held_memory[server] -= work.memory[vertex]
            end_harvested(w, row, at * tick + before / rate)
    hosts.many[server] = kept
    return occupied


def kill_youngest(w: IdleWorld, server: int, use: float, now: float) -> None:
    """Kill whole containers, the youngest first, until the reserve is whole or none is left."""
    hosts, work = w.hosts, w.work
    cores, kept = hosts.cores[server], hosts.kept[server]
    while gives_way(cores, kept, use, hosts.held[server], hosts.many[server]):
        hosts.many[server] -= 1
        slot = hosts.many[server]
        row = hosts.row[server, slot]
        vertex = work.row_vertex[row]
        hosts.held[server] -= work.cores[vertex]
        hosts.held_memory[server] -= work.memory[vertex]
        w.ledger[WASTED] += work.cores[vertex] * (work.seconds[vertex] - hosts.left[server, slot])
        requeue(w, row, hosts.kills[server, slot], now)


def note_broken(w: IdleWorld, server: int, is_broken: bool, is_slowed: bool) -> None:
    """Count a tick in which containers broke the reserve, and for how long in a row they did."""
    if not is_broken:
        w.hosts.broken[server] = 0
        return
    w.hosts.broken[server] += 1
    w.tally[BROKEN] += 1
    w.tally[LONGEST] = max(w.tally[LONGEST], w.hosts.broken[server])
    if is_slowed:
        w.tally[SHORT_TICKS] += 1


def note_load(w: IdleWorld, wants: float, held: int, cores: int) -> None:
    """Count how busy a service is of what containers leave it, and of the whole server."""
    left = cores - held
    beside = LEVELS - 1 if wants >= left else int(LEVELS * wants / left)
    w.hosts.load[0, beside] += 1
    w.hosts.load[1, LEVELS - 1 if wants >= cores else int(LEVELS * wants / cores)] += 1
