"""Jobs of several servers: what becomes of all their pieces at once, when they come and when one of them is lost."""

from __future__ import annotations

from hcloud.control.admission import wait_in_queue
from hcloud.control.mapped import map_job
from hcloud.control.pieces import bar, leave_ring, next_piece, pieces_of, stand_in
from hcloud.control.searching.candidates import may_run_on
from hcloud.control.searching.renting import command, release, rent, sit_down
from hcloud.control.searching.search import reserved_for
from hcloud.control.servers.tenancy import runs_jobs, unseat
from hcloud.control.state import BARRED, DEAD, INTERRUPTIBLE, OWN, Control
from hcloud.control.waits.queue import append, await_opening, follow
from hcloud.policy.codes import (
    LARGE,
    MOVE,
    NO_JOB_LEFT,
    ON_DEMAND,
    PIECE_LOST,
    PLACE,
    POOL_FULL,
    QUEUE,
    REFUSE,
    RESERVED,
    SPOT,
    TOO_MANY,
    TURN_AWAY,
    WAIT,
    WITH_OTHERS,
)
from hcloud.policy.mapping import MAP_ON_DEMAND, MAP_RESERVED

Verdict = tuple[int, int, float]


def settle_pieces(c: Control, number: int, verdict: Verdict, now: float) -> None:
    """Carry out a verdict on all pieces of a job that came, or that begins anew."""
    await_opening(c.jobs[number])
    if c.rules.gang == 0:
        _each_for_itself(c, number, verdict)
    elif verdict[0] == RESERVED:
        seat_chosen(c, number, verdict)
    elif verdict[0] != QUEUE:
        rent_pieces(c, number, verdict, now)
        if verdict[0] == LARGE:
            follow(c, number, c.jobs[number].asked)
    elif c.rules.mapping == MAP_RESERVED or _could_ever_hold(c, number):
        _wait_together(c, number, verdict)
    else:
        rent_pieces(c, number, (ON_DEMAND, TOO_MANY, 0.0), now)


def seat_chosen(c: Control, number: int, verdict: Verdict) -> None:
    """Every piece becomes a tenant of the server that was chosen for it."""
    piece = number
    for _ in range(pieces_of(c, number)):
        sit_down(c, piece, c.jobs[piece].chosen, c.jobs[piece].ask)
        command(c, PLACE, piece, c.jobs[piece].server, verdict)
        piece = next_piece(c, piece)


def _each_for_itself(c: Control, number: int, verdict: Verdict) -> None:
    """Pieces that have a place begin, the others wait, each on its own from now on."""
    piece = number
    for _ in range(pieces_of(c, number)):
        following, job = next_piece(c, piece), c.jobs[piece]
        job.asked = c.jobs[number].asked
        if job.piece_after > 0:
            leave_ring(c, piece)
        if job.chosen >= 0:
            sit_down(c, piece, job.chosen, job.ask)
            command(c, PLACE, piece, job.server, verdict)
        else:
            wait_in_queue(c, piece, (QUEUE, POOL_FULL, 0.0) if verdict[0] == RESERVED else verdict)
        piece = following


def _wait_together(c: Control, number: int, verdict: Verdict) -> None:
    c.jobs[number].stands = 1
    append(c, number)
    piece = number
    for _ in range(pieces_of(c, number)):
        command(c, WAIT, piece, -1, verdict)
        piece = next_piece(c, piece)


def rent_pieces(c: Control, number: int, verdict: Verdict, now: float) -> None:
    """Rent for every piece, with full knowledge of who has room; they begin when the last of their servers is up."""
    age, piece, pieces = c.desk.copy_age, number, pieces_of(c, number)
    c.desk.copy_age = 0.0
    for _ in range(pieces):
        rent(c, piece, verdict, -1, now)
        if c.rules.spread and c.jobs[piece].server >= 0:
            c.servers[c.jobs[piece].server].status += BARRED
        piece = next_piece(c, piece)
    for _ in range(pieces):
        if c.rules.spread and c.jobs[piece].server >= 0:
            c.servers[c.jobs[piece].server].status -= BARRED
        piece = next_piece(c, piece)
    c.desk.copy_age = age


