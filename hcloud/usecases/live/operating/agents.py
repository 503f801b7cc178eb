"""An agent of live work as a process of its own: lines of JSON in, lines out; ``python -m`` of this module is one.

It is told the header of the journal and a snapshot, then events and questions. Where its input ends it ends.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from subprocess import PIPE, Popen
from typing import IO, Any

from hcloud.control.ports import Crash
from hcloud.control.sessions.session import ControlSession
from hcloud.errors import HcloudError
from hcloud.live.operating.agents import Agents
from hcloud.model.running.event import Arrival, Event
from hcloud.store.files.crash import crash_from
from hcloud.store.journals.events import event_document, from_line, parse_event, to_line
from hcloud.store.journals.journal import header_line, setup_of_line
from hcloud.usecases.live.decide import Kernels

COPIED = "agent.copied"
NOTICED = "agent.noticed"
ASKED = "agent.asked"
PROPOSED = "agent.proposed"
ANSWERED = "agent.answered"
"""An agent has a copy, has been told what happened, is asked, has ranked servers, has said which."""
POINTS = frozenset({COPIED, NOTICED, ASKED, PROPOSED, ANSWERED})
_MOST_UNREAD = 1 << 26
"""Bytes that an agent may have left unread before it counts as dead."""
_PLAIN, _COMPILED = "plain", "compiled"


class AgentProcess:
    """The controller's end of an agent: what it is told goes ``to`` a pipe, its answers come ``out`` of another,
    ``kill`` ends it and waits until it has ended. Nothing else here waits: what the pipe does not take is kept."""

    def __init__(self, session: ControlSession, to: int, out: int, kill: Callable[[], None]) -> None:
        self._to, self._out, self._kill = to, out, kill
        os.set_blocking(to, False)
        os.set_blocking(out, False)
        self._unsent, self._unread, self._closed = bytearray(), bytearray(), False
        self._write(header_line(session.setup).encode() + session.snapshot() + b"\n")

    def tell(self, event: Event) -> None:
        """What happened."""
        self._write(to_line(event_document(event)).encode())

    def ask(self, arrival: Arrival) -> None:
        """Have servers proposed for a job."""
        self._write(to_line({"ask": event_document(arrival)}).encode())

    def answers(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """What it proposed since the last call."""
        self._write(b"")
        with suppress(BlockingIOError):
            while data := os.read(self._out, 1 << 16):
                self._unread += data
            self._closed = True
        *lines, rest = bytes(self._unread).split(b"\n")
        self._unread = bytearray(rest)
        for line in lines:
            told = from_line(line.decode())
            yield str(told["job"]), tuple(told["ranked"])

    def _write(self, data: bytes) -> None:
        self._unsent += data
        try:
            while self._unsent:
                del self._unsent[: os.write(self._to, self._unsent)]
        except BlockingIOError:
            pass
        except OSError:
            self._closed = True

    @property
    def lives(self) -> bool:
        """Whether it may still answer."""
        return not self._closed and len(self._unsent) < _MOST_UNREAD

    def end(self) -> None:
        """End it."""
        kill, self._kill, self._closed = self._kill, lambda: None, True
        kill()


def spawned(session: ControlSession, *, compiled: bool) -> AgentProcess:
    """A new agent with a copy of the session."""
    command = [sys.executable, "-P", "-m", __name__, _COMPILED if compiled else _PLAIN]
    process = Popen(command, stdin=PIPE, stdout=PIPE, start_new_session=True)  # Ctrl-C is the controller's
    to, out = process.stdin, process.stdout
    assert to is not None
    assert out is not None

    def kill() -> None:
        process.kill()
        for pipe in (to, out):
            with suppress(OSError):
                pipe.close()
        process.wait()

    return AgentProcess(session, to.fileno(), out.fileno(), kill)


def agents_of(session: ControlSession, *, compiled: bool) -> Agents | None:
    """The agents that a placement states; None where one decides: that is the controller itself."""
    rules = session.setup.rules
    if rules.agents <= 1:
        return None
    return Agents(session, partial(spawned, compiled=compiled), rules.agents, rules.takeover)


def serve(lines: IO[bytes], answer: Callable[[bytes], object], kernels: Kernels, crash: Crash) -> None:
    """Keep a copy and answer, until the lines end."""
    setup = setup_of_line(lines.readline().decode())
    session = ControlSession.restored(setup, kernels, lines.readline().rstrip(b"\n"))
    crash(COPIED)
    for line in lines:
        document: dict[str, Any] = from_line(line.decode())
        if "ask" not in document:
            session.handle(parse_event(document))
            crash(NOTICED)
            continue
        crash(ASKED)
        job = parse_event(document["ask"])
        assert isinstance(job, Arrival)
        ranked = session.proposal(job)
        crash(PROPOSED)
        answer(to_line({"job": job.job, "ranked": list(ranked)}).encode())
        crash(ANSWERED)


def main(kind: str) -> int:
    """An agent on standard input and output."""
    from hcloud.sim.machine_code.compiled import plain, soonest

    def answer(line: bytes) -> None:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()

    try:
        serve(sys.stdin.buffer, answer, soonest() if kind == _COMPILED else plain(), crash_from(os.environ))
    except (HcloudError, BrokenPipeError) as error:
        sys.stderr.write(f"an agent ends: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
