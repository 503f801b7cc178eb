"""The request bodies the fake Google takes, checked as strictly as Google does: no unknown names, no loose types."""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from hcloud.fake.gcp.wire.refusals import RefusalError, invalid

NAME = r"^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$"
LABEL_KEY = r"^[a-z][-_a-z0-9]{0,62}$"
LABEL_VALUE = r"^[-_a-z0-9]{0,63}$"
LONGEST_METADATA = 262_144
MOST_AT_ONCE = 1000


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def _int64(value: object) -> object:
    """JSON carries 64-bit numbers as text, and Google takes them either way."""
    return int(value) if isinstance(value, str) and value.lstrip("-").isdecimal() and len(value) < 20 else value


Int64 = Annotated[int, BeforeValidator(_int64)]
Name = Annotated[str, Field(pattern=NAME)]
Labels = dict[Annotated[str, Field(pattern=LABEL_KEY)], Annotated[str, Field(pattern=LABEL_VALUE)]]


class _RequestBody(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, alias_generator=_camel)


class DiskParams(_RequestBody):
    """What a new disk is made from."""

    source_image: Annotated[str, Field(pattern=r"^(https://.*/)?projects/[^/]+/global/images/(family/)?[^/]+$")] = ""
    disk_name: str = ""
    disk_size_gb: Int64 = 10
    disk_type: str = ""
    labels: Labels = {}


class DiskBody(_RequestBody):
    """A disk of a machine."""

    boot: bool = False
    auto_delete: bool = False
    device_name: str = ""
    mode: Literal["READ_WRITE", "READ_ONLY"] = "READ_WRITE"
    type: Literal["PERSISTENT", "SCRATCH"] = "PERSISTENT"
    interface: Literal["SCSI", "NVME"] = "SCSI"
    source: str = ""
    disk_size_gb: Int64 = 10
    initialize_params: DiskParams | None = None

    @property
    def has_origin(self) -> bool:
        """Whether it is there already or made from an image."""
        return bool(self.source or (self.initialize_params and self.initialize_params.source_image))


class AccessConfig(_RequestBody):
    """A way in from outside."""

    name: str = ""
    type: Literal["ONE_TO_ONE_NAT", "DIRECT_IPV6"] = "ONE_TO_ONE_NAT"
    network_tier: Literal["PREMIUM", "STANDARD"] = "PREMIUM"


class NetworkInterface(_RequestBody):
    """A network that a machine is in."""

    name: str = ""
    network: str = ""
    subnetwork: str = ""
    nic_type: str = ""
    stack_type: str = ""
    access_configs: tuple[AccessConfig, ...] = ()


class MetadataItem(_RequestBody):
    """A pair that the machine can read."""

    key: Annotated[str, Field(pattern=r"^[a-zA-Z0-9-_]{1,127}$")]
    value: Annotated[str, Field(max_length=LONGEST_METADATA)] = ""


class Metadata(_RequestBody):
    """Everything that the machine can read."""

    items: tuple[MetadataItem, ...] = ()
    fingerprint: str = ""
    kind: str = ""


class Scheduling(_RequestBody):
    """How firmly a machine is kept."""

    automatic_restart: bool = True
    on_host_maintenance: Literal["MIGRATE", "TERMINATE"] = "MIGRATE"
    preemptible: bool = False
    provisioning_model: Literal["STANDARD", "SPOT", "FLEX_START", "RESERVATION_BOUND"] = "STANDARD"
    instance_termination_action: Literal["DELETE", "STOP"] = "STOP"


class ServiceAccount(_RequestBody):
    """Whom the machine is to Google."""

    email: Annotated[str, Field(min_length=1)]
    scopes: tuple[str, ...] = ()


class NetworkTags(_RequestBody):
    """What firewall rules know it by."""

    items: tuple[str, ...] = ()
    fingerprint: str = ""


class ReservationAffinity(_RequestBody):
    """Which reservations it may use up."""

    consume_reservation_type: Literal["ANY_RESERVATION", "SPECIFIC_RESERVATION", "NO_RESERVATION"] = "ANY_RESERVATION"
    key: str = ""
    values: tuple[str, ...] = ()


