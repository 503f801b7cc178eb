"""The loop over ticks: jobs that come are put on classes of servers, and their tasks on servers of these, in the order
of the jobs; a server is drawn by a tree of sums."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hcloud.harvest.kernels.choosing import choose
from hcloud.harvest.kernels.holding import containers, is_beyond, length_of, spare
from hcloud.harvest.kernels.pool import draw
from hcloud.sim.harvesting.serving import end_rented, move, open_row, serve
from hcloud.sim.harvesting.world import ACTIVE, ASIDE, NEVER, NEXT_JOB, ON_DEMAND, RENTED, WAITING, IdleWorld

Ints = npt.NDArray[np.int64]


def plant(tree: Ints, weight: Ints) -> None:
    """Make the tree (one longer) of all weights."""
    count = len(weight)
    tree[0] = 0
    for at in range(count):
        tree[at + 1] = weight[at]
    for at in range(1, count + 1):
        above = at + (at & -at)
        if above <= count:
            tree[above] += tree[at]


def change(tree: Ints, weight: Ints, one: int, to: int) -> None:
    """Give one another weight."""
    by = to - weight[one]
    weight[one] = to
    at = one + 1
    while at < len(tree):
        tree[at] += by
        at += at & -at


def before(tree: Ints, one: int) -> int:
    """The weights of all before one, added up."""
    total, at = 0, one
    while at > 0:
        total += tree[at]
        at -= at & -at
    return total


def found_at(tree: Ints, height: int, total: int) -> int:
    """The one at which the weights, added up, first exceed a total; ``height`` is the largest power of two in it."""
    at, step = 0, height
    while step > 0:
        if at + step < len(tree) and tree[at + step] <= total:
            at += step
            total -= tree[at]
        step //= 2
    return at


_NOBODY = -1


def arrive(w: IdleWorld, at: int) -> None:
    """The jobs that come within a tick."""
    work, end, column = w.work, float((at + 1) * w.rules.tick), at * w.rules.tick // w.rules.step
    while w.tally[NEXT_JOB] < len(work.submit) and work.submit[w.tally[NEXT_JOB]] < end:
        job = w.tally[NEXT_JOB]
        w.tally[NEXT_JOB] += 1
        work.active[w.tally[ACTIVE]] = job
        w.tally[ACTIVE] += 1
        work.length[job] = length_of(work.last[work.dag[job]], w.rules.short, w.rules.long)
        work.labels[job] = 0
        if w.rules.chooses == 1:
            put_on_classes(w, job, column)
        if w.rules.leaves == 1 and work.labels[job] == 0:
            move(w, job, end)
        for row in range(work.first_row[job], work.first_row[job + 1]):
            if work.blocked[row] == 0:
                open_row(w, row)


def put_on_classes(w: IdleWorld, job: int, column: int) -> None:
    """The classes whose servers the job may have; none: all."""
    work, length, dag = w.work, w.work.length[job], w.work.dag[job]
    for one in range(len(w.room)):
        w.room[one] = room_of(w, one, length, column, (work.dag_cores[dag], work.dag_memory[dag]))
    work.labels[job] = choose(w.room, w.weights[length], work.dag_needed[dag], w.picked, w.stream)
    if work.labels[job] > 0:
        for one in range(len(w.room)):
            work.label[job, one] = w.picked[one]


def room_of(w: IdleWorld, one: int, length: int, column: int, size: tuple[int, int]) -> int:
    """How many containers of a size a class has room for as long as a job of a length takes: beside what its services
    use now, and beside the level that the length counts on."""
    hosts, level, total = w.hosts, w.levels[length, one], 0
    for server in range(hosts.class_first[one], hosts.class_first[one + 1]):
        base = max(float(hosts.use[hosts.tenant[server], column]), level)
        cores = spare(hosts.cores[server], hosts.kept[server], base, hosts.held[server])
        memory = hosts.memory[server] - hosts.kept_memory[server] - hosts.held_memory[server]
        total += containers(cores, memory, size[0], size[1])
    return total


def look_for_slips(w: IdleWorld, now: float) -> None:
    """Jobs that have lost more time than starting on demand would take move there with what has not begun."""
    work = w.work
    for at in range(w.tally[ACTIVE]):
        job = work.active[at]
        if work.moves[job] != NEVER:
            continue
        left = 0.0
        for row in range(work.first_row[job], work.first_row[job + 1]):
            if work.undone[row] > 0:
                left = max(left, work.chain[work.row_vertex[row]])
        slip = now - work.submit[job] - (work.dag_chain[work.dag[job]] - left)
        if is_beyond(slip, w.rules.spin_up, left, w.rules.slowdown):
            move(w, job, now)


def dispatch(w: IdleWorld, at: int) -> None:
    """Tasks that wait begin, those of the job that came first before all others."""
    if w.tally[WAITING] == 0:
        return
    work, now = w.work, float((at + 1) * w.rules.tick)
    weigh(w, at)
    failed_cores, failed_memory = 1 << 60, 1 << 60
    for place in range(w.tally[ACTIVE]):
        job = work.active[place]
        for row in range(work.first_row[job], work.first_row[job + 1]):
            many = 0
            for kills in range(work.waiting.shape[1]):
                many += work.waiting[row, kills]
            vertex = work.row_vertex[row]
            if many == 0:
                continue
            if work.moves[job] != NEVER:
                if now >= work.moves[job]:
                    rent(w, row, now)
            elif work.cores[vertex] < failed_cores or work.memory[vertex] < failed_memory:
                is_done = seat(w, row, many, at)
                if not is_done and work.labels[job] == 0:
                    failed_cores, failed_memory = work.cores[vertex], work.memory[vertex]


def room_now(w: IdleWorld, server: int, column: int) -> int:
    """The vCPUs that containers may still have on a server. Who does not guard takes all for his own."""
    hosts = w.hosts
    if w.rules.guards == 0:
        free: int = hosts.cores[server] - hosts.held[server]
        return free
    use = float(hosts.use[hosts.tenant[server], column])
    room: int = spare(hosts.cores[server], hosts.kept[server], use, hosts.held[server])
    return room


def memory_now(w: IdleWorld, server: int) -> int:
    """The same of its memory."""
    kept = w.hosts.kept_memory[server] if w.rules.guards == 1 else 0
    free: int = w.hosts.memory[server] - kept - w.hosts.held_memory[server]
    return free


def weight_now(w: IdleWorld, server: int, column: int) -> int:
    """How likely a server gets a container: as much as it has free, or as any other that has room."""
    free = room_now(w, server, column)
    if free < w.rules.least_cores or memory_now(w, server) < w.rules.least_memory:
        return 0
    return free if w.rules.balances == 1 else 1


def weigh(w: IdleWorld, at: int) -> None:
    """The weights of all servers."""
    column = at * w.rules.tick // w.rules.step
    for server in range(len(w.hosts.weight)):
        w.hosts.weight[server] = weight_now(w, server, column)
    plant(w.hosts.tree, w.hosts.weight)


def seat(w: IdleWorld, row: int, many: int, at: int) -> bool:
    """Put so many tasks of a row on servers; whether all found one. Servers that are drawn and lack room for these are
    set aside meanwhile."""
    column, height = at * w.rules.tick // w.rules.step, 1
    while height * 2 < len(w.hosts.tree):
        height *= 2
    w.tally[ASIDE] = 0
    while many > 0:
        server = drawn_server(w, w.work.row_job[row], height)
        if server == _NOBODY:
            break
        if fits(w, server, w.work.row_vertex[row], column):
            start(w, server, row, at)
            change(w.hosts.tree, w.hosts.weight, server, weight_now(w, server, column))
            many -= 1
        else:
            change(w.hosts.tree, w.hosts.weight, server, 0)
            w.hosts.aside[w.tally[ASIDE]] = server
            w.tally[ASIDE] += 1
    for one in range(w.tally[ASIDE]):
        server = w.hosts.aside[one]
        change(w.hosts.tree, w.hosts.weight, server, weight_now(w, server, column))
    return many == 0


def drawn_server(w: IdleWorld, job: int, height: int) -> int:
    """A server of the classes of a job (of all where it has none), as likely as its weight."""
    tree, first, work = w.hosts.tree, w.hosts.class_first, w.work
    total, every = 0, work.labels[job] == 0
    if every:
        total = before(tree, len(w.hosts.weight))
    else:
        for one in range(len(first) - 1):
            if work.label[job, one]:
                total += before(tree, first[one + 1]) - before(tree, first[one])
    if total == 0:
        return _NOBODY
    drawn = draw(w.stream, total)
    if every:
        return found_at(tree, height, drawn)
    for one in range(len(first) - 1):
        if work.label[job, one]:
            begin = before(tree, first[one])
            own = before(tree, first[one + 1]) - begin
            if drawn < own:
                return found_at(tree, height, drawn + begin)
            drawn -= own
    return _NOBODY


def fits(w: IdleWorld, server: int, vertex: int, column: int) -> bool:
    """Whether a container of a vertex has room on a server."""
    enough: bool = room_now(w, server, column) >= w.work.cores[vertex]
    return enough and memory_now(w, server) >= w.work.memory[vertex]


def next_waiting(w: IdleWorld, row: int) -> int:
    """Take a task that waits off its row, one that was killed most often; how often it was."""
    kills: int = w.work.waiting.shape[1] - 1
    while w.work.waiting[row, kills] == 0:
        kills -= 1
    w.work.waiting[row, kills] -= 1
    w.tally[WAITING] -= 1
    return kills


def start(w: IdleWorld, server: int, row: int, at: int) -> None:
    """A container begins: it is the youngest of its server."""
    hosts, work, vertex = w.hosts, w.work, w.work.row_vertex[row]
    slot = hosts.many[server]
    hosts.row[server, slot] = row
    hosts.left[server, slot] = work.seconds[vertex]
    hosts.kills[server, slot] = next_waiting(w, row)
    hosts.begun[server, slot] = at + 1
    hosts.many[server] += 1
    hosts.held[server] += work.cores[vertex]
    hosts.held_memory[server] += work.memory[vertex]


def rent(w: IdleWorld, row: int, now: float) -> None:
    """All tasks of a row that wait begin on machines on demand."""
    work, vertex = w.work, w.work.row_vertex[row]
    for kills in range(work.waiting.shape[1]):
        w.ledger[RENTED] += work.waiting[row, kills] * work.cores[vertex] * work.seconds[vertex] * w.rules.slowdown
        work.moved[work.row_job[row]] += work.waiting[row, kills]
        for _ in range(work.waiting[row, kills]):
            work.rented_row[w.tally[ON_DEMAND]] = row
            work.rented_end[w.tally[ON_DEMAND]] = now + work.seconds[vertex] * w.rules.slowdown
            w.tally[ON_DEMAND] += 1
            w.tally[WAITING] -= 1
        work.waiting[row, kills] = 0


def go_through(w: IdleWorld, begin: int, until: int) -> None:
    """All ticks from one on and before another. What is seen in a tick acts at its end."""
    for at in range(begin, until):
        serve(w, at)
        end_rented(w, float((at + 1) * w.rules.tick))
        arrive(w, at)
        if w.rules.slips == 1 and at % w.rules.look == 0:
            look_for_slips(w, float((at + 1) * w.rules.tick))
        dispatch(w, at)
