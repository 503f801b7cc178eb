"""Agents that decide beside each other: each on its own jobs, one after the other, by a copy of the servers that is as
old as its last notice or its last whole copy; and agents that crash."""

from __future__ import annotations

import math

from hcloud.control.pieces import pieces_of
from hcloud.control.searching.candidates import draws_for
from hcloud.sim.kernels.heap import push
from hcloud.sim.kernels.world import CRASHED, DECIDED, TAKEN_OVER, SimulatedAgent, SimulatedWorld, Task

_APART = 977
"""Places between the streams of chance of two agents; odd, so that they meet late."""


def entrust(w: SimulatedWorld, number: int, agent: int, now: float) -> None:
    """Give a job to an agent, who looks at it after those it has; one that has crashed leaves it to who takes over."""
    rules, one, task = w.control.rules, w.agents[agent], w.tasks[number]
    task.agent, task.turn = agent, task.turn + 1
    _open(w, number, one)
    if one.back > now:
        return
    begin = max(now, one.free)
    drawn = draws_for(w.control, w.control.jobs[number].ask, pieces_of(w.control, number))
    one.free = begin + rules.decision + min(rules.candidate_cost * drawn, rules.longest_decision)
    _renew(w, agent, begin)
    task.decided, task.known = begin, max(begin - rules.notice, one.copied)
    push(w, one.free + rules.wire, DECIDED, number, task.turn)


def take_up(w: SimulatedWorld, number: int, now: float) -> None:
    """An agent's decision reaches the master: the controller learns who decided, by what it knew."""
    task, desk = w.tasks[number], w.control.desk
    desk.agent, desk.copy_age, desk.refused = task.agent, now - task.known, task.refused
    withdraw(w, number)


def charge(w: SimulatedWorld, agent: int) -> None:
    """An agent that drew again for some pieces of a job, and kept what was free, takes as long as that takes."""
    desk, rules = w.control.desk, w.control.rules
    if desk.drawn_anew > 0 and agent >= 0:
        w.agents[agent].free += rules.decision + rules.candidate_cost * desk.drawn_anew
    desk.drawn_anew = 0


def again(w: SimulatedWorld, number: int, agent: int, now: float) -> None:
    """Others took all that an agent chose: it decides anew, by what the refusal brought, the whole state of now."""
    w.tasks[number].refused += 1
    w.agents[agent].copied = now
    entrust(w, number, agent, now)


def first_crash(w: SimulatedWorld, agent: int, now: float) -> None:
    """When an agent crashes next, if any ever does."""
    if w.cloud.crashes > 0.0:
        push(w, now - math.log(1.0 - _chance(w, agent)) / w.cloud.crashes, CRASHED, agent, 0)


def crash(w: SimulatedWorld, agent: int, now: float) -> None:
    """An agent is gone with all that it had not decided on; nothing of that was given to anybody."""
    one = w.agents[agent]
    first_crash(w, agent, now)
    if one.back > now:
        return
    one.back = now + w.control.rules.takeover
    number = one.first
    while number >= 0:
        w.tasks[number].turn += 1
        number = w.tasks[number].following
    push(w, one.back, TAKEN_OVER, agent, 0)


def take_over(w: SimulatedWorld, agent: int, now: float) -> None:
    """What a crashed agent had not decided on goes to the next one that runs, which copies the whole state first; the
    crashed one has restarted."""
    one, other = w.agents[agent], (agent + 1) % len(w.agents)
    number, one.free, one.copied = one.first, now, now
    one.first, one.last = -1, -1
    while w.agents[other].back > now:
        other = (other + 1) % len(w.agents)
    w.agents[other].copied = now
    while number >= 0:
        following = w.tasks[number].following
        entrust(w, number, other, now)
        number = following


def withdraw(w: SimulatedWorld, number: int) -> None:
    """No agent has a job any more that one had."""
    task = w.tasks[number]
    one = w.agents[task.agent]
    task.agent, task.turn = -1, task.turn + 1
    if task.ahead >= 0:
        w.tasks[task.ahead].following = task.following
    else:
        one.first = task.following
    if task.following >= 0:
        w.tasks[task.following].ahead = task.ahead
    else:
        one.last = task.ahead


def _open(w: SimulatedWorld, number: int, one: SimulatedAgent) -> None:
    task: Task = w.tasks[number]
    task.ahead, task.following = one.last, -1
    if one.last >= 0:
        w.tasks[one.last].following = number
    else:
        one.first = number
    one.last = number


def _renew(w: SimulatedWorld, agent: int, now: float) -> None:
    """The last whole copy that an agent made by now; the first ones are spread as well."""
    one, rules = w.agents[agent], w.control.rules
    while one.renews <= now:
        one.copied = max(one.copied, one.renews)
        one.renews += rules.copy_least + (rules.copy_most - rules.copy_least) * _chance(w, agent)


def _chance(w: SimulatedWorld, agent: int) -> float:
    """The next number in 0..1 of an agent's own."""
    one = w.agents[agent]
    one.drawn += 1
    return float(w.chances[(agent * _APART + one.drawn) % len(w.chances)])
