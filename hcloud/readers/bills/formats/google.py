"""Google's billing export of BigQuery, standard and detailed, as CSV, JSON lines or Parquet.

vCPUs and memory are lines of their own. The detailed export names the machine (``system_labels``): its vCPU-hours are
then instance-hours, its memory adds cost only. A credit is a line of its own here, so that all lines add up.

Flexible commitments come in two forms: a credit on usage at its full price, or (accounts since July 2025, all since
January 2026) usage at a consumption model's own price and a credit on the fee for what of it was used.
Sources: Cloud Billing documentation, "Structure of Standard data export" and "of Detailed data export"; "Spend-based
CUDs data model updates", read November 2026.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json as arrow_json

from hcloud.catalog.shapes import family_of
from hcloud.model.bill import LineKind, UsageKind
from hcloud.model.catalog import Provider, PurchaseOption
from hcloud.model.clouds.known import CLOUDS
from hcloud.readers.bills.formats.words import details_in
from hcloud.readers.bills.lines import BillFormat, BillLine, NamedCommitment, PlaceError, Stream, Texts

_SPEC, _CORES = "compute.googleapis.com/machine_spec", "compute.googleapis.com/cores"
_SKU = re.compile(
    r"(?P<spot>(?:Spot )?Preemptible )?(?P<series>[A-Z]\d[A-Z]{0,2}|Compute[- ]optimized|Memory[- ]optimized|"
    r"Custom|)\s*(?P<maker>AMD |Arm |Predefined |Memory-optimized )?(?P<custom>Custom )?(?P<host>Sole Tenancy )?"
    r"(?:Extended )?(?:Instance )?(?P<part>Core|Ram)\b.*"
)
_NAMED = {"compute-optimized": "c2", "memory-optimized": "m1", "custom": "n1", "": "n1"}
_LICENCE = "Licensing Fee"
"""How SKUs of systems begin (Windows, SUSE, Red Hat), which Google bills beside machines."""
_COMMITMENT = re.compile(r"(?P<flexible>Commitment - dollar based)?.*for (?P<years>\d) years?", re.IGNORECASE)
_COMMITTED = re.compile(r"Commitment v\d: (?P<what>.*?)(?: running)? in .*", re.IGNORECASE)
_COMMITTED_PART = re.compile(r"(?P<series>.*?) ?(?:AMD |Arm )?(?:Cpu|Ram)")
_SHARED_CORES = {"e2-micro": 0.25, "e2-small": 0.5, "e2-medium": 1.0}
"""The vCPUs that Google charges of machines with a shared core; their label has the two that they use in bursts."""
_PER = {"hour": 1.0, "hours": 1.0, "h": 1.0, "second": 1 / 3600, "seconds": 1 / 3600}
_PER_MEMORY = {"gibibyte hour": 1.0, "byte-seconds": 1 / 3600 / 2**30, "gibibyte second": 1 / 3600}
_VCPUS, _MEMORY = "vCPUs", "memory"
_PARTS = {"Cpu": _VCPUS, "Ram": _MEMORY}
"""The parts of machines that are committed to apart, by the words of commitments."""
_OFFSET = "FEE_UTILIZATION_OFFSET"
"""The credit on a fee for the part of it that usage at the committed price used."""
_CREDITS = (
    ("COMMITTED_USAGE_DISCOUNT_DOLLAR_BASE", LineKind.COMMITTED, PurchaseOption.FLEXIBLE_COMMITTED_USE),
    ("COMMITTED_USE_DISCOUNT_DOLLAR_BASE", LineKind.COMMITTED, PurchaseOption.FLEXIBLE_COMMITTED_USE),
    (_OFFSET, LineKind.COMMITTED, PurchaseOption.FLEXIBLE_COMMITTED_USE),
    ("COMMITTED_US", LineKind.COMMITTED, PurchaseOption.COMMITTED_USE),
    ("SUSTAINED_US", LineKind.DISCOUNT, None),
    ("DISCOUNT", LineKind.DISCOUNT, None),
    ("RESELLER_MARGIN", LineKind.DISCOUNT, None),
    ("", LineKind.CREDIT, None),
)
_CREDIT = pa.list_(pa.struct([("amount", pa.float64()), ("type", pa.string())]))


def _meaning(texts: Texts) -> BillLine:
    if texts["cost_type"].lower() not in ("", "regular", "usage", "purchase"):
        return BillLine(LineKind.TAX if texts["cost_type"].lower() == "tax" else LineKind.CREDIT)
    if texts["credit"]:
        return _credit(texts)
    if texts["service"] != "Compute Engine":
        return BillLine(LineKind.OTHER_SERVICE)
    if texts["sku"].startswith("Commitment"):
        return _fee(texts)
    return _priced(use_of_google(texts), texts["model"])


def _priced(line: BillLine, model: str) -> BillLine:
    """A line of use, covered where it was priced by the consumption model of a commitment."""
    if model in ("", "Default") or line.usage is None or line.stream is Stream.SPOT:
        return line
    return replace(line, kind=LineKind.COVERED, option=PurchaseOption.FLEXIBLE_COMMITTED_USE)


def use_of_google(texts: Texts) -> BillLine:
    """What ran by a line of Compute Engine, from its SKU, unit and labels."""
    sku = _SKU.fullmatch(texts["sku"])
    if sku is None:
        return BillLine(LineKind.LICENCE if texts["sku"].startswith(_LICENCE) else LineKind.OTHER_COMPUTE)
    memory = sku["part"] == "Ram"
    units = _hours_of(texts, memory=memory)
    if units is None:
        return BillLine(LineKind.OTHER_COMPUTE, said=f"lines of a unit that is not known ({texts['unit']})")
    per = units
    labels = details_in(texts["labels"])
    name, cores = labels.get(_SPEC, ""), labels.get(_CORES, "")
    name = f"n1-{name}" if name.startswith("custom-") else name  # the first series' custom machines
    series = sku["series"].lower().replace(" ", "-")
    family = _NAMED.get(series, series)
    if name and cores.isdecimal() and int(cores) and CLOUDS[Provider.GCP].names.pattern.fullmatch(name):
        family, per = family_of(Provider.GCP, name), 0.0 if memory else per / _SHARED_CORES.get(name, int(cores))
    else:
        name = ""
    tenancy = "host" if sku["host"] else "shared"
    kind = UsageKind(Provider.GCP, texts["account"], texts["region"], family, name, tenancy=tenancy)
    if sku["spot"]:
        return _spot(kind, per, memory=memory)
    stream = Stream.MEMORY if memory and not name else Stream.HOURS
    return BillLine(LineKind.ON_DEMAND, kind, stream, per=per, part=_MEMORY if memory else _VCPUS, units=units)


def _hours_of(texts: Texts, *, memory: bool) -> float | None:
    """How many vCPU-hours or GiB-hours one unit of a line's quantity is; None for a unit that is not known."""
    return (_PER_MEMORY if memory else _PER).get(texts["pricing_unit"] or texts["unit"])


