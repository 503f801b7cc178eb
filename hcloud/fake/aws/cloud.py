"""The fake AWS account: understands a request, lets faults strike, acts on the ledger and answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from hcloud.fake.aws import catalogue, history, reserved, savings
from hcloud.fake.aws.behind import ask_moto, forget
from hcloud.fake.aws.ec2 import attributes, capacity, instances, launching, references
from hcloud.fake.aws.ec2 import references as public_parameters
from hcloud.fake.aws.ec2.machines import by_user, end, settle_taken
from hcloud.fake.aws.ec2.references import PUBLIC_IMAGE
from hcloud.fake.aws.shop import AwsShop
from hcloud.fake.aws.wire import Asking, parameters, refuse, understand, write
from hcloud.fake.aws.world import ACCOUNT, Ask, AwsWorld, DenialError, Wire, denial_of
from hcloud.fake.faults import FaultKind, FaultPlan, FaultRule, InterceptedRequest
from hcloud.fake.ledger import Rented
from hcloud.fake.server import HttpAnswer, Received, answered_after, answered_before
from hcloud.fake.world import NewMachine, tags_in

ELSEWHERE = "http://203.0.113.1/"
OTHER_LAUNCHES = ("RequestSpotFleet", "RequestSpotInstances", "RunScheduledInstances")
READING = ("Describe", "Get", "List", "Head")


def get_caller_identity(ask: Ask) -> Wire:
    """Whose credentials these are."""
    account = ask.world.account
    return {"Account": account, "UserId": ask.principal, "Arn": f"arn:aws:iam::{account}:user/{ask.principal}"}


_HANDLERS: Mapping[tuple[str, str], Callable[[Ask], Wire]] = {
    ("sts", "GetCallerIdentity"): get_caller_identity,
    ("ec2", "RunInstances"): launching.run_instances,
    ("ec2", "CreateFleet"): launching.create_fleet,
    ("ec2", "DescribeInstances"): instances.describe_instances,
    ("ec2", "DescribeInstanceStatus"): instances.describe_instance_status,
    ("ec2", "DescribeTags"): instances.describe_tags,
    ("ec2", "TerminateInstances"): instances.terminate_instances,
    ("ec2", "GetConsoleOutput"): instances.get_console_output,
    ("ec2", "CreateTags"): instances.create_tags,
    ("ec2", "DeleteTags"): instances.delete_tags,
    ("ec2", "DescribeSpotInstanceRequests"): instances.describe_spot_instance_requests,
    ("ec2", "DescribeInstanceTypeOfferings"): catalogue.describe_instance_type_offerings,
    ("ec2", "DescribeInstanceTypes"): catalogue.describe_instance_types,
    ("ec2", "DescribeAvailabilityZones"): catalogue.describe_availability_zones,
    ("ec2", "DescribeRegions"): history.describe_regions,
    ("ec2", "DescribeSpotPriceHistory"): catalogue.describe_spot_price_history,
    ("ec2", "StopInstances"): attributes.stop_instances,
    ("ec2", "StartInstances"): attributes.start_instances,
    ("ec2", "RebootInstances"): attributes.reboot_instances,
    ("ec2", "DescribeInstanceAttribute"): attributes.describe_instance_attribute,
    ("ec2", "ModifyInstanceAttribute"): attributes.modify_instance_attribute,
    ("ec2", "DescribeVolumes"): attributes.describe_volumes,
    ("ec2", "DescribeInstanceCreditSpecifications"): attributes.describe_instance_credit_specifications,
    ("ec2", "DescribeIamInstanceProfileAssociations"): attributes.describe_iam_instance_profile_associations,
    ("ec2", "DescribeSubnets"): references.describe_subnets,
    ("ec2", "DescribeLaunchTemplates"): references.describe_launch_templates,
    ("ec2", "DescribeReservedInstancesOfferings"): reserved.describe_reserved_instances_offerings,
    ("ec2", "PurchaseReservedInstancesOffering"): reserved.purchase_reserved_instances_offering,
    ("ec2", "DescribeReservedInstances"): reserved.describe_reserved_instances,
    ("ec2", "DeleteQueuedReservedInstances"): reserved.delete_queued_reserved_instances,
    ("ec2", "CreateCapacityReservation"): capacity.create_capacity_reservation,
    ("ec2", "DescribeCapacityReservations"): capacity.describe_capacity_reservations,
    ("ec2", "CancelCapacityReservation"): capacity.cancel_capacity_reservation,
    ("savingsplans", "DescribeSavingsPlansOfferings"): savings.describe_savings_plans_offerings,
    ("savingsplans", "CreateSavingsPlan"): savings.create_savings_plan,
    ("savingsplans", "DescribeSavingsPlans"): savings.describe_savings_plans,
    ("savingsplans", "DeleteQueuedSavingsPlan"): savings.delete_queued_savings_plan,
    ("savingsplans", "ReturnSavingsPlan"): savings.return_savings_plan,
    ("monitoring", "ListMetrics"): history.list_metrics,
    ("monitoring", "GetMetricData"): history.get_metric_data,
    ("ce", "GetCostAndUsage"): history.get_cost_and_usage,
    ("pricing", "GetProducts"): catalogue.get_products,
    ("ssm", "GetParameters"): public_parameters.get_parameters,
    ("servicequotas", "GetServiceQuota"): capacity.get_service_quota,
    ("servicequotas", "ListServiceQuotas"): capacity.list_service_quotas,
}


class FakeAws(AwsWorld):
    """One account with all its regions. The role of a request is the access key id that signed it."""

    def __init__(self, plan: FaultPlan | None = None, shop: AwsShop | None = None, account: str = ACCOUNT) -> None:
        super().__init__(plan, shop, account)
        forget()

    def answer(self, received: Received) -> HttpAnswer:
        """What AWS says to a request."""
        asking = understand(received)
        asked = _as_rules_see_it(asking)
        return self.serve(asked, lambda rule: self._answered(received, asking, asked, rule))

    def settle(self) -> None:
        """End the machines whose notice has run out."""
        settle_taken(self)

    def edit(self, change: Mapping[str, object]) -> object:
        """A person's change behind hcloud's back."""
        with self.ledger.held():
            return edited(self, change)

    def _answered(
        self, received: Received, asking: Asking, asked: InterceptedRequest, rule: FaultRule | None
    ) -> tuple[HttpAnswer, str, bool]:
        """The answer, what came of the request in a word, and whether it changed something."""
        refused = self._refused(asking, asked, rule)
        if refused is not None:
            return refused
        try:
            answer = self._acted(received, asking, rule)
            if rule is not None and rule.answer is FaultKind.TWICE:
                answer = self._acted(received, asking, rule)
        except DenialError as denial:
            return refuse(asking, denial), denial.code, False
        acted = asked.mutating and answer.status < 400
        if (found := answered_after(rule, answer)) is not answer and rule is not None:
            return found, rule.answer, acted
        return answer, "ok" if answer.status < 400 else str(answer.status), acted

    def _refused(
        self, asking: Asking, asked: InterceptedRequest, rule: FaultRule | None
    ) -> tuple[HttpAnswer, str, bool] | None:
        """The answer to a request that is not carried out, for a fault or for its role."""
        if rule is not None:
            if (early := answered_before(rule, ELSEWHERE)) is not None:
                return early, rule.answer, False
            denial = denial_of(rule.answer, asking.service, rule.code, rule.retry_after)
            if denial is not None:
                return refuse(asking, denial), rule.answer, False
        if not asking.principal and asking.service != "s3":
            return refuse(asking, DenialError("AuthFailure", "The request is not signed.", 401)), "AuthFailure", False
        denied = denial_of(FaultKind.DENIED, asking.service)
        for needed in (asked.operation, *also_needed(asking)):
            if denied is not None and not self.faults.allows(replace(asked, operation=needed)):
                told = replace(denied, message=f"{denied.message} It needs {needed}.")
                return refuse(asking, told), FaultKind.DENIED, False
        return None

    def _acted(self, received: Received, asking: Asking, rule: FaultRule | None) -> HttpAnswer:
        handler = _HANDLERS.get((asking.service, asking.operation))
        if handler is None:
            return self._behind(received, asking)
        ask = Ask(self, asking.region, asking.principal, asking.operation, self.now, rule)
        result = handler(replace(ask, wire=parameters(asking)))
        unknown = "never heard of" if ask.struck(FaultKind.UNKNOWN_WORDS) else ""
        return write(asking, {k: v for k, v in result.items() if v is not None}, unknown)

    def _behind(self, received: Received, asking: Asking) -> HttpAnswer:
        """What moto says; it knows none of this fake's machines, would say that they are not there, and would launch
        others that the ledger does not have."""
        if asking.service != "ec2":
            return ask_moto(received)
        if asking.operation in OTHER_LAUNCHES:
            words = f"This fake launches by RunInstances and CreateFleet, and does no {asking.operation}"
            raise DenialError("UnsupportedOperation", words)
        if ours := sorted(set(asking.form.values()) & self.ledger.machines.keys()):
            words = f"This fake does no {asking.operation} of a machine ({ours[0]})"
            raise DenialError("UnsupportedOperation", words)
        return ask_moto(received, asking.region)


def also_needed(asking: Asking) -> tuple[str, ...]:
    """What else a role must be allowed to do for a launch: tagging at once, passing a profile on, and looking up an
    image by name are permissions of their own."""
    if asking.operation not in ("RunInstances", "CreateFleet"):
        return ()
    fields = asking.form
    needed = {
        "CreateTags": any(name.startswith("TagSpecification.") for name in fields),
        "PassRole": any(name.startswith("IamInstanceProfile.") for name in fields),
        "GetParameters": fields.get("ImageId", "").startswith("resolve:ssm:"),
    }
    return tuple(name for name, is_needed in needed.items() if is_needed)


def _as_rules_see_it(asking: Asking) -> InterceptedRequest:
    form = asking.form
    return InterceptedRequest(
        operation=asking.operation,
        mutating=not asking.operation.startswith(READING),
        principal=asking.principal,
        instance_type=form.get("InstanceType", ""),
        zone=form.get("Placement.AvailabilityZone", ""),
    )


def edited(world: AwsWorld, change: Mapping[str, object]) -> dict[str, object]:
    """Carry out a change and say what was done; a machine that there is not is said so."""
    if "launch" in change:
        return {"launched": _made(world, change).id}
    for what, act in _ACTS.items():
        machine = world.ledger.machines.get(str(change.get(what, "")))
        if machine is not None:
            act(world, machine, change)
            return {what: machine.id}
    return {"error": "there is no such machine or change"}


_ACTS: Mapping[str, Callable[[AwsWorld, Rented, Mapping[str, object]], None]] = {
    "terminate": lambda world, machine, _: end(world, machine, world.clock.now(), by_user(world.clock.now())),
    "retag": lambda _, machine, change: setattr(machine, "tags", tags_in(change)),
    "resize": lambda _, machine, change: setattr(machine, "instance_type", str(change["type"])),
    "stop": lambda _, machine, __: machine.detail.update(stopped=True),
    "keep": lambda _, machine, __: machine.detail.update(kept=True),
}


def _made(world: AwsWorld, change: Mapping[str, object]) -> Rented:
    number = world.ledger.next_number()
    zone = str(change.get("zone") or world.shop.zones(str(change.get("region", world.home)))[0])
    detail: dict[str, object] = {"image": PUBLIC_IMAGE, "reservation": f"r-{number:017x}", "start_up": ""}
    kind, tags = str(change["launch"]), tags_in(change)
    return world.rent(NewMachine(f"i-{number:017x}", kind, zone, False, tags, "", "person", detail, at_once=True))
