"""Azure Monitor of the fake: how busy a machine was, as long as the machine is there."""

from __future__ import annotations

from datetime import UTC, datetime

from hcloud.fake.azure.estate import Estate
from hcloud.fake.azure.wire import ArmRequest, Document, Refused
from hcloud.fake.load import LoadSamples
from hcloud.fake.server import HttpAnswer, json_answer

DAY = 86_400
KEPT = 93 * DAY
LONGEST_SPAN = 30 * DAY
INTERVALS = {"PT1M": 60, "PT5M": 300, "PT15M": 900, "PT1H": 3600, "P1D": DAY}
METRIC = "Percentage CPU"


class Metrics:
    """The requests for metrics of a machine."""

    def __init__(self, estate: Estate) -> None:
        self._estate = estate

    def listed(self, asked: ArmRequest) -> HttpAnswer:
        """Means of one metric over a time; of an interval without any, the time alone."""
        machine = self._estate.at(asked.path.partition("/providers/Microsoft.Insights")[0], asked.now)
        query = asked.query
        seconds = INTERVALS.get(query.get("interval", ""))
        if query.get("metricnames") != METRIC or query.get("aggregation") != "Average" or seconds is None:
            raise Refused(400, "BadRequest", "This fake has means of Percentage CPU only.")
        start, end = _span(query.get("timespan", ""))
        if end - start > LONGEST_SPAN or start < asked.now - KEPT - DAY:
            raise Refused(400, "BadRequest", "The timespan is too long, or begins too early.")
        rented = machine.rented
        found: dict[int, float] = {}
        if rented is not None:
            load = self._estate.load_of(rented)
            found = dict(LoadSamples(rented, load, start, min(end, int(asked.now)), seconds))
        data = [_point(time, found.get(time)) for time in range(start, end, seconds)]
        metric = {"name": {"value": METRIC}, "unit": "Percent", "timeseries": [{"metadatavalues": [], "data": data}]}
        return json_answer({"timespan": query["timespan"], "interval": query["interval"], "value": [metric]})


def _point(time: int, value: float | None) -> Document:
    told: Document = {"timeStamp": datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}
    return told if value is None else {**told, "average": value}


def _span(text: str) -> tuple[int, int]:
    try:
        start, end = (int(datetime.fromisoformat(part).timestamp()) for part in text.split("/"))
    except ValueError:
        raise Refused(400, "BadRequest", f"The timespan {text!r} is invalid.") from None
    return start, end
