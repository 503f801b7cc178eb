"""How jobs ended, a job of several servers once: when the last of its pieces is over, by the worst of them."""

from __future__ import annotations

from collections.abc import Iterable

from hcloud.control.operating.records import JobRecord

_WORST = ("refused", "lost", "failed", "cancelled", "completed")


class Results:
    """How many jobs ended how; ``open`` are jobs of which some pieces are over: how many, and their worst end."""

    def __init__(self, counted: dict[str, int] | None = None, still: Iterable[tuple[str, int, str]] = ()) -> None:
        self.counted = dict(counted or {})
        self.open = {name: (pieces, worst) for name, pieces, worst in still}

    def count(self, job: JobRecord) -> None:
        """A job, or a piece of one, is over."""
        piece, worst = job.order.piece, job.result
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
