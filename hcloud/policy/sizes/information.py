"""M1: what is known of a job when it comes, its profile or what its user asks for, and how much of a server it is given
(Quasar §2, §3.3).

A strategy need not state its sizing: then jobs get what the rule of ``information`` says.
"""

from __future__ import annotations

from hcloud.policy.rule import DAY, SECONDS, Known, Rule, count, number, share


class Information(Rule):
    """What is measured of a job, how long that takes, and by how much users' requests miss the need."""

    injected_sources: int = count("sources of interference", 0, 10)
    vector_error: float = number("points", 0, 100)
    profiling_seconds: float = number(SECONDS, 0, DAY)
    classification_seconds: float = number(SECONDS, 0, DAY)
    decision_seconds: float = number(SECONDS, 0, DAY)
    oversized_share: float = share("share of requests")
    oversized_factor: float = number("times the need", 1, 1000)
    undersized_share: float = share("share of requests")
    undersized_factor: float = number("times below the need", 1, 1000)


class Profiled(Information, of="information", name="profiled", informed=1):
    """Jobs are profiled when first submitted, and classified."""

    def numbers(self, known: Known) -> dict[str, float]:
        return {**super().numbers(known), "profiling": self.profiling_seconds + self.classification_seconds}


class Requested(Information, of="information", name="requested"):
    """Nothing is known but what users ask for."""


class SizingRule(Rule):
    """What every rule of sizing is."""


class RequestedSizes(SizingRule, of="sizing", name="requested"):
    """What users ask for, who miss what their jobs need, most of them by far (Quasar §1)."""

    oversized_share: float = share("share of requests")
    oversized_factor: float = number("times the need", 1, 1000)
    undersized_share: float = share("share of requests")
    undersized_factor: float = number("times below the need", 1, 1000)


class ProfiledSizes(SizingRule, of="sizing", name="profiled"):
    """What jobs need, known without error."""


class TargetSizes(SizingRule, of="sizing", name="target", by_rows=1):
    """What the target of each job takes by the classified rows of its application, which err."""

    row_error: float = number("standard deviation of the logarithm", 0, 1)
    headroom: float = number("share above what the target takes", 0, 10, "on_top")
