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
from hcloud.live.applying.book import Came
from hcloud.live.applying.run import ApplyRun
from hcloud.live.polling import Poll
from hcloud.live.site import ProgressStep
from hcloud.planning.changes.recall import with_endings
from hcloud.units import counted


def ask_to_end(run: ApplyRun, ids: Sequence[str]) -> None:
    """Ask for the end of machines that the cloud has told of: one that it does not know now has ended."""
    wanted = tuple(sorted(ids))
    if not wanted:
        return
    intent = run.book.ending(wanted)
    run.patience.expect(1)
    run.seen = None
    run.acted = True
    try:
        answer = run.patience.ask(lambda: run.cloud.terminate(wanted), again=True)
    except (NotFoundError, RefusedError, DeniedError) as error:
        run.book.refused(intent, str(error))
        raise
    except (ThrottledError, UnavailableError, UnknownOutcomeError) as error:
        run.book.unknown(intent, str(error))
        raise
    at = run.site.now()
    came = Came(ids=wanted, ended=answer.ended)
    run.book.done(intent, came, lambda state: with_endings(state, wanted, at, answer.ended))
    run.ended += wanted
    run.site.progress(ProgressStep("ending", len(run.ended), len(run.found.going)))


def end_unwanted(run: ApplyRun, ids: Sequence[str]) -> None:
    """End machines that came just now and are not wanted, as soon as the cloud knows them by id.

    Before that neither an end nor its absence would mean anything. PartialError where it never does.
    """
    poll = Poll(run.site, run.patience, run.site.waits.ended)
    while ids:
        run.patience.expect(1)
        told = {m.id for m in run.patience.ask(lambda: run.cloud.examine(ids))}
        if told >= set(ids):
            ask_to_end(run, ids)
            return
        if poll.is_over:
            raise PartialError(
                f"the cloud does not list machines that it just launched: {', '.join(ids)}; terminate them yourself"
            )
        poll.pause()


def confirm_ends(run: ApplyRun) -> None:
    """Look until the cloud has said of everything that was asked to end that it is gone, or time is up."""
    poll = Poll(run.site, run.patience, run.site.waits.ended)
    while True:
        seen = run.look()
        left = [r.id for r in seen.state.records if r.ending]
        if not left:
            return
        if poll.is_over:
            run.problem(f"asked to terminate, but still running: {', '.join(left)}")
            return
        poll.pause(f"for {counted(len(left), 'machine')} to end")