def _spot(kind: UsageKind, per: float, *, memory: bool) -> BillLine:
    return BillLine(LineKind.SPOT, kind, Stream.SPOT, per=0.0 if memory else per)


def _credit(texts: Texts) -> BillLine:
    kind, option = next((kind, option) for word, kind, option in _CREDITS if texts["credit"].startswith(word))
    if texts["service"] != "Compute Engine":
        return BillLine(kind, option=option)
    if texts["credit"] == _OFFSET:
        return BillLine(kind, holding=_fee(texts).holding, use=("offset",))
    of = use_of_google(texts)
    if of.usage is None or kind is LineKind.CREDIT:
        return BillLine(kind)
    if option is None or of.stream is Stream.SPOT:
        return BillLine(kind, of.usage, Stream.SPOT if of.stream is Stream.SPOT else Stream.MEMORY, per=0.0)
    per = 0.0 if of.stream is Stream.MEMORY else of.per
    return BillLine(kind, of.usage, Stream.COVERED, option=option, per=per, part=of.part, units=of.units)


def _fee(texts: Texts) -> BillLine:
    found = _COMMITMENT.fullmatch(texts["sku"])
    flexible = found is not None and found["flexible"] is not None
    option = PurchaseOption.FLEXIBLE_COMMITTED_USE if flexible else PurchaseOption.COMMITTED_USE
    held = NamedCommitment(
        texts["subscription"] or f"{texts['sku']} ({texts['account']})",
        Provider.GCP,
        option,
        account=texts["account"],
        region=texts["region"],
        family="" if flexible else _committed_family(texts["sku"]),
        term_years=int(found["years"]) if found else None,
    )
    part = next((part for word, part in _PARTS.items() if not flexible and f"{word} " in f"{texts['sku']} "), "")
    units = _hours_of(texts, memory=part == _MEMORY) if part else None
    return BillLine(LineKind.RECURRING, holding=held, fee=("cost",), part=part if units else "", units=units or 0.0)


