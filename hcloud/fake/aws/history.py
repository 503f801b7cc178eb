"""What the fake AWS tells of the past: CloudWatch's utilisation of its machines, and Cost Explorer's hours by type."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import groupby

from hcloud.fake.aws.world import Ask, DenialError, Wire, region_of
from hcloud.fake.world import LoadSamples, billed_in

DAY = 86_400
LISTED_DAYS = 14
RETENTION = {60: 15, 300: 63, 3600: 455}
MOST_QUERIES = 500
METRICS_PAGE = 500
NAMESPACE, METRIC = "AWS/EC2", "CPUUtilization"


def describe_regions(ask: Ask) -> Wire:
    """The regions that the account uses."""
    names = sorted({ask.world.home, *(region_of(m) for m in ask.world.ledger.machines.values())})
    return {"Regions": [{"RegionName": name, "OptInStatus": "opt-in-not-required"} for name in names]}


def list_metrics(ask: Ask) -> Wire:
    """The metric of each machine of the region that had a sample in the last two weeks."""
    if ask.wire.get("Namespace") != NAMESPACE or ask.wire.get("MetricName") != METRIC:
        return {"Metrics": []}
    since = ask.now - LISTED_DAYS * DAY
    told: list[Wire] = [
        {"Namespace": NAMESPACE, "MetricName": METRIC, "Dimensions": [{"Name": "InstanceId", "Value": m.id}]}
        for m in ask.machines
        if m.asked_to_end is None or m.asked_to_end > since
    ]
    page, token = ask.page(told, METRICS_PAGE)
    return {"Metrics": page, "NextToken": token}


def get_metric_data(ask: Ask) -> Wire:
    """Samples of machines, as many values a page as are asked for."""
    queries = ask.wire["MetricDataQueries"]
    if len(queries) > MOST_QUERIES:
        raise DenialError("ValidationError", f"The collection MetricDataQueries must not exceed {MOST_QUERIES} items")
    values = [(str(q["Id"]), *sample) for q in queries for sample in _samples(ask, q)]
    page, token = ask.page(values, int(ask.wire.get("MaxDatapoints", 100_800)))
    told = []
    for name, of_one in groupby(page, key=lambda value: value[0]):
        times, loads = zip(*((time, load) for _, time, load in of_one), strict=True)
        whole = {"StatusCode": "PartialData" if token else "Complete", "Label": METRIC}
        told.append({"Id": name, "Timestamps": list(times), "Values": list(loads), **whole})
    return {"MetricDataResults": told, "NextToken": token, "Messages": []}


def _samples(ask: Ask, query: Wire) -> list[tuple[int, float]]:
    stat = query["MetricStat"]
    names = {d["Name"]: d["Value"] for d in stat["Metric"]["Dimensions"]}
    machine = ask.world.ledger.machines.get(names.get("InstanceId", ""))
    seconds = int(stat["Period"])
    if seconds not in RETENTION:
        raise DenialError("ValidationError", f"The parameter Period must be one of {', '.join(map(str, RETENTION))}")
    if machine is None or region_of(machine) != ask.region:
        return []
    kept = ask.now - RETENTION[seconds] * DAY
    start, end = (int(float(ask.wire[name])) for name in ("StartTime", "EndTime"))
    samples = LoadSamples(machine, ask.world.load_of(machine), start, min(end, int(ask.now)), seconds)
    return [sample for sample in samples if sample[0] >= kept]


def get_cost_and_usage(ask: Ask) -> Wire:
    """Hours and cost by region and type, in days or, where the account has turned them on, hours."""
    hourly = ask.wire["Granularity"] == "HOURLY"
    span = ask.wire["TimePeriod"]
    start, end = (_moment(str(span[name])) for name in ("Start", "End"))
    if hourly and not ask.world.has_hourly_costs:
        words = "Hourly data granularity is opt-in only. You can enable this feature from the PAYER account's settings."
        raise DenialError("AccessDeniedException", words)
    if hourly and start.timestamp() < ask.now - (LISTED_DAYS + 1) * DAY:
        raise DenialError("ValidationException", "Hourly data is available for the last 14 days only")
    step = timedelta(hours=1) if hourly else timedelta(days=1)
    starts = [start + number * step for number in range(-(-(end - start) // step))]
    first = int(str(ask.wire.get("NextPageToken", "page-0")).removeprefix("page-"))
    after = first + (ask.world.largest_page or 200)
    token = f"page-{after}" if after < len(starts) else None
    form = "%Y-%m-%dT%H:%M:%SZ" if hourly else "%Y-%m-%d"
    told = [
        {
            "TimePeriod": {"Start": begin.strftime(form), "End": (begin + step).strftime(form)},
            "Total": {},
            "Groups": _groups(ask, begin.timestamp(), (begin + step).timestamp()),
            "Estimated": False,
        }
        for begin in starts[first:after]
    ]
    return {"ResultsByTime": told, **({"NextPageToken": token} if token else {})}


def _moment(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _groups(ask: Ask, start: float, end: float) -> list[Wire]:
    hours: dict[tuple[str, str], float] = defaultdict(float)
    costs: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
    for machine in ask.world.ledger.machines.values():
        ran = billed_in(machine, start, end, ask.now)
        if ran:
            key = (region_of(machine), machine.instance_type)
            hours[key] += ran
            costs[key] += ask.world.hourly(machine) * Decimal(str(ran))
    return [
        {
            "Keys": list(key),
            "Metrics": {
                "UsageQuantity": {"Amount": f"{hours[key]:.10f}", "Unit": "Hrs"},
                "UnblendedCost": {"Amount": f"{costs[key]:.10f}", "Unit": "USD"},
            },
        }
        for key in sorted(hours)
    ]
