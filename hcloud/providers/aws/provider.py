"""AWS as hcloud's live half sees it: one account in one region, over the client of boto3."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TypeVar

from hcloud.control.ports import Stop, Tell, never, silent
from hcloud.errors import NotFoundError, RefusedError
from hcloud.model.catalog import PurchaseOption
from hcloud.model.holdings.live import (
    Launch,
    LaunchOutcome,
    LaunchTemplate,
    Machine,
    MachineState,
    Notice,
    Quota,
    Scope,
    Terminated,
)
from hcloud.providers.aws import translate
from hcloud.providers.aws.buying import AwsCommitments
from hcloud.providers.aws.caller import Caller
from hcloud.providers.aws.errors import without_answer
from hcloud.providers.aws.settings import AwsSettings
from hcloud.providers.throttled import Throttling
from hcloud.units import counted

Found = TypeVar("Found")
MOST_IDS = 1000
MOST_TYPES = 100


class AwsCloud(AwsCommitments):
    """Implements hcloud.control.ports.Cloud; may be used from many threads."""

    launch_seconds = 0.0

    def __init__(
        self,
        settings: AwsSettings,
        pause: Callable[[float], None] = time.sleep,
        tell: Tell = silent,
        stop: Stop = never,
    ) -> None:
        super().__init__(Caller(settings, Throttling(f"aws {settings.region}", pause, tell, stop)))
        self._settings = settings
        self._scope: Scope | None = None
        self._lock = threading.Lock()

    def scope(self) -> Scope:
        """The account that the credentials belong to, in this region at this endpoint."""
        with self._lock:
            if self._scope is None:
                account = str(self._caller.ask("sts", "GetCallerIdentity", {}).get("Account") or "")
                if not account:
                    raise without_answer("no account came back", self._caller.call("GetCallerIdentity"), mutating=False)
                self._scope = Scope("aws", account, self._settings.region, self._caller.endpoint())
            return self._scope

    def template(self, instance_types: Sequence[str]) -> LaunchTemplate:
        """What machines of these types are launched with."""
        return translate.template(instance_types, self._settings)

    def image(self, name: str) -> str:
        """The AMI that a public parameter names now; the id of an AMI is itself."""
        parameter = translate.image_parameter(name)
        if not parameter:
            return name
        operation = "GetParameters"
        answer = self._caller.ask("ssm", operation, {"Names": [parameter]})
        found = [str(p.get("Value") or "") for p in self._caller.listed(answer, "Parameters", operation)]
        if not any(found):
            raise NotFoundError(f"no image: there is no parameter {parameter}", self._caller.call(operation))
        return found[0]

    def launch(self, order: Launch) -> LaunchOutcome:
        """One RunInstances, however many are ordered."""
        request = translate.launch_request(order, self._settings)
        answer = self._caller.ask("ec2", "RunInstances", request, mutating=True)
        machines = translate.machines_of([answer])
        if not machines:
            raise without_answer("success without a machine", self._caller.call("RunInstances"), mutating=True)
        missing = max(order.count - len(machines), 0)
        why = f"EC2 had {len(machines)} of {order.count} at once in {order.zone}" if missing else ""
        return LaunchOutcome(machines, missing, why)

    def under_key(self, order: Launch) -> tuple[Machine, ...]:
        """What was launched with the order's token, asked for by its ids."""
        return self.examine([m.id for m in self._described(translate.token_request(order.key))])

    def terminate(self, ids: Sequence[str]) -> Terminated:
        """One TerminateInstances for up to 1,000; one more where some are not known."""
        ending, gone = self._of_known(ids, self._end)
        return Terminated(tuple(ending), tuple(gone))

    def _of_known(
        self, ids: Sequence[str], ask: Callable[[list[str]], Sequence[Found]]
    ) -> tuple[list[Found], list[str]]:
        """What is answered to a thousand ids a request, and the ids that are not known: one of them fails them all, and
        is left out of the next request."""
        wanted, found, gone = list(dict.fromkeys(ids)), list[Found](), list[str]()
        for start in range(0, len(wanted), MOST_IDS):
            left = wanted[start : start + MOST_IDS]
            while left:
                try:
                    found += ask(left)
                    break
                except NotFoundError as error:
                    named = translate.named_ids(str(error)) & set(left)
                    if not named:
                        raise
                    gone += [i for i in left if i in named]
                    left = [i for i in left if i not in named]
        return found, gone

    def _end(self, ids: list[str]) -> list[str]:
        answer = self._caller.ask("ec2", "TerminateInstances", {"InstanceIds": ids}, mutating=True)
        told = {str(t.get("InstanceId")) for t in answer.get("TerminatingInstances") or []}
        if not told.issuperset(ids):
            raise without_answer(
                f"the answer leaves out {len(set(ids) - told)} of {counted(len(ids), 'machine')}",
                self._caller.call("TerminateInstances"),
                mutating=True,
            )
        return ids

    def machines(self, lineage: str) -> tuple[Machine, ...]:
        """DescribeInstances by tag, a thousand a page."""
        return self._described(translate.listing_request(lineage))

    def look(self, ids: Sequence[str]) -> tuple[Machine, ...]:
        """DescribeInstances by id, as a filter."""
        found = [m for request in translate.look_requests(ids) for m in self._described(request)]
        return tuple(sorted(found, key=lambda m: m.id))

    def examine(self, ids: Sequence[str]) -> tuple[Machine, ...]:
        """DescribeInstances of the ids themselves, a thousand a request, without those that are not known."""
        found, _ = self._of_known(ids, lambda known: self._described({"InstanceIds": known}))
        return tuple(sorted(found, key=lambda m: m.id))

    def _described(self, request: translate.Document) -> tuple[Machine, ...]:
        names = ("Reservations", "NextToken")
        return translate.machines_of(self._caller.pages("ec2", "DescribeInstances", request, names))

    def notices(self, lineage: str) -> tuple[Notice, ...]:
        """What has a scheduled event, and spot machines that are about to be taken: two lists of the region, which
        leave out all others."""
        names = ("InstanceStatuses", "NextToken")
        found = self._caller.pages("ec2", "DescribeInstanceStatus", translate.EVENTS_REQUEST, names)
        names = ("SpotInstanceRequests", "NextToken")
        taken = self._caller.pages("ec2", "DescribeSpotInstanceRequests", translate.TAKEN_REQUEST, names)
        return (*translate.notices_of(found), *translate.spot_notices_of(taken))

    def zones(self, instance_type: str) -> tuple[str, ...]:
        """The zones where a type is offered."""
        operation = "DescribeInstanceTypeOfferings"
        request = {
            "LocationType": "availability-zone",
            "Filters": [{"Name": "instance-type", "Values": [instance_type]}],
        }
        offered = self._caller.pages("ec2", operation, request, ("InstanceTypeOfferings", "NextToken"))
        found = {str(o.get("Location")) for o in offered if o.get("InstanceType") == instance_type}
        if not found:
            raise NotFoundError(
                f"{instance_type} is not offered in {self._settings.region}", self._caller.call(operation)
            )
        return tuple(sorted(found))

    def quotas(self, instance_type: str) -> tuple[Quota, ...]:
        """The vCPUs of the type's class that may run at once, on-demand and spot."""
        kind = translate.quota_class(instance_type)
        if not kind:
            return ()
        used = self._vcpus_in_use(kind)
        options = (PurchaseOption.ON_DEMAND, PurchaseOption.SPOT)
        return tuple(self._quota(code, used[o]) for code, o in zip(translate.QUOTA_CODES[kind], options, strict=True))

    def _quota(self, code: str, used: Decimal) -> Quota:
        try:
            answer = self._caller.ask("service-quotas", "GetServiceQuota", {"ServiceCode": "ec2", "QuotaCode": code})
        except NotFoundError:
            return Quota(code, None, used)
        told = answer.get("Quota") or {}
        limit = translate.exact(told["Value"]) if told.get("Value") is not None else None
        return Quota(f"{told.get('QuotaName') or 'vCPUs'} ({code})", limit, used)

    def _vcpus_in_use(self, kind: str) -> dict[PurchaseOption, Decimal]:
        running = {"Name": "instance-state-name", "Values": ["pending", "running"]}
        request = {"Filters": [running], "MaxResults": translate.LARGEST_PAGE}
        counted = [m for m in self._described(request) if translate.quota_class(m.instance_type) == kind]
        vcpus = self._vcpus({m.instance_type for m in counted})
        used = dict.fromkeys((PurchaseOption.ON_DEMAND, PurchaseOption.SPOT), Decimal(0))
        for machine in counted:
            if machine.state in (MachineState.PENDING, MachineState.RUNNING):
                used[machine.option] += vcpus.get(machine.instance_type, Decimal(0))
        return used

    def _vcpus(self, types: set[str]) -> dict[str, Decimal]:
        names, found = sorted(types), {}
        for start in range(0, len(names), MOST_TYPES):
            request = {"InstanceTypes": names[start : start + MOST_TYPES]}
            for told in self._caller.pages("ec2", "DescribeInstanceTypes", request, ("InstanceTypes", "NextToken")):
                vcpus = (told.get("VCpuInfo") or {}).get("DefaultVCpus")
                found[str(told.get("InstanceType"))] = translate.exact(vcpus)
        return found

    def console(self, machine: str) -> str:
        """GetConsoleOutput: what is on the screen now, or, where a type does not tell that, was a while ago."""
        operation = "GetConsoleOutput"
        try:
            answer = self._caller.ask("ec2", operation, {"InstanceId": machine, "Latest": True})
        except RefusedError:
            answer = self._caller.ask("ec2", operation, {"InstanceId": machine})
        return str(answer.get("Output") or "")