def _committed_family(sku: str) -> str:
    """The family of a commitment; of one to GPUs or disks what it is to, so that no machine is taken for it."""
    found = _COMMITTED.fullmatch(sku)
    if found is None:
        return ""
    part = _COMMITTED_PART.fullmatch(found["what"])
    family = (found["what"] if part is None else part["series"]).lower().replace(" ", "-")
    return family if part is None else _NAMED.get(family, family)


def _with_credits(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The lines, and behind them their credits, each with the texts of its line: what it takes off, of so much use."""
    if "credits" not in batch.schema.names:
        return batch
    taken = credits_of(batch.column("credits"))
    kept = [name for name in batch.schema.names if name != "credits"]
    batch = batch.select(kept)
    flat, parent = pc.list_flatten(taken), pc.list_parent_indices(taken)
    rows = batch.num_rows
    counted = pa.array(np.arange(rows + len(flat)) < rows)
    names = [*kept, "credit", "counted"]
    if not len(flat):
        return pa.record_batch([*batch.columns, pa.nulls(rows, pa.string()), counted], names)
    amount, cost = pc.struct_field(flat, "amount"), batch.column("cost").cast(pa.float64())
    share = np.clip(-amount.to_numpy(False) / np.where(cost := cost.take(parent).to_numpy(False), cost, np.inf), 0, 1)
    quantity = batch.column("quantity").cast(pa.float64())
    types = pc.fill_null(pc.struct_field(flat, "type"), "credit")
    offset = pc.if_else(pc.equal(types, _OFFSET), pc.negate(amount), None)
    more = {
        "cost": amount,
        "quantity": pa.array(quantity.take(parent).to_numpy(False) * share),
        "list": pa.nulls(len(flat), pa.float64()),
    }
    columns = [_stacked(batch.column(name), more.get(name), parent) for name in kept]
    columns += [_behind(rows, types), counted, _behind(rows, offset)]
    return pa.record_batch(columns, [*names, "offset"])


def _behind(rows: int, of_credits: pa.Array) -> pa.Array:
    """A column that the lines themselves do not have."""
    return pa.concat_arrays([pa.nulls(rows, of_credits.type), of_credits])


def _stacked(column: pa.Array, more: pa.Array | None, parent: pa.Array) -> pa.Array:
    if more is None:
        return pa.concat_arrays([column, column.take(parent)])
    return pa.concat_arrays([column.cast(pa.float64()), more])


def credits_of(column: pa.Array) -> pa.Array:
    """The credits of each line; those of CSV files are JSON in text."""
    if isinstance(column, pa.DictionaryArray):
        column = column.cast(pa.string())
    if not pa.types.is_string(column.type):
        return _plain_credits(column)
    lines = pc.binary_join_element_wise(
        '{"c":', pc.if_else(pc.equal(pc.fill_null(column, ""), ""), "null", column), "}", ""
    )
    for name in ("Amount", "Type"):  # as FOCUS spells them
        lines = pc.replace_substring(lines, f'"{name}":', f'"{name.lower()}":')
    text = "\n".join(line or '{"c":null}' for line in lines.to_pylist()).encode()
    schema = arrow_json.ParseOptions(explicit_schema=pa.schema([("c", _CREDIT)]), unexpected_field_behavior="ignore")
    try:
        table = arrow_json.read_json(pa.BufferReader(text), parse_options=schema)
    except pa.ArrowException as error:
        raise PlaceError(0, "credits", str(error).splitlines()[0][:100], "a list of credits as JSON") from None
    if table.num_rows != len(column):
        raise PlaceError(0, "credits", "is broken", "a list of credits as JSON")
    return table.column("c").combine_chunks()


def _plain_credits(column: pa.Array) -> pa.Array:
    if not pa.types.is_list(column.type) or not pa.types.is_struct(column.type.value_type):
        raise PlaceError(0, "credits", f"holds {column.type}", "a list of credits")
    flat = pc.list_flatten(column)
    names = {field.name.lower(): field.name for field in column.type.value_type}
    if not {"amount", "type"} <= names.keys():
        told = ", ".join(sorted(names.values()))
        raise PlaceError(0, "credits", f"holds {told}", "amount and type of each credit")
    offsets = np.concatenate([[0], np.cumsum(pc.fill_null(pc.list_value_length(column), 0).to_numpy(False))])
    amount, kind = (pc.struct_field(flat, names[name]) for name in ("amount", "type"))
    parts = [amount.cast(pa.float64()), kind.cast(pa.string())]
    return pa.ListArray.from_arrays(
        pa.array(offsets, pa.int32()), pa.StructArray.from_arrays(parts, names=["amount", "type"])
    )


def _label(names: frozenset[str]) -> str:
    detailed = {"resourcename", "resourceglobalname", "resource"} & names
    return f"Google billing export ({'detailed' if detailed else 'standard'})"


GOOGLE = BillFormat(
    name="Google billing export",
    marks=(frozenset({"servicedescription", "skudescription", "usagestarttime"}),),
    texts={
        "service": ("servicedescription",),
        "sku": ("skudescription",),
        "account": ("projectid",),
        "region": ("locationregion", "locationlocation"),
        "unit": ("usageunit",),
        "pricing_unit": ("usagepricingunit",),
        "labels": ("systemlabels",),
        "cost_type": ("costtype",),
        "currency": ("currency",),
        "subscription": ("subscriptioninstanceid",),
        "model": ("consumptionmodeldescription",),
        "credit": (),
    },
    money={"cost": ("cost",), "list": ("costatlist",), "offset": ()},
    quantity=("usageamountinpricingunits", "usageamount"),
    start=("usagestarttime",),
    end=("usageendtime",),
    period=("invoicemonth",),
    required=frozenset({"service", "sku", "cost", "quantity", "start"}),
    meaning=_meaning,
    label=_label,
    identity=(
        "usagestarttime",
        "resourceglobalname",
        "resourcename",
        "skuid",
        "skudescription",
        "cost",
        "projectid",
        "usageamount",
        "subscriptioninstanceid",
        "exporttime",
        "invoicemonth",
        "costtype",
        "locationzone",
        "labels",
        "systemlabels",
        "tags",
    ),
    is_appended=True,
    maps={"labels": (_SPEC, _CORES)},
    nested={"credits": ("credits",)},
    expand=_with_credits,
    paths={
        "service": "service.description",
        "sku": "sku.description",
        "account": "project.id",
        "region": "location.region",
        "unit": "usage.unit",
        "pricing_unit": "usage.pricing_unit",
        "labels": "system_labels",
        "cost_type": "cost_type",
        "currency": "currency",
        "subscription": "subscription.instance_id",
        "model": "consumption_model.description",
        "cost": "cost",
        "list": "cost_at_list",
        "quantity": "usage.amount_in_pricing_units",
        "quantity 2": "usage.amount",
        "start": "usage_start_time",
        "end": "usage_end_time",
        "period": "invoice.month",
        "credits": "credits",
    },
)
