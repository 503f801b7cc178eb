"""``hcloud diff``: what changes from one plan to the next, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hcloud.cli.groups import PagePrinted, Verb
from hcloud.cli.main import session

CHANGES = 2

app = Verb()


@app.command()
def diff(
    ctx: typer.Context,
    *,
    base: Annotated[Path, typer.Argument(help="The earlier plan file; - if there is none yet.")],
    head: Annotated[Path, typer.Argument(help="The new plan file.")],
    shown: PagePrinted,
    name: Annotated[
        str, typer.Option(help="Name in the Markdown marker, so that a comment can be updated in place.")
    ] = "plan",
    base_missing_ok: Annotated[
        bool, typer.Option("--base-missing-ok", help="Treat a missing file as no plan.")
    ] = False,
    detailed_exitcode: Annotated[bool, typer.Option("--detailed-exitcode", help="Exit 2 if they differ.")] = False,
) -> None:
    """Compare two plans: dollars, purchases, prices, demand, quality, settings.

    With -o md it prints a comment for a pull request.
    """
    from hcloud.store.diff_codec import difference_document, difference_schema
    from hcloud.usecases.deciding.diff import compare
    from hcloud.views.deciding.diff import difference_page, show_difference
    from hcloud.views.deciding.diff_markdown import markdown_difference, marker
    from hcloud.views.document import stored_content
    from hcloud.views.page.render import render

    terminal = session(ctx).terminal
    if shown.form == "md":
        marker(name)  # a name that cannot be is said before files are read
    found = compare(base, head, base_may_be_missing=base_missing_ok)
    shown.tell(
        terminal,
        lambda: stored_content(difference_document(found, shown.at), difference_schema, ("parts",)),
        lambda: show_difference(found, terminal),
        md=lambda: markdown_difference(found, name),
        html=lambda: render(difference_page(found)),
    )
    if detailed_exitcode and not found.is_empty:
        raise typer.Exit(CHANGES)
