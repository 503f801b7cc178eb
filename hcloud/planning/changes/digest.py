"""Digests of what was observed and of what is to change, over JSON in one canonical form."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal

from hcloud.model.holdings.change import ChangeSet, Observed, Slot
from hcloud.model.holdings.live import PROTECTED_TAG


def canonical(value: object) -> str:
    """JSON with sorted keys and no blanks, of values, mappings and sequences; money and moments are strings."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=_plain)


def _plain(value: object) -> object:
    """What is no JSON by itself as what is."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): v for k, v in value.items()}
    if isinstance(value, Decimal):
        return format(value.normalize(), "f")
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no canonical form")


def _sha256(value: object) -> str:
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def observed_digest(observed: Observed) -> str:
    """What a plan rests on: which machines stand and of what shape, what is remembered, which intents are open.

    That a machine has started meanwhile, or when it was looked at, makes no plan stale.
    """
    machines = [
        (m.id, m.instance_type, m.zone, m.option, m.lineage, m.key, m.address, PROTECTED_TAG in m.tags)
        for m in sorted(observed.machines, key=lambda m: m.id)
        if m.state.is_live
    ]
    records = [
        (r.id, r.address, r.key, r.ending, r.protected) for r in sorted(observed.state.records, key=lambda r: r.id)
    ]
    opened = [(i.number, i.deed, i.order.key if i.order else "", i.ids) for i in observed.open]
    strangers = sorted(m.id for m in observed.unclaimed)
    return _sha256((observed.scope, observed.state.lineage, observed.serial, machines, records, opened, strangers))


def change_digest(found: ChangeSet) -> str:
    """The digest of everything in a change set but the digest itself."""
    return _sha256(dataclasses.replace(found, digest=""))


def signed(found: ChangeSet) -> ChangeSet:
    """The change set with its digest."""
    return dataclasses.replace(found, digest=change_digest(found))


def place_digest(where: str) -> str:
    """Twelve hex digits that stand for the place of a state, so that a plan does not tell a path of somebody's."""
    return _sha256(where)[:12]


def wanted_digest(slots: Sequence[Slot]) -> str:
    """What should stand, in twelve hex digits: plans that want the same have the same."""
    return _sha256(tuple(slots))[:12]
