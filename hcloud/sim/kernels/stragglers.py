"""The pieces of a job are compared while they run; one that lags is begun a second time elsewhere (Quasar §4.3)."""

from __future__ import annotations

from hcloud.control.pieces import is_piece, next_piece, pieces_of
from hcloud.control.ranks import ARRIVAL
from hcloud.control.watching.copying import arrive_as_copy
from hcloud.policy.stragglers import LATE, RECLASSIFIED, Peers, is_confirmed, lags, time_left
from hcloud.sim.kernels.moving import drop_copy, expect_stragglers, fill_copy
from hcloud.sim.kernels.obeying import advance, note, obey
from hcloud.sim.kernels.phases import measure_anew
from hcloud.sim.kernels.progress import performance_now, settle
from hcloud.sim.kernels.world import SimulatedWorld, Task

_ALIKE = 1.001
"""Paces no further apart than this are the same."""
_SUSPECTED, _AGAIN = 1, 2


def compare_pieces(w: SimulatedWorld, number: int, now: float) -> None:
    """Look for pieces of a job that lag, and begin those again elsewhere; never while others wait for a server."""
    if w.watches[number].compare != now or not is_piece(w.control.jobs[number]) or w.tasks[number].over:
        return
    advance(w, now)
    pieces, piece, running, worst, longest = pieces_of(w.control, number), number, 0, -1, -1.0
    for _ in range(pieces):
        if w.tasks[piece].running:
            settle(w.tasks[piece], now)
            running += 1
        piece = next_piece(w.control, piece)
    for _ in range(pieces):
        if _may_lag(w, piece) and _lags(w, piece):
            left = time_left(_score(w.tasks[piece]), w.tasks[piece].ran)
            if w.control.rules.straggling != LATE:
                _suspect(w, piece, now)
            elif left > longest:
                worst, longest = piece, left
        piece = next_piece(w.control, piece)
    if worst >= 0:
        _suspect(w, worst, now)
    if running > 0:
        expect_stragglers(w, number, now)


def _may_lag(w: SimulatedWorld, number: int) -> bool:
    task = w.tasks[number]
    return bool(task.running == 1 and task.service == 0 and w.watches[number].copied < _AGAIN)


def _score(task: Task) -> float:
    return 1.0 - task.left / task.work


def _lags(w: SimulatedWorld, number: int) -> bool:
    task = w.tasks[number]
    score, ran = _score(task), task.ran
    count, twice, faster, total, copies, piece = 0, 0, 0, 0.0, 0, number
    for _ in range(pieces_of(w.control, number)):
        other = w.tasks[piece]
        its = _score(other)
        count += 1
        total += its
        # Paces are shares over seconds; multiplied out, since some have not run
        twice += 1 if its * ran >= 2.0 * score * other.ran and other.ran > 0.0 else 0
        faster += 1 if its * ran > _ALIKE * score * other.ran else 0
        copy = w.watches[piece].twin - 1
        copies += 1 if copy >= 0 and w.tasks[copy].over == 0 else 0
        piece = next_piece(w.control, piece)
    return lags(w.control.rules.straggling, score, ran, Peers(count, twice, faster, total / count, copies))


def _suspect(w: SimulatedWorld, number: int, now: float) -> None:
    """A piece lags: where two microbenchmarks confirm that (the rivals ask for none) it gets a second run."""
    w.tally.lagged += 1 if w.watches[number].copied == 0 else 0
    w.watches[number].copied = _SUSPECTED
    if w.control.rules.straggling == RECLASSIFIED:
        performance = performance_now(w.tasks[number])
        if not is_confirmed(performance, measure_anew(w, number, performance, now)):
            return
    if w.control.desk.queued == 0:
        _begin_again(w, number, now)


def _begin_again(w: SimulatedWorld, number: int, now: float) -> None:
    """Begin a piece a second time, if there is room now: it never waits."""
    c, copy = w.control, fill_copy(w, number)
    w.watches[number].copied = _AGAIN
    note(w, (ARRIVAL, copy, -1, 0, number + 1), 0.0)
    arrive_as_copy(c, copy, number, now)
    obey(w, now)
    if c.jobs[copy].server < 0:
        drop_copy(w, number, now)
    else:
        w.tally.copies += 1
