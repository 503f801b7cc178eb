"""FOCUS as Google exports it to BigQuery: the detailed export by other names, with commitments as credits.

It has no columns of commitments, and that of 1.2 none of the categories of services; its costs are after credits.
Sources: Cloud Billing documentation, "Structure of FOCUS data export" (preview), and Google's view of FOCUS 1.0 over
the detailed export, read November 2026.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hcloud.model.bill import LineKind
from hcloud.model.catalog import Provider
from hcloud.readers.bills.formats.focus import FOCUS, as_google, provider_of
from hcloud.readers.bills.formats.google import GOOGLE, credits_of
from hcloud.readers.bills.lines import BillLine, Texts

_OF_OTHERS = "lines of other clouds in a table with Google's credits: not planned (give each cloud's own export)"


def _meaning(texts: Texts) -> BillLine:
    if provider_of(texts["provider"]) in (Provider.GCP, None):
        return GOOGLE.meaning(texts)
    return BillLine(LineKind.OTHER_SERVICE, said=_OF_OTHERS)


def _of_any(texts: Texts) -> BillLine:
    """A line in a table of several clouds."""
    if provider_of(texts["provider"]) is not Provider.GCP:
        return FOCUS.meaning(texts)
    return GOOGLE.meaning({**as_google(texts), "labels": texts["labels"] or texts["price_details"]})


def _before_credits(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The lines at their cost before credits, and behind them their credits."""
    names = batch.schema.names
    taken = credits_of(batch.column("credits"))
    off = np.zeros(batch.num_rows)
    amounts = pc.fill_null(pc.struct_field(pc.list_flatten(taken), "amount"), 0.0)
    np.add.at(off, pc.list_parent_indices(taken).to_numpy(), amounts.to_numpy())
    cost = pc.subtract(batch.column("cost").cast(pa.float64()), pa.array(off))
    batch = batch.set_column(names.index("cost"), "cost", cost)
    assert GOOGLE.expand is not None
    return GOOGLE.expand(batch.set_column(names.index("credits"), "credits", taken))


def _each_before_credits(batch: pa.RecordBatch) -> pa.RecordBatch:
    assert FOCUS.expand is not None
    return _before_credits(FOCUS.expand(batch))


def _label(names: frozenset[str]) -> str:
    return f"FOCUS {'1.2' if 'pricingcurrency' in names else '1.0'} of Google"


GOOGLE_FOCUS = replace(
    GOOGLE,
    name="FOCUS of Google",
    marks=(frozenset({"chargeperiodstart", "xcredits"}),),
    without=frozenset({"xskumetername", "xusagetype", "xoperation"}),  # of other clouds, in tables of several
    texts={
        "provider": ("serviceprovidername", "providername"),
        "service": ("servicename",),
        "sku": ("chargedescription",),
        "account": ("subaccountid",),
        "region": ("regionid",),
        "unit": ("consumedunit",),
        "pricing_unit": ("pricingunit",),
        "labels": ("xsystemlabels",),
        "cost_type": ("xcosttype", "chargecategory"),
        "currency": ("billingcurrency",),
        "subscription": ("xsubscriptioninstanceid", "commitmentdiscountid"),
        "model": ("xconsumptionmodeldescription",),
        "credit": (),
    },
    money={"cost": ("effectivecost",), "list": ("listcost",), "offset": ()},
    quantity=("pricingquantity", "consumedquantity"),
    start=("chargeperiodstart",),
    end=("chargeperiodend",),
    period=("billingperiodstart",),
    nested={"credits": ("xcredits",)},
    meaning=_meaning,
    label=_label,
    expand=_before_credits,
    identity=(
        "chargeperiodstart",
        "resourceid",
        "skuid",
        "chargedescription",
        "effectivecost",
        "subaccountid",
        "consumedquantity",
        "xsubscriptioninstanceid",
        "xexporttime",
        "tags",
    ),
    paths={},
)

_TEXTS = ("cost_type", "subscription", "model", "credit", "labels")
FOCUS_WITH_CREDITS = replace(
    FOCUS,
    marks=GOOGLE_FOCUS.marks,
    texts={**FOCUS.texts, **{role: GOOGLE_FOCUS.texts[role] for role in _TEXTS}},
    money={**FOCUS.money, "offset": ()},
    maps={**FOCUS.maps, **GOOGLE_FOCUS.maps},
    nested=GOOGLE_FOCUS.nested,
    meaning=_of_any,
    expand=_each_before_credits,
)
"""Tables of several clouds whose lines of Google have credits."""
