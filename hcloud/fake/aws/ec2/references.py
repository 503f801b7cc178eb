"""What a launch refers to: subnets, security groups, keys, images, profiles and templates must be there.

What exists in every account is known here. Everything else is asked of moto, which keeps what was created through this
fake; EC2's own codes say what is missing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hcloud.fake.aws.behind import is_used, told
from hcloud.fake.aws.world import DEFAULT_GROUP, DEFAULT_VPC, Ask, AwsWorld, DenialError, Wire, by_column, subnet_in

PUBLIC = "/aws/service/"
MOST_NAMES = 10
REFERENCE = "resolve:ssm:"
PARAMETER_IMAGES = "ami-0a3f61c2"  # ours: what all images behind parameters begin with, so that they are known again


def get_parameters(ask: Ask) -> Wire:
    """Parameters by name; those that there are not are told as invalid."""
    names = [str(n) for n in ask.wire.get("Names", [])][:MOST_NAMES]
    known = [n for n in names if n.startswith(PUBLIC)]
    found = [{"Name": n, "Type": "String", "Value": image_behind(ask.world, n), "Version": 1} for n in known]
    return {"Parameters": found, "InvalidParameters": [n for n in names if n not in known]}


def image_behind(world: AwsWorld, name: str) -> str:
    """The AMI that a parameter names now."""
    return PARAMETER_IMAGES + world.images.digits(name)[:9]


def resolved(world: AwsWorld, image: str) -> str:
    """The AMI of a launch, which may name a parameter instead."""
    return image_behind(world, image.removeprefix(REFERENCE)) if image.startswith(REFERENCE) else image


PUBLIC_IMAGE = "ami-12c6146b"
"""An image that everybody may use, here and on moto."""
_IMAGE = re.compile(r"ami-[0-9a-f]{8}(?:[0-9a-f]{9})?|resolve:ssm:/\S+")


def checked_image(ask: Ask, image: str) -> str:
    """The image that is meant; refuses one that there is not."""
    if not image:
        raise DenialError("MissingParameter", "The request must contain the parameter ImageId")
    if _IMAGE.fullmatch(image) is None:
        raise DenialError("InvalidAMIID.Malformed", f'Invalid id: "{image}" (expecting "ami-...")')
    found = resolved(ask.world, image)
    missing = DenialError("InvalidAMIID.NotFound", f"The image id '[{found}]' does not exist")
    if found in ask.world.images.withdrawn:
        raise missing
    if found != PUBLIC_IMAGE and not found.startswith(PARAMETER_IMAGES):
        _found(ask, "DescribeImages", {"ImageIds": [found]}, missing)
    return found


def known_type(ask: Ask, name: str) -> str:
    """An instance type of the region; refuses one that is not sold there."""
    if name not in {t.name for t in ask.world.shop.types_of(ask.region)}:
        raise DenialError("InvalidParameterValue", f"Invalid value '{name}' for InstanceType.")
    return name


def check_key(ask: Ask, name: str) -> None:
    """Refuse a key pair that there is not."""
    if name:
        missing = DenialError("InvalidKeyPair.NotFound", f"The key pair '{name}' does not exist")
        _found(ask, "DescribeKeyPairs", {"KeyNames": [name]}, missing)


def profile_name(given: Wire) -> str:
    """The instance profile that is meant; empty where none is."""
    part, value = next(((k, str(v)) for k, v in given.items() if v), ("", ""))
    if not value:
        return ""
    name = value.rpartition("/")[2]
    try:
        told("iam", "us-east-1", "GetInstanceProfile", {"InstanceProfileName": name})
    except DenialError:
        which = "name" if part == "Name" else "ARN"
        words = f"Value ({value}) for parameter iamInstanceProfile.{part.lower()} is invalid."
        raise DenialError("InvalidParameterValue", f"{words} Invalid IAM Instance Profile {which}") from None
    return name


def security_groups(ask: Ask, ids: Sequence[str], names: Sequence[str] = ()) -> tuple[tuple[str, str], ...]:
    """The security groups that are meant, by id and name; the default group where none is named."""
    if not ids and not names:
        return ((DEFAULT_GROUP, "default"),)
    found = [_group(ask, i) for i in ids]
    return tuple(found + [_group_named(ask, n) for n in names])


def _group(ask: Ask, group: str) -> tuple[str, str]:
    if group == DEFAULT_GROUP:
        return (group, "default")
    if re.fullmatch(r"sg-[0-9a-f]{8}(?:[0-9a-f]{9})?", group) is None:
        raise DenialError("InvalidGroupId.Malformed", f'Invalid id: "{group}" (expecting "sg-...")')
    missing = DenialError("InvalidGroup.NotFound", f"The security group '{group}' does not exist")
    [found] = _found(ask, "DescribeSecurityGroups", {"GroupIds": [group]}, missing)["SecurityGroups"]
    return (group, str(found["GroupName"]))


def _group_named(ask: Ask, name: str) -> tuple[str, str]:
    if name == "default":
        return (DEFAULT_GROUP, name)
    words = f"The security group '{name}' does not exist in default VPC '{DEFAULT_VPC}'"
    missing = DenialError("InvalidGroup.NotFound", words)
    filters = [{"Name": "group-name", "Values": [name]}, {"Name": "vpc-id", "Values": [DEFAULT_VPC]}]
    found = _found(ask, "DescribeSecurityGroups", {"Filters": filters}, missing)["SecurityGroups"]
    if not found:
        raise missing
    return (str(found[0]["GroupId"]), name)


def zone_of(ask: Ask, subnet: str) -> str:
    """The zone a subnet is in; refuses one that is not of this region."""
    for zone in ask.world.shop.zones(ask.region):
        if subnet_in(zone) == subnet:
            return zone
    missing = DenialError("InvalidSubnetID.NotFound", f"The subnet ID '{subnet}' does not exist")
    if re.fullmatch(r"subnet-[0-9a-f]{8}(?:[0-9a-f]{9})?", subnet) is None or not is_used():
        raise missing
    [found] = _found(ask, "DescribeSubnets", {"SubnetIds": [subnet]}, missing)["Subnets"]
    return str(found["AvailabilityZone"])


def with_template(ask: Ask, wire: Wire) -> Wire:
    """A launch with what its template says and it does not say itself."""
    given = wire.get("LaunchTemplate")
    if not given:
        return wire
    return {**template_data(ask, given), **{k: v for k, v in wire.items() if k != "LaunchTemplate"}}


def template_data(ask: Ask, given: Wire) -> Wire:
    """What a version of a launch template says, in the words of RunInstances."""
    named = {k: str(given[k]) for k in ("LaunchTemplateId", "LaunchTemplateName") if given.get(k)}
    version = str(given.get("Version") or "$Default")
    found = told("ec2", ask.region, "DescribeLaunchTemplateVersions", {**named, "Versions": [version]})
    [one] = found["LaunchTemplateVersions"]
    data: Wire = one["LaunchTemplateData"]
    return {k: v for k, v in data.items() if v not in (None, [], {}, "")}


def describe_launch_templates(ask: Ask) -> Wire:
    """Launch templates; refuses an id that there is not, as it is refused for a name."""
    found = told("ec2", ask.region, "DescribeLaunchTemplates", ask.wire)
    known = {t["LaunchTemplateId"] for t in found["LaunchTemplates"]}
    if not ask.wire.get("Filters") and (
        missing := [i for i in ask.wire.get("LaunchTemplateIds", []) if i not in known]
    ):
        words = f"The specified launch template, with template ID {missing[0]}, does not exist."
        raise DenialError("InvalidLaunchTemplateId.NotFound", words)
    return found


def describe_subnets(ask: Ask) -> Wire:
    """The default subnets, and what was created beside them."""
    found = [_default_subnet(zone, number) for number, zone in enumerate(ask.world.shop.zones(ask.region))]
    if is_used():
        others = [{"Name": "default-for-az", "Values": ["false"]}]
        found += told("ec2", ask.region, "DescribeSubnets", {"Filters": others})["Subnets"]
    wanted = [str(i) for i in ask.wire.get("SubnetIds", [])]
    if missing := [i for i in wanted if i not in {s["SubnetId"] for s in found}]:
        raise DenialError("InvalidSubnetID.NotFound", f"The subnet ID '{missing[0]}' does not exist")
    shown = [s for s in found if not wanted or s["SubnetId"] in wanted]
    page, token = ask.page(ask.filtered(shown, by_column(_SUBNET_FILTERS)))
    return {"Subnets": page, "NextToken": token}


_SUBNET_FILTERS = {
    "subnet-id": "SubnetId",
    "vpc-id": "VpcId",
    "availability-zone": "AvailabilityZone",
    "availabilityZone": "AvailabilityZone",
    "default-for-az": "DefaultForAz",
    "defaultForAz": "DefaultForAz",
    "state": "State",
}


def _default_subnet(zone: str, number: int) -> Wire:
    return {
        "SubnetId": subnet_in(zone),
        "AvailabilityZone": zone,
        "VpcId": DEFAULT_VPC,
        "State": "available",
        "DefaultForAz": True,
        "CidrBlock": f"172.31.{16 * number}.0/20",
        "AvailableIpAddressCount": 4091,
    }


def _found(ask: Ask, operation: str, request: Wire, missing: DenialError) -> Wire:
    """What moto tells of something; ``missing`` where it knows nothing of it."""
    try:
        return told("ec2", ask.region, operation, request)
    except DenialError as denial:
        if denial.status >= 500:
            raise
        raise missing from None
