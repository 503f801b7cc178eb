"""What is to be known of a cloud apart from the code that speaks to it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType

from hcloud.model.catalog import Provider, PurchaseOption, system_of

_CUSTOM = re.compile(r"(?P<series>[a-z]\d+[a-z]*)-custom-(?P<vcpus>[1-9]\d*)-(?P<mib>[1-9]\d*)", re.ASCII)
SHARED_CORE = "shared-core"
_NEVER = re.compile(r"(?!)")


def custom_size(name: str) -> tuple[str, Decimal, Decimal] | None:
    """Series, vCPUs and GiB of a custom machine type (``n2-custom-4-8192``), which no table lists; None of others."""
    found = _CUSTOM.fullmatch(name)
    return None if found is None else (found["series"], Decimal(found["vcpus"]), Decimal(found["mib"]) / 1024)


def purchases_in_words(option: PurchaseOption, special: str, machine: str) -> str:
    """Commitments that are left to a person: ``committed use discounts of custom machines``."""
    return option.several_of(special) + (" of custom machines" if custom_size(machine) else "")


@dataclass(frozen=True, slots=True)
class Seller:
    """A provider in the words of FOCUS: its name, its service, and what its account is. ``known_as`` finds it in other
    spellings, ``machines`` its service; ``commitments`` are words of the first column that names one, in order."""

    name: str
    service: str
    account: str
    known_as: re.Pattern[str] = _NEVER
    machines: re.Pattern[str] = _NEVER
    commitments: tuple[tuple[str, PurchaseOption], ...] = ()


@dataclass(frozen=True, slots=True)
class TypeNames:
    """What the name of an instance type says: its family (the name itself where it follows no known pattern), its
    size-flexibility units from name and vCPUs, and its category; ``pattern`` is that of all names."""

    pattern: re.Pattern[str]
    family: Callable[[str], str]
    units: Callable[[str, Decimal], Decimal]
    category: Callable[[str], str]


@dataclass(frozen=True, slots=True)
class ListedNames:
    """Where the bundled tables list names: the table of list prices and its column of families, and of types each
    table, the name with ``{COLUMN}`` for a cell and ``{n}`` for each word of the last column."""

    prices: str
    family: str
    types: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class CloudFacts:
    """A cloud. A new one is such a value, and its folder among providers, fakes and the bundled prices.

    ``classes`` begins the names of its classes (``AwsCloud``), ``extra`` holds the packages of its optional part.
    ``account`` is what its account is called in its settings (empty where the credentials say it), with the variables
    that name it; ``place`` the setting that is its region; ``beside`` what its class alone is given besides.
    ``endpoint`` is asked for the time; ``zones`` are the first names of zones, ``zone`` the pattern of all. ``series``
    are the families that ``decide`` rents where none is named. ``sold`` are its commitments, ``console`` those
    of them that are bought there alone (hcloud's part of its API sells none); ``shows_payment`` says
    whether they are told apart by payment, ``covers_licence`` whether they pay for the licence of the system as well,
    ``queues`` whether they can be bought now for a later day.
    """

    name: Provider
    maker: str
    classes: str
    extra: tuple[str, ...]
    endpoint: str
    home_region: str
    zones: tuple[str, ...]
    zone: str
    small_type: str
    series: tuple[str, ...]
    sold: tuple[PurchaseOption, ...]
    seller: Seller
    names: TypeNames
    listed: ListedNames
    price_list: str
    account: str = ""
    account_variables: tuple[str, ...] = ()
    place: str = "region"
    beside: str = ""
    bucket: tuple[str, str] = ("", "")
    """The scheme of its buckets' addresses, and the package that speaks to them."""
    shows_payment: bool = False
    covers_licence: bool = False
    queues: bool = False
    console: tuple[PurchaseOption, ...] = ()
    karpenter: tuple[str, str] | None = None
    """The API group and kind of what a Karpenter NodePool takes its image and network from."""
    sdk_variables: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """What sends its SDK to a fake at ``{url}``, with credentials for it."""

    def is_by_hand(self, option: PurchaseOption, special: str, machine: str) -> bool:
        """Whether ``commit`` leaves a purchase to a person: what the API does not sell, and what is bound to a system
        or tenancy (clouds are asked for Linux on shared hardware), and what is for custom machines, which no cloud
        lists."""
        return option in self.console or bool(option.bound_to(special)) or custom_size(machine) is not None

    def has_licence(self, special: str) -> bool:
        """Whether prices of commitments hold a licence that these do not cover: it is billed by use beside them."""
        return not self.covers_licence and system_of(special)[0] != "linux"

    @property
    def package(self) -> str:
        """The package whose lack is told of where its SDK is missing."""
        return next((name for name in self.extra if "compute" in name), self.extra[0])

    def zones_of(self, region: str) -> tuple[str, ...]:
        """The names that its first zones have in a region."""
        return tuple(zone.format(region=region) for zone in self.zones)
