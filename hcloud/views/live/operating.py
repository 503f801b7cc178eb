"""Live work as people watch it: one screen, one line a decision, and what it came to at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.text import Text

from hcloud.control.operating.fold import Fold
from hcloud.control.operating.records import RESULTS, JobRecord, MachinePhase, MachineRecord
from hcloud.model.catalog import PurchaseOption
from hcloud.model.running.decision import Decision, DecisionAction
from hcloud.units import counted, format_money
from hcloud.views.tables import Figures

if TYPE_CHECKING:
    from hcloud.model.holdings.state import LockInfo
    from hcloud.views.lines import Shown

SHOWN_MACHINES, SHOWN_QUEUE, SHOWN_DECISIONS = 12, 5, 6
CENTS = 2
_TO = {
    DecisionAction.PLACE: "to",
    DecisionAction.LAUNCH: "to a new",
    DecisionAction.QUEUE: "to the",
    DecisionAction.MOVE: "away from",
    DecisionAction.ENLARGE: "more of",
}


def clock_time(at: float) -> str:
    """A moment as people read it on the day itself (UTC)."""
    return f"{datetime.fromtimestamp(at, UTC):%H:%M:%S}"


def decision_line(decision: Decision) -> str:
    """A decision in one line: when, what, about whom, and why."""
    number = "" if decision.instance is None or "server" in decision.place else f" {decision.instance}"
    if decision.job is None or decision.action is DecisionAction.RETAIN:
        what = f"{decision.action} {decision.place}{number}"
    elif decision.action is DecisionAction.END:
        what = f"job {decision.job} ended"
    elif decision.action is DecisionAction.REFUSE:
        what = f"job {decision.job} refused"
    else:
        what = f"job {decision.job} {_TO.get(decision.action, decision.action)} {decision.place}{number}"
    return f"{clock_time(decision.at)}  {what}: {decision.why}"


def operating_screen(fold: Fold, troubles: Mapping[str, str], now: float) -> list[Shown | Figures]:
    """All that somebody who watches wants to know."""
    shown: list[Shown | Figures] = [*_head(fold, now)]
    machines = [m for m in fold.standing.values() if m.phase is not MachinePhase.GONE]
    if machines:
        rows = [_machine(m, now) for m in sorted(machines, key=_by_interest)[:SHOWN_MACHINES]]
        names = ("machine", "type", "paid", "state", "quality", "jobs", "$/h", "note")
        shown.append(Figures(names, rows, frozenset({0, 4, 6})))
        if len(machines) > SHOWN_MACHINES:
            shown.append(f"and {counted(len(machines) - SHOWN_MACHINES, 'machine')} more")
    shown += _queue(fold, now)
    if fold.decisions:
        shown.append(Text("last decisions", style="bold"))
        shown += [decision_line(d) for d in fold.decisions[-SHOWN_DECISIONS:]]
    shown += [Text(f"trouble with {what}: {why}", style="yellow") for what, why in troubles.items()]
    return shown


def _head(fold: Fold, now: float) -> Iterator[Shown]:
    phases = Counter((m.reserved, m.phase is MachinePhase.READY) for m in fold.standing.values())
    running = sum(job.on is not None for job in fold.active.values())
    reserved = f"{phases[True, True]} of {counted(phases[True, True] + phases[True, False], 'reserved machine')} up"
    rented = f"{sum(m.stands for m in fold.standing.values() if not m.reserved)} rented"
    money = f"{format_money(fold.hourly(), CENTS)}/h, {format_money(fold.spent(now), CENTS)} so far"
    asked = f"  ({fold.asked} asked for)" if fold.asked else ""
    yield Text.assemble((fold.setup.strategy, "bold"), f"  {reserved}, {rented}  {money}{asked}")
    yield f"jobs: {running} running, {len(fold.queue)} queued{_results(fold)}"


def _results(fold: Fold) -> str:
    told = [f"{fold.counted[r]} {r}" for r in RESULTS if fold.counted.get(r)]
    return f"; {', '.join(told)}" if told else ""


def _by_interest(machine: MachineRecord) -> tuple[int, int]:
    return (0 if machine.jobs else 1, machine.instance)


def _machine(m: MachineRecord, now: float) -> tuple[str, ...]:
    paid = "reserved" if m.reserved else "spot" if m.option is PurchaseOption.SPOT else "on demand"
    state = "idle" if m.phase is MachinePhase.READY and not m.jobs else str(m.phase)
    quality = "" if m.quality is None else f"{m.quality:.2f}"
    jobs = ", ".join(list(m.jobs)[:3]) + (f" and {len(m.jobs) - 3} more" if len(m.jobs) > 3 else "")
    kept = f"kept {max(m.idle_until - now, 0):.0f} s" if m.idle_until is not None else m.why
    price = "" if m.hourly is None else f"{m.hourly:,.4f}"
    return (str(m.instance), m.type_name, paid, state, quality, jobs, price, kept)


def _queue(fold: Fold, now: float) -> Iterator[Shown | Figures]:
    if not fold.queue:
        return
    yield Text(f"queue: {counted(len(fold.queue), 'job')}", style="bold")
    for name in list(fold.queue)[:SHOWN_QUEUE]:
        job = fold.jobs[name]
        why = job.decision.why if job.decision is not None else ""
        yield f"{name}  waits {now - job.came:,.0f} s: {why}"


def who_works(fold: Fold, holder: LockInfo | None) -> Shown:
    """Whether a controller works now, or has done all there was."""
    if holder is not None:
        return f"controller: {holder}"
    if fold.is_finished:
        return f"finished {clock_time(fold.last)} UTC; 'hcloud operate run JOBS' begins anew"
    return "no controller works now: 'hcloud operate run' goes on"


def outcome_lines(fold: Fold, now: float) -> Iterator[Shown | Figures]:
    """What it came to: jobs by how they ended, those that did not complete by name, machines and dollars."""
    jobs = [j for j in fold.jobs.values() if j.is_over]
    told = ", ".join(f"{fold.counted[r]} {r}" for r in RESULTS if fold.counted.get(r)) or "none"
    left = len(fold.active)
    yield f"jobs: {told}" + (f"; {left} not over" if left else "")
    if bad := [j for j in jobs if j.result not in ("completed", "cancelled")]:
        yield Figures(("job", "result", "why"), [(j.order.id, j.result, _why(j)) for j in bad[:SHOWN_MACHINES]])
    standing = sum(m.stands for m in fold.standing.values())
    launched = len(fold.rented) + sum(m.launched is not None for m in fold.standing.values())
    machines = counted(launched, "machine")
    after = "none left standing" if not standing else f"{counted(standing, 'machine')} still standing"
    yield f"{machines} launched, {after}; {format_money(fold.spent(now), CENTS)} at list price"


def _why(job: JobRecord) -> str:
    if job.out_of_memory:
        return f"used up its memory of {job.order.memory:,} MiB"
    if job.result == "failed":
        return f"exit code {job.code}" + (": there is no such command" if job.code == 127 else "")
    return job.decision.why if job.decision is not None else ""
