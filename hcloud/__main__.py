"""Entry point of the command; answers ``--version`` before anything heavy is imported."""

from __future__ import annotations

import _thread
import gc
import io
import os
import signal
import sys
from contextlib import suppress
from time import sleep

TYPE_CHECKING = False  # as in typing, whose import takes a while in which Ctrl-C is answered with a page by Python
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

COLLECTED_EVERY = (50_000, 10, 10)
"""Ours: objects between two searches for rings of them. By default the list of 10,000 machines is searched a hundred
times while it is read, which takes as long as reading it, and finds nothing."""

SOON = 0.01


def main() -> None:
    """Run the command line and leave with its exit code."""
    _open_streams()
    if sys.argv[1:] == ["--version"]:
        from hcloud import __version__

        with suppress(OSError):  # said below, where it is refused
            os.write(1, f"hcloud {__version__}\n".encode())  # nothing is left to be flushed
            return
    _hear_ctrl_c()
    gc.set_threshold(*COLLECTED_EVERY)
    from hcloud.address_space import fit_into_bounds

    fit_into_bounds()
    from hcloud.cli.main import INTERRUPTED_EXIT, run

    try:
        code = run(sys.argv[1:], begun=_hear_it_where_work_is)
    except KeyboardInterrupt:  # while another end was told
        _end_at_once(signal.SIGINT, None)
    _hear_ctrl_c()
    if code == INTERRUPTED_EXIT or not _is_anything_under_way():
        _leave_at_once(code)  # after Ctrl-C a solver may still run in its thread: it is not waited for
    sys.exit(code)


class _Forgiving(io.FileIO):
    """Where a full disk takes no more words, they are lost rather than the work that they are about."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError:
            return len(data)


def _open_streams() -> None:
    """A stream that was closed (``>&-``) leads nowhere: the next file to be opened, a journal, would get its number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
            os.set_inheritable(number, True)
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8", closefd=False))  # noqa: SIM115 - for good
    raw, told = io.BufferedWriter(_Forgiving(2, "w", closefd=False)), sys.stderr
    sys.stderr = io.TextIOWrapper(raw, encoding=told.encoding, errors=told.errors, line_buffering=True)


def _hear_ctrl_c() -> None:
    """End at once on Ctrl-C as long as nothing has begun or all is over, and lose none between.

    Python swallows an exception in some places (what is called when an object is freed, also by its import system),
    and the run went on. A process that was told to ignore Ctrl-C still does.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end_at_once)
    sys.unraisablehook = _interrupt_again


def _end_at_once(number: int, _: object) -> None:
    os.write(2, b"interrupted\n")
    _remove_folders()
    os._exit(128 + number)


def _remove_folders() -> None:
    remove = getattr(sys.modules.get("hcloud.temporary"), "remove_folders", None)  # none while it is being loaded
    if remove is not None:
        remove()


def _hear_it_where_work_is() -> None:
    """From here on whoever works is told of Ctrl-C, by an exception, and may have something to put in order."""
    if signal.getsignal(signal.SIGINT) is _end_at_once:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _interrupt_again(lost: sys.UnraisableHookArgs) -> None:
    """Interrupt again where an interruption was swallowed, once this is over, since what is raised in here is lost,
    too; tell of anything else as Python does."""
    if issubclass(lost.exc_type, KeyboardInterrupt):
        _thread.start_new_thread(_interrupt_once_over, (sys._getframe(),))
    else:
        sys.__unraisablehook__(lost)


def _interrupt_once_over(hook: FrameType) -> None:
    while True:
        sleep(SOON)
        with suppress(RuntimeError):  # it still runs, on a busy machine also for long
            hook.clear()
            break
    _thread.interrupt_main()


def _is_anything_under_way() -> bool:
    """Whether a thread or a process of ours still works on something."""
    import threading

    processes = sys.modules.get("multiprocessing")
    others = (thread for thread in threading.enumerate() if thread is not threading.main_thread())
    return any(not thread.daemon for thread in others) or bool(processes and processes.active_children())


def _leave_at_once(code: int) -> None:
    """End the process without taking apart what it imported, which takes up to 0.3 s: whoever kills it meanwhile would
    see it killed although all is done."""
    _remove_folders()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):  # nobody reads it any more; Python's own way to leave says so
        return
    os._exit(code)


if __name__ == "__main__":
    main()
