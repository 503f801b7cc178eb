"""FOCUS, the FinOps Open Cost and Usage Specification, 1.0 to 1.3, of AWS, Azure and Google.

Machines are known by SkuPriceDetails where the file has it, else by columns that a provider adds (``x_``), else by what
ChargeDescription says; what none of them says is not guessed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hcloud.catalog.shapes import family_of
from hcloud.model.bill import LineKind, Service, UsageKind
from hcloud.model.catalog import Provider, PurchaseOption
from hcloud.model.clouds.known import CLOUDS
from hcloud.readers.bills.formats.amazon import CAPACITY, Ran, ran
from hcloud.readers.bills.formats.azure import RESERVED
from hcloud.readers.bills.formats.google import use_of_google
from hcloud.readers.bills.formats.words import HOURS, LICENCES, details_in, hours_in, licensed_image
from hcloud.readers.bills.lines import BillFormat, BillLine, NamedCommitment, Stream, Texts
from hcloud.readers.bills.money import AmountError, numbers_of, product

_AWS_TYPE = re.compile(r"\b[a-z][a-z0-9-]{1,12}\.(?:\d*x?large|medium|small|micro|nano|metal(?:-\w+)?)\b")
_AWS_MACHINE = re.compile(r"(?i)\b(?:linux|windows|rhel|suse|ubuntu)\b(?!.*\bMbps\b)")
_SERVERLESS = re.compile(r"AWS (?:Fargate - (?P<fargate>vCPU|Memory)|Lambda - Total Compute)\b(?!.*Spot)")
_OTHER_SERVICES = re.compile(
    r"(?i)\b(?:database|cloud (?:sql|spanner|bigtable)|alloydb|memorystore|bigquery|sagemaker|machine learning)"
)
"""What commitments are for that cover no compute, where no line of use tells it."""
_SYSTEMS = (
    ("windows", "windows"), ("rhel", "rhel"), ("red hat", "rhel"), ("suse", "sles"), ("sles", "sles"),
    ("ubuntu pro", "ubuntu-pro"), ("linux", "linux"),
)  # fmt: skip
_NOT_TOLD = "fees of Google's commitments: this table does not say what they cover (plan Google's own export)"
_DETAILS = ("InstanceType", "OperatingSystem", "ServiceType", "ImageType")


@dataclass(frozen=True, slots=True)
class _Machine:
    name: str
    os: str
    tenancy: str = "shared"


def _meaning(texts: Texts) -> BillLine:
    category, provider = texts["category"], provider_of(texts["provider"])
    if category in ("Tax", "Credit", "Adjustment"):
        return BillLine(LineKind.TAX if category == "Tax" else LineKind.CREDIT)
    if category == "Purchase":
        return _purchase(texts, provider)
    if category != "Usage":
        said = f"lines of a charge category that is not known ({category or 'empty'})"
        return BillLine(LineKind.OTHER_SERVICE, said=said)
    if texts["commitment_status"] == "Unused":
        holding = _holding(texts, provider)
        return BillLine(LineKind.UNUSED, holding=holding, fee=("effective",) if holding else ())
    if provider is None:
        return _elsewhere(texts)
    return _usage(texts, provider)


def _elsewhere(texts: Texts) -> BillLine:
    if texts["service_category"] != "Compute":
        return BillLine(LineKind.OTHER_SERVICE)
    return BillLine(LineKind.OTHER_COMPUTE, said=f"lines of a provider that is not planned ({texts['provider']})")


def _usage(texts: Texts, provider: Provider) -> BillLine:
    if texts["capacity_status"] == "Unused" or re.search(r"Unused(Box|Ded)", texts["usage_type"]):
        return BillLine(LineKind.CAPACITY)
    status = texts["commitment_status"] or {"Committed": "Used"}.get(texts["pricing_category"], "")
    holding = _holding(texts, provider, covered=True) if status == "Used" else None
    line = _ran(texts, provider)
    if holding is None:
        return line
    used = ("effective",)
    if line.usage is None:
        kind = LineKind.COVERED if _is_compute(texts, provider) else LineKind.OTHER_SERVICE
        return replace(line, kind=kind, holding=holding, fee=used, use=used, paid_by="effective")
    holding = holding.of(line.usage)
    return replace(line, kind=LineKind.COVERED, option=holding.option, holding=holding, fee=used, use=used)


def _is_compute(texts: Texts, provider: Provider) -> bool:
    """Whether covered use is of compute. AWS puts containers under "Other", Azure the machines of a service there."""
    if texts["service_category"] == "Other":
        return not _OTHER_SERVICES.search(f"{texts['service']} {texts['description']}")
    machines = CLOUDS[provider].seller.machines
    return texts["service_category"] == "Compute" or bool(machines.search(texts["description"]))


def _ran(texts: Texts, provider: Provider) -> BillLine:
    """What ran by its line, as if nothing covered it."""
    account, region = texts["account"], texts["region"]
    if provider is Provider.AWS and texts["usage_type"]:
        use = ran(texts["usage_type"], texts["operation"], account, region, texts["zone"])
        if isinstance(use, Ran):
            return _of_ran(use)
        return BillLine(_rest(texts), said=use or "")
    if provider is Provider.GCP and (counted := use_of_google(as_google(texts))).kind is not LineKind.OTHER_COMPUTE:
        return replace(counted, paid_by="effective")
    if provider is Provider.AWS and (served := _serverless(texts)) is not None:
        return served
    per = hours_in(texts["unit"] or texts["pricing_unit"])
    if per is None or not _is_machine(texts, provider):
        return BillLine(_rest(texts))
    machine = _machine(texts, provider)
    if isinstance(machine, str):
        return BillLine(LineKind.OTHER_COMPUTE, said=machine)
    if machine is None:
        return BillLine(LineKind.OTHER_COMPUTE)
    kind = UsageKind(
        provider, account, region, family_of(provider, machine.name), machine.name, machine.os, machine.tenancy
    )
    spot = texts["pricing_category"] == "Dynamic"
    return BillLine(
        LineKind.SPOT if spot else LineKind.ON_DEMAND,
        kind,
        Stream.SPOT if spot else Stream.HOURS,
        per=per,
        paid_by="effective",
    )


def as_google(texts: Texts) -> Texts:
    """A line in the words of Google's own export: its description is that of the SKU."""
    unit = (texts["unit"] or texts["pricing_unit"]).lower()
    return {**texts, "sku": texts["description"], "unit": unit, "pricing_unit": "", "labels": texts["price_details"]}


