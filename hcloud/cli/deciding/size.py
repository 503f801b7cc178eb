"""``hcloud size``: from a target to servers and what they cost."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hcloud.cli.flags import Configuration, Corpus, Families, OneMarket, OneRegion
from hcloud.cli.groups import MarkdownPrinted, Verb
from hcloud.cli.main import session
from hcloud.usecases.asked import provider_named

UNREACHED = 8

app = Verb()


@app.command()
def size(
    ctx: typer.Context,
    *,
    app_file: Annotated[Path, typer.Argument(metavar="APP", help="app.yaml with name and target.")],
    free: Annotated[
        Path | None, typer.Option(help="CSV of existing servers: server, type, vcpus, memory_gib, free_vcpus ...")
    ] = None,
    provider: OneMarket = None,
    region: OneRegion = None,
    family: Families = None,
    profiles: Annotated[
        Path | None, typer.Option(help="Folder of profiles (default: next to app.yaml, then the bundled ones).")
    ] = None,
    corpus: Corpus = "bundled",
    observed: Annotated[
        list[str] | None, typer.Option(help="A newer measurement, ASPECT.COLUMN=NUMBER; replaces the profile's.")
    ] = None,
    file: Configuration = None,
    shown: MarkdownPrinted,
) -> None:
    """Which servers meet a target (requests within a tail, work by a deadline, a rate), and what they cost an hour.

    Exit 9: a measurement is missing (it is named). Exit 8: no available type reaches the target.
    """
    from hcloud.readers.configuration.config import load_config
    from hcloud.usecases.deciding.size import SizeRequest, size_app
    from hcloud.usecases.measuring.classify import parse_observed
    from hcloud.usecases.workloads.sources import Flags, with_flags
    from hcloud.views.deciding.documents import SizeDocument
    from hcloud.views.deciding.size import size_sections

    terminal, at = session(ctx).terminal, shown.at
    request = SizeRequest(app_file, profiles, corpus, tuple(map(parse_observed, observed or ())), free)
    flags = Flags(
        providers=(provider_named(provider),) if provider else (),
        regions=(region,) if region else (),
        families=tuple(family or ()),
    )
    with terminal.busy("sizing"):
        found = size_app(request, with_flags(load_config(file), flags), at)
    shown.tell_sections(terminal, found, SizeDocument.of, size_sections)
    if found.sized is not None and not found.sized.cheapest.met:
        raise typer.Exit(UNREACHED)
