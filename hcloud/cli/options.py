"""What several verbs share: what is said before a first simulation, and how pictures are drawn."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from hcloud.views.console import Terminal
    from hcloud.views.page.drawn import Drawn

_COMPILED_ONCE = "the simulator is compiled in the background, once; until then it runs more slowly"
_SOON = 4.0  # ours: seconds after which somebody wonders what takes so long


def tell_first_use(terminal: Terminal, jobs: int | None = None) -> None:
    """Say beforehand that the simulator is about to be compiled, since it is slow until then; few ``jobs`` do not
    need that."""
    from hcloud.sim.machine_code.compiled import PLAIN_JOBS, is_first_use

    if (jobs is None or jobs > PLAIN_JOBS) and is_first_use():
        terminal.note(_COMPILED_ONCE)


@contextmanager
def first_use_told(terminal: Terminal) -> Iterator[None]:
    """Say it soon after work has begun that waits for it: nobody knows before how many jobs there are."""

    def tell() -> None:
        compiled = sys.modules.get("hcloud.sim.machine_code.compiled")
        if getattr(compiled, "is_being_compiled", bool)():  # it may be there in part, while it is imported
            terminal.note(_COMPILED_ONCE)

    timer = Timer(_SOON, tell)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()  # nothing of it goes on beside what the process does next


def draw(picture: Path | None, terminal: Terminal, make: Callable[[], Drawn], title: str = "") -> None:
    """Draw to the file that is named, if one is, and say so."""
    if picture is None:
        return
    from hcloud.views.pictures import save_drawn

    with terminal.busy("drawing"):
        save_drawn(make(), picture, title)
    terminal.note(f"drawn to {picture}")
