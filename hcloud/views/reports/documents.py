"""Reports as JSON documents, to the last digit, and as CSV, to the cent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal

from hcloud import __version__
from hcloud.model.report import FORMAT_VERSION, Costs
from hcloud.planning.reports.report import Dimension, Report, grouped, shown
from hcloud.planning.reports.savings import CommitmentUse, against, as_of, coverage, savings, uses
from hcloud.units import cents, plain
from hcloud.views.escaped import Written, csv_document

Document = Mapping[str, object]
COSTS = ("list", "contracted", "effective", "billed")


def cost_document(report: Report, by: Sequence[Dimension], at: datetime) -> Document:
    """Costs by dimensions."""
    groups = [
        {
            "keys": dict(zip(map(str, by), group.keys, strict=True)),
            "machine_hours": plain(group.hours),
            "costs": _costs(group.costs),
        }
        for group in grouped(report.charges, by, report.team_tag)
    ]
    return {**_head("cost", report, at), "by": [str(one) for one in by], "groups": groups}


def savings_document(report: Report, at: datetime) -> Document:
    """Savings and counterfactuals."""
    found = savings(report.charges)
    return {
        **_head("savings", report, at),
        "effective_savings_rate": _share(found.rate),
        "saved": plain(found.saved),
        "saved_by": {
            "commitments": plain(found.commitments),
            "spot": plain(found.spot),
            "use_and_negotiation": plain(found.sustained),
        },
        "unused_commitment": plain(found.unused),
        "counterfactuals": [
            {"name": one.name, "description": one.description, "dollars": plain(one.dollars), "more": plain(more)}
            for one, more in against(report)
        ],
    }


def commitments_document(report: Report, at: datetime) -> Document:
    """Coverage, utilisation and each commitment."""
    whole = coverage(report.charges)
    return {
        **_head("commitments", report, at),
        "coverable": plain(whole.coverable),
        "covered": plain(whole.covered),
        "coverage": _share(whole.coverage),
        "used": plain(whole.used),
        "unused": plain(whole.unused),
        "utilisation": _share(whole.utilisation),
        "commitments": [_use(one, as_of(report, at)) for one in uses(report)],
    }


def _use(use: CommitmentUse, at: datetime) -> dict[str, object]:
    held = use.holding
    return {
        "id": held.id,
        "option": str(held.option),
        "instance_type": held.instance_type,
        "region": held.region,
        "count": plain(held.count),
        "dollars_per_hour": None if held.dollars_per_hour is None else plain(held.dollars_per_hour),
        "starts": _moment(held.starts),
        "ends": _moment(held.ends),
        "days_left": use.days_left(at),
        "covered": plain(use.covered),
        "amortised": plain(use.amortised),
        "unused": plain(use.unused),
        "utilisation": _share(use.utilisation),
        "saved": plain(use.saved),
        "billed_upfront": plain(use.upfront),
        "billed_recurring": plain(use.recurring),
    }


def cost_csv(report: Report, by: Sequence[Dimension]) -> Written:
    """Costs by dimensions, rounded so that they add up."""
    groups = grouped(report.charges, by, report.team_tag)
    rounded = shown([group.costs for group in groups])
    rows = (
        (*group.keys, plain(group.hours.quantize(Decimal("0.001"))), *(plain(getattr(c, name)) for name in COSTS))
        for group, c in zip(groups, rounded, strict=True)
    )
    return csv_document((*map(str, by), "machine_hours", *COSTS), rows)


def savings_csv(report: Report) -> Written:
    """Figures and counterfactuals in dollars."""
    found = savings(report.charges)
    rows = [
        ("list", found.costs.list),
        ("effective", found.costs.effective),
        ("saved by commitments", found.commitments),
        ("saved by spot", found.spot),
        ("saved by other discounts", found.sustained),
        ("unused commitment", found.unused),
        *((one.name, one.dollars) for one in report.counterfactuals),
    ]
    return csv_document(("figure", "dollars"), ((name, plain(cents(amount))) for name, amount in rows))


def commitments_csv(report: Report, at: datetime) -> Written:
    """A row a commitment."""
    documents = [_use(one, as_of(report, at)) for one in uses(report)]
    names = list(_FIELDS)
    rows = (["" if d[name] is None else str(d[name]) for name in names] for d in documents)
    return csv_document(names, rows)


_FIELDS = (
    "id", "option", "instance_type", "region", "count", "dollars_per_hour", "starts", "ends", "days_left", "covered",
    "amortised", "unused", "utilisation", "saved", "billed_upfront", "billed_recurring",
)  # fmt: skip


def _head(kind: str, report: Report, at: datetime) -> dict[str, object]:
    start, end = (datetime.fromtimestamp(x, UTC) for x in (report.period.start, report.period.end))
    return {
        "format_version": FORMAT_VERSION,
        "tool_version": __version__,
        "generated_at": _moment(at),
        "report": kind,
        "source": str(report.source),
        "name": report.name,
        "period": {"start": _moment(start), "end": _moment(end)},
        "currency": "USD",
        "price_day": None if report.price_day is None else report.price_day.isoformat(),
        "costs": _costs(report.costs),
        "notes": list(report.notes),
    }


def _costs(costs: Costs) -> dict[str, str]:
    return {name: plain(getattr(costs, name)) for name in COSTS}


def _share(share: Decimal | None) -> str | None:
    return None if share is None else plain(share.quantize(Decimal("0.000001")))


def _moment(at: datetime | None) -> str | None:
    return None if at is None else at.astimezone(UTC).isoformat().replace("+00:00", "Z")
