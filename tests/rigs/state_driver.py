"""Runs hcloud's stores in processes that are really ended, and tells on stdout, a JSON object a line, what happened.

``sweep WHERE`` ends a process at the first crash point, the second, and so on until the work completes; ``kill WHERE
N`` ends N processes with SIGKILL at odd moments; ``race WHERE N`` stops one process at a crash point and lets a second
one begin, N times; ``together WHERE N`` starts pairs at the same time; ``hold WHERE`` kills a holder of the lock;
``unwritable`` works in a directory that may only be read. Children are forked from this process, which has no threads,
so that an attempt costs milliseconds.
"""

from __future__ import annotations

import gc
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from states import LINEAGE, a_conclusion, a_record, an_end, an_intent

from hcloud.control.ports import Crash, MendableStore
from hcloud.errors import HcloudError
from hcloud.model.holdings.state import Intent, State
from hcloud.store.files.crash import KILLED_EXIT, CrashAt, go_on
from hcloud.store.records.intents import open_numbers
from hcloud.usecases.live.state import open_store

NOBODY = 65534
Tell = Callable[[str, object], None]


def work(store: MendableStore, tell: Tell) -> None:
    """A small apply: it goes on from whatever stands there."""
    with store.locked("apply"):
        tell("inside", os.getpid())
        state = store.load() or State(LINEAGE)
        state = store.save(replace(state, generation=state.generation + 1))
        tell("saved", state.serial)
        journal = store.journal()
        for number in sorted(open_numbers(journal.entries())):
            journal.conclude(replace(a_conclusion(number), machines=()))
            tell("concluded", number)
        first, second = journal.next_number(), journal.next_number()
        journal.intend(an_intent(first))
        tell("intended", first)
        journal.intend(an_end(second))
        tell("intended", second)
        journal.conclude(a_conclusion(first))
        tell("concluded", first)
        state = store.save(replace(state, records=(a_record(1), a_record(2))))
        tell("saved", state.serial)
        journal.conclude(replace(a_conclusion(second), machines=()))
        tell("concluded", second)
        journal.trim(second)
        tell("trimmed", second)
        tell("outside", os.getpid())


def undisturbed(where: str, times: int = 1) -> Callable[[Tell], None]:
    """The work without crash points."""

    def body(tell: Tell) -> None:
        for _ in range(times):
            work(open_store(where, go_on), tell)

    return body


