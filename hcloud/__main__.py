"""Entry point of the command; answers ``--version`` before anything heavy is imported."""

from __future__ import annotations

import gc
import os
import sys

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
    from hcloud.cli.main import INTERRUPTED_EXIT, run

    code = run(sys.argv[1:])
    if code == INTERRUPTED_EXIT:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)  # a solver may still run in its thread; waiting for it would ignore the user's Ctrl-C
    sys.exit(code)


if __name__ == "__main__":
    main()
