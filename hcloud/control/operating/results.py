"""How jobs ended, a job of several servers once: when the last of its pieces is over, by the worst of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hcloud.control.operating.records import JobRecord
from hcloud.model.running.decision import finite

UNLUCKY = ("refused", "lost", "failed")
"""Ends of jobs that were to complete, the worst first."""
_WORST = (*UNLUCKY, "cancelled", "completed")
_SHOWN = 12


class Results:
    """How many jobs ended how; ``open`` are jobs of which some pieces are over: how many, and their worst end;
    ``unlucky`` the last that neither completed nor were cancelled, for a screen."""

    def __init__(
        self,
        counted: dict[str, int] | None = None,
        still: Iterable[tuple[str, int, str]] = (),
        unlucky: Iterable[JobRecord] = (),
    ) -> None:
        self.unlucky = list(unlucky)
        self.counted = dict(counted or {})
        self.open = {name: (pieces, worst) for name, pieces, worst in still}

    def count(self, job: JobRecord) -> None:
        """A job, or a piece of one, is over."""
        piece, worst = job.order.piece, job.result
        if worst in UNLUCKY:
            self.unlucky = [*self.unlucky[1 - _SHOWN :], replace(job, decision=finite(job.decision))]
        if piece is not None:
            over, before = self.open.pop(piece.of, (0, worst))
            worst = min(worst, before, key=_WORST.index)
            if over + 1 < piece.count:
                self.open[piece.of] = over + 1, worst
                return
        self.counted[worst] = self.counted.get(worst, 0) + 1


def jobs_in(records: Iterable[JobRecord]) -> int:
    """How many jobs these are, or are pieces of."""
    return len({job.order.piece.of if job.order.piece is not None else job.order.id for job in records})
