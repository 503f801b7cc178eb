"""Chance that a decision draws from: the same for the same job and the same history, in simulation, in life and when a
journal is replayed, compiled or not.

Two multiplicative generators whose difference is taken (L'Ecuyer 1988) fit 64 bits without overflow, which compiled
and plain whole numbers treat differently.
"""

from __future__ import annotations

from hcloud.control.state import Control, Job

_FIRST, _FIRST_FACTOR = 2_147_483_563, 40_014
_SECOND, _SECOND_FACTOR = 2_147_483_399, 40_692
_APART = 1_000_003
"""Steps between the streams of two searches of one job."""
_ANEW = 500_009
"""And of a search and the one after all that it had chosen was refused."""
_ROUNDS = 4


def begin_draws(c: Control, job: Job) -> None:
    """Draw from a stream of this search's own: by the job's coin, and by how many searches there were before."""
    desk = c.desk
    desk.searches += 1
    coin = int(job.coin * (_FIRST - 1))
    desk.first_stream = 1 + (coin + desk.searches * _APART + desk.refused * _ANEW) % (_FIRST - 1)
    desk.second_stream = 1 + (coin * 31 + desk.searches) % (_SECOND - 1)
    for _ in range(_ROUNDS):
        draw(c, 2)


def draw(c: Control, below: int) -> int:
    """A whole number from 0 to one less than ``below``, each as likely."""
    desk = c.desk
    desk.first_stream = desk.first_stream * _FIRST_FACTOR % _FIRST
    desk.second_stream = desk.second_stream * _SECOND_FACTOR % _SECOND
    apart = (desk.first_stream - desk.second_stream) % (_FIRST - 1)
    return apart * below // (_FIRST - 1)
