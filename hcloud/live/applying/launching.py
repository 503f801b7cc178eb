"""Orders: noted, asked for, and remembered; elsewhere where there are none left."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hcloud.errors import (
    CloudError,
    DeniedByGuardError,
    DeniedError,
    HcloudError,
    MismatchError,
    NoCapacityError,
    NotFoundError,
    QuotaError,
    RefusedError,
    ThrottledError,
    UnavailableError,
    UnknownOutcomeError,
)
from hcloud.live.applying.book import Came
from hcloud.live.applying.ending import end_unwanted
from hcloud.live.applying.held_key import DoubtError, KeyHeldError, conclude_held, remembering
from hcloud.live.applying.outcome import Shortfall
from hcloud.live.applying.run import ApplyRun
from hcloud.model.holdings.change import Shape, Slot
from hcloud.model.holdings.live import Launch, LaunchOutcome, Machine, Owner
from hcloud.model.holdings.state import Intent
from hcloud.planning.changes.standing import GRACE
from hcloud.units import counted

REISSUES = 6  # ours: how often an order is sent again whose outcome stays unknown
_NO = (NoCapacityError, QuotaError, RefusedError, NotFoundError, DeniedError)
_OPEN = (ThrottledError, UnavailableError, UnknownOutcomeError)


class UntaggedError(HcloudError):
    """Machines were made without their tags, and have been ended."""


@dataclass(slots=True)
class AddressLaunch:
    """What comes at one address: ``count`` machines in all, of which open orders bring what they can. ``replaces`` are
    machines that go when as many came. One that is ``closed`` orders nothing more."""

    address: str
    slot: Slot | None
    count: int
    replaces: tuple[str, ...] = ()
    orders: tuple[Intent, ...] = ()
    came: list[str] = field(default_factory=list)
    tried: list[str] = field(default_factory=list)
    capacity: bool = True
    closed: bool = False


def work_off(run: ApplyRun, job: AddressLaunch) -> None:
    """Bring what a job wants: open orders first, the rest by its offerings in order. What ends it early is noted."""
    try:
        settled = [_settle(run, job, intent) for intent in job.orders]
        if job.slot is not None and all(settled):
            _fill(run, job, job.slot)
    except HcloudError as error:
        run.halt(error)
    missing = job.count - len(job.came)
    if missing > 0:
        run.fall_short(Shortfall(job.address, missing, tuple(job.tried), job.capacity and bool(job.tried)))


def _settle(run: ApplyRun, job: AddressLaunch, intent: Intent) -> bool:
    """Ask again, with the same key, for an order whose outcome is not known; whether it is known now."""
    order = intent.order
    if order is None:
        return True
    try:
        machines = _carry_out(run, intent, doubt=True)
        _take(run, job, machines)
        _note_fewer(job, order, len(machines))
    except DoubtError as error:
        job.capacity = False
        job.tried.append(str(error))
        return False
    except _OPEN as error:
        _note_open(job, order, error)
        raise
    except KeyHeldError as error:
        _close(run, job, order, error)
        return False
    except _NO as error:
        _note_no(run, job, order, error)
    except UntaggedError as error:  # made by an earlier run, and ended now: a new order tells whether it is still so
        run.problem(str(error))
    return True


def _fill(run: ApplyRun, job: AddressLaunch, slot: Slot) -> None:
    spent_types: set[str] = set()
    for shape, zone in slot.offerings:
        missing = job.count - len(job.came)
        if missing <= 0 or job.closed or run.halted is not None:
            return
        name = f"{shape.instance_type} in {zone}"
        offering = (shape.instance_type, zone, slot.option)
        if shape.instance_type in spent_types:
            continue
        if run.site.sold_out.holds(offering, run.site.clock.passed()):
            job.tried.append(f"{name}: sold out a short while ago")
            continue
        try:
            _place_order(run, job, slot, (shape, zone), missing)
        except QuotaError as error:
            spent_types.add(shape.instance_type)
            job.tried.append(f"{name}: {error}")


def _place_order(run: ApplyRun, job: AddressLaunch, slot: Slot, where: tuple[Shape, str], missing: int) -> None:
    shape, zone = where
    order = Launch("", job.address, shape.instance_type, zone, missing, Owner("", "", "", slot.expires))
    order = run.new_order(replace(order, option=slot.option, start_up=slot.start_up))
    try:
        run.purse.take(shape, missing)
    except DeniedByGuardError as error:
        job.capacity = False
        job.tried.append(str(error))
        return
    before = len(job.came)
    try:
        machines = _carry_out(run, run.book.order(order), doubt=False)
        _take(run, job, machines)
        _note_fewer(job, order, len(machines))
    except (*_OPEN, UntaggedError) as error:
        _note_open(job, order, error)
        raise
    except QuotaError:
        raise
    except KeyHeldError as error:
        _close(run, job, order, error)
    except _NO as error:
        _note_no(run, job, order, error)
    finally:
        run.purse.give_back(shape, missing - (len(job.came) - before))


def _offering(order: Launch) -> str:
    return f"{order.instance_type} in {order.zone}"


def _note_fewer(job: AddressLaunch, order: Launch, came: int) -> None:
    if came < order.count:
        job.tried.append(f"{_offering(order)}: {came} of {order.count} came")


def _note_open(job: AddressLaunch, order: Launch, error: HcloudError) -> None:
    """An order that ends the run: it was asked for, and came to nothing that is known."""
    job.capacity = False
    job.tried.append(f"{_offering(order)}: {error}")


def _close(run: ApplyRun, job: AddressLaunch, order: Launch, error: KeyHeldError) -> None:
    """Take what is as it was ordered and wanted here; leave the rest, and order nothing more."""
    wanted = max(job.count - len(job.came), 0)
    job.came += [m.id for m in error.machines[:wanted]]
    run.came(error.machines[:wanted], job.address)
    job.closed, job.capacity = True, False
    job.tried.append(f"{_offering(order)}: the order's idempotency key is in use")
    run.problem(str(error))


def _note_no(run: ApplyRun, job: AddressLaunch, order: Launch, error: HcloudError) -> None:
    job.tried.append(f"{_offering(order)}: {error}")
    if isinstance(error, NoCapacityError):
        _remember_sold_out(run, order)
        return
    if isinstance(error, QuotaError):
        return
    job.capacity = False
    run.problem(str(error))
    if isinstance(error, DeniedError):
        run.halt(error)


def _remember_sold_out(run: ApplyRun, order: Launch) -> None:
    run.site.sold_out.note((order.instance_type, order.zone, order.option), run.site.clock.passed())


def _take(run: ApplyRun, job: AddressLaunch, machines: tuple[Machine, ...]) -> None:
    """What is wanted of the machines that came; the rest is ended before the run is over."""
    wanted = max(job.count - len(job.came), 0)
    for machine in machines[:wanted]:
        job.came.append(machine.id)
    run.came(machines[:wanted], job.address)
    run.surplus += [m.id for m in machines[wanted:]]


def _carry_out(run: ApplyRun, intent: Intent, *, doubt: bool) -> tuple[Machine, ...]:
    """The machines of a noted order, remembered; ``doubt`` says that it may have been asked for before.

    Where nobody can say what came of it the intent stays open, and so it does where the credentials are bad.
    """
    order = intent.order
    if order is None:
        return ()
    try:
        answer = _ask(run, intent, order, doubt=doubt)
    except _NO as error:
        run.book.refused(intent, str(error))
        raise
    except _OPEN as error:
        run.acted = True
        run.book.unknown(intent, str(error))
        raise
    run.was_answered(bool(answer.machines))
    return _remember(run, intent, answer)


def _ask(run: ApplyRun, intent: Intent, order: Launch, *, doubt: bool) -> LaunchOutcome:
    """What the cloud made of an order. After an unknown outcome the cloud is looked at; the order is sent again, with
    the same key, while not all of its machines are seen."""
    sent = run.with_user_data(order)
    seen: dict[str, Machine] = {}
    run.seen = None
    lost: HcloudError | None = None
    if (longest := run.cloud.launch_seconds) > 0:
        what = f"{order.count} x {order.instance_type} in {order.zone} for {order.address}"
        run.site.waiting(f"for the cloud to launch {what}", longest)
    run.patience.expect(1)
    for _ in range(REISSUES):
        try:
            return _joined(order, seen, run.patience.ask(lambda: run.cloud.launch(sent)))
        except UnknownOutcomeError as error:
            lost = error
            seen |= _of_key(run, order)
        except MismatchError as error:
            raise conclude_held(run, intent, order, error) from error
        except _NO as error:
            if not (doubt or lost):
                raise
            seen |= _of_key(run, order)
            believed = _believed(run, intent, error)
            if not seen or (len(seen) < order.count and isinstance(believed, DoubtError)):
                raise believed from error
            return _joined(order, seen, LaunchOutcome((), 0, str(error)))
        if len(seen) >= order.count:
            return _joined(order, seen, LaunchOutcome(()))
    raise lost or RuntimeError("an order was never sent")


def _believed(run: ApplyRun, intent: Intent, error: CloudError) -> CloudError:
    """A refusal of an order that may have been carried out before.

    Sold out means that it was not: its key would have given its machines. A refusal for other reasons may come before
    the cloud looks at keys, and is believed when lists would show the machines.
    """
    if isinstance(error, NoCapacityError) or run.site.now() - intent.at >= GRACE:
        return error
    return DoubtError(f"refused when sent again; whether it was carried out is unknown: {error}", error.call)


def _of_key(run: ApplyRun, order: Launch) -> dict[str, Machine]:
    return {m.id: m for m in run.list_machines() if m.key == order.key and m.state.is_live}


def _joined(order: Launch, seen: dict[str, Machine], answer: LaunchOutcome) -> LaunchOutcome:
    """What was answered and what was seen are machines of one order; where the cloud knows no keys there may be more
    of them than were ordered."""
    live = {m.id: m for m in answer.machines if m.state.is_live} | seen
    return LaunchOutcome(tuple(live[i] for i in sorted(live)), max(order.count - len(live), 0), answer.why)


def _remember(run: ApplyRun, intent: Intent, answer: LaunchOutcome) -> tuple[Machine, ...]:
    lineage = run.book.state.lineage
    tagged = tuple(m for m in answer.machines if m.lineage == lineage)
    bare = tuple(m.id for m in answer.machines if m.lineage != lineage)
    if bare:
        end_unwanted(run, bare)
    came = Came(machines=tagged, missing=answer.missing + len(bare), why=answer.why)
    try:
        run.book.done(intent, came, remembering(tagged, intent))
    except HcloudError:
        if tagged:
            ids = ", ".join(m.id for m in tagged)
            run.problem(f"{tagged[0].address}: {ids} launched and not noted in the state, which the next apply does")
        raise
    if bare:
        raise UntaggedError(
            f"{counted(len(bare), 'machine')} made without the tags of the order, and ended at once",
            hint="see whether a policy of the account drops tags: hcloud could not find such machines again",
        )
    if answer.missing and intent.order is not None:
        _remember_sold_out(run, intent.order)
    return tagged
