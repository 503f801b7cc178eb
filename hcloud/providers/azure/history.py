"""What Azure keeps of machines: the Resource Manager lists them, Azure Monitor has their utilisation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from urllib.parse import quote, urlencode

from hcloud.at_once import in_parallel
from hcloud.errors import DeniedError, NotFoundError
from hcloud.model.fetched import AskAgain, BillingAnswer, MeasuredMachine, Retention, SampleSeries, SamplingWindow
from hcloud.providers.azure.arm import Arm
from hcloud.providers.azure.documents import Document, branch, exact, items, moment, text, words
from hcloud.providers.azure.errors import Reply, refusal
from hcloud.providers.azure.settings import AzureSettings
from hcloud.providers.azure.translate import zone_name

METRICS_VERSION = "2023-10-01"
METRIC = "Percentage CPU"
DAY = 86_400
LONGEST_SPAN = 30 * DAY
"""So much Azure Monitor tells in an answer."""
MACHINES_A_BATCH = 64
"""Ours: a request each, some at the same time."""
_LIST, _SERIES = "VirtualMachines_ListAll", "Metrics_List"
_PERMISSIONS = {_LIST: "Microsoft.Compute/virtualMachines/read", _SERIES: "Microsoft.Insights/metrics/read"}
_INTERVALS = {300: "PT5M", 3600: "PT1H"}


class _PatientArm(Arm):
    """Asks again where that helps, page by page, and says which permission a refusal is about."""

    def __init__(self, settings: AzureSettings, again: AskAgain) -> None:
        super().__init__(settings)
        self._again = again

    def get(self, operation: str, url: str) -> Reply:
        """An answer that is one."""
        try:
            return self._again(lambda: self._once(operation, url))
        except DeniedError as error:
            error.hint = f"it needs the permission {_PERMISSIONS[operation]}"
            raise

    def _once(self, operation: str, url: str) -> Reply:
        reply = super().get(operation, url)
        if reply.status != 200 or not reply.understood:
            raise refusal(self.call(operation), reply, mutating=False)
        return reply


class AzureHistory:
    """Implements hcloud.model.fetched.MachineHistory for a subscription."""

    retention = Retention(
        ((300, 93),), "Azure lists no machine that was deleted, and no member of a scale set in uniform orchestration"
    )

    def __init__(self, settings: AzureSettings, again: AskAgain) -> None:
        self._arm = _PatientArm(settings, again)
        self._found: tuple[MeasuredMachine, ...] | None = None

    def regions(self, window: SamplingWindow) -> tuple[str, ...]:
        """Those in which the subscription has a machine."""
        return tuple(sorted({m.region for m in self._machines()}))

    def machines(self, region: str, window: SamplingWindow) -> tuple[MeasuredMachine, ...]:
        """Of the list of the whole subscription, which is asked for once."""
        return tuple(m for m in self._machines() if m.region == region)

    def _machines(self) -> tuple[MeasuredMachine, ...]:
        if self._found is None:
            told = self._arm.plain_pages(_LIST, "providers/Microsoft.Compute/virtualMachines")
            self._found = tuple(sorted((_machine(document) for document in told), key=lambda m: m.id))
        return self._found

    def batch(self, window: SamplingWindow) -> int:
        return MACHINES_A_BATCH

    def samples(self, machines: Sequence[MeasuredMachine], window: SamplingWindow) -> Mapping[str, SampleSeries]:
        """Metrics_List of each machine, a month at a time; one that was deleted meanwhile has none."""
        found = in_parallel(lambda machine: self._of(machine, window), machines)
        return {machine.id: series for machine, series in zip(machines, found, strict=True) if series[0]}

    def _of(self, machine: MeasuredMachine, window: SamplingWindow) -> SampleSeries:
        pairs: dict[int, float] = {}
        for start in range(window.start, window.end, LONGEST_SPAN):
            span = (start, min(start + LONGEST_SPAN, window.end))
            try:
                pairs.update(_points(self._answer(machine, span, window.seconds)))
            except NotFoundError:
                return (), ()
        return sorted(pairs), [pairs[time] for time in sorted(pairs)]

    def _answer(self, machine: MeasuredMachine, span: tuple[int, int], seconds: int) -> Document:
        asked = {
            "api-version": METRICS_VERSION,
            "metricnames": METRIC,
            "timespan": "/".join(map(_written, span)),
            "interval": _INTERVALS[seconds],
            "aggregation": "Average",
        }
        base = self._arm.settings.base_url
        url = f"{base}{quote(machine.id)}/providers/Microsoft.Insights/metrics?{urlencode(asked)}"
        return self._arm.get(_SERIES, url).document

    def billed(self, window: SamplingWindow, regions: Sequence[str]) -> BillingAnswer:
        """Nothing by the hour: Azure tells days, in the export of its costs."""
        return BillingAnswer(missing="Azure has them in the export of its costs, which hcloud plan reads")


def _machine(told: Document) -> MeasuredMachine:
    properties, location = branch(told, "properties"), text(told, "location").lower().replace(" ", "")
    zones = words(told, "zones")
    return MeasuredMachine(
        id=text(told, "id"),
        instance_type=text(properties, "hardwareProfile", "vmSize"),
        region=location,
        zone=zone_name(location, zones[0]) if zones else "",
        os=text(properties, "storageProfile", "osDisk", "osType").lower(),
        tenancy="dedicated" if branch(properties, "host") or branch(properties, "hostGroup") else "shared",
        option="spot" if text(properties, "priority") == "Spot" else "on-demand",
        launched=moment(properties, "timeCreated"),
    )


def _points(answer: Document) -> Iterator[tuple[int, float]]:
    """The beginning of each interval with a mean; of the others Azure tells the time alone."""
    for metric in items(answer, "value"):
        for series in items(metric, "timeseries"):
            for point in items(series, "data"):
                at, mean = moment(point, "timeStamp"), exact(point, "average")
                if at is not None and mean is not None:
                    yield int(at.timestamp()), float(mean)


def _written(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
