"""AWS Cost and Usage Reports: the legacy form and CUR 2.0, whose columns are the same but for the spelling."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from hcloud.model.bill import LineKind, UsageKind
from hcloud.model.catalog import Payment, Provider, PurchaseOption
from hcloud.readers.bills.formats.amazon import CAPACITY, PAYMENTS, YEARS, Ran, ran, region_of
from hcloud.readers.bills.lines import NET, BillFormat, BillLine, NamedCommitment, Stream, Texts, moment_or_none

_COMPUTE = frozenset({"AmazonEC2", "AmazonECS", "AmazonEKS", "AWSLambda", "ComputeSavingsPlans"})
_RI_CLASS = {"standard": PurchaseOption.RESERVED, "convertible": PurchaseOption.CONVERTIBLE}
_PLANS = {
    "ComputeSavingsPlans": PurchaseOption.COMPUTE_SAVINGS_PLAN,
    "EC2InstanceSavingsPlans": PurchaseOption.INSTANCE_SAVINGS_PLAN,
}
_NET = {
    "cost": ("lineitemnetunblendedcost",),
    "ri_effective": ("reservationneteffectivecost",),
    "ri_upfront": ("reservationnetamortizedupfrontfeeforbillingperiod",),
    "ri_unused_fee": ("reservationnetunusedrecurringfee",),
    "ri_unused_upfront": ("reservationnetunusedamortizedupfrontfeeforbillingperiod",),
    "sp_effective": ("savingsplannetsavingsplaneffectivecost",),
}
"""The columns with the same after discounts, by role: empty or not there where none was given."""
_BY_TYPE = {
    "Tax": LineKind.TAX, "Credit": LineKind.CREDIT, "Refund": LineKind.CREDIT,
    "EdpDiscount": LineKind.DISCOUNT, "PrivateRateDiscount": LineKind.DISCOUNT, "BundledDiscount": LineKind.DISCOUNT,
    "RiVolumeDiscount": LineKind.DISCOUNT, "SppDiscount": LineKind.DISCOUNT, "Discount": LineKind.DISCOUNT,
    "DistributorDiscount": LineKind.DISCOUNT, "SavingsPlanNegation": LineKind.NEGATION,
}  # fmt: skip


def _meaning(texts: Texts) -> BillLine:
    kind = _BY_TYPE.get(texts["type"])
    if kind is not None:
        return BillLine(kind)
    if texts["type"] == "Fee":
        return _fee(texts)
    if texts["type"] in ("SavingsPlanRecurringFee", "SavingsPlanUpfrontFee"):
        return _plan_fee(texts)
    return _of_compute(texts) if texts["product"] in _COMPUTE else BillLine(LineKind.OTHER_SERVICE)


def _of_compute(texts: Texts) -> BillLine:
    use = ran(texts["usage_type"], texts["operation"], texts["account"], texts["region"], texts["zone"])
    if texts["type"] == "RIFee":
        return _reserved_fee(texts, use)
    if texts["type"] == "DiscountedUsage":
        return _covered(use, _reserved(texts, use), "ri_effective", "ri_effective")
    if texts["type"] == "SavingsPlanCoveredUsage":
        return _covered(use, _plan(texts), "sp_effective", "sp_committed")
    if texts["type"] == "Usage":
        return _usage(use)
    return BillLine(LineKind.OTHER_COMPUTE, said=f"lines of a type that is not known ({texts['type'] or 'empty'})")


def _usage(use: Ran | str | None) -> BillLine:
    if not isinstance(use, Ran):
        return BillLine(LineKind.OTHER_COMPUTE, said=use or "")
    if use.word in CAPACITY:
        return BillLine(LineKind.CAPACITY)
    kind = LineKind.SPOT if use.stream is Stream.SPOT else LineKind.ON_DEMAND
    return BillLine(kind, use.kind, use.stream, per=use.per)


def _covered(use: Ran | str | None, holding: NamedCommitment, paid_by: str, used: str) -> BillLine:
    line = BillLine(LineKind.COVERED, option=holding.option, paid_by=paid_by, holding=holding, use=(used,))
    if not isinstance(use, Ran):
        return replace(line, said=use or "")
    if use.word in CAPACITY:
        return line
    return replace(line, usage=use.kind, stream=use.stream, per=use.per)


def _fee(texts: Texts) -> BillLine:
    upfront = texts["product"] in _COMPUTE and (texts["ri"] or texts["sp"])
    return BillLine(LineKind.UPFRONT if upfront else LineKind.FEE)


def _plan_fee(texts: Texts) -> BillLine:
    if texts["type"] == "SavingsPlanUpfrontFee":
        return BillLine(LineKind.UPFRONT)
    plan = _plan(texts)
    if "SageMaker" in texts["sp_type"] or "Database" in texts["sp_type"]:
        return BillLine(LineKind.OTHER_SERVICE)
    net, gross = ("sp_net_recurring", "sp_net_upfront"), ("sp_recurring", "sp_upfront")
    return BillLine(LineKind.RECURRING, holding=plan, fee=("sp_total",), use=("sp_used",), net=net, gross=gross)


def _plan(texts: Texts) -> NamedCommitment:
    option = _PLANS.get(texts["sp_type"], PurchaseOption.SAVINGS_PLAN)
    narrow = option is PurchaseOption.INSTANCE_SAVINGS_PLAN
    return NamedCommitment(
        texts["sp"],
        Provider.AWS,
        option,
        account=texts["sp"].split(":")[4] if texts["sp"].count(":") > 4 else "",
        region=texts["sp_region"] if narrow else "",
        family=texts["sp_family"] if narrow else "",
        term_years=YEARS.get(texts["sp_term"]),
        payment=PAYMENTS.get(texts["sp_payment"]),
        start=moment_or_none(texts["sp_start"]),
        end=moment_or_none(texts["sp_end"]),
    )


def _reserved_fee(texts: Texts, use: Ran | str | None) -> BillLine:
    held = _reserved(texts, use)
    if held.payment is Payment.NONE:
        return BillLine(LineKind.RECURRING, holding=held, fee=("cost",), unused=("ri_unused_fee",))
    fee, unused = ("cost", "ri_upfront"), ("ri_unused_fee", "ri_unused_upfront")
    return BillLine(LineKind.RECURRING, holding=held, fee=fee, unused=unused)


def _reserved(texts: Texts, use: Ran | str | None) -> NamedCommitment:
    kind: UsageKind | None = use.kind if isinstance(use, Ran) else None
    is_fee = texts["type"] == "RIFee"
    return NamedCommitment(
        texts["ri"],
        Provider.AWS,
        _RI_CLASS.get(texts["class"].lower(), PurchaseOption.RESERVED),
        account=texts["account"] if is_fee else "",
        region=kind.region if kind and is_fee else region_of(texts["region"], texts["zone"], "") or "",
        family=kind.family if kind and is_fee else "",
        instance_type=kind.instance_type if kind and is_fee else "",
        os=kind.os if kind else "linux",
        tenancy=kind.tenancy if kind else "shared",
        term_years=YEARS.get(texts["lease"]),
        payment=PAYMENTS.get(texts["payment"]),
        start=moment_or_none(texts["ri_start"]),
        end=moment_or_none(texts["ri_end"]),
        count=int(texts["ri_count"]) if is_fee and texts["ri_count"].isdecimal() else None,
    )


def _after_discounts(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The lines at what is paid after discounts (EDP, private rates), where the file says it in columns of their own: a
    report has lines of discounts, or these columns, in which lines of discounts are nothing. What a savings plan has
    committed to is before discounts."""
    for role in _NET:
        if f"{NET}{role}" in batch.schema.names and role in batch.schema.names:
            net, gross = batch.column(f"{NET}{role}"), batch.column(role)
            if pa.types.is_string(net.type):
                net = pc.if_else(pc.equal(net, ""), None, net)
            if net.null_count < len(net):  # the file says it: of a line of discounts nothing is none
                nothing = pc.and_(pc.ends_with(batch.column("type").cast(pa.string()), "Discount"), pc.is_null(net))
                net = pc.if_else(pc.fill_null(nothing, False), pa.scalar("0").cast(net.type), net)
            paid = pc.coalesce(net if net.type == gross.type else net.cast(gross.type, safe=False), gross)
            batch = batch.set_column(batch.schema.names.index(role), role, paid)
    return batch


