"""``hcloud page``: a plan as one file of HTML, and its pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hcloud.cli.groups import Verb
from hcloud.cli.main import session
from hcloud.errors import UsageError

if TYPE_CHECKING:
    from hcloud.model.holdings.change import ChangeSet
    from hcloud.model.plans.plan import Plan
    from hcloud.views.escaped import Written

app = Verb()


@app.command()
def page(
    ctx: typer.Context,
    plan: Annotated[Path, typer.Argument(help="A plan file written with 'hcloud plan --out'.")],
    out: Annotated[Path | None, typer.Option(help="Write the page to FILE.html instead of printing it.")] = None,
    pictures: Annotated[Path | None, typer.Option(help="Also draw its pictures into this folder.")] = None,
    picture_format: Annotated[str, typer.Option(help="Picture format: png or svg.")] = "png",
) -> None:
    """A plan as one page of HTML that loads nothing: to read, print and send.

    It shows the decision with its dollars, demand against the reserve, what other strategies would cost and do, what
    happens if demand falls, what would change, why nothing else was taken, and what all of it rests on.
    """
    from hcloud.store.files.whole import write_shown
    from hcloud.store.plan_file import load_made
    from hcloud.views.pictures import check_folder, check_page

    terminal = session(ctx).terminal
    if out is None and pictures is None and terminal.out.file.isatty():
        raise UsageError("a page is HTML, which a terminal does not show", hint="--out FILE.html, or send it to a pipe")
    if out is not None:
        check_page(out)
    if pictures is not None:
        check_folder(pictures, picture_format)
    made = load_made(plan)
    if pictures is not None:
        from hcloud.model.plans.plan import Plan as WholePlan
        from hcloud.views.deciding.plan_page import pictures as drawn_of
        from hcloud.views.pictures import save_drawn

        if not isinstance(made, WholePlan):
            raise UsageError(f"{plan} contains changes of a fleet, which have no pictures")
        pictures.mkdir(exist_ok=True)
        for name, drawn in drawn_of(made).items():
            save_drawn(drawn, pictures / f"{name}.{picture_format}", f"{made.workload.name}: {drawn.title}")
        terminal.note(f"pictures drawn to {pictures}")
    if out is not None:
        write_shown(out, html_of(made))
        terminal.note(f"page written to {out}")
    elif pictures is None:
        terminal.write(html_of(made))


def html_of(made: Plan | ChangeSet) -> Written:
    """The page of a plan, or of changes alone, as text."""
    from hcloud.model.holdings.change import ChangeSet
    from hcloud.views.deciding.plan_page import plan_page
    from hcloud.views.live.change import changes_page
    from hcloud.views.page.render import render

    return render(changes_page(made) if isinstance(made, ChangeSet) else plan_page(made))
