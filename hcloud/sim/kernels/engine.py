"""The event engine: takes the next event, asks the controller about it, and does what it says to a simulated cloud."""

from __future__ import annotations

import math

from hcloud.control.admission import overdue
from hcloud.control.controller import decide_on, expire, interrupt, leave, nominee, ready, sampled, suffer, tick
from hcloud.control.pieces import is_piece, next_piece, pieces_of
from hcloud.control.ranks import (
    ARRIVAL,
    BOUND,
    CANCEL,
    CHECK,
    CONTROL,
    EXPIRE,
    FAILED_LAUNCH,
    FINISH,
    INTERRUPT,
    LOOK,
    LOSS,
    READY,
    REPLACE,
)
from hcloud.control.state import DEAD, OWN
from hcloud.policy.codes import BY_OFFER
from hcloud.sim.kernels.agents import again, charge, crash, entrust, take_over, take_up
from hcloud.sim.kernels.faults import cancel_job, fail_launch, is_over, lose_server, replace_server
from hcloud.sim.kernels.gangs import begin_together, has_come, is_first_done, rest, stop_piece, wake
from hcloud.sim.kernels.heap import pop, push
from hcloud.sim.kernels.interference import part, quality_of
from hcloud.sim.kernels.moving import drop_copy, has_copies, is_copy, overtake
from hcloud.sim.kernels.obeying import advance, leave_for_good, look_again, note, obey
from hcloud.sim.kernels.phases import happen, look_after
from hcloud.sim.kernels.progress import DONE, begin, halt, performance_now, performance_so_far, review, settle
from hcloud.sim.kernels.stages import is_kept
from hcloud.sim.kernels.stragglers import compare_pieces
from hcloud.sim.kernels.watches import size_by_row, stopped
from hcloud.sim.kernels.world import CRASHED, DECIDED, QUALITY, RANK, RELEASED, STRAGGLERS, TAKEN_OVER, SimulatedWorld


def simulate(w: SimulatedWorld, until: int) -> bool:
    """Handle events until none is left (True) or ``until`` jobs have come (False): a long run goes in steps.

    Stops early with ``tally.full`` set where a table was too short; the run is then repeated with longer ones.
    """
    tally, desk = w.tally, w.control.desk
    rules, period = w.control.rules, w.control.rules.period
    endless = w.cloud.losses > 0.0 or w.cloud.crashes > 0.0 or rules.spot > 0  # what may yet befall who is gone
    by_offer = rules.ranking == BY_OFFER
    while tally.full == 0 and desk.overflow == 0:
        if endless and is_over(w):
            return True
        coming = w.tasks[tally.next_job].decide if tally.next_job < len(w.tasks) else math.inf
        event = w.events[0].time if tally.events > 0 else math.inf
        if coming == math.inf and event == math.inf and not (by_offer and desk.queued > 0):
            return True
        control = tally.last_control + period
        sample = w.series[tally.samples, 0] if tally.samples < len(w.series) else math.inf
        first = min(coming, event)
        if event <= coming and event <= control and event <= sample:
            _handle(w, pop(w))
        elif control <= sample and control <= first:
            _control(w, control)
        elif sample <= first:
            _sample(w)
        elif tally.next_job >= until:
            return False
        else:
            _arrival(w, coming)
    return True


def _control(w: SimulatedWorld, now: float) -> None:
    advance(w, now)
    w.tally.last_control = now
    note(w, (CONTROL, 0, 0, 0, 0), 0.0)
    tick(w.control, now)
    obey(w, now)


def _sample(w: SimulatedWorld) -> None:
    row, kinds = w.series[w.tally.samples], w.active.shape[1]
    row[1] = w.control.desk.used / 1000.0
    row[2] = w.control.desk.queued
    row[3] = w.control.desk.soft
    for paid in range(3):
        for kind in range(kinds):
            row[4 + paid * kinds + kind] = w.active[paid, kind]
    for server in range(w.heat.shape[1]):
        one = w.control.servers[server]
        if one.paid == OWN and one.status != DEAD:
            w.heat[w.tally.samples, server] = one.used / w.control.kinds[one.kind].cores
    w.tally.samples += 1


def _arrival(w: SimulatedWorld, now: float) -> None:
    advance(w, now)
    number = w.tally.next_job
    w.tally.next_job += 1
    if len(w.stages) == 0 or not is_kept(w, number):
        _come(w, number, now)


