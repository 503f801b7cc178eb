"""``hcloud profile run --cloud``: what it may cost, a yes where that was not said, and one way to end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hcloud.cli.acting import confirm, stopping
from hcloud.cli.flags import WhichCloud
from hcloud.cli.groups import CloudFlags
from hcloud.cli.main import CliSession
from hcloud.errors import UsageError

if TYPE_CHECKING:
    from hcloud.model.measured.app import App
    from hcloud.usecases.measuring.profile_run import ProbeRequest, ProfileRun


@dataclass(frozen=True)
class MeasuringFlags:
    """On a machine of which cloud to measure, and for how many dollars."""

    cloud: WhichCloud = None
    instance_type: Annotated[
        str | None, typer.Option(help="With --cloud: the instance type (default: a small one).")
    ] = None
    max_dollars: Annotated[float | None, typer.Option(help="With --cloud: maximum dollars (1); also confirms.")] = None
    config: Annotated[Path | None, typer.Option("--config", "-c", help="With --cloud: the configuration.")] = None
    yes: Annotated[bool, typer.Option("--yes", "-y", help="With --cloud: do not ask.")] = False


def measure_on_cloud(
    session: CliSession, flags: MeasuringFlags, wanted: Iterable[tuple[App, Path]], probing: ProbeRequest
) -> Iterator[ProfileRun]:
    """Measure one after the other, each on a machine of its own."""
    from hcloud.usecases.live.profile_cloud import MAX_DOLLARS, Errand, end_left, fare_of, profile_on_cloud

    if flags.max_dollars is not None and not 0 < flags.max_dollars < float("inf"):
        raise UsageError("--max-dollars has to be a number above 0")
    most = MAX_DOLLARS if flags.max_dollars is None else Decimal(str(flags.max_dollars))
    terminal, cloud = session.terminal, flags.cloud or ""
    for app, target in wanted:
        errand = Errand(app, probing, target, flags.instance_type, most)
        with CloudFlags(flags.config, cloud).opened(datetime.now(UTC), terminal) as here:
            fare = fare_of(here, errand)
            what = f"1 x {fare.instance_type} on {cloud} at ${fare.hourly}/h, ${fare.most:.4f} at most"
            if here.is_local or cloud.startswith("fake") or flags.max_dollars is not None:
                terminal.note(what)
            else:
                confirm(session, f"launch {what}, and end it?", yes=flags.yes)
            with stopping(terminal) as stop, terminal.progress(f"measuring {app.name} there", 1.0) as advance:
                for told in end_left(here, stop):
                    terminal.note(told)
                outcome = profile_on_cloud(here, errand, advance, stop)
        yield outcome
