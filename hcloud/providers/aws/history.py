"""What AWS keeps of machines: EC2 lists them, CloudWatch has their utilisation, Cost Explorer the hours by type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from typing import Any

from hcloud.errors import (
    CloudError,
    DeniedError,
    MissingExtraError,
    RefusedError,
    UnavailableError,
    UsageError,
    did_you_mean,
)
from hcloud.model.catalog import Provider
from hcloud.model.fetched import (
    AskAgain,
    BilledHours,
    BillingAnswer,
    MeasuredMachine,
    Retention,
    SampleSeries,
    SamplingWindow,
)
from hcloud.providers.aws.caller import Caller, Document
from hcloud.providers.aws.errors import without_answer
from hcloud.providers.aws.settings import AwsSettings

DAY = 86_400
HOURLY_DAYS = 14
"""For so long Cost Explorer keeps single hours, in accounts that turned that on."""
MOST_QUERIES = 500
MOST_POINTS = 100_800
"""CloudWatch: the most series of a request and the most values of a page."""
PAGES_A_BATCH = 20
"""Ours: what is lost at most when a fetch is interrupted."""
_SERVICES = {"ec2": "ec2", "cloudwatch": "cloudwatch", "ce": "ce"}
_METRIC = {"Namespace": "AWS/EC2", "MetricName": "CPUUtilization"}
_RECORDS = ("Usage", "DiscountedUsage", "SavingsPlanCoveredUsage")
_RUNNING_HOURS: Document = {
    "And": [
        {"Dimensions": {"Key": "USAGE_TYPE_GROUP", "Values": ["EC2: Running Hours"]}},
        {"Dimensions": {"Key": "RECORD_TYPE", "Values": list(_RECORDS)}},
    ]
}
_SYSTEMS = (("windows", "windows"), ("red hat", "rhel"), ("suse", "suse"), ("linux", "linux"))


class _PatientCaller(Caller):
    """Asks again where that helps, and says which permission a refusal is about."""

    def __init__(self, settings: AwsSettings, again: AskAgain) -> None:
        super().__init__(settings)
        self._again = again

    def ask(self, service: str, operation: str, request: Document, *, mutating: bool = False) -> Document:
        """The answer to a request that changes nothing."""
        try:
            return self._again(lambda: super(_PatientCaller, self).ask(service, operation, request))
        except DeniedError as error:
            error.hint = f"it needs the permission {_SERVICES[service]}:{operation}"
            raise


class AwsHistory:
    """Implements hcloud.model.fetched.MachineHistory for the account of some credentials."""

    retention = Retention(
        ((300, 63), (3600, 455)),
        "CloudWatch lists the metrics of terminated instances for two weeks, and EC2 their types for an hour",
    )

    def __init__(self, settings: AwsSettings, again: AskAgain) -> None:
        self._settings, self._again = settings, again
        self._callers: dict[str, Caller] = {}

    def regions(self, window: SamplingWindow) -> tuple[str, ...]:
        """DescribeRegions: those that the account has enabled."""
        caller, operation = self._caller(self._settings.region), "DescribeRegions"
        answer = caller.ask("ec2", operation, {})
        return tuple(sorted(str(r.get("RegionName")) for r in caller.listed(answer, "Regions", operation)))

    def machines(self, region: str, window: SamplingWindow) -> tuple[MeasuredMachine, ...]:
        """DescribeInstances, and of ListMetrics the instances that it does not know any more."""
        caller = self._caller(region)
        pages = caller.pages("ec2", "DescribeInstances", {"MaxResults": 1000}, ("Reservations", "NextToken"))
        found = {m.id: m for r in pages for m in (_machine(i, region) for i in r.get("Instances") or []) if m.id}
        asked = {**_METRIC, "Dimensions": [{"Name": "InstanceId"}]}
        for metric in caller.pages("cloudwatch", "ListMetrics", asked, ("Metrics", "NextToken")):
            name = _instance_of(metric)
            if name and name not in found:
                found[name] = MeasuredMachine(name, "", region)
        return tuple(found[name] for name in sorted(found))

    def batch(self, window: SamplingWindow) -> int:
        """Up to the 500 that a request takes, and no more than some pages of values."""
        return max(1, min(MOST_QUERIES, PAGES_A_BATCH * MOST_POINTS // max(window.samples, 1)))

    def samples(self, machines: Sequence[MeasuredMachine], window: SamplingWindow) -> Mapping[str, SampleSeries]:
        """GetMetricData of up to 500 machines a request; its pages add to each other."""
        found: dict[str, dict[int, float]] = {}
        for start in range(0, len(machines), MOST_QUERIES):
            self._ask_for(machines[start : start + MOST_QUERIES], window, found)
        return {name: (sorted(pairs), [pairs[t] for t in sorted(pairs)]) for name, pairs in found.items() if pairs}

    def _ask_for(
        self, batch: Sequence[MeasuredMachine], window: SamplingWindow, found: dict[str, dict[int, float]]
    ) -> None:
        caller, operation = self._caller(batch[0].region), "GetMetricData"
        request: Document = {
            "StartTime": datetime.fromtimestamp(window.start, UTC),
            "EndTime": datetime.fromtimestamp(window.end, UTC),
            "ScanBy": "TimestampAscending",
            "MaxDatapoints": MOST_POINTS,
            "MetricDataQueries": [_query(number, m, window) for number, m in enumerate(batch)],
        }
        for one in caller.pages("cloudwatch", operation, request, ("MetricDataResults", "NextToken")):
            if one.get("StatusCode") in ("InternalError", "Forbidden"):
                raise UnavailableError(f"a series came back as {one['StatusCode']}", caller.call(operation))
            number = str(one.get("Id", "")).removeprefix("m")
            times, values = one.get("Timestamps") or [], one.get("Values") or []
            if not number.isdecimal() or int(number) >= len(batch) or len(times) != len(values):
                raise without_answer("a series that was not asked for", caller.call(operation), mutating=False)
            kept = found.setdefault(batch[int(number)].id, {})  # a page that came twice counts once
            kept.update(zip((int(time.timestamp()) for time in times), map(float, values), strict=True))

    def billed(self, window: SamplingWindow, regions: Sequence[str]) -> BillingAnswer:
        """GetCostAndUsage by region and type: single hours where the account has them, else days."""
        edge = max(window.end - HOURLY_DAYS * DAY, window.start)
        edge += -edge % DAY
        last = window.end - window.end % DAY
        try:
            lines = list(self._costs(window.start - window.start % DAY, edge, "DAILY"))
            try:
                lines += self._costs(edge, window.end, "HOURLY")
            except (DeniedError, RefusedError):  # single hours are a setting that most accounts leave off
                lines += self._costs(edge, last, "DAILY")
        except CloudError as error:
            return BillingAnswer(missing=f"{error} ({error.hint})" if error.hint else str(error))
        return BillingAnswer(tuple(line for line in lines if line.region in regions))

    def _costs(self, start: int, end: int, granularity: str) -> Iterator[BilledHours]:
        if start >= end:
            return
        form = "%Y-%m-%d" if granularity == "DAILY" else "%Y-%m-%dT%H:%M:%SZ"
        request: Document = {
            "TimePeriod": {"Start": _written(start, form), "End": _written(end, form)},
            "Granularity": granularity,
            "Metrics": ["UsageQuantity", "UnblendedCost"],
            "Filter": _RUNNING_HOURS,
            "GroupBy": [{"Type": "DIMENSION", "Key": "REGION"}, {"Type": "DIMENSION", "Key": "INSTANCE_TYPE"}],
        }
        names = ("ResultsByTime", "NextPageToken")
        caller = self._caller(self._settings.region)
        for result in caller.pages("ce", "GetCostAndUsage", request, names):
            yield from _billed(result)

    def _caller(self, region: str) -> Caller:
        if region not in self._callers:
            _check_region(region)
            self._callers[region] = _PatientCaller(replace(self._settings, region=region), self._again)
        return self._callers[region]


def _check_region(region: str) -> None:
    """Refuse a region that the SDK does not know: it has no address, and to ask there again and again takes minutes."""
    if region not in _known_regions():
        hint = "a region that is newer than boto3 needs a newer boto3"
        raise UsageError(f"AWS has no region {region}{did_you_mean(region, _known_regions())}", hint=hint)


@cache
def _known_regions() -> tuple[str, ...]:
    try:
        from botocore.session import Session
    except ImportError:
        raise MissingExtraError("boto3", Provider.AWS) from None
    session = Session()
    parts = session.get_available_partitions()
    return tuple(name for part in parts for name in session.get_available_regions("ec2", part))


def _machine(told: Document, region: str) -> MeasuredMachine:
    place = told.get("Placement") or {}
    platform = str(told.get("PlatformDetails") or "").lower()
    return MeasuredMachine(
        id=str(told.get("InstanceId", "")),
        instance_type=str(told.get("InstanceType", "")),
        region=region,
        zone=str(place.get("AvailabilityZone") or ""),
        os=next((name for part, name in _SYSTEMS if part in platform), ""),
        tenancy={"default": "shared"}.get(tenancy := str(place.get("Tenancy") or ""), tenancy),
        option="spot" if told.get("InstanceLifecycle") == "spot" else "on-demand",
        launched=told.get("LaunchTime"),
    )


def _instance_of(metric: Document) -> str:
    dimensions: list[Any] = metric.get("Dimensions") or []
    names = {str(d.get("Name")): str(d.get("Value") or "") for d in dimensions}
    return names.get("InstanceId", "") if len(names) == 1 else ""


def _query(number: int, machine: MeasuredMachine, window: SamplingWindow) -> Document:
    metric = {**_METRIC, "Dimensions": [{"Name": "InstanceId", "Value": machine.id}]}
    return {"Id": f"m{number}", "MetricStat": {"Metric": metric, "Period": window.seconds, "Stat": "Average"}}


def _written(seconds: int, form: str) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime(form)


def _billed(result: Document) -> Iterator[BilledHours]:
    span = result.get("TimePeriod") or {}
    start, end = (_seconds(str(span.get(name, ""))) for name in ("Start", "End"))
    for group in result.get("Groups") or []:
        region, kind = [*group.get("Keys", []), "", ""][:2]
        told = group.get("Metrics") or {}
        usage, cost = told.get("UsageQuantity") or {}, told.get("UnblendedCost") or {}
        hours = float(usage.get("Amount") or 0)
        if hours > 0:
            amount = Decimal(str(cost.get("Amount") or 0))
            yield BilledHours(str(region), str(kind), start, end, hours, amount, str(cost.get("Unit") or ""))


def _seconds(text: str) -> int:
    found = datetime.fromisoformat(text)
    return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp())
