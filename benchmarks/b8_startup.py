"""B8: how long `hcloud --version` and `hcloud --help` take beside an empty interpreter and a small Typer application.

``python -m benchmarks.b8_startup`` prints ``name value unit | peer x | limit y | ratio`` and fails where a goal is
missed. Every pair runs interleaved, round by round, and the best of each counts. ``-m`` rows start the module with this
interpreter; ``script`` rows start console scripts, the peer's being the same lines that pip writes for ours.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

VERSION_GOAL, HELP_GOAL = 3.0, 1.3
HEAVY = ("numpy", "pandas", "boto3", "numba", "google", "azure", "pyarrow", "pydantic")
ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = {**os.environ, "COLUMNS": "80"}
SCRIPT = """#!{python}
import sys
from benchmarks.peer_typer import main
if __name__ == '__main__':
    sys.argv[0] = sys.argv[0].removesuffix('.exe')
    sys.exit(main())
"""
PROBE = (
    "import sys\n"
    "from hcloud.cli.main import run\n"
    "run(['--help'])\n"
    f"print(','.join(m for m in {HEAVY!r} if m in sys.modules), file=sys.stderr)\n"
)


class Pair(NamedTuple):
    """A command of ours, its peer, and the ratio it may cost at most."""

    name: str
    ours: list[str]
    peer_name: str
    peer: list[str]
    goal: float


def pairs(scripts: Path) -> list[Pair]:
    python = sys.executable
    ours = str(Path(sysconfig.get_path("scripts")) / "hcloud")
    peer = scripts / "peer"
    peer.write_text(SCRIPT.format(python=python), encoding="utf-8")
    peer.chmod(0o755)
    nothing = [python, "-c", "pass"]
    return [
        Pair("version -m", [python, "-m", "hcloud", "--version"], "python -c pass", nothing, VERSION_GOAL),
        Pair("version script", [ours, "--version"], "python -c pass", nothing, VERSION_GOAL),
        Pair(
            "help -m",
            [python, "-m", "hcloud", "--help"],
            "typer -m",
            [python, "-m", "benchmarks.peer_typer", "--help"],
            HELP_GOAL,
        ),
        Pair("help script", [ours, "--help"], "typer script", [str(peer), "--help"], HELP_GOAL),
    ]


def seconds(command: list[str]) -> float:
    """Wall time of one run from the repository's root, which is where both are importable from."""
    begin = time.perf_counter()
    subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def best(pair: Pair, rounds: int) -> tuple[float, float]:
    ours, peer = [], []
    for number in range(rounds + 1):
        first, second = (pair.ours, pair.peer) if number % 2 else (pair.peer, pair.ours)
        taken = {id(first): seconds(first), id(second): seconds(second)}
        if number:  # the round before fills caches
            ours.append(taken[id(pair.ours)])
            peer.append(taken[id(pair.peer)])
    return min(ours), min(peer)


def loaded_by_help() -> list[str]:
    """The heavy modules that are loaded once help has been shown."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE], cwd=ROOT, env=ENVIRONMENT, check=True, capture_output=True, text=True
    )
    return [name for name in done.stderr.strip().split(",") if name]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10, help="interleaved rounds; the best of each counts")
    rounds = max(parser.parse_args().rounds, 3)
    missed = False
    with tempfile.TemporaryDirectory() as scripts:
        for pair in pairs(Path(scripts)):
            ours, peer = best(pair, rounds)
            ratio = ours / peer
            missed |= ratio > pair.goal
            print(
                f"{pair.name} {ours * 1000:.1f} ms | peer {pair.peer_name} {peer * 1000:.1f} ms"
                f" | limit {peer * pair.goal * 1000:.1f} ms | ratio {ratio:.2f} (goal {pair.goal:g})",
                flush=True,
            )
    heavy = loaded_by_help()
    missed |= bool(heavy)
    print(f"heavy modules after help {len(heavy)} modules | peer - | limit 0 | {', '.join(heavy) or 'none'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
