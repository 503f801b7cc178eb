"""``hcloud iam print``: the minimal permissions for one plan, in the form that its cloud takes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from hcloud.errors import UsageError, did_you_mean
from hcloud.model.catalog import Provider
from hcloud.model.clouds.known import CLOUDS
from hcloud.model.holdings.change import ChangeSet
from hcloud.model.holdings.live import TAG_LINEAGE, LaunchTemplate, Scope
from hcloud.readers.configuration.config import Loaded
from hcloud.readers.permissions import PURPOSES, Permission, Purpose, load_permissions
from hcloud.usecases.live.connect import CloudSettings, settled_fields, template_without_sdk
from hcloud.usecases.live.places import place_of

IMAGE_PARAMETER = "image_parameter"
"""The setting ``image`` where it names a parameter of AWS, as the permissions call it."""
OWN_IMAGE, GALLERY_IMAGE = "own_image", "gallery_image"
"""The same where it is the id of an image in Azure, by itself or in a gallery."""

_SUBSCRIPTION = "SUBSCRIPTION_ID"
"""Where none is named: AssignableScopes of a custom role take no wildcard (Azure role-based access control)."""


@dataclass(frozen=True, slots=True)
class PermissionGrant:
    """The permissions for some purposes in one account, and whose machines may be ended (the state's lineage);
    ``parameter`` is the parameter that names the image, on AWS."""

    scope: Scope
    lineage: str
    purposes: tuple[Purpose, ...]
    permissions: tuple[Permission, ...]
    parameter: str = ""


def purposes_of(changes: ChangeSet) -> tuple[Purpose, ...]:
    """What carrying out a plan takes: always reading, launching and ending only where the plan does."""
    needed: list[Purpose] = ["read"]
    if changes.coming:
        needed.append("launch")
    if changes.going or changes.coming:  # what comes without its tags is ended at once
        needed.append("terminate")
    return tuple(needed)


def settings_made(loaded: Loaded, cloud: str) -> Mapping[str, object]:
    """What of ``live.settings`` is made for a cloud, nothing where the configuration is of another one; InputError for
    what its provider does not take."""
    live = loaded.config.live
    if not live.settings or cloud not in CLOUDS or (live.cloud in CLOUDS and live.cloud != cloud):
        return {}
    settled_fields(cloud, live.settings, region=place_of(loaded, cloud).region, endpoint=live.endpoint or "")
    return _made(live.settings)


def settings_planned(template: LaunchTemplate, scope: Scope) -> Mapping[str, object]:
    """What of ``live.settings`` was made when a plan was: the images are one of them unless they are the usual ones."""
    if scope.cloud not in CLOUDS:
        return {}
    types = [name for image in template.images for name in image.instance_types]
    usual = template_without_sdk(CloudSettings(scope.cloud, scope.region, scope.account), types)
    images = {image.name for image in template.images}
    named = {"image": min(images)} if images and images != {i.name for i in usual.images} else {}
    return _made({**template.settings, **named})


def _made(settings: Mapping[str, object]) -> Mapping[str, object]:
    from hcloud.providers.aws.translate import image_parameter

    found = {name: value for name, value in settings.items() if value}
    image = str(found.get("image", ""))
    if parameter := image_parameter(image):
        return {**found, IMAGE_PARAMETER: parameter}
    if image.lower().startswith("/subscriptions/"):
        return {**found, GALLERY_IMAGE if "/galleries/" in image.lower() else OWN_IMAGE: image}
    return found


def granted(
    scope: Scope, lineage: str, purposes: Collection[str], settings: Mapping[str, object] | None = None
) -> PermissionGrant:
    """The permissions of a cloud for some purposes, with these of ``live.settings`` made.

    UsageError for a purpose there is not, or a cloud without any.
    """
    unknown = sorted(set(purposes) - set(PURPOSES))
    if unknown:
        raise UsageError(
            f"there is no purpose {unknown[0]!r}{did_you_mean(unknown[0], PURPOSES)}",
            hint=f"purposes: {', '.join(PURPOSES)}",
        )
    if scope.cloud not in CLOUDS:
        raise UsageError(f"{scope.cloud} has no permissions to grant", hint=f"clouds: {', '.join(CLOUDS)}")
    chosen = tuple(p for p in PURPOSES if p in purposes)
    table = load_permissions(scope.cloud).permissions
    made = settings or {}
    found = tuple(p for p in table if p.is_needed(chosen, made))
    return PermissionGrant(scope, lineage, chosen, found, _parameter(scope, str(made.get(IMAGE_PARAMETER, ""))))


def _parameter(scope: Scope, name: str) -> str:
    """The ARN of a parameter that is named as EC2 takes it: a name, with a version or label, or an ARN."""
    if not name or name.startswith("arn:"):
        return name
    owner = "" if name.startswith("/aws/") else scope.account  # Amazon's public ones are of no account
    return f"arn:aws:ssm:{scope.region}:{owner}:parameter/{name.partition(':')[0].lstrip('/')}"


def policy_document(grant: PermissionGrant) -> Mapping[str, object]:
    """An IAM policy (AWS), a custom role (Google) or a role definition (Azure), ready to be given to the cloud."""
    filled = {
        "{statements}": [_statement(p, grant) for p in grant.permissions],
        "{permissions}": [p.name for p in grant.permissions],
        "{why}": f"what hcloud needs to {', '.join(grant.purposes)}",
    }

    account = _SUBSCRIPTION if _lacks_subscription(grant) else grant.scope.account

    def made(form: object) -> object:
        if isinstance(form, dict):
            return {key: made(value) for key, value in form.items()}
        if isinstance(form, list):
            return [made(value) for value in form]
        if isinstance(form, str):
            return filled.get(form) or form.replace("{account}", account)
        return form

    return {key: made(value) for key, value in load_permissions(grant.scope.cloud).document.items()}


def _lacks_subscription(grant: PermissionGrant) -> bool:
    return grant.scope.cloud == Provider.AZURE and grant.scope.account == "*"


def _statement(permission: Permission, grant: PermissionGrant) -> dict[str, object]:
    words = "".join(c for c in permission.name.title() if c.isalnum())
    words += "Profile" if permission.purposes == ("profile",) else ""  # ids of statements have to differ
    scope = grant.scope
    where = permission.where.replace("{account}", scope.account).replace("{parameter}", grant.parameter)
    resource = f"arn:aws:ec2:{scope.region}:*:*" if where == "{region}" else where
    statement: dict[str, object] = {"Sid": words, "Effect": "Allow", "Action": permission.name, "Resource": resource}
    conditions: dict[str, str] = dict(permission.when)
    if permission.tagged:
        conditions[f"ec2:ResourceTag/{TAG_LINEAGE}"] = grant.lineage
    if not conditions:
        return statement
    how = "StringLike" if grant.lineage == "*" and permission.tagged else "StringEquals"  # only the first knows a *
    return {**statement, "Condition": {how: conditions}}


def limits(grant: PermissionGrant) -> tuple[str, ...]:
    """What to narrow by hand: how far the permission to end machines reaches, which differs between the clouds, and
    what the settings brought; empty where neither is granted."""
    brought = tuple(f"{p.name}: {p.why}" for p in grant.permissions if p.given)
    if _lacks_subscription(grant):
        brought = (f"put your subscription in place of {_SUBSCRIPTION} (--account): no role reaches all", *brought)
    if "terminate" not in grant.purposes:
        return brought
    whose = "this state's machines" if grant.lineage != "*" else "machines of any state of hcloud"
    ends = load_permissions(grant.scope.cloud).ends
    return (ends.replace("{whose}", whose).replace("{tag}", TAG_LINEAGE), *brought)


def reasons(grant: PermissionGrant) -> Sequence[tuple[str, str]]:
    """Each permission with why it is needed."""
    return [(p.name, p.why) for p in grant.permissions]
