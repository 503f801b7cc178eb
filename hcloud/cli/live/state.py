"""``hcloud state``: list, show, pull, push and force-unlock."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from hcloud.cli.groups import Printed, StateFlags, ToldAt, Verb
from hcloud.cli.main import session
from hcloud.errors import InputError

LARGEST = 64 << 20

app = Verb("The state: the machines that hcloud owns, and its lock")


@app.command("list")
def list_(
    ctx: typer.Context,
    which: StateFlags,
    shown: Printed,
) -> None:
    """The machines of the state, one on each line."""
    from hcloud.usecases.live.state import look
    from hcloud.views.live import state as view
    from hcloud.views.live.documents import RememberedDocument

    shown.tell_result(session(ctx).terminal, look(which.place), RememberedDocument.of, view.show_list)


@app.command()
def show(
    ctx: typer.Context,
    *,
    machine: Annotated[
        str | None, typer.Argument(help="The id or address of a machine (default: the whole state).")
    ] = None,
    which: StateFlags,
    shown: Printed,
) -> None:
    """The state's lineage, serial, account and region, or all about one machine."""
    from hcloud.usecases.live.state import look, look_at
    from hcloud.views.live import state as view
    from hcloud.views.live.documents import RememberedDocument

    found = look(which.place) if machine is None else look_at(which.place, machine)
    several = machine is not None and found.state is not None and len(found.state.records) > 1
    screen = view.show_list if several else view.show_state
    shown.tell_result(session(ctx).terminal, found, RememberedDocument.of, screen)


@app.command()
def pull(ctx: typer.Context, which: StateFlags) -> None:
    """Print the stored state (JSON), for a backup or for 'push'."""
    from hcloud.usecases.live.state import pull as pulled
    from hcloud.views.escaped import json_as_stored

    session(ctx).terminal.write(json_as_stored(pulled(which.place).decode()))


@app.command()
def push(
    ctx: typer.Context,
    *,
    source: Annotated[str, typer.Argument(metavar="FILE", help="A state that was pulled; - reads it from stdin.")],
    force: Annotated[bool, typer.Option("--force", help="Also if its lineage differs or it is older.")] = False,
    which: StateFlags,
    shown: ToldAt,
) -> None:
    """Store a state that was pulled; keeps a copy of the one it replaces."""
    from hcloud.usecases.live.state import push as pushed
    from hcloud.views.live import state as view
    from hcloud.views.live.documents import RememberedDocument

    found = pushed(which.place, _read(source), source, force=force)
    shown.tell_result(session(ctx).terminal, found, RememberedDocument.of, view.show_state)


@app.command("force-unlock")
def force_unlock(
    ctx: typer.Context,
    *,
    lock: Annotated[str, typer.Argument(metavar="ID", help="The lock's id, from the error message.")],
    which: StateFlags,
    shown: ToldAt,
) -> None:
    """Remove the lock of a process that no longer runs; if it does run, its writes are refused."""
    from hcloud.usecases.live.state import unlock
    from hcloud.views.live.documents import UnlockedDocument

    terminal = session(ctx).terminal
    where = which.place
    info = unlock(where, lock)
    shown.tell(
        terminal,
        lambda: UnlockedDocument.of({"where": where, "unlocked": info}, shown.at),
        lambda: terminal.say(f"unlocked {where}, which was held: {info}"),
    )


def _read(source: str) -> bytes:
    """The bytes of a file or of stdin; InputError where they cannot be had."""
    from hcloud.model.files import no_such_file
    from hcloud.store.files.looked_at import kind_at

    try:
        if source == "-":
            return sys.stdin.buffer.read(LARGEST + 1)
        path = Path(source)
        if not path.is_file():
            raise no_such_file(source, "a state", (kind_at(path), []), "hcloud state pull > FILE writes one")
        with path.open("rb") as file:
            return file.read(LARGEST + 1)
    except OSError as error:
        raise InputError(f"{source}: cannot be read: {error.strerror or error}") from None
