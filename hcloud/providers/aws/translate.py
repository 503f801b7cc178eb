"""Orders in the words of EC2, and its answers as model values; pure, and tolerant of words that are not known."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from hcloud.model.catalog import PurchaseOption
from hcloud.model.holdings.live import TAG_LINEAGE, Launch, LaunchTemplate, Machine, MachineState, Notice
from hcloud.providers.aws.settings import DISK, LAUNCHED_WITH, AwsSettings
from hcloud.providers.templates import as_planned, by_image, template_of

Document = Mapping[str, Any]

LARGEST_PAGE = 1000
MOST_FILTER_VALUES = 200
TAGGED = ("instance", "volume")
PARAMETER = "resolve:ssm:"
LATEST_IMAGE = "resolve:ssm:/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-{arch}"
STATES: Mapping[str, MachineState] = {
    "pending": MachineState.PENDING,
    "running": MachineState.RUNNING,
    "shutting-down": MachineState.STOPPING,
    "stopping": MachineState.STOPPED,  # on its way to stopped, not to its end: it stays, and can be started
    "stopped": MachineState.STOPPED,
    "terminated": MachineState.ENDED,
}
ENDING = ("shutting-down", "terminated")
_TRANSITION = re.compile(r"\((\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) GMT\)")
_ARM = re.compile(r"a1\.|[a-z]+\d+[a-z]*g[a-z]*\.")
STANDARD = "acdhimrtz"
# Quota codes of vCPUs that run at once, on-demand and spot, by the family's letters.
QUOTA_CODES: Mapping[str, tuple[str, str]] = {
    "standard": ("L-1216C47A", "L-34B43A08"),
    "g": ("L-DB2E81BA", "L-3819A6DF"),
    "vt": ("L-DB2E81BA", "L-3819A6DF"),
    "p": ("L-417A185B", "L-7212CCBC"),
    "f": ("L-74FC7D96", "L-88CF9481"),
    "x": ("L-7295265B", "L-E3A00192"),
}


def launch_request(order: Launch, settings: AwsSettings) -> dict[str, Any]:
    """RunInstances for an order: its key is the client token, so that it is made once however often it is sent."""
    tags = [{"Key": k, "Value": v} for k, v in order.tags().items()]
    settings = as_planned(settings, LAUNCHED_WITH, order)
    request: dict[str, Any] = {
        "ImageId": image_name(order.instance_type, settings),
        "InstanceType": order.instance_type,
        "MinCount": 1,
        "MaxCount": order.count,
        "ClientToken": order.key,
        "Placement": {"AvailabilityZone": order.zone},
        "TagSpecifications": [{"ResourceType": kind, "Tags": tags} for kind in TAGGED],
        "MetadataOptions": {"HttpTokens": "required"},
    }
    request.update({name: value for name, value in _optional(order, settings).items() if value})
    return request


def _optional(order: Launch, settings: AwsSettings) -> dict[str, Any]:
    spot = {"SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "terminate"}
    is_spot = order.option is PurchaseOption.SPOT
    return {
        "SubnetId": settings.subnets.get(order.zone),
        "SecurityGroupIds": list(settings.security_groups),
        "KeyName": settings.key_name,
        "IamInstanceProfile": {"Name": settings.instance_profile} if settings.instance_profile else None,
        "UserData": order.start_up,
        "InstanceMarketOptions": {"MarketType": "spot", "SpotOptions": spot} if is_spot else None,
        # one-time spot machines end by themselves; EC2 refuses to be told so
        "InstanceInitiatedShutdownBehavior": None if is_spot else "terminate",
    }


def template(instance_types: Sequence[str], settings: AwsSettings) -> LaunchTemplate:
    """What machines of these types are launched with."""
    images = by_image(instance_types, lambda name: image_name(name, settings))
    return template_of(settings, LAUNCHED_WITH, images, DISK)


def image_name(instance_type: str, settings: AwsSettings) -> str:
    """The image of a type: the one that is set, else the latest Amazon Linux of its architecture."""
    return settings.image or LATEST_IMAGE.format(arch=arch_of(instance_type))


def image_parameter(name: str) -> str:
    """The parameter that an image is looked up in; empty for the id of an image."""
    return name.removeprefix(PARAMETER) if name.startswith(PARAMETER) else ""


def arch_of(instance_type: str) -> str:
    """The architecture of a type, by its name: Graviton families have a g behind the number."""
    return "arm64" if _ARM.match(instance_type) else "x86_64"


def listing_request(lineage: str) -> dict[str, Any]:
    """DescribeInstances for a lineage, or for all that bear one."""
    name, value = (f"tag:{TAG_LINEAGE}", lineage) if lineage else ("tag-key", TAG_LINEAGE)
    return {"Filters": [{"Name": name, "Values": [value]}], "MaxResults": LARGEST_PAGE}


def token_request(key: str) -> dict[str, Any]:
    """DescribeInstances for what was launched with a client token."""
    return {"Filters": [{"Name": "client-token", "Values": [key]}], "MaxResults": LARGEST_PAGE}


def look_requests(ids: Iterable[str]) -> Iterator[dict[str, Any]]:
    """DescribeInstances for ids, as a filter: asked for by id, one that is unknown would fail them all."""
    wanted = list(dict.fromkeys(ids))
    for start in range(0, len(wanted), MOST_FILTER_VALUES):
        values = wanted[start : start + MOST_FILTER_VALUES]
        yield {"Filters": [{"Name": "instance-id", "Values": values}], "MaxResults": LARGEST_PAGE}


def machines_of(reservations: Iterable[Document]) -> tuple[Machine, ...]:
    """The machines of an answer, by id; one that is on two pages is told once."""
    told = (i for r in reservations for i in r.get("Instances") or [])
    found = {m.id: m for m in (machine_of(i) for i in told) if m.id}
    return tuple(found[i] for i in sorted(found))


def machine_of(told: Document) -> Machine:
    """A machine as EC2 tells of it."""
    state = str((told.get("State") or {}).get("Name", ""))
    launched = told.get("LaunchTime")
    return Machine(
        id=str(told.get("InstanceId", "")),
        instance_type=str(told.get("InstanceType", "")),
        zone=str((told.get("Placement") or {}).get("AvailabilityZone", "")),
        state=STATES.get(state, MachineState.UNKNOWN),
        option=PurchaseOption.SPOT if told.get("InstanceLifecycle") == "spot" else PurchaseOption.ON_DEMAND,
        launched=_utc(launched),
        tags={str(t.get("Key", "")): str(t.get("Value", "")) for t in told.get("Tags") or []},
        ended=_ended(str(told.get("StateTransitionReason") or "")) if state in ENDING else None,
    )


EVENTS = ("instance-retirement", "instance-stop", "instance-reboot", "system-reboot", "system-maintenance")
EVENTS_REQUEST: Document = {
    "Filters": [{"Name": "event.code", "Values": list(EVENTS)}],
    "IncludeAllInstances": True,
    "MaxResults": LARGEST_PAGE,
}
TAKEN = ("marked-for-termination", "marked-for-stop")
TAKEN_REQUEST: Document = {
    "Filters": [{"Name": "status-code", "Values": list(TAKEN)}],
    "MaxResults": LARGEST_PAGE,
}
OVER = ("[Completed]", "[Canceled]", "[Cancelled]")
"""What the description of a scheduled event begins with that will not happen any more; EC2 tells of it for a week."""


def notices_of(statuses: Iterable[Document]) -> tuple[Notice, ...]:
    """Scheduled events of machines that are yet to come."""
    return tuple(
        Notice(str(status.get("InstanceId", "")), f"EC2 event {event.get('Code')}", _utc(event.get("NotBefore")))
        for status in statuses
        for event in status.get("Events") or []
        if not str(event.get("Description", "")).startswith(OVER)
    )


def spot_notices_of(requests: Iterable[Document]) -> tuple[Notice, ...]:
    """Spot machines that EC2 said it takes."""
    return tuple(
        Notice(str(request.get("InstanceId", "")), f"EC2 spot {code}")
        for request in requests
        if (code := str((request.get("Status") or {}).get("Code", ""))) in TAKEN
    )


def _utc(told: object) -> datetime | None:
    return told.astimezone(UTC) if isinstance(told, datetime) else None


def _ended(reason: str) -> datetime | None:
    """When somebody asked for the end of a machine; EC2 tells it in words, and not of every end."""
    found = _TRANSITION.search(reason)
    try:
        return datetime.fromisoformat(found[1]).replace(tzinfo=UTC) if found else None
    except ValueError:
        return None


def named_ids(message: str) -> set[str]:
    """The instance ids that a message names."""
    return set(re.findall(r"\bi-[0-9a-f]{8,17}\b", message))


def quota_class(instance_type: str) -> str:
    """The class of quotas that a type counts against; empty for one that is not known here."""
    letters = re.match(r"[a-z]+", instance_type)
    family = letters.group() if letters else ""
    if family in ("inf", "trn", "hpc", "dl", "mac", "u", "vt"):
        return family if family in QUOTA_CODES else ""
    if family and family[0] in STANDARD:
        return "standard"
    return family[:1] if family[:1] in QUOTA_CODES else ""


def exact(value: object) -> Decimal:
    """A figure of an answer without the noise of a binary float; zero where there is none."""
    try:
        found = Decimal(str(value)) if value is not None else Decimal(0)
    except ArithmeticError:
        return Decimal(0)
    return found if found.is_finite() else Decimal(0)
