"""Every study of the page by its key, in the order of the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hcloud.research.studies import costs, over_time, quality, surroundings
from hcloud.research.studies.bench import StudyBench
from hcloud.research.studies.report import StudyReport

STUDIES: Mapping[str, Callable[[StudyBench], StudyReport]] = {
    "calibration": quality.calibration,
    "performance": quality.performance,
    "cost": costs.cost,
    "price-ratio": costs.price_ratio,
    "duration": costs.duration,
    "spin-up": surroundings.spin_up,
    "external-load": surroundings.external_load,
    "retention": surroundings.retention,
    "pricing": costs.pricing,
    "sensitive": surroundings.sensitive,
    "mapping": quality.mapping,
    "allocation": over_time.allocation,
    "applications": over_time.applications,
    "q90": quality.q90,
    "released-at-once": quality.at_once,
    "demand": costs.demand,
}
