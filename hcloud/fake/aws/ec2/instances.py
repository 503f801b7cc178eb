"""The EC2 operations on machines that are there: describe, terminate, tag."""

from __future__ import annotations

from dataclasses import replace

from hcloud.fake.aws.ec2.launching import MOST_TAGS, checked_tags
from hcloud.fake.aws.ec2.machines import (
    CODES,
    by_user,
    changed,
    end,
    is_listed,
    matching,
    of_ids,
    reservations,
    scheduled,
    seen_state,
    seen_tags,
    spot_request,
)
from hcloud.fake.aws.world import Ask, DenialError, Wire, by_column, moment
from hcloud.fake.faults import FaultKind, Lag
from hcloud.fake.ledger import Rented

MOST_IDS = 1000
LARGEST_PAGE = 1000
CONSOLE_BYTES = 64 << 10


def describe_instances(ask: Ask) -> Wire:
    """Machines by id or by filters, in pages."""
    ids = [str(i) for i in ask.wire.get("InstanceIds", [])]
    most = ask.wire.get("MaxResults")
    if most is not None and ids:
        raise DenialError("InvalidParameterCombination", "InstanceIds and MaxResults cannot be used together")
    if most is not None and not 5 <= int(most) <= LARGEST_PAGE:
        raise DenialError("InvalidParameterValue", "MaxResults must be between 5 and 1000")
    if ask.struck(FaultKind.EMPTY):
        return {"Reservations": []}
    ask = ask if ids else replace(ask, behind=Lag.of(ask.rule))
    found = of_ids(ask, ids) if ids else _listed(ask)
    page, token = ask.page(matching(ask, found), LARGEST_PAGE)
    return {"Reservations": reservations(ask, page), "NextToken": token}


def _listed(ask: Ask) -> list[Rented]:
    return [m for m in ask.machines if is_listed(ask, m)]


def describe_instance_status(ask: Ask) -> Wire:
    """States of machines; only running ones unless all are asked for."""
    ids = [str(i) for i in ask.wire.get("InstanceIds", [])]
    found = of_ids(ask, ids) if ids else _listed(ask)
    states = [(m, seen_state(ask, m)) for m in found]
    shown = [(m, s) for m, s in states if ask.wire.get("IncludeAllInstances") or s == "running"]
    shown = ask.filtered(shown, {"event.code": lambda seen: [event["Code"] for event in scheduled(seen[0])]}.get)
    page, token = ask.page(shown, LARGEST_PAGE)
    told = [
        {
            "InstanceId": m.id,
            "AvailabilityZone": m.zone,
            "InstanceState": {"Code": CODES[s], "Name": s},
            "Events": scheduled(m),
        }
        for m, s in page
    ]
    return {"InstanceStatuses": told, "NextToken": token}


def describe_tags(ask: Ask) -> Wire:
    """Tags of all machines."""
    rows: list[Wire] = [
        {"ResourceId": m.id, "ResourceType": "instance", "Key": k, "Value": v}
        for m in _listed(ask)
        for k, v in sorted(seen_tags(ask, m).items())
    ]
    columns = {"resource-id": "ResourceId", "key": "Key", "value": "Value", "resource-type": "ResourceType"}
    rows = ask.filtered(rows, by_column(columns))
    page, token = ask.page([] if ask.struck(FaultKind.EMPTY) else rows, LARGEST_PAGE)
    return {"Tags": page, "NextToken": token}


def terminate_instances(ask: Ask) -> Wire:
    """End machines: all of them, or none where one id is not known."""
    ids = [str(i) for i in ask.wire.get("InstanceIds", [])]
    if not ids or len(ids) > MOST_IDS:
        raise DenialError("InvalidParameterValue", "Between 1 and 1000 instance IDs may be given")
    found = of_ids(ask, list(dict.fromkeys(ids)))
    ask.refuse_dry_run()
    if any(m.detail.get("kept") for m in found):
        raise DenialError("OperationNotPermitted", "An instance may not be terminated: disableApiTermination is set.")

    def terminate(machine: Rented) -> None:
        end(ask.world, machine, ask.now, by_user(ask.now))

    return {"TerminatingInstances": [changed(ask, m, terminate) for m in found]}


def create_tags(ask: Ask) -> Wire:
    """Put tags on machines."""
    added = checked_tags(ask.wire.get("Tags", []))
    for machine in of_ids(ask, [str(i) for i in ask.wire.get("Resources", [])]):
        if len({**machine.tags, **added}) > MOST_TAGS:
            raise DenialError("TagLimitExceeded", "The maximum number of tags for a resource is 50")
        machine.tags.update(added)
    return {}


def delete_tags(ask: Ask) -> Wire:
    """Take tags off machines."""
    for machine in of_ids(ask, [str(i) for i in ask.wire.get("Resources", [])]):
        for each in ask.wire.get("Tags", []):
            if "Value" not in each or machine.tags.get(each["Key"]) == each["Value"]:
                machine.tags.pop(each["Key"], None)
    return {}


def describe_spot_instance_requests(ask: Ask) -> Wire:
    """The requests behind spot machines; one that got notice says so."""
    found = [spot_request(m) for m in _listed(ask) if m.spot]
    found = ask.filtered(found, {"status-code": lambda request: [request["Status"]["Code"]]}.get)
    wanted = ask.wire.get("SpotInstanceRequestIds")
    page, token = ask.page([r for r in found if not wanted or r["SpotInstanceRequestId"] in wanted], LARGEST_PAGE)
    return {"SpotInstanceRequests": page, "NextToken": token}


def get_console_output(ask: Ask) -> Wire:
    """What a machine has written, the last 64 KiB of it; nothing unless start-up scripts are executed."""
    from base64 import b64encode

    [machine] = of_ids(ask, [str(ask.wire["InstanceId"])])
    written = str(machine.detail.get("console", "")).encode()[-CONSOLE_BYTES:]
    told = "" if ask.struck(FaultKind.EMPTY) else b64encode(written).decode()
    return {"InstanceId": machine.id, "Timestamp": moment(ask.now), "Output": told}
