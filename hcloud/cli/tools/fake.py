"""``hcloud fake``: clouds to rehearse against."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from hcloud.cli.flags import CloudState, Configuration, Now
from hcloud.cli.groups import CloudFlags, Verb
from hcloud.cli.main import session
from hcloud.usecases.asked import moment, seconds_named

app = Verb("Fake clouds on this machine for rehearsals, with a ledger of their own and faults on demand.")


@app.command()
def up(
    ctx: typer.Context,
    clouds: Annotated[list[str] | None, typer.Argument(help="aws, gcp, azure (default: all).")] = None,
    port: Annotated[
        list[int] | None, typer.Option(min=0, max=65_535, help="Port of each, in order (default: any free one).")
    ] = None,
    faults: Annotated[Path | None, typer.Option(help="A fault plan (docs/guides/operate.md).")] = None,
    execute: Annotated[
        bool, typer.Option("--execute", help="Run start-up scripts here, with your rights (default: off).")
    ] = False,
) -> None:
    """Listen on 127.0.0.1 until Ctrl-C; prints the variables to export.

    hcloud works on one cloud at a time: of several the first is exported, and what to say for another is a comment.
    """
    from hcloud.model.clouds.known import CLOUDS
    from hcloud.usecases.tools import fake as usecase

    terminal = session(ctx).terminal
    names = clouds or list(CLOUDS)
    with usecase.up(names, port or [], faults, execute=execute) as found:
        for one in found:
            terminal.note(f"{one.cloud} at {one.url} (ledger: {one.url}/_hcloud/ledger)")
        for line in usecase.exports(found):
            terminal.say(line)
        if len(found) > 1:
            terminal.note(f"hcloud is sent to {found[0].cloud}; for another export the line of its comment")
        terminal.out.file.flush()
        while True:
            time.sleep(3600)


@app.command()
def wait(
    ctx: typer.Context,
    duration: Annotated[str, typer.Argument(help="How long: 12h, 30d, 4w.")],
    file: Configuration = None,
    cloud: Annotated[
        str, typer.Option("--cloud", help="fake, fake:aws, fake:gcp, fake:azure, fake:FAULTS.yaml.")
    ] = "fake",
    state: CloudState = None,
    now: Now = None,
) -> None:
    """Let time pass on --cloud fake: its machines keep running, so that reports have a period."""
    from hcloud.usecases.tools.fake import wait as pass_time

    seconds = seconds_named(duration, "DURATION")
    with CloudFlags(file, cloud, state).opened(moment(now)) as here:
        found = pass_time(here, seconds)
    before, after = (f"{at:%Y-%m-%d %H:%M:%S} UTC" for at in (found.before, found.after))
    session(ctx).terminal.say(f"{found.cloud}: {duration} later: {after} (was {before})")
