"""The remembered state on a terminal and as documents."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC

from rich.text import Text

from hcloud.model.holdings.state import OwnedMachine, RememberedState, State
from hcloud.model.json_text import stamp
from hcloud.units import counted
from hcloud.views.console import Terminal
from hcloud.views.tables import Figures

NOTHING = "-"


def show_list(found: RememberedState, terminal: Terminal) -> None:
    """A line for each machine, by address."""
    state = found.state
    if state is None:
        terminal.note(f"{found.where}: the state is empty")
        return
    rows = [_row(r) for r in sorted(state.records, key=lambda r: (r.address, r.id))]
    if rows:
        names = ("address", "id", "type", "zone", "option", "intended (UTC)", "")
        terminal.show(Figures(names, rows))
    terminal.note(f"{found.where}: {counted(len(rows), 'machine')}, serial {state.serial}")
    _warn(found, terminal)


def show_state(found: RememberedState, terminal: Terminal) -> None:
    """What the state is, and every figure of the records it was asked for."""
    state = found.state
    if state is None:
        terminal.note(f"{found.where}: the state is empty")
        return
    grid: list[tuple[str, str]] = list(_lines(found.where, state))
    if len(state.records) == 1:
        grid += _record_lines(state.records[0])
    width = max(len(name) for name, _ in grid)
    terminal.show(*(Text(f"{name:<{width}}  {value}") for name, value in grid))
    _warn(found, terminal)


def _row(record: OwnedMachine) -> tuple[str, ...]:
    states = {"ending": record.ending, "protected": record.protected, "missed": record.missed_since is not None}
    marks = [word for word, on in states.items() if on]
    intended = f"{record.intended.astimezone(UTC):%Y-%m-%d %H:%M}"
    return (
        record.address or NOTHING,
        record.id,
        record.instance_type,
        record.zone or NOTHING,
        record.option.value,
        intended,
        ", ".join(marks),
    )


def _lines(where: str, state: State) -> Iterator[tuple[str, str]]:
    yield "where", where
    yield "lineage", state.lineage
    yield "serial", str(state.serial)
    yield "generation", str(state.generation)
    yield "project", state.project or NOTHING
    yield "cloud", str(state.scope) if state.scope else "none yet"
    if len(state.records) != 1:
        yield "machines", str(len(state.records))


def _record_lines(record: OwnedMachine) -> Iterator[tuple[str, str]]:
    yield "machine", record.id
    yield "address", record.address or NOTHING
    yield "key", record.key or NOTHING
    yield "type", record.instance_type
    yield "zone", record.zone or NOTHING
    yield "option", record.option.value
    yield "of generation", str(record.generation)
    yield "intended", stamp(record.intended)
    yield "ending", "yes" if record.ending else "no"
    yield "protected", "yes" if record.protected else "no"
    yield "missed since", stamp(record.missed_since) if record.missed_since else NOTHING


def _warn(found: RememberedState, terminal: Terminal) -> None:
    if found.holder is not None:
        terminal.warn(f"locked: {found.holder} (id {found.holder.id})")
    if found.open_intents:
        count = counted(len(found.open_intents), "intent")
        terminal.warn(f"{count} without a known outcome; the next hcloud apply looks at the cloud first")
