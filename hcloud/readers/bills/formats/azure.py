"""Azure cost details (Enterprise Agreement and Microsoft Customer Agreement), actual and amortised: a line a day.

Source: Microsoft Cost Management, "cost and usage details file schema" of EA and MCA, read November 2026.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hcloud.catalog.shapes import family_of
from hcloud.model.bill import LineKind, UsageKind
from hcloud.model.catalog import Provider, PurchaseOption
from hcloud.model.clouds.known import CLOUDS
from hcloud.readers.bills.formats.words import LICENCES, details_in, hours_each, hours_in, licensed_image
from hcloud.readers.bills.lines import BillFormat, BillLine, NamedCommitment, Stream, Texts
from hcloud.readers.bills.money import AmountError, numbers_of, product

_MACHINES = "virtual machines"
_IMAGES = (("windows", "windows"), ("redhat", "rhel"), ("red hat", "rhel"), ("rhel", "rhel"), ("suse", "sles"))
_COMPUTE = frozenset({_MACHINES, LICENCES, "cloud services", "container instances", "azure app service", "functions"})
RESERVED = _COMPUTE | {""}
"""Categories of what reservations leave idle that may cover machines; of others (databases) none does."""
_METER_REGIONS = {
    "useast": "eastus", "useast2": "eastus2", "uswest": "westus", "uswest2": "westus2", "uswest3": "westus3",
    "uscentral": "centralus", "usnorthcentral": "northcentralus", "ussouthcentral": "southcentralus",
    "uswestcentral": "westcentralus", "euwest": "westeurope", "eunorth": "northeurope", "apsoutheast": "southeastasia",
    "apeast": "eastasia", "jaeast": "japaneast", "jawest": "japanwest", "aueast": "australiaeast",
    "ausoutheast": "australiasoutheast", "cacentral": "canadacentral", "caeast": "canadaeast", "brsouth": "brazilsouth",
    "incentral": "centralindia", "insouth": "southindia", "inwest": "westindia", "frcentral": "francecentral",
    "dewestcentral": "germanywestcentral", "chnorth": "switzerlandnorth", "noeast": "norwayeast",
    "secentral": "swedencentral", "krcentral": "koreacentral", "aenorth": "uaenorth", "zanorth": "southafricanorth",
}  # fmt: skip
"""Regions as meters spell them."""
_METER_SIZE = re.compile(r"[A-Z]+\d+(?:-\d+)?[a-z]*(?: v\d+)?")
_MONTHS = {"12": 1, "36": 3}
_COST = ("cost",)
_EXCHANGE = "exchange"
"""What a unit of the currency of prices is in that of the bill."""


def _meaning(texts: Texts) -> BillLine:
    charge = texts["charge"].replace(" ", "").lower()
    if charge in ("unusedreservation", "unusedsavingsplan"):
        is_elsewhere = charge == "unusedreservation" and texts["category"].lower() not in RESERVED
        return BillLine(LineKind.UNUSED) if is_elsewhere else BillLine(LineKind.UNUSED, holding=_idle(texts), fee=_COST)
    if charge in ("refund", "roundingadjustment"):
        return BillLine(LineKind.CREDIT)
    if charge == "tax":
        return BillLine(LineKind.TAX)
    if charge == "purchase":
        return _purchase(texts)
    if charge != "usage":
        return BillLine(LineKind.OTHER_SERVICE, said=f"lines of a charge type that is not known ({charge or 'empty'})")
    return _usage(texts)


def _idle(texts: Texts) -> NamedCommitment | None:
    """The commitment of a line of what was not used, with the place of the size that its meter names (``D4s v5``)."""
    holding = _holding(texts)
    if holding is None or not _METER_SIZE.fullmatch(texts["meter"]):
        return holding
    name = f"Standard_{texts['meter'].replace(' ', '_')}"
    return holding.of(UsageKind(Provider.AZURE, "", _region(texts), family_of(Provider.AZURE, name), name))


def _purchase(texts: Texts) -> BillLine:
    if _holding(texts) is None:
        return BillLine(LineKind.FEE)
    once = texts["frequency"].replace("-", "").lower() == "onetime"
    return BillLine(LineKind.UPFRONT if once else LineKind.RECURRING)


def _usage(texts: Texts) -> BillLine:
    category = texts["category"].lower()
    if category not in _COMPUTE:
        return BillLine(LineKind.OTHER_SERVICE)
    per, details = hours_each(texts["unit"]), details_in(texts["info"])  # a quantity is of use, not of priced blocks
    name = details.get("ServiceType", "")
    if category == LICENCES:
        return BillLine(LineKind.LICENCE)
    if category != _MACHINES or per is None:
        return BillLine(LineKind.OTHER_COMPUTE)
    if not CLOUDS[Provider.AZURE].names.pattern.fullmatch(name):
        told = f"is not known ({name})" if name else "the bill does not say"
        return BillLine(LineKind.OTHER_COMPUTE, said=f"lines of machines whose size {told}")
    kind = UsageKind(
        Provider.AZURE, texts["account"], _region(texts), family_of(Provider.AZURE, name), name, _system(texts, details)
    )
    return _paid(texts, kind, per)


def _region(texts: Texts) -> str:
    region = "".join(texts["region"].lower().split())
    return _METER_REGIONS.get(region, region)


def _paid(texts: Texts, kind: UsageKind, per: float) -> BillLine:
    model = texts["model"].replace(" ", "").lower()
    if model == "spot" or "spot" in texts["meter"].lower():
        return BillLine(LineKind.SPOT, kind, Stream.SPOT, per=per)
    holding = _holding(texts) if model != "ondemand" else None
    if holding is None:
        return BillLine(LineKind.ON_DEMAND, kind, per=per)
    holding = holding.of(kind)
    return BillLine(LineKind.COVERED, kind, option=holding.option, per=per, holding=holding, fee=_COST, use=_COST)


def _system(texts: Texts, details: dict[str, str]) -> str:
    """The operating system as it is paid for: a licence that the user brings (AHB) costs what Linux costs."""
    if details.get("AHB", "").lower() == "true":
        return "linux"
    said = f"{licensed_image(details)} {texts['subcategory']} {texts['product']}".lower()
    return next((system for word, system in _IMAGES if word in said), "linux")


def _holding(texts: Texts) -> NamedCommitment | None:
    model = texts["model"].replace(" ", "").lower()
    if texts["reservation"] or model == "reservation":
        option = PurchaseOption.RESERVATION
    elif texts["benefit"] or model == "savingsplan":
        option = PurchaseOption.SAVINGS_PLAN
    else:
        return None
    name = texts["reservation"] or texts["benefit"]
    return NamedCommitment(name, Provider.AZURE, option, term_years=_MONTHS.get(texts["term"]))


def _with_list_cost(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The lines with what they cost at list prices, where the file says the price alone: of a block of use (``100
    Hours``), in the currency of prices, which that of the bill may differ from (MCA)."""
    names = batch.schema.names
    if "list" in names or "list_price" not in names:
        return batch
    try:
        blocks = pa.array(numbers_of(batch.column("quantity")) / _hours_in_blocks(batch.column("unit")))
    except AmountError:
        return batch
    cost = product(batch.column("list_price"), blocks)
    return batch.append_column("list", product(cost, batch.column(_EXCHANGE)) if _EXCHANGE in names else cost)


