"""What the fake cloud of ``hcloud demo`` knows of it all: its machines, its purchases, and a bill of its own."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from hcloud.errors import HcloudError
from hcloud.model.catalog import PurchaseOption
from hcloud.model.json_text import parsed
from hcloud.model.rehearsal import DemoTotals
from hcloud.units import cents
from hcloud.usecases.tools.demo_files import CLOUD

LEDGER = Path(".hcloud") / "fake-aws.json"


class DemoError(HcloudError):
    """A step did not do what it should; carries what it said."""

    def lines(self) -> list[str]:
        """What it should have done, then its screen."""
        return str(self).split("\n")


def facts_of(folder: Path, changes: Mapping[str, Any], report: Mapping[str, Any]) -> DemoTotals:
    """What the ledger of a walk says; DemoError where it does not fit what was planned and reported."""
    ledger = parsed((folder / LEDGER).read_text(encoding="utf-8"))
    machines = ledger["machines"]
    found = DemoTotals(
        wanted=sum(int(slot["count"]) for slot in changes["slots"]),
        launched=len(machines),
        standing=sum(machine["ended_at"] is None for machine in machines),
        bought=len(ledger["purchases"]),
        changes=sum(bool(request["mutating"]) for request in ledger["requests"]),
        reported=cents(Decimal(report["costs"]["billed"])),
        billed=cents(_bill(folder / LEDGER, report["period"])),
    )
    if found.launched != found.wanted or found.standing:
        raise DemoError(
            f"the ledger of the fake cloud has {found.launched} machines, {found.standing} of them standing; the plan "
            f"wanted {found.wanted} and all were ended",
            hint="this is a bug in hcloud",
        )
    if found.reported != found.billed:
        raise DemoError(f"${found.reported} were reported, and the fake cloud's own bill says ${found.billed}")
    return found


def first_day(folder: Path) -> str:
    """The day of the first machine, by the fake's clock."""
    machines = parsed((folder / LEDGER).read_text(encoding="utf-8"))["machines"]
    made = min((float(machine["made_at"]) for machine in machines), default=0.0)
    return datetime.fromtimestamp(made, UTC).date().isoformat()


def _bill(path: Path, period: Mapping[str, str]) -> Decimal:
    """The fake's own bill of a period, made without anything that the report is made with."""
    from hcloud.fake.bill import bill
    from hcloud.fake.in_memory.file import go_on_from
    from hcloud.fake.tariffs import MemoryTariff
    from hcloud.readers.prices.shipped.bundled import load_bundled
    from hcloud.usecases.live.connect import CloudSettings, in_memory

    book = load_bundled(providers={CLOUD.name}, regions={CLOUD.home_region}, systems={"linux"})
    hourly = {o.key.instance_type: o.hourly for o in book.select(CLOUD.name, PurchaseOption.ON_DEMAND)}
    world = in_memory(CloudSettings(CLOUD.name, CLOUD.home_region, hourly=hourly)).world
    go_on_from(world, path)
    start, end = (int(datetime.fromisoformat(period[name]).timestamp()) for name in ("start", "end"))
    return bill(world.ledger, MemoryTariff(world), start, end).total
