"""What several verbs share: how a result is printed, and what is said before a first simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hcloud.views.console import Terminal


def tell_first_use(terminal: Terminal, jobs: int | None = None) -> None:
    """Say beforehand that the simulator is about to be compiled, since it is slow until then; few ``jobs`` do not
    need that."""
    from hcloud.sim.machine_code.compiled import ENGINE, PLAIN_JOBS, is_first_use

    if (jobs is None or jobs > PLAIN_JOBS) and is_first_use(ENGINE):
        terminal.note("the simulator is compiled in the background, once; until then it runs more slowly")