def _could_ever_hold(c: Control, number: int) -> bool:
    """Whether the whole reserve, empty, would hold all pieces of a job."""
    job, lacking, beyond = c.jobs[number], pieces_of(c, number), 0
    for place in range(len(c.servers)):
        server = c.servers[place]
        if place >= beyond and server.paid == OWN and server.status != DEAD and may_run_on(c, job, server.kind):
            kind = c.kinds[server.kind]
            held = min(kind.cores // job.ask, kind.memory // job.memory if job.memory > 0 else lacking)
            if c.rules.spread > 0 and held > 0:
                held, beyond = 1, place - place % c.rules.spread + c.rules.spread
            lacking -= held
        if lacking <= 0:
            return True
    return False


def turn_pieces_away(c: Control, number: int) -> None:
    """No server and no reserve holds all pieces of a job at once."""
    piece = number
    for _ in range(pieces_of(c, number)):
        following = next_piece(c, piece)
        command(c, TURN_AWAY, piece, -1, (REFUSE, TOO_MANY, 0.0))
        if c.jobs[piece].piece_after > 0:
            leave_ring(c, piece)
        piece = following


def begin_pieces_anew(c: Control, number: int, lost: tuple[int, bool], now: float) -> bool:
    """A piece lost its server, which was paid so, and whether that was ``up``. Where all pieces had begun, they all
    begin anew (True); else it gets another server, reserved where one has room, which the others wait for."""
    paid, up = lost
    if c.jobs[number].server >= 0 or stand_in(c, number) >= 0:
        return False  # it lost it together with another piece, which was here before
    if not (up and _others_run(c, number)):
        _bar_others(c, number, BARRED)
        place = reserved_for(c, c.jobs[number], -1) if c.rules.mapping != MAP_ON_DEMAND else -1
        if place >= 0:
            sit_down(c, number, place, c.jobs[number].ask)
            command(c, PLACE, number, place, (RESERVED, WITH_OTHERS, 0.0))
        else:
            rent(c, number, (ON_DEMAND, WITH_OTHERS, 0.0), -1, now)
        _bar_others(c, number, -BARRED)
        return False
    other = next_piece(c, number)
    while other != number:
        if c.jobs[other].server >= 0:
            _stop(c, other, now)
        c.jobs[other].asked = now
        other = next_piece(c, other)
    c.jobs[number].asked = now
    _, verdict = map_job(c, number, now, -1)
    stays = verdict[0] == SPOT and paid == INTERRUPTIBLE
    settle_pieces(c, number, (ON_DEMAND, verdict[1], verdict[2]) if stays else verdict, now)
    return True


def _bar_others(c: Control, number: int, by: int) -> None:
    """Let a piece not come to a server of the others where they are spread; or, by less, let it."""
    other = next_piece(c, number)
    while c.rules.spread and other != number:
        if c.jobs[other].server >= 0:
            bar(c, c.jobs[other].server, by)
        other = next_piece(c, other)


def _others_run(c: Control, number: int) -> bool:
    """Whether the servers of all other pieces that have one are up: then all had begun."""
    other = next_piece(c, number)
    while other != number:
        if c.jobs[other].server >= 0 and not runs_jobs(c.servers[c.jobs[other].server]):
            return False
        other = next_piece(c, other)
    return True


def _stop(c: Control, number: int, now: float) -> None:
    """A piece leaves its server because another one lost its own."""
    command(c, MOVE, number, c.jobs[number].server, (0, PIECE_LOST, 0.0))
    cores, place = c.jobs[number].cores, unseat(c, number)
    if c.servers[place].paid == OWN:
        c.desk.used -= cores
    elif c.servers[place].tenants == 0:
        release(c, place, NO_JOB_LEFT, now)
