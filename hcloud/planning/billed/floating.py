"""Commitments that float over kinds of machines: their dollars, divided hour by hour as they move in life."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from hcloud.model.catalog import InstanceType
from hcloud.planning.billed.kinds import KindUse, MachineKind

if TYPE_CHECKING:
    from hcloud.model.workload import Floats

COUNT_PLACES = 4
NOTHING = 1e-6


@dataclass(frozen=True, slots=True)
class HeldPart:
    """What a commitment holds of a kind: so many of a type, in each hour of the bill where it moves, and the amortised
    dollars an hour of each."""

    use: KindUse
    shape: InstanceType
    count: Decimal
    hourly: Decimal
    by_hour: Floats | None = None

    @property
    def vcpus(self) -> float | Floats:
        """The vCPUs that it holds in each hour."""
        counts = float(self.count) if self.by_hour is None else self.by_hour
        return counts * float(self.shape.vcpus)


def flowing(
    parts: Sequence[HeldPart],
    fitting: Sequence[KindUse],
    running: Mapping[MachineKind, Floats],
    free: tuple[float, float],
) -> Iterator[HeldPart]:
    """The same commitment, its dollars divided in each hour in proportion to what runs of the kinds (``running``,
    vCPUs that nothing else covers), so that none is idle in one kind while another is rented; ``free`` are dollars an
    hour at list prices, and dollars an hour, beside ``parts``."""
    dollars = free[1] + float(sum(part.count * part.hourly for part in parts))
    listed = free[0] + sum(float(part.count * part.shape.vcpus) * part.use.list_rate for part in parts)
    if min(dollars, listed) <= NOTHING:
        return
    rates = {use.kind: use.list_rate * dollars / listed for use in fitting}
    rates |= {part.use.kind: float(part.hourly / part.shape.vcpus) for part in parts if part.hourly}
    needs = _needs(fitting, running)
    asked = sum(needs[use.kind] * rates[use.kind] for use in fitting)
    for use in fitting:
        by_hour = needs[use.kind] * dollars / asked / float(use.usual.vcpus)
        if count := round(Decimal(float(by_hour.mean())), COUNT_PLACES):
            yield HeldPart(use, use.usual, count, Decimal(rates[use.kind]) * use.usual.vcpus, by_hour)


def _needs(fitting: Sequence[KindUse], running: Mapping[MachineKind, Floats]) -> dict[MachineKind, Floats]:
    """vCPUs by hour that it may cover; the mean of all that ran in hours in which nothing needs it."""
    some = sum(running[use.kind] for use in fitting) > NOTHING
    return {use.kind: np.where(some, running[use.kind], use.cores.mean()) for use in fitting}
