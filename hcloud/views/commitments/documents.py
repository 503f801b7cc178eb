"""Commitments as JSON documents: what to buy and why, what was bought, and what is held."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from hcloud import __version__
from hcloud.units import cents, plain

if TYPE_CHECKING:
    from hcloud.model.holdings.live import Commitment
    from hcloud.model.holdings.purchase import Applied, CommitmentNeed
    from hcloud.planning.purchases.answers import Holdings, Recommendation
    from hcloud.planning.purchases.history import Recorded

FORMAT_VERSION = "1.0"
Document = Mapping[str, object]


def recommendation_document(found: Recommendation, at: datetime) -> Document:
    """A recommendation as JSON."""
    rows = [
        {
            **_need_document(n),
            "way_out": None
            if t is None
            else {"refund": str(t.refund), "note": t.note, "source": t.source, "day": t.day},
        }
        for n, t in zip(found.needs, found.ways_out, strict=True)
    ]
    return {
        **_head(at),
        "scope": str(found.scope) if found.scope else None,
        "currency": found.plan.currency,
        "commitments": rows,
        "reasons": list(found.plan.reasons),
        "expiring": [_held_document(c) for c in found.expiring],
        "unplanned": [_held_document(c) for c in found.unplanned],
        "warnings": list(found.warnings),
    }


def _need_document(need: CommitmentNeed) -> dict[str, object]:
    w = need.wanted
    return {
        "address": w.address,
        "option": str(w.option),
        "term_years": w.term_years,
        "payment": str(w.payment),
        "unit": "dollars an hour" if w.dollars_per_hour is not None else "instances",
        "wanted": plain(w.quantity),
        "held": plain(need.held),
        "to_buy": plain(need.missing),
        "over_the_term": plain(cents(need.expected)),
        "break_even": None if w.break_even is None else plain(w.break_even),
        "starts": _stamp(w.starts),
        "derived": w.derived or None,
    }


def applied_document(found: Applied, at: datetime) -> Document:
    """What came of a purchase plan as JSON."""
    return {
        **_head(at),
        "digest": found.plan.digest,
        "amount": plain(cents(found.plan.amount)),
        "currency": "USD",
        "purchases": [
            {
                "address": b.item.address,
                "key": b.item.key,
                "amount": plain(cents(b.item.amount)),
                "outcome": str(b.outcome),
                "commitment": b.id or None,
                "before": b.before,
            }
            for b in found.purchased
        ],
    }


def holdings_document(found: Holdings, at: datetime) -> Document:
    """Ledger and cloud as JSON."""
    return {
        **_head(at),
        "scope": str(found.scope) if found.scope else None,
        "currency": "USD",
        "committed": plain(cents(found.committed)),
        "ceiling": None if found.ceiling is None else plain(found.ceiling),
        "commitments": [
            {
                "ledger": None if p.recorded is None else recorded_document(p.recorded),
                "cloud": None if p.commitment is None else _held_document(p.commitment),
            }
            for p in found.pairs
        ],
        "expiring": [c.id for c in found.expiring],
    }


def recorded_document(found: Recorded) -> dict[str, object]:
    """A purchase of the ledger as JSON."""
    return {
        "key": found.intent.key,
        "address": found.intent.address,
        "at": _stamp(found.intent.at),
        "plan": found.intent.plan,
        "amount": plain(cents(found.intent.amount)),
        "outcome": str(found.outcome),
        "commitment": found.id or None,
        "cancelled": found.cancelled,
        "ends": _stamp(found.ends),
    }


def _held_document(found: Commitment) -> dict[str, object]:
    return {
        "id": found.id,
        "option": str(found.option),
        "instance_type": found.instance_type,
        "count": found.count,
        "state": found.state,
        "starts": _stamp(found.starts),
        "ends": _stamp(found.ends),
        "upfront": plain(found.upfront),
        "hourly": plain(found.hourly),
    }


def _head(at: datetime) -> dict[str, object]:
    return {"format_version": FORMAT_VERSION, "tool_version": __version__, "generated_at": _stamp(at)}


def _stamp(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
