"""M1: what is known of a job when it comes: its profile, or what its user asks for."""

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
