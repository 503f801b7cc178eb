"""B17: how long a controller takes to be where it was, from the journal of 50 jobs a second:
``python -m benchmarks.b17_replay [--hours 24]``.

Of 'hcloud decide', what the command takes in a process of its own with no more to do than to go on: from nothing but a
journal of so many hours, whose every decision it makes again; then with 31 MiB behind the point that this left beside
it, which is as much as a restart finds after a crash. Of 'hcloud operate', whose journal begins anew every 32 MiB, the
longest part that a restart ever replays, and 'status' of it. A journal is made as it would have been written, but many
events at a time: that of 24 hours takes three minutes of processor and 1.7 GiB of disk.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import astuple
from functools import cache
from heapq import heappop, heappush
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from hcloud.control.operating.fold import Fold
from hcloud.control.operating.happened import taken
from hcloud.control.sessions.batches import EventBatch
from hcloud.control.sessions.session import ControlSession
from hcloud.live.operating.terms import Line
from hcloud.model.running.decision import Decided, Decision, DecisionAction
from hcloud.model.running.event import UNKNOWN, Arrival, Completion
from hcloud.model.running.job import JobOrder, JobPhase
from hcloud.model.running.note import AttemptOver, Beginning, PassNoted
from hcloud.policy.facts import Setup, TypeFacts
from hcloud.policy.registry import compose, rents_whole_servers
from hcloud.readers.strategies import load_strategy
from hcloud.sim.machine_code.compiled import FOLLOW, compiled
from hcloud.store.journals.events import coin_of
from hcloud.store.journals.journal import Before, LiveOrigin, entry_line, header_line, read_journal
from hcloud.store.journals.live import LiveJournalFile
from hcloud.store.journals.pieces import JournalPiece
from hcloud.store.journals.resume_point import EVERY, beside
from hcloud.usecases.live.decide import replay
from hcloud.usecases.live.operating.operate import fold_of
from hcloud.usecases.live.replayed import PieceColumns

RATE, RUNS = 50, 60.0
"""Jobs a second, and how many seconds each of them runs."""
MACHINES = 220
VECTOR = str(list(UNKNOWN)).replace(" ", "")
Happened = tuple[float, int, bool]
PART = 1 << 17
"""Events that are decided at once where a journal is made."""
CHECKED = 10_000
"""Jobs of which that is compared with a session that is told each event by itself."""
ORIGIN = LiveOrigin("0" * 32, "aws", "bench", "here", "local")


def setup_of() -> Setup:
    """SR on machines of sixteen vCPUs."""
    strategy, types = load_strategy("SR"), (TypeFacts("large", 16_000, 65_536, 30.0, 9_000),)
    return Setup(
        strategy.name, strategy.digest(), compose(strategy, 0), rents_whole_servers(strategy), MACHINES, None, types
    )


def happening(jobs: int) -> Iterator[Happened]:
    """Jobs, by number, that come (True) and end, in time order."""
    running: list[tuple[float, int]] = []
    for number in range(jobs):
        at = number / RATE
        while running and running[0][0] <= at:
            yield *heappop(running), False
        heappush(running, (at + RUNS + number % 7 + (1 + number % 1000) * 1e-5, number))
        yield at, number, True
    while running:
        yield *heappop(running), False


def decide_journal(path: Path, jobs: int) -> int:
    """What 'hcloud decide' would have written; its lines. Decided by the kernel that takes many events at once; the
    session that takes each by itself says the same of the first (:func:`check_first`)."""
    session, lines = ControlSession(setup_of(), compiled()), 0
    with path.open("w", encoding="utf-8") as file:
        file.write(header_line(session.setup))
        happens = happening(jobs)
        while part := list(islice(happens, PART)):
            told = [event_line(*happened) for happened in part]
            decided = decided_of(session, part, "".join(told).encode())
            for (at, *_), line in zip(part, told, strict=True):
                file.write(line)
                lines += 1
                while decided and decided[0][0] <= at:
                    file.write(decision_line(*decided.popleft()))
                    lines += 1
    check_first(path)
    return lines


def event_of(at: float, number: int, comes: bool) -> Arrival | Completion:
    """The event that a stream brings of it."""
    job = f"job-{number:07d}"
    return Arrival(at, job, 1_000, 2_048, UNKNOWN, False, coin_of(job)) if comes else Completion(at, job, 1.0)


def event_line(at: float, number: int, comes: bool) -> str:
    """Its line, as ``entry_line`` writes it: that takes ten times as long."""
    job = f"job-{number:07d}"
    if not comes:
        return f'{{"at":{at},"event":"completion","job":"{job}","performance":1.0}}\n'
    told = f'"cores":1.0,"memory_gib":2.0,"vector":{VECTOR},"restartable":false,"coin":{coin_of(job)}'
    return f'{{"at":{at},"event":"arrival","job":"{job}",{told}}}\n'


def decision_line(at: float, action: DecisionAction, job: str | None, instance: int | None, *told: Any) -> str:
    """The line of a decision; what one says of a place it always says."""
    return f'{{"at":{at},"decision":"{action.value}","job":"{job}",{words_of(action, instance, *told)}'


@cache
def words_of(action: DecisionAction, instance: int | None, *told: Any) -> str:
    """A line of a decision from the place on."""
    return entry_line(Decision(0.0, action, "job", instance, *told)).partition('"job":"job",')[2]


def decided_of(session: ControlSession, happened: list[Happened], text: bytes) -> deque[Decided]:
    """What a session decides because of what happened, whose lines are this text."""
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n")) + 1
    columns = PieceColumns.of(JournalPiece(0, text, np.concatenate([np.zeros(1, np.int64), ends])))
    assert columns, "lines as hcloud writes them"
    batch = EventBatch(compiled()[FOLLOW], *columns.events(session.setup, session.tables), session.tables)
    decided = deque[Decided]()
    while batch.next < len(happened):
        decided += session.follow(batch, len(happened))
        if batch.next < len(happened):  # one that the kernel does not take
            event = event_of(*happened[batch.next])
            made = session.handle(event)
            decided += map(astuple, made)
            batch.passed(session.tables, {event.job, *(d.job for d in made if d.job)})
    return decided


def check_first(path: Path) -> None:
    """The first lines of a journal are those of a session that is told one event after the other."""
    session = ControlSession(setup_of(), compiled())
    with path.open(encoding="utf-8") as file:
        assert next(file) == header_line(session.setup)
        for at, number, comes in happening(CHECKED):
            if at > (CHECKED - 1) / RATE:  # in the journal more jobs come from here on
                return
            event = event_of(at, number, comes)
            for said in (event, *session.handle(event)):
                assert next(file) == entry_line(said)


def operate_journal(folder: Path, most: int) -> Path:
    """What 'hcloud operate' would have written until just before its journal would begin anew a second time."""
    path, setup = folder / "journal.jsonl", setup_of()
    session, fold = ControlSession(setup, compiled()), Fold(setup)
    file = LiveJournalFile(path, 0)
    file.append_text(header_line(setup, ORIGIN))
    renewed, second, waiting = False, 0, list[Line]()
    for at, number, comes in happening(most):
        if int(at) > second:
            second = int(at)
            lines = [*waiting, PassNoted(at)]
            fold.take(waiting)
            file.append_text("".join(map(entry_line, lines)))
            waiting = []
            if file.is_long:
                if renewed:
                    break
                renewed = True
                file.renew(header_line(setup, ORIGIN), Before(session.snapshot(), fold.image()), at)
        if comes:
            order = JobOrder(f"job-{number:07d}", at, ("work", str(number)), 1_000, 2_048, app="etl", expect=RUNS)
            note, arrival = taken(order, UNKNOWN, coin_of(order.id), at)
            decided = session.handle(arrival)
            place = decided[0].instance or 0
            waiting += [note, arrival, *decided, Beginning(at, order.id, 1, place)]
        else:
            completion = Completion(at, f"job-{number:07d}", 1.0)
            over = AttemptOver(at, completion.job, 1, JobPhase.ENDED, number / RATE, at, 0)
            waiting += [over, completion, *session.handle(completion)]
    file.close()
    return path


def main() -> int:
    """Print a line for each."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--hours", type=float, default=1.0)
    hours = parser.parse_args().hours
    with tempfile.TemporaryDirectory() as name:
        jobs = int(hours * 3600 * RATE)
        of_decide(Path(name) / "decide.jsonl", f"{hours:g} h, {jobs:,} jobs", jobs)
        of_operate(Path(name))
    return 0


