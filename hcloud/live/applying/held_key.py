"""A key that is held: what stands under it is looked at machine by machine before anything is said of the order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hcloud.errors import CloudError, CredentialsError, HcloudError, MismatchError, UnknownOutcomeError
from hcloud.live.applying.book import Came
from hcloud.live.applying.run import ApplyRun
from hcloud.model.holdings.live import Launch, Machine
from hcloud.model.holdings.state import Intent, State
from hcloud.planning.changes.recall import record_of, with_records
from hcloud.planning.changes.standing import GRACE
from hcloud.units import counted, some_of

MOST_NAMED = 20  # ours: in a message


class KeyHeldError(HcloudError):
    """Machines stand under the key of an order that are not what it makes, so nothing more is ordered at its address in
    this run. ``machines`` are those that it would have made; others of ours are remembered, and planned the next time.
    """

    def __init__(self, message: str, machines: Sequence[Machine] = ()) -> None:
        super().__init__(
            message, hint="check the machines listed above, then plan again: the next order gets a new key"
        )
        self.machines = tuple(machines)


class DoubtError(UnknownOutcomeError):
    """An order that may have been carried out before is refused now for a reason that says nothing about that."""


def conclude_held(run: ApplyRun, intent: Intent, order: Launch, error: MismatchError) -> KeyHeldError:
    """What became of an order whose key is held; it is noted, and what is ours is remembered.

    Raises DoubtError where not everything may be shown yet: the order stays open. What bears no tag of ours is named,
    and nothing else is done about it.
    """
    found = _found(run, order, error)
    lineage = run.book.state.lineage
    ours = [m for m in found if m.lineage == lineage and m.key == order.key]
    others = [m for m in found if m not in ours]
    if len(found) < order.count and not others and run.site.now() - intent.at < GRACE:
        seen = f"{len(found)} of {counted(order.count, 'machine')} with this order's idempotency key listed so far"
        raise DoubtError(f"{error}; {seen}", error.call) from error
    what = (order.instance_type, order.zone, order.option)
    run.was_answered(bool(ours))
    if ours:
        missing = max(order.count - len(ours), 0)
        run.book.done(intent, Came(machines=tuple(ours), missing=missing, why=str(error)), remembering(ours, intent))
    else:
        run.book.refused(intent, str(error))
    fitting = [m for m in ours if (m.instance_type, m.zone, m.option) == what]
    return KeyHeldError(f"{error}; {_seen(ours, others, len(fitting))}", fitting)


def _found(run: ApplyRun, order: Launch, error: MismatchError) -> list[Machine]:
    run.patience.expect(1)
    try:
        return [m for m in run.patience.ask(lambda: run.cloud.under_key(order)) if m.state.is_live]
    except CredentialsError:
        raise
    except CloudError as unseen:
        why = f"the machines with this order's idempotency key cannot be listed: {unseen}"
        raise DoubtError(f"{error}; {why}", error.call) from unseen


def _seen(ours: Sequence[Machine], others: Sequence[Machine], fitting: int) -> str:
    key = "this order's idempotency key"
    told = [f"{counted(len(ours), 'machine')} of this state with {key}, {fitting} as ordered"] if ours else []
    if others:
        count = counted(len(others), "machine")
        named = some_of(sorted(m.id for m in others), MOST_NAMED)
        told.append(f"{count} with {key}, not tagged by hcloud and left alone: {named}")
    return "; ".join([*(told or [f"no machine with {key} is running"]), "nothing else was ordered"])


def remembering(machines: Sequence[Machine], intent: Intent) -> Callable[[State], State]:
    """Puts these machines of an order into a state."""
    return lambda state: with_records(state, [record_of(m, intent) for m in machines])
