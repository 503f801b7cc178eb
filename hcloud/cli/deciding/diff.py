"""``hcloud diff``: what changes from one plan to the next, and why."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from hcloud.cli.flags import AsJson, Now
from hcloud.cli.main import session
from hcloud.usecases.asked import moment

CHANGES = 2

app = typer.Typer(pretty_exceptions_enable=False)


class DiffFormat(StrEnum):
    """How a difference is printed."""

    TABLE = "table"
    JSON = "json"
    MD = "md"
    HTML = "html"
    CSV = "csv"


@app.command()
def diff(
    ctx: typer.Context,
    base: Annotated[Path, typer.Argument(help="The earlier plan file; - if there is none yet.")],
    head: Annotated[Path, typer.Argument(help="The new plan file.")],
    output: Annotated[DiffFormat, typer.Option("--output", "-o", help="What to print.")] = DiffFormat.TABLE,
    json_: AsJson = False,
    name: Annotated[
        str, typer.Option(help="Name in the Markdown marker, so that a comment can be updated in place.")
    ] = "plan",
    base_missing_ok: Annotated[
        bool, typer.Option("--base-missing-ok", help="Treat a missing file as no plan.")
    ] = False,
    now: Now = None,
    detailed_exitcode: Annotated[bool, typer.Option("--detailed-exitcode", help="Exit 2 if they differ.")] = False,
) -> None:
    """Compare two plans: dollars, purchases, prices, demand, quality, settings.

    With -o md it prints a comment for a pull request.
    """
    from hcloud.usecases.deciding.diff import compare

    terminal, at = session(ctx).terminal, moment(now)
    wanted = DiffFormat.JSON if json_ else output
    if wanted is DiffFormat.MD:
        from hcloud.views.deciding.diff_markdown import marker

        marker(name)  # a name that cannot be is said before files are read
    found = compare(base, head, base_may_be_missing=base_missing_ok)
    if wanted is DiffFormat.JSON:
        from hcloud.store.diff_codec import difference_document

        terminal.write_json(difference_document(found, at))
    elif wanted is DiffFormat.CSV:
        from hcloud.store.diff_codec import difference_document, difference_schema
        from hcloud.views.document import stored_content
        from hcloud.views.rows import csv_of

        terminal.write(csv_of(stored_content(difference_document(found, at), difference_schema, ("parts",))))
    elif wanted is DiffFormat.MD:
        from hcloud.views.deciding.diff_markdown import markdown_difference

        terminal.write(markdown_difference(found, name))
    elif wanted is DiffFormat.HTML:
        from hcloud.views.deciding.diff import difference_page
        from hcloud.views.page.render import render

        terminal.write(render(difference_page(found)))
    else:
        from hcloud.views.deciding.diff import show_difference

        show_difference(found, terminal)
    if detailed_exitcode and not found.is_empty:
        raise typer.Exit(CHANGES)
