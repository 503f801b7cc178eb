"""The course of a run from its journal: live work with the machines that its cloud had, others with those decided."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hcloud.model.running.note import Ended, Launched, Launching
from hcloud.planning.changes.slots import RESERVED
from hcloud.planning.reports.course import MachineSpan, WorkCourse, course_of
from hcloud.store.journals.journal import JournalContents
from hcloud.store.journals.live import read_whole
from hcloud.usecases.reports.rented import rented_in


def course_of_journal(path: Path) -> WorkCourse:
    """Demand, machines, queue and decisions over the time of a journal."""
    journal = read_whole(path)
    machines = _simulated(journal) if journal.live is None else _lived(journal)
    return course_of(journal.lines, tuple(machines))


def _lived(journal: JournalContents) -> Iterator[MachineSpan]:
    vcpus = {t.name: t.cores / 1000 for t in journal.setup.types}
    orders: dict[int, Launching] = {}
    begun: dict[int, float] = {}
    for line in journal.lines:
        if isinstance(line, Launching):
            orders[line.instance] = line
        elif isinstance(line, Launched):
            begun[line.instance] = line.launched
        elif isinstance(line, Ended) and line.instance in begun:
            order, end = orders[line.instance], line.at if line.ended is None else line.ended
            yield MachineSpan(begun.pop(line.instance), end, vcpus[order.type_name], order.reserved)
    last = journal.lines[-1].at if journal.lines else 0.0
    for number, start in begun.items():
        yield MachineSpan(start, last, vcpus[orders[number].type_name], orders[number].reserved)


def _simulated(journal: JournalContents) -> Iterator[MachineSpan]:
    vcpus = {t.name: t.cores / 1000 for t in journal.setup.types}
    told = rented_in(journal.setup, journal.entries, 0)
    for one in told.rented:
        end = told.period.end if one.end is None else one.end
        yield MachineSpan(one.start, end, vcpus[one.instance_type], one.address == RESERVED)
