"""A controller of live work at work: pass after pass, and what is said of it on a screen, in a pipe or to programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from hcloud.cli.acting import stopping
from hcloud.units import counted

NAMED = 5
"""Jobs that a warning names."""

if TYPE_CHECKING:
    from hcloud.cli.groups import Printed, ToldAt
    from hcloud.control.operating.fold import Fold
    from hcloud.live.operating.loop import OperatingLoop
    from hcloud.model.running.alternatives import CostComparison
    from hcloud.model.running.note import CommitmentsAdvised
    from hcloud.readers.configuration.config import Loaded
    from hcloud.usecases.live.ground import LiveGround
    from hcloud.usecases.live.operating.operate import OpenedWork
    from hcloud.views.console import Terminal, Watch


def work(here: LiveGround, operation: OpenedWork, terminal: Terminal, shown: ToldAt) -> None:
    """Pass after pass until nothing is left to do, or somebody asks to leave."""
    from hcloud.control.operating.results import UNLUCKY
    from hcloud.views.live.documents import operating_document
    from hcloud.views.live.operating import Moment, compared_lines, operating_screen, outcome_lines, unlucky_beyond

    loop, now = operation.loop, operation.loop.desk.now
    more, leaving = True, stopping(terminal, "leaving: jobs and machines go on")
    with _whatever_ends_it(loop.fold, terminal), leaving as stop:
        here.stops.append(stop)
        _tell_beginning(here, operation, terminal)
        with _screen(terminal, shown) as watch:
            while more and not stop():
                more = loop.step()
                if watch is not None:
                    seen = Moment(now(), loop.desk.troubles, loop.desk.passed_by, terminal.lines)
                    watch(operating_screen(loop.fold, seen))
                    loop.forget_told()
                else:
                    _tell(loop, terminal, shown)
                if more and not stop():
                    loop.wait()
    if stop():
        _left(loop.fold, terminal)
        raise typer.Exit(stop.exit_code)
    if loop.desk.terms.replan is not None:
        with terminal.busy("planning from the demand so far"):
            advise(terminal, shown, loop.desk.terms.replan(now()))
    with terminal.busy("simulating other strategies"):
        found = compared_costs(operation.directory, here.loaded, shown, at_end=True)
    if shown.is_document:
        _write_line(terminal, operating_document(loop.fold, shown.at, found))
    else:
        terminal.show(*outcome_lines(loop.fold, now()), *compared_lines(found))
        for line in unlucky_beyond(loop.fold, operation.directory):
            terminal.say(line, wrong=True)  # to be copied
    _tell_of_not_run(loop, terminal)
    terminal.flush()
    loop.finish()
    failed = loop.unread or loop.fold.harvested.counted.get("failed")
    if failed or any(loop.fold.results.counted.get(result) for result in UNLUCKY):
        raise typer.Exit(1)


def _tell_of_not_run(loop: OperatingLoop, terminal: Terminal) -> None:
    """Jobs that never came, and a file that may have some."""
    if left := loop.not_come:
        named = ", ".join(left[:NAMED]) + (", ..." if len(left) > NAMED else "")
        asked = loop.fold.asked
        why = f"not run, as '{asked}' was asked for" if asked else "not due yet when the work ended and not run"
        terminal.warn(f"{counted(len(left), 'job')} {why}: {named}")
    if loop.unread:
        ways = "'hcloud operate run' continues, 'hcloud operate drain' ends the work without them"
        terminal.warn(f"jobs of a file that cannot be read did not run: restore it, and {ways}. {loop.unread}")


def compared_costs(directory: Path, loaded: Loaded, shown: ToldAt | Printed, *, at_end: bool) -> CostComparison:
    """What other strategies would have cost for the jobs so far, or for all of them."""
    from hcloud.live.clock import SystemClock
    from hcloud.usecases.live.operate_requests import JOURNAL
    from hcloud.usecases.live.operating.compared import compared

    return compared(directory / JOURNAL, loaded, shown.at.date(), SystemClock().now(), at_end=at_end)


def _tell_beginning(here: LiveGround, operation: OpenedWork, terminal: Terminal) -> None:
    """Where machines are launched, and whether it goes on with work that was begun, or may begin for a second time what
    runs elsewhere."""
    from hcloud.usecases.live.operating.looking import others_at_work

    if not here.is_local:
        origin = operation.origin
        terminal.note(f"machines are launched in {origin.cloud} {origin.account} {origin.region}")
    if operation.goes_on:
        asked = f" ({operation.loop.fold.asked} asked for)" if operation.loop.fold.asked else ""
        terminal.note(f"going on with {operation.directory}{asked}")
    elif others := others_at_work(here, operation.origin.lineage):
        terminal.warn(
            f"this project has {counted(len(others), 'machine')} of other live work, whose journal is not in "
            f"{operation.directory}: if it is for the same jobs, they run twice; end this ('hcloud operate stop') and "
            "continue in the directory and on the computer where that began"
        )


def _screen(terminal: Terminal, shown: ToldAt) -> AbstractContextManager[Watch | None]:
    return nullcontext() if shown.is_document else terminal.screen()


def _tell(loop: OperatingLoop, terminal: Terminal, shown: ToldAt) -> None:
    """A line a decision and a line a job that failed (none for people where only results are wanted), and what cannot
    be done at the moment when that changes."""
    from hcloud.store.journals.decisions import decision_document
    from hcloud.store.journals.events import event_document
    from hcloud.views.live.operating import decision_line, failure_line, held_line, trouble_line

    made, loop.desk.made = loop.desk.made, []
    for decision in made:
        if shown.is_document:
            _write_line(terminal, decision_document(decision))
        elif not terminal.quiet:
            terminal.say(decision_line(decision))
    advice, loop.desk.advice = loop.desk.advice, []
    for one in advice:
        advise(terminal, shown, one)
    failed, loop.desk.failed = loop.desk.failed, []
    for event in failed:
        if shown.is_document:
            _write_line(terminal, event_document(event))
        elif not terminal.quiet:
            terminal.say(failure_line(event, loop.fold.jobs.get(event.job)))
    for machine in () if shown.is_document or terminal.quiet else loop.newly_held():
        terminal.say(held_line(machine, loop.desk.now()))
    _tell_of_idle_capacity(loop, terminal, shown)
    for what, why in loop.new_troubles():
        terminal.warn(trouble_line(what, why))
    terminal.flush()


def _tell_of_idle_capacity(loop: OperatingLoop, terminal: Terminal, shown: ToldAt) -> None:
    from hcloud.store.journals.notes import note_document
    from hcloud.views.live.harvested import harvest_line
    from hcloud.views.live.operating import clock_time

    for note in loop.told_of_idle_capacity():
        if shown.is_document:
            _write_line(terminal, note_document(note))
        elif not terminal.quiet and (line := harvest_line(note)):
            terminal.say(f"{clock_time(note.at)}  {line}")


def advise(terminal: Terminal, shown: ToldAt, advice: CommitmentsAdvised) -> None:
    """Tell what to commit to."""
    from hcloud.store.journals.notes import note_document
    from hcloud.views.live.operating import advice_lines

    if shown.is_document:
        _write_line(terminal, note_document(advice))
    else:
        terminal.show(*advice_lines(advice))


def _write_line(terminal: Terminal, document: Mapping[str, object]) -> None:
    from hcloud.store.journals.events import to_line
    from hcloud.views.escaped import json_as_stored

    terminal.write(json_as_stored(to_line(document)))


@contextmanager
def _whatever_ends_it(fold: Fold, terminal: Terminal) -> Iterator[None]:
    """Say what is left where this controller ends before its work: the reader of a pipe is gone, a disk takes no more,
    another one has its lock, or it is wrong itself."""
    try:
        yield
    except (Exception, SystemExit):  # so leaves Rich
        _left(fold, terminal)
        raise


def _left(fold: Fold, terminal: Terminal) -> None:
    from hcloud.views.live.operating import machines_left, ways_on

    terminal.note(f"{machines_left(fold)} left as they are: {ways_on(fold)}")