def _is_machine(texts: Texts, provider: Provider) -> bool:
    """Whether a line of hours is of machines, not of addresses, gateways or bandwidth that is sold by the hour."""
    machines = CLOUDS[provider].seller.machines
    if texts["service_category"] != "Compute" or not machines.search(texts["service"]):
        return False
    if _is_licence(texts) or not machines.search(texts["meter_category"] or texts["service"]):
        return False
    named = texts["machine"] or _AWS_MACHINE.search(texts["description"])
    return provider is not Provider.AWS or bool(named)


def _is_licence(texts: Texts) -> bool:
    """Whether a line of Azure is of a licence: its service may be that of the machine which the licence is for."""
    said = (texts["meter_category"] or texts["service"], texts["description"])
    return any(text.lower().startswith(LICENCES) for text in said)


def _serverless(texts: Texts) -> BillLine | None:
    """Fargate and Lambda of AWS, by what the line says."""
    found = _SERVERLESS.search(texts["description"])
    if found is None:
        return None
    service = Service.FARGATE if found["fargate"] else Service.LAMBDA
    family = f"{service.lower()}-arm" if "ARM" in texts["description"] else service.lower()
    kind = UsageKind(Provider.AWS, texts["account"], texts["region"], family, "", service=service)
    stream = Stream.HOURS if found["fargate"] == "vCPU" else Stream.MEMORY
    per = 1.0 if found["fargate"] else HOURS["s"]
    return BillLine(LineKind.ON_DEMAND, kind, stream, per=per, paid_by="effective")


def _rest(texts: Texts) -> LineKind:
    if _is_licence(texts):
        return LineKind.LICENCE
    return LineKind.OTHER_COMPUTE if texts["service_category"] == "Compute" else LineKind.OTHER_SERVICE


def _of_ran(use: Ran) -> BillLine:
    if use.word in CAPACITY:
        return BillLine(LineKind.CAPACITY)
    kind = LineKind.SPOT if use.stream is Stream.SPOT else LineKind.ON_DEMAND
    return BillLine(kind, use.kind, use.stream, per=use.per, paid_by="effective")


def _machine(texts: Texts, provider: Provider) -> _Machine | str | None:
    """The machine of a line of hours; None for what is none, a sentence for one that is not said."""
    details = {**details_in(texts["sku"]), **details_in(texts["price_details"])}
    name = details.get("InstanceType") or details.get("ServiceType") or texts["machine"]
    description = texts["description"]
    if not name and provider is Provider.AWS:
        found = _AWS_TYPE.search(description)
        name = found[0] if found else ""
    if not name and provider is Provider.AZURE and texts["resource_type"].lower() not in _AZURE_MACHINES:
        return None
    if not name and provider is Provider.GCP and description.startswith("Commitment"):
        return _NOT_TOLD
    if not name:
        return "lines of machines whose instance type is not in the bill"
    if not CLOUDS[provider].names.pattern.fullmatch(name):
        return f"lines of an instance type that is not known ({name})"
    said = " ".join((details.get("OperatingSystem") or licensed_image(details), description, texts["meter"]))
    tenancy = "dedicated" if "dedicated" in said.lower() and provider is Provider.AWS else "shared"
    return _Machine(name, next((ours for word, ours in _SYSTEMS if word in said.lower()), "linux"), tenancy)


_AZURE_MACHINES = frozenset({"virtual machine", "virtual machine scale set", "microsoft.compute/virtualmachines"})


