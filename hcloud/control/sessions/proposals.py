"""What an agent proposes for a job from its copy of the controller, and what the controller makes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from hcloud.control.sessions.instances import Instance, InstanceBook
from hcloud.control.state import OWN
from hcloud.control.tables import ControlTables
from hcloud.model.running.event import Arrival, Known
from hcloud.policy.records import column


def proposal(
    tables: ControlTables,
    book: InstanceBook,
    propose: Callable[[int], None],
    arrival: tuple[Arrival, Known],
) -> tuple[int, ...]:
    """Instances for a job with what is known of it, the best first, each once; of a piece those for all pieces of its
    job. The tables are afterwards as before: the job has not come yet."""
    event, known = arrival
    row = tables.add(event, known)
    tables.control.desk.pieces = event.pieces
    propose(row)
    tables.control.desk.pieces = 0
    count = int(tables.control.desk.found)
    taken, servers = (column(tables.control.candidates, name)[:count] for name in ("taken", "server"))
    ranked = [slot for rank, slot in sorted(zip(taken.tolist(), servers.tolist(), strict=True)) if rank > 0]
    tables.forget(row)
    return tuple(book.number(slot) for slot in dict.fromkeys(ranked))


def put_forward(tables: ControlTables, instances: Mapping[int, Instance], ranked: Iterable[int]) -> None:
    """Have the next search look at these instances first; those that are gone by now, or not reserved, are left out."""
    known = (instances.get(number) for number in ranked)
    slots = [i.slot for i in known if i is not None and i.paid == OWN][: len(tables.control.candidates)]
    column(tables.control.candidates, "server")[: len(slots)] = np.array(slots, np.int64)
    tables.control.desk.proposed = len(slots)
