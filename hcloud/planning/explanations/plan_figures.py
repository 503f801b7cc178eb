"""A plan, or a fleet that is written down, as the parts that comparisons and checks look at."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from decimal import Decimal

from hcloud.model.catalog import PurchaseOption
from hcloud.model.holdings.change import ChangeSet, Slot
from hcloud.model.holdings.live import TAG_ADDRESS, TAG_EXPIRES, TAG_KEY, TAG_LINEAGE, TAG_PLAN, TAG_PROJECT
from hcloud.model.plans.difference import PRICES_DIGEST, SETTINGS_DIGEST
from hcloud.model.plans.figures import NOTHING, DemandFigures, PlanFigures, PlanInput, PlanPart
from hcloud.model.plans.operation import Band
from hcloud.model.plans.plan import OWNED, Digests, MixLine, Plan
from hcloud.planning.changes.digest import change_digest
from hcloud.units import HOURS_PER_MONTH, RATE, cents, rate

DIGEST_SHOWN = 12
CURRENCY = "USD"
MOST = Decimal(10) ** 15  # ours: no plan has a figure beyond it, and arithmetic with 28 digits is exact below
_MACHINE_TAGS = (TAG_LINEAGE, TAG_PROJECT, TAG_PLAN, TAG_ADDRESS, TAG_KEY)


def figures_of(made: Plan | ChangeSet) -> PlanFigures:
    """The figures of a plan file. Raises ValueError where its sums are not what its parts come to, where a figure
    cannot be, or where changes are not those their digest was taken of: such a file was altered."""
    found = _of_plan(made) if isinstance(made, Plan) else _of_changes(made)
    for part in found.parts:
        figures = (part.count, part.hourly, part.upfront, part.term_total, Decimal(part.peak), part.vcpus or NOTHING)
        if min(figures) < 0 or max(figures) > MOST:
            raise ValueError(f"{part.address} has an invalid figure")
    measured = [] if found.kept is None else [found.kept.mean]
    told = [] if found.demand is None else [float(found.demand.mean_cores), float(found.demand.peak_cores)]
    if not all(math.isfinite(value) and value >= 0 for value in (*measured, *told)):
        raise ValueError("its demand or its predicted quality is no number")
    return found


def _of_plan(plan: Plan) -> PlanFigures:
    parts = tuple(_summed(_part(line) for line in plan.mix))
    total = sum((p.hourly for p in parts), NOTHING)
    if abs(total - plan.after.hourly) > RATE * (len(plan.mix) + 1):
        raise ValueError(f"states {plan.after.hourly} dollars an hour, but its parts add up to {total}")
    if abs(plan.after.monthly - plan.after.hourly * HOURS_PER_MONTH) > HOURS_PER_MONTH * RATE + Decimal("0.01"):
        raise ValueError(f"says {plan.after.monthly} dollars a month for {plan.after.hourly} an hour")
    if plan.changes is not None:
        _check_digest(plan.changes)
    known = plan.workload
    return PlanFigures(
        name=known.name,
        made=plan.generated_at,
        currency=plan.currency,
        hourly=plan.after.hourly,
        monthly=plan.after.monthly,
        horizon_hours=plan.horizon_hours,
        parts=tuple(replace(p, tags=_tags_by_type(plan.changes, p), others=_others(plan, p)) for p in parts),
        inputs=tuple(_inputs(plan)),
        settings=tuple(PlanInput(a.key, a.value) for a in plan.assumptions),
        warnings=plan.warnings,
        demand=DemandFigures(Decimal(repr(known.mean_cores)), Decimal(repr(known.peak_cores))),
        quality=None if plan.operation is None else plan.operation.chosen,
        kept=_kept(plan),
        what_if=plan.what_if,
        price_day=plan.price_day,
        unpriced=() if plan.changes is None else plan.changes.unpriced,
        operated=tuple(_operated(plan)),
        history_hours=Decimal(repr(known.hours if plan.history is None else plan.history.hours)),
    )


def _operated(plan: Plan) -> Iterator[PlanPart]:
    """What a simulated strategy would rent on demand where the arithmetic needs nothing beside the reserve."""
    names = () if plan.operation is None else plan.operation.on_demand_types
    if names and not any(line.option is PurchaseOption.ON_DEMAND for line in plan.mix):
        for line in plan.mix[:1]:
            cloud, address = line.provider.value, f"{line.provider.value}/{line.region}/{names[0]}/on-demand"
            option = PurchaseOption.ON_DEMAND
            yield PlanPart(address, cloud, line.region, names[0], option, NOTHING, 0, NOTHING, others=names[1:])


def _part(line: MixLine) -> PlanPart:
    bought = line.option.is_commitment and not line.address.startswith(OWNED)
    return PlanPart(
        address=line.address,
        provider=line.provider.value,
        region=line.region,
        instance_type=line.instance_type,
        option=line.option,
        count=line.count,
        peak=line.peak,
        hourly=line.hourly,
        term_years=line.term_years,
        payment=line.payment,
        starts_hour=line.starts_hour,
        vcpus=line.vcpus,
        upfront=line.upfront,
        term_total=line.total if bought else NOTHING,
        bought=bought,
        price_day=line.price_day,
        licences=line.hourly * (1 - line.without_licences) if line.option.is_commitment else NOTHING,
        expires_hour=line.expires_hour,
    )


def _others(plan: Plan, part: PlanPart) -> tuple[str, ...]:
    """The types that a simulated strategy would rent on demand in place of the one in the arithmetic."""
    if plan.operation is None or part.option is not PurchaseOption.ON_DEMAND:
        return ()
    return plan.operation.on_demand_types


def _summed(parts: Iterable[PlanPart]) -> Iterator[PlanPart]:
    """One part for each offer and time it is bought at, in the order of their addresses."""
    found: dict[tuple[str, int], PlanPart] = {}
    for part in parts:
        key = (part.address, part.starts_hour)
        found[key] = _together(found[key], part) if key in found else part
    yield from (found[key] for key in sorted(found))


def _together(one: PlanPart, other: PlanPart) -> PlanPart:
    ends = (one.expires_hour, other.expires_hour)
    vcpus = None if one.vcpus is None or other.vcpus is None else one.vcpus + other.vcpus
    return replace(
        one,
        count=one.count + other.count,
        peak=one.peak + other.peak,
        hourly=one.hourly + other.hourly,
        vcpus=vcpus,
        upfront=one.upfront + other.upfront,
        term_total=one.term_total + other.term_total,
        expires_hour=None if None in ends else max(hour for hour in ends if hour is not None),
    )


def _kept(plan: Plan) -> Band | None:
    """The share of jobs that was predicted to keep its performance, None where nothing was simulated."""
    if plan.operation is not None:
        return plan.operation.chosen.kept_qos
    if plan.prediction is None or plan.prediction.kept_qos is None:
        return None
    return Band(plan.prediction.kept_qos, None)


def _inputs(plan: Plan) -> Iterator[PlanInput]:
    """What a plan was made from as a whole. What the offers cost is told by their prices, line by line."""
    yield PlanInput("made from", "a trace")
    yield PlanInput("workload", plan.workload.name)
    yield from _digests(plan.digests)
    yield PlanInput("seed", str(plan.seed))


def _digests(digests: Digests) -> Iterator[PlanInput]:
    yield PlanInput("workload digest", digests.workload[:DIGEST_SHOWN])
    yield PlanInput(SETTINGS_DIGEST, digests.policy[:DIGEST_SHOWN])
    yield PlanInput(PRICES_DIGEST, digests.prices[:DIGEST_SHOWN])


def _of_changes(changes: ChangeSet) -> PlanFigures:
    _check_digest(changes)
    scope = changes.base.scope
    parts = tuple(_summed(_slot_part(slot, changes) for slot in changes.slots))
    hourly = sum((p.hourly for p in parts), NOTHING)
    return PlanFigures(
        name=f"fleet in {scope.cloud} {scope.region}",
        made=changes.made,
        currency=CURRENCY,
        hourly=hourly,
        monthly=cents(hourly * HOURS_PER_MONTH),
        horizon_hours=0,
        parts=parts,
        inputs=(PlanInput("made from", "a fleet"), PlanInput("cloud", scope.cloud), PlanInput("region", scope.region)),
        warnings=changes.notes,
        unpriced=changes.unpriced,
    )


def _slot_part(slot: Slot, changes: ChangeSet) -> PlanPart:
    scope = changes.base.scope
    return PlanPart(
        address=f"{slot.address} ({slot.instance_type}, {slot.option})",
        provider=scope.cloud,
        region=scope.region,
        instance_type=slot.instance_type,
        option=slot.option,
        count=Decimal(slot.count),
        peak=slot.count,
        hourly=rate(slot.hourly * slot.count),
        others=tuple(shape.instance_type for shape in slot.fallbacks),
        tags=_tags(slot),
    )


def _tags(slot: Slot) -> tuple[str, ...]:
    """The names of the tags that the machines of a slot are launched with."""
    return (*_MACHINE_TAGS, TAG_EXPIRES) if slot.expires else _MACHINE_TAGS


def _tags_by_type(changes: ChangeSet | None, part: PlanPart) -> tuple[str, ...] | None:
    """The tags that every machine of a part's type would bear; None where the plan launches none of them."""
    if changes is None or changes.base.scope.region != part.region:
        return None
    of_type = [set(_tags(s)) for s in changes.slots if s.instance_type == part.instance_type]
    return tuple(sorted(set.intersection(*of_type))) if of_type else None


def _check_digest(changes: ChangeSet) -> None:
    if changes.digest != change_digest(changes):
        raise ValueError("its changes do not match its digest")
