"""What is known of a job that is watched when it comes."""

from __future__ import annotations

import math

from hcloud.control.pieces import next_piece, pieces_of
from hcloud.control.state import Control


def begin_watch(c: Control, number: int, now: float) -> None:
    """A job came, with all of its pieces: it was never adjusted, and sizing gives it what it asks for."""
    piece = number
    for _ in range(pieces_of(c, number)):
        mine = c.watched[piece]
        mine.adjusted, mine.way, mine.turned, mine.short, mine.rated = -math.inf, 0, 0, 0, 0.0
        mine.sized, mine.came, mine.asked = c.jobs[piece].ask, now, -math.inf
        piece = next_piece(c, piece)