class Properties(_RequestBody):
    """What machines are like."""

    machine_type: Annotated[str, Field(min_length=1)]
    description: str = ""
    labels: Labels = {}
    metadata: Metadata = Metadata()
    disks: tuple[DiskBody, ...] = ()
    network_interfaces: tuple[NetworkInterface, ...] = ()
    scheduling: Scheduling = Scheduling()
    service_accounts: tuple[ServiceAccount, ...] = ()
    tags: NetworkTags = NetworkTags()
    reservation_affinity: ReservationAffinity | None = None
    min_cpu_platform: str = ""
    can_ip_forward: bool = False

    def start_up(self) -> str:
        """The script it runs when it starts."""
        return next((i.value for i in self.metadata.items if i.key == "startup-script"), "")

    @property
    def spot(self) -> bool:
        """Whether it may be taken away."""
        return self.scheduling.provisioning_model == "SPOT" or self.scheduling.preemptible


class InstanceBody(Properties):
    """A machine to insert."""

    name: Name
    deletion_protection: bool = False


class PerInstance(_RequestBody):
    """What one of many has to itself."""

    name: str = ""
    hostname: str = ""


class BulkInsert(_RequestBody):
    """Many machines to insert."""

    count: Annotated[Int64, Field(ge=1, le=MOST_AT_ONCE)]
    min_count: Annotated[Int64 | None, Field(ge=1)] = None
    name_pattern: Annotated[str, Field(pattern=r"^[a-z][-a-z0-9]*#{1,18}[-a-z0-9]*$")] | None = None
    per_instance_properties: dict[Name, PerInstance] = {}
    instance_properties: Properties


class SetLabels(_RequestBody):
    """New labels for a machine."""

    labels: Labels = {}
    label_fingerprint: str = ""


class ResourceAmount(_RequestBody):
    """How much of something is committed to: vCPUs, or megabytes of memory."""

    type: Literal["VCPU", "MEMORY", "LOCAL_SSD", "ACCELERATOR"]
    amount: Annotated[Int64, Field(ge=1)]


class CommitmentBody(_RequestBody):
    """A commitment to buy."""

    name: Name
    plan: Literal["TWELVE_MONTH", "THIRTY_SIX_MONTH"]
    type: Annotated[str, Field(min_length=1)]
    category: Literal["MACHINE", "LICENSE"] = "MACHINE"
    description: Annotated[str, Field(max_length=2048)] = ""
    auto_renew: bool = False
    resources: tuple[ResourceAmount, ...] = Field(min_length=1)


class ReservedProperties(_RequestBody):
    """What is held ready."""

    machine_type: Annotated[str, Field(min_length=1)]
    min_cpu_platform: str = ""


class SpecificReservation(_RequestBody):
    """How many of what are held ready."""

    count: Annotated[Int64, Field(ge=1)]
    instance_properties: ReservedProperties


class ReservationBody(_RequestBody):
    """Capacity to hold ready."""

    name: Name
    description: str = ""
    specific_reservation_required: bool = False
    specific_reservation: SpecificReservation


Body = TypeVar("Body", bound=BaseModel)


def read_body(model: type[Body], raw: bytes) -> Body:
    """A body, or Google's refusal that names the first thing that is wrong with it."""
    try:
        return model.model_validate_json(raw or b"{}")
    except ValidationError as error:
        raise _refusal(error) from None


def _refusal(error: ValidationError) -> RefusalError:
    first = error.errors(include_url=False)[0]
    where = ".".join(["resource", *(str(part) for part in first["loc"] if part != "[key]")])
    if first["type"] == "json_invalid":
        return RefusalError(400, "parseError", "Parse Error")
    if first["type"] == "extra_forbidden":
        parent, _, name = where.rpartition(".")
        words = f"Invalid JSON payload received. Unknown name \"{name}\" at '{parent}': Cannot find field."
        return RefusalError(400, "badRequest", words)
    if first["type"] == "missing":
        return RefusalError(400, "required", f"Required field '{where}' not specified")
    return invalid(where, str(first["input"])[:80], first["msg"])
