"""What an agent's copy of the servers knows: who decides beside others sees what they did only after a while.

No copy is kept. Each change of a server's room is noted, and a copy of some age is what there is without the changes
that came since, but for those of its own jobs (Tarcil §7.5.1: monitors notify the agents of what starts and ends).
"""

from __future__ import annotations

from hcloud.control.servers.rosters import roster_of
from hcloud.control.state import Control

NOBODY = -1
"""The agent of a job that was decided on with full knowledge."""


def note_change(c: Control, number: int, agent: int, cores: int, memory: int) -> None:
    """Note that so much more of a server is in use from now on, by a job of an agent; for copies only where there are
    any."""
    which = roster_of(c, c.servers[number])
    if which >= 0:
        c.rosters[c.servers[number].place].used[which] += cores
    if c.rules.agents == 0:
        return
    desk, row = c.desk, c.rosters[number]
    change = c.changes[desk.changes % len(c.changes)]
    change.server, change.number, change.before = number, desk.changes, row.changed
    change.at, change.agent, change.cores, change.memory = desk.now, agent, cores, memory
    desk.changes += 1
    row.changed, row.noted = desk.changes, desk.now


def is_news(c: Control, number: int) -> bool:
    """Whether the copy of the agent that decides may not know how a server is by now."""
    return bool(c.desk.copy_age > 0.0 and c.rosters[number].noted > c.desk.now - c.desk.copy_age)


def seen(c: Control, number: int) -> tuple[int, int]:
    """Thousandths of a vCPU and MiB of a server that are in use, as far as the copy of the agent that decides knows."""
    desk, server = c.desk, c.servers[number]
    used, memory, last = server.used, server.memory, c.rosters[number].changed
    while last > 0 and desk.copy_age > 0.0:
        change = c.changes[(last - 1) % len(c.changes)]
        kept = change.number == last - 1 and change.server == number
        if not kept or change.at <= desk.now - desk.copy_age:
            break
        if change.agent != desk.agent or change.agent == NOBODY:
            used, memory = used - change.cores, memory - change.memory
        last = change.before
    return used, memory
