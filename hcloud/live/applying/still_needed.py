"""Machines that were to go and stay: what was to take their place has ended, is not listed, or does not run yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hcloud.live.applying.run import ApplyRun
from hcloud.live.polling import Poll
from hcloud.model.holdings.change import Observed
from hcloud.model.holdings.live import MachineState
from hcloud.units import counted


@dataclass(frozen=True, slots=True)
class _Needed:
    """Machines of one address that stay of those that were to go; ``starting`` are those that may replace them yet."""

    address: str
    ids: tuple[str, ...]
    starting: tuple[str, ...]


def still_needed(run: ApplyRun, going: Sequence[str]) -> frozenset[str]:
    """Of machines that are to go those without which fewer would run than are wanted at their address, and fewer than
    do now. What starts there is waited for."""
    wanted = _wanted(run, going)
    if not wanted:
        return frozenset()
    poll = Poll(run.site, run.patience, run.site.waits.ready)
    found = _needed(run, run.seen or run.look(), wanted, going)
    while any(n.starting for n in found) and not poll.is_over:
        starting = counted(sum(len(n.starting) for n in found), "machine")
        poll.pause(f"for {starting} to start before others are terminated")
        found = _needed(run, run.look(), wanted, going)
    for needed in found:
        run.problem(f"{needed.address}: {', '.join(needed.ids)} not terminated: no replacement is running")
    return frozenset(i for needed in found for i in needed.ids)


def _wanted(run: ApplyRun, going: Sequence[str]) -> Mapping[str, int]:
    """How many machines are wanted at each address where some are to go and others to stay."""
    ids = set(going)
    addresses = {r.address for r in run.book.state.records if r.id in ids}
    return {slot.address: slot.count for slot in run.found.slots if slot.address in addresses}


def _needed(run: ApplyRun, seen: Observed, wanted: Mapping[str, int], going: Sequence[str]) -> list[_Needed]:
    told, leaving = {m.id: m.state for m in seen.machines if m.state.is_live}, set(going)
    found = []
    for address, count in sorted(wanted.items()):
        here = [r.id for r in run.book.state.records if r.address == address and r.id in told and not r.ending]
        starting = [i for i in here if told[i] is MachineState.PENDING and run.site.waits.ready > 0]
        running = [i for i in here if i not in starting]
        goes = [i for i in running if i in leaving]
        lack = min(count, len(running)) - (len(running) - len(goes))
        if lack > 0:
            found.append(_Needed(address, tuple(goes[:lack]), tuple(i for i in starting if i not in leaving)))
    return found