def forked(body: Callable[[Tell], None]) -> tuple[int, int]:
    """A child that runs ``body``, and the end of the pipe on which it tells."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return child, reading
    code = 0
    try:
        os.close(reading)
        body(lambda what, value: _put(writing, [what, value]))
    except HcloudError as error:
        _put(writing, ["refused", [type(error).__name__, error.exit_code, str(error)]])
        code = error.exit_code
    except BaseException as error:
        _put(writing, ["failed", repr(error)])
        code = 99
    finally:
        os._exit(code)


def _put(handle: int, value: object) -> None:
    os.write(handle, json.dumps(value).encode() + b"\n")


def told(child: int, reading: int) -> tuple[int, list[tuple[str, object]]]:
    """How a child ended and everything it told."""
    with os.fdopen(reading, "rb") as pipe:
        lines = [tuple(json.loads(line)) for line in pipe]
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), lines


def look(where: str) -> dict[str, object]:
    """What a fresh process reads after another was ended (V6)."""
    store = open_store(where, go_on)
    state = store.load()
    entries = store.journal().entries()
    return {
        "serial": None if state is None else state.serial,
        "records": None if state is None else len(state.records),
        "intents": [e.number for e in entries if isinstance(e, Intent)],
        "open": sorted(open_numbers(entries)),
    }


def tell_out(document: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()


def ended_at(tell: Tell, crash: Crash) -> Crash:
    """Tells the name of a point before it comes to it."""

    def come(name: str) -> None:
        tell("point", name)
        crash(name)

    return come


def sweep(where: str) -> None:
    """End a child at its n-th point, look, and let another go on; until one completes."""
    for number in range(1, 500):
        place = f"{where}/{number}"
        if "://" not in place:
            Path(place).mkdir(parents=True)
        place += "/state"

        def ends(tell: Tell, number: int = number, place: str = place) -> None:
            work(open_store(place, ended_at(tell, CrashAt(f"*|{number}"))), tell)

        code, lines = told(*forked(ends))
        found: dict[str, object] = {"number": number, "exit": code, "told": lines, "after": look(place)}
        again, more = told(*forked(undisturbed(place)))
        tell_out({**found, "again": again, "more": more, "finally": look(place)})
        if code != KILLED_EXIT:
            return


def kill(where: str, times: int) -> None:
    """End children at odd moments, all in one place."""
    chance = random.Random(7)
    for number in range(times):
        child, reading = forked(undisturbed(where, 200))
        before = _until(reading, chance.randint(0, 30))
        time.sleep(chance.uniform(0, 0.003))
        os.kill(child, signal.SIGKILL)
        code, lines = told(child, reading)
        tell_out({"number": number, "exit": code, "told": before + lines, "after": look(where)})
    code, lines = told(*forked(undisturbed(where)))
    tell_out({"number": times, "exit": code, "told": lines, "after": look(where)})


def race(where: str, times: int) -> None:
    """Stop one child at every second of its points, run a second to its end, let the first go on."""
    for number in range(1, 2 * times, 2):
        go_reading, go_writing = os.pipe()

        def first(tell: Tell, number: int = number, go: int = go_reading) -> None:
            count = 0

            def stop(name: str) -> None:
                nonlocal count
                count += 1
                if count == number:
                    tell("stopped", name)
                    os.read(go, 1)

            work(open_store(where, stop), tell)

        child, reading = forked(first)
        before = _until(reading)
        second = told(*forked(undisturbed(where)))
        os.write(go_writing, b"x")
        code, after = told(child, reading)
        os.close(go_reading)
        os.close(go_writing)
        tell_out({"number": number, "first": [code, before + after], "second": second, "pid": child})


def _until(reading: int, most: int = 1_000_000) -> list[tuple[str, object]]:
    """What a child tells until it stops (or ends, or told enough), byte by byte since the rest is read by another."""
    lines: list[tuple[str, object]] = []
    line = b""
    while len(lines) < most and (byte := os.read(reading, 1)):
        line += byte
        if byte == b"\n":
            lines.append(tuple(json.loads(line)))
            line = b""
            if lines[-1][0] == "stopped":
                break
    return lines


def together(where: str, times: int) -> None:
    """Start two children at the same time; a file that only one may make shows whether both were ever inside."""
    for number in range(times):

        def body(tell: Tell) -> None:
            def alone(what: str, value: object) -> None:
                mark = f"{where}.inside"
                if what == "inside":
                    os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
                if what == "outside":
                    Path(mark).unlink()
                tell(what, value)

            work(open_store(where, go_on), alone)

        children = [forked(body), forked(body)]
        tell_out({"number": number, "ends": [told(*c) for c in children]})


def hold(where: str) -> None:
    """A child that intends something and is killed while it holds the lock; then what the next one finds."""

    def body(tell: Tell) -> None:
        store = open_store(where, go_on)
        with store.locked("apply"):
            store.save(State(LINEAGE))
            store.journal().intend(an_intent(1))
            tell("stopped", "holding")
            time.sleep(60)

    child, reading = forked(body)
    _until(reading)
    second = told(*forked(undisturbed(where)))
    os.kill(child, signal.SIGKILL)
    code, _ = told(child, reading)
    third = told(*forked(undisturbed(where)))
    tell_out({"pid": child, "exit": code, "while": second, "after": third})


def unwritable() -> None:
    """Work as somebody who may read a directory and not write to it."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name) / "state"
        code, _ = told(*forked(undisturbed(str(place))))
        Path(name).chmod(0o755)
        for path in (*place.iterdir(), place):
            if os.geteuid() == 0:
                os.chown(path, NOBODY, NOBODY)
            path.chmod(0o500 if path.is_dir() else 0o400)

        def body(tell: Tell) -> None:
            if os.geteuid() == 0:
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            store = open_store(str(place), go_on)
            state = store.load()
            tell("loaded", None if state is None else state.serial)
            journal = store.journal()
            try:
                journal.intend(an_intent(journal.next_number()))
                tell("asked", 1)
            except HcloudError as error:
                tell("journal", [error.exit_code, str(error)])
            work(store, tell)

        ended, lines = told(*forked(body))
        place.chmod(0o700)
        tell_out({"made": code, "exit": ended, "told": lines})


def warm() -> None:
    """Import once what is imported late: each child would, and who changes its user can import no more."""
    with tempfile.TemporaryDirectory() as name:
        undisturbed(f"{name}/state")(lambda what, value: None)
    gc.freeze()


if __name__ == "__main__":
    warm()
    verb, words = sys.argv[1], sys.argv[2:]
    if verb == "sweep":
        sweep(words[0])
    elif verb in ("kill", "race", "together"):
        {"kill": kill, "race": race, "together": together}[verb](words[0], int(words[1]))
    elif verb == "hold":
        hold(words[0])
    else:
        unwritable()
