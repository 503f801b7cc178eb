"""What may not be done even though it was planned: budgets, too much ended at once, plans that are old or not true."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from decimal import Decimal

from hcloud.errors import DeniedByGuardError, EvidenceError, HcloudError, InputError, PartialError, StaleError
from hcloud.model.holdings.change import Bar, ChangeSet, How, Observed, Shape
from hcloud.planning.changes.diff import DiffInputs, changes
from hcloud.planning.changes.digest import change_digest, observed_digest, wanted_digest
from hcloud.units import HOURS_PER_MONTH, counted, format_money

MOST_ENDED = 20
MOST_ENDED_SHARE = Decimal("0.2")
OLDEST_SECONDS = 86_400.0  # ours
RAISE = "plan fewer machines, or raise the limit in hcloud.yaml"


@dataclass(frozen=True, slots=True)
class ChangeApproval:
    """What somebody agreed to. ``hourly``, ``monthly`` and ``increase`` (dollars an hour more than before) are budgets,
    None without one; ``ends`` is the number of machines to end that was typed where many or all of them are;
    ``most_ended`` is how many may end without it, None for a fifth and at most ``MOST_ENDED``; never all."""

    hourly: Decimal | None = None
    monthly: Decimal | None = None
    increase: Decimal | None = None
    ends: int | None = None
    oldest_seconds: float = OLDEST_SECONDS
    most_ended: int | None = None

    @property
    def ceiling(self) -> Decimal | None:
        """Dollars an hour at most, by the hour and by the month."""
        found = [self.hourly, None if self.monthly is None else self.monthly / HOURS_PER_MONTH]
        return min((f for f in found if f is not None), default=None)

    @property
    def budget(self) -> str:
        """The ceiling in words, with the key that sets it."""
        if self.monthly is not None and self.ceiling != self.hourly:
            return f"{_dollars(self.monthly)}/month, {_dollars(self.monthly / HOURS_PER_MONTH)}/h (limits.monthly)"
        return "none" if self.hourly is None else f"{_dollars(self.hourly)}/h (limits.hourly)"


def check_true(found: ChangeSet) -> None:
    """Refuse changes that are not what was made: one byte of them was altered."""
    if found.digest != change_digest(found):
        raise InputError("the plan does not match its digest: it was altered after it was made", hint="plan again")


def check_base(found: ChangeSet, observed: Observed, approval: ChangeApproval, terms: DiffInputs) -> None:
    """Refuse changes made from what is not there any more."""
    base, state = found.base, observed.state
    if base.lineage != state.lineage:
        raise StaleError(
            f"the plan belongs to another state (lineage {base.lineage}, not {state.lineage})",
            hint="--state names that state; or plan again with this one",
        )
    if base.scope != observed.scope:
        raise StaleError(
            f"the plan was made for {base.scope}, and this is {observed.scope}",
            hint="use the credentials, region and endpoint of the plan, or plan again",
        )
    if base.serial != observed.serial:
        applied = state.plan == wanted_digest(found.slots) and not changes(found.slots, observed, terms).to_do
        raise StaleError(
            f"the plan is stale: the state was written since (serial {base.serial}, now {observed.serial})",
            hint="it was applied, and nothing is left to be done"
            if applied
            else "--resume finishes a plan that was begun; else plan again",
        )
    if base.observed != observed_digest(observed):
        raise StaleError("the plan is stale: the cloud is not as it was when it was made", hint="plan again")
    age = (observed.at - found.made).total_seconds()
    if age > approval.oldest_seconds:
        raise StaleError(
            f"the plan is {age / 3600:.1f} h old, {approval.oldest_seconds / 3600:.1f} h are allowed",
            hint="plan again, or raise live.max_plan_age",
        )


def check_known(found: ChangeSet) -> None:
    """Refuse to go on where too little is known."""
    for refusal in found.blocking:
        if refusal.bar is Bar.LOST_STATE:
            raise HcloudError(refusal.why, hint="'hcloud recover' shows what it would rebuild, and asks")
        raise PartialError(refusal.why, hint="nothing was done; hcloud status looks again")


def check_guards(found: ChangeSet, approval: ChangeApproval, risen: str = "") -> None:
    """Refuse what costs more than allowed, or ends more than is safe without the number typed; ``risen`` says which
    prices are higher in it than were shown."""
    risen = risen and f" ({risen})"
    more = found.hourly_after - found.hourly_before
    ceiling = approval.ceiling
    if found.unpriced and (ceiling is not None or approval.increase is not None):
        said = f"no price for {', '.join(found.unpriced)}: the budget cannot be checked"
        raise EvidenceError(said, hint="hcloud pricing refresh, or no limits.hourly, monthly and increase")
    if more > 0 and ceiling is not None and found.hourly_after > ceiling:
        raise DeniedByGuardError(
            f"the machines would cost {_dollars(found.hourly_after)}/h{risen}, the budget is {approval.budget}",
            hint=RAISE,
        )
    if approval.increase is not None and more > approval.increase:
        raise DeniedByGuardError(
            f"{_dollars(more)}/h more than now{risen}; limits.increase allows {_dollars(approval.increase)}/h",
            hint=RAISE,
        )
    going, standing = len(found.going), found.standing
    many = _many(going, standing, approval.most_ended)
    if going and many and approval.ends != going:
        typed = "" if approval.ends is None else f", not {approval.ends}"
        raise DeniedByGuardError(
            f"{going} of {counted(standing, 'machine')} would be terminated: {many}",
            hint=f"state their number: {going}{typed} (--ends {going})",
        )


def _many(going: int, standing: int, most: int | None) -> str:
    """Why the number of machines to end has to be typed; empty where it has not."""
    if going == standing:
        return "all of them"
    if most is not None:
        return f"limits.ended allows {most}" if going > most else ""
    if going > MOST_ENDED or going > MOST_ENDED_SHARE * standing:
        return f"more than {MOST_ENDED_SHARE:.0%} of them or than {MOST_ENDED}, without a limits.ended"
    return ""


class Purse:
    """The budget while orders are made, since another type than the planned one may cost more."""

    def __init__(self, found: ChangeSet, approval: ChangeApproval) -> None:
        rates = {(slot.address, shape.instance_type): shape.hourly for slot in found.slots for shape in slot.shapes}
        ordered = [c for c in found.to_do if c.how in (How.LAUNCH, How.REPLACE)]
        coming = sum((rates[c.address, c.instance_type] * c.count for c in ordered), Decimal(0))
        ceilings = [approval.ceiling]
        if approval.increase is not None:
            ceilings.append(found.hourly_before + approval.increase)
        lowest = min((c for c in ceilings if c is not None), default=None)
        self._ceiling = None if lowest is None else max(lowest, found.hourly_after)
        self._planned = found.hourly_after - coming
        self._lock = threading.Lock()

    def take(self, shape: Shape, count: int) -> None:
        """Set the dollars an hour of an order aside; DeniedByGuardError where the budget does not hold them."""
        more = shape.hourly * count
        with self._lock:
            if self._ceiling is not None and self._planned + more > self._ceiling:
                beyond = f"{count} of {shape.instance_type} go beyond the budget of {_dollars(self._ceiling)}/h"
                raise DeniedByGuardError(beyond, hint=f"limits.hourly, monthly or increase: {RAISE}")
            self._planned += more

    def give_back(self, shape: Shape, count: int) -> None:
        """What was set aside for machines that did not come."""
        with self._lock:
            self._planned -= shape.hourly * count


def _dollars(hourly: Decimal) -> str:
    return format_money(hourly, 4)
