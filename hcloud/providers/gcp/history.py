"""What Google keeps of machines: Compute Engine lists them, Cloud Monitoring has their vCPUs and utilisation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime

from hcloud.errors import DeniedError
from hcloud.model.catalog import PurchaseOption
from hcloud.model.fetched import AskAgain, BillingAnswer, MeasuredMachine, Retention, SampleSeries, SamplingWindow
from hcloud.providers.gcp.documents import Document, member, of_kind
from hcloud.providers.gcp.settings import GoogleSettings
from hcloud.providers.gcp.translate import last, machine
from hcloud.providers.gcp.wire import Wire

COMPUTE, MONITORING = "https://compute.googleapis.com", "https://monitoring.googleapis.com"
MOST_POINTS = 100_000
"""Google's largest page."""
MACHINES_A_REQUEST = 50
"""Ours: keeps a filter below Google's 2,048 characters."""
DAY = 86_400
_CPU = "compute.googleapis.com/instance/cpu/"
_SERIES = "timeSeries.list"
_LIST = "instances.aggregatedList"
_PERMISSIONS = {_SERIES: "monitoring.timeSeries.list", _LIST: "compute.instances.list"}
_DENIED_HINT = "it needs the permission {}"


class GoogleHistory:
    """Implements hcloud.model.fetched.MachineHistory for a project."""

    retention = Retention(((300, 42), (600, 730)), "")

    def __init__(self, settings: GoogleSettings, again: AskAgain) -> None:
        self._settings, self._again = settings, again
        self._wire = Wire(settings, pause=lambda seconds: None)
        self._found: dict[str, MeasuredMachine] | None = None

    def regions(self, window: SamplingWindow) -> tuple[str, ...]:
        """Those in which the project has, or had, a machine."""
        return tuple(sorted({m.region for m in self._machines(window).values()}))

    def machines(self, region: str, window: SamplingWindow) -> tuple[MeasuredMachine, ...]:
        """Of the lists of the whole project, which are asked for once."""
        return tuple(m for _, m in sorted(self._machines(window).items()) if m.region == region)

    def _machines(self, window: SamplingWindow) -> Mapping[str, MeasuredMachine]:
        """The machines by number, which a name is not: another one may have it later."""
        if self._found is None:
            found = {m.id: m for page in self._listed() for m in _of_page(page)}
            for series in self._series("reserved_cores", "", (window.start, window.end), DAY):
                measured = _measured(series)
                if measured is not None:
                    known = found.get(measured.id, measured)
                    found[measured.id] = replace(known, vcpus=measured.vcpus)
            self._found = found
        return self._found

    def batch(self, window: SamplingWindow) -> int:
        """As many as a filter can name."""
        return MACHINES_A_REQUEST

    def samples(self, machines: Sequence[MeasuredMachine], window: SamplingWindow) -> Mapping[str, SampleSeries]:
        """timeSeries.list of machines by their numbers; its pages add to each other."""
        found: dict[str, dict[int, float]] = {}
        for start in range(0, len(machines), MACHINES_A_REQUEST):
            batch = machines[start : start + MACHINES_A_REQUEST]
            numbers = ",".join(f'"{m.id}"' for m in batch)
            wanted = f" AND resource.labels.instance_id = one_of({numbers})"
            for series in self._series("utilization", wanted, (window.start, window.end), window.seconds):
                kept = found.setdefault(_labels(series).get("instance_id", ""), {})
                kept.update((end - window.seconds, 100 * value) for end, value in _points(series))
        return {name: (sorted(pairs), [pairs[t] for t in sorted(pairs)]) for name, pairs in found.items() if pairs}

    def billed(self, window: SamplingWindow, regions: Sequence[str]) -> BillingAnswer:
        """Nothing: Google tells it in the export of its bill alone."""
        return BillingAnswer(missing="Google has them in the export of its bill only, which hcloud plan reads")

    def _listed(self) -> Iterator[Document]:
        host = self._settings.endpoint or COMPUTE
        path = f"{host.rstrip('/')}/compute/v1/projects/{self._settings.project}/aggregated/instances"
        yield from self._pages(path, {"maxResults": "500", "returnPartialSuccess": "true"}, _LIST)

    def _series(self, metric: str, wanted: str, span: tuple[int, int], seconds: int) -> Iterator[Document]:
        asked = {
            "filter": f'metric.type = "{_CPU}{metric}"{wanted}',
            "interval.startTime": _written(span[0]),
            "interval.endTime": _written(span[1]),
            "aggregation.alignmentPeriod": f"{seconds}s",
            "aggregation.perSeriesAligner": "ALIGN_MEAN",
            "pageSize": str(MOST_POINTS),
        }
        host = self._settings.endpoint or MONITORING
        path = f"{host.rstrip('/')}/v3/projects/{self._settings.project}/timeSeries"
        for page in self._pages(path, asked, _SERIES):
            yield from (of_kind(series, dict) for series in member(page, "timeSeries", list))

    def _pages(self, url: str, asked: Mapping[str, str], operation: str) -> Iterator[Document]:
        following = asked
        seen: set[str] = set()
        while following:
            with _permission(operation):
                page = self._again(lambda now=following: self._wire.document(url, now, operation))  # type: ignore[misc]
            yield page
            token = member(page, "nextPageToken", str)
            if token in seen:
                raise self._wire.endless(operation)
            seen.add(token)
            following = {**asked, "pageToken": token} if token else {}


@contextmanager
def _permission(operation: str) -> Iterator[None]:
    """A refusal says which permission it is about."""
    try:
        yield
    except DeniedError as error:
        error.hint = _DENIED_HINT.format(_PERMISSIONS[operation])
        raise


def _of_page(page: Document) -> Iterator[MeasuredMachine]:
    for scope in member(page, "items", dict).values():
        for told in member(of_kind(scope, dict), "instances", list):
            instance = of_kind(told, dict)
            known = machine(instance)
            yield MeasuredMachine(
                id=str(instance.get("id", "")),
                instance_type=known.instance_type,
                region=known.zone.rpartition("-")[0],
                zone=known.zone,
                option="spot" if known.option is PurchaseOption.SPOT else "on-demand",
                tenancy="dedicated"
                if member(member(instance, "scheduling", dict), "nodeAffinities", list)
                else "shared",
                os=_system(instance),
                launched=known.launched,
            )


def _system(instance: Document) -> str:
    disks = [of_kind(disk, dict) for disk in member(instance, "disks", list)]
    licences = [last(str(licence)) for disk in disks for licence in member(disk, "licenses", list)]
    for part, name in (("windows", "windows"), ("rhel", "rhel"), ("sles", "suse")):
        if any(part in licence for licence in licences):
            return name
    return "linux" if licences else ""


def _labels(series: Document) -> dict[str, str]:
    return {k: str(v) for k, v in member(member(series, "resource", dict), "labels", dict).items()}


def _measured(series: Document) -> MeasuredMachine | None:
    labels, points = _labels(series), _points(series)
    number, zone = labels.get("instance_id", ""), labels.get("zone", "")
    if not (number and zone and points):
        return None
    return MeasuredMachine(number, "", zone.rpartition("-")[0], zone, vcpus=max(value for _, value in points))


def _points(series: Document) -> list[tuple[int, float]]:
    """The end of each period in Unix seconds, and its mean."""
    found = []
    for point in member(series, "points", list):
        span, value = (member(of_kind(point, dict), name, dict) for name in ("interval", "value"))
        number = value.get("doubleValue", value.get("int64Value"))
        if number is not None:
            found.append((int(datetime.fromisoformat(member(span, "endTime", str)).timestamp()), float(number)))
    return found


def _written(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
