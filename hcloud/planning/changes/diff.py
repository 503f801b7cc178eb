"""What has to change: what should stand, against what is remembered, against what the cloud tells.

The truth table; every line is a case in the tests. *recorded* is the state's records of an address, *told* what the
cloud says of them; N is the slot's count, 0 where nothing is wanted at the address any more.

====  =======  ====================  ===============================  =============================================
line  desired  recorded              told                             change
====  =======  ====================  ===============================  =============================================
1     0        none                  none                             nothing
2     N        none                  none                             ``+`` N
3     N        N                     live                             nothing
4     N        fewer                 live                             ``+`` what is missing
5     N        more                  live                             ``-`` what is too many, chosen as said below
6     0        any                   live                             ``-`` all
7     N        N                     some ended or on their way out   ``+`` for those
8     N        N                     some live, of another shape      ``~`` replace: launch, then end
9     N        enough right ones     more, of another shape           ``-`` those of another shape
10    N        N                     some pending for too long        ``~`` replace
11    N        N                     some not told of, lately         nothing: they count as there; refusal *unseen*
12    N        N, missed before and  not told of                      ``+`` for them (observing has forgotten them)
               for five minutes
13    any      some                  none of them told of             refusal *unseen*, which blocks everything
14    0        some                  not told of                      refusal *unseen*: not terminated
15    any      asked to end          live all the same                ``-`` again
16    any      asked to end          on its way out, or not told of   nothing
17    N        none                  ours and live, wanted            ``~`` adopt
18    N        enough                ours and live, too many          ``-``
19    any      none                  ours and live, without address   refusal *stray*
20    any      none                  of somebody else, or untagged    nothing: it is never looked at
21    any      some                  live, without our tag            counts; refusal *untagged*: neither foreign nor
                                                                     to be ended
22    N        too many              live and protected               counts; refusal *protected* instead of ``-``
23    N        order, outcome open   not all of it                    ``~`` resolve: counts as there
24    fewer    order, outcome open   not all of it                    ``~`` resolve, and of it only what is wanted
25    any      never applied         machines of this project under   refusal *lost-state*, which blocks everything
                                     another lineage
26    N        N                     stopped                          nothing: they count; a note
27    any      some                  live, in an unknown state        nothing: they count; refusal *unseen*
28    $        --                    --                               ``$`` shown; never done by apply
====  =======  ====================  ===============================  =============================================

Of too many machines those go first that are not remembered, then whose type is preferred least, then whose zone is,
then the youngest, then by id. What is remembered never goes because something stands in its place that is not: that is
adopted first, and has to be seen again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal

from hcloud.model.catalog import PurchaseOption
from hcloud.model.clouds.known import CLOUDS
from hcloud.model.holdings.change import Action, Bar, Base, Change, ChangeSet, How, Observed, Refusal, Slot
from hcloud.model.holdings.live import Launch, MachineState
from hcloud.model.holdings.state import Deed, Operating
from hcloud.model.plans.plan import MixLine
from hcloud.planning.changes.digest import observed_digest, signed
from hcloud.planning.changes.standing import Standing, open_launches, said_beside, standing, still_there
from hcloud.units import counted, rate

NOTHING = Decimal(0)
PENDING_LIMIT = timedelta(minutes=10)  # ours


@dataclass(frozen=True, slots=True)
class DiffInputs:
    """What else changes depend on. ``rate`` tells dollars an hour of what may stand and is in no slot; ``beside``
    says that another state of the same project is meant to be; ``wanted`` are the purchases of a plan, which has
    used up what is held; ``operating`` is how it is run; ``free`` says why nothing has a price here, for the notes;
    ``said`` are further notes; ``leaves`` is why machines end that no slot is for."""

    rate: Callable[[str, PurchaseOption], Decimal | None] = lambda *_: None
    beside: bool = False
    wanted: tuple[MixLine, ...] = ()
    operating: Operating | None = None
    free: str = ""
    said: tuple[str, ...] = ()
    leaves: str = "not in the plan; will be terminated"


@dataclass(slots=True)
class _Draft:
    """Changes while they are made."""

    observed: Observed
    terms: DiffInputs
    rates: Mapping[tuple[str, PurchaseOption], Decimal]
    changes: list[Change] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def rate(self, of: Standing | Launch) -> Decimal | None:
        """Dollars an hour: of a slot that is paid for in the same way, else by the terms; None where nobody knows."""
        known = self.rates.get((of.instance_type, of.option))
        return self.terms.rate(of.instance_type, of.option) if known is None else known

    def rates_of(self, machines: Sequence[Standing]) -> Decimal:
        return sum((self.rate(m) or NOTHING for m in machines), NOTHING)

    def refuse(self, bar: Bar, address: str, why: str, machines: Sequence[Standing] = ()) -> None:
        if not machines:
            return
        ids = tuple(m.id for m in machines)
        self.refusals.append(Refusal(bar, address, why, ids))

    def end(self, address: str, machines: Sequence[Standing], reason: str) -> None:
        for instance_type in sorted({m.instance_type for m in machines}):
            of_type = [m for m in machines if m.instance_type == instance_type]
            ids = tuple(sorted(m.id for m in of_type))
            less = -self.rates_of(of_type)
            self.changes.append(Change(Action.TERMINATE, How.TERMINATE, address, instance_type, 0, less, reason, ids))


def changes(slots: Sequence[Slot], observed: Observed, terms: DiffInputs | None = None) -> ChangeSet:
    """What has to change for ``slots`` to stand, by the truth table above; pure, and the same for the same input."""
    terms = terms or DiffInputs()
    there = standing(observed)
    rates = {(shape.instance_type, slot.option): shape.hourly for slot in slots for shape in slot.shapes}
    draft = _Draft(observed, terms, rates)
    by_address = {slot.address: slot for slot in slots}
    if _is_blocked(draft):
        return _change_set(draft, tuple(slots), there)
    _strays(draft, there)
    owned = [s for s in there if s.address or s.record is not None]
    standing_at: dict[str, list[Standing]] = {}
    for s in owned:
        standing_at.setdefault(s.address, []).append(s)
    promised = {i.order.address for i, _ in open_launches(observed) if i.order is not None}
    for address in sorted(by_address.keys() | standing_at.keys() | promised):
        _at(draft, address, by_address.get(address), standing_at.get(address, []))
    _finish_endings(draft)
    draft.notes += _asked_before(observed)
    draft.notes += said_beside(observed.strangers)
    _commitments(draft)
    return _change_set(draft, tuple(slots), there)


def _change_set(draft: _Draft, slots: tuple[Slot, ...], there: tuple[Standing, ...]) -> ChangeSet:
    observed = draft.observed
    base = Base(observed.scope, observed.state.lineage, observed.serial, observed_digest(observed))
    before = draft.rates_of(there)
    after = before + sum((c.hourly for c in draft.changes if c.how is not How.SHOW), NOTHING)
    unpriced = sorted({s.instance_type for s in there if draft.rate(s) is None})
    found = ChangeSet(
        base=base,
        made=observed.at,
        slots=slots,
        changes=tuple(draft.changes),
        refusals=tuple(draft.refusals),
        notes=(*draft.notes, *draft.terms.said, *_free(draft.terms)),
        standing=len(there),
        hourly_before=before,
        hourly_after=after,
        unpriced=tuple(unpriced),
        operating=draft.terms.operating,
    )
    return signed(found)


def _is_blocked(draft: _Draft) -> bool:
    """Lines 13 and 25: where too little is known to do anything, not a single change is shown."""
    observed = draft.observed
    if observed.told_none:
        ids = tuple(r.id for r in observed.state.records if not r.ending)
        why = f"none of the {counted(len(ids), 'machine')} of the state is listed: look again in five minutes"
        draft.refusals.append(Refusal(Bar.UNSEEN, "", why, ids, blocks=True))
    if observed.unclaimed and not draft.terms.beside:
        ids = tuple(m.id for m in observed.unclaimed)
        project, lineages = observed.state.project, sorted({m.lineage for m in observed.unclaimed})
        why = (
            f"{counted(len(ids), 'machine')} of project {project or '(none)'} are not in this state, which was never "
            f"applied (lineage {', '.join(lineages)}): 'hcloud recover' rebuilds the state they belong to"
        )
        draft.refusals.append(Refusal(Bar.LOST_STATE, "", why, ids, blocks=True))
    return bool(draft.refusals)


def _strays(draft: _Draft, there: Sequence[Standing]) -> None:
    """Line 19."""
    strays = [s for s in there if not s.address and s.record is None]
    draft.refuse(
        Bar.STRAY,
        "",
        "it has this state's lineage tag but no address tag: tag it again, or terminate it yourself",
        strays,
    )


def _at(draft: _Draft, address: str, slot: Slot | None, there: list[Standing]) -> None:
    """All lines for one address."""
    at = draft.observed.at
    right = [s for s in there if slot is not None and s.fits(slot) and not s.waits_too_long(at, PENDING_LIMIT)]
    wrong = _without(there, right)
    _note_oddities(draft, there)
    _untagged(draft, address, there)
    stuck = _cannot_end(draft, address, wrong)
    wrong = _without(wrong, stuck)
    count = slot.count if slot is not None else 0
    _unseen(draft, address, right)
    needed = _resolve(draft, address, max(count - len(right) - len(stuck), 0))
    too_many = sum(s.is_seen for s in right) - count
    if too_many > 0 and slot is not None:
        _shrink(draft, slot, [s for s in right if s.is_seen], too_many)
    ended = {i for c in draft.changes if c.how is How.TERMINATE for i in c.ids}
    _adopt(draft, address, [s for s in [*right, *stuck] if s.id not in ended])
    if slot is not None and needed > 0:
        wrong = _replace(draft, slot, wrong, needed)
    if slot is not None:
        wrong = _without(wrong, _spared(draft, slot, right, wrong))
    reason = "not as planned, and enough others are running" if slot else draft.terms.leaves
    draft.end(address, wrong, reason)


def _without(machines: Sequence[Standing], others: Sequence[Standing]) -> list[Standing]:
    ids = {s.id for s in others}
    return [s for s in machines if s.id not in ids]


def _note_oddities(draft: _Draft, there: Sequence[Standing]) -> None:
    """Lines 26 and 27, and what people changed."""
    odd = [s for s in there if s.machine is not None and s.machine.state is MachineState.UNKNOWN]
    why = "the cloud reports an unknown machine state: assumed running"
    draft.refuse(Bar.UNSEEN, there[0].address if there else "", why, odd)
    for s in there:
        if s.machine is None:
            continue
        if s.machine.state is MachineState.STOPPED:
            draft.notes.append(f"{s.id} at {s.address} is {s.machine.state}: counted as running")
        if s.record is not None and s.record.instance_type != s.instance_type:
            draft.notes.append(f"{s.id} at {s.address} was {s.record.instance_type} and is {s.instance_type} now")


def _untagged(draft: _Draft, address: str, there: Sequence[Standing]) -> None:
    """Line 21."""
    bare = [s for s in there if s.is_seen and not s.tagged]
    draft.refuse(Bar.UNTAGGED, address, "not tagged by hcloud: counted, never terminated", bare)


def _cannot_end(draft: _Draft, address: str, machines: Sequence[Standing]) -> list[Standing]:
    """Lines 14, 21 and 22: of machines that should go those that may not; the untagged are refused already."""
    unseen = [s for s in machines if not s.is_seen]
    guarded = [s for s in machines if s.is_seen and s.protected]
    bare = [s for s in machines if s.is_seen and not s.protected and not s.tagged]
    draft.refuse(Bar.UNSEEN, address, "missing from the listing: not terminated now", unseen)
    draft.refuse(Bar.PROTECTED, address, "it is protected", guarded)
    return [*unseen, *guarded, *bare]


def _unseen(draft: _Draft, address: str, right: Sequence[Standing]) -> None:
    """Line 11."""
    missed = [s for s in right if not s.is_seen]
    draft.refuse(Bar.UNSEEN, address, "missing from the listing: assumed running for five minutes", missed)


def _resolve(draft: _Draft, address: str, needed: int) -> int:
    """Lines 23 and 24: what open orders still owe comes first; returns what is needed beyond it."""
    for intent, owed in open_launches(draft.observed):
        order = intent.order
        if order is None or order.address != address or not owed:
            continue
        wanted = min(owed, needed)
        when = f"{intent.at:%Y-%m-%d %H:%M:%S} UTC"
        reason = f"ordered at {when} with an unknown outcome: sent again with the same key"
        if owed > wanted:
            reason += f"; {owed - wanted} of its {owed} {'are' if owed - wanted > 1 else 'is'} then terminated"
        more = (draft.rate(order) or NOTHING) * wanted
        draft.changes.append(
            Change(Action.REPLACE, How.RESOLVE, address, order.instance_type, wanted, more, reason, (), intent.number)
        )
        needed -= wanted
    return needed


def _shrink(draft: _Draft, slot: Slot, right: Sequence[Standing], too_many: int) -> None:
    """Lines 5, 18, 21 and 22."""
    ranked = sorted(right, key=lambda s: _leaves_first(slot, s))
    free = [s for s in ranked if not s.protected and s.tagged]
    new = [s for s in free if not s.remembered]
    known = sum(s.remembered for s in right)
    free = [*new, *[s for s in free if s.remembered][: max(known - slot.count, 0)]]
    draft.end(slot.address, free[:too_many], f"{too_many} more than the {slot.count} planned")
    if len(free) < too_many:
        held = _without(ranked, free)
        _cannot_end(draft, slot.address, held[: too_many - len(free)])


def _leaves_first(slot: Slot, s: Standing) -> tuple[bool, int, int, float, str]:
    types = [shape.instance_type for shape in slot.shapes]
    return (s.remembered, -types.index(s.instance_type), -slot.zones.index(s.zone), -s.since.timestamp(), s.id)


def _spared(draft: _Draft, slot: Slot, right: Sequence[Standing], wrong: Sequence[Standing]) -> list[Standing]:
    """Of those of another shape as many as stand in for what is of the right one and is not remembered yet."""
    known = sum(s.remembered for s in right)
    places = min(len(right) - known, max(slot.count - known, 0))
    found = sorted((s for s in wrong if s.remembered), key=lambda s: s.id)[:places]
    for s in found:
        draft.notes.append(f"{s.id} at {s.address} stays until its replacement is adopted: apply again")
    return found


def _adopt(draft: _Draft, address: str, machines: Sequence[Standing]) -> None:
    """Line 17."""
    new = sorted((s for s in machines if s.record is None), key=lambda s: s.id)
    for instance_type in sorted({s.instance_type for s in new}):
        ids = tuple(s.id for s in new if s.instance_type == instance_type)
        reason = "has this state's tags but is not in the state"
        draft.changes.append(Change(Action.REPLACE, How.ADOPT, address, instance_type, 0, NOTHING, reason, ids))


def _replace(draft: _Draft, slot: Slot, wrong: list[Standing], needed: int) -> list[Standing]:
    """Lines 2, 4, 7, 8 and 10; returns those of another shape that nothing comes for."""
    wrong = sorted(wrong, key=lambda s: s.id)
    old, rest = wrong[:needed], wrong[needed:]
    if old:
        more = slot.hourly * len(old) - draft.rates_of(old)
        ids = tuple(s.id for s in old)
        reason = "; ".join(sorted({_fault(slot, s) for s in old}))
        draft.changes.append(
            Change(Action.REPLACE, How.REPLACE, slot.address, slot.instance_type, len(old), more, reason, ids)
        )
    missing = needed - len(old)
    if missing > 0:
        more = slot.hourly * missing
        reason = f"{slot.count - missing} of {slot.count} running" if missing < slot.count else "none running"
        draft.changes.append(Change(Action.LAUNCH, How.LAUNCH, slot.address, slot.instance_type, missing, more, reason))
    return rest


def _fault(slot: Slot, s: Standing) -> str:
    if s.fits(slot):
        return f"pending for more than {PENDING_LIMIT.total_seconds():.0f} s"
    return f"{s.instance_type} in {s.zone} ({s.option}) is not allowed here"


def _finish_endings(draft: _Draft) -> None:
    """Line 15."""
    told = {m.id: m for m in draft.observed.machines}
    for record in still_there(draft.observed):
        kind, reason = told[record.id].instance_type, "terminated before, and still listed"
        draft.changes.append(
            Change(Action.TERMINATE, How.TERMINATE, record.address, kind, 0, NOTHING, reason, (record.id,))
        )


def _asked_before(observed: Observed) -> Iterator[str]:
    """What came of machines that a run before this one asked to end, and did not see the end of."""
    state, live = observed.state, {m.id: m.state for m in observed.machines if m.state is not MachineState.ENDED}
    asked = {r.id for r in (*state.records, *state.departed) if r.ending}
    asked |= {i for intent in observed.open if intent.deed is Deed.TERMINATE for i in intent.ids}
    going = sum(live.get(i) is MachineState.STOPPING for i in asked)
    if asked - live.keys() or going:
        over = f"{len(asked - live.keys())} no longer listed as running, {going} terminating"
        yield f"an earlier command asked to terminate {counted(len(asked), 'machine')}: {over}"


def _commitments(draft: _Draft) -> None:
    """Line 28."""
    for line in draft.terms.wanted:
        spends = line.option.is_spend_based
        what = f"${rate(line.hourly_held * line.without_licences):f} an hour" if spends else f"{line.count}"
        bound = line.option.bound_to(line.special).replace("/", " ")
        by_hand = CLOUDS[line.provider].is_by_hand(line.option, line.special, line.instance_type)
        way = "buy it in the console" if by_hand else "'hcloud commit' buys"
        named = f"{line.term_years}-year {line.option.in_words}{' of' if bound else ''}{bound}"
        reason = f"{what} of {named} not purchased yet ({way})"
        count = 0 if spends else int(line.count)
        draft.changes.append(
            Change(Action.COMMIT, How.SHOW, str(line.option), line.instance_type, count, NOTHING, reason)
        )


def _free(terms: DiffInputs) -> Iterator[str]:
    if terms.free:
        yield f"everything costs 0 $/h: {terms.free}"
