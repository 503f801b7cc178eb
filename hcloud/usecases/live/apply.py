"""``hcloud apply`` and ``hcloud destroy``: what was shown is carried out, and told as it came out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal

from hcloud.errors import StaleError
from hcloud.live.applying.apply import apply, destroy, ends_of_all
from hcloud.live.applying.guards import check_base, check_guards, check_known, check_true
from hcloud.live.applying.outcome import ApplyOutcome
from hcloud.live.observe import observe
from hcloud.live.site import Progress
from hcloud.model.catalog import PurchaseOption
from hcloud.model.holdings.change import ChangeSet
from hcloud.planning.changes.digest import wanted_digest
from hcloud.planning.purchases.gates import LEAST_MOVE
from hcloud.units import plain
from hcloud.usecases.live.ground import LiveGround
from hcloud.usecases.live.named_fleet import fleet_differences
from hcloud.usecases.prices.age import prices_of_launches

BEFORE = ("nothing was applied", "plan again, or undo the change in hcloud.yaml or HYC_LIVE__...")
MEANWHILE = (
    "what was launched for it stands, and nothing more was done",
    "undo the change and resume again; or 'hcloud apply' without the plan, which settles its open requests and goes on "
    "to what hcloud.yaml says now; or 'hcloud destroy', which ends all of it",
)
MOST_SPOT_RISE = Decimal("0.25")  # ours: from plan to apply
AT_TODAYS = "plan again, or 'hcloud apply' without the plan: both show what it costs at today's prices"


def check_applicable(ground: LiveGround, planned: ChangeSet) -> None:
    """Refuse, before it is shown and anybody is asked to confirm it, a plan that was altered, was applied or is of
    another place, differs from what the configuration says now of a fleet or of what machines are launched with, or
    shows less than these cost now."""
    ground.check_place(planned)
    check_true(planned)
    _check_unchanged(ground, planned, *BEFORE)
    if _is_stale(ground, planned):
        check_base(planned, observe(ground.site()), ground.approval(None), ground.terms())


def _check_unchanged(ground: LiveGround, planned: ChangeSet, done: str, hint: str) -> None:
    config = ground.loaded.config
    if differs := "; ".join([*fleet_differences(config, planned), *ground.launch_differences(planned)]):
        raise StaleError(f"the configuration changed since the plan was made: {differs}; {done}", hint=hint)
    if _is_stale(ground, planned):
        return  # that is said, not what it would cost once more
    if dearer := "; ".join(_dearer(ground, planned)):
        raise StaleError(f"prices rose since the plan was made: {dearer}; nothing was launched now", hint=AT_TODAYS)


def _is_stale(ground: LiveGround, planned: ChangeSet) -> bool:
    """Whether it was applied before, or another was."""
    state = ground.store.load()
    return state is not None and state.serial != planned.base.serial


def _dearer(ground: LiveGround, planned: ChangeSet) -> Iterator[str]:
    """What would be launched at more than the plan shows; a spot price moves by the hour, and may rise a little."""
    for (name, option), shown in sorted(prices_of_launches(planned).items()):
        most = shown * (1 + (MOST_SPOT_RISE if option is PurchaseOption.SPOT else LEAST_MOVE))
        if (now := ground.price(name, option)) > most:
            rise = f"{float(now / shown - 1):+.1%}" if shown else "it was free"
            yield f"{name} {option} from ${plain(shown)}/h to ${plain(now)}/h ({rise})"


def _at_todays(ground: LiveGround, planned: ChangeSet) -> tuple[ChangeSet, str]:
    """The same at the spot prices of now where they are higher, as budgets hold for what is paid; and which are."""
    spot = [slot for slot in planned.slots if slot.option is PurchaseOption.SPOT]
    shown = {(slot.address, shape.instance_type): shape.hourly for slot in spot for shape in slot.shapes}
    after, risen = planned.hourly_after, set[str]()
    for change in (c for c in planned.to_do if c.count and (c.address, c.instance_type) in shown):
        was, now = shown[change.address, change.instance_type], ground.price(change.instance_type, PurchaseOption.SPOT)
        if now > was:
            after += (now - was) * change.count
            risen.add(f"{change.instance_type} spot rose from ${plain(was)}/h to ${plain(now)}/h")
    return replace(planned, hourly_after=after), "; ".join(sorted(risen))


def resumed(ground: LiveGround, planned: ChangeSet) -> ChangeSet:
    """What is left of a plan after it was begun: its slots compared anew with what stands now."""
    ground.check_place(planned)
    found = ground.changes(planned.slots, replace(ground.terms(), operating=planned.operating), planned)
    check_true(planned)
    if found.base.lineage != planned.base.lineage:
        raise StaleError(
            f"the plan belongs to another state (lineage {planned.base.lineage}): it was not begun here",
            hint="--state names that state; or plan again with this one",
        )
    if found.base.scope != planned.base.scope:
        raise StaleError(
            f"the plan was made for {planned.base.scope}, and this is {found.base.scope}",
            hint="use the credentials, region and endpoint of the plan, or plan again",
        )
    if (age := (found.made - planned.made).total_seconds()) > ground.approval(None).oldest_seconds:
        raise StaleError(f"the plan is {age / 3600:.1f} h old", hint="plan again, or live.max_plan_age")
    begun = ground.site(lineage=planned.base.lineage).remembered().plan
    if begun not in ("", wanted_digest(planned.slots)):
        raise StaleError("another plan was started since: this one can no longer be resumed", hint="plan again")
    _check_unchanged(ground, found, *(MEANWHILE if begun else BEFORE))
    return found


def ending(ground: LiveGround, progress: Progress) -> ChangeSet:
    """What destroying would do."""
    return ends_of_all(replace(ground.site(), progress=progress), ground.terms())


def check_allowed(ground: LiveGround, found: ChangeSet, ends: int | None) -> None:
    """Refuse what may not be applied: for the reasons of :func:`check_applicable`, for old prices, and for limits."""
    check_applicable(ground, found)
    if not _is_stale(ground, found):
        ground.check_prices(found)
        todays, risen = _at_todays(ground, found)
        check_guards(todays, ground.approval(ends), risen)


def check_as_begun(ground: LiveGround, found: ChangeSet, ends: int | None) -> None:
    """Refuse all that :func:`carry_out` refuses before its first request."""
    check_allowed(ground, found, ends)
    check_base(found, observe(ground.site(lineage=found.base.lineage)), ground.approval(ends), ground.terms())
    check_known(found)


def check_ending(ground: LiveGround, found: ChangeSet, ends: int | None) -> None:
    """Refuse what :func:`end_all` refuses before its first request; without the number it is not known yet."""
    check_known(found)
    if ends is not None:
        check_guards(found, ground.approval(ends))


def carry_out(
    ground: LiveGround, found: ChangeSet, ends: int | None, progress: Progress, stop: Callable[[], bool]
) -> ApplyOutcome:
    """Apply exactly these changes; raises as :func:`hcloud.live.applying.apply.apply` does, and for old prices, with
    nothing done."""
    check_allowed(ground, found, ends)
    site = ground.site(progress, stop, found.base.lineage)
    return apply(site, found, ground.approval(ends), ground.terms())


def end_all(
    ground: LiveGround, found: ChangeSet, ends: int | None, progress: Progress, stop: Callable[[], bool]
) -> ApplyOutcome:
    """End everything that the state holds; the number of machines has to be said on purpose."""
    site = ground.site(progress, stop, found.base.lineage)
    return destroy(site, found, ground.approval(ends), ground.terms())
