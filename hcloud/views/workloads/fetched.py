"""What was fetched of machines: where, how much, what the file holds, and what nobody tells."""

from __future__ import annotations

from datetime import UTC, datetime

from hcloud.model.fetched import Fetched
from hcloud.units import counted, format_duration
from hcloud.views.console import Terminal, plain_of
from hcloud.views.tables import Figures


def show_fetched(found: Fetched, terminal: Terminal) -> None:
    """The figures, then warnings, then how to go on."""
    terminal.show(plain_of(Figures(("figure", "value"), _figures(found)), ("value",)))
    for region, why in found.refused:
        terminal.warn(f"{region} is left out: {why}")
    for said in found.unknown:
        terminal.warn(said)
    terminal.note(f"plan the vCPUs that ran, as they are billed: hcloud plan {found.out}")
    terminal.note(
        f"plan the vCPUs in use: hcloud plan {found.out} --set fetched_demand=used; machines have to be made "
        "smaller or fewer before a commitment of that size covers them"
    )


def _figures(found: Fetched) -> list[tuple[str, str]]:
    rows, window = found.rows, found.window
    start, end = (datetime.fromtimestamp(t, UTC) for t in (window.start, window.end))
    hours = max((window.end - window.start) / 3600, 1)
    told = [
        ("file", str(found.out)),
        ("regions", ", ".join(found.regions)),
        ("from, to", f"{start:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} UTC"),
        ("samples", f"{format_duration(window.seconds)} each, written by the hour"),
        ("machines measured", counted(rows.machines, "machine")),
        ("vCPUs that ran", f"{rows.cores / hours:,.1f} mean"),
    ]
    if rows.measured:
        share = rows.used / rows.measured
        told.append(("vCPUs in use", f"{rows.used / hours:,.1f} mean, {share:.1%} of those measured"))
    if rows.billed_hours:
        told.append(("billed, not measured", f"{rows.billed_hours:,.1f} machine hours, spread evenly over their time"))
    told += [("billed", f"{amount:,.2f} {currency}") for currency, amount in sorted(rows.spend.items())]
    return told