def _label(names: frozenset[str]) -> str:
    return "AWS CUR 2.0" if {"product", "resourcetags", "billpayeraccountname"} & names else "AWS CUR legacy"


CUR = BillFormat(
    name="AWS Cost and Usage Report",
    marks=(frozenset({"lineitemlineitemtype"}), frozenset({"lineitemusagestartdate"})),
    texts={
        "type": ("lineitemlineitemtype",),
        "product": ("lineitemproductcode",),
        "usage_type": ("lineitemusagetype",),
        "operation": ("lineitemoperation",),
        "account": ("lineitemusageaccountid",),
        "region": ("productregioncode", "productregion"),
        "zone": ("lineitemavailabilityzone",),
        "currency": ("lineitemcurrencycode",),
        "invoice": ("billinvoiceid",),
        "class": ("pricingofferingclass",),
        "lease": ("pricingleasecontractlength",),
        "payment": ("pricingpurchaseoption",),
        "ri": ("reservationreservationarn",),
        "ri_count": ("reservationnumberofreservations",),
        "ri_start": ("reservationstarttime",),
        "ri_end": ("reservationendtime",),
        "sp": ("savingsplansavingsplanarn",),
        "sp_type": ("savingsplanofferingtype",),
        "sp_term": ("savingsplanpurchaseterm",),
        "sp_payment": ("savingsplanpaymentoption",),
        "sp_start": ("savingsplanstarttime",),
        "sp_end": ("savingsplanendtime",),
        "sp_region": ("savingsplanregion",),
        "sp_family": ("savingsplaninstancetypefamily",),
    },
    money={
        "cost": ("lineitemunblendedcost",),
        "list": ("pricingpublicondemandcost",),
        "ri_effective": ("reservationeffectivecost",),
        "ri_upfront": ("reservationamortizedupfrontfeeforbillingperiod",),
        "ri_unused_fee": ("reservationunusedrecurringfee",),
        "ri_unused_upfront": ("reservationunusedamortizedupfrontfeeforbillingperiod",),
        "sp_effective": ("savingsplansavingsplaneffectivecost",),
        "sp_committed": ("savingsplansavingsplaneffectivecost",),
        "sp_total": ("savingsplantotalcommitmenttodate",),
        "sp_used": ("savingsplanusedcommitment",),
        "sp_recurring": ("savingsplanrecurringcommitmentforbillingperiod",),
        "sp_upfront": ("savingsplanamortizedupfrontcommitmentforbillingperiod",),
        "sp_net_recurring": ("savingsplannetrecurringcommitmentforbillingperiod",),
        "sp_net_upfront": ("savingsplannetamortizedupfrontcommitmentforbillingperiod",),
    },
    numbers={f"{NET}{role}": names for role, names in _NET.items()},
    expand=_after_discounts,
    quantity=("lineitemusageamount",),
    start=("lineitemusagestartdate",),
    end=("lineitemusageenddate",),
    period=("billbillingperiodstartdate",),
    required=frozenset({"type", "product", "usage_type", "account", "cost", "quantity", "start"}),
    meaning=_meaning,
    label=_label,
    identity=(  # the id of a line is another one in the next delivery
        "lineitemresourceid",
        "lineitemusagestartdate",
        "lineitemusagetype",
        "lineitemoperation",
        "lineitemlineitemtype",
        "lineitemusageaccountid",
        "lineitemavailabilityzone",
        "lineitemusageamount",
        "lineitemunblendedcost",
        "reservationreservationarn",
        "savingsplansavingsplanarn",
    ),
)
