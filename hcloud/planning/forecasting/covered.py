"""Parts of machines that are owned: a commitment that flexes covers half of a machine as well as half of the number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hcloud.model.catalog import OfferKey

if TYPE_CHECKING:
    from hcloud.model.workload import Floats


@dataclass(frozen=True, slots=True, eq=False)
class CoveredParts:
    """The vCPUs and GiB that are covered at each step, of a family and a region, or of any where that is empty."""

    provider: str
    region: str
    family: str
    vcpus: Floats
    memory: Floats

    def fits(self, key: OfferKey, family: str) -> bool:
        """Whether it covers parts of machines of a type."""
        place = self.region in ("", key.region) and self.family in ("", family)
        return self.provider == key.provider and place

    def first(self, steps: int) -> CoveredParts:
        """Its first steps."""
        return replace(self, vcpus=self.vcpus[:steps], memory=self.memory[:steps])


def end_to_end(parts: Sequence[CoveredParts]) -> CoveredParts:
    """The same parts in one series after the other."""
    vcpus, memory = (np.concatenate([getattr(p, name) for p in parts]) for name in ("vcpus", "memory"))
    return replace(parts[0], vcpus=vcpus, memory=memory)
