"""What an order came to, judged by how its operation ended and by the machines that are shown."""

from __future__ import annotations

from collections.abc import Sequence

from hcloud.errors import Call, MismatchError, NoCapacityError, QuotaError, UnknownOutcomeError
from hcloud.model.holdings.live import Launch, LaunchOutcome, Machine
from hcloud.providers.gcp.errors import EXISTS, operation_error
from hcloud.providers.gcp.translate import OperationEnd, identity, names, unseen


def names_were_taken(ended: OperationEnd | None) -> bool:
    """Whether an operation failed since machines of these names are there already."""
    return ended is not None and any(code in EXISTS for code, _ in ended.errors)


def beyond_quota(order: Launch, error: QuotaError) -> QuotaError:
    """The same with what was asked for: Google names the quota and its limit only."""
    words = str(error).removeprefix(f"{error.call}: ")
    return QuotaError(f"{words} Asked for: {order.count} x {order.instance_type}.", error.call)


def identities(order: Launch) -> tuple[str, ...]:
    """The ids of all machines of an order."""
    return tuple(identity(order.zone, name) for name in names(order.key, order.count))


def judge(order: Launch, ended: OperationEnd | None, found: Sequence[Machine], call: Call) -> LaunchOutcome:
    """The machines of an order; ``ended`` is None where Google does not know the operation any more.

    ========== ================ ======================================================================
    operation  shown            what it means
    ========== ================ ======================================================================
    any        of another order the key was used before
    any        all              done
    unknown    some             that is what there is
    unknown    none             not known: they may not be shown yet
    failed     some             that is what there is
    failed     none             why it failed; where the names were taken, not known; where no reason is known,
                                and Google says that none was made, no capacity
    succeeded  as many as made  that is what there is; none made is no capacity
    succeeded  fewer than made  all were made: they are known by their names; else not known
    ========== ================ ======================================================================
    """
    _check_same(order, ended, found, call)
    shown = tuple(sorted(found, key=lambda m: m.id))
    missing = order.count - len(shown)
    if missing <= 0:
        return LaunchOutcome(shown)
    if ended is None or names_were_taken(ended):
        return _what_is_there(order, shown, "Google no longer reports how the order ended", call)
    if ended.errors:
        if shown:
            return LaunchOutcome(shown, missing, ended.why)
        error = operation_error(ended.errors, call)
        if isinstance(error, UnknownOutcomeError) and ended.made == 0:
            raise NoCapacityError(ended.why, error.call)
        raise beyond_quota(order, error) if isinstance(error, QuotaError) else error
    if ended.made == 0 and not shown:
        raise NoCapacityError(ended.why, call)
    if ended.made == len(shown):
        return LaunchOutcome(shown, missing, ended.why)
    if ended.made == order.count:
        return LaunchOutcome(_with_unseen(order, shown))
    raise UnknownOutcomeError(f"{ended.made} of {order.count} were made, and {len(shown)} are shown yet", call)


def _what_is_there(order: Launch, shown: tuple[Machine, ...], why: str, call: Call) -> LaunchOutcome:
    if not shown:
        raise UnknownOutcomeError(f"{why}, and no machine of {order.address} is shown yet", call)
    return LaunchOutcome(shown, order.count - len(shown), why)


def _with_unseen(order: Launch, shown: tuple[Machine, ...]) -> tuple[Machine, ...]:
    known = {m.id for m in shown}
    rest = [n for n in names(order.key, order.count) if identity(order.zone, n) not in known]
    return tuple(sorted([*shown, *(unseen(order, n) for n in rest)], key=lambda m: m.id))


def check_owned(order: Launch, found: Sequence[Machine], call: Call) -> None:
    """Raise MismatchError where machines that have the order's names bear no label of ours: another made them."""
    if others := [m.id for m in found if m.lineage != order.owner.lineage]:
        raise MismatchError(
            f"named like machines of {order.address}, but without their labels: {', '.join(others)}", call
        )


def _check_same(order: Launch, ended: OperationEnd | None, found: Sequence[Machine], call: Call) -> None:
    """Raise MismatchError where what stands under the key is not what is ordered now."""
    wanted = (order.instance_type, order.zone, order.option)
    other = [m for m in found if (m.instance_type, m.zone, m.option) != wanted or m.key not in ("", order.key)]
    if other:
        raise MismatchError(
            f"{other[0].id} has the key or name of a machine of {order.address}, of another order", call
        )
    counted = ended.wanted if ended is not None else None
    if len(found) > order.count or counted not in (None, order.count):
        words = f"the key of {order.address} was used for {counted or len(found)} machines, not {order.count}"
        raise MismatchError(words, call)
