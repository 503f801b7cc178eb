"""A cloud in memory that outlasts a process: one file with all that happened, so that a rehearsal can go on."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from hcloud.errors import InputError
from hcloud.fake.ledger import Purchase, Rented, Request
from hcloud.fake.memory_world import Remembered, World
from hcloud.model.live import CommitmentOrder

FORMAT_VERSION = "1.0"


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept of a world; ``now`` is its time when it was written, in seconds since 1970."""

    format_version: str
    cloud: str
    region: str
    now: float
    machines: tuple[Rented, ...]
    purchases: tuple[Purchase, ...]
    requests: tuple[Request, ...]
    orders: tuple[Remembered, ...]


@cache
def _adapter() -> TypeAdapter[Kept]:
    return TypeAdapter(Kept)


def keep(ground: World, path: Path) -> None:
    """Write a world; a rehearsal is not worth an fsync."""
    ledger, there = ground.ledger, ground.semantics
    with ledger.held():
        kept = Kept(
            FORMAT_VERSION,
            there.cloud,
            there.region,
            ground.clock.now(),
            tuple(m for _, m in sorted(ledger.machines.items())),
            tuple(p for _, p in sorted(ledger.purchases.items())),
            tuple(ledger.requests),
            tuple(o for _, o in sorted(ground.orders.items())),
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_bytes(_adapter().dump_json(kept, indent=1))
    fresh.replace(path)


def go_on_from(ground: World, path: Path) -> None:
    """Put what was kept into a new world of the same cloud; InputError for a file that is none, or of another cloud."""
    if not path.is_file():
        return
    try:
        kept = _adapter().validate_json(path.read_bytes())
    except (ValidationError, json.JSONDecodeError, OSError) as error:
        raise InputError(f"{path}: is no rehearsal that can be gone on with", hint="remove it") from error
    there = ground.semantics
    if (kept.format_version, kept.cloud, kept.region) != (FORMAT_VERSION, there.cloud, there.region):
        raise InputError(
            f"{path}: is a rehearsal on {kept.cloud} {kept.region}, not on {there.cloud} {there.region}",
            hint="remove it, or rehearse there",
        )
    ground.ledger.machines.update({m.id: m for m in kept.machines})
    ground.ledger.purchases.update({p.id: _with_order(p) for p in kept.purchases})
    ground.ledger.requests.extend(kept.requests)
    ground.orders.update({o.order.key: o for o in kept.orders})
    for _ in range(len(kept.machines) + len(kept.purchases)):
        ground.ledger.next_number()
    ground.clock.advance(max(kept.now - ground.clock.now(), 0.0))


def _with_order(purchase: Purchase) -> Purchase:
    """A purchase with its order as a value again; details are kept as plain JSON."""
    order = TypeAdapter(CommitmentOrder).validate_python(purchase.detail.get("order"))
    return replace(purchase, detail={**purchase.detail, "order": order})