def of_decide(path: Path, said: str, jobs: int) -> None:
    """Restarts of 'hcloud decide': with nothing beside the journal, and after 31 MiB more from the point that this left
    there."""
    lines, size = decide_journal(path, jobs), path.stat().st_size
    print(f"b17 decide | {said}, {lines:,} lines, {size >> 20:,} MiB: {timed('decide', '--journal', str(path))}")
    tail = cut(path, max(size - EVERY + (1 << 20), 0))
    beside(path).unlink(missing_ok=True)
    timed("decide", "--journal", str(path))
    if beside(path).exists():
        with path.open("ab") as file:
            file.write(tail)
        print(f"b17 decide | the last {len(tail) >> 20} MiB from a point: {timed('decide', '--journal', str(path))}")
    path.unlink()


def of_operate(folder: Path) -> None:
    """The restart of 'hcloud operate' that takes longest."""
    (folder / ".hcloud" / "operate").mkdir(parents=True)
    path = operate_journal(folder / ".hcloud" / "operate", 10**9)
    begins = time.perf_counter()
    known = read_journal(path)
    read = time.perf_counter() - begins
    replay(known, compiled())
    replayed = time.perf_counter() - begins - read
    fold_of(known)
    whole = time.perf_counter() - begins
    told = f"read {read:.1f} s, replayed {replayed:.1f} s, in all {whole:.1f} s"
    size = path.stat().st_size >> 20
    print(f"b17 operate | {size} MiB after a snapshot, {len(known.lines):,} lines: {told}")
    print(f"b17 operate | status of it: {timed('operate', 'status', '--state', str(folder / '.hcloud'))}")


def cut(path: Path, place: int) -> bytes:
    """Cut a journal before the first arrival after a place; what was cut off."""
    with path.open("rb") as file:
        file.seek(place)
        text = file.read()
    at = place + text.index(b'\n{"at":', text.index(b'"event"')) + 1
    while b'"arrival"' not in (line := text[at - place : text.index(b"\n", at - place) + 1]):
        at += len(line)
    with path.open("r+b") as file:
        file.truncate(at)
    return text[at - place :]


def timed(*words: str) -> str:
    """How long a command takes that has nothing to read, and what it needs."""
    begins, quiet = time.perf_counter(), subprocess.DEVNULL
    running = subprocess.Popen([sys.executable, "-m", "hcloud", *words], stdin=quiet, stdout=quiet, stderr=quiet)
    _, status, used = os.wait4(running.pid, 0)
    assert status == 0, words
    busy = used.ru_utime + used.ru_stime
    return f"{time.perf_counter() - begins:.1f} s ({busy:.1f} s of processor), {used.ru_maxrss >> 10} MiB"


if __name__ == "__main__":
    sys.exit(main())
