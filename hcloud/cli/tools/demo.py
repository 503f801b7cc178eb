"""``hcloud demo``: all of it in half a minute, on a cloud in memory."""

from __future__ import annotations

import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hcloud.cli.groups import Verb
from hcloud.cli.main import session
from hcloud.errors import UsageError

if TYPE_CHECKING:
    from hcloud.model.rehearsal import DemoStep, RehearsedStep
    from hcloud.usecases.tools.demo import Demo
    from hcloud.views.console import Terminal

app = Verb()


@app.command()
def demo(
    ctx: typer.Context,
    keep: Annotated[Path | None, typer.Option(help="Work in this (new or empty) folder and keep it.")] = None,
    step: Annotated[bool, typer.Option("--step", help="Wait for Enter between steps (on a terminal).")] = False,
    measure: Annotated[
        bool,
        typer.Option(
            "--measure/--no-measure", " /--quick", help="Measure on this machine (15 s), or use a bundled profile."
        ),
    ] = True,
) -> None:
    """Everything in half a minute on a cloud in memory, without an account: measure, classify, plan, simulate, buy,
    apply (and be killed), a month, the report, the end; then twelve jobs that really run here, whose controller is
    killed, and a bad machine that is given back.

    Every command that is shown is really run, and the fake cloud's own ledger is asked at the end. The exit code is
    not 0 where a step fails.
    """
    from hcloud.usecases.tools.demo import Demo
    from hcloud.views.tools import demo as view

    terminal = session(ctx).terminal
    waits = step and sys.stdin.isatty() and "no_input" not in session(ctx).flags
    began = time.monotonic()
    with nullcontext(str(_empty(keep))) if keep else tempfile.TemporaryDirectory(prefix="hcloud-demo-") as folder:
        walk = Demo(Path(folder).resolve(), terminal.out.width - 2)
        walk.prepare()
        view.show_opening(terminal, walk.folder, keeps=keep is not None)
        measured = measure and _measured(walk, terminal)
        for number, one in enumerate(walk.begin(measured=measured, tried=measure), start=1 + measure):
            _pause(waits and number > 1)
            view.show_step(terminal, number, walk.told(one))
            view.show_result(terminal, _ran(walk, one, terminal))
        view.show_closing(terminal, walk.facts(), time.monotonic() - began, keep)


def _measured(walk: Demo, terminal: Terminal) -> bool:
    from hcloud.usecases.tools.demo import STAND_IN
    from hcloud.usecases.tools.demo import walk as steps
    from hcloud.views.tools import demo as view

    view.show_step(terminal, 1, steps()["measuring"][0])
    with terminal.progress("measuring", 1.0) as advance:
        shown, is_enough = walk.measure(advance)
    view.show_result(terminal, shown)
    if not is_enough:
        view.show_stand_in(terminal, STAND_IN)
    return is_enough


def _ran(walk: Demo, step: DemoStep, terminal: Terminal) -> RehearsedStep:
    with terminal.progress(step.title.lower(), 1.0) as advance:
        return walk.run(step, advance)


def _pause(waits: bool) -> None:
    if waits:
        typer.prompt("Enter goes on", default="", show_default=False, prompt_suffix=" ", err=True)


def _empty(folder: Path) -> Path:
    """A folder of one's own: what is there already would be mistaken for ours."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"--keep {folder}: is not an empty folder", hint="choose a name that does not exist")
    folder.mkdir(parents=True, exist_ok=True)
    return folder
