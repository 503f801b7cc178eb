"""Which of the servers with room a job goes to: the greedy walk, rankings of all of them, and rankings of a sample.

These rules stand apart from their kernels (placement, colocation), whose tables need NumPy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hcloud.policy import codes
from hcloud.policy.placing.promise import candidates_for
from hcloud.policy.rule import DAY, SECONDS, Known, Rule, choice, count, counts, number, share, switch
from hcloud.policy.rules import NEVER_SECONDS

MOST_CANDIDATES = 1024
"""Servers that one decision samples at most."""
MOST_AGENTS = 1000
MOST_ALIKE = 1_000_000
_LAYOUT: Mapping[str, tuple[str, ...]] = {
    "spread": (),
    "spread-racks": ("rack_servers",),
    "spread-zones": ("rack_servers", "zone_racks"),
}
"""Ways to keep the pieces of a job apart, with what has to be known of where servers stand."""
_TOLERANCE: Any = number("points of pressure", 0, 100, "tolerance")
_PRESSURE: Any = choice("host-share", "full", feeds="full_pressure", on="full")
_PROFILED: Any = number(SECONDS, 0, DAY, "profile_above")
_ORDERS = {"best-fit": codes.BEST_FIT, "least-loaded": codes.LEAST_LOADED, "first-fit": codes.FIRST_FIT}


class Placement(Rule):
    """What every placement has to say: whether jobs may be put on a server that starts; and of jobs of several servers
    whether all their pieces begin together, and whether each is to have a server, a rack or a zone of its own."""

    join_starting: bool = switch("join_starting")
    gang: bool = switch("gang", default=True)
    locality: str = choice("pack", *_LAYOUT, feeds="spread", default="pack")
    rack_servers: int = count("reserved servers a rack, in the order of their numbers", 0, MOST_ALIKE, default=0)
    zone_racks: int = count("racks a zone", 0, MOST_ALIKE, default=0)

    def numbers(self, known: Known) -> dict[str, float]:
        apart = 0 if self.locality == "pack" else 1  # so many servers in a row get one piece of a job at most
        for key in _LAYOUT.get(self.locality, ()):
            apart *= getattr(self, key)
        return {**super().numbers(known), "spread": apart}

    def misfits(self) -> Iterable[tuple[str, str, str]]:
        yield from super().misfits()
        for key in _LAYOUT.get(self.locality, ()):
            if getattr(self, key) == 0:
                yield key, "0", f"must be at least 1 with locality {self.locality}: otherwise there are no racks"


class Considerate(Placement):
    """A placement that looks at what jobs on one server do to each other."""

    violation_tolerance: float = _TOLERANCE
    tenant_pressure: str = _PRESSURE


class Greedy(Considerate, of="placement", name="greedy"):
    """The first in an order of the servers on which nobody would suffer."""

    order: str = choice(*_ORDERS)
    order_unprofiled: str = choice(*_ORDERS)

    def numbers(self, known: Known) -> dict[str, float]:
        order = _ORDERS[self.order if known.informed else self.order_unprofiled]
        return {**super().numbers(known), "order": order}


class FirstFit(Placement, of="placement", name="first-fit", ranking=codes.BY_NUMBER, interference_is_full=0):
    """The server with room that has the lowest number."""


class LeastLoaded(Placement, of="placement", name="least-loaded", ranking=codes.BY_LOAD, interference_is_full=0):
    """The server with room that has the lowest share of its vCPUs in use (Paragon §5)."""

    overcommit_memory: bool = switch("overcommit")


class NoInterference(
    Placement, of="placement", name="no-interference", ranking=codes.BY_PLATFORM, interference_is_full=0
):
    """The server with room whose type suits the job best, whoever runs there (Paragon §5)."""


class Ideal(Considerate, of="placement", name="ideal", ranking=codes.BY_FIT):
    """The best server, chosen with full knowledge at once: what the others are measured by (Tarcil §7.6)."""


class Paragon(Considerate, of="placement", name="paragon", ranking=codes.FILTERED):
    """The servers that bear the job and that it bears; of these the best platform, then the closest fit
    (Paragon §3.2)."""

    first_relaxation: int = count("points of pressure", 1, 100, "first_relaxation")
    most_looks: int = count("servers looked at", 1, 1_000_000_000, "most_looks")
    profile_above: float = _PROFILED


class NoHeterogeneity(Paragon, of="placement", name="no-heterogeneity", ranking=codes.FILTERED_BY_CHANCE):
    """Any of the servers that bear the job and that it bears, whatever their type (Paragon §5)."""


class Sampled(Placement):
    """A placement that looks at a sample of the servers, chosen by chance, by agents that decide beside each other."""

    over: str = choice("free", "all", feeds="over_all", on="all")
    agents: int = count("agents that decide", 1, MOST_AGENTS, "agents")
    decision_seconds: float = number(SECONDS, 0, DAY, "decision")
    candidate_seconds: float = number("s a candidate", 0, DAY, "candidate_cost")
    wire_seconds: float = number(SECONDS, 0, DAY, "wire")
    notices: str = choice("all", "none")
    notice_seconds: float = number(SECONDS, 0, DAY, "notice")
    copy_seconds: tuple[float, ...] = counts("s, the least and the most between two copies", 0.001, DAY)
    commit: str = choice("ranked", "resample", feeds="resample", on="resample")
    takeover_seconds: float = number(SECONDS, 0, DAY, "takeover")

    def numbers(self, known: Known) -> dict[str, float]:
        least, most = self.copy_seconds[0], self.copy_seconds[-1]
        told = {} if self.notices == "all" else {"notice": NEVER_SECONDS}
        return {**super().numbers(known), **told, "copy_least": least, "copy_most": most}

    def misfits(self) -> Iterable[tuple[str, str, str]]:
        yield from super().misfits()
        if len(self.copy_seconds) != 2:
            yield "copy_seconds", f"{len(self.copy_seconds)} numbers", "two: the least and the most seconds"


class SampledServers(Sampled):
    """One that looks at so many candidates a decision, and at nothing but their load."""

    candidates: int = count("candidates a decision", 1, MOST_CANDIDATES, "candidates")

    def numbers(self, known: Known) -> dict[str, float]:
        return {**super().numbers(known), "most_candidates": self.candidates}


class SampledUnits(Sampled):
    """One that looks at so many candidates for each vCPU of a job, and at what jobs on one server do to each other."""

    candidates: int = count("candidates a vCPU", 1, MOST_CANDIDATES, "candidates")
    quality: float = share("share of servers", "quality")
    miss: float = share("share of decisions", "miss")
    reading: str = choice("ranks", "value", feeds="value_reading", on="value")
    violation_tolerance: float = _TOLERANCE
    tenant_pressure: str = _PRESSURE

    def numbers(self, known: Known) -> dict[str, float]:
        made = {"most_candidates": MOST_CANDIDATES, **super().numbers(known)}
        if self.quality > 0 and not list(self.misfits()):
            made["candidates"] = min(candidates_for(self.quality, self.miss), MOST_CANDIDATES)
        return made

    def misfits(self) -> Iterable[tuple[str, str, str]]:
        yield from super().misfits()
        if self.quality >= 1:
            yield "quality", f"{self.quality:g}", "must be below 1: only a look at all servers guarantees the best"
        if self.quality > 0 and self.miss <= 0:
            yield "miss", f"{self.miss:g}", "must be above 0: no sample is certain"
        if self.quality > 0 and self.miss >= 1:
            yield "miss", f"{self.miss:g}", "must be below 1: it is a share of decisions"


class Centralised(Considerate, of="placement", name="centralised", ranking=codes.BY_COLOCATION):
    """The best quality of colocation of all servers, chosen by one agent who looks at every unit, for a limited time
    (Tarcil §7.2, of Quasar)."""

    agents: int = count("agents that decide", 1, MOST_AGENTS, "agents")
    decision_seconds: float = number(SECONDS, 0, DAY, "decision")
    unit_seconds: float = number("s a unit", 0, DAY, "candidate_cost")
    longest_seconds: float = number(SECONDS, 0, DAY, "longest_decision")
    wire_seconds: float = number(SECONDS, 0, DAY, "wire")
    takeover_seconds: float = number(SECONDS, 0, DAY, "takeover")


class Random(SampledServers, of="placement", name="random", ranking=codes.BY_CHANCE, interference_is_full=0):
    """The first server with room that chance draws."""


class PowerOfTwo(SampledServers, of="placement", name="power-of-two", ranking=codes.BY_LOAD, interference_is_full=0):
    """The less loaded of two servers that chance draws."""


class Sparrow(Rule, of="placement", name="sparrow", ranking=codes.BY_PROBES, interference_is_full=0, gang=0):
    """Two servers that chance draws are asked; a job that neither has room for waits at both, and the first that gets
    room takes it (Tarcil §7.2). Pieces of a job of several servers begin one by one."""

    probes: int = count("servers asked", 1, 16, "candidates")
    agents: int = count("agents that decide", 1, MOST_AGENTS, "agents")
    decision_seconds: float = number(SECONDS, 0, DAY, "decision")
    candidate_seconds: float = number("s a candidate", 0, DAY, "candidate_cost")
    wire_seconds: float = number(SECONDS, 0, DAY, "wire")
    takeover_seconds: float = number(SECONDS, 0, DAY, "takeover")

    def numbers(self, known: Known) -> dict[str, float]:
        return {**super().numbers(known), "most_candidates": self.probes}


class TwoLevel(Rule, of="placement", name="two-level", ranking=codes.BY_OFFER, interference_is_full=0, gang=0):
    """Servers without jobs are offered to frameworks in turn, one of services and one of batch jobs; each takes the
    first that holds its next jobs (Tarcil §7.2, of Mesos). Pieces of a job of several servers begin one by one."""

    offer_seconds: float = number(SECONDS, 0.001, DAY, "period")


class ParagonSampled(SampledUnits, of="placement", name="paragon-sampled", ranking=codes.BY_COLOCATION):
    """The server of a sample with the best quality of colocation; of those that harm nobody the best platform first
    (Paragon §3.3)."""

    formula: str = choice("fixed", "printed", feeds="printed_formula", on="printed")
    draw: str = choice("stream", "hash", feeds="hash_draw", on="hash")
    profile_above: float = _PROFILED


class Tarcil(SampledUnits, of="placement", name="tarcil", ranking=codes.BY_MATCH):
    """The resource unit of a sample that fits what the job needs most closely, on a platform that suits it (Tarcil
    §7.3)."""

    most_candidates: int = count("candidates a decision", 1, MOST_CANDIDATES, "most_candidates")
    platform_slack: float = share("share below the best platform", "platform_slack")
