"""A cloud in memory that outlasts a process: one file with all that happened, so that a rehearsal can go on."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from pydantic import ValidationError

from hcloud.errors import FileError, InputError, Problem, writing
from hcloud.fake.in_memory.world import MemoryWorld, RememberedOrder
from hcloud.fake.ledger import BoughtCommitment, RecordedRequest, Rented
from hcloud.model.catalog import PurchaseOption
from hcloud.model.checked import form_of, problems_of
from hcloud.model.holdings.live import CommitmentOrder
from hcloud.whole_files import whole_file

FORMAT_VERSION = "1.0"
MOST_PROBLEMS = 5  # ours: that are told
HINT = "remove it to begin a new rehearsal (and the state beside it), or put a copy back"


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept of a world; ``now`` is its time when it was written and ``started`` when its faults began to count,
    in seconds since 1970."""

    format_version: str
    cloud: str
    region: str
    now: float
    machines: tuple[Rented, ...]
    purchases: tuple[BoughtCommitment, ...]
    requests: tuple[RecordedRequest, ...]
    orders: tuple[RememberedOrder, ...]
    started: float | None = None


def keep(ground: MemoryWorld, path: Path) -> None:
    """Write a world, whole or not at all; a rehearsal is not worth an fsync. FileError where it cannot be written."""
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
            ground.faults.started,
        )
        with writing(path):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with whole_file(path, lasts=False) as file:
                file.write(form_of(Kept).dump_json(kept, indent=1))


def keep_always(ground: MemoryWorld, path: Path) -> None:
    """From now on write the world whenever something was changed in it, before that is answered: a process that is
    killed leaves a cloud that has what it was asked for."""
    ground.keep = partial(keep, ground, path)


def go_on_from(ground: MemoryWorld, path: Path) -> None:
    """Put what was kept into a new world of the same cloud; InputError for a file that is none, or of another cloud."""
    if not path.exists():
        return
    try:
        kept = form_of(Kept).validate_json(path.read_bytes())
    except OSError as error:
        raise FileError.of(error, path, "read") from None
    except ValidationError as error:
        problems = problems_of(error, str(path))[:MOST_PROBLEMS]
        raise InputError(f"{path}: is no rehearsal that can be gone on with", problems, hint=HINT) from None
    there = ground.semantics
    if (kept.format_version, kept.cloud, kept.region) != (FORMAT_VERSION, there.cloud, there.region):
        raise InputError(
            f"{path}: is a rehearsal on {kept.cloud} {kept.region}, not on {there.cloud} {there.region}",
            hint="remove it, or rehearse there",
        )
    purchases = tuple(_purchases(kept, path))
    _check(kept, path)
    ground.ledger.machines.update({m.id: m for m in kept.machines})
    ground.ledger.purchases.update({p.id: p for p in purchases})
    ground.ledger.requests.extend(kept.requests)
    ground.orders.update({o.order.key: o for o in kept.orders})
    for _ in range(len(kept.machines) + len(kept.purchases)):
        ground.ledger.next_number()
    ground.clock.advance(max(kept.now - ground.clock.now(), 0.0))
    if kept.started is not None:
        ground.faults.started = kept.started


def rehearsed_at(path: Path) -> float:
    """The time of a world when it was kept last; 0 where none can be read."""
    try:
        found = json.loads(path.read_bytes()).get("now", 0.0)
    except (OSError, ValueError, AttributeError):
        return 0.0
    return float(found) if isinstance(found, int | float) else 0.0


def _check(kept: Kept, path: Path) -> None:
    """InputError for what no rehearsal writes: times that are none, orders of machines that there are not."""
    known = {m.id for m in kept.machines}
    problems = [
        Problem(str(path), f"orders.{number}.ids", repr(identity)[:60], "a machine of this file")
        for number, order in enumerate(kept.orders)
        for identity in order.ids
        if identity not in known
    ]
    for number, machine in enumerate(kept.machines):
        times = (machine.made_at, machine.visible_at, machine.tagged_at, machine.asked_to_end, machine.ended_at)
        if not all(at is None or math.isfinite(at) for at in times):
            problems.append(Problem(str(path), f"machines.{number}", repr(machine.id)[:60], "times that are numbers"))
    if not math.isfinite(kept.now) or not math.isfinite(kept.started or 0.0):
        problems.append(Problem(str(path), "now", repr(kept.now), "seconds since 1970"))
    if problems:
        raise InputError(f"{path}: is no rehearsal that can be gone on with", problems, hint=HINT)


def _purchases(kept: Kept, path: Path) -> Iterator[BoughtCommitment]:
    """Purchases with their orders as values again; details are kept as plain JSON."""
    for number, purchase in enumerate(kept.purchases):
        try:
            PurchaseOption(purchase.option)
            order = form_of(CommitmentOrder).validate_python(purchase.detail.get("order"))
        except ValidationError as error:
            problems = problems_of(error, str(path), ("purchases", number, "detail", "order"))[:MOST_PROBLEMS]
        except ValueError:
            problems = [
                Problem(str(path), f"purchases.{number}.option", repr(purchase.option)[:60], "a kind of commitment")
            ]
        else:
            yield replace(purchase, detail={**purchase.detail, "order": order})
            continue
        raise InputError(f"{path}: is no rehearsal that can be gone on with", problems, hint=HINT)
