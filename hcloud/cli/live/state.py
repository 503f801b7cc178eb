"""``hcloud state``: list, show, pull, push and force-unlock."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from hcloud.cli.flags import AsJson, Configuration, Now, StatePlace
from hcloud.cli.main import session
from hcloud.cli.options import Output, moment
from hcloud.errors import InputError

LARGEST = 64 << 20

app = typer.Typer(
    help="The state: which machines belong to hcloud, and who holds the lock",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

OutputOption = Annotated[Output, typer.Option("--output", "-o", help="What to print.")]


@app.command("list")
def list_(
    ctx: typer.Context,
    state: StatePlace = None,
    file: Configuration = None,
    output: OutputOption = Output.TABLE,
    json_: AsJson = False,
    now: Now = None,
) -> None:
    """The machines of the state, one on each line."""
    from hcloud.usecases.live.state import look, state_place
    from hcloud.views.live import documents
    from hcloud.views.live import state as view

    terminal, at = session(ctx).terminal, moment(now)
    found = look(state_place(state, file))
    if json_ or output is Output.JSON:
        terminal.write_json(documents.RememberedDocument.of(found, at))
    else:
        view.show_list(found, terminal)


@app.command()
def show(
    ctx: typer.Context,
    machine: Annotated[str | None, typer.Argument(help="The id or address of a machine; else the whole.")] = None,
    state: StatePlace = None,
    file: Configuration = None,
    output: OutputOption = Output.TABLE,
    json_: AsJson = False,
    now: Now = None,
) -> None:
    """What the state is: lineage, serial, account and region, or everything about one machine."""
    from hcloud.usecases.live.state import look, look_at, state_place
    from hcloud.views.live import documents
    from hcloud.views.live import state as view

    terminal, at = session(ctx).terminal, moment(now)
    where = state_place(state, file)
    found = look(where) if machine is None else look_at(where, machine)
    if json_ or output is Output.JSON:
        terminal.write_json(documents.RememberedDocument.of(found, at))
    elif machine is not None and found.state is not None and len(found.state.records) > 1:
        view.show_list(found, terminal)
    else:
        view.show_state(found, terminal)


@app.command()
def pull(ctx: typer.Context, state: StatePlace = None, file: Configuration = None) -> None:
    """Print the state as it is stored (JSON), for a copy or to be put elsewhere with push."""
    from hcloud.usecases.live.state import pull as pulled
    from hcloud.usecases.live.state import state_place
    from hcloud.views.escaped import json_as_stored

    session(ctx).terminal.write(json_as_stored(pulled(state_place(state, file)).decode()))


@app.command()
def push(
    ctx: typer.Context,
    source: Annotated[str, typer.Argument(metavar="FILE", help="A state that was pulled; - reads it from stdin.")],
    force: Annotated[bool, typer.Option("--force", help="Also one of another lineage, or an older one.")] = False,
    state: StatePlace = None,
    file: Configuration = None,
    output: OutputOption = Output.TABLE,
    json_: AsJson = False,
    now: Now = None,
) -> None:
    """Store a state that was pulled; what it replaces is kept beside it."""
    from hcloud.usecases.live.state import push as pushed
    from hcloud.usecases.live.state import state_place
    from hcloud.views.live import documents
    from hcloud.views.live import state as view

    terminal, at = session(ctx).terminal, moment(now)
    found = pushed(state_place(state, file), _read(source), source, force=force)
    if json_ or output is Output.JSON:
        terminal.write_json(documents.RememberedDocument.of(found, at))
    else:
        view.show_state(found, terminal)


@app.command("force-unlock")
def force_unlock(
    ctx: typer.Context,
    lock: Annotated[str, typer.Argument(metavar="ID", help="The lock's id, from the error message.")],
    state: StatePlace = None,
    file: Configuration = None,
    output: OutputOption = Output.TABLE,
    json_: AsJson = False,
    now: Now = None,
) -> None:
    """Take the lock away from a holder that cannot be alive any more; it is refused whatever it does from then on."""
    from hcloud.usecases.live.state import state_place, unlock
    from hcloud.views.live import documents

    terminal, at = session(ctx).terminal, moment(now)
    where = state_place(state, file)
    info = unlock(where, lock)
    if json_ or output is Output.JSON:
        terminal.write_json(documents.UnlockedDocument.of({"where": where, "unlocked": info}, at))
    else:
        terminal.say(f"unlocked {where}, which was held: {info}")


def _read(source: str) -> bytes:
    """The bytes of a file or of stdin; InputError where they cannot be had."""
    try:
        if source == "-":
            return sys.stdin.buffer.read(LARGEST + 1)
        path = Path(source)
        if not path.is_file():
            raise InputError(f"{path}: no such file", hint="hcloud state pull > FILE writes one")
        with path.open("rb") as file:
            return file.read(LARGEST + 1)
    except OSError as error:
        raise InputError(f"{source}: cannot be read: {error.strerror or error}") from None
