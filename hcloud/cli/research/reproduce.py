"""``hcloud reproduce``: the published studies, run again with the frozen model, as a page with pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hcloud.cli.groups import Verb
from hcloud.cli.main import session
from hcloud.cli.options import tell_first_use
from hcloud.errors import InputError, UsageError
from hcloud.units import counted
from hcloud.usecases.interruptible import interruptible

PAGE = "reproduction.md"
DOCS = Path("docs/research")

app = Verb()


@app.command()
def reproduce(
    ctx: typer.Context,
    system: Annotated[str, typer.Argument(help="The study: hcloud.")],
    out: Annotated[Path, typer.Option(help="The folder of the page (reproduction.md) and its pictures.")] = DOCS,
    seeds: Annotated[int | None, typer.Option(min=2, max=100, help="Seeds 1 to N; 7, or those of the page.")] = None,
    study: Annotated[list[str] | None, typer.Option(help="With --check: only this study; may be repeated.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; fail if the page differs.")] = False,
) -> None:
    """Reproduce the published studies with the frozen model; shows what holds and what does not.

    --check makes the studies anew and compares: word by word with the seeds that the page states, with other seeds
    its studies and claims.
    """
    from hcloud.research import page as view
    from hcloud.research.reproduce import SEEDS, chosen_studies, open_bench
    from hcloud.research.reproduce import reproduce as run_studies
    from hcloud.store.files.looked_at import check_target

    terminal = session(ctx).terminal
    keys = chosen_studies(system, study or ())
    if study and not check:
        raise UsageError("--study goes with --check: a page holds every study")
    committed = _page(out) if check else ""
    if not check:  # a folder that cannot be written to is refused before the studies, which take long
        out.mkdir(parents=True, exist_ok=True)
        check_target(out / PAGE, "a page", lambda _: True, ".md")
    used = seeds or view.seeds_of(committed) or SEEDS
    tell_first_use(terminal)
    with terminal.progress("reproducing", 1.0) as advance:
        reports = interruptible(lambda: run_studies(open_bench(used), keys, advance))
    if check:
        _compared(view.differences(committed, reports, used, whole=not study))
        terminal.note(f"{out / PAGE}: {counted(len(keys), 'study', 'studies')} as stated, {counted(used, 'seed')}")
        return
    from hcloud.research.page import save_pictures
    from hcloud.store.files.whole import write_shown

    save_pictures([picture for report in reports for picture in report.pictures], out / view.PICTURES)
    write_shown(out / PAGE, view.page(reports, used))
    terminal.note(f"written to {out / PAGE}")


def _page(folder: Path) -> str:
    path = folder / PAGE
    if not path.is_file():
        raise InputError(f"{path}: there is no page to check", hint="write one: hcloud reproduce hcloud")
    return path.read_text(encoding="utf-8")


def _compared(differences: list[str]) -> None:
    if differences:
        raise InputError("the page is not what comes out: " + "; ".join(differences), hint="hcloud reproduce hcloud")
