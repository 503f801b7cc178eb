"""What the fake Google has to offer: regions and zones, machine types, quotas, and prices that are nobody's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from hcloud.model.catalog import PurchaseOption

MIB_PER_GIB = 1024
_ZONES = {"us-central1": "abcf", "us-east1": "bcd", "europe-west1": "bcd"}
_USUAL_ZONES = "abc"
_REGIONS = (
    *("asia-east1", "asia-northeast1"),
    *("europe-west1", "europe-west2", "europe-west3", "europe-west4"),
    *("us-central1", "us-east1", "us-east4", "us-west1"),
)
_SIZES = (1, 2, 4, 8, 16, 32, 48, 64, 80, 96, 128)
_GIB_PER_VCPU = {"standard": Decimal(4), "highmem": Decimal(8), "highcpu": Decimal(1)}
_SHARED = {"e2-micro": Decimal(1), "e2-small": Decimal(2), "e2-medium": Decimal(4)}

FAMILIES: Mapping[str, str] = {
    "e2": "GENERAL_PURPOSE_E2",
    "n1": "GENERAL_PURPOSE",
    "n2": "GENERAL_PURPOSE_N2",
    "n2d": "GENERAL_PURPOSE_N2D",
    "n4": "GENERAL_PURPOSE_N4",
    "c2": "COMPUTE_OPTIMIZED",
    "c2d": "COMPUTE_OPTIMIZED_C2D",
    "c3": "COMPUTE_OPTIMIZED_C3",
    "c3d": "COMPUTE_OPTIMIZED_C3D",
    "c4": "GENERAL_PURPOSE_C4",
    "c4a": "GENERAL_PURPOSE_C4A",
    "c4d": "GENERAL_PURPOSE_C4D",
    "t2d": "GENERAL_PURPOSE_T2D",
    "m1": "MEMORY_OPTIMIZED",
    "m3": "MEMORY_OPTIMIZED_M3",
}
"""The series by their commitment type."""

# ours: round dollars an hour that no provider asks, so that nobody takes them for a price
PER_VCPU, PER_GIB = Decimal("0.03"), Decimal("0.004")
_SHARES = {"spot": Decimal("0.3"), "1": Decimal("0.6"), "3": Decimal("0.4")}
USUAL_QUOTAS: Mapping[str, int] = {"INSTANCES": 50_000, "CPUS": 400_000, "CPUS_ALL_REGIONS": 900_000}  # ours
FAMILY_QUOTA = 300_000  # ours


@dataclass(frozen=True, slots=True)
class GcpMachineType:
    """A machine type."""

    name: str
    vcpus: int
    memory_gib: Decimal
    shared: bool = False

    @property
    def family(self) -> str:
        return self.name.split("-")[0]

    @property
    def cpu_quota(self) -> str:
        """The quota that its vCPUs count against."""
        return "CPUS" if self.family in ("e2", "n1") else f"{self.family.upper()}_CPUS"


def usual_shapes() -> dict[str, GcpMachineType]:
    """Every series in every shape and size, whether Google has it or not, and the small ones that share a core."""
    return {s.name: s for s in _shapes()}


def _shapes() -> Iterator[GcpMachineType]:
    for name, gib in _SHARED.items():
        yield GcpMachineType(name, 2, gib, shared=True)
    for family in FAMILIES:
        for kind, gib in _GIB_PER_VCPU.items():
            for size in _SIZES:
                yield GcpMachineType(f"{family}-{kind}-{size}", size, gib * size)


@dataclass(frozen=True, slots=True)
class GcpProject:
    """The project and everything in it that does not change. ``shapes`` are all machine types there are."""

    project: str = "hcloud-fake"
    region: str = "us-central1"
    shapes: Mapping[str, GcpMachineType] = field(default_factory=usual_shapes)

    @property
    def regions(self) -> tuple[str, ...]:
        """All regions, sorted."""
        return tuple(sorted({*_REGIONS, self.region}))

    def zones(self, region: str = "") -> tuple[str, ...]:
        """The zones of a region, or of all."""
        wanted = (region,) if region else self.regions
        return tuple(f"{r}-{letter}" for r in wanted for letter in _ZONES.get(r, _USUAL_ZONES))

    def hourly(self, instance_type: str, option: PurchaseOption, years: int = 0) -> Decimal:
        """Dollars an hour for a machine of a type, in this cloud's own invented prices."""
        shape = self.shapes[instance_type]
        return hourly(Decimal(shape.vcpus), shape.memory_gib, "spot" if option is PurchaseOption.SPOT else str(years))


def hourly(vcpus: Decimal, gib: Decimal, share: str) -> Decimal:
    """Dollars an hour for vCPUs and memory; ``share`` is spot or the years of a commitment."""
    return (vcpus * PER_VCPU + gib * PER_GIB) * _SHARES.get(share, Decimal(1))


def region_of(zone: str) -> str:
    """The region that a zone is in."""
    return zone.rsplit("-", 1)[0]
