"""Entry point of the command; answers ``--version`` before anything heavy is imported."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading

COLLECTED_EVERY = (50_000, 10, 10)
"""Ours: objects between two searches for rings of them. By default the list of 10,000 machines is searched a hundred
times while it is read, which takes as long as reading it, and finds nothing."""


def main() -> None:
    """Run the command line and leave with its exit code."""
    if sys.argv[1:] == ["--version"]:
        from hcloud import __version__

        sys.stdout.write(f"hcloud {__version__}\n")
        return
    gc.set_threshold(*COLLECTED_EVERY)
    try:
        from hcloud.address_space import fit_into_bounds

        fit_into_bounds()
        from hcloud.cli.main import INTERRUPTED_EXIT, run
    except KeyboardInterrupt:  # Ctrl-C in the first moments, before anything has begun
        sys.stderr.write("interrupted\n")
        _leave_at_once(128 + signal.SIGINT)
        return

    code = run(sys.argv[1:])
    if code == INTERRUPTED_EXIT or not _is_anything_under_way():
        _leave_at_once(code)  # after Ctrl-C a solver may still run in its thread: it is not waited for
    sys.exit(code)


def _is_anything_under_way() -> bool:
    """Whether a thread or a process of ours still works on something."""
    processes = sys.modules.get("multiprocessing")
    others = (thread for thread in threading.enumerate() if thread is not threading.main_thread())
    return any(not thread.daemon for thread in others) or bool(processes and processes.active_children())


def _leave_at_once(code: int) -> None:
    """End the process without taking apart what it imported, which takes up to 0.3 s: whoever kills it meanwhile would
    see it killed although all is done."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):  # nobody reads it any more; Python's own way to leave says so
        return
    os._exit(code)


if __name__ == "__main__":
    main()