def _purchase(texts: Texts, provider: Provider | None) -> BillLine:
    holding = _holding(texts, provider)
    if holding is None:
        return BillLine(LineKind.FEE)
    return BillLine(LineKind.UPFRONT if texts["frequency"] == "One-Time" else LineKind.RECURRING)


def _holding(texts: Texts, provider: Provider | None, *, covered: bool = False) -> NamedCommitment | None:
    """The commitment that a line names; of covered use one without a name too, of the widest option if no other."""
    if provider is None or not (texts["commitment"] or covered):
        return None
    if not covered and _is_of_other_services(texts, provider):
        return None
    said = f"{texts['commitment_type']} {texts['commitment_name']}".lower()
    option = next((option for word, option in CLOUDS[provider].seller.commitments if word in said), None)
    if option is None and covered:
        option = PurchaseOption.SAVINGS_PLAN
    return None if option is None else NamedCommitment(texts["commitment"], provider, option, os="", tenancy="")


def _is_of_other_services(texts: Texts, provider: Provider) -> bool:
    """Whether what was not used is for no compute; the description of a reserved machine may say what it is for."""
    if texts["meter_category"] and texts["commitment_type"].lower() == "reservation":
        return texts["meter_category"].lower() not in RESERVED
    service = texts["service"]
    said = service if CLOUDS[provider].seller.machines.search(service) else f"{service} {texts['description']}"
    return bool(_OTHER_SERVICES.search(said))


def provider_of(name: str) -> Provider | None:
    """The cloud that a table calls so."""
    return next((cloud.name for cloud in CLOUDS.values() if cloud.seller.known_as.search(name)), None)


def _label(names: frozenset[str]) -> str:
    if {"serviceprovidername", "allocatedmethodid", "contractapplied"} & names:
        return "FOCUS 1.3"
    if {"invoiceid", "pricingcurrency"} & names:
        return "FOCUS 1.2"
    newer = {"skumeter", "skupricedetails", "capacityreservationid", "commitmentdiscountquantity"} & names
    return f"FOCUS {'1.1' if newer else '1.0'}"


def _with_list_cost(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The lines with their list cost; of those that leave it out, or say nothing of it by 0, the list price of the
    quantity that is priced."""
    names = batch.schema.names
    if "list_price" not in names or "priced" not in names:
        return batch
    made = product(batch.column("list_price"), batch.column("priced"))
    if "list" not in names:
        return batch.append_column("list", made)
    said = batch.column("list")
    try:
        there = pa.array(np.nan_to_num(numbers_of(said)) != 0)
    except AmountError:
        return batch
    if pa.types.is_string(said.type) or pa.types.is_floating(said.type):
        made = made.cast(said.type)
    else:
        said = said.cast(made.type)  # whole numbers and cents hold no price of a part
    return batch.set_column(names.index("list"), "list", pc.if_else(there, said, pc.coalesce(made, said)))


FOCUS = BillFormat(
    name="FOCUS",
    marks=(frozenset({"chargeperiodstart", "chargecategory"}), frozenset({"billedcost", "chargecategory"})),
    texts={
        "provider": ("providername", "serviceprovidername", "publishername"),
        "category": ("chargecategory",),
        "frequency": ("chargefrequency",),
        "pricing_category": ("pricingcategory",),
        "service_category": ("servicecategory",),
        "service": ("servicename",),
        "resource_type": ("resourcetype",),
        "description": ("chargedescription",),
        "machine": ("xinstancetype",),
        "meter": ("skumeter", "xskumetername"),
        "meter_category": ("xskumetercategory",),
        "price_details": ("skupricedetails",),
        "sku": ("xskudetails",),
        "usage_type": ("xusagetype",),
        "operation": ("xoperation", "xskuoperation"),
        "account": ("subaccountid",),
        "region": ("regionid", "regionname"),
        "zone": ("availabilityzone",),
        "unit": ("consumedunit",),
        "pricing_unit": ("pricingunit",),
        "currency": ("billingcurrency",),
        "commitment": ("commitmentdiscountid",),
        "commitment_name": ("commitmentdiscountname",),
        "commitment_type": ("commitmentdiscounttype",),
        "commitment_status": ("commitmentdiscountstatus",),
        "capacity_status": ("capacityreservationstatus",),
    },
    money={"cost": ("billedcost",), "effective": ("effectivecost",), "list": ("listcost",)},
    numbers={"list_price": ("listunitprice",), "priced": ("pricingquantity",)},
    expand=_with_list_cost,
    quantity=("consumedquantity", "pricingquantity"),
    start=("chargeperiodstart",),
    end=("chargeperiodend",),
    period=("billingperiodstart",),
    required=frozenset({"provider", "category", "cost", "start", "service_category"}),
    meaning=_meaning,
    label=_label,
    resource=("resourceid",),
    identity=(
        "resourceid",
        "chargeperiodstart",
        "skupriceid",
        "chargedescription",
        "subaccountid",
        "billedcost",
        "consumedquantity",
        "commitmentdiscountid",
        "allocatedresourceid",
        "availabilityzone",
    ),
    maps={"price_details": _DETAILS, "sku": _DETAILS},
)
