"""Waiting for machines to run; one that never does is ended, and replaced once."""

from __future__ import annotations

from dataclasses import dataclass

from hcloud.live.applying.run import ApplyRun
from hcloud.live.observe import observe
from hcloud.live.polling import Poll
from hcloud.live.site import ProgressStep, Site
from hcloud.model.holdings.change import Observed
from hcloud.model.holdings.live import MachineState
from hcloud.planning.changes.standing import GRACE, being_ended
from hcloud.units import counted


@dataclass(frozen=True, slots=True)
class Late:
    """What does not run when the time is up: ``pending`` by what the cloud says, ``untold`` because it says nothing."""

    pending: frozenset[str] = frozenset()
    untold: frozenset[str] = frozenset()


def wait_until_ready(run: ApplyRun) -> Late:
    """Look until all machines that came run, or time is up; what somebody else ended meanwhile is not waited for.

    What came in an earlier run, and so short a while ago that the cloud may not tell of it yet, is waited for, too.
    """
    if not run.launched and not _young(run.seen or run.look()):
        return Late()
    if (answered := run.as_answered()) is not None and not _young(answered):
        return Late()
    poll = Poll(run.site, run.patience, run.site.waits.ready)
    while True:
        late = _late(run, run.look())
        running = len(run.launched.keys() - late.pending - late.untold)
        run.site.progress(ProgressStep("running", running, len(run.launched)))
        if not (late.pending or late.untold) or poll.is_over:
            return late
        poll.pause(_what(late))


def _what(late: Late) -> str:
    told = [(late.pending, "to start"), (late.untold, "to be listed by the cloud")]
    return " and ".join(f"for {counted(len(ids), 'machine')} {to}" for ids, to in told if ids)


def _late(run: ApplyRun, seen: Observed) -> Late:
    told = {m.id: m for m in seen.machines}
    ended = set(run.ended)
    ids = [i for i in run.launched if i not in ended]
    tagged = {m.id for m in seen.machines if m.lineage == seen.state.lineage or not m.state.is_live}
    untold = {i for i in ids if i not in tagged} | _young(seen)
    pending = (i for i in ids if i in told and told[i].state is MachineState.PENDING)
    return Late(frozenset(pending), frozenset(untold))


def _young(seen: Observed) -> set[str]:
    """Machines ordered so short a while ago that it says nothing if they, or their tags, are not told of; one whose end
    may have been asked for is not waited for."""
    tagged = {m.id for m in seen.machines if m.lineage == seen.state.lineage}
    young = (r for r in seen.state.records if not r.ending and seen.at - r.intended < GRACE)
    return {r.id for r in young if r.id not in tagged} - being_ended(seen)


def observe_until_told(site: Site) -> Observed:
    """What is there, once the cloud tells of everything that was ordered lately, or five minutes have passed."""
    patience = site.patience()
    poll = Poll(site, patience, GRACE.total_seconds())
    while True:
        seen = observe(site, patience)
        young = _young(seen)
        if not young or poll.is_over:
            return seen
        poll.pause(_what(Late(untold=frozenset(young))))
