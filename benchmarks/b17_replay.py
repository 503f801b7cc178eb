"""B17: how long a controller takes to be where it was, from the journal of 50 jobs a second:
``python -m benchmarks.b17_replay [--hours 24]``.

Three figures. The journal of 'hcloud decide' is replayed with nothing beside it, but for its last 31 MiB; then these,
from the point that was left beside it. And of 'hcloud operate' the longest part that a restart ever replays: 32 MiB
after a snapshot, at 3,000 jobs that run.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from heapq import heappop, heappush
from pathlib import Path

from hcloud.control.operating.fold import Fold
from hcloud.control.operating.happened import taken
from hcloud.control.sessions.session import ControlSession
from hcloud.live.operating.terms import Line
from hcloud.model.running.event import UNKNOWN, Arrival, Completion
from hcloud.model.running.job import JobOrder, JobPhase
from hcloud.model.running.note import AttemptOver, Beginning, PassNoted
from hcloud.policy.facts import Setup, TypeFacts
from hcloud.policy.registry import compose, rents_whole_servers
from hcloud.readers.strategies import load_strategy
from hcloud.sim.kernels.compiled import REPLAY, SESSION, compiled
from hcloud.store.journals.events import coin_of
from hcloud.store.journals.journal import Before, LiveOrigin, entry_line, header_line, read_journal
from hcloud.store.journals.live import LiveJournalFile
from hcloud.store.journals.resume_point import EVERY, beside
from hcloud.usecases.live.decide import open_stream, replay
from hcloud.usecases.live.operating.operate import fold_of

RATE, RUNS = 50, 60.0
"""Jobs a second, and how many seconds each of them runs."""
MACHINES = 220
ORIGIN = LiveOrigin("0" * 32, "aws", "bench", "here", "local")


def setup_of() -> Setup:
    """SR on machines of sixteen vCPUs."""
    strategy, types = load_strategy("SR"), (TypeFacts("large", 16_000, 65_536, 30.0, 9_000),)
    return Setup(
        strategy.name, strategy.digest(), compose(strategy, 0), rents_whole_servers(strategy), MACHINES, None, types
    )


def happening(jobs: int) -> Iterator[tuple[float, JobOrder, bool]]:
    """Jobs that come (True) and end, in time order."""
    running: list[tuple[float, int, JobOrder]] = []
    for number in range(jobs):
        at = number / RATE
        while running and running[0][0] <= at:
            ended, _, order = heappop(running)
            yield ended, order, False
        order = JobOrder(f"job-{number:07d}", at, ("work", str(number)), 1_000, 2_048, app="etl", expect=RUNS)
        heappush(running, (at + RUNS + number % 7, number, order))
        yield at, order, True
    while running:
        ended, _, order = heappop(running)
        yield ended, order, False


def decide_journal(path: Path, jobs: int) -> int:
    """What 'hcloud decide' would have written; its lines."""
    session, lines = ControlSession(setup_of(), compiled(SESSION)), 0
    with path.open("w", encoding="utf-8") as file:
        file.write(header_line(session.setup))
        for at, order, comes in happening(jobs):
            came = Arrival(at, order.id, order.cores, order.memory, UNKNOWN, False, coin_of(order.id))
            event = came if comes else Completion(at, order.id, 1.0)
            told = [event, *session.handle(event)]
            file.write("".join(map(entry_line, told)))
            lines += len(told)
    return lines


def operate_journal(folder: Path, most: int) -> Path:
    """What 'hcloud operate' would have written until just before its journal would begin anew a second time."""
    path, setup = folder / "journal.jsonl", setup_of()
    session, fold = ControlSession(setup, compiled(SESSION)), Fold(setup)
    file = LiveJournalFile(path, 0)
    file.append_text(header_line(setup, ORIGIN))
    renewed, second, waiting = False, 0, list[Line]()
    for at, order, comes in happening(most):
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
            note, arrival = taken(order, UNKNOWN, coin_of(order.id), at)
            decided = session.handle(arrival)
            place = decided[0].instance or 0
            waiting += [note, arrival, *decided, Beginning(at, order.id, 1, place)]
        else:
            completion = Completion(at, order.id, 1.0)
            over = AttemptOver(at, order.id, 1, JobPhase.ENDED, order.submit, at, 0)
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
    tail = cut(path, max(size - EVERY + (1 << 20), 0))
    gone = path.stat().st_size >> 20
    whole = timed_decide(path)
    with path.open("ab") as file:
        file.write(tail)
    told = f"the first {gone:,} MiB {whole[0]:.1f} s ({whole[1]:.1f} s of processor)"
    if beside(path).exists():
        told += f", the last {len(tail) >> 20} MiB from the point {timed_decide(path)[0]:.1f} s"
    print(f"b17 decide | {said}, {lines:,} lines, {size >> 20:,} MiB: {told}; at most {most()} MiB", flush=True)
    path.unlink()


def of_operate(folder: Path) -> None:
    """The restart of 'hcloud operate' that takes longest."""
    path = operate_journal(folder, 10**9)
    begins = time.perf_counter()
    known = read_journal(path)
    read = time.perf_counter() - begins
    replay(known, compiled(SESSION))
    replayed = time.perf_counter() - begins - read
    fold_of(known)
    whole = time.perf_counter() - begins
    told = f"read {read:.1f} s, replayed {replayed:.1f} s, in all {whole:.1f} s; at most {most()} MiB"
    size = path.stat().st_size >> 20
    print(f"b17 operate | {size} MiB after a snapshot, {len(known.lines):,} lines: {told}")


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


def timed_decide(path: Path) -> tuple[float, float]:
    """Seconds until 'hcloud decide' is where it was, and those of the processor."""
    compiled(REPLAY)
    begins, busy = time.perf_counter(), time.process_time()
    opened = open_stream(None, compiled(SESSION), path)
    seconds = time.perf_counter() - begins, time.process_time() - busy
    assert opened.gone_on.untold == "", "nothing was lost"
    opened.stream.close()
    return seconds


def most() -> int:
    """MiB that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


if __name__ == "__main__":
    sys.exit(main())
