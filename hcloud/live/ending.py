"""Ends: noted, asked for, and believed only when the cloud has said so."""

from __future__ import annotations

from collections.abc import Sequence

from hcloud.errors import (
    DeniedError,
    NotFoundError,
    PartialError,
    RefusedError,
    ThrottledError,
    UnavailableError,
    UnknownOutcomeError,
)
from hcloud.live.book import Came
from hcloud.live.run import Run
from hcloud.live.site import Step
from hcloud.planning.recall import with_endings

GROWTH = 1.5
"""Ours: by how much the time between two looks grows."""


def ask_to_end(run: Run, ids: Sequence[str], *, insist: bool = False) -> None:
    """Ask for the end of machines.

    Machines that it told of before and does not know now have ended, which the next look confirms. With ``insist``
    they were never told of, and are asked for until they are known: nobody would find them later.
    """
    wanted = tuple(sorted(ids))
    if not wanted:
        return
    intent = run.book.ending(wanted)
    run.patience.expect(1)
    run.seen = None
    run.acted = True
    try:
        ending = _accepted(run, wanted, insist=insist)
    except (NotFoundError, RefusedError, DeniedError) as error:
        run.book.refused(intent, str(error))
        raise
    except (ThrottledError, UnavailableError, UnknownOutcomeError) as error:
        run.book.unknown(intent, str(error))
        raise
    run.book.done(intent, Came(ids=ending), lambda state: with_endings(state, ending))
    run.ended += ending
    run.site.progress(Step("ending", len(run.ended), len(run.found.going)))


def _accepted(run: Run, ids: tuple[str, ...], *, insist: bool) -> tuple[str, ...]:
    """The machines that are ending; ending them again by id does nothing to them."""
    accepted: list[str] = []
    rest, delay = ids, run.site.waits.first_poll
    until = run.site.clock.passed() + run.site.waits.ended
    while True:
        asked = rest
        answer = run.patience.ask(lambda asked=asked: run.cloud.terminate(asked), again=True)  # type: ignore[misc]
        accepted += answer.ending
        rest = answer.gone
        if not insist:
            return ids
        if not rest:
            return tuple(accepted)
        if run.site.clock.passed() >= until:
            raise PartialError(f"the cloud does not know {', '.join(rest)}, which it has just made: end them by hand")
        run.patience.pause(delay)
        run.patience.expect(1)
        delay = min(delay * GROWTH, run.site.waits.longest_poll)


def confirm_ends(run: Run) -> None:
    """Look until the cloud has said of everything that was asked to end that it is gone, or time is up."""
    delay = run.site.waits.first_poll
    until = run.site.clock.passed() + run.site.waits.ended
    while True:
        seen = run.look()
        left = [r.id for r in seen.state.records if r.ending]
        if not left:
            return
        if run.site.clock.passed() >= until:
            run.problem(f"asked to end, and not gone yet: {', '.join(left)}")
            return
        run.patience.pause(delay)
        delay = min(delay * GROWTH, run.site.waits.longest_poll)
