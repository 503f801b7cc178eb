"""Which tariff a fake bills by, and its bill as JSON for whoever wants to compare."""

from __future__ import annotations

from importlib import import_module
from typing import Any, cast

from hcloud.fake.bill import FakeTariff, bill
from hcloud.fake.in_memory.bill import MemoryTariff
from hcloud.fake.in_memory.memory import MemoryCloud
from hcloud.model.clouds.known import CLOUDS


def tariff_of(cloud: Any) -> FakeTariff:
    """What a fake asks: that of the cloud in memory, or of one that listens."""
    if isinstance(cloud, MemoryCloud):
        return MemoryTariff(cloud.world)
    module = import_module(f"hcloud.fake.{cloud.name}.bill")
    return cast("FakeTariff", getattr(module, f"{CLOUDS[cloud.name].classes}Tariff")(cloud))


def bill_document(cloud: Any, start: int, end: int) -> dict[str, object]:
    """The bill of a span in seconds since 1970, by machine (or purchase) and day, sorted."""
    found = bill(cloud.ledger, tariff_of(cloud), start, end)
    lines = [
        {"resource": resource, "day": day, "dollars": str(dollars)}
        for (resource, day), dollars in sorted(found.lines.items())
        if dollars
    ]
    return {"cloud": cloud.name, "from": start, "to": end, "total": str(found.total), "lines": lines}
