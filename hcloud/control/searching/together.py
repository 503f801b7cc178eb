"""Servers for all pieces of a job at once (Tarcil, thesis §7.3.3 and §7.5.3): R candidates for each piece, of which the
best are taken; all or nothing, or as many as there are."""

from __future__ import annotations

from hcloud.control.pieces import bar, is_barred, next_piece, pieces_of
from hcloud.control.searching.brief import is_brief
from hcloud.control.searching.candidates import audit, best_candidate, draws_for, first_with_room, has_capacity, sample
from hcloud.control.searching.renting import sit_down
from hcloud.control.searching.search import could_take, reserved_for
from hcloud.control.servers.tenancy import unseat
from hcloud.control.state import BARRED, OWN, Control
from hcloud.policy.codes import BY_CHANCE, GREEDY

MOST_AT_ONCE = 32
"""Units that one commit takes all or none of; of more those are kept that were free (Tarcil, thesis §7.5.3)."""
_UNIT = 1000


def choose_servers(c: Control, number: int) -> bool:
    """Write down a reserved server for each piece of a job (``chosen``, -1: none). False where not all have one.

    Nobody is seated afterwards: while the choice is made those who have a place sit there, so that no two get the same.
    """
    desk, wanted = c.desk, pieces_of(c, number)
    forget_choice(c, number)
    proposed, desk.proposed = desk.proposed, 0
    if wanted * c.jobs[number].ask > desk.pool - desk.used and c.rules.gang == 1:
        return False
    seated = _take_proposed(c, number, wanted, proposed) if proposed > 0 else _take_best(c, number, wanted)
    if desk.lost == 0:
        seated = _take_others(c, number, seated, wanted)
    piece = number
    for _ in range(seated):
        _get_up(c, piece)
        piece = next_piece(c, piece)
    return seated == wanted


def forget_choice(c: Control, number: int) -> None:
    """No server is chosen for any piece of a job, which all are decided on as one of them is."""
    job, piece = c.jobs[number], number
    for _ in range(pieces_of(c, number)):
        one = c.jobs[piece]
        one.chosen, one.asked, one.agent = -1, job.asked, job.agent
        piece = next_piece(c, piece)


def chosen_for_queued(c: Control, number: int) -> int:
    """The server chosen for a piece that stands in the queue, if all its pieces have one now; -1. Nothing is looked at
    where nobody left since the last look in vain."""
    job = c.jobs[number]
    if job.tried == c.desk.vacated + 1:
        return -1
    found = choose_servers(c, number)
    job.tried = 0 if found else c.desk.vacated + 1
    return int(job.chosen) if found else -1


def _take_proposed(c: Control, number: int, wanted: int, proposed: int) -> int:
    """Seat pieces on the servers that an agent proposed, the best first, as many as each has room for still; returns
    how many."""
    desk, seated, piece = c.desk, 0, number
    desk.found = proposed
    for at in range(proposed):
        place = c.candidates[at].server
        is_full = not has_capacity(c, c.servers[place], c.jobs[number], c.jobs[number].ask)
        if seated < wanted and is_full and not is_barred(c, place):
            desk.conflicts += 1
        while seated < wanted and could_take(c, place, c.jobs[number]):
            _sit(c, piece, place)
            seated, piece = seated + 1, next_piece(c, piece)
    desk.resampled += 1 if seated < wanted else 0
    return seated


def _take_best(c: Control, number: int, wanted: int) -> int:
    """Seat pieces on the best of a sample for all of them; returns how many. Where others took some in the meantime,
    those that were free are kept and the rest is drawn anew, but for a small job that is placed all or nothing."""
    rules, desk, job = c.rules, c.desk, c.jobs[number]
    if rules.ranking == GREEDY or rules.candidates == 0 or is_brief(c, job):
        return 0
    age, taken, seated = desk.copy_age, desk.conflicts, 0
    for turn in range(2):
        desk.pieces = wanted - seated
        found = sample(c, job, (OWN, job.ask, -1))
        desk.found = found
        if turn > 0:
            desk.drawn_anew += draws_for(c, job.ask, wanted - seated)
        desk.pieces = 0
        seated = _seat_on_candidates(c, number, (seated, wanted, found))
        if seated == wanted or desk.conflicts == taken:
            break
        desk.resampled += 1
        if rules.gang == 1 and wanted * _units(job.ask) <= MOST_AT_ONCE:
            desk.lost = 1
            break
        desk.copy_age = 0.0  # the refusal says what there is
        taken = desk.conflicts
    desk.copy_age = age
    return seated


def _units(ask: int) -> int:
    return max((ask + _UNIT - 1) // _UNIT, 1)


def _seat_on_candidates(c: Control, number: int, terms: tuple[int, int, int]) -> int:
    """Seat pieces on candidates, the best first: as many as it has room for, or one each where they are spread;
    ``terms`` are how many are seated, are to be, and how many candidates there are. Returns how many are seated."""
    seated, wanted, found = terms
    job, piece = c.jobs[number], number
    for _ in range(seated):
        piece = next_piece(c, piece)
    for _ in range(found):
        at = best_candidate(c, found)
        if at < 0 or seated == wanted:
            break
        place = c.candidates[at].server
        for other in range(found):
            c.candidates[other].taken = 1 if c.candidates[other].server == place else c.candidates[other].taken
        if not (is_barred(c, place) or has_capacity(c, c.servers[place], job, job.ask)):
            c.desk.conflicts += 1 if c.desk.copy_age > 0.0 else 0
        while seated < wanted and could_take(c, place, job):
            _note_rank(c, piece, place, seated)
            _sit(c, piece, place)
            seated += 1
            piece = next_piece(c, piece)
    return seated


def _take_others(c: Control, number: int, seated: int, wanted: int) -> int:
    """Seat the pieces that a sample had no room for, or all of them where all servers are looked at, one after the
    other: beside the one before where that is possible and they are not spread."""
    job, last, piece = c.jobs[number], -1, number
    drawn = seated > 0 or (c.rules.candidates > 0 and c.rules.ranking != GREEDY and not is_brief(c, job))
    for _ in range(seated):
        last, piece = c.jobs[piece].server, next_piece(c, piece)
    while seated < wanted:
        if last >= 0 and could_take(c, last, job):
            place = last
        elif drawn:
            place = first_with_room(c, job, (OWN, job.ask, -1))
            place = place if place >= 0 and could_take(c, place, job) else -1
        else:
            place = reserved_for(c, job, -1)
        if place < 0:
            break
        _sit(c, piece, place)
        last, piece, seated = place, next_piece(c, piece), seated + 1
    return seated


def _note_rank(c: Control, piece: int, place: int, seated: int) -> None:
    """Audit the best of a sample for several pieces: the law of samples is about that one."""
    if c.rules.audit and seated == 0 and c.desk.audited < len(c.audits) and c.rules.ranking != BY_CHANCE:
        c.desk.pieces = pieces_of(c, piece)
        audit(c, c.jobs[piece], (OWN, c.jobs[piece].ask, -1), place)
        c.desk.pieces = 0


def _sit(c: Control, piece: int, place: int) -> None:
    """A piece has a place for the time of the choice; no other piece comes to that server where they are spread."""
    sit_down(c, piece, place, c.jobs[piece].ask)
    c.jobs[piece].chosen = place
    bar(c, place, BARRED)


def _get_up(c: Control, piece: int) -> None:
    place = c.jobs[piece].chosen
    bar(c, place, -BARRED)
    c.desk.used -= c.jobs[piece].cores
    unseat(c, piece)
