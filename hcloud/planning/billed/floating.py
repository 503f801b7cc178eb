"""Commitments that float over kinds of machines: their dollars, divided hour by hour as they move in life."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from hcloud.model.bill import BilledCommitment
from hcloud.model.catalog import InstanceType, Payment, Provider, PurchaseOption
from hcloud.planning.billed.kinds import KindUse, MachineKind

if TYPE_CHECKING:
    from hcloud.model.workload import Floats

Running = Mapping[MachineKind, "Floats"]
COUNT_PLACES = 4
NOTHING = 1e-6
UNSAID = 1e-4  # ours: next to nothing
"""The part of list prices at which a commitment counts whose cost the bill does not say (one of actual costs): by what
it covered it holds as much as at any other."""


@dataclass(frozen=True, slots=True)
class HeldPart:
    """What a commitment holds of a kind: so many of a type, where it moves in each hour of the bill until each of the
    hours of ``phases``, and the amortised dollars an hour of each."""

    use: KindUse
    shape: InstanceType
    count: Decimal
    hourly: Decimal
    phases: tuple[tuple[int, Floats], ...] = ()


@dataclass(frozen=True, slots=True)
class HeldPool:
    """A commitment that floats: its dollars an hour for so many hours, and what it takes of them for an hour of a vCPU
    of each kind: by what it covered of it in the bill (``known``: for so many dollars an hour), else at its mean
    discount. ``place`` is the region and family that it is bound to, if to any."""

    provider: Provider
    option: PurchaseOption
    term_years: int | None
    payment: Payment | None
    dollars: float
    rates: Mapping[MachineKind, float]
    known: Mapping[MachineKind, float]
    hours_left: int
    place: tuple[str, str] = "", ""


def pool_of(
    held: BilledCommitment,
    parts: Sequence[HeldPart],
    fitting: Mapping[MachineKind, float],
    free: tuple[float, float],
    hours_left: int,
) -> HeldPool | None:
    """A commitment of these ``parts`` that may cover the kinds, at these list prices of what it covers of a vCPU;
    ``free`` are dollars an hour at list prices, and dollars an hour, beside them. None where it is worth nothing."""
    dollars = free[1] + float(sum(part.count * part.hourly for part in parts))
    at_list = [(part, fitting.get(part.use.kind, part.use.list_rate)) for part in parts]
    listed = free[0] + sum(float(part.count * part.shape.vcpus) * each for part, each in at_list)
    term = held.option, held.term_years, held.payment
    if parts and not dollars:
        dollars, term = listed * UNSAID, (held.option, None, None)  # at no price that is sold
    if min(dollars, listed) <= NOTHING:
        return None
    rates = {kind: each * dollars / listed for kind, each in fitting.items()}
    rates |= {part.use.kind: float(part.hourly / part.shape.vcpus) for part in parts if part.hourly}
    known = {part.use.kind: float(part.hourly * part.count) for part in parts if part.hourly}
    if not held.option.is_spend_based:  # so many vCPUs of whatever system
        vcpus = float(sum(part.count * part.shape.vcpus for part in parts))
        rates = dict.fromkeys(fitting, dollars / vcpus)
        known = dict.fromkeys(rates, dollars)
    covered = {kind: rates[kind] for kind in fitting if rates[kind]}
    place = ("", "") if held.option.floats else (held.region, held.family)
    return HeldPool(held.provider, *term, dollars, covered, known, hours_left, place)


def flowing(pool: HeldPool, fitting: Sequence[KindUse], running: Sequence[tuple[int, Running]]) -> Iterator[HeldPart]:
    """Its dollars divided in each hour in proportion to what runs of the kinds (``running``: until which hour, the
    vCPUs that nothing else covers then), so that none is idle in one kind while another is rented."""
    rates = pool.rates
    fitting = [use for use in fitting if use.kind in rates]
    divided = [(until, _divided(pool.dollars, fitting, rates, _needs(fitting, vcpus))) for until, vcpus in running]
    spans = np.diff([0, *(until for until, _ in divided)])
    for use in fitting:
        phases = tuple((until, by_kind[use.kind]) for until, by_kind in divided)
        mean = float(np.average([by_hour.mean() for _, by_hour in phases], weights=spans))
        if count := round(Decimal(mean), COUNT_PLACES):
            yield HeldPart(use, use.usual, count, Decimal(rates[use.kind]) * use.usual.vcpus, phases)


def _divided(dollars: float, fitting: Sequence[KindUse], rates: Mapping[MachineKind, float], needs: Running) -> Running:
    """How many of its usual type are covered of each kind, by hour."""
    asked = sum((needs[use.kind] * rates[use.kind] for use in fitting), np.zeros(1))
    return {use.kind: needs[use.kind] * dollars / asked / float(use.usual.vcpus) for use in fitting}


def _needs(fitting: Sequence[KindUse], running: Running) -> Running:
    """vCPUs by hour that it may cover; the mean of all that ran in hours in which nothing needs it."""
    some = sum(running[use.kind] for use in fitting) > NOTHING
    return {use.kind: np.where(some, running[use.kind], use.cores.mean()) for use in fitting}
