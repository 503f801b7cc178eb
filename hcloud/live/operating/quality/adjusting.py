"""Running jobs are kept at their targets: each is measured, and the controller is told of those that are off for as
long as its rules wait. What follows is decided there, by the same steps as in a simulation."""

from __future__ import annotations

import math

from hcloud.control.operating.reached import gains_nothing, rate_of
from hcloud.control.operating.records import JobRecord
from hcloud.errors import HcloudError
from hcloud.live.harvesting.gauge import Gauge
from hcloud.live.operating.desk import OperatingDesk
from hcloud.model.running.decision import Decision
from hcloud.model.running.event import BelowQos, Closing
from hcloud.policy.adjusting import Sighting, below_or_above, due_at, notice, unseen

_USED = "use of processors"
_LONGEST, _MOST_VAIN = 30.0, 6
"""Ours: the controller is told of a job that nothing can be done for more and more rarely, but every half a minute."""


class Adjuster:
    """What was seen of each running job since it was last adjusted."""

    def __init__(self, desk: OperatingDesk) -> None:
        self._desk, self._rules = desk, desk.session.setup.rules
        self._seen: dict[str, Sighting] = {}
        self._told: dict[str, tuple[float, int]] = {}
        self._gauge, self._gauged = Gauge(), -math.inf
        self._stuck: set[str] = set()

    @property
    def is_on(self) -> bool:
        """Whether the strategy adjusts running jobs."""
        return self._rules.watching > 0

    @property
    def period(self) -> float:
        """Seconds between two looks at the latency of a service."""
        return self._rules.monitor_period if self.is_on else self._desk.terms.rhythm.measure

    def look(self, now: float) -> None:
        """Note what all jobs use of processors, where the engine can tell, once a period."""
        used = self._desk.terms.used
        if not self.is_on or used is None or now - self._gauged < self._rules.monitor_period:
            return
        self._gauged = now
        try:
            self._gauge.look(used(), now)
        except HcloudError as error:
            self._desk.troubles[_USED] = str(error)
            self._gauge.forget()
        else:
            self._desk.troubles.pop(_USED, None)

    def forget(self, job: str) -> None:
        """An attempt is over, or has not begun: what begins is seen anew."""
        self._seen.pop(job, None)
        self._told.pop(job, None)
        self._stuck.discard(job)

    def is_below(self, performance: float) -> bool:
        """Whether that is less than is promised."""
        return below_or_above(self._rules, (performance, performance))[0]

    def rate(self, job: JobRecord, p99: float) -> float | None:
        """The most that a service could do of its target with what it has; None where nobody knows."""
        target, name = job.order.target, job.order.id
        if target is None:
            return None
        cores = self._desk.session.cores_of(name) / 1000
        used = self._gauge.used((name, job.attempt))
        (self._stuck.add if gains_nothing(job, used, cores) else self._stuck.discard)(name)
        return rate_of(target.milliseconds, p99, used, cores)

    def measured(self, job: JobRecord, performance: float, rate: float | None, now: float) -> list[Decision] | None:
        """Tell the controller of a job that has been off its target for long enough: what it decided about that job;
        None where it was not told, as of one that another place did not help."""
        desk, rules, name = self._desk, self._rules, job.order.id
        seen = self._seen.setdefault(name, unseen())
        notice(rules, seen, (performance, performance if rate is None else rate), now)
        tables, (told, vain) = desk.session.tables, self._told.get(name, (-math.inf, 0))
        wait = min(rules.apart * 2.0**vain, _LONGEST) if vain else 0.0
        if (
            name not in tables.rows
            or name in self._stuck
            or now < max(due_at(rules, seen, tables.control.watched[tables.rows[name]]), told + wait)
        ):
            return None
        self._seen[name] = unseen()  # whether or not anything follows
        made = [d for d in desk.happen(BelowQos(now, name, performance, rate)) if d.job == name]
        self._told[name] = now, 0 if made else min(vain + 1, _MOST_VAIN)
        return made

    def close(self, job: JobRecord, performance: float, now: float, *, told: bool) -> None:
        """Close the reserved machine of a job that is below its target and of which the controller was ``told``, and
        open it when the job is back, where the strategy has it so."""
        desk, name, number = self._desk, job.order.id, job.on
        if not self._rules.closes or number is None:
            return
        is_below, reserved = performance < self._rules.monitor_level, desk.fold.machines[number].reserved
        if desk.shut_for.get(number) == name and not is_below:
            del desk.shut_for[number]
            desk.happen(Closing(now, number, over=True, suffers=name))
        elif told and is_below and reserved and job.instance == number and not desk.session.is_closed(number):
            desk.shut_for[number] = name
            desk.happen(Closing(now, number, suffers=name))