def _come(w: SimulatedWorld, number: int, now: float) -> None:
    """A job is here, to be decided on."""
    task = w.tasks[number]
    task.left = task.work
    w.tally.present += 1
    if task.cancelled >= 0.0:
        push(w, task.cancelled, CANCEL, number, 0)
    if not has_come(w, number):
        note(w, (ARRIVAL, number, -1, 0, 0), 0.0)
    elif w.control.rules.agents > 0:
        entrust(w, number, number % len(w.agents), now)
    else:
        _decide(w, number, now)


def _decided(w: SimulatedWorld, number: int, turn: int, now: float) -> None:
    """An agent's decision is carried out, unless the job was cancelled or the agent crashed before."""
    if w.tasks[number].turn == turn:
        advance(w, now)
        take_up(w, number, now)
        _decide(w, number, now)


def _decide(w: SimulatedWorld, number: int, now: float) -> None:
    """The controller is told of a job."""
    desk = w.control.desk
    if len(w.watches) > 0:
        size_by_row(w, number)
    idle = nominee(w.control, number)
    if idle >= 0:
        _probe(w, idle, now)
    agent, age = desk.agent, desk.copy_age
    line = (ARRIVAL, number, agent, desk.refused, -w.control.jobs[number].ask)
    pieces = pieces_of(w.control, number)  # their rows come one after the other
    is_decided = decide_on(w.control, number, now)
    desk.agent, desk.copy_age, desk.refused = -1, 0.0, 0
    charge(w, agent)
    if not is_decided:
        again(w, number, agent, now)
        return
    for before in range(pieces):
        w.tasks[number - before].decided = now
    note(w, line, age)
    obey(w, now)


def _probe(w: SimulatedWorld, place: int, now: float) -> None:
    high, low = quality_of(w, place, now)
    note(w, (QUALITY, place, high, low, 0), 0.0)
    w.hosts[place].probed = now
    sampled(w.control, place, (high, low), now)


def _handle(w: SimulatedWorld, event: tuple[float, int, int]) -> None:
    now, kind, number, tag = event[0], event[1] // RANK, event[1] % RANK, event[2]
    if kind == FINISH:
        _finish(w, number, now)
    elif kind == CHECK:
        _check(w, number, tag, now)
    elif kind == CANCEL:
        cancel_job(w, number, now)
    elif kind == REPLACE:
        replace_server(w, number, now)
    elif kind == BOUND:
        _end_wait(w, number, now)
    elif kind >= DECIDED:
        _handle_unseen(w, kind, (number, tag), now)
    elif w.hosts[tag].serial == number and w.hosts[tag].paid >= 0:
        _handle_of_host(w, kind, tag, now)


def _handle_unseen(w: SimulatedWorld, kind: int, about: tuple[int, int], now: float) -> None:
    """What the controller is not told of."""
    if kind == DECIDED:
        _decided(w, about[0], about[1], now)
    elif kind == CRASHED:
        crash(w, about[0], now)
    elif kind == TAKEN_OVER:
        take_over(w, about[0], now)
    elif kind == STRAGGLERS:
        compare_pieces(w, about[0], now)
    elif kind == RELEASED:
        advance(w, now)
        w.tally.present -= 1
        _come(w, about[0], now)
    else:
        happen(w, kind, about, now)


def _end_wait(w: SimulatedWorld, number: int, now: float) -> None:
    """A job was held back long enough, or those who wait in classes are looked after, if that is still due."""
    if w.control.rules.classes == 0 or w.control.desk.wake == now:
        advance(w, now)
        overdue(w.control, number, now)
        obey(w, now)


def _handle_of_host(w: SimulatedWorld, kind: int, place: int, now: float) -> None:
    advance(w, now)
    if kind == READY:
        _ready(w, place, now)
    elif kind == LOOK:
        _look(w, place, now)
    elif kind == EXPIRE:
        note(w, (EXPIRE, place, 0, 0, 0), 0.0)
        expire(w.control, place, now)
        obey(w, now)
    elif kind == INTERRUPT:
        _interrupt(w, place, now)
    elif kind == LOSS:
        lose_server(w, place, now)
    elif kind == FAILED_LAUNCH:
        fail_launch(w, place, now)