def _hours_in_blocks(units: pa.Array) -> NDArray[np.float64]:
    """How many hours, or whatever else a unit counts, one price is for."""
    coded = units if isinstance(units, pa.DictionaryArray) else units.dictionary_encode()
    sizes = [(hours_in(unit or "") or 1.0) / (hours_each(unit or "") or 1.0) for unit in coded.dictionary.to_pylist()]
    of_rows: NDArray[np.float64] = np.array([*sizes, 1.0])[
        coded.indices.fill_null(len(sizes)).to_numpy(zero_copy_only=False)
    ]
    return of_rows


def _label(names: frozenset[str]) -> str:
    agreement = "EA" if "accountname" in names or "billingprofileid" not in names else "MCA"
    return f"Azure cost details ({agreement})"


AZURE = BillFormat(
    name="Azure cost details",
    marks=(frozenset({"metercategory", "chargetype", "quantity"}), frozenset({"metercategory", "unitofmeasure"})),
    texts={
        "category": ("metercategory",),
        "subcategory": ("metersubcategory",),
        "meter": ("metername",),
        "product": ("productname", "product"),
        "info": ("additionalinfo",),
        "account": ("subscriptionid", "subscriptionguid"),
        "region": ("resourcelocation", "resourcelocationnormalized", "meterregion"),
        "unit": ("unitofmeasure",),
        "model": ("pricingmodel",),
        "charge": ("chargetype",),
        "frequency": ("frequency",),
        "currency": ("billingcurrency", "billingcurrencycode", "currency"),
        "reservation": ("reservationid",),
        "benefit": ("benefitid",),
        "term": ("term",),
    },
    money={
        "cost": ("costinbillingcurrency", "cost", "pretaxcost"),
        "list": ("paygcostinbillingcurrency",),
        "list_price": ("paygprice",),
    },
    numbers={_EXCHANGE: ("exchangeratepricingtobilling",)},
    quantity=("quantity", "usagequantity"),
    start=("date", "usagedatetime", "usagedate"),
    end=(),
    span=24,
    maps={"info": ("ServiceType", "ImageType", "AHB")},
    expand=_with_list_cost,
    period=("billingperiodstartdate",),
    required=frozenset({"category", "account", "unit", "charge", "cost", "quantity", "start"}),
    meaning=_meaning,
    label=_label,
    resource=("resourceid", "instanceid", "instancename"),
    identity=("date", "resourceid", "meterid", "quantity", "pricingmodel", "reservationid", "benefitid"),
)
