"""What a plan counts on of the idle hours of what it reserves."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class HarvestedHours:
    """The idle hours of a plan's reserve, and what they are worth.

    ``history`` is what says how idle services are, over so many ``days`` of so many ``tenants``; ``silent`` names
    services that it says nothing of: they leave nothing idle. vCPU-hours a month: ``paid`` for what is reserved is
    ``services`` (what they use), ``batch`` with machines of its own, ``carried`` batch in idle hours, ``reserve``
    beside services (with what rounds their use up to whole vCPUs), and ``idle``. ``offered`` is what batch might
    have had of the services' idle hours, ``wanted`` what it would have taken. ``vcpus`` are reserved,
    ``vcpus_without`` would be without idle hours, for ``monthly_without`` dollars a month: ``saved`` of them where
    demand comes as forecast, ``saved_p50`` in the median of futures, of which eight of ten save ``saved_p10`` to
    ``saved_p90``. The last instance reserved pays from ``pays_from`` of the time on: ``own_use`` is its own,
    ``idle_use`` the batch that the idle hours it adds carry. Arithmetic alone would count on ``arithmetic``
    vCPU-hours; ``played`` are those that batch had tick by tick beside the services of this reserve (None:
    ``not_played`` says why), in which so many jobs ended, found no class with room and moved to machines; kills
    lost a share of the work (the mean of ``played_seeds`` runs). ``jobs`` are the jobs carried, as bits of the rows
    of the trace in their order (zlib, base64); they are not simulated on machines.
    """

    history: str
    days: int
    tenants: int
    silent: tuple[str, ...]
    unmatched: tuple[str, ...]
    reserve_cores: Decimal
    reserve_memory: Decimal
    paid: Decimal
    services: Decimal
    batch: Decimal
    carried: Decimal
    reserve: Decimal
    idle: Decimal
    offered: Decimal
    wanted: Decimal
    vcpus: Decimal
    vcpus_without: Decimal
    monthly_without: Decimal
    saved: Decimal
    saved_p10: Decimal | None
    saved_p90: Decimal | None
    pays_from: Decimal | None
    own_use: Decimal | None
    idle_use: Decimal | None
    carried_jobs: int
    jobs: str
    arithmetic: Decimal = Decimal(0)
    played: Decimal | None = None
    played_ended: int = 0
    played_no_class: int = 0
    played_moved: int = 0
    played_kills: int = 0
    played_lost: Decimal = Decimal(0)
    not_played: str = ""
    saved_p50: Decimal | None = None
    played_seeds: int = 1
