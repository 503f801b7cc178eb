"""What the verbs that act on a cloud share: their flags, one answer to Ctrl-C, and one way to ask for a yes."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from hcloud.cli.main import CliSession
from hcloud.errors import ConfirmationError, HcloudError
from hcloud.units import counted, harmless

if TYPE_CHECKING:
    from hcloud.cli.groups import ToldAt
    from hcloud.live.applying.outcome import ApplyOutcome
    from hcloud.live.site import Progress, ProgressStep
    from hcloud.model.holdings.change import ChangeSet
    from hcloud.views.console import Terminal

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask; within budgets and limits. Never buys.")]
Ends = Annotated[int | None, typer.Option("--ends", min=0, help="The number of machines that may be terminated.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show and check what would be done; change nothing.")]
INTERRUPTED_EXIT = 130
SILENT_SECONDS = 10.0  # ours: after so long without a word a pipe is told what is waited for


@dataclass(slots=True)
class Stop:
    """Whether somebody asked for an end, by which signal."""

    signal: int = 0

    def __call__(self) -> bool:
        """Whether to begin nothing new."""
        return self.signal != 0

    @property
    def exit_code(self) -> int:
        """What the process ends with then."""
        return 128 + self.signal


@contextmanager
def stopping(
    terminal: Terminal, leaving: str = "finishing current requests; press Ctrl-C again to quit"
) -> Iterator[Stop]:
    """Ctrl-C (or SIGTERM) once ends cleanly: what is under way is waited for and noted. Twice ends at once; what was
    intended is in the journal, and the next run looks after it. A signal that the caller ignores stays ignored: a shell
    does so with Ctrl-C for what a script starts in its background."""
    stop = Stop()

    def heard(number: int, frame: FrameType | None) -> None:
        if stop.signal:
            with suppress(OSError, ValueError):  # not by Python's buffer: the first signal may still be writing to it
                os.write(sys.stderr.fileno(), b"\nstopped at once; the journal has every request without an answer\n")
            os._exit(128 + number)
        stop.signal = number
        terminal.note(leaving)

    listened = [n for n in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(n) is not signal.SIG_IGN]
    before = {number: signal.signal(number, heard) for number in listened}
    try:
        yield stop
    except HcloudError as error:
        if stop.signal and error.exit_code == INTERRUPTED_EXIT:
            for line in error.lines():
                terminal.note(line)
            raise typer.Exit(stop.exit_code) from error
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def beside(terminal: Terminal, *, quiet: bool) -> Terminal:
    """Where people are shown what they are asked about: stderr where stdout is for a document."""
    return replace(terminal, out=terminal.err) if quiet else terminal


def told_only(terminal: Terminal, shown: ToldAt, found: ChangeSet) -> None:
    """Show what would be done, and do nothing."""
    from hcloud.store.plan_file import changes_document, changes_schema
    from hcloud.views.document import stored_content
    from hcloud.views.live.change import show_changes

    content = partial(stored_content, changes_document(found), changes_schema, ("changes",))
    shown.tell(terminal, content, lambda: show_changes(found, terminal))
    terminal.note("dry run: nothing was changed")


def confirm(session: CliSession, question: str, *, yes: bool) -> None:
    """Ask for a yes, No being what Enter means; ConfirmationError where nobody can be asked."""
    if yes:
        return
    if is_unattended(session):
        raise ConfirmationError("confirmation required, and there is no terminal to ask on", hint="use --yes")
    typer.confirm(harmless(question), default=False, abort=True, err=True)


def is_unattended(session: CliSession) -> bool:
    """Whether there is nobody who could be asked."""
    return "no_input" in session.flags or bool(os.environ.get("CI")) or not sys.stdin.isatty()


def ask_number(session: CliSession, going: int, ends: int | None, *, yes: bool) -> int | None:
    """How many machines may end: as the flag says, else typed where somebody can be asked."""
    if yes or ends is not None or is_unattended(session):
        confirm(session, f"end {counted(going, 'machine')}?", yes=yes)
        return ends
    found: int = typer.prompt(f"this ends {counted(going, 'machine')}; type that number", type=int, err=True)
    return found


@contextmanager
def told(
    terminal: Terminal, title: str, total: int, passed: Callable[[], float] = time.monotonic
) -> Iterator[Progress]:
    """A progress bar for steps that are told; in a pipe a line now and then, so that a long wait does not look dead."""
    spoken = passed()
    with terminal.progress(title, max(total, 1)) as advance:

        def tell(step: ProgressStep) -> None:
            nonlocal spoken
            if step.at_once:
                spoken = passed()
                terminal.note(step.text)
                return
            if step.of:
                advance(min(step.done, total))
            if not terminal.err.is_terminal and passed() - spoken >= SILENT_SECONDS:
                spoken = passed()
                terminal.note(f"{title}: {step.text}" + (f", {step.done} of {step.of}" if step.of else ""))

        yield tell


def carried_out(
    terminal: Terminal,
    shown: ToldAt,
    titled: tuple[str, int],
    work: Callable[[Progress, Callable[[], bool]], ApplyOutcome],
) -> None:
    """Do it, with its title and number of steps on a bar, and leave as it came out."""
    from hcloud.views.live.change import show_outcome
    from hcloud.views.live.documents import OutcomeDocument

    with suppress(OSError):  # who reads it has gone: said at the end, as of any output
        terminal.flush()  # what is about to be done is told before it is, also into a pipe of one that is killed
    with stopping(terminal) as stop, told(terminal, *titled) as progress:
        outcome = work(progress, stop)
    shown.tell_result(terminal, outcome, OutcomeDocument.of, show_outcome)
    if code := stop.exit_code if stop.signal else outcome.exit_code:
        raise typer.Exit(code)
