"""What several verbs share: what is said before a first simulation, and how pictures are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from hcloud.views.console import Terminal
    from hcloud.views.page.drawn import Drawn


def tell_first_use(terminal: Terminal, jobs: int | None = None) -> None:
    """Say beforehand that the simulator is about to be compiled, since it is slow until then; few ``jobs`` do not
    need that."""
    from hcloud.sim.machine_code.compiled import PLAIN_JOBS, is_first_use

    if (jobs is None or jobs > PLAIN_JOBS) and is_first_use():
        terminal.note("the simulator is compiled in the background, once; until then it runs more slowly")


def draw(picture: Path | None, terminal: Terminal, make: Callable[[], Drawn], title: str = "") -> None:
    """Draw to the file that is named, if one is, and say so."""
    if picture is None:
        return
    from hcloud.views.pictures import save_drawn

    with terminal.busy("drawing"):
        save_drawn(make(), picture, title)
    terminal.note(f"drawn to {picture}")
