"""What live work cost beside what other strategies would have cost for the same jobs."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

DOLLARS, VCPU_HOURS = "USD", "vCPU-hours"
"""What costs are told in: a machine of this machine has no price, so there hours of its vCPUs count."""


@dataclass(frozen=True, slots=True)
class StrategyCost:
    """The cost of one strategy: of its reserve (so many ``servers``) over the time of the work, and of what it rented;
    ``simulated`` tells what would have been from what was."""

    strategy: str
    servers: int
    reserved: Decimal
    rented: Decimal
    simulated: bool = True

    @property
    def total(self) -> Decimal:
        """Both together."""
        return self.reserved + self.rented


@dataclass(frozen=True, slots=True)
class CostComparison:
    """Live work first, then the others, all by one formula of prices; ``notes`` say what it rests on, and (where it
    could not be made) why there is none."""

    unit: str = DOLLARS
    costs: tuple[StrategyCost, ...] = ()
    notes: tuple[str, ...] = ()
