"""Entry point of the command; answers ``--version`` before anything heavy is imported."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and leave with its exit code."""
    if sys.argv[1:] == ["--version"]:
        from hcloud import __version__

        sys.stdout.write(f"hcloud {__version__}\n")
        return
    from hcloud.cli.main import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
