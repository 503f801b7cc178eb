"""What services leave idle on reserved machines, step by step: a free offer to batch, limited by what is reserved."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from hcloud.model.workload import Floats


@dataclass(frozen=True, slots=True)
class IdleHours:
    """Services are served by what is reserved first, and of the vCPUs of theirs that are, batch may have a part.

    ``services`` is their vCPUs at each step; ``batch`` [length, step] the vCPUs of batch that may run in idle hours, by
    length (short, medium, long); ``share`` [length, step] what jobs of a length may have beside those that are longer,
    as a part of the services' vCPUs; ``gib`` the GiB that a vCPU of batch takes with it; ``owned`` the vCPUs that are
    reserved beside what is planned. Of a vCPU that services have they use ``used`` and leave ``room`` beside the
    reserve, memory or not.
    """

    services: Floats
    batch: Floats
    share: Floats
    gib: Floats
    owned: Floats
    used: Floats
    room: Floats
    _upto: Floats = field(init=False, repr=False, compare=False)
    """[lengths that are not limited, step] of batch: a search asks for it thousands of times."""

    def __post_init__(self) -> None:
        nothing = np.zeros_like(self.services)
        object.__setattr__(self, "_upto", np.cumsum(np.vstack([nothing, self.batch]), axis=0))

    def each(self, change: Callable[[Floats], Floats]) -> IdleHours:
        """The same with every column changed alike, step by step (the last axis)."""
        return IdleHours(*(change(getattr(self, name)) for name in COLUMNS))

    def times(self, factor: float | Floats) -> IdleHours:
        """The same with so much more demand."""
        return replace(self, services=self.services * factor, batch=self.batch * factor)

    @property
    def cuts(self) -> tuple[tuple[Floats, Floats], ...]:
        """What is carried is the least of these: ``base + slope x vCPUs of services on reserved machines``."""
        return tuple(zip(self._upto, (*self.share, np.zeros_like(self.services)), strict=True))

    def carried(self, reserved: float | Floats) -> Floats:
        """The vCPUs of batch that idle hours carry where so many vCPUs are reserved."""
        on_reserved = np.minimum(self.services, np.maximum(reserved + self.owned, 0.0))
        found: Floats = self._upto[-1]
        for base, slope in zip(self._upto, self.share, strict=False):
            found = np.minimum(found, base + slope * on_reserved)
        return found

    def by_length(self, reserved: float | Floats) -> Floats:
        """The same [length, step]: long jobs choose first, as they may have the least."""
        on_reserved = np.minimum(self.services, np.maximum(reserved + self.owned, 0.0))
        taken, found = np.zeros_like(on_reserved), np.zeros_like(self.batch)
        for at in reversed(range(len(self.batch))):
            found[at] = np.minimum(self.batch[at], np.maximum(self.share[at] * on_reserved - taken, 0.0))
            taken += found[at]
        return found


class LeftByServices(NamedTuple):
    """On servers of so many ``vcpus`` what services do with one of theirs at each step: they use ``used``, and beside
    the reserve jobs of a length may have ``free`` [length, step] with so many ``gib``."""

    vcpus: float
    used: Floats
    free: Floats
    gib: Floats


@dataclass(frozen=True, slots=True)
class PlayedHours:
    """What became of batch beside the services of a plan's reserve, tick by tick: ``vcpus`` that it carried in the mean
    of the demand's steps, of ``wanted`` that might run there, where arithmetic counted on ``arithmetic``; how many
    jobs ended there, found no class with room, and moved to machines; tasks that were killed, and the
    share of the work that this lost: all in the mean of runs with so many ``seeds``, in ``harmed`` of which more
    services waited for the reserve or ran on rented machines than without. ``why_not`` says why it was not played."""

    why_not: str = ""
    vcpus: float = 0.0
    arithmetic: float = 0.0
    wanted: float = 0.0
    ended: int = 0
    no_class: int = 0
    moved: int = 0
    kills: int = 0
    lost: float = 0.0
    seeds: int = 1
    harmed: int = 0


@dataclass(frozen=True, slots=True)
class IdleUse:
    """What is known of idle hours at each step of a demand: the ``hours`` that batch may have, the length of each job
    of the trace that may have them (-1: none), and the ``reserve`` of vCPUs and of memory beside services.; ``left``
    is what services leave, however large jobs are.

    It was read from ``name``, ``days`` of so many ``tenants``; ``silent`` services and ``unmatched`` tenants have no
    other half, and so many servers have ``gaps`` beside others of their tenants. Jobs are short up to the first of
    ``bounds`` (seconds), and long above the second. Where it was ``played`` only jobs count that ended there.
    """

    hours: IdleHours
    lengths: NDArray[np.int64]
    reserve: tuple[float, float]
    left: LeftByServices
    name: str
    days: int
    tenants: int
    silent: tuple[str, ...] = ()
    unmatched: tuple[str, ...] = ()
    bounds: tuple[float, float] = (0.0, 0.0)
    played: PlayedHours | None = None
    gaps: int = 0


COLUMNS = ("services", "batch", "share", "gib", "owned", "used", "room")


def joined(several: Sequence[IdleHours]) -> IdleHours:
    """One after the other."""
    return IdleHours(*(np.concatenate([getattr(one, name) for one in several], axis=-1) for name in COLUMNS))
