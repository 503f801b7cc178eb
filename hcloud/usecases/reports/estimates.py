"""What a controller of live work expected when it decided, beside what happened: waits, and the quality of machines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from statistics import fmean

from hcloud.control.sessions.session import ControlSession
from hcloud.model.catalog import PurchaseOption
from hcloud.model.running.decision import Decision, DecisionAction
from hcloud.model.running.event import Arrival, Quality
from hcloud.planning.reports.accuracy import ComparedFigure
from hcloud.planning.reports.journeys import Journey, journeys_of
from hcloud.policy.codes import SCALE
from hcloud.policy.mapping import Situation
from hcloud.store.journals.journal import JournalContents
from hcloud.units import counted
from hcloud.usecases.live.decide import Kernels

_DIGITS = 9  # so many more than a screen shows that rounding again there gives what rounding once would
_QUEUED, _LAUNCHED, _TOOK = "that were queued", "for which a machine was launched", "with expected seconds"


@dataclass(slots=True)
class _Pairs:
    """Expected and actual values of one kind."""

    unit: str
    values: list[tuple[float, float]] = field(default_factory=list)

    def figure(self, name: str) -> ComparedFigure:
        expected, actual = (fmean(column) for column in zip(*self.values, strict=True))
        return ComparedFigure(name, self.unit, _exact(expected), _exact(actual))

    @property
    def error(self) -> float:
        """The mean of the absolute errors."""
        return fmean(abs(actual - expected) for expected, actual in self.values)


@dataclass(frozen=True, slots=True)
class Estimates:
    """Means of what was expected beside means of what came, and how far single ones were off."""

    figures: tuple[ComparedFigure, ...]
    notes: tuple[str, ...]


def estimates_of(journal: JournalContents, kernels: Kernels) -> Estimates:
    """Replay the whole of a live journal, and ask the controller at each arrival what it expects."""
    waits = {_QUEUED: _Pairs("s"), _LAUNCHED: _Pairs("s")}
    offered: dict[int, float] = {}
    journeys = journeys_of(journal.lines)
    for (arrival, situation, made), journey in zip(_arrivals(journal, kernels), journeys, strict=True):
        decision = next((d for d in made if d.job == arrival.job), None)
        if decision is None:
            continue
        if decision.action is DecisionAction.LAUNCH and decision.instance is not None:
            if PurchaseOption.SPOT not in decision.place:
                offered[decision.instance] = situation.offered / SCALE
            _add(waits[_LAUNCHED], _spin_up(journal, decision), arrival, journey)
        elif decision.action is DecisionAction.QUEUE:
            _add(waits[_QUEUED], situation.wait, arrival, journey)
    told = {f"wait of {counted(len(p.values), 'job')} {kind}": p for kind, p in waits.items() if p.values}
    told |= {f"run of {counted(len(p.values), 'job')} {_TOOK}": p for p in (_took(journeys),) if p.values}
    if (machines := _machines(journal, offered)).values:
        told[f"quality of {counted(len(machines.values), 'launched machine')}"] = machines
    notes = tuple(f"{name}: mean absolute error {_said(p)}" for name, p in told.items())
    return Estimates(tuple(p.figure(name) for name, p in told.items()), notes)


def _arrivals(journal: JournalContents, kernels: Kernels) -> Iterator[tuple[Arrival, Situation, Sequence[Decision]]]:
    """Each arrival with what the controller saw before it decided, and what it decided."""
    session, seen = ControlSession(journal.setup, kernels), list[Situation]()
    session.watch = lambda row, now: seen.append(session.situation(row, now))
    for event in journal.events:
        seen.clear()
        made = session.handle(event)
        if isinstance(event, Arrival):
            yield event, seen[0], made


def _add(pairs: _Pairs, expected: float, arrival: Arrival, journey: Journey) -> None:
    """Only where there was an estimate, and where the job has begun."""
    if journey.began is not None and math.isfinite(expected):
        pairs.values.append((expected, max(journey.began - arrival.at, 0.0)))


def _spin_up(journal: JournalContents, decision: Decision) -> float:
    name = decision.place.rpartition(" ")[2]
    return next((t.spin_up for t in journal.setup.types if t.name == name), math.inf)


def _took(journeys: Sequence[Journey]) -> _Pairs:
    done = (j for j in journeys if j.performance is not None and j.order is not None)
    return _Pairs("s", [(j.order.expect, j.ran) for j in done if j.order is not None and j.order.expect is not None])


def _machines(journal: JournalContents, offered: dict[int, float]) -> _Pairs:
    """The first probe of each machine that was launched for a job beside the quality that was expected of its type."""
    probes = [e for e in journal.events if isinstance(e, Quality)]
    first = {p.instance: p.score for p in reversed(probes)}
    return _Pairs("share", [(offered[number], score) for number, score in sorted(first.items()) if number in offered])


def _said(pairs: _Pairs) -> str:
    return f"{pairs.error:,.1f} s" if pairs.unit == "s" else f"{100 * pairs.error:.1f} points"


def _exact(value: float) -> Decimal:
    return Decimal(repr(round(value, _DIGITS)))