def _finish(w: SimulatedWorld, number: int, now: float) -> None:
    task = w.tasks[number]
    if not task.running or task.due != now:
        return
    settle(task, now)
    if task.left > DONE and not (task.service or task.crashed):
        due = now + task.left / task.rate
        if due > now:  # late in a long run what is left may be less than the clock can tell
            task.due = due
            push(w, due, FINISH, number, 0)
            return
    advance(w, now)
    if is_copy(w, number):
        if not task.service:  # a server of a service ends with the first
            overtake(w, number, now)
        return
    if has_copies(w):
        drop_copy(w, number, now)
    if is_first_done(w, number):
        rest(w, number, now)
    else:
        _end_pieces(w, number, now)


def _end_pieces(w: SimulatedWorld, number: int, now: float) -> None:
    """The last piece of a job is done: its other pieces, which rested, end with it."""
    pieces, following = pieces_of(w.control, number), number
    if pieces > 1:
        following = next_piece(w.control, number)
    for at in range(pieces):  # the one that is done last comes last
        piece = following
        if at < pieces - 1:
            following = next_piece(w.control, piece)
            if not w.tasks[piece].rests:
                continue
            wake(w, piece, now)
        _end(w, piece, now)


def _end(w: SimulatedWorld, number: int, now: float) -> None:
    """A job has ended, or a piece of one."""
    task = w.tasks[number]
    task.left, task.running, task.ended = 0.0, 0, -1.0 if task.crashed else now
    if len(w.watches) > 0:
        stopped(w, number, now)
    leave_for_good(w, number)
    task.version += 1
    w.tally.running -= 1
    w.tally.ended += task.crashed
    w.tally.last_finish = now
    place = w.control.jobs[number].server
    server = w.control.servers[place]
    if server.paid != OWN and server.tenants == 1:
        _probe(w, place, now)
    performance = 1.0 if task.crashed else performance_so_far(task)
    note(w, (FINISH, number, task.crashed, 0, 0), performance)
    part(w, number, place)
    leave(w.control, number, performance, now)
    if not w.hosts[place].calm:
        review(w, place, now, -1)
    obey(w, now)


def _check(w: SimulatedWorld, number: int, version: int, now: float) -> None:
    task = w.tasks[number]
    if w.control.rules.watching > 0:
        look_after(w, number, version, now)
        return
    if task.version != version or not task.running:
        return
    performance = performance_now(task)
    if performance >= w.control.rules.monitor_level:
        task.suspect = 0
        return
    advance(w, now)
    settle(task, now)
    note(w, (CHECK, number, 0, 0, 0), performance)
    task.suspect = 0 if suffer(w.control, number, performance, now) else 2
    obey(w, now)


def _ready(w: SimulatedWorld, place: int, now: float) -> None:
    host = w.hosts[place]
    host.ready = now
    note(w, (READY, place, 1 if host.launched > host.ordered else 0, 0, 0), now - host.launched)
    ready(w.control, place, now - host.launched)
    _probe(w, place, now)
    number = w.control.servers[place].first
    while number >= 0:
        if not is_piece(w.control.jobs[number]):
            begin(w, number, place, now)
        elif w.tasks[number].awaits:
            begin_together(w, number, now)
        number = w.control.jobs[number].next
    look_again(w, place, now)


def _look(w: SimulatedWorld, place: int, now: float) -> None:
    """The neighbours' load has moved: rate the tenants anew, and probe now and then."""
    host = w.hosts[place]
    if w.control.servers[place].tenants == 0 or host.look != now:
        return
    host.calm = 0
    review(w, place, now, -1)
    if now - host.probed >= w.control.rules.probe_seconds:
        _probe(w, place, now)
    look_again(w, place, now)


def _interrupt(w: SimulatedWorld, place: int, now: float) -> None:
    number = w.control.servers[place].first
    if number >= 0 and w.tasks[number].running:
        task = w.tasks[number]
        halt(w, number, now)
        task.left += (task.work - task.left) * w.cloud.lost_share
        w.tally.stopped += 1
    if number >= 0 and is_piece(w.control.jobs[number]):
        stop_piece(w, number, now)
    note(w, (INTERRUPT, place, 0, 0, 0), 0.0)
    interrupt(w.control, place, now)
    obey(w, now)
