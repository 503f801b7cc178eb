"""Applying: exactly what was shown, every step noted before it is asked for, and told as it came out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from hcloud.at_once import in_parallel
from hcloud.errors import CredentialsError, HcloudError, ThrottledError, UnavailableError
from hcloud.live.applying.book import Book, Came
from hcloud.live.applying.crash_points import RUN_BEGUN, RUN_ENDED
from hcloud.live.applying.ending import ask_to_end, confirm_ends, end_unwanted
from hcloud.live.applying.guards import ChangeApproval, Purse, check_base, check_guards, check_known, check_true
from hcloud.live.applying.launching import AddressLaunch, work_off
from hcloud.live.applying.outcome import ApplyOutcome, ApplyResult, Shortfall
from hcloud.live.applying.ready import observe_until_told, wait_until_ready
from hcloud.live.applying.run import ApplyRun
from hcloud.live.observe import observe
from hcloud.live.patience import Patience, StoppedError
from hcloud.live.polling import Poll
from hcloud.live.site import Site
from hcloud.model.holdings.change import Bar, Change, ChangeSet, How, Observed
from hcloud.model.holdings.live import Machine, MachineState
from hcloud.model.holdings.state import Deed, Intent, OwnedMachine, State
from hcloud.planning.changes.diff import DiffInputs, changes
from hcloud.planning.changes.digest import wanted_digest
from hcloud.planning.changes.recall import adopted, record_of, with_endings, with_records
from hcloud.planning.changes.rentals import departed
from hcloud.planning.changes.slots import is_always_rented
from hcloud.planning.changes.standing import being_ended
from hcloud.units import counted


def apply(
    site: Site, found: ChangeSet, approval: ChangeApproval | None = None, terms: DiffInputs | None = None
) -> ApplyOutcome:
    """Carry out changes, after looking again whether everything they were made from still holds.

    Raises, with nothing done, InputError (altered), StaleError (not what is there any more), DeniedByGuardError,
    PartialError or HcloudError (too little known), LockedError, and what the cloud says to a first look. Everything
    later is told by the outcome; what is already done is never taken back by an error.
    """
    return _carry_out(site, found, (approval or ChangeApproval(), terms or DiffInputs()), "apply")


def ends_of_all(site: Site, terms: DiffInputs | None = None) -> ChangeSet:
    """What destroy would do: end everything that this state holds.

    Machines that were ordered so short a while ago that the cloud does not tell of them yet are waited for.
    """
    why = "destroy ends every machine of this state"
    return changes((), observe_until_told(site), replace(terms or DiffInputs(), leaves=why))


def destroy(
    site: Site, found: ChangeSet, approval: ChangeApproval | None = None, terms: DiffInputs | None = None
) -> ApplyOutcome:
    """Carry out the end of everything; ``approval.ends`` is the number of machines, typed on purpose."""
    return _carry_out(site, found, (approval or ChangeApproval(), terms or DiffInputs()), "destroy")


def _carry_out(site: Site, found: ChangeSet, agreed: tuple[ChangeApproval, DiffInputs], purpose: str) -> ApplyOutcome:
    approval, terms = agreed
    check_true(found)
    with site.store.locked(purpose):
        patience = site.patience()
        observed = observe(site, patience)
        check_base(found, observed, approval, terms)
        if found.blocking:
            _remember_missed(site, observed)
        check_known(found)
        check_guards(found, approval)
        stored, lost = site.remembered(), strays(site, observed)
        observed = replace(observed, state=replace(observed.state, departed=(*observed.state.departed, *lost)))
        if not (found.to_do or observed.open or observed.state.records or stored.records or lost):
            return ApplyOutcome(ApplyResult.CONVERGED, left=found, calls=patience.calls, serial=stored.serial)
        run = _begun(site, patience, (found, approval, terms), observed)
        _work(run, observed)
        return _told(run)


def _remember_missed(site: Site, observed: Observed) -> None:
    """Note since when machines are not told of: only what was missed before may be forgotten one day."""
    stored = site.store.load()
    if stored is not None and observed.told_none:
        site.store.save(replace(observed.state, serial=stored.serial))


def _begun(
    site: Site, patience: Patience, given: tuple[ChangeSet, ChangeApproval, DiffInputs], observed: Observed
) -> ApplyRun:
    """Remember what was seen, adopt what is ours, and count this plan: its orders have keys of their own."""
    found, approval, terms = given
    stored = site.remembered()
    wanted = {slot.address: slot.count for slot in found.slots}
    state = replace(_adopting(found, observed), operating=found.operating or stored.operating, wanted=wanted)
    state = replace(state, plan=wanted_digest(found.slots)) if found.to_do else state
    if any(is_always_rented(slot.address) for slot in found.slots):
        state = replace(state, planned=found.made.date())
    moved = bool(found.to_do or observed.open) or state != stored
    book = Book(site, replace(state, serial=stored.serial), found.digest[:12], observed.open)
    if moved:
        book.save(lambda s: replace(s, generation=s.generation + 1), RUN_BEGUN)
        book.trim()
    run = ApplyRun(site, patience, book, Purse(found, approval), found, terms, observed.scope)
    run.seen = run.first = observed
    return run


def _adopting(found: ChangeSet, observed: Observed) -> State:
    """The state with every machine that is ours by its tags and came from an order or is to be adopted."""
    told = {m.id: m for m in observed.machines}
    known = {r.id for r in observed.state.records}
    orders = {i.order.key: i for i in observed.open if i.order is not None}
    from_orders = [record_of(m, orders[m.key]) for m in _live(observed) if m.key in orders and m.id not in known]
    ids = [i for c in found.changes if c.how is How.ADOPT for i in c.ids if i not in known]
    by_tags = [adopted(told[i], observed.state, observed.at) for i in ids if told[i].key not in orders]
    return with_records(observed.state, [*from_orders, *by_tags])


def _live(observed: Observed) -> list[Machine]:
    return [m for m in observed.machines if m.state.is_live and m.lineage == observed.state.lineage]


def _conclude_seen(run: ApplyRun, observed: Observed) -> None:
    """Conclude what the look has answered: orders all of whose machines are seen, and ends.

    The end of a machine that is not told of is asked for again: only the answer to that says that it is gone. Of one
    that is told of as if nobody had asked, this plan decides.
    """
    counts = Counter(m.key for m in observed.machines)
    live, absent = {m.id for m in observed.machines if m.state.is_live}, being_ended(observed)
    for intent in observed.open:
        order = intent.order
        if intent.deed is Deed.LAUNCH and order is not None and counts[order.key] >= order.count:
            machines = tuple(m for m in _live(observed) if m.key == order.key)
            run.book.done(intent, Came(machines=machines), lambda s: s)
        elif intent.deed is Deed.TERMINATE:
            gone = tuple(i for i in intent.ids if i in absent)
            told = _ended_again(run, gone) if gone else {}
            ended = Came(ids=tuple(i for i in intent.ids if i not in live), ended=told)
            run.book.done(intent, ended, _with_ends(ended, observed.at))


def _ended_again(run: ApplyRun, ids: tuple[str, ...]) -> dict[str, datetime]:
    """Ask for ends again that nobody knows the outcome of; gives the times that the cloud tells of them."""
    run.seen = None
    run.patience.expect(1)
    return run.patience.ask(lambda: run.cloud.terminate(ids), again=True).ended


def _with_ends(ended: Came, at: datetime) -> Callable[[State], State]:
    return lambda state: with_endings(state, ended.ids, at, ended.ended)


def _work(run: ApplyRun, observed: Observed) -> None:
    """Resolve, launch, wait, end, confirm. What goes wrong ends it early and is told; what was done is noted."""
    jobs = _jobs(run.found, observed)
    try:
        _conclude_seen(run, observed)
        _launch(run, jobs)
        if run.halted is None:
            _make_ready(run, jobs)
        if run.halted is None:
            _end(run, jobs)
    except HcloudError as error:
        run.halt(error)
    except MemoryError:
        run.halt(HcloudError("the memory that hcloud may use ran out", hint="run apply again: it continues from there"))


def _jobs(found: ChangeSet, observed: Observed) -> list[AddressLaunch]:
    slots = {slot.address: slot for slot in found.slots}
    intents = {i.number: i for i in observed.open}
    by_address: dict[str, list[Change]] = {}
    for change in found.to_do:
        if change.how in (How.LAUNCH, How.REPLACE, How.RESOLVE):
            by_address.setdefault(change.address, []).append(change)
    return [
        AddressLaunch(
            address=address,
            slot=slots.get(address),
            count=sum(c.count for c in mine),
            replaces=tuple(i for c in mine if c.how is How.REPLACE for i in c.ids),
            orders=tuple(intents[c.intent] for c in mine if c.how is How.RESOLVE),
        )
        for address, mine in sorted(by_address.items())
    ]


def _launch(run: ApplyRun, jobs: Sequence[AddressLaunch]) -> None:
    in_parallel(lambda job: work_off(run, job), jobs, run.site.workers)


def _make_ready(run: ApplyRun, jobs: Sequence[AddressLaunch]) -> None:
    """Wait for what came; what stays pending is ended and replaced, once."""
    if run.site.waits.ready <= 0:
        return
    replacements = _end_late(run, jobs)
    if not replacements:
        return
    _launch(run, replacements)
    if run.halted is not None:
        return
    for job in _end_late(run, replacements):
        run.fall_short(Shortfall(job.address, job.count, ("pending again after one replacement",), False))
    by_address = {job.address: job for job in jobs}
    for replacement in replacements:
        by_address[replacement.address].came += replacement.came


def _end_late(run: ApplyRun, jobs: Sequence[AddressLaunch]) -> list[AddressLaunch]:
    """End what is still pending when the time is up; returns what it would take to replace it."""
    late = wait_until_ready(run).pending
    if not late:
        return []
    run.problem(f"pending for more than {run.site.waits.ready:.0f} s, ended: {', '.join(sorted(late))}")
    ask_to_end(run, tuple(late))
    found = []
    for job in jobs:
        lost = [i for i in job.came if i in late]
        job.came = [i for i in job.came if i not in late]
        if lost and job.slot is not None:
            found.append(AddressLaunch(job.address, job.slot, len(lost)))
    for i in late:
        run.launched.pop(i, None)
    return found


def _end(run: ApplyRun, jobs: Sequence[AddressLaunch]) -> None:
    """End what goes: everything shown to go, of what is replaced as many as came, and what nobody wanted; but nothing
    in whose place nothing runs."""
    protected = {r.id for r in run.book.state.records if r.protected}
    ids = [i for c in run.found.changes if c.how is How.TERMINATE for i in c.ids]
    for job in jobs:
        ids += job.replaces[: len(job.came)]
    spared = protected.union(run.ended)
    ids = [i for i in ids if i not in spared]
    needed = still_needed(run, ids)
    ask_to_end(run, [i for i in ids if i not in needed])
    end_unwanted(run, run.surplus)
    if any(r.ending for r in run.book.state.records):
        confirm_ends(run)


def _told(run: ApplyRun) -> ApplyOutcome:
    """How it came out, judged by the same comparison that made the plan."""
    blind = isinstance(run.halted, (StoppedError, CredentialsError, UnavailableError))  # asked for long enough
    left = None if blind else _what_is_left(run)
    result = _judge(run, left)
    if isinstance(run.halted, ThrottledError):
        counts = ((run.launched, run.found.coming, "launched"), (set(run.ended), run.found.going, "asked to terminate"))
        done = [f"{len(ids)} of {wanted} {what}" for ids, wanted, what in counts if wanted]
        run.problem(", ".join(["throttled", *done]))
    return ApplyOutcome(
        result=result,
        launched=tuple(sorted(run.launched)),
        ended=tuple(sorted(set(run.ended))),
        wanted=run.found.coming,
        shortfalls=tuple(run.shortfalls),
        problems=tuple(run.problems),
        error=run.halted,
        open=tuple(_in_words(i) for i in run.book.unresolved()),
        left=left,
        acted=run.acted,
        calls=run.patience.calls,
        serial=run.book.state.serial,
    )


def _in_words(intent: Intent) -> str:
    order = intent.order
    if order is None:
        return f"the end of {', '.join(intent.ids)}"
    return f"{order.address}: {order.count} x {order.instance_type} in {order.zone}"


def _what_is_left(run: ApplyRun) -> ChangeSet | None:
    """What a plan would show now; None where the cloud cannot be looked at any more."""
    try:
        fresh = run.seen is not None and run.seen.serial == run.book.state.serial
        seen = run.seen if fresh and run.seen is not None else run.as_answered() or run.look()
        if replace(seen.state, serial=0) != replace(run.book.state, serial=0):
            run.book.save(lambda _: seen.state, RUN_ENDED)
        now = replace(seen, serial=run.book.state.serial)
        return changes(run.found.slots, now, run.terms)
    except HcloudError as error:
        run.halt(error)
        return None


def _judge(run: ApplyRun, left: ChangeSet | None) -> ApplyResult:
    if left is None:
        unsure = bool(run.launched or run.ended or run.book.unresolved())
        return ApplyResult.UNKNOWN if unsure else ApplyResult.PARTIAL
    unsure = any(i.deed in (Deed.LAUNCH, Deed.TERMINATE) for i in run.book.unresolved())
    unseen = any(r.bar is Bar.UNSEEN for r in left.refusals)
    ending = run.seen is not None and any(r.ending for r in run.seen.state.records)
    if unseen or unsure or ending:
        return ApplyResult.UNKNOWN
    done = left.is_settled and run.halted is None
    return ApplyResult.CONVERGED if done else ApplyResult.PARTIAL


def strays(site: Site, observed: Observed) -> tuple[OwnedMachine, ...]:
    """Machines of this state that the log of rentals takes for running, that the state has forgotten, and that the
    cloud does not tell of as standing, with their ends. What still stands is adopted, or named as not ours."""
    state, told = observed.state, {m.id: m for m in observed.machines}
    known = {r.id for r in (*state.records, *state.departed)}
    found = []
    for usage in site.store.rentals().running(state.lineage):
        machine = told.get(usage.resource)
        if usage.resource not in known and not (machine is not None and machine.state.is_live):
            found.append(departed(usage, machine, observed.at))
    return tuple(found)


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
